package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const small = `
/* words; and { braces }
   are skipped */
#ifndef REACTANT_MPI_H
#define REACTANT_MPI_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
#define REACTANT_MPI_VERSION_MAJOR 3
#define REACTANT_MPI_VERSION \
    ((uint32_t)(REACTANT_MPI_VERSION_MAJOR * 65536 + 1))
#define REACTANT_MPI_SUM  0x21 /* not this: 7 */
#define REACTANT_MPI_ANY_TAG (-102)
#define REACTANT_MPI_IN_PLACE ((void *)1)
typedef struct reactant_mpi_comm reactant_mpi_comm; /* a communicator */
typedef struct reactant_mpi_status {
    int source;   /* who; what */
    size_t bytes;
} reactant_mpi_status;
typedef void (*reactant_mpi_log_fn)(void *arg, int level, const char *text);
typedef struct reactant_mpi_options {
    size_t size;
    reactant_mpi_log_fn log_fn;
    int32_t gpu;
} reactant_mpi_options;
#define REACTANT_MPI_OPTIONS_INIT \
    { sizeof(reactant_mpi_options), NULL, -1 }
uint32_t reactant_mpi_version(void);
const char *reactant_mpi_last_error(void);
int reactant_mpi_recv(void *buf, size_t count,
                      const reactant_mpi_comm *comm, reactant_mpi_status *status); int reactant_mpi_a(reactant_mpi_comm **out);
struct Frame;
struct Frame *reactant_mpi_ffi(struct Frame *frame);
#ifdef __cplusplus
}
#endif
#endif /* REACTANT_MPI_H */
`

