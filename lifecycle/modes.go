package lifecycle

import (
	"reactantmpi/internal/cerr"
	"reactantmpi/internal/handle"
	"reactantmpi/internal/trace"
	"reactantmpi/mpi"
)

// modes are those of a communicator's options. The caller holds the process lock.
func (s *session) modes() (m handle.Modes) {
	if s.options.Check != 0 {
		m |= handle.Check
	}
	if s.options.Half == HalfByF32 {
		m |= handle.HalfByF32
	}
	if process.trace != "" {
		m |= handle.Trace
	}
	return m
}

// traceTo opens this rank's file where a trace is wanted and there is none yet, and gives the rank in the world.
func traceTo(lib *mpi.Library, dir string) (world int, err *cerr.Error) {
	world, size, err := lib.RankSize(lib.World())
	if err != nil {
		return 0, err
	}
	process.Lock()
	defer process.Unlock()
	if dir == "" || process.trace != "" {
		return world, nil
	}
	if err := trace.Open(dir, world, size, lib.Processor(), lib.Version); err != nil {
		return world, err
	}
	process.trace = dir
	return world, nil
}

func traces() int {
	process.Lock()
	defer process.Unlock()
	if process.trace != "" {
		return 1
	}
	return 0
}

// tracedByAll: then there are clocks to compare.
func tracedByAll(all []record) bool {
	for _, r := range all {
		if r.Traces == 0 {
			return false
		}
	}
	return len(all) > 1
}

// clock notes in the trace how far rank 0's clock is ahead of this rank's. Collective.
func (s *session) clock() *cerr.Error {
	offset, roundTrip, err := s.lib.Clock(s.control, s.rank, len(s.ranks), handle.TagClock, trace.Now, s.options.TimeoutMS)
	if err == nil {
		trace.Clock(int(s.ranks[0].World), offset, roundTrip)
	}
	return err
}

// traceComm notes in the trace who a new communicator is. The caller holds the process lock.
func (s *session) traceComm(id int) {
	if process.trace == "" {
		return
	}
	members := make([]int, len(s.ranks))
	for i, r := range s.ranks {
		members[i] = int(r.World)
	}
	trace.Comm(id, members)
}
