package client

/*
#include <stdlib.h>
#include "client/pjrt.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// statusNames are the words of XLA's error codes.
var statusNames = []string{"ok", "cancelled", "unknown", "invalid argument", "deadline exceeded", "not found", "already exists",
	"permission denied", "resource exhausted", "failed precondition", "aborted", "out of range", "unimplemented", "internal",
	"unavailable", "data loss", "unauthenticated"}

func statusName(code int) string {
	if code < 0 || code >= len(statusNames) {
		return "unknown code"
	}
	return statusNames[code]
}

// createOptions are those that leave a plugin one device. GPU plugins refuse names that they do not know, so only the needed ones.
func createOptions(o Options, m memory) []Option {
	var out []Option
	switch o.Platform {
	case "cpu":
		out = []Option{{"cpu_device_count", int64(1)}}
	case "", "cuda", "rocm", "gpu":
		out = []Option{{"visible_devices", []int64{int64(o.Device)}}, {"memory_fraction", m.fraction}, {"preallocate", m.preallocate}}
	}
	for _, more := range o.Create {
		replaced := false
		for i := range out {
			if out[i].Name == more.Name {
				out[i], replaced = more, true
			}
		}
		if !replaced {
			out = append(out, more)
		}
	}
	return out
}

// setOptions writes them into the C list and says which C strings must be freed afterwards.
func setOptions(p *C.struct_rmpi_pjrt, options []Option) ([]*C.char, *cerr.Error) {
	var held []*C.char
	hold := func(s string) *C.char {
		held = append(held, C.CString(s))
		return held[len(held)-1]
	}
	if len(options) > C.RMPI_PJRT_OPTIONS {
		return nil, cerr.New(cerr.Option, "%d options for the plugin; %d at most", len(options), int(C.RMPI_PJRT_OPTIONS))
	}
	for _, option := range options {
		name := hold(option.Name)
		switch v := option.Value.(type) {
		case int64:
			C.rmpi_pjrt_option(p, name, C.RMPI_PJRT_INT64, C.int64_t(v), 0, nil)
		case []int64:
			if len(v) != 1 {
				return held, cerr.New(cerr.Option, "option %s for the plugin has %d elements; lists of one are known", option.Name, len(v))
			}
			C.rmpi_pjrt_option(p, name, C.RMPI_PJRT_INT64_LIST, C.int64_t(v[0]), 0, nil)
		case float64:
			C.rmpi_pjrt_option(p, name, C.RMPI_PJRT_FLOAT, 0, C.double(v), nil)
		case bool:
			flag := C.int64_t(0)
			if v {
				flag = 1
			}
			C.rmpi_pjrt_option(p, name, C.RMPI_PJRT_BOOL, flag, 0, nil)
		case string:
			C.rmpi_pjrt_option(p, name, C.RMPI_PJRT_STRING, 0, 0, hold(v))
		default:
			return held, cerr.New(cerr.Option, "option %s for the plugin is a %T; int64, []int64, float64, bool and string are known", option.Name, v)
		}
	}
	return held, nil
}

// pluginAPI loads a plugin and gets its table of functions, in p.
func pluginAPI(sys dl.System, path string, p *C.struct_rmpi_pjrt) (dl.Library, *cerr.Error) {
	lib, why := openLocal(sys, path)
	if lib == nil {
		return nil, cerr.New(cerr.NoXLA, "the PJRT plugin %s cannot be loaded: %s", path, why)
	}
	fail := func(format string, args ...any) (dl.Library, *cerr.Error) {
		lib.Close()
		return nil, cerr.New(cerr.NoXLA, "%s "+format, append([]any{path}, args...)...)
	}
	get := lib.Symbol("GetPjrtApi")
	if get == nil {
		return fail("is no PJRT plugin: it has no GetPjrtApi")
	}
	p.hooks = hooksOf(lib)
	if why := endText(C.enum_rmpi_xla_end(C.rmpi_pjrt_api(p, get)), "GetPjrtApi", C.GoString(&p.text[0])); why != "" {
		return fail("cannot be used: %s", why)
	}
	if p.api == nil {
		return fail("cannot be used: its GetPjrtApi gave no table of functions")
	}
	if v := p.api.version; v.major != C.RMPI_PJRT_MAJOR || v.minor < C.RMPI_PJRT_MINOR_MIN {
		return fail("speaks PJRT %d.%d, and %d.%d or a later %[4]d.x is needed", int(v.major), int(v.minor), int(C.RMPI_PJRT_MAJOR), int(C.RMPI_PJRT_MINOR_MIN))
	}
	if lacks := C.rmpi_pjrt_lacks(p.api); lacks != nil {
		return fail("has no %s (its table of functions, of PJRT %d.%d, is %d bytes long)", C.GoString(lacks), int(p.api.version.major),
			int(p.api.version.minor), uint64(p.api.head.struct_size))
	}
	return lib, nil
}

// makePJRT lets a plugin make a client; it is ours and Close destroys it.
func makePJRT(sys dl.System, o Options, m memory) (*Client, *cerr.Error) {
	path, how := o.Plugin, "asked for"
	if path == "" {
		path, how = sys.Getenv(LibraryVariable), LibraryVariable
	}
	if path == "" {
		return nil, cerr.New(cerr.NoXLA, "client=pjrt, and no plugin is named; set %s to the path of one (for example xla_cuda_plugin.so of "+
			"the wheel jax-cuda13-pjrt), or say client=external and make the client yourself", LibraryVariable)
	}
	p := (*C.struct_rmpi_pjrt)(C.calloc(1, C.sizeof_struct_rmpi_pjrt))
	lib, err := pluginAPI(sys, path, p)
	if err != nil {
		C.free(unsafe.Pointer(p))
		return nil, err
	}
	release := func() {
		C.free(unsafe.Pointer(p))
		lib.Close()
	}
	options := createOptions(o, m)
	held, err := setOptions(p, options)
	defer func() {
		for _, s := range held {
			freeC(s)
		}
	}()
	if err != nil {
		release()
		return nil, err
	}
	fail := func(why string) (*Client, *cerr.Error) {
		release()
		return nil, cerr.New(cerr.XLA, "no XLA client for device %d from %s: %s", o.Device, path, why)
	}
	if why := endText(C.enum_rmpi_xla_end(C.rmpi_pjrt_make(p)), "PJRT_Client_Create", C.GoString(&p.text[0])); why != "" {
		return fail(why)
	}
	if why := stepText(p); why != "" {
		return fail(why)
	}
	if p.client == nil {
		return fail("PJRT_Client_Create gave no client and no reason")
	}
	if why := wrongDevice(int(p.addressable), int(p.hardware), o.Device); why != "" {
		if err := destroyPJRT(p); err != nil {
			why += "; " + err.Text
		}
		return fail(why)
	}
	c := &Client{pointer: p.client, description: Description{
		Mode: "pjrt", Library: lib.Path(), Found: how, Runtime: "PJRT_Client",
		API:      fmt.Sprintf("%d.%d", int(p.api.version.major), int(p.api.version.minor)),
		Platform: C.GoString(&p.platform[0]), PlatformVersion: C.GoString(&p.platform_version[0]),
		Device: int(p.hardware), OwnedBy: "reactant_mpi", Options: map[string]any{},
	}}
	for _, option := range options {
		c.description.Options[option.Name] = option.Value
	}
	c.free = func() *cerr.Error {
		defer release()
		return destroyPJRT(p)
	}
	return c, nil
}

func destroyPJRT(p *C.struct_rmpi_pjrt) *cerr.Error {
	why := endText(C.enum_rmpi_xla_end(C.rmpi_pjrt_destroy(p)), "PJRT_Client_Destroy", C.GoString(&p.text[0]))
	if why == "" {
		why = stepText(p)
	}
	if why != "" {
		return cerr.New(cerr.XLA, "%s", why)
	}
	return nil
}

// stepText is the failure that the plugin returned; "" if there was none.
func stepText(p *C.struct_rmpi_pjrt) string {
	if p.step == nil {
		return ""
	}
	code := int(p.code)
	return fmt.Sprintf("%s failed with code %d (%s): %s", C.GoString(p.step), code, statusName(code), advised(C.GoString(&p.text[0])))
}
