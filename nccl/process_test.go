package nccl

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/dl"
)

// Libraries are loaded for the life of a process, so each case below is a process of its own: this test program once more, running
// TestInProcess with its orders in the environment.
const ordersVariable = "REACTANT_MPI_TEST_NCCL_ORDERS"

type orders struct {
	Loader   string   // a library of ours that can load others RTLD_LOCAL, as Python and XLA do; dl.Host cannot
	Load     []string // load these, in this order, before anything is looked for
	Wish     Wish
	Bind     bool
	Runtime  bool   // look for a GPU runtime, not for an NCCL
	AskAfter string // call ncclGetVersion of this library when all is done
}

type outcome struct {
	Path, How, Warning, Text string
	Version, Code            int
	RCCL, CanSplit, AllToAll bool
	Images                   []string // what is in the process then that is called like an NCCL
	Name                     string   // of the runtime
	Count                    int
	After                    int
	ID                       bool
}

func TestInProcess(t *testing.T) {
	text := os.Getenv(ordersVariable)
	if text == "" {
		return // not a case of TestLoader
	}
	var o orders
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	answer, err := json.Marshal(follow(t, o))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(os.Getenv(ordersVariable+"_ANSWER"), answer, 0o600))
}

func follow(t *testing.T, o orders) (out outcome) {
	sys := dl.Host{}
	if len(o.Load) > 0 {
		loader, err := sys.Open(o.Loader)
		require.NoError(t, err)
		// callVersion calls any int function(int *).
		n, rc := callVersion(loader.Symbol("load_local"))
		require.Zero(t, rc)
		require.Len(t, o.Load, n)
	}
	defer func() {
		for _, path := range sys.Loaded() {
			if isNCCL(path) || path == out.Path {
				out.Images = append(out.Images, path)
			}
		}
	}()
	if o.Runtime {
		r, err := FindRuntime(sys)
		if err != nil {
			out.Code, out.Text = int(err.Code), err.Text
			return out
		}
		out.Name, out.Path, out.Count = r.Name, r.Path, r.Count
		return out
	}
	found, err := Find(sys, o.Wish)
	if err != nil {
		out.Code, out.Text = int(err.Code), err.Text
		return out
	}
	out.Path, out.How, out.Warning, out.Version, out.RCCL = found.Lib.Path(), found.How, found.Warning, found.Version, found.RCCL
	if o.Bind {
		lib, err := Bind(found)
		if err != nil {
			out.Code, out.Text = int(err.Code), err.Text
			return out
		}
		out.CanSplit, out.AllToAll = lib.CanSplit(), found.Lib.Symbol("ncclAlltoAll") != nil || found.Lib.Symbol("ncclAllToAll") != nil
		id, err := lib.UniqueID()
		out.ID = err == nil && len(id) == 128 && !bytes.Equal(id, make([]byte, 128))
	}
	if o.AskAfter != "" {
		lib, err := sys.Reopen(o.AskAfter)
		require.NoError(t, err)
		out.After, _ = callVersion(lib.Symbol("ncclGetVersion"))
	}
	return out
}

// in runs a case in a process of its own, with these variables added to the environment.
func in(t *testing.T, o orders, env ...string) (out outcome) {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	answer := filepath.Join(t.TempDir(), "answer")
	cmd := exec.Command(os.Args[0], "-test.run=^TestInProcess$", "-test.count=1")
	// Variables of this process that would change what is tested.
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if name != "LD_LIBRARY_PATH" && !strings.HasPrefix(name, "FAKE_") && !strings.HasSuffix(name, "_VISIBLE_DEVICES") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, append(env, ordersVariable+"="+string(text), ordersVariable+"_ANSWER="+answer, "LOAD_LOCAL="+strings.Join(o.Load, ":"))...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	b, err := os.ReadFile(answer)
	require.NoError(t, err, "%s", output)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

// loader compiles a library that loads others RTLD_LOCAL: the paths in LOAD_LOCAL.
func loader(t *testing.T) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	path := filepath.Join(t.TempDir(), "libloader.so")
	cmd := exec.Command(cc, "-shared", "-fPIC", "-x", "c", "-", "-o", path, "-ldl")
	cmd.Stdin = strings.NewReader(`
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int load_local(int *n)
{
    char *rest = strdup(getenv("LOAD_LOCAL")), *path;
    *n = 0;
    while ((path = strsep(&rest, ":")) != NULL)
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL))
            ++*n;
        else
            return fprintf(stderr, "%s\n", dlerror());
    return 0;
}
`)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return path
}

