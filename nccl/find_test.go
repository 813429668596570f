package nccl

import (
	"errors"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// fakeLib is a made-up library: the symbols it has, and what its ncclGetVersion answers.
type fakeLib struct {
	path        string
	symbols     []string
	version, rc int
	closed      bool
	memory      byte // something to point to
}

func (l *fakeLib) Symbol(name string) unsafe.Pointer {
	if l.Owns(name) {
		return unsafe.Pointer(&l.memory)
	}
	return nil
}

func (l *fakeLib) Owns(name string) bool {
	for _, s := range l.symbols {
		if s == name {
			return true
		}
	}
	return false
}

func (l *fakeLib) Path() string { return l.path }
func (l *fakeLib) Close()       { l.closed = true }

// machine is a made-up system. A bare name stands for the file that the loader finds for it.
type machine struct {
	files  map[string]*fakeLib // nil: a file that cannot be loaded
	links  map[string]string
	loaded []*fakeLib
	opened []string
}

func (m *machine) Defines(string, string) bool              { return false }
func (m *machine) IsDir(string) bool                        { return false }
func (m *machine) OpenDeep(path string) (dl.Library, error) { return m.Open(path) }

func (m *machine) Getenv(string) string      { return "" }
func (m *machine) SetDefault(string, string) {}
func (m *machine) Ancestors() []string       { return nil }
func (m *machine) Exists(path string) bool   { _, ok := m.files[path]; return ok }
func (m *machine) RealPath(path string) string {
	for link, real := range m.links {
		if rest, ok := cut(path, link); ok {
			return real + rest
		}
	}
	return path
}

// cut removes a file or folder from the start of a path.
func cut(path, prefix string) (string, bool) {
	if path == prefix {
		return "", true
	}
	if len(path) > len(prefix) && path[:len(prefix)] == prefix && path[len(prefix)] == '/' {
		return path[len(prefix):], true
	}
	return "", false
}

func (m *machine) Loaded() []string {
	var out []string
	for _, l := range m.loaded {
		out = append(out, l.path)
	}
	return out
}

func (m *machine) Reopen(path string) (dl.Library, error) {
	for _, l := range m.loaded {
		if l.path == path {
			return l, nil
		}
	}
	return nil, errors.New("not in the process")
}

func (m *machine) OpenLocal(path string) (dl.Library, error) { return m.Open(path) }

func (m *machine) Open(path string) (dl.Library, error) {
	m.opened = append(m.opened, path)
	l, there := m.files[path]
	switch {
	case l != nil:
		return l, nil
	case there:
		return nil, errors.New(path + ": invalid ELF header")
	}
	return nil, errors.New(path + ": cannot open shared object file: No such file or directory")
}

// useFakes makes ncclGetVersion answer what the fakeLib says.
func useFakes(t *testing.T) {
	real := versionOf
	t.Cleanup(func() { versionOf = real })
	versionOf = func(f unsafe.Pointer) (int, int) {
		lib := (*fakeLib)(unsafe.Add(f, -int(unsafe.Offsetof(fakeLib{}.memory))))
		return lib.version, lib.rc
	}
}

func nccl(path string, version int) *fakeLib {
	return &fakeLib{path: path, symbols: []string{"ncclGetVersion"}, version: version}
}

func rccl(path string, version int, mark string) *fakeLib {
	return &fakeLib{path: path, symbols: []string{"ncclGetVersion", mark}, version: version}
}

// stub is an XLA library with trampolines: rc 2 while they have nothing behind them.
func stub(path string, version, rc int) *fakeLib {
	return &fakeLib{path: path, symbols: []string{"ncclGetVersion"}, version: version, rc: rc}
}

func other(path string) *fakeLib { return &fakeLib{path: path} }

func files(libs ...*fakeLib) map[string]*fakeLib {
	out := map[string]*fakeLib{}
	for _, l := range libs {
		out[l.path] = l
	}
	return out
}

func TestFind(t *testing.T) {
	useFakes(t)
	const extra, plugin, rocm = "/j/lib/libReactantExtra.so", "/s/jax_plugins/xla_cuda13/xla_cuda_plugin.so", "/s/jax_plugins/xla_rocm7/xla_rocm_plugin.so"
	for _, test := range []struct {
		name    string
		sys     machine
		wish    Wish
		path    string // found
		how     string
		rccl    bool
		warning []string // texts; none: no warning
		code    cerr.Code
		text    []string
	}{
		{name: "asked for by path", sys: machine{files: files(nccl("/n/libnccl.so.2", 22809), nccl("libnccl.so.2", 23203))},
			wish: Wish{Library: "/n/libnccl.so.2"}, path: "/n/libnccl.so.2", how: "asked for"},
		{name: "asked for by name", sys: machine{files: map[string]*fakeLib{"mine.so": nccl("/usr/lib/mine.so", 22809)}},
			wish: Wish{Library: "mine.so"}, path: "/usr/lib/mine.so", how: "asked for"},
		{name: "asked for, RCCL", sys: machine{files: files(rccl("/r/librccl.so.1", 22106, "mscclLoadAlgo"))},
			wish: Wish{Library: "/r/librccl.so.1"}, path: "/r/librccl.so.1", rccl: true},
		{name: "asked for, while another is in the process", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl.so.2", 22203)},
			files: files(nccl("/n/libnccl.so.2", 22809))}, wish: Wish{Library: "/n/libnccl.so.2"}, path: "/n/libnccl.so.2",
			warning: []string{"/n/libnccl.so.2 (used)", "/p/libnccl.so.2", "REACTANT_MPI_LIBNCCL"}},
		{name: "asked for by a link to the one in the process", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl.so.2.28.9", 22809)},
			files: files(nccl("/p/libnccl.so.2", 22809)), links: map[string]string{"/p/libnccl.so.2": "/p/libnccl.so.2.28.9"}},
			wish: Wish{Library: "/p/libnccl.so.2"}, path: "/p/libnccl.so.2"},
		{name: "asked for and missing, though another is in the process", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl.so.2", 22809)}},
			wish: Wish{Library: "/none/libnccl.so.2"}, code: cerr.NoNCCL, text: []string{"cannot use /none/libnccl.so.2 as NCCL", "cannot open shared object file"}},
		{name: "asked for and broken", sys: machine{files: map[string]*fakeLib{"/b.so": nil, "libnccl.so.2": nccl("libnccl.so.2", 22809)}},
			wish: Wish{Library: "/b.so"}, code: cerr.NoNCCL, text: []string{"/b.so", "invalid ELF header"}},
		{name: "asked for, not an NCCL", sys: machine{files: files(other("/z/libz.so.1"))}, wish: Wish{Library: "/z/libz.so.1"},
			code: cerr.NoNCCL, text: []string{"/z/libz.so.1", "no ncclGetVersion"}},
		{name: "asked for, a stub without a library", sys: machine{files: files(stub(extra, 0, 2))}, wish: Wish{Library: extra},
			code: cerr.NoNCCL, text: []string{extra, "answers 2", "stub"}},
		{name: "asked for, answers without a version", sys: machine{files: files(nccl("/n/libnccl.so.2", 0))}, wish: Wish{Library: "/n/libnccl.so.2"},
			code: cerr.NoNCCL, text: []string{"/n/libnccl.so.2"}},
		{name: "asked for, fails though it tells a version", sys: machine{files: files(stub("/n/libnccl.so.2", 22809, 3))}, wish: Wish{Library: "/n/libnccl.so.2"},
			code: cerr.NoNCCL, text: []string{"answers 3"}},
		{name: "asked for, too old", sys: machine{files: files(nccl("/n/libnccl.so.2", 21703))}, wish: Wish{Library: "/n/libnccl.so.2"},
			code: cerr.NCCLOld, text: []string{"/n/libnccl.so.2 is version 2.17.3", "2.18 or later"}},

		{name: "the one in the process", sys: machine{loaded: []*fakeLib{other("/lib/libc.so.6"), nccl("/p/libnccl.so.2", 22809)},
			files: files(nccl("libnccl.so.2", 23203))}, path: "/p/libnccl.so.2", how: "already in the process"},
		{name: "the one in the process under its long name", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl.so.2.28.9", 22809)}}, path: "/p/libnccl.so.2.28.9"},
		{name: "RCCL in the process", sys: machine{loaded: []*fakeLib{rccl("/r/librccl.so.1.0", 22707, "ncclAllToAll")}}, wish: Wish{HIP: true},
			path: "/r/librccl.so.1.0", rccl: true},
		{name: "network plugins are no NCCL", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl-net.so", 22809), nccl("/p/libnccl-tuner-x.so", 22809)},
			files: files(nccl("libnccl.so.2", 23203))}, path: "libnccl.so.2", how: "by name"},
		{name: "two in the process", sys: machine{loaded: []*fakeLib{nccl("/a/libnccl.so.2", 22809), nccl("/b/libnccl.so.2", 23203)}},
			path: "/a/libnccl.so.2", warning: []string{"/a/libnccl.so.2 (used) and /b/libnccl.so.2", "crashes", "REACTANT_MPI_LIBNCCL"}},
		{name: "two in the process, the second beside XLA", sys: machine{loaded: []*fakeLib{nccl("/a/libnccl.so.2", 22809), stub(extra, 22809, 0),
			nccl("/j/lib/libnccl.so.2", 23203)}}, path: "/j/lib/libnccl.so.2", warning: []string{"/j/lib/libnccl.so.2 (used) and /a/libnccl.so.2"}},
		{name: "two in the process, the second of the plugin's wheel", sys: machine{loaded: []*fakeLib{nccl("/a/libnccl.so.2", 22809), other(plugin),
			nccl("/s/nvidia/nccl/lib/libnccl.so.2", 23203)}}, path: "/s/nvidia/nccl/lib/libnccl.so.2", warning: []string{"/s/nvidia/nccl/lib/libnccl.so.2 (used)"}},
		{name: "two in the process, one beside the XLA that was named", sys: machine{loaded: []*fakeLib{nccl("/a/libnccl.so.2", 22809),
			nccl("/j/lib/libnccl.so.2", 23203)}}, wish: Wish{XLA: extra}, path: "/j/lib/libnccl.so.2", warning: []string{"/a/libnccl.so.2"}},
		{name: "two in the process, one beside XLA by way of a link", sys: machine{loaded: []*fakeLib{nccl("/a/libnccl.so.2", 22809),
			nccl("/venv/lib64/x/libnccl.so.2", 23203)}, links: map[string]string{"/venv/lib64": "/venv/lib"}},
			wish: Wish{XLA: "/venv/lib64/x/pjrt_c_api_gpu_plugin.so"}, path: "/venv/lib64/x/libnccl.so.2", warning: []string{"/a/libnccl.so.2"}},
		{name: "two in the process, one a link beside XLA", sys: machine{loaded: []*fakeLib{nccl("/a/libnccl.so.2", 22809), stub(extra, 22809, 0),
			nccl("/j/lib/libnccl.so.2", 23203)}, links: map[string]string{"/j/lib/libnccl.so.2": "/store/nccl/libnccl.so.2.32.3"}},
			path: "/j/lib/libnccl.so.2", warning: []string{"/a/libnccl.so.2"}},
		{name: "one image by two names", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl.so.2", 22809), nccl("/q/libnccl.so.2", 22809)},
			links: map[string]string{"/q": "/p"}}, path: "/p/libnccl.so.2"},
		{name: "a broken one in the process does not hide a good one", sys: machine{loaded: []*fakeLib{other("/a/libnccl.so.2"), nccl("/b/libnccl.so.2", 23203)}},
			path: "/b/libnccl.so.2", warning: []string{"/b/libnccl.so.2 (used) and /a/libnccl.so.2"}},
		{name: "too old in the process", sys: machine{loaded: []*fakeLib{nccl("/p/libnccl.so.2", 21602)}, files: files(nccl("libnccl.so.2", 23203))},
			code: cerr.NCCLOld, text: []string{"/p/libnccl.so.2 is version 2.16.2"}},

		{name: "beside XLA", sys: machine{loaded: []*fakeLib{stub(extra, 0, 2)}, files: files(nccl("/j/lib/libnccl.so.2", 22809), nccl("libnccl.so.2", 23203))},
			path: "/j/lib/libnccl.so.2", how: "beside " + extra},
		{name: "in the wheel of a Python plugin", sys: machine{loaded: []*fakeLib{other(plugin)}, files: files(nccl("/s/nvidia/nccl/lib/libnccl.so.2", 22809))},
			path: "/s/nvidia/nccl/lib/libnccl.so.2", how: "beside " + plugin},
		{name: "in a folder beside the plugin's", sys: machine{loaded: []*fakeLib{other("/x/lib/pjrt_c_api_gpu_plugin.so")},
			files: files(nccl("/x/nvidia/nccl/lib/libnccl.so.2", 22809))}, path: "/x/nvidia/nccl/lib/libnccl.so.2"},
		{name: "RCCL beside XLA", sys: machine{loaded: []*fakeLib{other(rocm)}, files: files(rccl(filepath.Dir(rocm)+"/librccl.so.1", 22707, "ncclAllToAll"))},
			wish: Wish{HIP: true}, path: filepath.Dir(rocm) + "/librccl.so.1", rccl: true},
		{name: "beside an XLA that is named and not loaded", sys: machine{files: files(nccl("/j/lib/libnccl.so.2", 22809))}, wish: Wish{XLA: extra},
			path: "/j/lib/libnccl.so.2", how: "beside " + extra},
		{name: "beside what a link to an XLA means", sys: machine{files: files(nccl("/j/lib/libnccl.so.2", 22809), nccl("libnccl.so.2", 23203)),
			links: map[string]string{"/app/xla.so": extra}}, wish: Wish{XLA: "/app/xla.so"}, path: "/j/lib/libnccl.so.2", how: "beside " + extra},
		{name: "beside XLA is broken, by name is not", sys: machine{loaded: []*fakeLib{other(plugin)},
			files: map[string]*fakeLib{"/s/nvidia/nccl/lib/libnccl.so.2": nil, "libnccl.so.2": nccl("libnccl.so.2", 22809)}}, path: "libnccl.so.2", how: "by name"},
		{name: "through XLA's stub", sys: machine{loaded: []*fakeLib{stub(extra, 22809, 0)}, files: files(nccl("libnccl.so.2", 23203))},
			path: extra, how: "through " + extra},
		{name: "the stub has nothing behind it", sys: machine{loaded: []*fakeLib{stub(extra, 0, 2)}, files: files(nccl("libnccl.so.2", 23203))},
			path: "libnccl.so.2", how: "by name"},
		{name: "the stub is too old", sys: machine{loaded: []*fakeLib{stub(extra, 21403, 0)}}, code: cerr.NCCLOld, text: []string{extra + " is version 2.14.3"}},
		{name: "a file that is only called like XLA's", sys: machine{loaded: []*fakeLib{stub("/j/libReactantExtra.so.bak", 22809, 0)},
			files: files(nccl("libnccl.so.2", 23203))}, path: "libnccl.so.2"},

		{name: "by name", sys: machine{files: map[string]*fakeLib{"libnccl.so.2": nccl("/usr/lib/libnccl.so.2", 22203)}}, path: "/usr/lib/libnccl.so.2", how: "by name"},
		{name: "by its short name", sys: machine{files: files(nccl("libnccl.so", 22203))}, path: "libnccl.so", how: "by name"},
		{name: "the oldest served", sys: machine{files: files(nccl("libnccl.so.2", Minimum))}, path: "libnccl.so.2"},
		{name: "RCCL by name", sys: machine{files: files(nccl("libnccl.so.2", 22809), rccl("librccl.so.1", 22106, "mscclLoadAlgo"))}, wish: Wish{HIP: true},
			path: "librccl.so.1", how: "by name", rccl: true},
		{name: "RCCL by its short name", sys: machine{files: files(rccl("librccl.so", 22106, "ncclAllToAll"))}, wish: Wish{HIP: true}, path: "librccl.so", rccl: true},
		{name: "RCCL is not taken for CUDA devices", sys: machine{files: files(rccl("librccl.so.1", 22106, "mscclLoadAlgo"))}, code: cerr.NoNCCL,
			text: []string{"libnccl.so.2: cannot open"}},
		{name: "NCCL is not taken for HIP devices", sys: machine{files: files(nccl("libnccl.so.2", 22809))}, wish: Wish{HIP: true}, code: cerr.NoNCCL,
			text: []string{"librccl.so.1: cannot open", "librccl.so: cannot open"}},
		{name: "a library that is not NCCL, then one that is", sys: machine{files: files(other("libnccl.so.2"), nccl("libnccl.so", 22203))}, path: "libnccl.so"},
		{name: "too old by name", sys: machine{files: files(nccl("libnccl.so.2", 2708))}, code: cerr.NCCLOld, text: []string{"version 2.7.8", "2.18"}},

		{name: "nothing", sys: machine{}, code: cerr.NoNCCL, text: []string{"REACTANT_MPI_LIBNCCL", "libnccl.so.2: cannot open shared object file", "libnccl.so: cannot open",
			"nvidia-nccl-cu12"}},
		{name: "nothing that works: everything tried is told", sys: machine{loaded: []*fakeLib{other("/p/libnccl.so.2"), stub(extra, 0, 2)},
			files: map[string]*fakeLib{"/j/lib/libnccl.so.2": nil, "/j/lib/librccl.so.1": other("/j/lib/librccl.so.1"), "libnccl.so": other("libnccl.so")}},
			code: cerr.NoNCCL, text: []string{"in the process: /p/libnccl.so.2: it has no ncclGetVersion", "/j/lib/libnccl.so.2: invalid ELF header",
				"/j/lib/librccl.so.1: it has no ncclGetVersion", extra + ": its ncclGetVersion answers 2", "libnccl.so.2: cannot open",
				"libnccl.so: it has no ncclGetVersion", "REACTANT_MPI_LIBNCCL"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := Find(&test.sys, test.wish)
			if test.code != 0 {
				require.NotNil(t, err)
				require.Equal(t, test.code, err.Code, err.Text)
				for _, text := range test.text {
					require.Contains(t, err.Text, text)
				}
				return
			}
			require.Nil(t, err)
			require.Equal(t, test.path, found.Lib.Path())
			require.Contains(t, found.How, test.how)
			require.Equal(t, test.rccl, found.RCCL)
			require.Equal(t, len(test.warning) > 0, found.Warning != "", found.Warning)
			for _, text := range test.warning {
				require.Contains(t, found.Warning, text)
			}
		})
	}
}

