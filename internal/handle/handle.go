// Package handle holds the arenas of communicator and request handles (C, handle.h) and what Go needs of a communicator's slot.
package handle

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -I${SRCDIR}/../..
#include <stdlib.h>
#include <string.h>
#include "handle.h"
*/
import "C"

import (
	"unsafe"

	// The C files here use its error record.
	_ "reactantmpi/internal/cerr"
)

// Limit is the number of slots: ids are below it.
const Limit = C.RMPI_COMM_SLOTS

// Numbers is how many there are: 0 is NULL, and some are words of MPI.
const Numbers = Limit - 1 - (C.RMPI_LAST_COMM_WORD - C.RMPI_FIRST_COMM_WORD + 1)

// State of a communicator's slot.
type State uint32

// The states that Go looks at.
const (
	Live  State = C.RMPI_LIVE
	Dead  State = C.RMPI_DEAD
	Ended State = C.RMPI_ENDED
)

// Modes of a communicator: why its calls take the layers instead of the plain path.
type Modes uint32

// See enum rmpi_mode.
const (
	MainThread    Modes = C.RMPI_MAIN_THREAD
	OneAtATime    Modes = C.RMPI_ONE_AT_A_TIME
	LookFinalized Modes = C.RMPI_LOOK_FINALIZED
	CopyReduce    Modes = C.RMPI_COPY_REDUCE
	Check         Modes = C.RMPI_CHECK
	Trace         Modes = C.RMPI_TRACE
	HalfByF32     Modes = C.RMPI_HALF_BY_F32
)

// Comm is a communicator's slot.
type Comm struct{ c *C.struct_rmpi_comm }

// Fields is what initialize puts into a slot before it is published.
type Fields struct {
	MPI, Run             unsafe.Pointer // struct rmpi_mpi *, const rmpi_run_fn *
	Word, Control        uint64
	Rank, Size           int
	LocalRank, LocalSize int
	TagUB                int
	MaxCount             uint64
	Modes                Modes
	Host                 string
	Session              unsafe.Pointer
	Device               unsafe.Pointer // struct rmpi_device *; nil: host communicator
	TimeoutMS            int            // of calls; 0 = for ever
	Company              unsafe.Pointer // struct rmpi_company *; nil: never a timeout yet
	Given                uint64         // the host's communicator; 0: made of one of ours
	World, Self          bool           // it has the ranks of MPI_COMM_WORLD, of MPI_COMM_SELF
}

// Tags of the library's own messages on control communicators.
const (
	TagNotice = C.RMPI_TAG_NOTICE
	TagData   = C.RMPI_TAG_DATA
	TagClock  = C.RMPI_TAG_CLOCK // and the next
)

// Next is the lowest id above every one ever claimed in this process.
func Next() int { return int(C.rmpi_comm_next()) }

// Claim takes a free slot; false if it was not free.
func Claim(id int) bool { return C.rmpi_comm_claim(C.int(id)) != 0 }

// Unclaim gives back a slot that was claimed and never published.
func Unclaim(id int) { C.rmpi_comm_unclaim(C.int(id)) }

// ByID is the slot of an id.
func ByID(id int) Comm { return Comm{&C.rmpi_comms[id]} }

// ByWord is the slot that a handle or id means; ok is false if it means none.
func ByWord(word unsafe.Pointer) (c Comm, ok bool) {
	c = Comm{C.rmpi_comm_slot(word)}
	return c, c.c != nil
}

// Publish fills a claimed slot and makes it live.
func (c Comm) Publish(f Fields) {
	p := c.c
	p.modes = C.uint32_t(f.Modes)
	p.run = (*C.rmpi_run_fn)(f.Run)
	p.mpi = (*C.struct_rmpi_mpi)(f.MPI)
	p.word, p.control = C.uint64_t(f.Word), C.uint64_t(f.Control)
	p.max_count = C.uint64_t(f.MaxCount)
	p.max_block = C.uint64_t(min(f.MaxCount, uint64(1<<31-1)/uint64(f.Size)))
	p.rank, p.size = C.int32_t(f.Rank), C.int32_t(f.Size)
	p.local_rank, p.local_size = C.int32_t(f.LocalRank), C.int32_t(f.LocalSize)
	p.tag_ub = C.int32_t(f.TagUB)
	p.session = f.Session
	p.given = C.uint64_t(f.Given)
	for self, is := range []bool{f.World, f.Self} {
		if is {
			p.predefined |= 1 << self
		}
	}
	p.device = (*C.struct_rmpi_device)(f.Device)
	c.SetTimeout(f.TimeoutMS, f.Company)
	host := C.CString(f.Host)
	C.strncpy(&p.host[0], host, C.RMPI_HOST_BYTES-1)
	C.free(unsafe.Pointer(host))
	C.rmpi_comm_publish(p)
}

// SetTimeout changes the longest wait of calls; 0 = for ever. The company is known from the first on.
func (c Comm) SetTimeout(ms int, company unsafe.Pointer) {
	C.rmpi_comm_set_timeout(c.c, C.int32_t(ms), (*C.struct_rmpi_company)(company))
}

// Sequence is the number of collectives begun, as far as they are counted.
func (c Comm) Sequence() uint64 { return uint64(C.rmpi_comm_sequence(c.c)) }

// SetSequence brings the ranks' numbers together.
func (c Comm) SetSequence(n uint64) { C.rmpi_comm_set_sequence(c.c, C.uint64_t(n)) }

// GiveUp marks it out of step: a change of it may have reached some ranks only.
func (c Comm) GiveUp(code int, reason string) {
	text := C.CString(reason)
	defer C.free(unsafe.Pointer(text))
	C.rmpi_comm_latch(c.c, C.int(code), text)
	C.rmpi_comm_out_of_step(c.c)
}

// Revoked marks it out of step, for a reason of the ranks themselves.
func (c Comm) Revoked() {
	text := C.CString("it was revoked by reactant_mpi_comm_shrink; go on with the communicator that this gave")
	defer C.free(unsafe.Pointer(text))
	C.rmpi_comm_latch(c.c, C.REACTANT_MPI_ERR_PEER, text)
	C.rmpi_comm_out_of_step(c.c)
}

// OutOfStep tells whether a call has timed out here, or a peer has died: its ranks cannot be expected to make the same calls any more.
func (c Comm) OutOfStep() bool { return C.rmpi_comm_is_out_of_step(c.c) != 0 }

// ID is the communicator's number.
func (c Comm) ID() int { return int(C.rmpi_comm_number(c.c)) }

// Pointer is the handle given to users.
func (c Comm) Pointer() unsafe.Pointer { return unsafe.Pointer(c.c) }

// State of the slot now.
func (c Comm) State() State { return State(C.rmpi_comm_state(c.c)) }

// SetState changes it.
func (c Comm) SetState(s State) { C.rmpi_comm_set_state(c.c, C.uint32_t(s)) }

// Session is the opaque object stored at Publish; meaningful while the slot is live or ended.
func (c Comm) Session() unsafe.Pointer { return c.c.session }

// DeviceFailed tells whether the watcher has given the device half up, and aborted it.
func (c Comm) DeviceFailed() bool { return c.c.modes&C.RMPI_DEVICE_FAILED != 0 }

// Enter takes MPI for one thread, where its level is SERIALIZED, after another that is inside. Leave gives it back.
func Enter() { C.rmpi_enter() }

// Leave ends what Enter began.
func Leave() { C.rmpi_leave() }

// FirstError is the latched error: code 0 if none.
func (c Comm) FirstError() (code int, text string) {
	return int(c.c.error), C.GoString(c.c.error_text)
}
