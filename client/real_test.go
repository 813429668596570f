package client

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

// Real plugins: REACTANT_MPI_TEST_PJRT_PLUGINS lists files, separated by colons. What is expected goes by the file's name: CPU plugins
// make a client; GPU plugins do where there is a GPU, and elsewhere must fail in the way that people will see.
const pluginsVariable = "REACTANT_MPI_TEST_PJRT_PLUGINS"

func realPlugins(t *testing.T, names ...string) []string {
	t.Helper()
	list := os.Getenv(pluginsVariable)
	if list == "" {
		t.Skipf("not run: %s is not set (wheels: tests/requirements-pjrt.txt, tests/requirements-pjrt-big.txt)", pluginsVariable)
	}
	var out []string
	for _, path := range filepath.SplitList(list) {
		require.FileExists(t, path)
		for _, name := range names {
			if strings.Contains(filepath.Base(path), name) {
				out = append(out, path)
				break
			}
		}
	}
	if len(out) == 0 {
		t.Skipf("not run: %s names no file like %s", pluginsVariable, strings.Join(names, ", "))
	}
	return out
}

func label(path string) string { return filepath.Base(filepath.Dir(path)) }

func TestRealCPUPlugin(t *testing.T) {
	for _, path := range realPlugins(t, "cpu") {
		t.Run(label(path), func(t *testing.T) {
			begin := time.Now()
			c, err := Make(&world{}, Options{Mode: PJRT, Plugin: path, Platform: "cpu", Preallocate: -1})
			first := time.Since(begin)
			require.Nil(t, err)
			require.NotNil(t, c.Pointer())
			require.Equal(t, 0, c.Device())
			require.Equal(t, "cpu", c.Describe().Platform)
			text, e := json.Marshal(c.Describe())
			require.NoError(t, e)
			require.Nil(t, c.Close())

			begin = time.Now()
			c, err = Make(&world{}, Options{Mode: PJRT, Plugin: path, Platform: "cpu", Preallocate: -1})
			again := time.Since(begin)
			require.Nil(t, err)
			begin = time.Now()
			require.Nil(t, c.Close())
			t.Logf("first %v (with dlopen), again %v, close %v: %s", first, again, time.Since(begin), text)
		})
	}
}

func TestRealCPUPluginWithOtherDevices(t *testing.T) {
	for _, path := range realPlugins(t, "cpu") {
		t.Run(label(path), func(t *testing.T) {
			o := Options{Mode: PJRT, Plugin: path, Platform: "cpu", Preallocate: -1}
			o.Create = []Option{{"cpu_device_count", int64(3)}}
			_, err := Make(&world{}, o)
			require.NotNil(t, err)
			require.Equal(t, cerr.XLA, err.Code)
			require.Contains(t, err.Text, "has 3 devices instead of one")
			o.Create, o.Device = nil, 1
			_, err = Make(&world{}, o)
			require.NotNil(t, err)
			require.Equal(t, cerr.XLA, err.Code)
			require.Contains(t, err.Text, "has device 0 instead of 1")
		})
	}
}

// The options of a GPU at a CPU plugin: one refuses them, another ignores them and takes its default number of devices.
func TestRealCPUPluginWithOptionsOfAGPU(t *testing.T) {
	for _, path := range realPlugins(t, "cpu") {
		t.Run(label(path), func(t *testing.T) {
			c, err := Make(&world{}, Options{Mode: PJRT, Plugin: path, Preallocate: -1})
			if err == nil {
				t.Logf("taken, and one device: %v", c.Describe().Options)
				require.Nil(t, c.Close())
				return
			}
			require.Equal(t, cerr.XLA, err.Code)
			require.Regexp(t, `code 3 \(invalid argument\): Unexpected option name|has \d+ devices instead of one`, err.Text)
			t.Log(err.Text)
		})
	}
}

func TestRealGPUPlugin(t *testing.T) {
	for _, path := range realPlugins(t, "cuda", "rocm") {
		t.Run(label(path), func(t *testing.T) {
			begin := time.Now()
			c, err := Make(&world{}, Options{Mode: PJRT, Plugin: path, MemoryFraction: 0.1, Preallocate: 0})
			took := time.Since(begin)
			if err == nil {
				text, e := json.Marshal(c.Describe())
				require.NoError(t, e)
				require.Equal(t, 0, c.Device())
				require.Nil(t, c.Close())
				t.Logf("%v: %s", took, text)
				return
			}
			t.Logf("%v: code %d: %s", took, err.Code, err.Text)
			if err.Code == cerr.NoXLA {
				require.Contains(t, err.Text, "cannot open shared object file")
				return
			}
			require.Equal(t, cerr.XLA, err.Code)
			require.Contains(t, err.Text, "PJRT_Client_Create failed with code")
		})
	}
}
