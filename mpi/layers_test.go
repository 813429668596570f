package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

// What is not loaded where it was named: what would end the process, and what is no use outside LD_PRELOAD.
func TestAdmit(t *testing.T) {
	const interfaceMark, trampolineMark = "INTERFACE_LOCAL_MPI_Init", "mpitrampoline_version_major"
	sys := &machine{
		links: map[string]string{"/x/libmpi.so": "/t/libmpitrampoline.so.5"},
		files: map[string]*fakeLib{
			"/w/libmpi.so":         {path: "/w/libmpi.so", own: []string{interfaceMark}},
			"/r/libmpi.so":         {path: "/r/libmpi.so", own: []string{trampolineMark}},
			"/t/libmpiwrapper.so":  wrapper("/t/libmpiwrapper.so", "MPICH"),
			"/w/libwi4mpi_OMPI.so": nil, "/m/libmpi.so.12": nil,
		},
	}
	admit := func(path string, env map[string]string) (string, *cerr.Error) {
		sys.env = env
		return (&finder{sys: sys}).admit(path)
	}
	for _, test := range []struct {
		path, to string // "" = refused
		env      map[string]string
		text     string
	}{
		{"/x/libmpi.so.12", "/x/libmpi.so.12", nil, ""},
		{"/t/libmpitrampoline.so.5", "", nil, "MPITRAMPOLINE_LIB is not set"},
		{"/x/libmpi.so", "", nil, "MPITRAMPOLINE_LIB is not set"},
		{"/r/libmpi.so", "", nil, "MPITRAMPOLINE_LIB is not set"},
		{"/t/libmpitrampoline.so.5", "", map[string]string{"MPITRAMPOLINE_LIB": "/none.so"}, "/none.so, which cannot be read"},
		{"/r/libmpi.so", "/t/libmpiwrapper.so", map[string]string{"MPITRAMPOLINE_LIB": "/t/libmpiwrapper.so"}, ""},
		{"/t/lib/libmpitrampoline.so.5", "/t/libmpiwrapper.so", map[string]string{"MPITRAMPOLINE_LIB": "@MPITRAMPOLINE_DIR@/libmpiwrapper.so"}, ""},
		{"/w/libwi4mpi_OMPI_INTEL.so", "", nil, "LD_PRELOAD"},
		{"/w/libmpi.so", "", nil, "WI4MPI_WRAPPER_LIB is not set"},
		{"libmpi.so", "", map[string]string{"LD_LIBRARY_PATH": "/none:/w"}, "WI4MPI_WRAPPER_LIB is not set"},
		{"/w/libmpi.so", "", map[string]string{"WI4MPI_WRAPPER_LIB": "/w/libwi4mpi_OMPI.so"}, "WI4MPI_RUN_MPI_C_LIB is not set"},
		{"/w/libmpi.so", "/w/libmpi.so", map[string]string{"WI4MPI_WRAPPER_LIB": "/w/libwi4mpi_OMPI.so", "WI4MPI_RUN_MPI_C_LIB": "/m/libmpi.so.12"}, ""},
		{"/opt/libreactant_mpi_wrapper.so", "", nil, "this library's own"},
	} {
		to, err := admit(test.path, test.env)
		if test.to != "" {
			require.Nil(t, err, test.path)
			require.Equal(t, test.to, to)
			continue
		}
		require.NotNil(t, err, test.path)
		require.Equal(t, cerr.MPIABI, err.Code)
		require.Contains(t, err.Text, test.text)
		require.Contains(t, err.Text, test.path)
	}
	require.Empty(t, sys.opened)
}

func TestWrapperIsLoadedDeep(t *testing.T) {
	useFakes(t)
	sys := &machine{env: map[string]string{"MPITRAMPOLINE_LIB": "/t/w.so"}, files: map[string]*fakeLib{"/t/w.so": wrapper("/t/w.so", "MPICH")}}
	found, err := Find(sys, Wish{Library: "/t/libmpitrampoline.so.5"})
	require.Nil(t, err)
	require.Equal(t, "/t/w.so", found.Lib.Path())
	require.Equal(t, []string{"/t/w.so"}, sys.deep)
	require.Equal(t, sys.deep, sys.opened, "and stays local")
}
