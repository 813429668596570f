package trace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

func TestRanges(t *testing.T) {
	for want, ranks := range map[string][]int{"": nil, "3": {3}, "0-3": {0, 1, 2, 3}, "0-1,7,3-5": {0, 1, 7, 3, 4, 5}, "2,1,0": {2, 1, 0}} {
		require.Equal(t, want, ranges(ranks))
	}
}

// The file is whole JSON after each write, whatever stands in its texts and however long they are.
func TestFile(t *testing.T) {
	refused := Open("/dev/null", 3, 4, "host", "MPI")
	require.NotNil(t, refused)
	require.Equal(t, cerr.Option, refused.Code)
	require.Contains(t, refused.Text, "rank-3.json")

	dir := filepath.Join(t.TempDir(), "made")
	host := "quote\" back\\slash\ttab\x01"
	require.Nil(t, Open(dir, 3, 4, host, "MPI"))
	path := filepath.Join(dir, "rank-3.json")
	read := func() (events []map[string]any) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &events), string(text[:min(len(text), 2000)]))
		return events
	}
	require.Len(t, read(), 2)
	require.Equal(t, host, read()[0]["args"].(map[string]any)["host"])

	require.Nil(t, Open(filepath.Join(dir, "other"), 3, 4, host, "MPI"), "only the first counts")
	require.NoDirExists(t, filepath.Join(dir, "other"))

	scattered := make([]int, 50_000)
	for i := range scattered {
		scattered[i] = 2 * i
	}
	Comm(7, scattered)
	for i := range 5_000 {
		Clock(0, int64(-i), 5)
	}
	Flush()
	events := read()
	require.Len(t, events, 5_003)
	args := events[2]["args"].(map[string]any)
	require.EqualValues(t, 7, args["comm"])
	require.Len(t, strings.Split(args["members"].(string), ","), len(scattered))
	require.EqualValues(t, -4999, events[5_002]["args"].(map[string]any)["offset_ns"])
	times := 0.0
	for _, e := range events[2:] {
		require.GreaterOrEqual(t, e["ts"].(float64), times)
		times = e["ts"].(float64)
	}
}
