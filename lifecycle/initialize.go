package lifecycle

import (
	"encoding/binary"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mattn/go-pointer"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/company"
	"reactantmpi/internal/handle"
	"reactantmpi/mpi"
	"reactantmpi/nccl"
	"reactantmpi/nccl/device"
)

// HostHandle is the communicator that the host names: by value, or by its integer (Fortran) handle.
type HostHandle struct {
	Word  uint64
	Int   int
	ByInt bool
}

// session is what Go keeps of a communicator, from publish to finalize.
type session struct {
	lib       *mpi.Library
	host      uint64 // the host's communicator
	user      uint64 // our duplicates
	control   uint64
	refs      int
	ranks     []record
	devices   [][]byte // the ranks' device records, encoded
	rank      int
	options   Options
	begin     time.Time
	steps     timings
	gpu       *gpuSide                // nil: host communicator
	parentGPU *gpuSide                // of the communicator that this one comes from
	why       string                  // the reason for the device, or for none
	company   company.Company         // where the ranks are; empty before the first timeout
	shrunk    bool                    // the ranks that live have gone on in another communicator
	clocked   bool                    // the ranks have compared their clocks, and do it again in the end
	held      atomic.Pointer[holders] // the ranks' device ids; nil: not set
	lost      atomic.Bool             // this rank left a round of the control communicator: the ranks are out of step there
}

// timings are the steps of one initialize, for describe.
type timings struct {
	last  time.Time
	steps []step
}

type step struct {
	Name string  `json:"step"`
	MS   float64 `json:"ms"`
}

func (t *timings) mark(name string) {
	now := time.Now()
	t.steps = append(t.steps, step{name, float64(now.Sub(t.last).Microseconds()) / 1000})
	t.last = now
}

// Initialize makes a communicator: the steps of the design in their order. A failure before the ranks meet returns on this rank alone;
// from the exchange of records on every rank gets the same verdict.
func Initialize(host HostHandle, given Options) (handle.Comm, *cerr.Error) {
	steps := timings{last: time.Now()}
	options, localError, fatal := Resolve(given, mpi.Getenv)
	if fatal != nil {
		return handle.Comm{}, fatal
	}
	lib, err := attach(options, &steps)
	if err != nil {
		return handle.Comm{}, err
	}
	defer enter()()
	if err := checkWorld(lib, options); err != nil {
		return handle.Comm{}, err
	}
	comm, err := hostComm(lib, host)
	if err != nil {
		return handle.Comm{}, err
	}
	s := &session{lib: lib, host: comm, refs: 1, options: options, begin: time.Now()}
	world, traceError := traceTo(lib, options.Trace)
	if localError == nil {
		localError = traceError
	}
	if err := s.duplicate(); err != nil {
		return handle.Comm{}, err
	}
	steps.mark("duplicate")
	gpus, err := s.exchange(world, localError)
	if err != nil {
		return handle.Comm{}, s.undo(err)
	}
	if id := known(s.ranks); id != 0 {
		c, ok, err := s.joinAgain(id, given)
		if ok || err != nil {
			return c, s.undo(err)
		}
	}
	steps.mark("exchange")
	if s.clocked = tracedByAll(s.ranks); s.clocked {
		if err := s.clock(); err != nil {
			return handle.Comm{}, s.undo(err)
		}
		steps.mark("clock")
	}
	if err := s.choose(gpus); err != nil {
		return handle.Comm{}, s.undo(err)
	}
	if err := s.connect(&steps); err != nil {
		return handle.Comm{}, s.undo(err)
	}
	if err := s.gather(s.options.CallTimeoutMS); err != nil {
		return handle.Comm{}, s.undo(err)
	}
	id, err := s.agreeID(proposed(s.ranks))
	if err != nil {
		return handle.Comm{}, s.undo(err)
	}
	steps.mark("id")
	s.steps = steps
	return s.publish(id), nil
}

func checkWorld(lib *mpi.Library, options Options) *cerr.Error {
	if options.LauncherCheck == 0 {
		return nil
	}
	_, size, err := lib.RankSize(lib.World())
	if err != nil {
		return err
	}
	return mpi.CheckAfterInit(lib.Path, size, mpi.Getenv)
}

