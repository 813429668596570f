package mpi

/*
#include <stdlib.h>
#include "internal/handle/handle.h"
#include "mpi/shims.h"

// MPI ends under live communicators: their calls must give code 43 instead of reaching a dead MPI.
static int do_watch_end(struct rmpi_mpi *m) { return m->control->watch_end(m, rmpi_mpi_ends); }
*/
import "C"

import (
	"bytes"
	"strings"
	"sync"
	"unsafe"

	"reactantmpi/internal/cerr"

	// The C files here use its arenas.
	_ "reactantmpi/internal/handle"
	_ "reactantmpi/node/kernels"
)

// Thread levels of MPI, as the public header numbers them.
const (
	Single = iota
	Funneled
	Serialized
	Multiple
)

// ThreadNames are the words for them.
var ThreadNames = [...]string{"single", "funneled", "serialized", "multiple"}

var threadConstants = [...]int{C.RMPI_K_THREAD_SINGLE, C.RMPI_K_THREAD_FUNNELED, C.RMPI_K_THREAD_SERIALIZED, C.RMPI_K_THREAD_MULTIPLE}

func (l *Library) threadLevel(value C.int) int {
	level := Single
	for i, k := range threadConstants {
		if value >= C.int(l.c.constant[k]) {
			level = i
		}
	}
	return level
}

// Error makes an error of a failed MPI call.
func (l *Library) Error(function string, rc C.int) *cerr.Error {
	return cerr.New(cerr.MPI, "%s failed: %s (MPI error %d); library %s", function, l.ErrorText(int(rc)), int(rc), l.Path)
}

// ErrorText is MPI's text of a code.
func (l *Library) ErrorText(rc int) string {
	text := (*C.char)(C.calloc(1, C.RMPI_STRING_BYTES))
	defer C.free(unsafe.Pointer(text))
	C.rmpi_mpi_error_text(l.c, C.int(rc), text)
	return C.GoString(text)
}

// Initialized tells whether somebody has called MPI_Init.
func (l *Library) Initialized() bool {
	var flag C.int
	C.do_initialized(l.c, &flag)
	return flag != 0
}

// Finalized tells whether MPI has ended.
func (l *Library) Finalized() bool {
	var flag C.int
	C.do_finalized(l.c, &flag)
	return flag != 0
}

// Init initialises MPI and makes errors on the predefined communicators return: they are ours then.
func (l *Library) Init(level int) *cerr.Error {
	var got C.int
	if rc := C.do_init_thread(l.c, C.int(l.c.constant[threadConstants[level]]), &got); rc != 0 {
		return l.Error("MPI_Init_thread", rc)
	}
	if err := l.MakeErrorsReturn(); err != nil {
		return err
	}
	for _, comm := range l.predefined() {
		if rc := C.do_errors_return(l.c, C.uint64_t(comm)); rc != 0 {
			return l.Error("MPI_Comm_set_errhandler", rc)
		}
	}
	return nil
}

// MakeErrorsReturn replaces ERRORS_RETURN where the library's value of it ends the job: the MPI-5 library of Intel MPI 2021.18 has
// ERRORS_RETURN and ERRORS_ABORT in the order of the prototype before the standard. A handler that does nothing is the same everywhere.
func (l *Library) MakeErrorsReturn() *cerr.Error {
	if l.Family != MPI5 || !strings.HasPrefix(l.Version, "Intel") || l.ownHandler {
		return nil
	}
	var handler C.uint64_t
	if rc := C.do_make_errors_return(l.c, &handler); rc != 0 {
		return l.Error("MPI_Comm_create_errhandler", rc)
	}
	l.c.constant[C.RMPI_K_ERRORS_RETURN], l.ownHandler = handler, true
	return nil
}

// ThreadLevel is what MPI granted.
func (l *Library) ThreadLevel() int {
	var got C.int
	C.do_query_thread(l.c, &got)
	return l.threadLevel(got)
}

// IsMainThread tells whether the calling thread initialised MPI.
func (l *Library) IsMainThread() bool {
	var flag C.int
	C.do_is_thread_main(l.c, &flag)
	return flag != 0
}

// WatchEnd makes every live communicator answer 43 from MPI_Finalize on, whoever calls it.
func (l *Library) WatchEnd() *cerr.Error {
	if rc := C.do_watch_end(l.c); rc != 0 {
		return l.Error("MPI_Comm_set_attr", rc)
	}
	return nil
}

// Finalize ends MPI.
func (l *Library) Finalize() *cerr.Error {
	if rc := C.do_finalize(l.c); rc != 0 {
		return l.Error("MPI_Finalize", rc)
	}
	return nil
}