func TestParse(t *testing.T) {
	h, err := parse(small)
	require.NoError(t, err)
	require.Equal(t, []Constant{
		{"VERSION_MAJOR", "3", 3},
		{"VERSION", "196609", 196609},
		{"SUM", "0x21", 0x21},
		{"ANY_TAG", "-102", -102},
		{"IN_PLACE", "1", 1},
	}, h.Constants)
	require.Equal(t, []string{"reactant_mpi_comm", "struct Frame"}, h.Handles)
	require.Equal(t, []Function{{
		"reactant_mpi_log_fn", "void", []Variable{{"void *", "arg"}, {"int", "level"}, {"const char *", "text"}},
	}}, h.Callbacks)
	require.Equal(t, []Struct{
		{"reactant_mpi_status", []Variable{{"int", "source"}, {"size_t", "bytes"}}},
		{"reactant_mpi_options", []Variable{{"size_t", "size"}, {"reactant_mpi_log_fn", "log_fn"}, {"int32_t", "gpu"}}},
	}, h.Structs)
	require.Equal(t, map[string][]string{"reactant_mpi_options": {"NULL", "-1"}}, h.Initialisers)
	require.Equal(t, []Function{
		{"reactant_mpi_version", "uint32_t", nil},
		{"reactant_mpi_last_error", "const char *", nil},
		{"reactant_mpi_recv", "int", []Variable{
			{"void *", "buf"}, {"size_t", "count"}, {"const reactant_mpi_comm *", "comm"}, {"reactant_mpi_status *", "status"},
		}},
		{"reactant_mpi_a", "int", []Variable{{"reactant_mpi_comm **", "out"}}},
		{"reactant_mpi_ffi", "struct Frame *", []Variable{{"struct Frame *", "frame"}}},
	}, h.Functions)
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"foreign name":         {"int other_thing(int a);", `line 1: neither a prototype of reactant_mpi_`},
		"old prototype":        {"\nint reactant_mpi_a();", `line 2: not a type and a name: "" in `},
		"argument sans name":   {"int reactant_mpi_a(int);", `line 1: not a type and a name: "int"`},
		"array argument":       {"int reactant_mpi_a(int n, int ranks[]);", `not a type and a name: "int ranks[]"`},
		"function argument":    {"int reactant_mpi_a(void (*f)(int), int n);", `line 1: neither a prototype`},
		"variable arguments":   {"int reactant_mpi_a(int n, ...);", `not a type and a name: "..."`},
		"enumeration":          {"enum { A };", `line 1: neither a prototype`},
		"variable":             {"extern int reactant_mpi_x;", `line 1: neither a prototype`},
		"struct of two names":  {"typedef struct a { int x; } b;", `line 1: neither a prototype`},
		"bit field":            {"typedef struct a { int x : 3; } a;", `not a type and a name: "int x : 3"`},
		"unfinished":           {"int reactant_mpi_a(void)", `line 1: unfinished declaration`},
		"macro with arguments": {"#define REACTANT_MPI_F(x) x", `line 1: a macro with arguments`},
		"foreign macro":        {"#define OTHER 1", `line 1: a macro outside REACTANT_MPI_`},
		"text macro":           {`#define REACTANT_MPI_S "s"`, `line 1: not an integer constant`},
		"unknown name":         {`#define REACTANT_MPI_S (REACTANT_MPI_T + 1)`, `line 1: not an integer constant`},
		"defined twice":        {"#define REACTANT_MPI_S 1\n#define REACTANT_MPI_S 2", `line 2: defined twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestPython(t *testing.T) {
	h, err := parse(small)
	require.NoError(t, err)
	text, err := python(h)
	require.NoError(t, err)
	for _, want := range []string{
		"\nSUM = 0x21\nANY_TAG = -102\n",
		"\nLOG_FN = CFUNCTYPE(None, c_void_p, c_int, c_char_p)\n",
		"\nclass Status(ctypes.Structure):\n    _fields_ = [\n        (\"source\", c_int),\n        (\"bytes\", c_size_t),\n    ]\n",
		"\nOPTIONS_INIT = (\n    ctypes.sizeof(Options),\n    LOG_FN(),\n    -1,\n)\n",
		"\n    \"version\": (c_uint32, []),\n",
		"\n    \"recv\": (c_int, [c_void_p, c_size_t, c_void_p, POINTER(Status)]),\n",
		"\n    \"a\": (c_int, [POINTER(c_void_p)]),\n",
		"\n    \"ffi\": (c_void_p, [c_void_p]),\n",
	} {
		require.Contains(t, string(text), want)
	}
}

func TestPythonRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown type":      {"int reactant_mpi_a(long n);", `no ctypes for the C type "long"`},
		"unknown result":    {"float reactant_mpi_a(int n);", `no ctypes for the C type "float"`},
		"short initialiser": {small + "#define REACTANT_MPI_STATUS_INIT { sizeof(reactant_mpi_status), 1, 2 }", "has 2 fields, its initialiser 3 items"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := parse(c.text)
			require.NoError(t, err)
			_, err = python(h)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestJulia(t *testing.T) {
	h, err := parse(small + "int reactant_mpi_b(const size_t *n, uintptr_t *word, void **p, reactant_mpi_log_fn f, const char *s, char *buf);")
	require.NoError(t, err)
	text, err := julia(h)
	require.NoError(t, err)
	for _, want := range []string{
		"\nconst SUM = 0x21\nconst ANY_TAG = -102\n",
		"\nstruct Status\n    source::Cint\n    bytes::Csize_t\nend\n",
		"\nstruct Options\n    size::Csize_t\n    log_fn::Ptr{Cvoid}\n    gpu::Int32\nend\n",
		"\nconst OPTIONS_INIT = (\n    size = sizeof(Options),\n    log_fn = C_NULL,\n    gpu = -1,\n)\n",
		"\n    (:version, UInt32, ()),\n",
		"\n    (:recv, Cint, (Ptr{Cvoid}, Csize_t, Ptr{Cvoid}, Ptr{Status},)),\n",
		"\n    (:b, Cint, (Ptr{Csize_t}, Ptr{UInt}, Ptr{Ptr{Cvoid}}, Ptr{Cvoid}, Cstring, Ptr{UInt8},)),\n",
	} {
		require.Contains(t, string(text), want)
	}
}

func TestJuliaRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown type":      {"int reactant_mpi_a(long n);", `no Julia type for the C type "long"`},
		"unknown pointer":   {"int reactant_mpi_a(float *x);", `no Julia type for the C type "float`},
		"short initialiser": {small + "#define REACTANT_MPI_STATUS_INIT { sizeof(reactant_mpi_status), 1, 2 }", "has 2 fields, its initialiser 3 items"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := parse(c.text)
			require.NoError(t, err)
			_, err = julia(h)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestExports(t *testing.T) {
	h, err := parse(small)
	require.NoError(t, err)
	script, err := exports(h)
	require.NoError(t, err)
	require.Contains(t, string(script), "REACTANT_MPI_3 {\nglobal:\n    reactant_mpi_a;\n    reactant_mpi_ffi;\n    reactant_mpi_last_error;\n")
	list, err := symbols(h)
	require.NoError(t, err)
	require.Equal(t, "reactant_mpi_a\nreactant_mpi_ffi\nreactant_mpi_last_error\nreactant_mpi_recv\nreactant_mpi_version\n", string(list))
}

// The real header is understood whole: every line that looks like a prototype is a function of ours.
func TestRealHeader(t *testing.T) {
	text, err := os.ReadFile("../../include/reactant_mpi.h")
	require.NoError(t, err)
	h, err := parse(string(text))
	require.NoError(t, err)
	for _, output := range outputs {
		_, err := output.render(h)
		require.NoError(t, err, output.path)
	}
	require.Greater(t, len(h.Functions), 40)
}