// double is the path of one of the GPU doubles (tests/fake/gpu), which `make test-programs` builds.
func double(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("REACTANT_MPI_TEST_GPU_FAKES")
	if dir == "" {
		dir = "../build/tests/fake/gpu"
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	require.NoError(t, err)
	if !(dl.Host{}).Exists(path) {
		t.Skipf("%s is not built: make test-programs", path)
	}
	return path
}

// place copies a library.
func place(t *testing.T, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
	require.NoError(t, os.WriteFile(to, b, 0o700)) //nolint:gosec // a library
	return to
}

const needsID = "FAKE_NCCL_DIR=" // where the doubles of NCCL meet

func TestLoader(t *testing.T) {
	nccl218, nccl222, nccl228, nccl232 := double(t, "nccl218/libnccl.so.2"), double(t, "nccl222/libnccl.so.2"), double(t, "nccl228/libnccl.so.2"), double(t, "nccl232/libnccl.so.2")
	rccl, rcclNew := double(t, "rccl/librccl.so.1"), double(t, "rccl_new/librccl.so.1")
	stub, forward := double(t, "xla_stub/libReactantExtra.so"), double(t, "xla_forward/libReactantExtra.so")
	notNCCL, missing := double(t, "not_nccl/libnccl.so.2"), double(t, "nccl_missing/libnccl.so.2")
	ld, path := loader(t), func(file string) string { return "LD_LIBRARY_PATH=" + filepath.Dir(file) }
	meet := needsID + t.TempDir()

	t.Run("by name, each version binds", func(t *testing.T) {
		for file, version := range map[string]int{nccl218: 21805, nccl222: 22203, nccl228: 22809, nccl232: 23203} {
			out := in(t, orders{Bind: true}, path(file), meet)
			require.Empty(t, out.Text)
			require.Equal(t, version, out.Version)
			require.Equal(t, file, out.Path)
			require.Equal(t, "by name", out.How)
			require.False(t, out.RCCL)
			require.True(t, out.CanSplit)
			require.Equal(t, version >= 22803, out.AllToAll)
			require.True(t, out.ID)
		}
	})
	t.Run("by name, RCCL in both spellings", func(t *testing.T) {
		for file, version := range map[string]int{rccl: 22106, rcclNew: 22707} {
			out := in(t, orders{Bind: true, Wish: Wish{HIP: true}}, path(file), meet)
			require.Empty(t, out.Text)
			require.Equal(t, version, out.Version)
			require.True(t, out.RCCL && out.AllToAll)
		}
	})
	t.Run("one loaded for itself alone is found and used, and stays the only one", func(t *testing.T) {
		out := in(t, orders{Loader: ld, Load: []string{nccl222}, Bind: true}, path(nccl228), meet)
		require.Equal(t, outcome{Path: nccl222, How: "already in the process", Version: 22203, CanSplit: true, ID: true, Images: []string{nccl222}}, out)
	})
	t.Run("under another file name its SONAME finds it", func(t *testing.T) {
		renamed := place(t, nccl222, filepath.Join(t.TempDir(), "collectives.so"))
		out := in(t, orders{Loader: ld, Load: []string{renamed}}, path(nccl228))
		require.Equal(t, outcome{Path: renamed, How: "by name", Version: 22203, Images: []string{renamed}}, out)
	})
	t.Run("two paths are two images, whatever their SONAME", func(t *testing.T) {
		out := in(t, orders{Loader: ld, Load: []string{nccl222, nccl228}}, path(nccl232))
		require.Equal(t, nccl222, out.Path)
		require.Equal(t, []string{nccl222, nccl228}, out.Images)
		require.Contains(t, out.Warning, nccl222+" (used) and "+nccl228)
	})
	t.Run("asked for by path beside one in the process is a second image", func(t *testing.T) {
		out := in(t, orders{Loader: ld, Load: []string{nccl222}, Wish: Wish{Library: nccl228}})
		require.Equal(t, nccl228, out.Path)
		require.Contains(t, out.Warning, nccl228+" (used) and "+nccl222)
	})
	t.Run("asked for by name gives the one in the process", func(t *testing.T) {
		out := in(t, orders{Loader: ld, Load: []string{nccl222}, Wish: Wish{Library: "libnccl.so.2"}}, path(nccl228))
		require.Equal(t, outcome{Path: nccl222, How: "asked for", Version: 22203, Images: []string{nccl222}}, out)
	})
	t.Run("asked for through a link to the one in the process", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "libnccl.so")
		require.NoError(t, os.Symlink(nccl222, link))
		out := in(t, orders{Loader: ld, Load: []string{nccl222}, Wish: Wish{Library: link}})
		require.Equal(t, outcome{Path: nccl222, How: "asked for", Version: 22203, Images: []string{nccl222}}, out)
	})
	t.Run("what lies beside XLA is what XLA takes later", func(t *testing.T) {
		dir := t.TempDir()
		xla, own := place(t, forward, filepath.Join(dir, "libReactantExtra.so")), place(t, nccl228, filepath.Join(dir, "libnccl.so.2"))
		out := in(t, orders{Loader: ld, Load: []string{xla}, AskAfter: xla}, path(nccl232))
		require.Equal(t, outcome{Path: own, How: "beside " + xla, Version: 22809, After: 22809, Images: []string{own}}, out)
	})
	t.Run("the wheel's NCCL next to a Python plugin", func(t *testing.T) {
		site := t.TempDir()
		xla := place(t, stub, filepath.Join(site, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so"))
		own := place(t, nccl232, filepath.Join(site, "nvidia", "nccl", "lib", "libnccl.so.2"))
		out := in(t, orders{Loader: ld, Load: []string{xla}}, path(nccl228))
		require.Equal(t, outcome{Path: own, How: "beside " + xla, Version: 23203, Images: []string{own}}, out)
	})
	t.Run("through XLA's stub, with the functions it has", func(t *testing.T) {
		out := in(t, orders{Loader: ld, Load: []string{forward}, Bind: true}, path(nccl232), meet)
		require.Equal(t, outcome{Path: forward, How: "through " + forward, Version: 23203, CanSplit: true, AllToAll: true, ID: true,
			Images: []string{forward, nccl232}}, out)
	})
	t.Run("a stub without a library", func(t *testing.T) {
		out := in(t, orders{Loader: ld, Load: []string{stub}}, path(nccl228))
		require.Equal(t, outcome{Path: nccl228, How: "by name", Version: 22809, Images: []string{nccl228}}, out)
	})
	t.Run("by name a library that is none is passed over, and told of", func(t *testing.T) {
		out := in(t, orders{}, path(notNCCL))
		require.Equal(t, 60, out.Code)
		for _, words := range []string{"libnccl.so.2: it has no ncclGetVersion", "libnccl.so: ", "REACTANT_MPI_LIBNCCL"} {
			require.Contains(t, out.Text, words)
		}
	})
	t.Run("by name the loader's reason is told", func(t *testing.T) {
		text := filepath.Join(t.TempDir(), "libnccl.so.2")
		require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("this is no library. ", 20)), 0o600))
		out := in(t, orders{}, path(text))
		require.Equal(t, 60, out.Code)
		require.Contains(t, out.Text, text+": invalid ELF header")
		require.Contains(t, out.Text, "libnccl.so: cannot open shared object file: No such file or directory")
	})
	t.Run("refused, with the reason of the loader or of the look-up", func(t *testing.T) {
		text := filepath.Join(t.TempDir(), "libnccl.so.2")
		require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("this is no library. ", 20)), 0o600))
		cut := filepath.Join(t.TempDir(), "libnccl.so.2")
		whole, err := os.ReadFile(nccl228)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(cut, whole[:1000], 0o600))
		for _, test := range []struct {
			library string
			env     string
			code    int
			words   []string
		}{
			{text, "", 60, []string{text, "not a whole shared library"}},
			{cut, "", 60, []string{cut, "not a whole shared library"}},
			{notNCCL, "", 60, []string{notNCCL, "no ncclGetVersion"}},
			{missing, "", 60, []string{missing, "no ncclCommInitRank", "REACTANT_MPI_LIBNCCL"}},
			{stub, "", 60, []string{stub, "answers 2"}},
			{nccl228, "FAKE_NCCL_VERSION=21703", 65, []string{nccl228, "2.17.3", "2.18"}},
			{"/no/such/libnccl.so.2", "", 60, []string{"/no/such/libnccl.so.2", "No such file or directory"}},
		} {
			out := in(t, orders{Wish: Wish{Library: test.library}, Bind: true}, test.env)
			require.Equal(t, test.code, out.Code, out.Text)
			for _, words := range test.words {
				require.Contains(t, out.Text, words)
			}
		}
	})
}

