package client

/*
#include <stdlib.h>
*/
import "C"

import (
	"strconv"
	"unsafe"
)

func number(n int) string { return strconv.Itoa(n) }

// count gives "no device", "1 device", "2 devices".
func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

func freeC(p *C.char) { C.free(unsafe.Pointer(p)) }

func cText(bytes C.size_t) *C.char { return (*C.char)(C.calloc(1, bytes)) }
