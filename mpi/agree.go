package mpi

/*
#include <stdlib.h>
#include "mpi/shims.h"

static int (*notice_function(void))(void *) { return rmpi_noticed; }
*/
import "C"

import (
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
)

// Bcast gives the root's bytes to every rank of a communicator of ours, waiting at most the given time.
func (l *Library) Bcast(comm uint64, root int, data []byte, timeoutMS int64) *cerr.Error {
	p := newPending(len(data))
	memory := unsafe.Slice((*byte)(p.data), len(data))
	copy(memory, data)
	if rc := C.do_ibcast(l.c, p.data, C.int(len(data)), C.int(root), C.uint64_t(comm), p.request); rc != 0 {
		p.free()
		return l.Error("MPI_Ibcast", rc)
	}
	if err := l.wait(p, "MPI_Ibcast", timeoutMS); err != nil {
		return p.failed(err)
	}
	copy(data, memory)
	p.free()
	return nil
}

// Barrier returns when every rank has called, waiting at most the given time.
func (l *Library) Barrier(comm uint64, timeoutMS int64) *cerr.Error {
	p := newPending(0)
	if rc := C.do_ibarrier(l.c, C.uint64_t(comm), p.request); rc != 0 {
		p.free()
		return l.Error("MPI_Ibarrier", rc)
	}
	if err := l.wait(p, "MPI_Ibarrier", timeoutMS); err != nil {
		return p.failed(err)
	}
	p.free()
	return nil
}

// BarrierUnless returns when every rank has called (true), or when something else has become true that ends the wait. Failures of MPI
// end it too: what comes after the barrier meets them again.
func (l *Library) BarrierUnless(comm uint64, ended func() bool) bool {
	p := newPending(0)
	if rc := C.do_ibarrier(l.c, C.uint64_t(comm), p.request); rc != 0 {
		p.free()
		return true
	}
	for {
		var rc C.int
		switch C.rmpi_wait(l.c, p.request, 20, &rc) {
		case 1:
			if ended() {
				return false // MPI may still write to it
			}
		default:
			p.free()
			return true
		}
	}
}

// failed frees the memory of an operation that has ended with an error; after a timeout MPI may still write to it.
func (p pending) failed(err *cerr.Error) *cerr.Error {
	if err.Code != cerr.Timeout {
		p.free()
	}
	return err
}

// Notice lets waits that MPI knows nothing of end early: a rank that fails sends every other one an empty message, and who waits looks
// for it. Tag and communicator are the library's own.
type Notice struct {
	lib  *Library
	c    *C.struct_rmpi_notice
	comm uint64
	tag  int
}

// NewNotice prepares one round of notices.
func (l *Library) NewNotice(comm uint64, tag int) *Notice {
	c := (*C.struct_rmpi_notice)(C.calloc(1, C.sizeof_struct_rmpi_notice))
	c.mpi, c.comm, c.tag = l.c, C.uint64_t(comm), C.int(tag)
	return &Notice{l, c, comm, tag}
}

// Poke is the C function that tells whether a notice has arrived, and its argument.
func (n *Notice) Poke() (function, arg unsafe.Pointer) {
	return unsafe.Pointer(C.notice_function()), unsafe.Pointer(n.c)
}

// Send tells every other rank that this one has failed. The messages are empty, so MPI sends them at once.
func (n *Notice) Send(rank, size int) *cerr.Error {
	for peer := range size {
		if peer == rank {
			continue
		}
		if err := n.lib.sendEmpty(n.comm, peer, n.tag); err != nil {
			return err
		}
	}
	return nil
}

func (l *Library) sendEmpty(comm uint64, peer, tag int) *cerr.Error {
	p := newPending(0)
	if rc := C.do_isend_empty(l.c, C.uint64_t(comm), C.int(peer), C.int(tag), p.request); rc != 0 {
		p.free()
		return l.Error("MPI_Isend", rc)
	}
	if err := l.wait(p, "MPI_Isend", 10_000); err != nil {
		return p.failed(err)
	}
	p.free()
	return nil
}

// await an empty message.
func (l *Library) await(comm uint64, peer, tag int, timeoutMS int64) *cerr.Error {
	_, err := l.either(comm, peer, tag, tag, timeoutMS)
	return err
}

// either of two tags may an empty message have; it is told which.
func (l *Library) either(comm uint64, peer, tag, other int, timeoutMS int64) (int, *cerr.Error) {
	var rc C.int
	got := C.int(tag)
	switch C.rmpi_await(l.c, C.uint64_t(comm), C.int(peer), &got, C.int(other), C.int64_t(timeoutMS), &rc) {
	case 0:
		return int(got), nil
	case 1:
		return 0, cerr.New(cerr.Timeout, "rank %d did not arrive with the same list of ranks within %d ms", peer, timeoutMS)
	}
	return 0, l.Error("MPI_Iprobe", rc)
}

