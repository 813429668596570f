package mpi

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

func TestIdentify(t *testing.T) {
	useFakes(t)
	for _, test := range []struct {
		name   string
		lib    *fakeLib
		family Family
		text   string // of the refusal; "" = served
	}{
		{"MPICH", mpich("/m/libmpi.so.12"), MPICH, ""},
		{"MPICH 5 answers -1 for its ABI", &fakeLib{path: "/m/libmpi.so.12", own: append([]string{"MPIR_Dup_fn"}, realMPI...), abi: -1}, MPICH, ""},
		{"Intel MPI", &fakeLib{path: "/i/libmpi.so.12", own: append([]string{"I_MPI_Check_image_status"}, realMPI...)}, MPICH, ""},
		{"Open MPI", openmpi("/o/libmpi.so.40"), OpenMPI, ""},
		{"Open MPI 6 answers -1 for its ABI", &fakeLib{path: "/o/libmpi.so.40", own: append([]string{"ompi_mpi_comm_world"}, realMPI...), abi: -1}, OpenMPI, ""},
		{"MPI-5 of MPICH", mpi5("/m/libmpi_abi.so.1", "MPICH Version: 5.0.2"), MPI5, ""},
		{"MPI-5 of Open MPI 6 shows its native symbols", mpi5("/o/libmpi_abi.so.1", "Open MPI v6", "ompi_mpi_comm_world"), MPI5, ""},
		{"MPI-5 of Intel", mpi5("/i/libmpi_abi.so.1", "Intel(R) MPI Library", "I_MPI_Check_image_status"), MPI5, ""},
		{"pre-standard ABI", &fakeLib{path: "/m/libmpi_abi.so.0", own: realMPI}, 0, "pre-standard"},
		{"MPItrampoline over a wrapper", trampoline("/t/libmpi.so", false), MPIABI, ""},
		{"MPItrampoline over nothing", trampoline("/t/libmpi.so", true), 0, "MPITRAMPOLINE_LIB"},
		{"MPIwrapper", wrapper("/t/x.so", "MPICH"), MPIABI, ""},
		{"Mukautuva", mukautuva("/t/x.so"), Mukautuva, ""},
		{"WI4MPI's interface", &fakeLib{path: "/t/libmpi.so", own: append([]string{"INTERFACE_LOCAL_MPI_Init"}, realMPI...)}, WI4MPI, ""},
		{"WI4MPI for Open MPI programs", wi4mpi("/t/libwi4mpi_OMPI_MPICH.so"), OpenMPI, ""},
		{"WI4MPI for Intel MPI programs", wi4mpi("/t/libwi4mpi_INTEL_OMPI.so"), MPICH, ""},
		{"WI4MPI for MPICH programs", wi4mpi("/t/libwi4mpi_MPICH_OMPI.so"), MPICH, ""},
		{"WI4MPI under another name", wi4mpi("/t/libother.so"), 0, "libwi4mpi_OMPI_"},
		{"HPE MPT", &fakeLib{path: "/t/libmpi.so", own: append([]string{"mpi_sgi_inplace"}, realMPI...)}, 0, "HPE MPT"},
		{"unknown", &fakeLib{path: "/t/libmpi.so", own: realMPI, version: "Acme MPI 1"}, 0, "Acme MPI 1"},
		{"no MPI at all", &fakeLib{path: "/t/libz.so"}, 0, "no MPI_Init"},
	} {
		t.Run(test.name, func(t *testing.T) {
			family, err := Identify(test.lib)
			if test.text == "" {
				require.Nil(t, err)
				require.Equal(t, test.family, family)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, cerr.MPIABI, err.Code)
			require.Contains(t, err.Text, test.text)
			require.Contains(t, err.Text, test.lib.path)
		})
	}
}

