package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever stands in the environment, the options that come out can be used.
func FuzzResolve(f *testing.F) {
	f.Add("off", "7", "multiple", int64(-1), uint64(0))
	f.Add("required", "-1", "", int64(1<<40), uint64(1<<63))
	f.Fuzz(func(t *testing.T, word, digits, level string, timeout int64, count uint64) {
		env := map[string]string{"REACTANT_MPI_GPU": word, "REACTANT_MPI_MAX_COUNT": digits, "REACTANT_MPI_TIMEOUT_MS": digits,
			"REACTANT_MPI_THREAD_LEVEL": level, "REACTANT_MPI_LAUNCHER_CHECK": word}
		given := Unset
		given.TimeoutMS, given.MaxCount = timeout, count
		o, _, _ := Resolve(given, func(n string) string { return env[n] })
		require.Contains(t, []int{GPUAuto, GPUOff, GPURequired}, o.GPU)
		require.GreaterOrEqual(t, o.TimeoutMS, int64(0))
		require.NotZero(t, o.MaxCount)
		require.LessOrEqual(t, o.MaxCount, uint64(maxCount))
		require.Contains(t, []int{0, 1, 2, 3}, o.ThreadLevel)
	})
}

// Whatever bytes a rank sends, the verdict is a verdict.
func FuzzJudge(f *testing.F) {
	f.Add((&record{}).encode(), (&record{Code: 11}).encode())
	f.Fuzz(func(t *testing.T, a, b []byte) {
		all := decode([][]byte{a, b})
		if err := judge(all); err != nil {
			require.NotEmpty(t, err.Text)
		}
		known(all)
	})
}
