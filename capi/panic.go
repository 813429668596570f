//go:build rmpi_panic

package main

import "reactantmpi/mpi"

// For tests only: a library built with this tag panics inside initialize when the variable is set.
func init() {
	injectPanic = func() {
		if mpi.Getenv("REACTANT_MPI_TEST_PANIC") != "" {
			panic("injected by REACTANT_MPI_TEST_PANIC")
		}
	}
}