// What was only looked at is given back; what is used is not.
func TestFindGivesBack(t *testing.T) {
	useFakes(t)
	good, bad, empty := nccl("/b/libnccl.so.2", 23203), other("/a/libnccl.so.2"), stub("/j/libReactantExtra.so", 0, 2)
	_, err := Find(&machine{loaded: []*fakeLib{bad, good, empty}}, Wish{})
	require.Nil(t, err)
	require.True(t, bad.closed)
	require.False(t, good.closed)
	_, err = Find(&machine{loaded: []*fakeLib{empty}}, Wish{})
	require.NotNil(t, err)
	require.True(t, empty.closed)
}

// Nothing is loaded where the process has an NCCL: a second copy is what must not be.
func TestFindLoadsNoSecondCopy(t *testing.T) {
	useFakes(t)
	sys := &machine{loaded: []*fakeLib{stub("/j/libReactantExtra.so", 22809, 0), nccl("/p/libnccl.so.2", 22809)},
		files: files(nccl("/j/libnccl.so.2", 23203), nccl("libnccl.so.2", 23203))}
	found, err := Find(sys, Wish{})
	require.Nil(t, err)
	require.Equal(t, "/p/libnccl.so.2", found.Lib.Path())
	require.Empty(t, sys.opened)
}

func TestVersionText(t *testing.T) {
	for code, text := range map[int]string{
		1305: "1.3.5", 2000: "2.0.0", 2408: "2.4.8", 2708: "2.7.8", 2804: "2.8.4", // X*1000 + Y*100 + Z up to 2.8
		20902: "2.9.2", 21003: "2.10.3", 21304: "2.13.4", 21800: "2.18.0", 21805: "2.18.5", 22203: "2.22.3", 22809: "2.28.9", 23203: "2.32.3", 30012: "3.0.12",
	} {
		require.Equal(t, text, VersionText(code), code)
	}
}

