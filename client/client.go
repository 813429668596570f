// Package client makes the XLA client of a rank: one that has exactly one device, the one that was chosen. Or it leaves that to the
// host, and only says which device it is to be.
//
// What XLA does when it fails: most failures are returned. libReactantExtra calls its function pointer ReactantThrowError for others
// and does not expect it to return; while a call of ours runs, that pointer is ours, and the host's again afterwards. A C++ exception
// that XLA lets out is caught where the C++ library lets itself be asked (std::set_terminate, a shared libstdc++); where it is linked
// into the XLA library and hidden, or where the exception is on one of XLA's own threads, the process ends as it would for any caller
// in C. In none of these cases is a frame of Go or of the host unwound: the calls run on a thread of their own (guard.c).
package client

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -I${SRCDIR}/..
#cgo LDFLAGS: -ldl
#include "client/load.h"
*/
import "C"

import (
	"path/filepath"
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// Mode says who makes the client.
type Mode int

// The modes, in the order of the header's words.
const (
	None     Mode = iota // no client
	External             // the host makes it; we say which device
	Reactant             // libReactantExtra makes it
	PJRT                 // a PJRT plugin makes it
)

// ModeNames are the words of the option.
var ModeNames = []string{"none", "external", "reactant", "pjrt"}

func (m Mode) String() string {
	if m < 0 || int(m) >= len(ModeNames) {
		return "unknown"
	}
	return ModeNames[m]
}

// LibraryVariable names the XLA library: a libReactantExtra or a PJRT plugin.
const LibraryVariable = "REACTANT_MPI_LIBXLA"

// Options of Make. The zero value of each but Mode, Device and Preallocate means unset.
type Options struct {
	Mode           Mode
	Plugin         string   // pjrt: path of the plugin; unset: LibraryVariable
	Library        string   // reactant: path of libReactantExtra; unset: the one in the process, else LibraryVariable
	IFRT           bool     // reactant: an ifrt::Client instead of a PjRtClient
	Own            bool     // reactant: Close frees the client; else the host adopts it
	Device         int      // as XLA counts: inside CUDA_VISIBLE_DEVICES
	Platform       string   // "cuda", "rocm", "cpu" ...; unset: whatever GPU the library is for
	MemoryFraction float64  // of the device's memory, above 0, up to 1
	Preallocate    int      // 0, 1, or -1: unset
	Create         []Option // pjrt: further options of the plugin
}

// Option is one more option for a PJRT plugin; it replaces ours of the same name. Value is an int64, []int64 of one element, float64,
// bool or string.
type Option struct {
	Name  string
	Value any
}

// Description is what is told about a client, for JSON.
type Description struct {
	Mode            string         `json:"mode"`
	Library         string         `json:"library,omitempty"`
	Found           string         `json:"found,omitempty"`
	Runtime         string         `json:"runtime,omitempty"` // what Pointer points to
	API             string         `json:"pjrt_api,omitempty"`
	Platform        string         `json:"platform,omitempty"`
	PlatformVersion string         `json:"platform_version,omitempty"`
	Device          int            `json:"device"`
	OwnedBy         string         `json:"owned_by,omitempty"`
	Options         map[string]any `json:"options,omitempty"`
}

// Client is a made client.
type Client struct {
	pointer     unsafe.Pointer
	description Description
	free        func() *cerr.Error // nil: not ours to free
}

// Pointer is the PjRtClient, ifrt::Client or PJRT_Client; nil if the host makes its own.
func (c *Client) Pointer() unsafe.Pointer { return c.pointer }

// Device is the hardware id that was read back from the client, or the device that the host is to use; -1 without a client.
func (c *Client) Device() int { return c.description.Device }

// Describe tells what was made, how and from what.
func (c *Client) Describe() Description { return c.description }

// Close frees the client if it is ours. Again is fine.
func (c *Client) Close() *cerr.Error {
	free := c.free
	c.free, c.pointer = nil, nil
	if free == nil {
		return nil
	}
	return free()
}

// DefaultMode is reactant if libReactantExtra is in the process, pjrt if a plugin is named, else external.
func DefaultMode(sys dl.System, o Options) Mode {
	if lib := mappedReactant(sys); lib != nil {
		lib.Close()
		return Reactant
	}
	named := sys.Getenv(LibraryVariable)
	switch {
	case o.Library != "":
		return Reactant
	case o.Plugin != "":
		return PJRT
	case named == "":
		return External
	case isReactant(named):
		return Reactant
	}
	return PJRT
}

// Make makes a client, or fails with code 80 (no usable XLA library), 81 (it made none, or one with other devices) or 11 (an option).
func Make(sys dl.System, o Options) (*Client, *cerr.Error) {
	switch o.Mode {
	case None:
		return &Client{description: Description{Mode: "none", Device: -1}}, nil
	case External:
		return &Client{description: Description{Mode: "external", Device: o.Device, OwnedBy: "host"}}, nil
	case Reactant, PJRT:
	default:
		return nil, cerr.New(cerr.Option, "client mode %d; it takes 0 to %d (%s)", o.Mode, len(ModeNames)-1, strings.Join(ModeNames, ", "))
	}
	if o.Device < 0 {
		return nil, cerr.New(cerr.XLA, "client=%s needs a device, and none was chosen; client=none or client=external needs none", o.Mode)
	}
	memory, err := memoryOf(sys, o)
	if err != nil {
		return nil, err
	}
	if o.Mode == Reactant {
		return makeReactant(sys, o, memory)
	}
	return makePJRT(sys, o, memory)
}

// openLocal loads a library without giving its symbols to others, which dl.System's Open would do.
func openLocal(sys dl.System, path string) (dl.Library, string) {
	p := C.CString(path)
	defer freeC(p)
	text := cText(C.RMPI_XLA_LOAD_TEXT)
	defer freeC(text)
	if C.rmpi_xla_load(p, text) != 0 {
		return nil, C.GoString(text)
	}
	lib, err := sys.Reopen(path)
	if err != nil {
		return nil, err.Error()
	}
	return lib, ""
}

// sameFile tells whether two paths lead to one file.
func sameFile(sys dl.System, a, b string) bool { return a == b || sys.RealPath(a) == sys.RealPath(b) }

// isReactant goes by the name of the file.
func isReactant(path string) bool { return strings.HasPrefix(filepath.Base(path), "libReactantExtra") }

// wrongDevice is why a client cannot be used; "" if it has the one device it should have.
func wrongDevice(addressable, hardware, device int) string {
	switch {
	case addressable != 1:
		return "the client has " + count(addressable, "device") + " instead of one"
	case hardware != device:
		return "the client has device " + number(hardware) + " instead of " + number(device)
	}
	return ""
}
