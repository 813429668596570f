package mpi

/*
#include <stdlib.h>
#include "mpi/mpi.h"
*/
import "C"

import (
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
		m.function[i] = lib.Symbol(name)
		if m.function[i] == nil && row.needed != 0 {
			C.free(unsafe.Pointer(m))
			return nil, cerr.New(cerr.MPIABI, "%s (%s) has no %s: an MPI of version 3.0 or later is needed; set REACTANT_MPI_LIBMPI to another one",
				path, found.Family, name)
		}
	}
	words := func(rows *C.struct_rmpi_constant_row, n int, out []C.uint64_t) *cerr.Error {
		for i, row := range unsafe.Slice(rows, n) {
			out[i] = row.value[found.Family]
			if found.Family != OpenMPI || row.symbol == nil {
				continue
			}
			name := C.GoString(row.symbol)
			address := lib.Symbol(name)
			if address == nil {
				return cerr.New(cerr.MPIABI, "%s (%s) has no %s; set REACTANT_MPI_LIBMPI to another MPI", path, found.Family, name)
			}
			out[i] = C.uint64_t(uintptr(address))
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
	m.family = uint32(found.Family)
	m.path = C.CString(path)
	m.name = C.CString(versionString(lib))
	switch found.Family {
	case MPICH:
		m.run, m.start, m.control = &C.rmpi_run_mpich[0], &C.rmpi_start_mpich[0], &C.rmpi_control_mpich
	case OpenMPI:
		m.run, m.start, m.control = &C.rmpi_run_ompi[0], &C.rmpi_start_ompi[0], &C.rmpi_control_ompi
	case MPI5:
		m.run, m.start, m.control = &C.rmpi_run_mpi5[0], &C.rmpi_start_mpi5[0], &C.rmpi_control_mpi5
	}
	return m, nil
}

// Library is a bound MPI.
type Library struct {
	c       *C.struct_rmpi_mpi
	Path    string
	Version string
	Family  Family
	How     string
	// world is the address of Open MPI's world communicator, in Open MPI and what is built on it: there the handles of communicators are
	// addresses, and the same word stands first at each of them once MPI is initialised. nil elsewhere.
	world unsafe.Pointer
	hush  hush
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
	l := &Library{c: c, Path: found.Lib.Path(), Version: versionString(found.Lib), Family: found.Family, How: found.How, hush: hush{on: map[uint64]*hushed{}},
		world: found.Lib.Symbol("ompi_mpi_comm_world")}
	return l, nil
}

// Pointer is the C table, for handles.
func (l *Library) Pointer() unsafe.Pointer { return unsafe.Pointer(l.c) }

// Run is the table of data calls.
func (l *Library) Run() unsafe.Pointer { return unsafe.Pointer(l.c.run) }