func hostComm(lib *mpi.Library, host HostHandle) (uint64, *cerr.Error) {
	if host.ByInt {
		return lib.HostCommFromInt(host.Int)
	}
	return lib.HostComm(host.Word)
}

// duplicate makes the two communicators that everything runs on: one for the user's operations, one for the library's own messages.
func (s *session) duplicate() (err *cerr.Error) {
	if !s.lib.Room() {
		return full("this rank")
	}
	if s.user, err = s.lib.Dup(s.host, s.options.TimeoutMS); err != nil {
		return noMore(err)
	}
	if s.control, err = s.lib.Dup(s.user, s.options.TimeoutMS); err != nil {
		return s.undo(noMore(err))
	}
	return nil
}

// exchange tells every rank about every other one and reaches the common verdict; then about their devices, if there is anything to tell.
func (s *session) exchange(world int, localError *cerr.Error) (gpus, *cerr.Error) {
	rank, size, err := s.lib.RankSize(s.control)
	if err != nil {
		return gpus{}, err
	}
	s.rank = rank
	name := s.lib.Processor()
	what := s.lib.Family.String() + ", " + s.lib.Version
	own, g := probe(s.options, name)
	r := record{
		Known:    int32(same(s.lib, s.host)),
		Propose:  int32(handle.Next()),
		World:    int32(world),
		Traces:   int32(traces()),
		Check:    int32(s.options.Check),
		Half:     int32(s.options.Half),
		MaxCount: s.options.MaxCount,
		Timeout:  s.options.CallTimeoutMS,
		Library:  hash(what),
		Node:     nodeID(name),
	}
	if len(own.GPUs) > 0 || own.Code != 0 || own.Want != device.Any || own.Mode == device.Required {
		r.Devices = 1
	}
	fixed(r.Host[:], name)
	fixed(r.MPI[:], what)
	r.fail(localError)
	all, err := s.lib.AllGather(s.control, size, r.encode(), s.options.TimeoutMS)
	if err != nil {
		return gpus{}, err
	}
	s.ranks = decode(all)
	if err := judge(s.ranks); err != nil {
		return g, err
	}
	s.devices = [][]byte{device.Encode(own)}
	if devices(s.ranks) {
		s.devices, err = s.lib.AllGather(s.control, size, s.devices[0], s.options.TimeoutMS)
	}
	return g, err
}

// agreeID finds a number that is free on every member: the maximum of what they proposed, then proof that each could take it, else again
// above it. A thread that makes communicators alone gets 1, 2, 3 ... in every run.
func (s *session) agreeID(id int) (int, *cerr.Error) {
	for round := 0; ; round++ {
		if id >= handle.Limit {
			return 0, cerr.New(cerr.Memory, "no communicator numbers left: %d were made in the life of this process, and numbers are not used again", handle.Numbers)
		}
		// One exchange tells both whether somebody could not take this number and what to try then. The stride depends on the clock:
		// another thread may be after the same numbers, and the chase must end.
		next := 0
		claimed := handle.Claim(id)
		if !claimed {
			next = max(id+1, handle.Next()) + int(time.Now().UnixNano()>>10%int64(2+round))
		}
		next, err := s.most(next, s.options.TimeoutMS)
		if err == nil && next == 0 {
			return id, nil
		}
		if claimed {
			handle.Unclaim(id)
		}
		if err != nil {
			return 0, err
		}
		id = next
	}
}

// most is the maximum of a small number over the ranks.
func (s *session) most(n int, timeoutMS int64) (int, *cerr.Error) {
	all, err := s.lib.AllGather(s.control, len(s.ranks), binary.NativeEndian.AppendUint32(nil, uint32(n)), timeoutMS)
	if err != nil {
		return 0, err
	}
	for _, b := range all {
		n = max(n, int(binary.NativeEndian.Uint32(b)))
	}
	return n, nil
}

