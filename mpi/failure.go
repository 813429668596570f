package mpi

/*
#include "mpi/shims.h"
*/
import "C"

import "reactantmpi/internal/cerr"

// FaultTolerant tells whether MPI was started such that it goes on after the failure of a process.
func (l *Library) FaultTolerant() bool {
	var flag C.int
	return C.do_fault_tolerant(l.c, &flag) == 0 && flag != 0
}

// Revoke ends every call on a communicator, on every rank, with an error.
func (l *Library) Revoke(comm uint64) *cerr.Error {
	if rc := C.do_comm_revoke(l.c, C.uint64_t(comm)); rc != 0 {
		return l.Error("MPIX_Comm_revoke", rc)
	}
	return nil
}

// Shrink makes a communicator of the ranks that live. Collective over them, waiting at most the given time for the last to call.
func (l *Library) Shrink(comm uint64, timeoutMS int64) (uint64, *cerr.Error) {
	// MPI's own function cannot be bounded: an agreement of those that live shows that all are there. That it also fails because somebody
	// does not live is expected.
	p := newPending(4)
	rc := C.do_comm_iagree(l.c, C.uint64_t(comm), (*C.int)(p.data), p.request)
	if rc != 0 {
		p.free()
		return 0, l.Error("MPIX_Comm_iagree", rc)
	}
	if C.rmpi_wait(l.c, p.request, C.int64_t(timeoutMS), &rc) == 1 {
		return 0, cerr.New(cerr.Timeout, "some rank that lives did not call within %d ms; REACTANT_MPI_TIMEOUT_MS sets the time", timeoutMS)
	}
	p.free()
	if rc != 0 && C.rmpi_is_peer_failure(l.c, rc) == 0 {
		return 0, l.Error("MPIX_Comm_iagree", rc)
	}
	var word C.uint64_t
	if rc := C.do_comm_shrink(l.c, C.uint64_t(comm), &word); rc != 0 {
		return 0, l.Error("MPIX_Comm_shrink", rc)
	}
	if rc := C.do_errors_return(l.c, word); rc != 0 {
		return 0, l.Error("MPI_Comm_set_errhandler", rc)
	}
	return uint64(word), nil
}
