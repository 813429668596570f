// Package cerr holds errors as the library reports them: a code of the public header and a text for people. The record of each
// thread and the log live in C (error.c, log.c), so that data calls can fail without entering Go.
package cerr

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -I${SRCDIR}/../..
#include <stdlib.h>
#include "error.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Code is a result code of the public header.
type Code int32

// The codes that Go raises; the header explains each.
const (
	Argument     Code = C.REACTANT_MPI_ERR_ARGUMENT
	Comm         Code = C.REACTANT_MPI_ERR_COMM
	State        Code = C.REACTANT_MPI_ERR_STATE
	Thread       Code = C.REACTANT_MPI_ERR_THREAD
	Option       Code = C.REACTANT_MPI_ERR_OPTION
	Poisoned     Code = C.REACTANT_MPI_ERR_POISONED
	Memory       Code = C.REACTANT_MPI_ERR_MEMORY
	Mismatch     Code = C.REACTANT_MPI_ERR_MISMATCH
	Timeout      Code = C.REACTANT_MPI_ERR_TIMEOUT
	Peer         Code = C.REACTANT_MPI_ERR_PEER
	NoMPI        Code = C.REACTANT_MPI_ERR_NO_MPI
	MPIABI       Code = C.REACTANT_MPI_ERR_MPI_ABI
	Launcher     Code = C.REACTANT_MPI_ERR_LAUNCHER
	MPIFinalized Code = C.REACTANT_MPI_ERR_MPI_FINALIZED
	MPI          Code = C.REACTANT_MPI_ERR_MPI
	Rank         Code = C.REACTANT_MPI_ERR_RANK
	Unsupported  Code = C.REACTANT_MPI_ERR_UNSUPPORTED
	NoNCCL       Code = C.REACTANT_MPI_ERR_NO_NCCL
	NoDevice     Code = C.REACTANT_MPI_ERR_NO_DEVICE
	FewDevices   Code = C.REACTANT_MPI_ERR_FEW_DEVICES
	SameDevice   Code = C.REACTANT_MPI_ERR_SAME_DEVICE
	NCCLVersions Code = C.REACTANT_MPI_ERR_NCCL_VERSIONS
	NCCLOld      Code = C.REACTANT_MPI_ERR_NCCL_OLD
	TwoNCCL      Code = C.REACTANT_MPI_ERR_TWO_NCCL
	Driver       Code = C.REACTANT_MPI_ERR_DRIVER
	Visible      Code = C.REACTANT_MPI_ERR_VISIBLE
	NCCL         Code = C.REACTANT_MPI_ERR_NCCL
	NoXLA        Code = C.REACTANT_MPI_ERR_NO_XLA
	XLA          Code = C.REACTANT_MPI_ERR_XLA
)

// String gives the code's name in the header, as "ERR_COMM".
func (c Code) String() string { return C.GoString(C.rmpi_error_name(C.int(c))) }

// Error is a code and what to tell people.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %v)", e.Text, e.Code) }

// New makes an Error with a formatted text.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Set writes the error into the record of the calling thread and returns the code for C.
func (e *Error) Set(function string) int32 {
	text := C.CString(function + ": " + e.Text)
	defer C.free(unsafe.Pointer(text))
	return int32(C.rmpi_fail_text(C.int(e.Code), text))
}

// Poison makes every later control call fail: what Go state is left after a panic is unknown.
func Poison() { C.rmpi_poison() }

// Level of a log line.
type Level int32

// The levels of REACTANT_MPI_LOG.
const (
	Warn  Level = C.REACTANT_MPI_LOG_WARN
	Info  Level = C.REACTANT_MPI_LOG_INFO
	Debug Level = C.REACTANT_MPI_LOG_DEBUG
	Fatal Level = C.REACTANT_MPI_LOG_ERROR
)

// Log writes a line to the host's callback or to standard error.
func Log(level Level, format string, args ...any) {
	if C.rmpi_log_enabled(C.int(level)) == 0 {
		return
	}
	text := C.CString(fmt.Sprintf(format, args...))
	defer C.free(unsafe.Pointer(text))
	C.rmpi_log_text(C.int(level), text)
}

// LogRank names the rank in the prefix of later lines.
func LogRank(rank int) { C.rmpi_log_rank(C.int(rank)) }

// LogTo sends later lines to a callback of the host (nil: standard error).
func LogTo(fn, arg unsafe.Pointer) { C.rmpi_log_to(C.reactant_mpi_log_fn(fn), arg) }
