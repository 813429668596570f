// Package dl loads libraries and looks at the process they are loaded into. System is the interface that the finder of an MPI is
// written against, so that its decisions can be tested with a made-up machine; Host is the real one.
package dl

/*
#cgo LDFLAGS: -ldl
#cgo CFLAGS: -O2 -Wall
#include <stdlib.h>
#include "host.h"
*/
import "C"

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"
)

// Library is a loaded library.
type Library interface {
	// Symbol is the address that a look-up in the library and its dependencies gives; nil if there is none.
	Symbol(name string) unsafe.Pointer
	// Owns tells whether the library itself, not a dependency, defines the symbol.
	Owns(name string) bool
	// Path is the file that the loader opened.
	Path() string
	// Close gives the library back; for those that were only looked at.
	Close()
}

// System is what a finder may ask of the machine.
type System interface {
	// Getenv reads the C environment as it is now ("" if unset): Go's own copy is a snapshot of load time.
	Getenv(name string) string
	// Exists tells whether a file can be read.
	Exists(path string) bool
	// RealPath resolves links; the path itself if it cannot.
	RealPath(path string) string
	// Loaded lists the files of the libraries in the process.
	Loaded() []string
	// SetDefault sets a variable of the C environment unless it is set.
	SetDefault(name, value string)
	// Reopen gives a library that is already in the process, as it is; "" is the main program.
	Reopen(path string) (Library, error)
	// Open loads a library for good, with its symbols global.
	Open(path string) (Library, error)
	// OpenLocal loads a library for good and keeps its symbols to itself.
	OpenLocal(path string) (Library, error)
	// Ancestors are the executables of the parent, its parent, and so on, as far as they can be read.
	Ancestors() []string
}

// Host is the real system.
type Host struct{}

type library struct {
	handle unsafe.Pointer
	path   string
}

func (l library) Path() string { return l.path }

func (l library) Symbol(name string) unsafe.Pointer {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return C.rmpi_dl_symbol(l.handle, s)
}

func (l library) Close() { C.rmpi_dl_close(l.handle) }

func (l library) Owns(name string) bool {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return C.rmpi_dl_owns(l.handle, s) != 0
}

// openError is dlerror's text.
type openError string

func (e openError) Error() string { return string(e) }

func open(path string, how C.int) (Library, error) {
	s := C.CString(path)
	defer C.free(unsafe.Pointer(s))
	text := (*C.char)(C.calloc(1, C.RMPI_DL_TEXT))
	defer C.free(unsafe.Pointer(text))
	file := (*C.char)(C.calloc(1, C.RMPI_DL_TEXT))
	defer C.free(unsafe.Pointer(file))
	h := C.rmpi_dl_open(s, how, file, text)
	if h == nil {
		return nil, openError(C.GoString(text))
	}
	return library{h, C.GoString(file)}, nil
}

// Open loads with RTLD_NOW, RTLD_GLOBAL (older Open MPI plugins need it) and RTLD_NODELETE (unloading an MPI crashes).
func (Host) Open(path string) (Library, error) { return openWhole(path, C.RMPI_DL_GLOBAL) }

// OpenLocal loads with RTLD_NOW, RTLD_LOCAL and RTLD_NODELETE: who comes later must not find these symbols by accident.
func (Host) OpenLocal(path string) (Library, error) { return openWhole(path, C.RMPI_DL_LOCAL) }

// OpenDeep adds RTLD_DEEPBIND to OpenLocal: the library finds its own dependencies' symbols before those of the process.
func (Host) OpenDeep(path string) (Library, error) { return openWhole(path, C.RMPI_DL_DEEP) }

func openWhole(path string, how C.int) (Library, error) {
	if strings.ContainsRune(path, '/') {
		if err := whole(path); err != nil {
			return nil, err
		}
	}
	return open(path, how)
}

// Reopen changes nothing about the library but its reference count.
func (Host) Reopen(path string) (Library, error) { return open(path, C.RMPI_DL_REOPEN) }

// Loaded lists the files of the process.
func (Host) Loaded() []string {
	n := C.size_t(0)
	names := C.rmpi_dl_loaded(&n)
	defer C.free(unsafe.Pointer(names))
	var out []string
	for _, name := range strings.Split(string(unsafe.Slice((*byte)(unsafe.Pointer(names)), int(n))), "\x00") {
		if name != "" {
			out = append(out, strings.Clone(name))
		}
	}
	return out
}

// Getenv reads C's environment.
func (h Host) Getenv(name string) string {
	value, _ := h.Lookup(name)
	return value
}

// Lookup tells an empty variable from none.
func (Host) Lookup(name string) (value string, ok bool) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	v := C.getenv(s)
	return C.GoString(v), v != nil
}

// SetDefault changes C's environment.
func (Host) SetDefault(name, value string) {
	n, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(v))
	C.setenv(n, v, 0)
}

// Exists looks at the file system.
func (Host) Exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// IsDir looks at the file system.
func (Host) IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// RealPath follows links.
func (Host) RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Ancestors walks /proc upwards; where a container hides it the list ends early.
func (Host) Ancestors() []string {
	var out []string
	for pid := os.Getppid(); pid > 1 && len(out) < 16; {
		proc := "/proc/" + strconv.Itoa(pid)
		if exe, err := os.Readlink(proc + "/exe"); err == nil {
			out = append(out, exe)
		}
		stat, err := os.ReadFile(proc + "/stat")
		if err != nil {
			break
		}
		// pid (name) state ppid ...; the name may hold blanks and brackets.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	return out
}
