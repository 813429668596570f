package mpi

/*
#include <stdlib.h>
#include "mpi/mpi.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// System is what the finder asks of the machine: more than other finders do.
type System interface {
	dl.System
	// OpenDeep is OpenLocal for a library that must find its own dependencies' symbols before those of the process.
	OpenDeep(path string) (dl.Library, error)
	// Defines tells whether a file, given with its folder, defines a symbol, without loading it.
	Defines(path, symbol string) bool
	// IsDir tells whether there is a folder.
	IsDir(path string) bool
}

// Wish is what the caller asked for: a library (path or name) and folders to search, both may be empty.
type Wish struct {
	Library string
	Dirs    string
}

// Found is a library that can be bound.
type Found struct {
	Lib    dl.Library
	Family Family
	How    string     // for people: "already in the process", "launcher's prefix /x" ...
	Behind dl.Library // the MPI that a layer passes its calls on to, where it is known
}

// What the finder asks of a library before it is bound; variables so that made-up libraries can be tested.
var (
	// versionString is the first line, and the next where it only says what follows (MPIwrapper).
	versionString = func(lib dl.Library) string {
		f := lib.Symbol(prefix(lib) + "Get_library_version")
		if f == nil {
			return ""
		}
		text := (*C.char)(C.calloc(1, C.RMPI_STRING_BYTES))
		defer C.free(unsafe.Pointer(text))
		C.rmpi_version_text(f, text)
		line, rest, _ := strings.Cut(C.GoString(text), "\n")
		if strings.HasSuffix(line, "wrapping:") {
			next, _, _ := strings.Cut(rest, "\n")
			line += " " + next
		}
		return strings.Join(strings.Fields(line), " ")
	}
	isInitialized = func(lib dl.Library) bool {
		f := lib.Symbol(prefix(lib) + "Initialized")
		return f != nil && C.rmpi_flag(f) != 0
	}
)

// finder collects what was tried, so that a failure can tell all of it.
type finder struct {
	sys   System
	tried []string
}

func (f *finder) note(format string, args ...any) {
	f.tried = append(f.tried, fmt.Sprintf(format, args...))
}

// Find chooses the MPI of this process: one that is already in it (an initialised one before all, since the host's handles are
// its), the one asked for, then hints, the launcher's own, the folders asked for, and default names.
func Find(sys System, wish Wish) (*Found, *cerr.Error) {
	f := &finder{sys: sys}
	inside, err := f.inProcess(wish)
	if err != nil || inside != nil {
		return inside, err
	}
	if wish.Library != "" {
		return f.open(wish.Library, "asked for")
	}
	if path := sys.Getenv("MPI4PY_LIBMPI"); path != "" {
		if found, err := f.open(path, "MPI4PY_LIBMPI"); err == nil {
			return found, nil
		}
	}
	launcher := LauncherFamily(sys.Getenv)
	// What we name to jaxlib there has no MPI but this library behind it.
	if path := sys.Getenv("MPITRAMPOLINE_LIB"); path != "" && !sys.Defines(path, "reactant_mpi_wrapper_version") {
		if found := f.try(path, "MPITRAMPOLINE_LIB", launcher, launcher != ""); found != nil {
			return found, nil
		}
	}
	// The launcher's family first; a library of another family only if there is none, and then to say what is wrong.
	for _, strict := range []bool{true, false} {
		for _, place := range places(sys, wish.Dirs) {
			for _, name := range fileNames {
				path := filepath.Join(place.dir, name)
				if !sys.Exists(path) {
					continue
				}
				if found := f.try(path, place.how, launcher, strict); found != nil {
					return found, nil
				}
			}
		}
		for _, name := range fileNames {
			if found := f.try(name, "default name", launcher, strict); found != nil {
				return found, nil
			}
		}
		if launcher == "" {
			break
		}
	}
	return nil, cerr.New(cerr.NoMPI, "no MPI library found; set REACTANT_MPI_LIBMPI to the full path of one (libmpi.so.12, libmpi.so.40, "+
		"libmpi_abi.so.1), or start under its mpiexec. Tried: %s", f.summary())
}

// inProcess looks at the libraries that are loaded. An MPI is an image that owns MPI_Init and PMPI_Init (a profiling tool owns only the
// first; Mukautuva has no second).
func (f *finder) inProcess(wish Wish) (*Found, *cerr.Error) {
	var all []*Found
	asked := func(c *Found) bool {
		return wish.Library != "" && f.sys.RealPath(c.Lib.Path()) == f.sys.RealPath(wish.Library)
	}
	for _, path := range append([]string{""}, f.sys.Loaded()...) {
		lib, err := f.sys.Reopen(path)
		if err != nil {
			continue
		}
		if !lib.Owns("MPI_Init") || !lib.Owns("PMPI_Init") && !lib.Owns("whose_mpi") {
			lib.Close()
			continue
		}
		family, no := Identify(lib)
		switch {
		case no == nil:
			all = append(all, &Found{Lib: lib, Family: family, How: "already in the process"})
		case isIdle(lib) || wish.Library != "":
			f.note("in the process: %s", no.Text)
		default:
			return nil, no
		}
	}
	initialised := func(set []*Found) (out []*Found) {
		for _, c := range set {
			if isInitialized(c.Lib) {
				out = append(out, c)
			}
		}
		return out
	}
	for _, set := range [][]*Found{initialised(all), all} {
		for _, c := range set {
			if asked(c) {
				return c, f.prepare(c)
			}
		}
	}
	all = f.withoutBacked(all)
	running := initialised(all)
	switch {
	case len(running) == 1:
		if wish.Library != "" {
			cerr.Log(cerr.Warn, "%s is initialised in this process and is used; %s was asked for", running[0].Lib.Path(), wish.Library)
		}
		return running[0], nil
	case wish.Library != "":
		return nil, nil
	case len(all) == 1:
		return all[0], f.prepare(all[0])
	case len(all) > 1:
		return nil, cerr.New(cerr.NoMPI, "several MPI libraries are in this process and %s: %s; set REACTANT_MPI_LIBMPI to the one to use",
			map[bool]string{true: "more than one is initialised", false: "none is initialised"}[len(running) > 1], paths(all))
	}
	return nil, nil
}

// withoutBacked leaves out the libraries that are only there because a layer passes its calls on to them: the host's handles are the layer's.
func (f *finder) withoutBacked(all []*Found) (out []*Found) {
	for _, native := range all {
		backed := false
		for _, layer := range all {
			if f.standsOn(layer, native) {
				layer.Behind, backed = native.Lib, true
			}
		}
		if !backed {
			out = append(out, native)
		}
	}
	return out
}

func paths(found []*Found) string {
	var out []string
	for _, c := range found {
		out = append(out, c.Lib.Path())
	}
	return strings.Join(out, ", ")
}

// open takes a library that somebody named: every failure counts.
func (f *finder) open(path, how string) (*Found, *cerr.Error) {
	found, err := f.look(path, how)
	if err == nil {
		f.keep(found)
	}
	return found, err
}

// look loads a library with its symbols kept to itself, and identifies it.
func (f *finder) look(path, how string) (*Found, *cerr.Error) {
	path, no := f.admit(path)
	if no != nil {
		f.note("%s: %s", how, no.Text)
		return nil, no
	}
	// UCX must leave the synchronous signals alone, or a fault in Go code becomes its crash dump instead of a report.
	f.sys.SetDefault("UCX_ERROR_SIGNALS", "SIGILL")
	load := f.sys.OpenLocal
	if f.sys.Defines(path, "mpiwrapper_version_major") {
		load = f.sys.OpenDeep // as MPItrampoline does: its MPI_* must be those of the MPI that it wraps, whatever else is in the process
	}
	lib, err := load(path)
	if err != nil {
		f.note("%s: %s", how, err)
		return nil, cerr.New(cerr.NoMPI, "cannot load the MPI library %s (%s): %s", path, how, err)
	}
	found := &Found{Lib: lib, How: how}
	if found.Family, no = Identify(lib); no == nil {
		no = f.prepare(found)
	}
	if no != nil {
		f.note("%s: %s", how, no.Text)
		return nil, no
	}
	return found, nil
}

// prepare does what a library needs before it can be initialised.
func (f *finder) prepare(found *Found) *cerr.Error {
	switch {
	case isInitialized(found.Lib):
		return nil
	case found.Family == Mukautuva:
		return f.prepareMukautuva(found)
	case found.Lib.Owns("I_MPI_Check_image_status"):
		f.prepareIntel(found.Lib.Path())
	case strings.HasPrefix(versionString(found.Lib), "CRAY MPICH"):
		return f.checkCray(found)
	}
	return nil
}

// keep makes the symbols of the chosen library global: plugins of older Open MPIs need them. What was looked at and not chosen stays local, and
// so do layers: the MPI behind one would find the layer's functions instead of its own.
func (f *finder) keep(found *Found) {
	if !isLayer(found) {
		_, _ = f.sys.Open(found.Lib.Path())
	}
}

// try takes a library that was merely found; strict: only if it fits the launcher.
func (f *finder) try(path, how string, launcher Launcher, strict bool) *Found {
	if strict && !launcher.mayFit(path) {
		return nil
	}
	found, err := f.look(path, how)
	if err != nil || strict && !launcher.fits(found) {
		return nil
	}
	f.keep(found)
	return found
}

func (f *finder) summary() string {
	if len(f.tried) == 0 {
		return "nothing"
	}
	// Bare default names that the loader does not know say little, and come last.
	const most = 12
	if len(f.tried) > most {
		return strings.Join(f.tried[:most], "; ") + fmt.Sprintf("; and %d more", len(f.tried)-most)
	}
	return strings.Join(f.tried, "; ")
}