// Abort ends the job.
func (l *Library) Abort(code int) *cerr.Error {
	return l.Error("MPI_Abort", C.do_abort(l.c, C.uint64_t(l.World()), C.int(code)))
}

// Verify checks what can be checked of a bound library once MPI is initialised: the standard's version and the size of every type,
// which shows a table of the wrong ABI.
func (l *Library) Verify() *cerr.Error {
	var major, minor C.int
	if C.do_version(l.c, &major, &minor) != 0 || major < 3 {
		return cerr.New(cerr.MPIABI, "%s implements MPI %d.%d; 3.0 or later is needed", l.Path, int(major), int(minor))
	}
	for i, want := range unsafe.Slice(&C.rmpi_type_bytes[0], C.RMPI_TYPES) {
		var got C.int
		if rc := C.do_type_size(l.c, l.c._type[i], &got); rc != 0 || got != want {
			return cerr.New(cerr.MPIABI, "%s does not have the types of the %s (type %d: %d bytes instead of %d); set REACTANT_MPI_LIBMPI to another MPI",
				l.Path, l.Family, i, int(got), int(want))
		}
	}
	var repaired C.int
	if rc := C.do_repair(l.c, &repaired); rc != 0 {
		return l.Error("MPI_Reduce_local", rc)
	}
	if l.Repaired = int(repaired); l.Repaired > 0 {
		cerr.Log(cerr.Info, "%s gets MIN or MAX of %d unsigned types wrong; operations of this library take their place", l.Path, l.Repaired)
	}
	return nil
}

// CrashesInReduce tells whether MPI_Reduce in place must be kept from this library at other roots than 0: MPICH 4.0 then copies from where
// nothing is.
func (l *Library) CrashesInReduce() bool {
	return strings.HasPrefix(l.implementation, "MPICH Version: 4.0")
}

// Processor is MPI's name of this host.
func (l *Library) Processor() string {
	text := (*C.char)(C.calloc(1, C.RMPI_STRING_BYTES))
	defer C.free(unsafe.Pointer(text))
	C.do_processor_name(l.c, text)
	return strings.TrimSpace(C.GoString(text))
}

// World is the word of MPI_COMM_WORLD.
func (l *Library) World() uint64 { return uint64(l.c.constant[C.RMPI_K_COMM_WORLD]) }

// Self is MPI_COMM_SELF.
func (l *Library) Self() uint64 { return uint64(l.c.constant[C.RMPI_K_COMM_SELF]) }

// RankSize of a communicator of ours.
func (l *Library) RankSize(comm uint64) (rank, size int, err *cerr.Error) {
	var r, s C.int
	if rc := C.do_comm_rank(l.c, C.uint64_t(comm), &r); rc != 0 {
		return 0, 0, l.Error("MPI_Comm_rank", rc)
	}
	if rc := C.do_comm_size(l.c, C.uint64_t(comm), &s); rc != 0 {
		return 0, 0, l.Error("MPI_Comm_size", rc)
	}
	return int(r), int(s), nil
}

// TagUB is the largest tag.
func (l *Library) TagUB(comm uint64) int {
	var ub C.int
	C.do_comm_tag_ub(l.c, C.uint64_t(comm), &ub)
	return int(ub)
}

// Congruent tells whether two communicators have the same ranks in the same order.
func (l *Library) Congruent(a, b uint64) bool {
	var same C.int
	C.do_comm_compare(l.c, C.uint64_t(a), C.uint64_t(b), &same)
	return same != 0
}

// Free a duplicate. Collective.
func (l *Library) Free(comm uint64) *cerr.Error {
	if rc := C.do_comm_free(l.c, C.uint64_t(comm)); rc != 0 {
		return l.Error("MPI_Comm_free", rc)
	}
	return nil
}

// hush counts, per communicator, who wants its errors to return: two threads may at once, and the handler that comes back last must be
// the host's.
type hush struct {
	sync.Mutex
	on map[uint64]*hushed
}

type hushed struct {
	users int
	saved C.uint64_t
}

// quietly runs f while errors on the given communicators return instead of ending the job; their handlers are as before afterwards.
func (l *Library) quietly(comms []uint64, f func()) {
	for _, comm := range comms {
		l.quiet(comm)
		defer l.loud(comm)
	}
	f()
}

func (l *Library) quiet(comm uint64) {
	l.hush.Lock()
	defer l.hush.Unlock()
	h := l.hush.on[comm]
	if h == nil {
		h = &hushed{}
		if C.do_errhandler_swap(l.c, C.uint64_t(comm), &h.saved) != 0 {
			return
		}
		l.hush.on[comm] = h
	}
	h.users++
}

