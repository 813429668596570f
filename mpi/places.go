package mpi

import (
	"path/filepath"
	"strings"

	"reactantmpi/internal/dl"
)

// fileNames are what MPI libraries are called, in the order of trial: MPICH's and its relatives', Open MPI's, the standard ABI's, Cray's (one
// for each compiler), IBM Spectrum's.
var fileNames = []string{
	"libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.1",
	"libmpi_cray.so.12", "libmpi_gnu_123.so.12", "libmpi_gnu_112.so.12", "libmpi_gnu_91.so.12", "libmpi_ibm.so", "libmpi.so",
}

// mpichOnly tells the file names that only the MPICH family has.
func mpichOnly(base string) bool {
	return base == "libmpich.so.12" || strings.HasPrefix(base, "libmpi") && strings.HasSuffix(base, ".so.12")
}

// rootVariables name installations of an MPI; environmentVariables name environments that may hold one.
var (
	rootVariables        = []string{"MPI_ABI_ROOT", "MPI_HOME", "MPI_ROOT", "I_MPI_ROOT", "OPAL_PREFIX", "CRAY_MPICH_DIR"}
	environmentVariables = []string{"VIRTUAL_ENV", "CONDA_PREFIX"}
)

// launcherNames are the executables that start ranks; a rank's own launcher is among its ancestors.
var launcherNames = map[string]bool{
	"hydra_pmi_proxy": true, "mpiexec.hydra": true, "mpiexec.gforker": true, "mpiexec": true, "mpirun": true,
	"orted": true, "orterun": true, "prte": true, "prted": true, "prterun": true,
}

type place struct{ dir, how string }

// places are the folders to look into, in order.
func places(sys dl.System, dirs string) []place {
	var out []place
	root := func(prefix, how string) {
		for _, sub := range []string{"lib", "lib64", "lib/release", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib-abi-mpich", ""} {
			out = append(out, place{filepath.Join(prefix, sub), how})
		}
	}
	for _, v := range rootVariables {
		if prefix := sys.Getenv(v); prefix != "" {
			root(prefix, v)
		}
	}
	for _, exe := range sys.Ancestors() {
		if launcherNames[filepath.Base(exe)] {
			prefix := filepath.Dir(filepath.Dir(exe))
			root(prefix, "the launcher's prefix "+prefix)
			break
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		if dir != "" {
			root(dir, "mpi_dirs")
		}
	}
	for _, v := range environmentVariables {
		if prefix := sys.Getenv(v); prefix != "" {
			root(prefix, v)
		}
	}
	return out
}

// Launcher is the family of the process's launcher; "" if there is none or it does not say.
type Launcher string

// The launchers that can be told apart.
const (
	Hydra Launcher = "MPICH's or Intel's"
	PRTE  Launcher = "Open MPI's"
)

// LauncherFamily goes by the variables that a launcher sets in its ranks.
func LauncherFamily(getenv func(string) string) Launcher {
	for _, v := range []string{"OMPI_COMM_WORLD_SIZE", "PRTE_LAUNCHED"} {
		if getenv(v) != "" {
			return PRTE
		}
	}
	for _, v := range []string{"HYDI_CONTROL_FD", "I_MPI_HYDRA_TOPOLIB", "PMI_SIZE", "MPI_LOCALNRANKS"} {
		if getenv(v) != "" {
			return Hydra
		}
	}
	return ""
}

// mayFit says by the file name whether loading is worth it; fits by what was loaded. An MPI-5 library fits if its implementation does.
func (l Launcher) mayFit(path string) bool {
	base := filepath.Base(path)
	switch l {
	case Hydra:
		return base != "libmpi.so.40" && base != "libmpi_ibm.so"
	case PRTE:
		return !mpichOnly(base)
	}
	return true
}

func (l Launcher) fits(found *Found) bool {
	open := strings.HasPrefix(found.implementation(), "Open MPI")
	if !isLayer(found) && found.Family != MPI5 {
		open = found.Family == OpenMPI // Spectrum and others that say another name
	}
	switch l {
	case Hydra:
		return !open
	case PRTE:
		return open
	}
	return true
}