// undo gives the duplicates back and passes the reason on. After a timeout they stay: some rank may still be on its way to them.
func (s *session) undo(reason *cerr.Error) *cerr.Error {
	if err := s.disconnect(); err != nil && reason == nil {
		reason = err
	}
	if reason != nil && reason.Code == cerr.Timeout {
		return reason
	}
	s.company.Free()
	for _, comm := range []uint64{s.control, s.user} {
		if comm == 0 {
			continue // never made
		}
		if err := s.lib.Free(comm); err != nil && reason == nil {
			reason = err
		}
	}
	return reason
}

func (s *session) publish(id int) handle.Comm {
	c := handle.ByID(id)
	localRank, localSize := local(s.ranks, s.rank)
	var comm unsafe.Pointer
	if s.gpu != nil {
		s.gpu.comm.SetClient(s.gpu.client.Pointer())
		comm = s.gpu.comm.Pointer()
	}
	process.Lock()
	defer process.Unlock()
	c.Publish(handle.Fields{
		Device: comm,
		MPI:    s.lib.Pointer(), Run: s.lib.Run(),
		Word: s.user, Control: s.control,
		Rank: s.rank, Size: len(s.ranks), LocalRank: localRank, LocalSize: localSize,
		TagUB: s.lib.TagUB(s.user), MaxCount: s.options.MaxCount, Modes: process.modes | s.modes(),
		Host: words(s.ranks[s.rank].Host[:]), Session: pointer.Save(s),
		TimeoutMS: int(s.options.CallTimeoutMS), Company: s.company.Pointer(),
		Given: s.host, World: s.host != 0 && s.lib.Congruent(s.host, s.lib.World()), Self: s.host != 0 && s.lib.Congruent(s.host, s.lib.Self()),
	})
	s.traceComm(id)
	if comm != nil && !nccl.Watch(c.Pointer()) {
		cerr.Log(cerr.Warn, "no thread to watch communicator %d: asynchronous NCCL errors will not be noticed", id)
	}
	return c
}

// sessionOf gives the Go object of a published communicator. The caller holds the process lock.
func sessionOf(c handle.Comm) *session {
	s, _ := pointer.Restore(c.Session()).(*session)
	return s
}

// same looks for a live communicator over the same host communicator. MPIs hand out the value of a freed communicator again, so the
// value alone says nothing: MPI must call the two congruent.
func same(lib *mpi.Library, host uint64) int {
	process.Lock()
	defer process.Unlock()
	for id := handle.Next() - 1; id > 0; id-- {
		c := handle.ByID(id)
		if c.State() != handle.Live {
			continue
		}
		if s := sessionOf(c); s != nil && s.host == host && lib.Congruent(host, s.user) {
			return id
		}
	}
	return 0
}

// again counts one more reference of a live communicator; false if it has ended meanwhile.
func again(id int) (handle.Comm, *session, bool) {
	process.Lock()
	defer process.Unlock()
	c := handle.ByID(id)
	s := sessionOf(c)
	if c.State() != handle.Live || s == nil {
		return c, nil, false
	}
	s.refs++
	return c, s, true
}

// joinAgain counts one more reference of the live communicator that every rank has found, if none has seen it end meanwhile, on another
// thread. What is asked for now must be what it was made with.
func (s *session) joinAgain(id int, given Options) (c handle.Comm, ok bool, err *cerr.Error) {
	const ended, differs = 1, 2
	c, there, here := again(id)
	verdict := 0
	text := ""
	if !here {
		verdict = ended
	} else if text = there.otherThan(given); text != "" {
		verdict = differs
	}
	verdict, err = s.most(verdict, s.options.TimeoutMS)
	if err == nil && verdict == differs {
		if text == "" {
			text = "another rank asked for other options (its own text says which)"
		}
		err = cerr.New(cerr.State, "this communicator of the host is communicator %d already: %s. Ask for nothing, or finalize it first", id, text)
	}
	if here && (err != nil || verdict != 0) {
		if e := drop(c, false); err == nil {
			err = e
		}
	}
	return c, err == nil && verdict == 0, err
}

// forget releases the Go object of a communicator that is dead.
func forget(session unsafe.Pointer) { pointer.Unref(session) }
