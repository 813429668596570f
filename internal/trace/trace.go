// Package trace holds the trace of the option of that name (C, trace.h) and what Go needs of it.
package trace

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -I${SRCDIR}/../..
#include <stdlib.h>
#include "trace.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"reactantmpi/internal/cerr"

	// The C files here use its arenas.
	_ "reactantmpi/internal/handle"
)

// Open makes the file of this process, a rank of the world. Only the first success counts.
func Open(dir string, rank, size int, host, mpi string) *cerr.Error {
	texts := []*C.char{C.CString(dir), C.CString(host), C.CString(mpi)}
	defer func() {
		for _, t := range texts {
			C.free(unsafe.Pointer(t))
		}
	}()
	if errno := C.rmpi_trace_open(texts[0], C.int(rank), C.int(size), texts[1], texts[2]); errno != 0 {
		return cerr.New(cerr.Option, "trace = %s: the file rank-%d.json cannot be written there: %s; name a folder that this rank can write to", dir, rank, syscall.Errno(errno))
	}
	return nil
}

// Comm notes which ranks of the world a new communicator has.
func Comm(id int, members []int) {
	text := C.CString(ranges(members))
	defer C.free(unsafe.Pointer(text))
	C.rmpi_trace_comm(C.int(id), text)
}

// Clock notes how far the clock of a reference, a rank of the world, is ahead of ours.
func Clock(reference int, offset, roundTrip int64) {
	C.rmpi_trace_clock(C.int(reference), C.int64_t(offset), C.int64_t(roundTrip))
}

// Now is the clock of the trace, in nanoseconds.
func Now() int64 { return int64(C.rmpi_trace_now()) }

// Flush writes what is buffered.
func Flush() { C.rmpi_trace_flush() }

// ranges writes runs of ranks as "0-3,7".
func ranges(ranks []int) string {
	var out []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if j == i {
			out = append(out, fmt.Sprint(ranks[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