func TestRuntimes(t *testing.T) {
	cuda, hip := double(t, "cuda/libcuda.so.1"), double(t, "hip/libamdhip64.so.6")
	both := "LD_LIBRARY_PATH=" + filepath.Dir(cuda) + ":" + filepath.Dir(hip)
	for _, test := range []struct {
		name    string
		env     []string
		runtime string
		count   int
		code    int
		words   []string
	}{
		{"CUDA", []string{"LD_LIBRARY_PATH=" + filepath.Dir(cuda), "FAKE_GPUS=3"}, "CUDA", 3, 0, nil},
		{"HIP", []string{"LD_LIBRARY_PATH=" + filepath.Dir(hip), "FAKE_GPUS=2"}, "HIP", 2, 0, nil},
		{"both: the one with devices", []string{both, "FAKE_GPUS=2", "CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=0,1"}, "HIP", 2, 0, nil},
		{"neither has devices", []string{both, "FAKE_GPUS=2", "CUDA_VISIBLE_DEVICES="}, "", 0, 61, []string{cuda, hip}},
		{"some are visible", []string{both, "FAKE_GPUS=4", "CUDA_VISIBLE_DEVICES=2,0"}, "CUDA", 2, 0, nil},
		{"a driver without devices", []string{"LD_LIBRARY_PATH=" + filepath.Dir(cuda), "FAKE_GPUS=0"}, "", 0, 61, []string{"no GPU", cuda, "100", "libamdhip64.so.7"}},
		{"a driver that fails", []string{"LD_LIBRARY_PATH=" + filepath.Dir(cuda), "FAKE_GPUS=2", "FAKE_INIT_CODE=999"}, "", 0, 67, []string{cuda, "999"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := in(t, orders{Runtime: true}, test.env...)
			require.Equal(t, test.code, out.Code, out.Text)
			require.Equal(t, test.count, out.Count)
			require.Equal(t, test.runtime, out.Name)
			for _, words := range test.words {
				require.Contains(t, out.Text, words)
			}
		})
	}
}
