package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

func TestHolders(t *testing.T) {
	h, _, claims := newHolders([][]int64{{7}, {}, {-1, 1 << 40}, {8, 9, 10}})
	require.Nil(t, claims)
	for _, test := range []struct {
		ids   []int64
		self  int
		ranks []int
		text  string
	}{
		{ids: []int64{7}, self: 0, ranks: []int{0}},
		{ids: []int64{9, 7, -1}, self: 2, ranks: []int{3, 0, 2}},
		{ids: []int64{8, 7, 9, 1 << 40, 10}, self: 0, ranks: []int{3, 0, 2}},
		{ids: []int64{8, 11}, self: 3, text: "device id 11 is held by no rank"},
		{ids: []int64{8, 7, 8}, self: 3, text: "device id 8 is listed twice"},
		{ids: []int64{8, 7}, self: 1, text: "(1) holds none of the 2 listed device ids (it holds none at all)"},
		{ids: []int64{8}, self: 2, text: "(it holds [-1 1099511627776])"},
	} {
		ranks, err := h.clique(test.ids, test.self)
		if test.text != "" {
			require.NotNil(t, err)
			require.Equal(t, cerr.Argument, err.Code)
			require.Contains(t, err.Text, test.text)
			continue
		}
		require.Nil(t, err)
		require.Equal(t, test.ranks, ranks)
	}

	// A part has the ids of its own ranks, under their numbers there.
	ranks, err := h.of([]int{3, 2}).clique([]int64{-1, 10}, 0)
	require.Nil(t, err)
	require.Equal(t, []int{1, 0}, ranks)
	_, err = h.of([]int{3, 2}).clique([]int64{7, 10}, 0)
	require.Contains(t, err.Text, "device id 7 is held by no rank")
}

func TestTwoClaims(t *testing.T) {
	h, id, claims := newHolders([][]int64{{1, 2}, {3}, {4, 2}, {3}})
	require.Nil(t, h)
	require.Equal(t, int64(2), id)
	require.Equal(t, []int{0, 2}, claims)
	_, id, claims = newHolders([][]int64{{5}, {6, 6}})
	require.Equal(t, int64(6), id)
	require.Equal(t, []int{1, 1}, claims)
}

func TestFew(t *testing.T) {
	require.Equal(t, "[1 2]", few([]int64{1, 2}))
	require.Equal(t, "[0 0 0 0 0 0 0 0] and 92 more", few(make([]int64, 100)))
}

func TestCreateTag(t *testing.T) {
	for _, highest := range []int{32767, 1 << 20, 1<<31 - 1} {
		for _, list := range []uint64{0, 1, 4093, 1 << 40, 1<<64 - 1} {
			tag := createTag(list, highest)
			require.GreaterOrEqual(t, tag, 16)
			require.LessOrEqual(t, tag+7, highest)
			require.Zero(t, tag%8)
		}
	}
}
