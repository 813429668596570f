package lifecycle

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"reactantmpi/client"
	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
	"reactantmpi/internal/handle"
	"reactantmpi/nccl"
	"reactantmpi/nccl/device"
)

// gpuSide is the device half of a communicator: nil in a host communicator.
type gpuSide struct {
	gpus
	choice  device.Choice
	context unsafe.Pointer
	client  *client.Client
	comm    *nccl.Comm
	// clientUsers counts the communicators that share the client: this one and those split from it. nil: there is none to end.
	clientUsers *atomic.Int32
}

// choose decides which device each rank takes, the same on all of them. Without devices anywhere the communicator is one of the host, and
// why says so; the ranks' records have not been exchanged then, and each looks at its own.
func (s *session) choose(g gpus) *cerr.Error {
	ranks := make([]device.Rank, len(s.devices))
	for i, b := range s.devices {
		r, err := device.Decode(b)
		if err != nil {
			return cerr.New(cerr.Mismatch, "rank %d on %s sent %s", i, words(s.ranks[i].Host[:]), err)
		}
		ranks[i] = r
	}
	choices, problem := device.Choose(ranks)
	if problem != nil {
		return cerr.New(cerr.Code(problem.Code), "%s", problem.Text)
	}
	if device.HostOnly(choices) {
		s.why = choices[0].Reason
		return nil
	}
	s.why = choices[s.rank].Reason
	s.gpu = &gpuSide{gpus: g, choice: choices[s.rank]}
	return nil
}

// connect makes the device half: context, client, NCCL communicator. After each step the ranks agree, so that a failure of one ends it
// for all, with its text.
func (s *session) connect(steps *timings) *cerr.Error {
	if s.gpu == nil {
		return nil
	}
	if err := s.agree(s.bindDevice()); err != nil {
		return err
	}
	steps.mark("context")
	if err := s.agree(s.makeClient()); err != nil {
		return err
	}
	steps.mark("client")
	id, err := s.shareID()
	if err != nil {
		return err
	}
	steps.mark("NCCL id")
	if err := s.startNCCL(nccl.Start{ID: id}); err != nil {
		return err
	}
	steps.mark("NCCL")
	return nil
}

func (s *session) bindDevice() (err *cerr.Error) {
	s.gpu.context, err = s.gpu.runtime.Retain(s.gpu.choice.Ordinal)
	return err
}

func (s *session) makeClient() (err *cerr.Error) {
	o := client.Options{
		Mode: client.Mode(s.options.Client), Device: s.gpu.choice.Ordinal,
		MemoryFraction: s.options.MemFraction, Preallocate: s.options.Preallocate,
	}
	// One option names either kind of XLA library.
	if strings.HasPrefix(filepath.Base(s.options.LibXLA), "libReactantExtra") {
		o.Library = s.options.LibXLA
	} else {
		o.Plugin = s.options.LibXLA
	}
	if s.options.Client == chooseClient {
		o.Mode = client.DefaultMode(dl.Host{}, o)
	}
	s.gpu.client, err = client.Make(dl.Host{}, o)
	if err == nil {
		s.gpu.clientUsers = &atomic.Int32{}
		s.gpu.clientUsers.Add(1)
	}
	return err
}

// shareID gives every rank the root's id, once all know that the root has one. A barrier follows: a broadcast alone may still be under way
// in MPI while NCCL already blocks.
func (s *session) shareID() ([]byte, *cerr.Error) {
	var id []byte
	var err *cerr.Error
	if s.rank == 0 {
		id, err = s.gpu.nccl.UniqueID()
	}
	if err := s.agree(err); err != nil {
		return nil, err
	}
	if id == nil {
		id = make([]byte, 128)
	}
	if err := s.lib.Bcast(s.control, 0, id, s.left()); err != nil {
		return nil, err
	}
	return id, s.lib.Barrier(s.control, s.left())
}

// startNCCL lets NCCL connect the ranks, which it does on a thread of its own. A rank that fails tells the others, so that they do not
// wait until the time is over.
func (s *session) startNCCL(start nccl.Start) *cerr.Error {
	notice := s.lib.NewNotice(s.control, handle.TagNotice)
	start.Lib, start.Runtime, start.Context, start.Ordinal = s.gpu.nccl, s.gpu.runtime, s.gpu.context, s.gpu.choice.Ordinal
	start.Rank, start.Size = s.rank, len(s.ranks)
	start.NonBlocking = s.options.NonBlocking == 1
	start.TimeoutMS = s.left()
	start.Poke, start.PokeArg = notice.Poke()
	var err *cerr.Error
	s.gpu.comm, err = start.Run()
	if err != nil && (err.Code == nccl.Stopped || err.Code == cerr.Timeout) {
		// A thread is still in NCCL, on this context: it must stay.
		s.gpu.context = nil
	}
	if err != nil && err.Code != nccl.Stopped {
		if e := notice.Send(s.rank, len(s.ranks)); e != nil {
			return e
		}
	}
	all, verdict := s.agreeAll(err, s.left())
	if all == nil {
		return verdict
	}
	var senders []int
	for rank, r := range all {
		if r.Code != 0 && cerr.Code(r.Code) != nccl.Stopped {
			senders = append(senders, rank)
		}
	}
	notice.Close(s.rank, senders)
	return verdict
}

// agree makes one rank's failure everybody's.
func (s *session) agree(err *cerr.Error) *cerr.Error {
	_, verdict := s.agreeAll(err, s.left())
	return verdict
}

// agreeAll also gives what each rank said; nil if that is unknown, because not all came.
func (s *session) agreeAll(err *cerr.Error, timeoutMS int64) ([]record, *cerr.Error) {
	var r record
	fixed(r.Host[:], words(s.ranks[s.rank].Host[:]))
	r.fail(err)
	all, e := s.lib.AllGather(s.control, len(s.ranks), r.encode(), timeoutMS)
	if e != nil {
		return nil, e
	}
	records := decode(all)
	return records, verdict(records)
}

// grace is what ranks that ran out of their time still need to agree on that.
const grace = 5000

// left is what remains of the time of this initialize.
func (s *session) left() int64 {
	if s.options.TimeoutMS == 0 {
		return 0
	}
	return max(s.options.TimeoutMS-time.Since(s.begin).Milliseconds(), grace)
}

// patience bounds each wait of an ending.
const patience = 30_000

// disconnect undoes the device half on this rank alone: abort, not finalize.
func (s *session) disconnect() *cerr.Error {
	g := s.gpu
	if g == nil {
		return nil
	}
	return g.close(true)
}

// part ends the device half of a communicator in order, which all its ranks do together: finalize, destroy; or abort, where any of them
// failed or does not come.
func (s *session) part(failed bool) *cerr.Error {
	n := 0
	if failed {
		s.gpu.comm = nil // the watcher has aborted it
		n = 1
	}
	if s.lost.Load() {
		return s.gpu.close(true)
	}
	n, err := s.most(n, patience)
	return s.gpu.close(err != nil || n > 0)
}

// close ends what is there: communicator, client, context.
func (g *gpuSide) close(abort bool) *cerr.Error {
	var first *cerr.Error
	if g.comm != nil && !g.comm.End(abort, patience) {
		first = cerr.New(cerr.NCCL, "NCCL did not end the communicator within %d ms; it is left behind", patience)
	}
	if g.clientUsers != nil && g.clientUsers.Add(-1) == 0 {
		if err := g.client.Close(); err != nil && first == nil {
			first = err
		}
	}
	if g.context != nil && first == nil {
		g.runtime.Release(g.choice.Ordinal)
	}
	return first
}
