// Package mpi finds an MPI library at run time, tells which binary interface (ABI) it has, and binds it: one typed C table per layout of
// handles and status (abi_*.c), filled from the rows in functions.inc and constants.inc. It is compiled against no MPI.
package mpi

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -I${SRCDIR}/..
#include "mpi/mpi.h"
*/
import "C"

import (
	"path/filepath"
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// Family is a binary interface of MPI.
type Family int

// The families that are served. The last three are layers over another MPI, with constants of their own.
const (
	MPICH     Family = C.RMPI_MPICH_ABI
	OpenMPI   Family = C.RMPI_OPEN_MPI_ABI
	MPI5      Family = C.RMPI_MPI5_ABI
	MPIABI    Family = C.RMPI_MPIABI
	Mukautuva Family = C.RMPI_MUKAUTUVA
	WI4MPI    Family = C.RMPI_WI4MPI
)

func (f Family) String() string {
	return [...]string{"MPICH ABI", "Open MPI ABI", "MPI-5 standard ABI", "MPItrampoline ABI", "Mukautuva ABI", "WI4MPI ABI"}[f]
}

// What the finder asks of a loaded library; variables so that tables of made-up libraries can be tested.
var (
	// abiVersion calls MPI_Abi_get_version.
	abiVersion = func(f unsafe.Pointer) (major, minor int) {
		var a, b C.int
		C.rmpi_abi_version(f, &a, &b)
		return int(a), int(b)
	}
	readInt = func(variable unsafe.Pointer) int { return int(*(*C.int)(variable)) }
)

// Identify tells the family of a loaded library by its symbols; the order matters: layers show the symbols of what they imitate. The
// version string names the implementation, never the ABI, and is not used.
func Identify(lib dl.Library) (Family, *cerr.Error) {
	has := func(name string) bool { return lib.Symbol(name) != nil }
	base := filepath.Base(lib.Path())
	switch {
	case lib.Owns("mpitrampoline_version_major"):
		if !hasBackend(lib) {
			return 0, cerr.New(cerr.MPIABI, "%s is MPItrampoline with no MPI behind it: MPITRAMPOLINE_LIB was not set when it was loaded; set it to your "+
				"libmpiwrapper.so, or set REACTANT_MPI_LIBMPI to that file or to an MPI", lib.Path())
		}
		return MPIABI, nil
	case lib.Owns("mpiwrapper_version_major"):
		return MPIABI, nil
	case lib.Owns("whose_mpi"), lib.Owns("WRAP_CODE_IMPL_TO_MUK"):
		return Mukautuva, nil
	case lib.Owns("INTERFACE_LOCAL_MPI_Init"):
		return WI4MPI, nil
	case translates(lib):
		return translatedFamily(lib)
	case has("mpi_sgi_inplace"):
		return 0, cerr.New(cerr.MPIABI, "%s is HPE MPT, which this version does not serve; load another MPI of the site (cray-mpich-abi, Intel MPI, "+
			"Open MPI) and its launcher, or an MPIwrapper built on it", lib.Path())
	}
	// The natives of MPICH 5 and Open MPI 6 have the function too, and answer -1.
	if f := lib.Symbol("MPI_Abi_get_version"); f != nil {
		if major, _ := abiVersion(f); major >= 1 {
			return MPI5, nil
		}
	}
	switch {
	case strings.HasPrefix(base, "libmpi_abi"):
		return 0, cerr.New(cerr.MPIABI, "%s is a pre-standard libmpi_abi (no MPI_Abi_get_version, or it names no version): its constants are not "+
			"those of MPI-5; use the libmpi of the same MPI, or MPICH 5, Open MPI 6 or Intel MPI 2021.18 or later", lib.Path())
	case has("ompi_mpi_comm_world"):
		return OpenMPI, nil
	case has("MPIR_Dup_fn"), has("I_MPI_Check_image_status"):
		return MPICH, nil
	case !has("MPI_Init"):
		return 0, cerr.New(cerr.MPIABI, "%s is not an MPI library: it has no MPI_Init", lib.Path())
	}
	return 0, cerr.New(cerr.MPIABI, "%s is an MPI of unknown ABI (neither MPICH, Open MPI nor MPI-5)%s; set REACTANT_MPI_LIBMPI to another MPI",
		lib.Path(), quoteVersion(versionString(lib)))
}

func quoteVersion(v string) string {
	if v == "" {
		return ""
	}
	return "; it calls itself '" + v + "'"
}
