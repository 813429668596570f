package mpi

import (
	"path/filepath"
	"strings"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// Layers are libraries with the functions of MPI that pass them on to another MPI: MPItrampoline and the MPIwrapper that it opens,
// Mukautuva, WI4MPI. Some end the process when what they need is missing, so that is looked at before they are loaded or called.

// prefix is what a library's functions and constants are called after: MPIwrapper's are all MPIABI_*, lest they be mixed up with those of
// the MPI it is linked to. (MPItrampoline's MPIABI_* are pointers to them.)
func prefix(lib dl.Library) string {
	if lib.Owns("MPIABI_Init") && !lib.Owns("mpitrampoline_version_major") {
		return "MPIABI_"
	}
	return "MPI_"
}

// hasBackend tells whether a MPItrampoline has opened an MPIwrapper. If it has not, its functions end the process or are null pointers.
func hasBackend(trampoline dl.Library) bool {
	version := trampoline.Symbol("mpiwrapper_version_major")
	return version != nil && readInt(version) != -1
}

// isIdle: a MPItrampoline without a backend may lie in a process unused.
func isIdle(lib dl.Library) bool { return lib.Owns("mpitrampoline_version_major") && !hasBackend(lib) }

// translates tells WI4MPI's library for LD_PRELOAD: MPI_* of one ABI over the MPI of another. Mark: every function also as A_MPI_*.
func translates(lib dl.Library) bool { return lib.Owns("A_MPI_Init") && lib.Owns("MPI_Init") }

// translatedFamily: the program keeps the ABI that the file name says first, as in libwi4mpi_OMPI_INTEL.so.
func translatedFamily(lib dl.Library) (Family, *cerr.Error) {
	from, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(lib.Path()), "libwi4mpi_"), "_")
	switch from {
	case "OMPI":
		return OpenMPI, nil
	case "MPICH", "INTEL":
		return MPICH, nil
	}
	return 0, cerr.New(cerr.MPIABI, "%s is WI4MPI, and its name does not tell from which ABI it translates: it must be called libwi4mpi_OMPI_*, "+
		"libwi4mpi_INTEL_* or libwi4mpi_MPICH_*", lib.Path())
}

// layerAt tells which layer a file is without loading it; "" if none. Files that are called as only MPIs are do not need the look.
func layerAt(sys System, path string) string {
	base := filepath.Base(sys.RealPath(path))
	for _, layer := range []struct{ name, start, mark string }{
		{"MPItrampoline", "libmpitrampoline", "mpitrampoline_version_major"},
		{"WI4MPI", "libwi4mpi", "A_MPI_Init"},
		{"WI4MPI's interface", "", "INTERFACE_LOCAL_MPI_Init"},
	} {
		if layer.start != "" && (strings.HasPrefix(base, layer.start) || strings.HasPrefix(filepath.Base(path), layer.start)) ||
			!strings.HasPrefix(base, "libmpi.so.") && !strings.HasPrefix(base, "libmpich.so.") && sys.Defines(path, layer.mark) {
			return layer.name
		}
	}
	return ""
}

