// Package company holds where the ranks of a communicator are (C, company.h), and makes it for Go.
package company

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../..
#include <stdlib.h>
#include "company.h"
*/
import "C"

import "unsafe"

// Company of a communicator.
type Company struct{ c *C.struct_rmpi_company }

// New knows the ranks by their hosts, and no more yet; false without memory.
func New(rank int, hosts []string) (Company, bool) {
	c := C.rmpi_company_new(C.int(rank), C.int(len(hosts)))
	if c == nil {
		return Company{}, false
	}
	for r, host := range hosts {
		text := C.CString(host)
		C.rmpi_company_host(c, C.int(r), text)
		C.free(unsafe.Pointer(text))
	}
	return Company{c}, true
}

// Pointer for the communicator's slot.
func (c Company) Pointer() unsafe.Pointer { return unsafe.Pointer(c.c) }

// Free it, when no call can look any more.
func (c Company) Free() { C.rmpi_company_free(c.c) }

// Broken tells whether another rank of this node has given up a call, or its process has ended.
func (c Company) Broken() bool { return C.rmpi_company_broken(c.c) != 0 }

// Make the board of a node in shared memory; false where that cannot be.
func Make(nonce uint64, slots int) bool {
	return C.rmpi_board_make(C.uint64_t(nonce), C.int(slots)) != 0
}

// Remove its name, once everybody has it open.
func Remove(nonce uint64) { C.rmpi_board_remove(C.uint64_t(nonce)) }

// Open the board and sign the own slot; false where it is out of reach.
func (c Company) Open(nonce uint64, slots, own int) bool {
	return C.rmpi_company_open(c.c, C.uint64_t(nonce), C.int(slots), C.int(own)) != 0
}

// OnBoard tells that a rank has it open too.
func (c Company) OnBoard(rank, slot int) { C.rmpi_company_on_board(c.c, C.int(rank), C.int(slot)) }
