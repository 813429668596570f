package lifecycle

import (
	"encoding/binary"
	"fmt"
	"sort"
	"time"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/handle"
	"reactantmpi/nccl"
)

// live gives the session of a communicator, and checks that this thread may call MPI.
func live(word unsafe.Pointer) (*session, *cerr.Error) {
	process.Lock()
	defer process.Unlock()
	c, ok := handle.ByWord(word)
	if !ok || c.State() != handle.Live {
		return nil, cerr.New(cerr.Comm, "%#x is not a live communicator", uintptr(word))
	}
	s := sessionOf(c)
	return s, checkThread(s.lib, s.lib.ThreadLevel())
}

// parentOf gives the session that a new communicator comes from: its ranks must be in step.
func parentOf(word unsafe.Pointer) (*session, *cerr.Error) {
	s, err := live(word)
	if err != nil {
		return nil, err
	}
	c, _ := handle.ByWord(word)
	if code, text := c.FirstError(); c.OutOfStep() {
		return nil, cerr.New(cerr.Code(code), "communicator %d takes no more calls: %s", c.ID(), text)
	}
	if s.lost.Load() {
		return nil, cerr.New(cerr.State, "an earlier split or create of communicator %d timed out: its ranks are no longer in step", c.ID())
	}
	return s, nil
}

// notIn notes that this rank has left a round in which the others may still be.
func (s *session) notIn(err *cerr.Error) *cerr.Error {
	if err != nil && err.Code == cerr.Timeout {
		s.lost.Store(true)
	}
	return err
}

// Split makes one communicator per colour; ok is false for a rank of negative colour. Collective over the parent.
func Split(word unsafe.Pointer, color, key int) (c handle.Comm, ok bool, err *cerr.Error) {
	parent, err := parentOf(word)
	if err != nil {
		return c, false, err
	}
	steps := timings{last: time.Now()}
	defer enter()()
	// Everybody's colour first: it is the proof, within the time, that all have arrived, since MPI's split itself cannot be bounded. A rank
	// that has given up has sent its colour too: the second round, which it does not join, proves that nobody has.
	failed := uint32(0)
	if on, _ := handle.ByWord(word); parent.gpu != nil && on.DeviceFailed() {
		failed = 1
	}
	wish := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(max(color, -1))), uint32(key))
	all, err := parent.lib.AllGather(parent.control, len(parent.ranks), binary.NativeEndian.AppendUint32(wish, failed), parent.options.TimeoutMS)
	if err == nil {
		err = parent.lib.Barrier(parent.control, parent.options.TimeoutMS)
	}
	if parent.notIn(err) != nil {
		return c, false, err
	}
	for rank, b := range all {
		if binary.NativeEndian.Uint32(b[8:]) != 0 {
			return c, false, cerr.New(cerr.NCCL, "an earlier failure ended device calls on this communicator at rank %d; nothing can be split from it", rank)
		}
	}
	s := parent.child(members(all, color))
	if s.user, ok, err = parent.lib.Split(parent.user, color, key); err != nil {
		return c, false, err
	}
	start := nccl.Start{Color: color, Key: key}
	if parent.gpu != nil && parent.gpu.nccl.CanSplit() {
		start.Parent = parent.gpu.comm
	}
	if !ok {
		if start.Parent != nil {
			// NCCL's split is collective over the parent: a rank that is not in any part must take part in it.
			_, err = nccl.Start{Lib: parent.gpu.nccl, Runtime: parent.gpu.runtime, Context: parent.gpu.context, Ordinal: parent.gpu.choice.Ordinal,
				Parent: start.Parent, Color: -1, TimeoutMS: parent.options.TimeoutMS}.Run()
		}
		return c, false, err
	}
	c, err = s.finish(start, &steps)
	return c, err == nil, err
}

// members are the parent's ranks of one colour, in the order that MPI gives them: by key, then by rank.
func members(all [][]byte, color int) []int {
	var out []int
	keys := make([]int, len(all))
	for rank, b := range all {
		keys[rank] = int(int32(binary.NativeEndian.Uint32(b[4:])))
		if color >= 0 && int(int32(binary.NativeEndian.Uint32(b))) == color {
			out = append(out, rank)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return keys[out[i]] < keys[out[j]] })
	return out
}

