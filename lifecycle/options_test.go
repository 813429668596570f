package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/client"
	"reactantmpi/internal/cerr"
	"reactantmpi/mpi"
)

func TestResolve(t *testing.T) {
	defaults := Options{GPU: GPUAuto, ThreadLevel: mpi.Multiple, LauncherCheck: 1, TimeoutMS: 300_000, MaxCount: 1 << 30,
		Device: -1, Client: chooseClient, Preallocate: -1}
	with := func(change func(*Options)) Options { o := defaults; change(&o); return o }
	given := func(change func(*Options)) Options { o := Unset; change(&o); return o }

	for _, test := range []struct {
		name  string
		given Options
		env   map[string]string
		want  Options
		local string // text of an error to tell the other ranks
		fatal string // text of one that stops at once
	}{
		{name: "defaults", given: Unset, want: defaults},
		{name: "environment", given: Unset, env: map[string]string{"REACTANT_MPI_GPU": "off", "REACTANT_MPI_THREAD_LEVEL": "Serialized",
			"REACTANT_MPI_LAUNCHER_CHECK": "off", "REACTANT_MPI_TIMEOUT_MS": "5", "REACTANT_MPI_MAX_COUNT": "7",
			"REACTANT_MPI_LIBMPI": "/x", "REACTANT_MPI_MPI_DIRS": "/a:/b"},
			want: Options{GPU: GPUOff, ThreadLevel: mpi.Serialized, LevelGiven: true, LauncherCheck: 0, TimeoutMS: 5, MaxCount: 7, LibMPI: "/x", MPIDirs: "/a:/b",
				Device: -1, Client: chooseClient, Preallocate: -1}},
		{name: "devices by environment", given: Unset, env: map[string]string{"REACTANT_MPI_DEVICE": "3", "REACTANT_MPI_CLIENT": "pjrt",
			"REACTANT_MPI_PREALLOCATE": "off", "REACTANT_MPI_MEMORY_FRACTION": "0.5", "REACTANT_MPI_LIBNCCL": "/n", "REACTANT_MPI_LIBXLA": "/x",
			"REACTANT_MPI_NCCL_NONBLOCKING": "on", "REACTANT_MPI_CALL_TIMEOUT_MS": "1500"},
			want: with(func(o *Options) {
				o.CallTimeoutMS = 1500
				o.Device, o.Client, o.Preallocate, o.MemFraction, o.NonBlocking, o.LibNCCL, o.LibXLA = 3, int(client.PJRT), 0, 0.5, 1, "/n", "/x"
			})},
		{name: "modes by environment", given: Unset, env: map[string]string{"REACTANT_MPI_CHECK": "1", "REACTANT_MPI_HALF": "f32",
			"REACTANT_MPI_TRACE": "/t", "REACTANT_MPI_LAUNCHER_CHECK": "0", "REACTANT_MPI_PREALLOCATE": "1", "REACTANT_MPI_NCCL_NONBLOCKING": "1"},
			want: with(func(o *Options) {
				o.Check, o.Half, o.Trace, o.LauncherCheck, o.Preallocate, o.NonBlocking = 1, HalfByF32, "/t", 0, 1, 1
			})},
		{name: "modes by argument", given: given(func(o *Options) { o.Check, o.Half, o.Trace = 0, HalfPairwise, "/arg" }),
			env:  map[string]string{"REACTANT_MPI_CHECK": "on", "REACTANT_MPI_HALF": "f32", "REACTANT_MPI_TRACE": "/env"},
			want: with(func(o *Options) { o.Trace = "/arg" })},
		{name: "neither on nor off", given: Unset, env: map[string]string{"REACTANT_MPI_CHECK": "2"}, want: defaults, local: "REACTANT_MPI_CHECK=2; it takes off, on"},
		{name: "1 is no word of half", given: Unset, env: map[string]string{"REACTANT_MPI_HALF": "1"}, want: defaults, local: "REACTANT_MPI_HALF=1"},
		{name: "no fraction", given: given(func(o *Options) { o.MemFraction = 1.5 }), want: defaults, local: "memory_fraction is 1.5"},
		{name: "fraction that is no number", given: Unset, env: map[string]string{"REACTANT_MPI_MEMORY_FRACTION": "NaN"}, want: defaults, local: "MEMORY_FRACTION=NaN"},
		{name: "negative device", given: Unset, env: map[string]string{"REACTANT_MPI_DEVICE": "-2"}, want: defaults, local: "REACTANT_MPI_DEVICE=-2"},
		{name: "argument beats environment", given: given(func(o *Options) { o.GPU = GPUOff; o.MaxCount = 9; o.LibMPI = "/arg"; o.TimeoutMS = 0 }),
			env:  map[string]string{"REACTANT_MPI_GPU": "required", "REACTANT_MPI_MAX_COUNT": "7", "REACTANT_MPI_LIBMPI": "/env", "REACTANT_MPI_TIMEOUT_MS": "5"},
			want: with(func(o *Options) { o.GPU = GPUOff; o.MaxCount = 9; o.LibMPI = "/arg"; o.TimeoutMS = 0 })},
		{name: "unknown word", given: Unset, env: map[string]string{"REACTANT_MPI_GPU": "maybe"}, want: defaults, local: "REACTANT_MPI_GPU=maybe; it takes auto, off, required"},
		{name: "unknown number", given: given(func(o *Options) { o.GPU = 7 }), want: defaults, local: "option gpu is 7"},
		{name: "not a number", given: Unset, env: map[string]string{"REACTANT_MPI_TIMEOUT_MS": "soon"}, want: defaults, local: "REACTANT_MPI_TIMEOUT_MS=soon"},
		{name: "negative", given: given(func(o *Options) { o.TimeoutMS = -5 }), want: defaults, local: "option timeout_ms is -5"},
		{name: "negative time of calls", given: given(func(o *Options) { o.CallTimeoutMS = -2 }), want: defaults, local: "option call_timeout_ms is -2"},
		{name: "count too large", given: given(func(o *Options) { o.MaxCount = 1 << 31 }), want: defaults, local: "max_count"},
		{name: "count of all bits", given: given(func(o *Options) { o.MaxCount = 1<<64 - 1 }), want: defaults, local: "max_count"},
		{name: "count zero in the environment", given: Unset, env: map[string]string{"REACTANT_MPI_MAX_COUNT": "0"}, want: defaults, local: "REACTANT_MPI_MAX_COUNT=0"},
		{name: "thread level must be right at once", given: Unset, env: map[string]string{"REACTANT_MPI_THREAD_LEVEL": "all"}, want: with(func(o *Options) { o.LevelGiven = true }), fatal: "REACTANT_MPI_THREAD_LEVEL=all"},
		{name: "the first error counts", given: Unset, env: map[string]string{"REACTANT_MPI_GPU": "maybe", "REACTANT_MPI_MAX_COUNT": "x"}, want: defaults, local: "GPU"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, local, fatal := Resolve(test.given, func(n string) string { return test.env[n] })
			require.Equal(t, test.want, got)
			for _, e := range []struct {
				err  *cerr.Error
				text string
			}{{local, test.local}, {fatal, test.fatal}} {
				if e.text == "" {
					require.Nil(t, e.err)
					continue
				}
				require.NotNil(t, e.err)
				require.Equal(t, cerr.Option, e.err.Code)
				require.Contains(t, e.err.Text, e.text)
			}
		})
	}
}