// refusal is the distance of the tag that says no.
const refusal = 4

func (l *Library) hear(comm uint64, peer, tag int, timeoutMS int64) (yes bool, err *cerr.Error) {
	got, err := l.either(comm, peer, tag, tag+refusal, timeoutMS)
	return got == tag, err
}

func (l *Library) say(yes bool, comm uint64, peer, tag int) *cerr.Error {
	if !yes {
		tag += refusal
	}
	return l.sendEmpty(comm, peer, tag)
}

// Meet returns when every listed rank has called, waiting at most about the given time, and tells whether all are able to go on. Two
// rounds: one who gave up in the first has still told that it was there, but is missed in the second. Takes eight tags.
func (l *Library) Meet(comm uint64, rank int, ranks []int, tag int, able bool, timeoutMS int64) (all bool, err *cerr.Error) {
	root := ranks[0]
	for _, tag := range []int{tag, tag + 2} {
		if rank != root {
			if err := l.say(able, comm, root, tag); err != nil {
				return false, err
			}
			if able, err = l.hear(comm, root, tag+1, timeoutMS); err != nil {
				return false, err
			}
			continue
		}
		for _, peer := range ranks[1:] {
			yes, err := l.hear(comm, peer, tag, timeoutMS)
			if err != nil {
				return false, err
			}
			able = able && yes
		}
		for _, peer := range ranks[1:] {
			if err := l.say(able, comm, peer, tag+1); err != nil {
				return false, err
			}
		}
	}
	return able, nil
}

// Close takes the notices of the ranks that failed off the communicator, so that none is met in a later round.
func (n *Notice) Close(rank int, failed []int) {
	for _, peer := range failed {
		if peer != rank {
			C.do_recv_empty(n.lib.c, C.uint64_t(n.comm), C.int(peer), C.int(n.tag))
		}
	}
	C.free(unsafe.Pointer(n.c))
}

// Split makes one communicator per colour, ranks by key; a negative colour takes part and gets none (ok false). Collective: the caller
// knows that every rank has arrived.
func (l *Library) Split(comm uint64, color, key int) (out uint64, ok bool, err *cerr.Error) {
	var word C.uint64_t
	if rc := C.do_comm_split(l.c, C.uint64_t(comm), C.int(color), C.int(key), &word); rc != 0 {
		return 0, false, l.Error("MPI_Comm_split", rc)
	}
	if color < 0 {
		return 0, false, nil
	}
	if rc := C.do_errors_return(l.c, word); rc != 0 {
		return 0, false, l.Error("MPI_Comm_set_errhandler", rc)
	}
	return uint64(word), true, nil
}

// Room tells whether there is room here for the two MPI communicators of one of ours. Open MPI must not come to the end of them: a rank
// that has none returns while the others wait for it, and its MPI_Comm_idup frees what is not its own. Other MPIs say on every rank alike
// that there are no more.
func (l *Library) Room() bool {
	if !strings.HasPrefix(l.implementation, "Open MPI") {
		return true
	}
	var made [2]uint64
	room := true
	l.quietly(l.predefined(), func() {
		for i := range made {
			var err *cerr.Error
			if made[i], _, err = l.Split(l.Self(), 0, 0); err != nil {
				room = false
				return
			}
		}
	})
	for _, comm := range made {
		if comm != 0 && l.Free(comm) != nil {
			room = false
		}
	}
	return room
}

// CreateGroup makes a communicator of the listed ranks, in the order of the list; called by them only.
func (l *Library) CreateGroup(comm uint64, ranks []int, tag int) (uint64, *cerr.Error) {
	list := (*C.int)(C.calloc(C.size_t(len(ranks)), C.sizeof_int))
	defer C.free(unsafe.Pointer(list))
	for i, r := range ranks {
		unsafe.Slice(list, len(ranks))[i] = C.int(r)
	}
	var word C.uint64_t
	if rc := C.do_comm_create_group(l.c, C.uint64_t(comm), C.int(len(ranks)), list, C.int(tag), &word); rc != 0 {
		return 0, l.Error("MPI_Comm_create_group", rc)
	}
	if rc := C.do_errors_return(l.c, word); rc != 0 {
		return 0, l.Error("MPI_Comm_set_errhandler", rc)
	}
	return uint64(word), nil
}