func TestBindNamesWhatIsMissing(t *testing.T) {
	lib := nccl("/n/libnccl.so.2", 22809)
	lib.symbols = append(lib.symbols, "ncclGetUniqueId")
	_, err := Bind(&Found{Lib: lib, Version: 22809})
	require.NotNil(t, err)
	require.Equal(t, cerr.NoNCCL, err.Code)
	for _, text := range []string{"/n/libnccl.so.2 has no ncclCommInitRank", "REACTANT_MPI_LIBNCCL"} {
		require.Contains(t, err.Text, text)
	}
}

func TestFindRuntimeRefuses(t *testing.T) {
	half := &fakeLib{path: "/d/libcuda.so.1", symbols: []string{"cuInit", "cuDriverGetVersion"}}
	for _, test := range []struct {
		name string
		sys  machine
		code cerr.Code
		text []string
	}{
		{"nothing", machine{}, cerr.NoDevice, []string{"no GPU", "libcuda.so.1: cannot open shared object file", "libamdhip64.so.7: cannot open shared object file"}},
		{"no library", machine{files: map[string]*fakeLib{"libcuda.so.1": nil}}, cerr.NoDevice, []string{"libcuda.so.1: invalid ELF header"}},
		{"an old driver", machine{files: map[string]*fakeLib{"libcuda.so.1": half}}, cerr.Driver, []string{"/d/libcuda.so.1 has no cuDeviceGetCount", "newer driver"}},
		{"the copy in the process", machine{loaded: []*fakeLib{{path: "/p/libcuda.so.1"}}, files: map[string]*fakeLib{"libcuda.so.1": half}}, cerr.Driver,
			[]string{"/p/libcuda.so.1 has no cuInit"}},
		{"an old HIP, no CUDA", machine{files: map[string]*fakeLib{"libamdhip64.so.5": {path: "/r/libamdhip64.so.5"}}}, cerr.Driver, []string{"/r/libamdhip64.so.5 has no hipInit"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := FindRuntime(&test.sys)
			require.NotNil(t, err)
			require.Equal(t, test.code, err.Code, err.Text)
			for _, text := range test.text {
				require.Contains(t, err.Text, text)
			}
		})
	}
}
