package lifecycle

import (
	"encoding/binary"
	"fmt"
	"slices"
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
	state := fit
	if on, _ := handle.ByWord(word); parent.gpu != nil && on.DeviceFailed() {
		state = deviceFailed
	} else if !parent.lib.Room() {
		state = noRoom
	}
	wish := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(max(color, -1))), uint32(key))
	all, err := parent.lib.AllGather(parent.control, len(parent.ranks), binary.NativeEndian.AppendUint32(wish, state), parent.options.TimeoutMS)
	if err == nil {
		err = parent.lib.Barrier(parent.control, parent.options.TimeoutMS)
	}
	if parent.notIn(err) != nil {
		return c, false, err
	}
	for rank, b := range all {
		switch binary.NativeEndian.Uint32(b[8:]) {
		case noRoom:
			return c, false, full(fmt.Sprintf("rank %d on %s", rank, words(parent.ranks[rank].Host[:])))
		case deviceFailed:
			return c, false, cerr.New(cerr.NCCL, "an earlier failure ended device calls on this communicator at rank %d; nothing can be split from it", rank)
		}
	}
	s := parent.child(members(all, color))
	id, err := parent.splitInto(s, color, key, &steps)
	if err != nil {
		return c, false, s.undo(err)
	}
	if color < 0 {
		return c, false, nil
	}
	s.steps = steps
	return s.publish(id), true, nil
}

// splitInto makes the child of this rank's colour, if it has one, and gives its number. One colour may fail and another not: all learn it.
func (s *session) splitInto(child *session, color, key int, steps *timings) (id int, err *cerr.Error) {
	member := false
	// Both from the parent, which lives on: after a failure Open MPI must not lose what it was to split.
	for _, made := range []*uint64{&child.user, &child.control} {
		if *made, member, err = s.lib.Split(s.user, color, key); err != nil {
			err = noMore(err)
			break
		}
	}
	if err == nil && member {
		id, err = child.propose(0)
	}
	steps.mark("communicators")
	start := nccl.Start{Color: color, Key: key}
	if s.gpu != nil {
		// NCCL's split is collective over the parent: no rank may miss it.
		if err = s.agreeSplit(err); err != nil {
			return 0, err
		}
		if s.gpu.nccl.CanSplit() {
			start.Parent = s.gpu.comm
		}
	}
	switch {
	case err != nil:
	case member:
		id, err = child.finish(start, id, steps)
	case start.Parent != nil:
		_, err = nccl.Start{Lib: s.gpu.nccl, Runtime: s.gpu.runtime, Context: s.gpu.context, Ordinal: s.gpu.choice.Ordinal,
			Parent: start.Parent, Color: -1, TimeoutMS: s.options.TimeoutMS}.Run()
	}
	verdict := s.agreeSplit(err)
	if verdict != nil && err == nil && member {
		handle.Unclaim(id)
	}
	return id, verdict
}

// agreeSplit makes one colour's failure that of all. The others may still be waiting for NCCL, as long as they are allowed to.
func (s *session) agreeSplit(err *cerr.Error) *cerr.Error {
	wait := s.options.TimeoutMS
	if wait > 0 {
		wait += 2 * grace
	}
	all, verdict := s.agreeAll(err, wait)
	if all == nil {
		return s.notIn(verdict)
	}
	return verdict
}

// Dup makes a second communicator of the same ranks. Collective.
func Dup(word unsafe.Pointer) (handle.Comm, *cerr.Error) {
	c, _, err := Split(word, 0, 0)
	return c, err
}

// SplitNode makes one communicator per host. Collective.
func SplitNode(word unsafe.Pointer, key int) (handle.Comm, *cerr.Error) {
	parent, err := parentOf(word)
	if err != nil {
		return handle.Comm{}, err
	}
	c, _, err := Split(word, firstOfNode(parent.ranks, parent.rank), key)
	return c, err
}

