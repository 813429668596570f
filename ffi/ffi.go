// Package ffi holds the handlers that XLA calls from compiled programs, in C alone: it is here to be linked in.
package ffi

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -I${SRCDIR}/..
*/
import "C"

import (
	_ "reactantmpi/internal/cerr"
	_ "reactantmpi/internal/handle"
)
