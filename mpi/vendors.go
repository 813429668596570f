package mpi

import (
	"path/filepath"
	"strings"

	"reactantmpi/internal/cerr"
)

// prepareIntel makes Intel MPI find its libfabric and the providers of it, without which it has no network: it opens libfabric by its bare
// name in MPI_Init, and in a wheel or an installation that was moved nothing points there. Its launcher and its vars.sh set the same.
func (f *finder) prepareIntel(path string) {
	switch strings.ToLower(f.sys.Getenv("I_MPI_OFI_LIBRARY_INTERNAL")) {
	case "0", "no", "off", "false", "disable":
		return
	}
	if f.sys.Getenv("I_MPI_FABRICS") == "shm" {
		return
	}
	dir := filepath.Dir(f.sys.RealPath(path))
	if base := filepath.Base(dir); base == "release" || base == "debug" {
		dir = filepath.Dir(dir)
	}
	root := filepath.Dir(dir)
	for _, place := range []string{
		"opt/mpi/libfabric/lib", "libfabric/lib", "libfabric", "lib/libfabric", "lib",
		"../../libfabric/latest/lib", // from 2021.19 on a component of oneAPI on its own
	} {
		lib := filepath.Join(root, place, "libfabric.so.1")
		if !f.sys.Exists(lib) {
			continue
		}
		providers := filepath.Dir(lib)
		if prov := filepath.Join(providers, "prov"); f.sys.IsDir(prov) {
			providers = prov
		}
		f.sys.SetDefault("FI_PROVIDER_PATH", providers)
		_, _ = f.sys.OpenLocal(lib) // a name that is in the process is not looked for
		return
	}
}

// checkCray refuses what Cray MPICH aborts on: GPU support that was asked for without the library that has it (GTL).
func (f *finder) checkCray(found *Found) *cerr.Error {
	if f.sys.Getenv("MPICH_GPU_SUPPORT_ENABLED") != "1" {
		return nil
	}
	for _, path := range f.sys.Loaded() {
		if strings.HasPrefix(filepath.Base(path), "libmpi_gtl") {
			return nil
		}
	}
	return cerr.New(cerr.Option, "MPICH_GPU_SUPPORT_ENABLED=1, but Cray's GPU library is not in this process, and MPI_Init of %s would abort; start with "+
		"LD_PRELOAD=libmpi_gtl_cuda.so (AMD: libmpi_gtl_hsa.so), or with MPICH_GPU_SUPPORT_ENABLED=0", found.Lib.Path())
}
