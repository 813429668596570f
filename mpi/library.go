package mpi

/*
#include <stdlib.h>
#include "mpi/mpi.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
)

// bind fills the C tables of a found library. It lives for ever: handles in compiled code point to it.
func bind(found *Found) (*C.struct_rmpi_mpi, *cerr.Error) {
	m := (*C.struct_rmpi_mpi)(C.calloc(1, C.sizeof_struct_rmpi_mpi))
	lib, path := found.Lib, found.Lib.Path()

	functions := unsafe.Slice(&C.rmpi_function_rows[0], C.RMPI_FUNCTIONS)
	for i, row := range functions {
		name := C.GoString(row.name)
		if row.needed == 0 && !found.offers(name) {
			continue
		}
		if standard, ok := strings.CutPrefix(name, "MPI_"); ok {
			name = prefix(lib) + standard
		}
		m.function[i] = lib.Symbol(name)
		if m.function[i] == nil && row.needed != 0 {
			C.free(unsafe.Pointer(m))
			return nil, cerr.New(cerr.MPIABI, "%s (%s) has no %s: an MPI of version 3.0 or later is needed; set REACTANT_MPI_LIBMPI to another one",
				path, found.Family, name)
		}
	}
	words := func(rows *C.struct_rmpi_constant_row, n int, out []C.uint64_t) *cerr.Error {
		for i, row := range unsafe.Slice(rows, n) {
			var symbol string
			switch {
			case found.Family == OpenMPI && row.symbol != nil:
				symbol = C.GoString(row.symbol)
			case found.Family == MPIABI && row.bytes != 0:
				symbol = prefix(lib) + C.GoString(row.name)
			default:
				out[i] = row.value[found.Family]
				continue
			}
			address := lib.Symbol(symbol)
			switch {
			case address == nil:
				return cerr.New(cerr.MPIABI, "%s (%s) has no %s; set REACTANT_MPI_LIBMPI to another MPI", path, found.Family, symbol)
			case found.Family == OpenMPI:
				out[i] = C.uint64_t(uintptr(address))
			case row.bytes == 4:
				out[i] = C.uint64_t(*(*int32)(address))
			default:
				out[i] = *(*C.uint64_t)(address)
			}
		}
		return nil
	}
	for _, err := range []*cerr.Error{
		words(&C.rmpi_type_rows[0], C.RMPI_TYPES, m._type[:]),
		words(&C.rmpi_op_rows[0], C.RMPI_OPS, m.op[0][:]),
		words(&C.rmpi_constant_rows[0], C.RMPI_CONSTANTS, m.constant[:]),
	} {
		if err != nil {
			C.free(unsafe.Pointer(m))
			return nil, err
		}
	}
	for t := range m.op {
		m.op[t] = m.op[0]
	}
	if found.Family == WI4MPI || translates(lib) {
		C.rmpi_mend_wi4mpi(m)
	}
	m.family = uint32(found.Family)
	m.path = C.CString(path)
	m.name = C.CString(found.implementation())
	if strings.HasPrefix(found.implementation(), "Open MPI") {
		m.parts_allreduce = 1
	}
	switch found.Family {
	case MPICH:
		m.run, m.start, m.control = &C.rmpi_run_mpich[0], &C.rmpi_start_mpich[0], &C.rmpi_control_mpich
	case OpenMPI, WI4MPI: // the same status, and handles of one word
		m.run, m.start, m.control = &C.rmpi_run_ompi[0], &C.rmpi_start_ompi[0], &C.rmpi_control_ompi
	case MPI5, Mukautuva: // the same
		m.run, m.start, m.control = &C.rmpi_run_mpi5[0], &C.rmpi_start_mpi5[0], &C.rmpi_control_mpi5
	case MPIABI:
		m.run, m.start, m.control = &C.rmpi_run_mpiabi[0], &C.rmpi_start_mpiabi[0], &C.rmpi_control_mpiabi
	}
	return m, nil
}

// offers tells whether an optional function that can be found may be called. What is outside the standard is the business of the MPI behind a
// layer, with its handles. Mukautuva exports all of MPI 4 and calls a null pointer where the MPI behind it has none; of MPI 3.1, every MPI
// has all.
func (found *Found) offers(name string) bool {
	switch {
	case strings.HasPrefix(name, "MPIX_"):
		return !isLayer(found)
	case found.Family == Mukautuva:
		return name == "MPI_Get_elements_x"
	}
	return true
}

// Library is a bound MPI.
type Library struct {
	c       *C.struct_rmpi_mpi
	Path    string
	Version string
	Family  Family
	How     string
	// implementation is the version of the MPI behind any layers.
	implementation string
	handles        handles
	hush           hush
	// Repaired operations: those that the library gets wrong and that are ours now.
	Repaired int
	// ownHandler: ERRORS_RETURN is a handler of ours.
	ownHandler bool
}

// Bind makes a found library usable. MPI is not touched beyond its version functions.
func Bind(found *Found) (*Library, *cerr.Error) {
	c, err := bind(found)
	if err != nil {
		return nil, err
	}
	l := &Library{c: c, Path: found.Lib.Path(), Version: versionString(found.Lib), Family: found.Family, How: found.How,
		implementation: found.implementation(), hush: hush{on: map[uint64]*hushed{}}}
	if found.Family == Mukautuva {
		l.Version = "Mukautuva over " + l.implementation // itself it says nothing before MPI_Init
	}
	l.handles = l.handlesOf(found)
	return l, nil
}

// Pointer is the C table, for handles.
func (l *Library) Pointer() unsafe.Pointer { return unsafe.Pointer(l.c) }

// Run is the table of data calls.
func (l *Library) Run() unsafe.Pointer { return unsafe.Pointer(l.c.run) }