func (l *Library) loud(comm uint64) {
	l.hush.Lock()
	defer l.hush.Unlock()
	h := l.hush.on[comm]
	if h == nil {
		return
	}
	if h.users--; h.users == 0 {
		delete(l.hush.on, comm)
		C.do_errhandler_restore(l.c, C.uint64_t(comm), h.saved)
	}
}

// pending is the C memory of a started operation: MPI writes into it until the operation ends.
type pending struct {
	request, data unsafe.Pointer
}

func newPending(bytes int) pending {
	return pending{C.calloc(1, 16), C.calloc(1, C.size_t(max(bytes, 16)))}
}

func (p pending) free() {
	C.free(p.request)
	C.free(p.data)
}

// wait for a started operation. On a timeout its memory is leaked: MPI may still write to it.
func (l *Library) wait(p pending, function string, timeoutMS int64) *cerr.Error {
	var rc C.int
	switch C.rmpi_wait(l.c, p.request, C.int64_t(timeoutMS), &rc) {
	case 0:
		return nil
	case 1:
		return cerr.New(cerr.Timeout, "%s: some rank did not arrive within %d ms. Every rank of the communicator must make this call; one that "+
			"failed before says why on its own standard error. REACTANT_MPI_TIMEOUT_MS sets the time", function, timeoutMS)
	}
	return l.Error(function, rc)
}

// Dup duplicates a communicator, waiting at most the given time for the other ranks; errors on the duplicate return.
func (l *Library) Dup(comm uint64, timeoutMS int64) (dup uint64, err *cerr.Error) {
	p := newPending(16)
	l.quietly([]uint64{comm}, func() {
		if rc := C.do_comm_idup(l.c, C.uint64_t(comm), p.data, p.request); rc != 0 {
			err = l.Error("MPI_Comm_idup", rc)
			return
		}
		err = l.wait(p, "MPI_Comm_idup", timeoutMS)
	})
	if err != nil {
		return 0, p.failed(err)
	}
	dup = uint64(C.do_comm_of(l.c, p.data))
	p.free()
	if rc := C.do_errors_return(l.c, C.uint64_t(dup)); rc != 0 {
		return 0, l.Error("MPI_Comm_set_errhandler", rc)
	}
	return dup, nil
}

// AllGather exchanges equally long records over a communicator of ours, waiting at most the given time.
func (l *Library) AllGather(comm uint64, size int, record []byte, timeoutMS int64) ([][]byte, *cerr.Error) {
	n := len(record)
	p := newPending(n * (size + 1))
	memory := unsafe.Slice((*byte)(p.data), n*(size+1))
	copy(memory, record)
	if rc := C.do_iallgather(l.c, p.data, unsafe.Add(p.data, n), C.int(n), C.uint64_t(comm), p.request); rc != 0 {
		p.free()
		return nil, l.Error("MPI_Iallgather", rc)
	}
	if err := l.wait(p, "MPI_Iallgather", timeoutMS); err != nil {
		return nil, p.failed(err)
	}
	all := make([]byte, n*size)
	copy(all, memory[n:])
	p.free()
	out := make([][]byte, size)
	for i := range out {
		out[i] = all[i*n : (i+1)*n]
	}
	return out, nil
}

// AllGatherV is the same for data of any length: counts are the bytes of every rank, this one's among them.
func (l *Library) AllGatherV(comm uint64, data []byte, counts []int, timeoutMS int64) ([][]byte, *cerr.Error) {
	total := 0
	for _, n := range counts {
		total += n
	}
	// Counts and displacements, what is sent, what is received.
	size, table := len(counts), 2*C.sizeof_int*len(counts)
	p := newPending(table + len(data) + total)
	numbers := unsafe.Slice((*C.int)(p.data), 2*size)
	at := 0
	for i, n := range counts {
		numbers[i], numbers[size+i] = C.int(n), C.int(at)
		at += n
	}
	send, recv := unsafe.Add(p.data, table), unsafe.Add(p.data, table+len(data))
	copy(unsafe.Slice((*byte)(send), len(data)), data)
	if rc := C.do_iallgatherv(l.c, send, C.int(len(data)), recv, &numbers[0], &numbers[size], C.uint64_t(comm), p.request); rc != 0 {
		p.free()
		return nil, l.Error("MPI_Iallgatherv", rc)
	}
	if err := l.wait(p, "MPI_Iallgatherv", timeoutMS); err != nil {
		return nil, p.failed(err)
	}
	all := bytes.Clone(unsafe.Slice((*byte)(recv), total))
	out := make([][]byte, size)
	for i, n := range counts {
		out[i], all = all[:n], all[n:]
	}
	p.free()
	return out, nil
}
