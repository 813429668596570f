// Package kernels holds the reductions of 16-bit floats (C, half.h), for MPIs that have no such types. Importing it compiles them
// into the library; Go itself calls none of them. The go command takes files named _amd64 and _arm64 on that processor only.
package kernels

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -I${SRCDIR}/../..
#include "half.h"
*/
import "C"

// Chosen names the instructions that the kernels use on this machine.
func Chosen() string { return C.GoString(C.rmpi_half_kernels()) }
