package nccl

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -I${SRCDIR}/..
#include <stdlib.h>
#include "nccl/gpu.h"

static int call_version(void *function, int *version)
{
    int (*get)(int *) = function;
    return get(version);
}
static int call_id(const struct rmpi_nccl *n, struct rmpi_nccl_id *id) { return RMPI_NCCL(n, GetUniqueId)(id); }
static void set_texts(struct rmpi_nccl *n, void *error, void *last)
{
    n->error_string = (const char *(*)(int))error;
    n->last_error = (const char *(*)(void *))last;
}
*/
import "C"

import (
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
	_ "reactantmpi/internal/handle" // watch.c calls its C
)

func callVersion(function unsafe.Pointer) (version, rc int) {
	var v C.int
	code := C.call_version(function, &v)
	return int(v), int(code)
}

// Library is a bound NCCL. It lives for ever.
type Library struct {
	c       *C.struct_rmpi_nccl
	Path    string
	Version int
	RCCL    bool
	How     string
	Warning string
}

// Bind takes every function from the one library. What a version lacks stays null and gives an error, or another way, where it is used.
func Bind(found *Found) (*Library, *cerr.Error) {
	n := (*C.struct_rmpi_nccl)(C.calloc(1, C.sizeof_struct_rmpi_nccl))
	for i, row := range unsafe.Slice(&C.rmpi_nccl_rows[0], C.RMPI_NCCL_FUNCTIONS) {
		name := C.GoString(row.name)
		n.function[i] = found.Lib.Symbol(name)
		if n.function[i] == nil && row.other != nil {
			n.function[i] = found.Lib.Symbol(C.GoString(row.other))
		}
		if n.function[i] == nil && row.version == 0 {
			C.free(unsafe.Pointer(n))
			return nil, cerr.New(cerr.NoNCCL, "%s has no %s; set REACTANT_MPI_LIBNCCL to another NCCL or RCCL", found.Lib.Path(), name)
		}
	}
	C.set_texts(n, found.Lib.Symbol("ncclGetErrorString"), found.Lib.Symbol("ncclGetLastError"))
	n.version, n.path = C.int(found.Version), C.CString(found.Lib.Path())
	if found.RCCL {
		n.rccl = 1
	}
	C.rmpi_nccl_bind(n)
	return &Library{n, found.Lib.Path(), found.Version, found.RCCL, found.How, found.Warning}, nil
}

// Name is what people call it.
func (l *Library) Name() string {
	if l.RCCL {
		return "RCCL"
	}
	return "NCCL"
}

// CanSplit tells whether sub-communicators can come from their parent.
func (l *Library) CanSplit() bool { return l.c.function[C.RMPI_N_CommSplit] != nil }

// UniqueID makes the id of one communicator. Each costs a thread and a socket in this process, so only the root asks.
func (l *Library) UniqueID() ([]byte, *cerr.Error) {
	var id C.struct_rmpi_nccl_id
	if rc := C.call_id(l.c, &id); rc != 0 {
		return nil, cerr.New(cerr.NCCL, "ncclGetUniqueId failed: %s", l.text(rc))
	}
	return C.GoBytes(unsafe.Pointer(&id), C.RMPI_NCCL_ID_BYTES), nil
}

func (l *Library) text(rc C.int) string {
	text := (*C.char)(C.calloc(1, C.RMPI_NCCL_TEXT))
	defer C.free(unsafe.Pointer(text))
	C.rmpi_nccl_text(l.c, rc, text)
	return C.GoString(text)
}

// Runtime is a bound GPU runtime: CUDA's driver or HIP.
type Runtime struct {
	c       *C.struct_rmpi_gpu
	Name    string
	Path    string
	Version int
	Count   int
}

// runtimes are tried in this order; the one with devices wins.
var runtimes = []struct {
	kind  *C.struct_rmpi_gpu_kind
	files []string
}{
	{&C.rmpi_cuda, []string{"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"}},
	{&C.rmpi_hip, []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}},
}

// FindRuntime binds the GPU runtime that has devices. With none the error tells why for each that was tried.
func FindRuntime(sys dl.System) (*Runtime, *cerr.Error) {
	var failures []*cerr.Error
	for _, r := range runtimes {
		rt, err := bindRuntime(sys, r.kind, r.files)
		if err == nil {
			return rt, nil
		}
		failures = append(failures, err)
	}
	// A driver that is there and fails says more than one that is not.
	for _, err := range failures {
		if err.Code == cerr.Driver {
			return nil, err
		}
	}
	return nil, cerr.New(cerr.NoDevice, "no GPU: %s; %s", failures[0].Text, failures[1].Text)
}

func bindRuntime(sys dl.System, kind *C.struct_rmpi_gpu_kind, files []string) (*Runtime, *cerr.Error) {
	lib, err := openFirst(sys, files)
	if err != nil {
		return nil, err
	}
	g := (*C.struct_rmpi_gpu)(C.calloc(1, C.sizeof_struct_rmpi_gpu))
	for i, row := range unsafe.Slice(kind.rows, kind.count) {
		g.function[i] = lib.Symbol(C.GoString(row.name))
		if g.function[i] == nil && row.needed != 0 {
			C.free(unsafe.Pointer(g))
			return nil, cerr.New(cerr.Driver, "%s has no %s: a newer driver is needed", lib.Path(), C.GoString(row.name))
		}
	}
	g.name, g.library = kind.name, C.CString(lib.Path())
	C.fill_gpu(kind, g)
	rt := &Runtime{c: g, Name: C.GoString(kind.name), Path: lib.Path()}
	var n, version C.int
	if rc := C.gpu_start(g, &n, &version); rc != 0 || n == 0 {
		return nil, rt.noDevice(int(rc))
	}
	rt.Count, rt.Version = int(n), int(version)
	return rt, nil
}

// openFirst prefers the copy that is in the process: two copies of a runtime do not share what matters.
func openFirst(sys dl.System, files []string) (dl.Library, *cerr.Error) {
	for _, path := range sys.Loaded() {
		for _, file := range files {
			if base(path) == base(file) {
				if lib, err := sys.Reopen(path); err == nil {
					return lib, nil
				}
			}
		}
	}
	var why error
	for _, file := range files {
		lib, err := sys.OpenLocal(file)
		if err == nil {
			return lib, nil
		}
		if why == nil {
			why = err
		}
	}
	return nil, cerr.New(cerr.NoDevice, "%s", why)
}
