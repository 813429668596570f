package main

/*
#include <string.h>
#include "reactant_mpi.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/lifecycle"
)

// injectPanic is set by the build tag rmpi_panic, for the test of the guard.
var injectPanic = func() {}

//export rmpiGoInitialize
func rmpiGoInitialize(function *C.char, word C.uintptr_t, fcomm, byInt C.int, o *C.reactant_mpi_options, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard(C.GoString(function), &err, &code)
	injectPanic()
	comm, err := lifecycle.Initialize(
		lifecycle.HostHandle{Word: uint64(word), Int: int(fcomm), ByInt: byInt != 0},
		lifecycle.Options{
			GPU: int(o.gpu), ThreadLevel: int(o.thread_level), LauncherCheck: int(o.launcher_check),
			TimeoutMS: int64(o.timeout_ms), MaxCount: uint64(o.max_count),
			LibMPI: C.GoString(o.libmpi), MPIDirs: C.GoString(o.mpi_dirs),
			LogFn: unsafe.Pointer(o.log_fn), LogArg: o.log_arg,
			Device: int(o.device), Client: int(o.client), Preallocate: int(o.preallocate), NonBlocking: int(o.nccl_nonblocking),
			MemFraction: float64(o.memory_fraction), LibNCCL: C.GoString(o.libnccl), LibXLA: C.GoString(o.libxla),
			CallTimeoutMS: int64(o.call_timeout_ms),
			Check:         int(o.check), Half: int(o.half), Trace: C.GoString(o.trace),
		})
	if err == nil {
		*out = (*C.reactant_mpi_comm)(comm.Pointer())
	}
	return 0
}

//export rmpiGoSplit
func rmpiGoSplit(comm *C.reactant_mpi_comm, color, key C.int, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_split", &err, &code)
	made, ok, err := lifecycle.Split(unsafe.Pointer(comm), int(color), int(key))
	if err == nil && ok {
		*out = (*C.reactant_mpi_comm)(made.Pointer())
	}
	return 0
}

//export rmpiGoCreate
func rmpiGoCreate(comm *C.reactant_mpi_comm, n C.int, ranks *C.int, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_create", &err, &code)
	list := make([]int, n)
	for i, r := range unsafe.Slice(ranks, int(n)) {
		list[i] = int(r)
	}
	made, err := lifecycle.Create(unsafe.Pointer(comm), list)
	if err == nil {
		*out = (*C.reactant_mpi_comm)(made.Pointer())
	}
	return 0
}

//export rmpiGoSetTimeout
func rmpiGoSetTimeout(comm *C.reactant_mpi_comm, timeoutMS C.int) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_set_timeout", &err, &code)
	err = lifecycle.SetTimeout(unsafe.Pointer(comm), int64(timeoutMS))
	return 0
}

//export rmpiGoShrink
func rmpiGoShrink(comm *C.reactant_mpi_comm, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_shrink", &err, &code)
	made, err := lifecycle.Shrink(unsafe.Pointer(comm))
	if err == nil {
		*out = (*C.reactant_mpi_comm)(made.Pointer())
	}
	return 0
}

//export rmpiGoDup
func rmpiGoDup(comm *C.reactant_mpi_comm, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_dup", &err, &code)
	made, err := lifecycle.Dup(unsafe.Pointer(comm))
	if err == nil {
		*out = (*C.reactant_mpi_comm)(made.Pointer())
	}
	return 0
}

//export rmpiGoSplitNode
func rmpiGoSplitNode(comm *C.reactant_mpi_comm, key C.int, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_split_node", &err, &code)
	made, err := lifecycle.SplitNode(unsafe.Pointer(comm), int(key))
	if err == nil {
		*out = (*C.reactant_mpi_comm)(made.Pointer())
	}
	return 0
}

//export rmpiGoSetDevices
func rmpiGoSetDevices(comm *C.reactant_mpi_comm, ids *C.int64_t, n C.int) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_set_devices", &err, &code)
	var list []int64
	var problem *cerr.Error
	switch {
	case n < 0:
		problem = cerr.New(cerr.Argument, "the number of device ids is %d", int(n))
	case n > 0 && ids == nil:
		problem = cerr.New(cerr.Argument, "the list of %d device ids is NULL", int(n))
	case n > 0:
		list = unsafe.Slice((*int64)(ids), int(n))
	}
	err = lifecycle.SetDevices(unsafe.Pointer(comm), list, problem)
	return 0
}

//export rmpiGoFromDevices
func rmpiGoFromDevices(comm *C.reactant_mpi_comm, ids *C.int64_t, n C.int, out **C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_comm_from_devices", &err, &code)
	made, err := lifecycle.FromDevices(unsafe.Pointer(comm), unsafe.Slice((*int64)(ids), int(n)))
	if err == nil {
		*out = (*C.reactant_mpi_comm)(made.Pointer())
	}
	return 0
}

//export rmpiGoFinalize
func rmpiGoFinalize(comm *C.reactant_mpi_comm) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_finalize", &err, &code)
	if comm == nil {
		err = lifecycle.FinalizeAll()
	} else {
		err = lifecycle.Finalize(unsafe.Pointer(comm))
	}
	return 0
}

//export rmpiGoAbortWorld
func rmpiGoAbortWorld(abortCode C.int) (code int32) {
	settle()
	var err *cerr.Error
	defer guard("reactant_mpi_abort", &err, &code)
	err = lifecycle.AbortWorld(int(abortCode))
	return 0
}

//export rmpiGoDescribe
func rmpiGoDescribe(comm unsafe.Pointer, buf *C.char, n C.size_t) (needed C.size_t) {
	settle()
	var err *cerr.Error
	var code int32
	defer func() {
		if code != 0 {
			needed = 0
		}
	}()
	defer guard("reactant_mpi_describe", &err, &code)
	version := fmt.Sprintf("%d.%d.%d", C.REACTANT_MPI_VERSION_MAJOR, C.REACTANT_MPI_VERSION_MINOR, C.REACTANT_MPI_VERSION_PATCH)
	text, err := lifecycle.Describe(version, comm)
	if err != nil {
		return 0
	}
	if n > 0 {
		out := unsafe.Slice((*byte)(unsafe.Pointer(buf)), int(min(n, C.size_t(len(text))+1)))
		out[copy(out[:len(out)-1], text)] = 0
	}
	return C.size_t(len(text))
}
