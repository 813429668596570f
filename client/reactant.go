package client

/*
#include <stdlib.h>
#include "client/reactant.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// runtime is the set of functions of one of libReactantExtra's two kinds of client: their pointers are of different types.
type runtime struct {
	name                                                          string
	makes                                                         string
	count, devices, hardwareID, platformName, free, clientPointer string
}

var (
	pjrtRuntime = runtime{"pjrt", "MakeGPUClient", "ClientNumAddressableDevices", "ClientGetAddressableDevices",
		"PjRtDeviceGetLocalHardwareId", "ClientGetPlatformName", "FreeClient", "PjRtClient"}
	ifrtRuntime = runtime{"ifrt", "ifrt_make_pjrt_gpu_client", "ifrt_client_addressable_device_count", "ifrt_client_addressable_devices",
		"ifrt_DeviceGetLocalHardwareId", "ifrt_ClientGetPlatformName", "ifrt_FreeClient", "ifrt::Client"}
)

// mappedReactant is the libReactantExtra of this process; nil if there is none. The main program counts if it has the functions.
func mappedReactant(sys dl.System) dl.Library {
	for _, path := range append(sys.Loaded(), "") {
		if path != "" && !isReactant(path) {
			continue
		}
		lib, err := sys.Reopen(path)
		if err != nil {
			continue
		}
		if lib.Symbol(pjrtRuntime.makes) != nil {
			return lib
		}
		lib.Close()
	}
	return nil
}

// reactantLibrary is the libReactantExtra to use, and how it was found.
func reactantLibrary(sys dl.System, wish string) (dl.Library, string, *cerr.Error) {
	how := "asked for"
	inside := mappedReactant(sys)
	if inside != nil && (wish == "" || sameFile(sys, inside.Path(), wish)) {
		return inside, "already in the process", nil
	}
	if inside != nil {
		path := inside.Path()
		inside.Close()
		return nil, "", cerr.New(cerr.NoXLA, "%s was asked for, and the process already has %s: a client of one is of no use to the other; "+
			"leave the option away, or start without the other", wish, path)
	}
	if wish == "" {
		wish, how = sys.Getenv(LibraryVariable), LibraryVariable
	}
	if wish == "" {
		return nil, "", cerr.New(cerr.NoXLA, "client=reactant, and this process has no libReactantExtra; load Reactant first, or set %s to the "+
			"path of libReactantExtra.so, or say client=external and make the client yourself", LibraryVariable)
	}
	lib, why := openLocal(sys, wish)
	if lib == nil {
		return nil, "", cerr.New(cerr.NoXLA, "%s cannot be loaded: %s", wish, why)
	}
	return lib, how, nil
}

// makeReactant lets libReactantExtra make a client for one GPU. The host adopts it unless Own says otherwise: Reactant frees its
// clients itself at its end.
func makeReactant(sys dl.System, o Options, m memory) (*Client, *cerr.Error) {
	lib, how, err := reactantLibrary(sys, o.Library)
	if err != nil {
		return nil, err
	}
	rt := pjrtRuntime
	if o.IFRT {
		rt = ifrtRuntime
	}
	r := (*C.struct_rmpi_reactant)(C.calloc(1, C.sizeof_struct_rmpi_reactant))
	release := func() {
		C.free(unsafe.Pointer(r.platform))
		C.free(unsafe.Pointer(r))
		lib.Close()
	}
	r.hooks = hooksOf(lib)
	r.hooks.throw_error = (**[0]byte)(lib.Symbol("ReactantThrowError"))
	for _, f := range []struct {
		to   *unsafe.Pointer
		name string
	}{{&r.make, rt.makes}, {&r.count, rt.count}, {&r.devices, rt.devices}, {&r.hardware_id, rt.hardwareID}, {&r.free, rt.free}} {
		if *f.to = lib.Symbol(f.name); *f.to == nil {
			release()
			return nil, cerr.New(cerr.NoXLA, "%s has no %s; it is not a libReactantExtra that this library knows", lib.Path(), f.name)
		}
	}
	r.platform_name = lib.Symbol(rt.platformName)
	platform := o.Platform
	if platform == "" {
		platform = "gpu"
	}
	r.platform = C.CString(platform)
	r.device = C.int64_t(o.Device)
	r.memory_fraction = C.double(m.fraction)
	if m.preallocate {
		r.preallocate = 1
	}

	fail := func(format string, args ...any) (*Client, *cerr.Error) {
		e := cerr.New(cerr.XLA, "no XLA client for device %d from %s: "+format, append([]any{o.Device, lib.Path()}, args...)...)
		release()
		return nil, e
	}
	if why := endText(C.enum_rmpi_xla_end(C.rmpi_reactant_make(r)), rt.makes, C.GoString(&r.text[0])); why != "" {
		return fail("%s", why)
	}
	if r.client == nil {
		return fail("%s", advised(C.GoString(&r.text[0])))
	}
	why := endText(C.enum_rmpi_xla_end(C.rmpi_reactant_look(r)), rt.devices, C.GoString(&r.text[0]))
	if why == "" {
		if why = wrongDevice(int(r.addressable), int(r.hardware), o.Device); why != "" {
			why += ". XLA keeps the devices of the first GPU client of a process: this one must be made before any other"
		}
	}
	if why != "" {
		if still := endText(C.enum_rmpi_xla_end(C.rmpi_reactant_free(r)), rt.free, C.GoString(&r.text[0])); still != "" {
			why += "; " + still
		}
		return fail("%s", why)
	}
	c := &Client{pointer: r.client, description: Description{
		Mode: "reactant", Library: lib.Path(), Found: how, Runtime: rt.clientPointer, Platform: C.GoString(&r.found_platform[0]),
		Device: int(r.hardware), OwnedBy: "host",
		Options: map[string]any{"allowed_devices": []int{o.Device}, "memory_fraction": m.fraction, "preallocate": m.preallocate,
			"platform_name": platform, "node_id": 0, "num_nodes": 1},
	}}
	if !o.Own {
		release()
		return c, nil
	}
	c.description.OwnedBy = "reactant_mpi"
	c.free = func() *cerr.Error {
		defer release()
		if why := endText(C.enum_rmpi_xla_end(C.rmpi_reactant_free(r)), rt.free, C.GoString(&r.text[0])); why != "" {
			return cerr.New(cerr.XLA, "%s", why)
		}
		return nil
	}
	return c, nil
}

// advised adds what to do to texts of XLA that say only what is missing.
func advised(text string) string {
	for _, known := range []struct{ part, advice string }{
		{"not built with GPU support", "this libReactantExtra is for CPUs; choose the CUDA or ROCm build, or GPU=off"},
		{"No visible GPU devices", "the driver shows no GPU to this process; look at CUDA_VISIBLE_DEVICES and the job's GPU request"},
		{"Unexpected option name", "the plugin is for another platform, or too old; name the platform"},
	} {
		if strings.Contains(text, known.part) {
			return text + " (" + known.advice + ")"
		}
	}
	return text
}
