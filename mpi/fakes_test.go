package mpi

import (
	"errors"
	"testing"
	"unsafe"

	"reactantmpi/internal/dl"
)

// fakeLib is a made-up library: the symbols it defines, those of its dependencies, and what its functions would answer.
type fakeLib struct {
	path        string
	own, needed []string
	abi         int // MPI_Abi_get_version's major; symbol present if not 0
	version     string
	initialised bool
	idle        bool // of a MPItrampoline: no MPIwrapper behind it
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
	deep      []string // opened with OpenDeep
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

func (m *machine) IsDir(string) bool { return false }

func (m *machine) Defines(path, symbol string) bool {
	l := m.files[path]
	return l != nil && l.Owns(symbol)
}

func (m *machine) OpenLocal(path string) (dl.Library, error) { return m.Open(path) }

func (m *machine) OpenDeep(path string) (dl.Library, error) {
	m.deep = append(m.deep, path)
	return m.Open(path)
}

func (m *machine) Open(path string) (dl.Library, error) {
	m.opened = append(m.opened, path)
	if l := m.files[path]; l != nil {
		return l, nil
	}
	return nil, errors.New(path + ": cannot open shared object file")
}

// useFakes makes the questions to a library answered by fakeLib.
func useFakes(t *testing.T) {
	v, i, a, r := versionString, isInitialized, abiVersion, readInt
	t.Cleanup(func() { versionString, isInitialized, abiVersion, readInt = v, i, a, r })
	versionString = func(l dl.Library) string { return l.(*fakeLib).version }
	isInitialized = func(l dl.Library) bool { return l.(*fakeLib).initialised }
	libraryOf := func(symbol unsafe.Pointer) *fakeLib {
		return (*fakeLib)(unsafe.Add(symbol, -int(unsafe.Offsetof(fakeLib{}.memory))))
	}
	abiVersion = func(f unsafe.Pointer) (int, int) { return libraryOf(f).abi, 0 }
	readInt = func(variable unsafe.Pointer) int {
		if libraryOf(variable).idle {
			return -1
		}
		return 2
	}
}

var realMPI = []string{"MPI_Init", "PMPI_Init", "MPI_Initialized"}

func mpich(path string) *fakeLib {
	return &fakeLib{path: path, own: append([]string{"MPIR_Dup_fn"}, realMPI...), version: "MPICH Version: 5.0.2"}
}

func openmpi(path string) *fakeLib {
	return &fakeLib{path: path, own: append([]string{"ompi_mpi_comm_world"}, realMPI...), version: "Open MPI v5.0.11"}
}

func cray(path string) *fakeLib {
	l := mpich(path)
	l.version = "CRAY MPICH version 8.1.27 (ANL base 3.4a2)"
	return l
}

func trampoline(path string, idle bool) *fakeLib {
	return &fakeLib{path: path, idle: idle, own: append([]string{"mpitrampoline_version_major", "mpiwrapper_version_major"}, realMPI...),
		version: "MPIwrapper 2.11.1, using MPIABI 2.10.0, wrapping: MPICH Version: 5.0.2"}
}

func wrapper(path, over string) *fakeLib {
	return &fakeLib{path: path, own: []string{"mpiwrapper_version_major", "MPIABI_Init"}, needed: realMPI,
		version: "MPIwrapper 2.11.1, using MPIABI 2.10.0, wrapping: " + over}
}

// ours is a wrapper over nothing but this library.
func ours(path string) *fakeLib {
	return &fakeLib{path: path, own: []string{"mpiwrapper_version_major", "MPIABI_Init", "reactant_mpi_wrapper_version"}, needed: realMPI,
		version: "MPIwrapper 2.11.1, using MPIABI 2.10.0, wrapping: MPICH Version: 5"}
}

func mukautuva(path string) *fakeLib {
	return &fakeLib{path: path, own: []string{"whose_mpi", "MPI_Init"}, version: "MUKAUTUVA: not initialized"}
}

func wi4mpi(path string) *fakeLib {
	return &fakeLib{path: path, own: append([]string{"A_MPI_Init"}, realMPI...), version: "MPICH Version: 5.0.2"}
}

func mpi5(path, version string, more ...string) *fakeLib {
	return &fakeLib{path: path, own: realMPI, needed: more, abi: 1, version: version}
}
