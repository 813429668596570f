package mpi

/*
#include "mpi/shims.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
)

const wrongHandle = "; pass the handle by value (mpi4py: MPI._handleof(comm); MPI.jl: comm.val; C: the MPI_Comm itself), " +
	"of the MPI that this library uses: "

// handles is what the handles of communicators are, where it can be told.
type handles struct {
	ints    bool           // MPICH's integers
	numbers bool           // places in WI4MPI's tables
	world   unsafe.Pointer // Open MPI's world communicator: handles are addresses, and the same word stands first at each of them
}

func (l *Library) handlesOf(found *Found) handles {
	open := strings.HasPrefix(l.implementation, "Open MPI")
	switch l.Family {
	case WI4MPI:
		return handles{numbers: true}
	case MPICH, OpenMPI:
		if translates(found.Lib) {
			return handles{numbers: true}
		}
	case MPIABI:
		// The handles are those of the MPI behind it, and so is the constant.
		if l.World() == mpichWorld {
			return handles{ints: true}
		}
		if open {
			return handles{world: pointerTo(l.World())}
		}
	case Mukautuva:
		if !open {
			return handles{ints: true}
		}
		if found.Behind != nil {
			return handles{world: found.Behind.Symbol("ompi_mpi_comm_world")}
		}
	}
	return handles{ints: l.Family == MPICH, world: found.Lib.Symbol("ompi_mpi_comm_world")}
}

const (
	mpichWorld = 0x44000000
	// WI4MPI numbers what it translates from firstNumber on (WI4MPI_Comm_OFFSET); its tables have room for `numbers`.
	firstNumber, numbers = 100000, 1 << 20
)

// HostComm turns the word that a host gave into a communicator of this MPI, or refuses it. 0 is the world. What would crash inside MPI is
// found before MPI sees it: an MPICH handle is an int with the class of a communicator in its bits, an Open MPI handle the
// address of a readable communicator object.
func (l *Library) HostComm(word uint64) (uint64, *cerr.Error) {
	if word == 0 {
		return l.World(), nil
	}
	refuse := func(why string) (uint64, *cerr.Error) {
		return 0, cerr.New(cerr.Argument, "%#x is not a communicator handle: %s%s%s (%s)", word, why, wrongHandle, l.Path, l.Family)
	}
	predefined := word == l.World() || word == l.Self()
	var first C.uint64_t
	switch {
	case l.handles.numbers:
		if !predefined && (word < firstNumber || word >= firstNumber+numbers) {
			return refuse("WI4MPI has no communicator of this number")
		}
	case word < 0x1000:
		// The predefined handles of most ABIs; COMM_NULL and everything of another class is no communicator.
		if !predefined {
			return refuse("no predefined communicator of the " + l.Family.String() + " has this value")
		}
	case l.handles.ints:
		// mpi4py and MPIwrapper sign-extend; anything else in the upper half is not ours.
		if high := uint32(word >> 32); high != 0 && (high != 0xffffffff || uint32(word)>>31 == 0) {
			return refuse("an MPICH handle is a 32-bit integer")
		}
		word &= 0xffffffff
		if why := l.mpichHandle(uint32(word)); why != "" {
			return refuse(why)
		}
	case C.rmpi_peek(C.uint64_t(word), &first) == 0:
		return refuse("a handle of this ABI is the address of a communicator, and this memory cannot be read")
	case l.handles.world != nil:
		if uint64(first) != *(*uint64)(l.handles.world) {
			return refuse("what stands at this address is not a communicator of Open MPI")
		}
	default:
		// MPICH's implementation of the MPI-5 ABI: an object starts with its integer handle.
		if why := l.mpichHandle(uint32(first)); why != "" {
			return refuse("what stands at this address is not a communicator: " + why)
		}
	}
	return l.probe(word)
}

// pointerTo: a handle that is an address in a library, which no garbage collector moves.
func pointerTo(word uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&word)) }

// mpichHandle tells why an integer cannot be a communicator of MPICH; "" if it may be one. Two bits say where the object lives, four that
// it is a communicator, the rest is an index. MPICH itself aborts the job on a built-in or preallocated index that it does not have;
// its relatives have other numbers of them.
func (l *Library) mpichHandle(v uint32) string {
	const builtin, direct = 1, 2
	kind, index := v>>30, v&0x3ffffff
	switch {
	case kind == 0 || v>>26&0xf != 1:
		return "an MPICH communicator starts with 0x44, 0x84 or 0xc4"
	case kind == builtin && index > 1, kind == direct && index >= 8 && strings.HasPrefix(l.implementation, "MPICH"):
		return "MPICH has no communicator of this index"
	}
	return ""
}

// HostCommFromInt is the same by the Fortran or integer handle.
func (l *Library) HostCommFromInt(f int) (uint64, *cerr.Error) {
	refuse := func(why string) (uint64, *cerr.Error) {
		return 0, cerr.New(cerr.Argument, "%d is not the integer handle of a communicator: %s; library %s (%s)", f, why, l.Path, l.Family)
	}
	// MPICH's own conversion aborts on some integers.
	if v := uint32(f); l.handles.world == nil && !l.handles.numbers && (l.handles.ints || v >= 0x1000) {
		if why := l.mpichHandle(v); why != "" {
			return refuse(why)
		}
	}
	var word C.uint64_t
	var rc C.int
	l.quietly(l.predefined(), func() { rc = C.do_comm_fromint(l.c, C.int(f), &word) })
	switch {
	case rc != 0:
		return refuse("the library offers no conversion (MPI_Comm_f2c, MPI_Comm_fromint): pass the handle by value")
	case word == 0:
		return refuse("the library knows none of this number")
	}
	return l.HostComm(uint64(word))
}

func (l *Library) predefined() []uint64 {
	return []uint64{l.World(), l.Self()}
}

// probe asks MPI itself. An error about a handle that is none is raised on the predefined communicators.
func (l *Library) probe(word uint64) (uint64, *cerr.Error) {
	var size, inter, rc C.int
	l.quietly(l.predefined(), func() {
		if rc = C.do_comm_size(l.c, C.uint64_t(word), &size); rc == 0 {
			rc = C.do_comm_test_inter(l.c, C.uint64_t(word), &inter)
		}
	})
	switch {
	case rc != 0:
		return 0, cerr.New(cerr.Argument, "%#x is not a live communicator: %s%s%s (%s)", word, l.ErrorText(int(rc)), wrongHandle, l.Path, l.Family)
	case inter != 0:
		return 0, cerr.New(cerr.Argument, "%#x is an intercommunicator; merge it first (MPI_Intercomm_merge)", word)
	}
	return word, nil
}
