package client

/*
#include "client/guard.h"
*/
import "C"

import "reactantmpi/internal/dl"

// hooksOf finds what a library offers for its failures to be caught. set_terminate is looked up through the library, so that it is
// that of the C++ library it uses.
func hooksOf(lib dl.Library) C.struct_rmpi_xla_hooks {
	return C.struct_rmpi_xla_hooks{
		set_terminate:  lib.Symbol("_ZSt13set_terminatePFvvE"),
		exception_type: lib.Symbol("__cxa_current_exception_type"),
		demangle:       lib.Symbol("__cxa_demangle"),
	}
}

// endText tells how a guarded call ended; "" if it returned.
func endText(end C.enum_rmpi_xla_end, function, text string) string {
	switch end {
	case C.RMPI_XLA_THREW:
		return function + " failed: " + text
	case C.RMPI_XLA_EXCEPTION:
		return function + " ended by a C++ exception that nobody caught (" + text + "); standard error may have more, and XLA in this " +
			"process should not be used any more"
	case C.RMPI_XLA_LEFT:
		return function + " ended the thread that called it"
	case C.RMPI_XLA_NO_THREAD:
		return "no thread could be made to call " + function + ": " + text
	}
	return ""
}