func TestFind(t *testing.T) {
	useFakes(t)
	files := func(libs ...*fakeLib) map[string]*fakeLib {
		out := map[string]*fakeLib{}
		for _, l := range libs {
			out[l.path] = l
		}
		return out
	}
	idle := trampoline("/j/jaxlib.so", true)
	tool := &fakeLib{path: "/p/libprofile.so", own: []string{"MPI_Init"}}
	initialised := func(l *fakeLib) *fakeLib { l.initialised = true; return l }

	for _, test := range []struct {
		name string
		sys  machine
		wish Wish
		path string // found
		how  string
		code cerr.Code
		text []string
	}{
		{name: "the one in the process", sys: machine{loaded: []*fakeLib{tool, openmpi("/o/libmpi.so.40")}}, path: "/o/libmpi.so.40", how: "process"},
		{name: "the one in the process before hints", sys: machine{loaded: []*fakeLib{openmpi("/o/libmpi.so.40")},
			env: map[string]string{"MPI_HOME": "/m"}, files: files(mpich("/m/lib/libmpi.so.12"))}, path: "/o/libmpi.so.40"},
		{name: "the initialised one of two", sys: machine{loaded: []*fakeLib{mpich("/m/libmpi.so.12"), initialised(openmpi("/o/libmpi.so.40"))}},
			path: "/o/libmpi.so.40"},
		{name: "the initialised one though another was asked for", sys: machine{loaded: []*fakeLib{initialised(openmpi("/o/libmpi.so.40"))},
			files: files(mpich("/m/libmpi.so.12"))}, wish: Wish{Library: "/m/libmpi.so.12"}, path: "/o/libmpi.so.40"},
		{name: "asked for, while an idle one is in the process", sys: machine{loaded: []*fakeLib{openmpi("/o/libmpi.so.40")},
			files: files(mpich("/m/libmpi.so.12"))}, wish: Wish{Library: "/m/libmpi.so.12"}, path: "/m/libmpi.so.12", how: "asked for"},
		{name: "two idle ones, one asked for by a link", sys: machine{loaded: []*fakeLib{openmpi("/o/libmpi.so.40"), mpich("/m/libmpi.so.12.1")},
			links: map[string]string{"/m/libmpi.so": "/m/libmpi.so.12.1"}}, wish: Wish{Library: "/m/libmpi.so"}, path: "/m/libmpi.so.12.1"},
		{name: "two idle ones", sys: machine{loaded: []*fakeLib{openmpi("/o/libmpi.so.40"), mpich("/m/libmpi.so.12")}},
			code: cerr.NoMPI, text: []string{"/o/libmpi.so.40", "/m/libmpi.so.12", "none is initialised"}},
		{name: "two initialised ones", sys: machine{loaded: []*fakeLib{initialised(openmpi("/o/libmpi.so.40")), initialised(mpich("/m/libmpi.so.12"))}},
			code: cerr.NoMPI, text: []string{"more than one"}},
		{name: "an unused MPItrampoline in the process does not count", sys: machine{loaded: []*fakeLib{idle},
			files: files(mpich("/m/lib/libmpi.so.12")), env: map[string]string{"MPI_HOME": "/m", "PMI_SIZE": "2"}}, path: "/m/lib/libmpi.so.12"},
		{name: "asked for and missing", sys: machine{}, wish: Wish{Library: "/none.so"}, code: cerr.NoMPI, text: []string{"/none.so", "cannot open"}},
		{name: "asked for and broken, though another could be found", sys: machine{files: map[string]*fakeLib{"/b.so": nil, "libmpi.so.12": mpich("libmpi.so.12")}},
			wish: Wish{Library: "/b.so"}, code: cerr.NoMPI, text: []string{"/b.so"}},
		{name: "MPI4PY_LIBMPI", sys: machine{env: map[string]string{"MPI4PY_LIBMPI": "/m/libmpi.so.12"}, files: files(mpich("/m/libmpi.so.12"))},
			path: "/m/libmpi.so.12", how: "MPI4PY_LIBMPI"},
		{name: "a root variable", sys: machine{env: map[string]string{"I_MPI_ROOT": "/i"}, files: files(mpich("/i/lib/release/libmpi.so.12"))},
			path: "/i/lib/release/libmpi.so.12", how: "I_MPI_ROOT"},
		{name: "the launcher's prefix", sys: machine{ancestors: []string{"/usr/bin/bash", "/q/bin/hydra_pmi_proxy"}, env: map[string]string{"PMI_SIZE": "2"},
			files: files(mpich("/q/lib/libmpi.so.12"))}, path: "/q/lib/libmpi.so.12", how: "/q"},
		{name: "mpi_dirs", sys: machine{files: files(openmpi("/d/libmpi.so.40"))}, wish: Wish{Dirs: ":/c:/d"}, path: "/d/libmpi.so.40", how: "mpi_dirs"},
		{name: "the launcher chooses between families", sys: machine{env: map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "VIRTUAL_ENV": "/v", "CONDA_PREFIX": "/c"},
			files: files(mpich("/v/lib/libmpi.so.12"), openmpi("/c/lib/libmpi.so.40"))}, path: "/c/lib/libmpi.so.40"},
		{name: "an MPI-5 library that fits the launcher", sys: machine{env: map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "MPI_HOME": "/a:/b"},
			files: files(mpi5("libmpi_abi.so.1", "Open MPI v6.0"))}, path: "libmpi_abi.so.1"},
		{name: "the other family if there is nothing else", sys: machine{env: map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "MPI_HOME": "/m"},
			files: files(mpich("/m/lib/libmpi.so.12"))}, path: "/m/lib/libmpi.so.12"},
		{name: "default names", sys: machine{files: files(openmpi("libmpi.so.40"))}, path: "libmpi.so.40", how: "default name"},
		{name: "nothing", sys: machine{}, code: cerr.NoMPI, text: []string{"REACTANT_MPI_LIBMPI", "libmpi.so.12"}},
		{name: "only an MPItrampoline in the process", sys: machine{loaded: []*fakeLib{idle}}, code: cerr.NoMPI, text: []string{"MPItrampoline"}},
		{name: "MPITRAMPOLINE_LIB", sys: machine{env: map[string]string{"MPITRAMPOLINE_LIB": "/t/w.so"}, files: files(wrapper("/t/w.so", "MPICH Version: 5"))},
			path: "/t/w.so", how: "MPITRAMPOLINE_LIB"},
		{name: "MPITRAMPOLINE_LIB of another launcher's family", sys: machine{env: map[string]string{"MPITRAMPOLINE_LIB": "/t/w.so", "OMPI_COMM_WORLD_SIZE": "2",
			"MPI_HOME": "/o"}, files: files(wrapper("/t/w.so", "MPICH Version: 5"), openmpi("/o/lib/libmpi.so.40"))}, path: "/o/lib/libmpi.so.40"},
		{name: "MPITRAMPOLINE_LIB is our own, for jaxlib", sys: machine{env: map[string]string{"MPITRAMPOLINE_LIB": "/t/w.so", "MPI_HOME": "/o"},
			files: files(ours("/t/w.so"), openmpi("/o/lib/libmpi.so.40"))}, path: "/o/lib/libmpi.so.40"},
		{name: "the layer in the process, not the MPI behind it", sys: machine{loaded: []*fakeLib{initialised(trampoline("/t/libmpitrampoline.so.5", false)),
			initialised(mpich("/m/libmpi.so.12"))}}, path: "/t/libmpitrampoline.so.5"},
		{name: "nor when neither is initialised", sys: machine{loaded: []*fakeLib{mpich("/m/libmpi.so.12"), trampoline("/t/libmpitrampoline.so.5", false)}},
			path: "/t/libmpitrampoline.so.5"},
		{name: "a layer over another MPI than the initialised one", sys: machine{loaded: []*fakeLib{trampoline("/t/libmpitrampoline.so.5", false),
			initialised(openmpi("/o/libmpi.so.40"))}}, path: "/o/libmpi.so.40"},
		{name: "a translating library in the process is in use", sys: machine{loaded: []*fakeLib{
			wi4mpi("/w/libwi4mpi_OMPI_MPICH.so"), mpich("/m/libmpi.so.12")}}, path: "/w/libwi4mpi_OMPI_MPICH.so"},
		{name: "unless the user names the library", sys: machine{loaded: []*fakeLib{
			wi4mpi("/w/libwi4mpi_OMPI_MPICH.so"), mpich("/m/libmpi.so.12")}}, wish: Wish{Library: "/m/libmpi.so.12"}, path: "/m/libmpi.so.12"},
		{name: "Mukautuva over a library that it knows", sys: machine{env: map[string]string{"MPI_LIB": "/m/libmpi.so.12"},
			files: files(mukautuva("/k/libmuk.so"), mpich("/m/libmpi.so.12"), &fakeLib{path: "/k/mpich-wrap.so"})},
			wish: Wish{Library: "/k/libmuk.so"}, path: "/k/libmuk.so"},
		{name: "Mukautuva over nothing", sys: machine{files: files(mukautuva("/k/libmuk.so"))},
			wish: Wish{Library: "/k/libmuk.so"}, code: cerr.MPIABI, text: []string{"MPI_LIB", "libmpi.so"}},
		{name: "Mukautuva without its converter", sys: machine{env: map[string]string{"MPI_LIB": "/o/libmpi.so.40"},
			files: files(mukautuva("/k/libmuk.so"), openmpi("/o/libmpi.so.40"))},
			wish: Wish{Library: "/k/libmuk.so"}, code: cerr.MPIABI, text: []string{"/k/ompi-wrap.so"}},
		{name: "Mukautuva over a standard ABI", sys: machine{env: map[string]string{"MPI_LIB": "/m/libmpi_abi.so.1"},
			files: files(mukautuva("/k/libmuk.so"), mpi5("/m/libmpi_abi.so.1", "MPICH Version: 5"))},
			wish: Wish{Library: "/k/libmuk.so"}, code: cerr.MPIABI, text: []string{"does not know"}},
		{name: "Mukautuva and the library that it will use, in the process", sys: machine{env: map[string]string{"MPI_LIB": "/m/libmpi.so.12"},
			loaded: []*fakeLib{mukautuva("/k/libmuk.so"), mpich("/m/libmpi.so.12")},
			files:  files(mpich("/m/libmpi.so.12"), &fakeLib{path: "/k/mpich-wrap.so"})}, path: "/k/libmuk.so"},
		{name: "Cray MPICH asked for GPUs that it cannot serve", sys: machine{env: map[string]string{"MPICH_GPU_SUPPORT_ENABLED": "1"},
			files: files(cray("/c/libmpi_cray.so.12"))}, wish: Wish{Library: "/c/libmpi_cray.so.12"}, code: cerr.Option, text: []string{"libmpi_gtl_cuda"}},
		{name: "Cray MPICH with its GPU library", sys: machine{env: map[string]string{"MPICH_GPU_SUPPORT_ENABLED": "1"}, loaded: []*fakeLib{{path: "/c/libmpi_gtl_cuda.so"}},
			files: files(cray("/c/libmpi_cray.so.12"))}, wish: Wish{Library: "/c/libmpi_cray.so.12"}, path: "/c/libmpi_cray.so.12"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := Find(&test.sys, test.wish)
			if test.path != "" {
				require.Nil(t, err)
				require.Equal(t, test.path, found.Lib.Path())
				require.Contains(t, found.How, test.how)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, test.code, err.Code, err.Text)
			for _, text := range test.text {
				require.Contains(t, err.Text, text)
			}
		})
	}
}

func TestPlacesFollowOrder(t *testing.T) {
	sys := &machine{
		env:       map[string]string{"MPI_HOME": "/home", "VIRTUAL_ENV": "/venv"},
		ancestors: []string{"/bin/sh", "/launch/bin/prted", "/other/bin/mpirun"},
	}
	var order []string
	for _, p := range places(sys, "/dirs") {
		if filepath.Base(p.dir) == "lib" {
			order = append(order, filepath.Dir(p.dir))
		}
	}
	require.Equal(t, []string{"/home", "/launch", "/dirs", "/venv"}, order)
}
