package device

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// random makes ranks that see random devices of a few machines, with wishes, contexts, masks and instances here and there.
func random(rng *rand.Rand, most int) []Rank {
	var ranks []Rank
	plain, mig, lists := rng.IntN(3) > 0, rng.IntN(4) == 0, rng.IntN(3)
	multi := rng.IntN(4) == 0
	for range 1 + rng.IntN(most) {
		machine := string(rune('p' + rng.IntN(2)))
		r := Rank{Host: machine, Node: number(machine), Machine: number(machine), Vendor: CUDA, NCCL: 23007, Want: Any, MultiRank: multi}
		if rng.IntN(6) == 0 {
			r.Host, r.Node = machine+"c", number(machine+"c")
		}
		for _, d := range rng.Perm(4)[:1+rng.IntN(4)] {
			name := string(rune('A' + d))
			if mig {
				name += string(rune('0' + rng.IntN(2)))
			}
			r.GPUs = append(r.GPUs, made(machine, name))
		}
		if lists == 0 { // the same list everywhere
			r.GPUs = nil
			for d := range 4 {
				r.GPUs = append(r.GPUs, made(machine, string(rune('A'+d))))
			}
		}
		if !plain && rng.IntN(3) == 0 {
			r.Want = rng.IntN(len(r.GPUs))
		} else if !plain && rng.IntN(3) == 0 {
			r.GPUs[rng.IntN(len(r.GPUs))].Active = true
		}
		if rng.IntN(2) == 0 {
			r.CPUs.Add(rng.IntN(16))
		}
		ranks = append(ranks, r)
	}
	return ranks
}

func eachJob(t *testing.T, most int, check func(rng *rand.Rand, ranks []Rank)) {
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ranks := random(rng, most)
		check(rng, ranks)
		require.False(t, t.Failed(), "seed %d", seed)
	}
}

// sound checks what must hold of every answer, whatever the ranks said.
func sound(t *testing.T, ranks []Rank, list []Choice, p *Problem) {
	if p != nil {
		require.Nil(t, list)
		require.NotZero(t, p.Code)
		require.NotEmpty(t, p.Text)
		return
	}
	require.Len(t, list, len(ranks))
	if HostOnly(list) {
		for _, c := range list {
			require.Equal(t, None, c.Ordinal)
		}
		return
	}
	multi := true
	for _, r := range ranks {
		multi = multi && r.MultiRank && r.NCCL >= 23000 && r.Vendor != HIP
	}
	type on struct {
		place uint64
		id    identity
	}
	taken, boards := map[on]bool{}, map[on]bool{}
	for i, c := range list {
		r := &ranks[i]
		require.True(t, c.Ordinal >= 0 && c.Ordinal < len(r.GPUs), "a device that it sees")
		require.NotEmpty(t, c.Reason)
		if r.Want != Any {
			require.Equal(t, r.Want, c.Ordinal)
		}
		g := r.GPUs[c.Ordinal]
		device, board := on{r.machine(), g.identity(c.Ordinal)}, on{r.Node, g.board(c.Ordinal)}
		if !multi {
			require.False(t, taken[device], "one device for two ranks")
			require.False(t, boards[board], "one GPU for two ranks of a host")
		}
		taken[device], boards[board] = true, true
	}
}

func TestEveryAnswerIsSound(t *testing.T) {
	solved := 0
	eachJob(t, 6, func(_ *rand.Rand, ranks []Rank) {
		list, p := Choose(ranks)
		sound(t, ranks, list, p)
		if p == nil {
			solved++
		}
	})
	require.Greater(t, solved, 1000)
}

// free lists the ordinals that a rank may have, given those of the ranks before it.
func free(ranks []Rank, done []int) []int {
	var out []int
	r := &ranks[len(done)]
next:
	for o, g := range r.GPUs {
		if r.Want != Any && r.Want != o || r.Want == Any && r.active() >= 0 && r.active() != o {
			continue
		}
		for other, taken := range done {
			if ranks[other].Machine == r.Machine && ranks[other].GPUs[taken].PCI == g.PCI {
				continue next
			}
		}
		out = append(out, o)
	}
	return out
}

// first finds by trying all the first assignment, in the order of the ordinals of rank 0, rank 1, …, that gives no GPU to two ranks.
func first(ranks []Rank, done []int) []int {
	if len(done) == len(ranks) {
		return done
	}
	for _, o := range free(ranks, done) {
		if all := first(ranks, append(slices.Clone(done), o)); all != nil {
			return all
		}
	}
	return nil
}