// firstOfNode is the lowest rank on the host of a rank.
func firstOfNode(all []record, rank int) int {
	return slices.IndexFunc(all, func(r record) bool { return r.Node == all[rank].Node })
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
	return parent.create(ranks, hash("ranks", fmt.Sprint(ranks)))
}

// create makes a communicator of the listed ranks, this one among them; list is a hash of what every member was given.
func (s *session) create(ranks []int, list uint64) (handle.Comm, *cerr.Error) {
	var none handle.Comm
	steps := timings{last: time.Now()}
	defer enter()()
	child, tag := s.child(ranks), createTag(list, s.lib.TagUB(s.control))
	// MPI's function cannot be bounded, so all must be there first.
	room, err := s.lib.Meet(s.control, s.rank, ranks, tag, s.lib.Room(), s.options.TimeoutMS)
	if s.notIn(err) != nil {
		return none, err
	}
	if !room {
		return none, full("one of the listed ranks")
	}
	for _, made := range []*uint64{&child.user, &child.control} {
		if *made, err = s.lib.CreateGroup(s.control, ranks, tag); err != nil {
			return none, child.undo(noMore(err))
		}
	}
	return child.complete(list, &steps)
}

// createTag is the first of eight tags for the messages of one list on the parent's control communicator: ranks that are given different
// lists never meet, and get a timeout instead of undefined behaviour. Tags below 16 have other uses.
func createTag(list uint64, highest int) int { return 16 + 8*int(list%uint64((highest-16)/8)) }

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
	if held := s.held.Load(); held != nil {
		c.held.Store(held.of(ranks))
	}
	return c
}

// complete makes all that is left of a child whose members know nothing of other parts.
func (s *session) complete(list uint64, steps *timings) (handle.Comm, *cerr.Error) {
	id, err := s.propose(list)
	steps.mark("communicators")
	if err == nil {
		id, err = s.finish(nccl.Start{}, id, steps)
	}
	if err != nil {
		return handle.Comm{}, s.undo(err)
	}
	s.steps = *steps
	return s.publish(id), nil
}

// finish makes what is left of a child, and gives its number.
func (s *session) finish(start nccl.Start, propose int, steps *timings) (id int, err *cerr.Error) {
	if s.parentGPU != nil {
		if err := s.inherit(start); err != nil {
			return 0, err
		}
		steps.mark("NCCL")
	}
	if err := s.gather(s.options.CallTimeoutMS); err != nil {
		return 0, err
	}
	id, err = s.agreeID(propose)
	steps.mark("id")
	return id, err
}

// propose is the number that all members try first. It also proves that they were given the same list: the tags of two may be equal.
func (s *session) propose(list uint64) (id int, err *cerr.Error) {
	mine := binary.NativeEndian.AppendUint64(nil, list)
	all, err := s.lib.AllGather(s.control, len(s.ranks), binary.NativeEndian.AppendUint32(mine, uint32(handle.Next())), s.options.TimeoutMS)
	if err != nil {
		return 0, err
	}
	for rank, b := range all {
		if binary.NativeEndian.Uint64(b) != list {
			return 0, cerr.New(cerr.Mismatch, "rank %d was given another list, at the same moment and with the same tag; try again", rank)
		}
		id = max(id, int(binary.NativeEndian.Uint32(b[8:])))
	}
	return id, nil
}

// What a rank says of itself before a split.
const (
	fit uint32 = iota
	deviceFailed
	noRoom
)

// noMore says what a failure to make another MPI communicator means: every rank is there and its arguments are right.
func noMore(err *cerr.Error) *cerr.Error {
	if err.Code != cerr.MPI {
		return err
	}
	return full("every rank. " + err.Text)
}

// full is the error of a process that has no room for more of MPI's communicators.
func full(where string) *cerr.Error {
	live := 0
	for id := 1; id < handle.Next(); id++ {
		if handle.ByID(id).State() == handle.Live {
			live++
		}
	}
	return cerr.New(cerr.Memory, "MPI has no more communicators; each one of this library takes two, and %d live in this process: free some "+
		"(reactant_mpi_comm_free). Seen by %s", live, where)
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
