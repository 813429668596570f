// Package nccl finds NCCL or RCCL and the GPU runtime at run time, binds them, and makes and ends NCCL communicators under a deadline.
// Device calls themselves are C (stream.c).
package nccl

import (
	"fmt"
	"path/filepath"
	"strings"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// Minimum is the oldest NCCL served, as ncclGetVersion tells it.
const Minimum = 21800

// Found is a library that answers as NCCL or RCCL.
type Found struct {
	Lib     dl.Library
	Version int
	RCCL    bool
	How     string
	Warning string // two images, and why this one
}

// Wish is what the caller asked for: the library's path, and the XLA library whose own NCCL is to be used.
type Wish struct {
	Library string
	XLA     string
	HIP     bool // the devices are AMD's
}

// versionOf calls ncclGetVersion; a variable so that made-up libraries can be tested. XLA's stub answers with an error while it
// cannot load the real library.
var versionOf = callVersion

// xlaImages are the libraries that bring an XLA, and often an NCCL beside it.
var xlaImages = []string{"libReactantExtra.so", "xla_cuda_plugin.so", "xla_rocm_plugin.so", "pjrt_c_api_gpu_plugin.so"}

type finder struct {
	sys   dl.System
	tried []string
}

func (f *finder) note(format string, args ...any) {
	f.tried = append(f.tried, fmt.Sprintf(format, args...))
}

// Find chooses the one NCCL of the process: the one asked for; one that is in the process (the one beside XLA before others, since
// compiled code calls that one); XLA's own, beside it or through its stub; then by name.
func Find(sys dl.System, wish Wish) (*Found, *cerr.Error) {
	f := &finder{sys: sys}
	if wish.Library != "" {
		found, why := f.open(wish.Library, "asked for")
		if found == nil {
			return nil, cerr.New(cerr.NoNCCL, "cannot use %s as NCCL: %s", wish.Library, why)
		}
		return f.warnOfOthers(found), f.tooOld(found)
	}
	xla := f.xla(wish.XLA)
	found := f.inProcess(xla, wish.HIP)
	for _, next := range []func() *Found{
		func() *Found { return f.besideXLA(xla) },
		func() *Found { return f.stub(xla) },
		func() *Found { return f.byName(wish.HIP) },
	} {
		if found != nil {
			return found, f.tooOld(found)
		}
		found = next()
	}
	if found != nil {
		return found, f.tooOld(found)
	}
	return nil, cerr.New(cerr.NoNCCL, "no NCCL or RCCL can be loaded; set REACTANT_MPI_LIBNCCL to the full path of libnccl.so.2 or librccl.so.1, "+
		"or install the wheel nvidia-nccl-cu12 or nvidia-nccl-cu13. Tried: %s", strings.Join(f.tried, "; "))
}

func (f *finder) tooOld(found *Found) *cerr.Error {
	if found.Version >= Minimum {
		return nil
	}
	return cerr.New(cerr.NCCLOld, "%s is version %s; 2.18 or later is needed", found.Lib.Path(), VersionText(found.Version))
}

// VersionText writes a version code as people do.
func VersionText(code int) string {
	if code < 10000 {
		return fmt.Sprintf("%d.%d.%d", code/1000, code/100%10, code%100)
	}
	return fmt.Sprintf("%d.%d.%d", code/10000, code/100%100, code%100)
}

// judge tells whether a loaded library answers as NCCL.
func (f *finder) judge(lib dl.Library, how string) (*Found, string) {
	get := lib.Symbol("ncclGetVersion")
	if get == nil {
		return nil, "it has no ncclGetVersion"
	}
	version, rc := versionOf(get)
	if rc != 0 || version <= 0 {
		return nil, fmt.Sprintf("its ncclGetVersion answers %d (XLA's stub without a library?)", rc)
	}
	rccl := lib.Symbol("mscclLoadAlgo") != nil || lib.Symbol("ncclAllToAll") != nil
	return &Found{Lib: lib, Version: version, RCCL: rccl, How: how}, ""
}

func (f *finder) open(path, how string) (*Found, string) {
	lib, err := f.sys.OpenLocal(path)
	if err != nil {
		f.note("%s", err)
		return nil, err.Error()
	}
	found, why := f.judge(lib, how)
	if found == nil {
		f.note("%s: %s", path, why)
	}
	return found, why
}

func base(path string) string { return filepath.Base(path) }

func isNCCL(path string) bool {
	b := base(path)
	return strings.HasPrefix(b, "libnccl.so") || strings.HasPrefix(b, "librccl.so")
}

// xla is the XLA library: the one named, else the one in the process.
func (f *finder) xla(named string) string {
	if named != "" {
		return f.sys.RealPath(named)
	}
	for _, path := range f.sys.Loaded() {
		for _, name := range xlaImages {
			if base(path) == name {
				return path
			}
		}
	}
	return ""
}

// xlaDirs are where an XLA library's own NCCL lies: beside it, or in the wheel next to a Python plugin.
func xlaDirs(xla string) []string {
	if xla == "" {
		return nil
	}
	dir := filepath.Dir(xla)
	return []string{dir, filepath.Join(dir, "..", "..", "nvidia", "nccl", "lib"), filepath.Join(dir, "..", "nvidia", "nccl", "lib")}
}

func (f *finder) inProcess(xla string, hip bool) *Found {
	var all []*Found
	for _, path := range f.sys.Loaded() {
		if !isNCCL(path) {
			continue
		}
		lib, err := f.sys.Reopen(path)
		if err != nil {
			continue
		}
		found, why := f.judge(lib, "already in the process")
		if found != nil && found.RCCL != hip {
			found, why = nil, "it is for the other vendor's devices"
		}
		if found == nil {
			lib.Close()
			f.note("in the process: %s: %s", path, why)
			continue
		}
		all = append(all, found)
	}
	if len(all) == 0 {
		return nil
	}
	chosen := all[0]
	for _, found := range all {
		if f.liesBeside(found.Lib.Path(), xla) {
			chosen = found
		}
	}
	return f.warnOfOthers(chosen)
}

// liesBeside tells whether a library is XLA's own, by the paths as they are and with their links resolved (lib64 of a virtual environment).
func (f *finder) liesBeside(path, xla string) bool {
	for _, dir := range xlaDirs(xla) {
		if filepath.Dir(path) == filepath.Clean(dir) || filepath.Dir(f.sys.RealPath(path)) == f.sys.RealPath(filepath.Clean(dir)) {
			return true
		}
	}
	return false
}

// warnOfOthers looks for a second NCCL in the process: its communicators and ours must not meet.
func (f *finder) warnOfOthers(chosen *Found) *Found {
	for _, path := range f.sys.Loaded() {
		if isNCCL(path) && f.sys.RealPath(path) != f.sys.RealPath(chosen.Lib.Path()) {
			chosen.Warning = fmt.Sprintf("two NCCL libraries are in this process: %s (used) and %s; a communicator of one given to the other crashes. "+
				"Set REACTANT_MPI_LIBNCCL to the one that the host uses", chosen.Lib.Path(), path)
		}
	}
	return chosen
}

// besideXLA loads the NCCL that XLA itself would load later by name: then both use one image.
func (f *finder) besideXLA(xla string) *Found {
	for _, dir := range xlaDirs(xla) {
		for _, name := range []string{"libnccl.so.2", "librccl.so.1"} {
			path := filepath.Join(dir, name)
			if !f.sys.Exists(path) {
				continue
			}
			if found, _ := f.open(path, "beside "+xla); found != nil {
				return found
			}
		}
	}
	return nil
}

// stub takes XLA's trampolines, if they answer.
func (f *finder) stub(xla string) *Found {
	if xla == "" {
		return nil
	}
	lib, err := f.sys.Reopen(xla)
	if err != nil {
		return nil
	}
	found, why := f.judge(lib, "through "+xla)
	if found == nil {
		lib.Close()
		f.note("%s: %s", xla, why)
	}
	return found
}

func (f *finder) byName(hip bool) *Found {
	names := []string{"libnccl.so.2", "libnccl.so"}
	if hip {
		names = []string{"librccl.so.1", "librccl.so"}
	}
	for _, name := range names {
		if found, _ := f.open(name, "by name"); found != nil {
			return found
		}
	}
	return nil
}