// admit says what to load where `path` was named: the file itself, or the MPIwrapper behind a MPItrampoline. What would end the process is
// refused.
func (f *finder) admit(path string) (string, *cerr.Error) {
	refuse := func(format string, args ...any) (string, *cerr.Error) {
		return "", cerr.New(cerr.MPIABI, format, args...)
	}
	usable := func(variable, value string) string {
		switch {
		case value == "":
			return variable + " is not set"
		case !f.sys.Exists(value):
			return variable + " names " + value + ", which cannot be read"
		}
		return ""
	}
	if strings.HasPrefix(filepath.Base(f.sys.RealPath(path)), "libreactant_mpi") {
		return refuse("%s is this library's own, and no MPI", path)
	}
	switch layerAt(f.sys, f.onLibraryPath(path)) {
	case "MPItrampoline":
		wrapper := strings.ReplaceAll(f.sys.Getenv("MPITRAMPOLINE_LIB"), "@MPITRAMPOLINE_DIR@", filepath.Dir(filepath.Dir(path)))
		if why := usable("MPITRAMPOLINE_LIB", wrapper); why != "" {
			return refuse("%s is MPItrampoline, and %s: it would end this process; set MPITRAMPOLINE_LIB to your libmpiwrapper.so, or set "+
				"REACTANT_MPI_LIBMPI to that file or to an MPI", path, why)
		}
		return wrapper, nil
	case "WI4MPI":
		return refuse("%s is WI4MPI for LD_PRELOAD and is not in this process; start with WI4MPI's launcher (mpirun -F ... -T ...), or without it: "+
			"this library finds and translates by itself; set REACTANT_MPI_LIBMPI to the MPI you run on", path)
	case "WI4MPI's interface":
		for _, variable := range []string{"WI4MPI_WRAPPER_LIB", "WI4MPI_RUN_MPI_C_LIB"} {
			if why := usable(variable, f.sys.Getenv(variable)); why != "" {
				return refuse("%s is WI4MPI's interface library, and %s: it would end this process; start with WI4MPI's launcher (mpirun -T ...), "+
					"or set REACTANT_MPI_LIBMPI to the MPI you run on", path, why)
			}
		}
	}
	return path, nil
}

// onLibraryPath is where the loader will first look for a bare name.
func (f *finder) onLibraryPath(path string) string {
	if strings.ContainsRune(path, '/') {
		return path
	}
	for _, dir := range filepath.SplitList(f.sys.Getenv("LD_LIBRARY_PATH")) {
		if dir != "" && f.sys.Exists(filepath.Join(dir, path)) {
			return filepath.Join(dir, path)
		}
	}
	return path
}

// prepareMukautuva opens the MPI that Mukautuva will open in MPI_Init, since it aborts there if it cannot be used.
func (f *finder) prepareMukautuva(found *Found) *cerr.Error {
	path := f.sys.Getenv("MPI_LIB")
	if path == "" {
		path = "libmpi.so"
	}
	refuse := func(why string) *cerr.Error {
		return cerr.New(cerr.MPIABI, "%s is Mukautuva, and %s: it would end this process; set MPI_LIB to the libmpi of MPICH, Intel MPI or Open MPI",
			found.Lib.Path(), why)
	}
	behind, err := f.sys.OpenLocal(path)
	if err != nil {
		return refuse("the MPI that it shall use (MPI_LIB) cannot be loaded: " + err.Error())
	}
	family, no := Identify(behind)
	version := versionString(behind)
	converter := map[Family]string{MPICH: "mpich-wrap.so", OpenMPI: "ompi-wrap.so"}[family]
	switch {
	case no != nil:
		return refuse(no.Text)
	case converter == "", family == MPICH && !strings.Contains(version, "MPICH") && !strings.HasPrefix(version, "Intel(R) MPI"):
		return refuse("it does not know the MPI of MPI_LIB, " + behind.Path() + quoteVersion(version))
	}
	if beside := filepath.Join(filepath.Dir(found.Lib.Path()), converter); !f.sys.Exists(beside) {
		return refuse("its " + beside + " cannot be read")
	}
	found.Behind = behind
	return nil
}

// standsOn tells whether a library of the process is only what a layer, another one, passes its calls on to.
func (f *finder) standsOn(layer, native *Found) bool {
	if isLayer(native) || !isLayer(layer) {
		return false
	}
	if lib := f.sys.Getenv("MPI_LIB"); layer.Family == Mukautuva && lib != "" && f.sys.RealPath(lib) == f.sys.RealPath(native.Lib.Path()) {
		return true
	}
	version := versionString(native.Lib)
	return version != "" && strings.Contains(versionString(layer.Lib), version)
}

func isLayer(found *Found) bool { return found.Family >= MPIABI || translates(found.Lib) }

// implementation is the version string of the MPI behind any layers.
func (found *Found) implementation() string {
	lib := found.Lib
	if found.Family == Mukautuva && found.Behind != nil {
		lib = found.Behind // itself it says nothing before MPI_Init
	}
	version := versionString(lib)
	if _, wrapped, ok := strings.Cut(version, "wrapping: "); ok {
		return wrapped
	}
	return version
}
