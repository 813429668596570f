// Package mpi finds an MPI library at run time, tells which binary interface (ABI) it has, and binds it: one typed C table per ABI
// family (abi_*.c), filled from the rows in functions.inc and constants.inc. It is compiled against no MPI.
package mpi

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -I${SRCDIR}/..
#include "mpi/mpi.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// Family is a binary interface of MPI.
type Family int

// The families that are served.
const (
	MPICH   Family = C.RMPI_MPICH_ABI
	OpenMPI Family = C.RMPI_OPEN_MPI_ABI
	MPI5    Family = C.RMPI_MPI5_ABI
)

func (f Family) String() string {
	return [...]string{"MPICH ABI", "Open MPI ABI", "MPI-5 standard ABI"}[f]
}

// A refusal recognises a library that is not served, by symbols or by file name, and says what to do.
type refusal struct {
	name    string
	symbols []string // one of these is there
	files   []string // or the file is called so
	passive bool     // may lie in a process unused, as a part of another library (jaxlib holds an MPItrampoline)
	advice  string
}

// What is recognised and not served. The file names are looked at before loading: MPItrampoline exits the process in its constructor
// when its own variable names no usable library.
var refusals = []refusal{
	{"MPItrampoline", []string{"mpitrampoline_version_major"}, []string{"libmpitrampoline"}, true,
		"set REACTANT_MPI_LIBMPI to the MPI library that your MPIwrapper was built on"},
	{"MPIwrapper", []string{"mpiwrapper_version_major"}, []string{"libmpiwrapper"}, true,
		"set REACTANT_MPI_LIBMPI to the MPI library that it wraps"},
	{"Mukautuva", []string{"WRAP_CODE_IMPL_TO_MUK", "whose_mpi"}, []string{"libmuk"}, false,
		"its constants are those of a prototype, not of MPI-5: set REACTANT_MPI_LIBMPI to the library named in MPI_LIB's place"},
	{"WI4MPI", []string{"wi4mpi_set_timeout", "wi4mpi_alloc"}, []string{"libwi4mpi"}, false,
		"start without WI4MPI: this library finds and translates by itself; set REACTANT_MPI_LIBMPI to the MPI you run on"},
	{"HPE MPT", []string{"mpi_sgi_inplace"}, nil, false,
		"load another MPI of the site (cray-mpich-abi, Intel MPI, Open MPI) and its launcher"},
}

func (r refusal) error(path string) *cerr.Error {
	return cerr.New(cerr.MPIABI, "%s is %s, which this version does not serve; %s", path, r.name, r.advice)
}

// RefuseByName refuses a file that must not even be loaded.
func RefuseByName(sys dl.System, path string) *cerr.Error {
	for _, p := range []string{path, sys.RealPath(path)} {
		base := p[strings.LastIndexByte(p, '/')+1:]
		for _, r := range refusals {
			for _, f := range r.files {
				if strings.HasPrefix(base, f) {
					return r.error(path)
				}
			}
		}
	}
	return nil
}

// isPassive tells whether a refused library may be in the process without being used.
func isPassive(lib dl.Library) bool {
	for _, r := range refusals {
		for _, s := range r.symbols {
			if r.passive && lib.Owns(s) {
				return true
			}
		}
	}
	return false
}

// abiVersion calls MPI_Abi_get_version; a variable so that tables of made-up libraries can be tested.
var abiVersion = func(f unsafe.Pointer) (major, minor int) {
	var a, b C.int
	C.rmpi_abi_version(f, &a, &b)
	return int(a), int(b)
}

// Identify tells the family of a loaded library by its symbols; the order matters. The version string names the implementation,
// never the ABI, and is not used.
func Identify(lib dl.Library) (Family, *cerr.Error) {
	has := func(name string) bool { return lib.Symbol(name) != nil }
	for _, r := range refusals {
		for _, s := range r.symbols {
			if has(s) {
				return 0, r.error(lib.Path())
			}
		}
	}
	// The natives of MPICH 5 and Open MPI 6 have the function too, and answer -1.
	if f := lib.Symbol("MPI_Abi_get_version"); f != nil {
		if major, _ := abiVersion(f); major >= 1 {
			return MPI5, nil
		}
	}
	base := lib.Path()[strings.LastIndexByte(lib.Path(), '/')+1:]
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
