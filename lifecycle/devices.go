package lifecycle

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/handle"
)

// holders tells which rank of a communicator holds which of the host's device ids.
type holders struct {
	ids  [][]int64     // by rank
	rank map[int64]int // by id
}

// newHolders looks through the ids of every rank; an id that two claim is given with both.
func newHolders(ids [][]int64) (h *holders, id int64, claims []int) {
	h = &holders{ids: ids, rank: map[int64]int{}}
	for rank, list := range ids {
		for _, id := range list {
			if other, taken := h.rank[id]; taken {
				return nil, id, []int{other, rank}
			}
			h.rank[id] = rank
		}
	}
	return h, 0, nil
}

// of is the same for a communicator of some of the ranks.
func (h *holders) of(ranks []int) *holders {
	ids := make([][]int64, len(ranks))
	for i, r := range ranks {
		ids[i] = h.ids[r]
	}
	part, _, _ := newHolders(ids)
	return part
}

// clique gives the ranks that hold the listed ids, each at the place of its first.
func (h *holders) clique(ids []int64, self int) ([]int, *cerr.Error) {
	var ranks []int
	listed, member := map[int64]bool{}, map[int]bool{}
	for _, id := range ids {
		rank, held := h.rank[id]
		switch {
		case !held:
			return nil, cerr.New(cerr.Argument, "device id %d is held by no rank of the communicator", id)
		case listed[id]:
			return nil, cerr.New(cerr.Argument, "device id %d is listed twice", id)
		}
		listed[id] = true
		if !member[rank] {
			member[rank] = true
			ranks = append(ranks, rank)
		}
	}
	if !member[self] {
		return nil, cerr.New(cerr.Argument, "this rank (%d) holds none of the %d listed device ids (it holds %s); only ranks that hold one call",
			self, len(ids), few(h.ids[self]))
	}
	return ranks, nil
}

func few(ids []int64) string {
	const most = 8
	switch {
	case len(ids) == 0:
		return "none at all"
	case len(ids) > most:
		return fmt.Sprint(ids[:most]) + fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return fmt.Sprint(ids)
}

// SetDevices tells every rank which device ids each holds. problem, if there is one, is what is wrong with this rank's list: then no rank
// sets any. Collective.
func SetDevices(word unsafe.Pointer, ids []int64, problem *cerr.Error) *cerr.Error {
	s, err := parentOf(word)
	if err != nil {
		return err
	}
	defer enter()()
	if s.held.Load() != nil {
		return cerr.New(cerr.State, "the device ids of this communicator are already set; it may have them from the one that it was made from")
	}
	if problem == nil {
		if _, id, claims := newHolders([][]int64{ids}); claims != nil {
			problem = cerr.New(cerr.Argument, "device id %d is listed twice", id)
		}
	}
	counts, err := s.counts(len(ids), problem)
	if s.notIn(err) != nil {
		return err
	}
	var mine []byte
	for _, id := range ids {
		mine = binary.NativeEndian.AppendUint64(mine, uint64(id))
	}
	all, err := s.lib.AllGatherV(s.control, mine, counts, s.options.TimeoutMS)
	if s.notIn(err) != nil {
		return err
	}
	lists := make([][]int64, len(all))
	for rank, b := range all {
		for ; len(b) > 0; b = b[8:] {
			lists[rank] = append(lists[rank], int64(binary.NativeEndian.Uint64(b)))
		}
	}
	h, id, claims := newHolders(lists)
	if claims != nil {
		return cerr.New(cerr.Mismatch, "device id %d is claimed by rank %d on %s and by rank %d on %s; ids are global, and each belongs to one "+
			"process", id, claims[0], words(s.ranks[claims[0]].Host[:]), claims[1], words(s.ranks[claims[1]].Host[:]))
	}
	s.held.Store(h)
	return nil
}

// counts exchanges how many bytes of ids each rank has; the first rank with a problem is everybody's problem.
func (s *session) counts(n int, problem *cerr.Error) ([]int, *cerr.Error) {
	const longest = 96
	mine := binary.NativeEndian.AppendUint32(nil, uint32(n))
	if problem != nil {
		mine = append(mine, problem.Text[:min(len(problem.Text), longest)]...)
	}
	mine = append(mine, make([]byte, 4+longest-len(mine))...)
	all, err := s.lib.AllGather(s.control, len(s.ranks), mine, s.options.TimeoutMS)
	if err != nil {
		return nil, err
	}
	counts, total := make([]int, len(all)), 0
	for rank, b := range all {
		if text := words(b[4:]); text != "" {
			return nil, cerr.New(cerr.Argument, "rank %d on %s: %s", rank, words(s.ranks[rank].Host[:]), text)
		}
		counts[rank] = 8 * int(binary.NativeEndian.Uint32(b))
		total += counts[rank]
	}
	if total > math.MaxInt32 {
		return nil, cerr.New(cerr.Argument, "the ranks list %d device ids in all, more than MPI can exchange at once", total/8)
	}
	return counts, nil
}

// FromDevices makes the communicator of the ranks that hold the listed device ids, which alone call it.
func FromDevices(word unsafe.Pointer, ids []int64) (handle.Comm, *cerr.Error) {
	s, err := parentOf(word)
	if err != nil {
		return handle.Comm{}, err
	}
	h := s.held.Load()
	if h == nil {
		return handle.Comm{}, cerr.New(cerr.State, "no device ids are set; every rank calls reactant_mpi_set_devices first")
	}
	ranks, err := h.clique(ids, s.rank)
	if err != nil {
		return handle.Comm{}, err
	}
	return s.create(ranks, hash("devices", fmt.Sprint(ids)))
}
