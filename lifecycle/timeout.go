package lifecycle

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/company"
	"reactantmpi/internal/handle"
)

// SetTimeout bounds the waits of the communicator's calls; 0 takes the bound away. Collective over its ranks.
func SetTimeout(word unsafe.Pointer, ms int64) *cerr.Error {
	s, err := parentOf(word)
	if err != nil {
		return err
	}
	defer enter()()
	c, _ := handle.ByWord(word)
	wish := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, uint64(ms)), c.Sequence())
	all, err := s.lib.AllGather(s.control, len(s.ranks), wish, s.options.TimeoutMS)
	if s.notIn(err) != nil {
		return err
	}
	number := c.Sequence()
	wishes := make([]record, len(all))
	for i, b := range all {
		wishes[i] = record{Timeout: int64(binary.NativeEndian.Uint64(b)), Host: s.ranks[i].Host}
		number = max(number, binary.NativeEndian.Uint64(b[8:]))
	}
	if text := differInTimeout(wishes); text != "" {
		return cerr.New(cerr.Mismatch, "every rank must give the same time in milliseconds: %s", text)
	}
	if err := s.notIn(s.gather(ms)); err != nil {
		// Others may have the timeout already, and make calls that do not match this rank's.
		c.GiveUp(int(cerr.Timeout), err.Text)
		return err
	}
	process.Lock()
	defer process.Unlock()
	s.options.CallTimeoutMS = ms
	c.SetSequence(number) // ranks that traced or checked before have counted, others not
	c.SetTimeout(int(ms), s.company.Pointer())
	return nil
}

func differInTimeout(all []record) string {
	return differ(all, func(r record) uint64 { return uint64(r.Timeout) }, func(r record) string { return fmt.Sprint(r.Timeout) })
}

// gather makes what calls under a timeout know of the other ranks, if there is a timeout and it is not known yet: who is where, and a board
// in shared memory for each node with several ranks. A rank that cannot reach the board counts as elsewhere. Collective.
func (s *session) gather(timeoutMS int64) *cerr.Error {
	if timeoutMS == 0 || s.company.Pointer() != nil {
		return nil
	}
	hosts := make([]string, len(s.ranks))
	var here []int // the ranks of this node
	for rank, r := range s.ranks {
		hosts[rank] = words(r.Host[:])
		if r.Node == s.ranks[s.rank].Node {
			here = append(here, rank)
		}
	}
	all, ok := company.New(s.rank, hosts)
	if !ok {
		return cerr.New(cerr.Memory, "no memory for what is known of %d ranks", len(s.ranks))
	}
	err := s.meetOnBoard(all, here)
	if err != nil {
		all.Free()
		return err
	}
	s.company = all
	return nil
}

// meetOnBoard lets the ranks of each node open one board, made by the lowest of them, and tells which have it.
func (s *session) meetOnBoard(all company.Company, here []int) *cerr.Error {
	var nonce uint64 // names the board; 0 = there is none
	if here[0] == s.rank && len(here) > 1 {
		if made := newNonce(); company.Make(made, len(here)) {
			nonce = made
			defer company.Remove(made)
		}
	}
	nonces, err := s.tell(nonce)
	if err != nil {
		return err
	}
	opened := uint64(0)
	if shared := nonces[here[0]]; shared != 0 && all.Open(shared, len(here), slices.Index(here, s.rank)) {
		opened = 1
	}
	on, err := s.tell(opened)
	if err != nil {
		return err
	}
	for slot, rank := range here {
		if on[rank] != 0 {
			all.OnBoard(rank, slot)
		}
	}
	return nil
}

// tell exchanges a number a rank.
func (s *session) tell(n uint64) ([]uint64, *cerr.Error) {
	all, err := s.lib.AllGather(s.control, len(s.ranks), binary.NativeEndian.AppendUint64(nil, n), s.options.TimeoutMS)
	out := make([]uint64, len(all))
	for i, b := range all {
		out[i] = binary.NativeEndian.Uint64(b)
	}
	return out, err
}

// newNonce names a board; 0 means none.
func newNonce() uint64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0
	}
	return binary.NativeEndian.Uint64(b[:])
}
