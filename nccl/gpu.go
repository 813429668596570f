package nccl

/*
#include <stdlib.h>
#include "nccl/gpu.h"
*/
import "C"

import (
	"unsafe"

	"reactantmpi/internal/cerr"
)

func (r *Runtime) text(rc int) string {
	text := (*C.char)(C.calloc(1, C.RMPI_NCCL_TEXT))
	defer C.free(unsafe.Pointer(text))
	C.gpu_text(r.c, C.int(rc), text)
	return C.GoString(text)
}

// noDeviceCodes mean that nothing is broken, there is just no GPU: CUDA_ERROR_NO_DEVICE, hipErrorNoDevice, hipErrorInvalidDevice.
var noDeviceCodes = map[int]bool{0: true, 100: true, 101: true}

func (r *Runtime) noDevice(rc int) *cerr.Error {
	code := cerr.Driver
	if noDeviceCodes[rc] {
		code = cerr.NoDevice
	}
	if rc == 0 {
		return cerr.New(code, "%s finds no device", r.Path)
	}
	return cerr.New(code, "%s: %s", r.Path, r.text(rc))
}

// Info of a device, as the runtime tells it.
type Info struct {
	UUID   [16]byte
	PCI    string
	Active bool // its primary context is active in this process
	MIG    bool // an instance of a partitioned GPU
	// Exclusive: one process at a time.
	Exclusive bool
}

// Info asks for one device.
func (r *Runtime) Info(ordinal int) (Info, *cerr.Error) {
	var c C.struct_rmpi_gpu_info
	if rc := C.gpu_info(r.c, C.int(ordinal), &c); rc != 0 {
		return Info{}, cerr.New(cerr.Driver, "device %d: %s", ordinal, r.text(int(rc)))
	}
	return Info{UUID: *(*[16]byte)(unsafe.Pointer(&c.uuid)), PCI: C.GoString(&c.pci[0]), Active: c.active != 0, MIG: c.mig != 0, Exclusive: c.exclusive != 0}, nil
}

// Retain the primary context of a device; Release gives it back.
func (r *Runtime) Retain(ordinal int) (context unsafe.Pointer, err *cerr.Error) {
	place := (*unsafe.Pointer)(C.calloc(1, 8))
	defer C.free(unsafe.Pointer(place))
	if rc := C.gpu_retain(r.c, C.int(ordinal), place); rc != 0 {
		return nil, cerr.New(cerr.Driver, "the context of device %d cannot be had: %s", ordinal, r.text(int(rc)))
	}
	return *place, nil
}

// Release gives a context back.
func (r *Runtime) Release(ordinal int) { C.gpu_release(r.c, C.int(ordinal)) }
