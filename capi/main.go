// Package main is the boundary: the only public C functions and the only Go exports. Every public function is defined in C (control.c,
// collectives.c); the few that need Go call one hidden export each (export.go), behind a guard (guard.go). Data calls never enter Go.
package main

//go:generate go run ../internal/gen

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -I${SRCDIR}/..
*/
import "C"

import _ "reactantmpi/ffi" // the XLA FFI handlers

func main() {}
