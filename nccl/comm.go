package nccl

/*
#include <stdlib.h>
#include <string.h>
#include "nccl/gpu.h"
#include "nccl/init.h"

static enum rmpi_job_end run_start(struct rmpi_nccl_start *s, int64_t timeout_ms, void *poke, void *arg)
{
    return rmpi_nccl_start_run(s, timeout_ms, (int (*)(void *))poke, arg);
}
*/
import "C"

import (
	"unsafe"

	"reactantmpi/internal/cerr"
)

// Start is what one NCCL communicator is made of.
type Start struct {
	Lib         *Library
	Runtime     *Runtime
	Context     unsafe.Pointer
	Ordinal     int
	Rank, Size  int
	ID          []byte // of the root, or:
	Parent      *Comm  // ncclCommSplit by Color (negative: no part of it) and Key
	Color, Key  int
	NonBlocking bool
	TimeoutMS   int64
	// Poke, if given, is a C function int(void*) that the waiting thread calls: non-zero ends the wait.
	Poke, PokeArg unsafe.Pointer
}

// Comm is the device side of a communicator. Its C struct lives for ever.
type Comm struct {
	c       *C.struct_rmpi_device
	lib     *Library
	runtime *Runtime
	ordinal int
}

// Stopped is the code of a wait that a notice ended: the reason is another rank's.
const Stopped = cerr.Peer

// Run makes the communicator on a thread of its own and proves it with one collective; at most the given time. With a negative
// colour it takes part in the parent's split and gives nil.
func (s Start) Run() (*Comm, *cerr.Error) {
	c := (*C.struct_rmpi_nccl_start)(C.calloc(1, C.sizeof_struct_rmpi_nccl_start))
	c.nccl, c.gpu, c.context = s.Lib.c, s.Runtime.c, s.Context
	c.ordinal, c.rank, c.size = C.int(s.Ordinal), C.int(s.Rank), C.int(s.Size)
	c.timeout_ms = C.int64_t(s.TimeoutMS)
	if s.NonBlocking {
		c.nonblocking = 1
	}
	if s.Parent != nil {
		c.parent, c.color, c.key = s.Parent.c.comm, C.int(s.Color), C.int(s.Key)
	} else {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.id)), C.RMPI_NCCL_ID_BYTES), s.ID)
	}
	switch C.run_start(c, C.int64_t(s.TimeoutMS), s.Poke, s.PokeArg) {
	case C.RMPI_JOB_LATE: // the thread is still in NCCL and owns c
		return nil, cerr.New(cerr.Timeout, "NCCL did not connect the ranks within %d ms: some rank did not come, or its network interface is wrong "+
			"(NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO tells more)", s.TimeoutMS)
	case C.RMPI_JOB_STOPPED:
		return nil, cerr.New(Stopped, "another rank failed")
	case C.RMPI_JOB_NO_THREAD:
		C.free(unsafe.Pointer(c))
		return nil, cerr.New(cerr.Memory, "no thread for the start of NCCL")
	}
	defer C.free(unsafe.Pointer(c))
	if c.failed == 0 && c.comm == nil {
		return nil, nil
	}
	d := (*C.struct_rmpi_device)(C.calloc(1, C.sizeof_struct_rmpi_device))
	d.nccl, d.gpu, d.comm, d.context, d.scratch, d.ordinal = s.Lib.c, s.Runtime.c, c.comm, s.Context, c.scratch, c.ordinal
	comm := &Comm{d, s.Lib, s.Runtime, s.Ordinal}
	if c.failed != 0 {
		err := cerr.New(cerr.NCCL, "%s (%s)", C.GoString(&c.text[0]), s.Lib.Path)
		if c.comm != nil {
			comm.End(true, 3_000) // less than the others' patience with this rank (lifecycle: left)
		}
		return nil, err
	}
	return comm, nil
}

// Pointer is the C struct, for handles.
func (c *Comm) Pointer() unsafe.Pointer { return unsafe.Pointer(c.c) }

// SetClient stores the XLA client beside the communicator, for those who ask by handle.
func (c *Comm) SetClient(client unsafe.Pointer) { c.c.client = client }

// End finalizes and destroys the communicator, or aborts it; false if NCCL did not come back in time.
func (c *Comm) End(abort bool, timeoutMS int64) bool {
	flag := C.int(0)
	if abort {
		flag = 1
	}
	return C.rmpi_nccl_end(c.c, flag, C.int64_t(timeoutMS)) == 0
}

// Watch puts a published communicator under the watcher's eyes; Unwatch takes it out, before it ends.
func Watch(handle unsafe.Pointer) bool { return C.rmpi_watch_add((*C.struct_rmpi_comm)(handle)) == 0 }

// Unwatch waits until the watcher is not looking at the communicator.
func Unwatch(handle unsafe.Pointer) { C.rmpi_watch_remove((*C.struct_rmpi_comm)(handle)) }
