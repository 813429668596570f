package mpi

import (
	"errors"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// fakeLib is a made-up library: the symbols it defines, those of its dependencies, and what its functions would answer.
type fakeLib struct {
	path        string
	own, needed []string
	abi         int // MPI_Abi_get_version's major; symbol present if not 0
	version     string
	initialised bool
	memory      byte // something to point to
}

func has(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}

func (l *fakeLib) Symbol(name string) unsafe.Pointer {
	if l.Owns(name) || has(l.needed, name) {
		return unsafe.Pointer(&l.memory)
	}
	return nil
}

func (l *fakeLib) Owns(name string) bool {
	return has(l.own, name) || name == "MPI_Abi_get_version" && l.abi != 0
}

func (l *fakeLib) Path() string { return l.path }

func (l *fakeLib) Close() {}

// machine is a made-up system.
type machine struct {
	env       map[string]string
	files     map[string]*fakeLib // nil: a file that cannot be loaded
	links     map[string]string
	loaded    []*fakeLib
	ancestors []string
	opened    []string
}

func (m *machine) Getenv(name string) string { return m.env[name] }
func (m *machine) SetDefault(name, value string) {
	if m.env[name] == "" && m.env != nil {
		m.env[name] = value
	}
}

func (m *machine) Exists(path string) bool { _, ok := m.files[path]; return ok }
func (m *machine) Ancestors() []string     { return m.ancestors }

func (m *machine) RealPath(path string) string {
	if real, ok := m.links[path]; ok {
		return real
	}
	return path
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
	if l := m.files[path]; l != nil {
		return l, nil
	}
	return nil, errors.New(path + ": cannot open shared object file")
}

// useFakes makes the questions to a library answered by fakeLib.
func useFakes(t *testing.T) {
	v, i, a := versionString, isInitialized, abiVersion
	t.Cleanup(func() { versionString, isInitialized, abiVersion = v, i, a })
	versionString = func(l dl.Library) string { return l.(*fakeLib).version }
	isInitialized = func(l dl.Library) bool { return l.(*fakeLib).initialised }
	abiVersion = func(f unsafe.Pointer) (int, int) {
		lib := (*fakeLib)(unsafe.Add(f, -int(unsafe.Offsetof(fakeLib{}.memory))))
		return lib.abi, 0
	}
}

var realMPI = []string{"MPI_Init", "PMPI_Init", "MPI_Initialized"}

func mpich(path string) *fakeLib {
	return &fakeLib{path: path, own: append([]string{"MPIR_Dup_fn"}, realMPI...), version: "MPICH Version: 5.0.2"}
}

func openmpi(path string) *fakeLib {
	return &fakeLib{path: path, own: append([]string{"ompi_mpi_comm_world"}, realMPI...), version: "Open MPI v5.0.11"}
}

func mpi5(path, version string, more ...string) *fakeLib {
	return &fakeLib{path: path, own: realMPI, needed: more, abi: 1, version: version}
}

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
		{"MPItrampoline", &fakeLib{path: "/t/libmpi.so", own: append([]string{"mpitrampoline_version_major"}, realMPI...)}, 0, "MPItrampoline"},
		{"MPIwrapper", &fakeLib{path: "/t/x.so", own: []string{"mpiwrapper_version_major", "MPIABI_Init"}}, 0, "MPIwrapper"},
		{"Mukautuva", &fakeLib{path: "/t/x.so", own: append([]string{"whose_mpi"}, realMPI...)}, 0, "Mukautuva"},
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

func TestRefuseByName(t *testing.T) {
	sys := &machine{links: map[string]string{"/x/libmpi.so": "/t/libmpitrampoline.so.5"}}
	for _, path := range []string{"/t/libmpitrampoline.so.5", "libmuk.so", "/w/libwi4mpi_OMPI_INTEL.so", "/w/libmpiwrapper.so", "/x/libmpi.so"} {
		err := RefuseByName(sys, path)
		require.NotNil(t, err, path)
		require.Equal(t, cerr.MPIABI, err.Code)
		require.Contains(t, err.Text, "REACTANT_MPI_LIBMPI", path)
	}
	require.Nil(t, RefuseByName(sys, "/x/libmpi.so.12"))
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
	trampoline := &fakeLib{path: "/j/jaxlib.so", own: append([]string{"mpitrampoline_version_major"}, realMPI...)}
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
		{name: "an unused MPItrampoline in the process does not count", sys: machine{loaded: []*fakeLib{trampoline},
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
		{name: "only an MPItrampoline in the process", sys: machine{loaded: []*fakeLib{trampoline}}, code: cerr.NoMPI, text: []string{"MPItrampoline"}},
		{name: "a translating library in the process is in use", sys: machine{loaded: []*fakeLib{
			{path: "/w/libwi4mpi_OMPI_MPICH.so", own: realMPI}, mpich("/m/libmpi.so.12")}}, code: cerr.MPIABI, text: []string{"WI4MPI"}},
		{name: "unless the user names the library", sys: machine{loaded: []*fakeLib{
			{path: "/w/libwi4mpi_OMPI_MPICH.so", own: realMPI}, mpich("/m/libmpi.so.12")}}, wish: Wish{Library: "/m/libmpi.so.12"}, path: "/m/libmpi.so.12"},
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

func TestMPItrampolineIsNeverLoaded(t *testing.T) {
	useFakes(t)
	sys := &machine{files: map[string]*fakeLib{"/t/libmpitrampoline.so.5": nil}}
	_, err := Find(sys, Wish{Library: "/t/libmpitrampoline.so.5"})
	require.Equal(t, cerr.MPIABI, err.Code)
	require.Empty(t, sys.opened)
}

func TestLauncher(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   map[string]string
		world int
		text  string // of code 42; "" = fine
	}{
		{"no launcher", nil, 1, ""},
		{"several ranks", map[string]string{"PMI_SIZE": "4"}, 4, ""},
		{"one rank started", map[string]string{"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "1"}, 1, ""},
		{"Open MPI's launcher", map[string]string{"OMPI_COMM_WORLD_SIZE": "3"}, 1, "OMPI_COMM_WORLD_SIZE=3"},
		{"hydra", map[string]string{"PMI_SIZE": "2"}, 1, "PMI_SIZE=2"},
		{"several on the node", map[string]string{"MPI_LOCALNRANKS": "2"}, 1, "MPI_LOCALNRANKS=2"},
		{"Slurm step", map[string]string{"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"}, 1, "SLURM_STEP_NUM_TASKS=8"},
		{"Slurm allocation only", map[string]string{"SLURM_NTASKS": "8"}, 1, ""},
		{"Slurm allocation with a step's count but no rank", map[string]string{"SLURM_STEP_NUM_TASKS": "8"}, 1, ""},
		{"Flux", map[string]string{"FLUX_JOB_SIZE": "2", "FLUX_TASK_RANK": "0"}, 1, "FLUX_JOB_SIZE=2"},
		{"PALS", map[string]string{"PALS_RANKID": "1"}, 1, "PALS_RANKID=1"},
		{"PALS rank 0 proves nothing", map[string]string{"PALS_RANKID": "0"}, 1, ""},
		{"nonsense", map[string]string{"PMI_SIZE": "many"}, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckAfterInit("/m/libmpi.so.12", test.world, func(n string) string { return test.env[n] })
			if test.text == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, cerr.Launcher, err.Code)
			for _, text := range []string{test.text, "/m/libmpi.so.12", "REACTANT_MPI_LAUNCHER_CHECK=off"} {
				require.Contains(t, err.Text, text)
			}
		})
	}
}

func TestLauncherBeforeInit(t *testing.T) {
	prte := func(n string) string {
		return map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "PRTE_LAUNCHED": "1"}[n]
	}
	none := func(string) string { return "" }
	withPMIx := mpich("/d/libmpich.so.12")
	withPMIx.needed = []string{"PMIx_Init"}

	require.NotNil(t, CheckBeforeInit(&Found{Lib: mpich("/m/libmpi.so.12"), Family: MPICH}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: withPMIx, Family: MPICH}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: openmpi("/o/libmpi.so.40"), Family: OpenMPI}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: mpi5("/o/libmpi_abi.so.1", "", "ompi_mpi_comm_world"), Family: MPI5}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: mpich("/m/libmpi.so.12"), Family: MPICH}, none))
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
