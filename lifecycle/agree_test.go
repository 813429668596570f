package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

// ranks makes the records of n healthy ranks, two to a host.
func ranks(n int, change func(rank int, r *record)) []record {
	out := make([]record, n)
	for i := range out {
		out[i] = record{Library: 1, MaxCount: 1 << 30, Node: uint64(i / 2)}
		fixed(out[i].Host[:], fmt.Sprintf("node%d", i/2))
		fixed(out[i].MPI[:], "MPICH ABI, MPICH Version: 5.0.2")
		if change != nil {
			change(i, &out[i])
		}
	}
	return out
}

func TestRecordsSurviveTheWire(t *testing.T) {
	want := ranks(3, func(rank int, r *record) { r.Code = int32(rank); fixed(r.Text[:], strings.Repeat("x", 1000)) })
	var wire [][]byte
	for i := range want {
		wire = append(wire, want[i].encode())
		require.Len(t, wire[i], len(wire[0]))
	}
	require.Equal(t, want, decode(wire))
	require.Len(t, words(want[0].Text[:]), len(want[0].Text)-1)
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name string
		all  []record
		code cerr.Code
		text []string
	}{
		{name: "all fine", all: ranks(4, nil)},
		{name: "one failed", all: ranks(4, func(rank int, r *record) {
			if rank == 2 {
				r.Code = int32(cerr.Option)
				fixed(r.Text[:], "GPU=maybe")
			}
		}), code: cerr.Option, text: []string{"1 of 4 ranks", "rank 2 on node1: GPU=maybe"}},
		{name: "alone", all: ranks(1, func(_ int, r *record) { r.Code = int32(cerr.NoNCCL); fixed(r.Text[:], "no NCCL") }),
			code: cerr.NoNCCL, text: []string{"no NCCL"}},
		{name: "the lowest failing rank gives the code", all: ranks(4, func(rank int, r *record) {
			if rank > 0 {
				r.Code = int32(cerr.Option) + int32(rank)
			}
		}), code: cerr.Option + 1, text: []string{"3 of 4"}},
		{name: "other library", all: ranks(4, func(rank int, r *record) {
			if rank == 3 {
				r.Library = 9
				fixed(r.MPI[:], "MPICH ABI, Intel(R) MPI Library")
			}
		}), code: cerr.Mismatch, text: []string{"3 ranks from 0 on", "rank 3 on node1: MPICH ABI, Intel", "REACTANT_MPI_LIBMPI"}},
		{name: "other max_count", all: ranks(2, func(rank int, r *record) { r.MaxCount = uint64(7 + rank) }),
			code: cerr.Mismatch, text: []string{"max_count", "7", "8"}},
		{name: "check on one rank", all: ranks(2, func(rank int, r *record) { r.Check = int32(rank) }),
			code: cerr.Mismatch, text: []string{"option check", "rank 0 on node0: off", "rank 1 on node0: on", "REACTANT_MPI_CHECK"}},
		{name: "half on two ranks of three", all: ranks(3, func(rank int, r *record) { r.Half = int32(min(rank, 1)) }),
			code: cerr.Mismatch, text: []string{"option half", "rank 0 on node0: pairwise", "2 ranks from 1 on on node0: f32"}},
		{name: "a trace need not be everywhere", all: ranks(2, func(rank int, r *record) { r.Traces = int32(rank) })},
		{name: "many failures stay readable", all: ranks(1000, func(_ int, r *record) { r.Code = 1 }), code: 1, text: []string{"and 992 more"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := judge(test.all)
			if test.code == 0 {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, test.code, err.Code)
			for _, text := range test.text {
				require.Contains(t, err.Text, text)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	id := func(ids ...int32) []record {
		return ranks(len(ids), func(rank int, r *record) { r.Known = ids[rank] })
	}
	require.Equal(t, 5, known(id(5, 5, 5)))
	require.Equal(t, 0, known(id(0, 0)))
	// A value may be re-used by MPI on some ranks only: not the same communicator.
	require.Equal(t, 0, known(id(5, 0)))
	require.Equal(t, 0, known(id(0, 5)))
	require.Equal(t, 0, known(id(5, 6)))
}

func TestLocal(t *testing.T) {
	all := ranks(5, nil)
	for rank, want := range [][2]int{{0, 2}, {1, 2}, {0, 2}, {1, 2}, {0, 1}} {
		r, n := local(all, rank)
		require.Equal(t, want, [2]int{r, n}, rank)
	}
}

func TestFirstOfNode(t *testing.T) {
	all := ranks(5, nil)
	for rank, want := range []int{0, 0, 2, 2, 4} {
		require.Equal(t, want, firstOfNode(all, rank))
	}
	all = ranks(4, func(rank int, r *record) { r.Node = uint64(rank % 2) }) // dealt out in turn
	for rank, want := range []int{0, 1, 0, 1} {
		require.Equal(t, want, firstOfNode(all, rank))
	}
}
