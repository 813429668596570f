package lifecycle

import (
	"fmt"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/handle"
	"reactantmpi/internal/trace"
	"reactantmpi/nccl"
)

// Finalize ends one reference of a communicator; the last one frees it.
func Finalize(word unsafe.Pointer) *cerr.Error {
	c, ok := handle.ByWord(word)
	if !ok {
		return cerr.New(cerr.Comm, "%#x is not a communicator handle of this library", uintptr(word))
	}
	switch c.State() {
	case handle.Dead:
		return nil
	case handle.Live, handle.Ended:
		return end(c, false)
	}
	return cerr.New(cerr.Comm, "communicator %d was never made", c.ID())
}

// FinalizeAll ends every communicator, newest first, then MPI, if this library initialised it.
func FinalizeAll() *cerr.Error {
	var first *cerr.Error
	lookForStragglers()
	for id := handle.Next() - 1; id > 0; id-- {
		c := handle.ByID(id)
		if s := c.State(); s != handle.Live && s != handle.Ended {
			continue
		}
		err := end(c, true)
		if err != nil && err.Code == cerr.Thread {
			return err
		}
		if first == nil {
			first = err
		}
	}
	defer enter()()
	process.Lock()
	defer process.Unlock()
	if !process.ours || process.lib.Finalized() {
		return first
	}
	if process.outOfStep {
		cerr.Log(cerr.Warn, "MPI_Finalize is not called, since it waits for every rank, and some are out of step; the process can end by exit")
		return first
	}
	if err := checkThread(process.lib, process.lib.ThreadLevel()); err != nil {
		return err
	}
	// Also after a failure above: the other ranks are on their way into MPI_Finalize.
	if err := process.lib.Finalize(); first == nil {
		first = err
	}
	return first
}

// lookForStragglers notes whether MPI can still end in order.
func lookForStragglers() {
	process.Lock()
	defer process.Unlock()
	for id := 1; id < handle.Next(); id++ {
		c := handle.ByID(id)
		if s := sessionOf(c); c.State() == handle.Live && s != nil && !s.shrunk && (c.OutOfStep() || s.company.Broken()) {
			process.outOfStep = true
		}
	}
}

// end takes MPI for drop.
func end(c handle.Comm, all bool) *cerr.Error {
	defer enter()()
	return drop(c, all)
}

// drop ends one reference, or all of them, and frees the communicator with the last.
func drop(c handle.Comm, all bool) *cerr.Error {
	s, over, err := release(c, all)
	if s == nil || err != nil {
		return err
	}
	defer trace.Flush()
	// Collective, so not under the lock.
	stays := !over && s.stays(c, all)
	if s.clocked && !over && !stays {
		if err := s.clock(); err != nil {
			cerr.Log(cerr.Warn, "the trace has no second look at the clocks: %s", err.Text)
		}
	}
	if s.gpu != nil {
		nccl.Unwatch(c.Pointer())
	}
	if !stays {
		s.company.Free()
	}
	switch {
	case s.gpu != nil && stays:
		return s.gpu.close(true)
	case s.gpu != nil && over:
		s.gpu.comm = nil // aborted by the hook on MPI's end, or out of reach
		return s.gpu.close(true)
	case over || stays:
		return nil
	case s.gpu != nil:
		err = s.part(c.DeviceFailed())
	}
	for _, comm := range []uint64{s.control, s.user} {
		if e := s.lib.Free(comm); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// release marks a communicator dead when its last reference goes, and gives its session then. over: MPI has ended before, so that
// nothing of it can be freed.
func release(c handle.Comm, all bool) (s *session, over bool, err *cerr.Error) {
	process.Lock()
	defer process.Unlock()
	s = sessionOf(c)
	if s == nil || c.State() == handle.Dead {
		return nil, false, nil
	}
	// Ended comes first: MPI_Finalize may still be under way on another thread.
	if over = c.State() == handle.Ended || s.lib.Finalized(); !over {
		if err := checkThread(s.lib, s.lib.ThreadLevel()); err != nil {
			return nil, false, err
		}
	}
	if s.refs--; s.refs > 0 && !all {
		return nil, over, nil
	}
	c.SetState(handle.Dead)
	forget(c.Session())
	return s, over, nil
}

// stays tells whether the MPI half of a communicator is left as it is, since what its ranks do together might never end: they are out of
// step here, or in another one, so that MPI will not end in order anyway. What its calls know of the ranks stays too: one of another thread may
// still be under way.
func (s *session) stays(c handle.Comm, all bool) bool {
	if code, text := c.FirstError(); c.OutOfStep() {
		s.leave(c, fmt.Sprintf(" after code %d: %s", code, text))
		return true
	}
	process.Lock()
	leaves := all && process.outOfStep
	process.Unlock()
	if !leaves && s.company.Pointer() != nil && !s.lost.Load() && !s.lib.BarrierUnless(s.control, s.company.Broken) {
		s.leave(c, ": another rank has given up a call there, or its process has ended")
		return true
	}
	return leaves
}

// leave notes, and says, that a communicator is not freed.
func (s *session) leave(c handle.Comm, why string) {
	process.Lock()
	process.outOfStep = process.outOfStep || !s.shrunk
	process.Unlock()
	cerr.Log(cerr.Warn, "communicator %d ends without MPI_Comm_free, since its ranks are out of step%s", c.ID(), why)
}

// AbortWorld ends the job through the bound library's world.
func AbortWorld(code int) *cerr.Error {
	process.Lock()
	lib := process.lib
	process.Unlock()
	if lib == nil || !lib.Initialized() || lib.Finalized() {
		return cerr.New(cerr.State, "there is no running MPI to abort: initialize has not succeeded, or MPI has ended")
	}
	return lib.Abort(code)
}