// createTag is the first of four tags for the messages of one list of ranks on the parent's control communicator: ranks that are given
// different lists never meet, and get a timeout instead of undefined behaviour.
func createTag(ranks []int) int { return 16 + 4*int(hash(fmt.Sprint(ranks))%8000) }

// Create makes a communicator of the listed ranks, which alone call it.
func Create(word unsafe.Pointer, ranks []int) (handle.Comm, *cerr.Error) {
	var none handle.Comm
	parent, err := parentOf(word)
	if err != nil {
		return none, err
	}
	seen := map[int]bool{}
	for _, r := range ranks {
		switch {
		case r < 0 || r >= len(parent.ranks):
			return none, cerr.New(cerr.Rank, "rank %d is outside the communicator's ranks 0 to %d", r, len(parent.ranks)-1)
		case seen[r]:
			return none, cerr.New(cerr.Rank, "rank %d is listed twice", r)
		}
		seen[r] = true
	}
	if !seen[parent.rank] {
		return none, cerr.New(cerr.Argument, "this rank (%d) is not in the list; only the listed ranks call", parent.rank)
	}
	steps := timings{last: time.Now()}
	defer enter()()
	s := parent.child(ranks)
	// MPI's function cannot be bounded, so all must be there first.
	if err = parent.notIn(parent.lib.Meet(parent.control, parent.rank, ranks, createTag(ranks), parent.options.TimeoutMS)); err != nil {
		return none, err
	}
	if s.user, err = parent.lib.CreateGroup(parent.control, ranks, createTag(ranks)); err != nil {
		return none, err
	}
	return s.finish(nccl.Start{}, &steps)
}

// child is a session over some of the parent's ranks, on the same devices.
func (s *session) child(ranks []int) *session {
	c := &session{lib: s.lib, refs: 1, options: s.options, begin: time.Now(), why: s.why, parentGPU: s.gpu}
	for i, r := range ranks {
		c.ranks = append(c.ranks, s.ranks[r])
		if len(s.devices) == len(s.ranks) {
			c.devices = append(c.devices, s.devices[r])
		}
		if r == s.rank {
			c.rank = i
		}
	}
	return c
}

// finish makes what is left of a child once its MPI communicator is there.
func (s *session) finish(start nccl.Start, steps *timings) (handle.Comm, *cerr.Error) {
	var err *cerr.Error
	if s.control, err = s.lib.Dup(s.user, s.options.TimeoutMS); err != nil {
		return handle.Comm{}, err
	}
	steps.mark("communicators")
	if s.parentGPU != nil {
		if err := s.inherit(start); err != nil {
			return handle.Comm{}, s.undo(err)
		}
		steps.mark("NCCL")
	}
	if err := s.gather(s.options.CallTimeoutMS); err != nil {
		return handle.Comm{}, s.undo(err)
	}
	propose, err := s.most(handle.Next(), s.options.TimeoutMS)
	if err != nil {
		return handle.Comm{}, s.undo(err)
	}
	id, err := s.agreeID(propose)
	if err != nil {
		return handle.Comm{}, s.undo(err)
	}
	steps.mark("id")
	s.steps = *steps
	return s.publish(id), nil
}

// inherit makes the device half on the parent's device: from its NCCL communicator if start says so, else from a new id.
func (s *session) inherit(start nccl.Start) *cerr.Error {
	g := *s.parentGPU
	g.comm = nil
	// A context of its own, so that parent and child may end in either order; the client ends with the last that uses it.
	g.context = nil
	if g.clientUsers != nil {
		g.clientUsers.Add(1)
	}
	s.gpu = &g
	if err := s.agree(s.bindDevice()); err != nil {
		return err
	}
	if start.Parent == nil {
		id, err := s.shareID()
		if err != nil {
			return err
		}
		start.ID = id
	}
	return s.startNCCL(start)
}