// count counts such assignments.
func count(ranks []Rank, done []int) int {
	if len(done) == len(ranks) {
		return 1
	}
	n := 0
	for _, o := range free(ranks, done) {
		n += count(ranks, append(slices.Clone(done), o))
	}
	return n
}

func TestTheFirstMatchingOfAll(t *testing.T) {
	solved, refused := 0, 0
	eachJob(t, 6, func(_ *rand.Rand, ranks []Rank) {
		for i := range ranks {
			ranks[i].CPUs, ranks[i].MultiRank = CPUSet{}, false
		}
		list, p := Choose(ranks)
		want := first(ranks, nil)
		if want == nil {
			// Two instances of a GPU in two containers are fine.
			if p == nil {
				require.True(t, slices.ContainsFunc(ranks, func(r Rank) bool { return r.GPUs[0].MIG && r.Node != r.Machine }))
			}
			refused++
			return
		}
		solved++
		if p != nil { // a wish against the context
			require.Equal(t, Visible, p.Code)
			return
		}
		for i, c := range list {
			require.Equal(t, want[i], c.Ordinal, "rank %d of %v", i, list)
		}
	})
	require.Greater(t, min(solved, refused), 500)
}

// It matters to nobody who computes: every rank decodes for itself, at the same time, and gets the same words.
func TestAllRanksAgree(t *testing.T) {
	eachJob(t, 8, func(_ *rand.Rand, ranks []Rank) {
		list, p := Choose(ranks)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				mine := make([]Rank, len(ranks))
				for i := range ranks {
					mine[i], _ = Decode(Encode(ranks[i]))
				}
				again, q := Choose(mine)
				if !slices.Equal(list, again) || (p == nil) != (q == nil) || p != nil && *p != *q {
					t.Error("another verdict")
				}
			})
		}
		all.Wait()
	})
}

// Names do not matter: other UUIDs and other PCI addresses give the same ordinals.
func TestNamesDoNotMatter(t *testing.T) {
	eachJob(t, 6, func(rng *rand.Rand, ranks []Rank) {
		list, p := Choose(ranks)
		key, bus := byte(rng.Uint32()), uint8(rng.Uint32())
		renamed := slices.Clone(ranks)
		for i := range renamed {
			renamed[i].GPUs = slices.Clone(ranks[i].GPUs)
			for o := range renamed[i].GPUs {
				g := &renamed[i].GPUs[o]
				for b := range g.UUID {
					g.UUID[b] ^= key
				}
				g.PCI.Domain, g.PCI.Bus = 7, g.PCI.Bus^bus
			}
		}
		again, q := Choose(renamed)
		require.Equal(t, list, again)
		require.Equal(t, p == nil, q == nil)
	})
}

// Where the order of a rank's list does not decide, another order changes the ordinal and not the device. Where it does, it still never
// changes whether there is an answer.
func TestAnotherOrderOfAList(t *testing.T) {
	same := 0
	eachJob(t, 5, func(rng *rand.Rand, ranks []Rank) {
		list, p := Choose(ranks)
		at := rng.IntN(len(ranks))
		turned := slices.Clone(ranks)
		order := rng.Perm(len(ranks[at].GPUs))
		turned[at].GPUs = nil
		for o, from := range order {
			turned[at].GPUs = append(turned[at].GPUs, ranks[at].GPUs[from])
			if ranks[at].Want == from {
				turned[at].Want = o
			}
		}
		again, q := Choose(turned)
		if ranks[0].GPUs[0].MIG && slices.ContainsFunc(ranks, func(r Rank) bool { return r.Node != r.Machine }) {
			return // instances over containers: see group.choose
		}
		require.Equal(t, p == nil, q == nil)
		if p != nil {
			require.Equal(t, p.Code, q.Code)
			return
		}
		if count(ranks, nil) != 1 || ranks[0].MultiRank {
			return
		}
		same++
		for i := range list {
			require.Equal(t, ranks[i].GPUs[list[i].Ordinal], turned[i].GPUs[again[i].Ordinal], "rank %d", i)
		}
	})
	require.Greater(t, same, 100)
}

// What one machine gets is its own affair: other machines before, between and behind change nothing.
func TestMachinesDoNotMatterToEachOther(t *testing.T) {
	eachJob(t, 8, func(rng *rand.Rand, ranks []Rank) {
		list, p := Choose(ranks)
		if p != nil {
			return
		}
		var own []Rank
		var want []Choice
		for i, r := range ranks {
			if r.Machine == ranks[0].Machine {
				own, want = append(own, r), append(want, list[i])
			}
		}
		got, p := Choose(own)
		require.Nil(t, p)
		require.Equal(t, want, got)
	})
}
