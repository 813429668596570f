package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"reactantmpi/internal/cerr"
)

// settle keeps the Go runtime small in a process that is not ours: two threads' worth of Go at most, no periodic garbage collection.
// Done at the first control call and not in an init function, which would run under the loader's lock.
var settle = sync.OnceFunc(func() {
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
})

// guard is deferred by every export, itself and not from a function literal, since recover works in the deferred function only: it turns an error into the thread's record, and a panic, which would abort the host, into code 21 for this
// call and every later control call.
func guard(function string, err **cerr.Error, code *int32) {
	if p := recover(); p != nil {
		cerr.Poison()
		cerr.Log(cerr.Fatal, "%s: internal failure: %v\n%s", function, p, debug.Stack())
		*err = cerr.New(cerr.Poisoned, "internal failure (%s); the control functions are unusable from now on. Please report it with the "+
			"trace on standard error", fmt.Sprint(p))
	}
	*code = 0
	if *err != nil {
		*code = (*err).Set(function)
	}
}
