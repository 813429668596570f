package lifecycle

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"unsafe"

	"reactantmpi/internal/cerr"
)

// record is what each rank tells the others, of fixed size: how it fares, what it uses, where it is.
type record struct {
	Code     int32  // of a failure before the ranks met; 0 = fine
	Known    int32  // id of a live communicator over the same host communicator; 0 = none
	Devices  int32  // it has something to say about devices: some, a failure, a wish
	Propose  int32  // id for the new communicator
	World    int32  // rank in the world
	Traces   int32  // it writes a trace
	Check    int32  // option
	Half     int32  // option
	MaxCount uint64 // option
	Timeout  int64  // option, of calls
	Library  uint64 // hash of ABI family and version
	Node     uint64 // hash of what ranks of one host share
	Host     [64]byte
	MPI      [96]byte // ABI and version, for people
	Text     [320]byte
}

func fixed(b []byte, s string) { copy(b[:len(b)-1], s) }

func words(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// The ranks of a job run one binary on one kind of machine: a record travels as it lies in memory, without pointers and padding.
const recordBytes = int(unsafe.Sizeof(record{}))

func (r *record) bytes() []byte { return (*[recordBytes]byte)(unsafe.Pointer(r))[:] }

func (r *record) encode() []byte { return bytes.Clone(r.bytes()) }

// fail notes a rank's own failure; nil is none.
func (r *record) fail(err *cerr.Error) {
	if err != nil {
		r.Code = int32(err.Code)
		fixed(r.Text[:], err.Text)
	}
}

func decode(all [][]byte) []record {
	out := make([]record, len(all))
	for i, b := range all {
		copy(out[i].bytes(), b)
	}
	return out
}

func hash(parts ...string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(parts, "\x00")))
	return h.Sum64()
}

// nodeID is equal for processes of one host: the kernel's boot and the host's name (MPI's own split by node is wrong on some MPIs).
func nodeID(host string) uint64 { return hash(bootID(), host) }

var bootID = sync.OnceValue(func() string { return read("/proc/sys/kernel/random/boot_id") })

// verdict is what all ranks make of their failures: nil, or one code and the texts of all that failed. A rank that only waited for
// others (timeout, notice of a failure) is not the reason while another names one.
func verdict(all []record) *cerr.Error {
	var causes, waits []string
	var code, waitCode cerr.Code
	for rank, r := range all {
		if r.Code == 0 {
			continue
		}
		text := fmt.Sprintf("rank %d on %s: %s", rank, words(r.Host[:]), words(r.Text[:]))
		if c := cerr.Code(r.Code); c == cerr.Timeout || c == cerr.Peer {
			if len(waits) == 0 || c == cerr.Timeout {
				waitCode = c
			}
			waits = append(waits, text)
			continue
		}
		if len(causes) == 0 {
			code = cerr.Code(r.Code)
		}
		causes = append(causes, text)
	}
	if len(causes) == 0 {
		causes, code = waits, waitCode
	}
	switch {
	case len(causes) == 0:
		return nil
	case len(all) == 1:
		return cerr.New(code, "%s", words(all[0].Text[:]))
	}
	return cerr.New(code, "%d of %d ranks failed: %s", len(causes), len(all), some(causes))
}

// judge is the verdict over what the ranks brought with them.
func judge(all []record) *cerr.Error {
	if err := verdict(all); err != nil {
		return err
	}
	if text := differ(all, func(r record) uint64 { return r.Library }, func(r record) string { return words(r.MPI[:]) }); text != "" {
		return cerr.New(cerr.Mismatch, "the ranks use different MPI libraries: %s; set REACTANT_MPI_LIBMPI to the same one everywhere", text)
	}
	if text := differ(all, func(r record) uint64 { return r.MaxCount }, func(r record) string { return fmt.Sprint(r.MaxCount) }); text != "" {
		return cerr.New(cerr.Mismatch, "option max_count must be equal on every rank: %s", text)
	}
	if text := differInTimeout(all); text != "" {
		return cerr.New(cerr.Mismatch, "option call_timeout_ms must be equal on every rank: %s", text)
	}
	if text := differ(all, func(r record) uint64 { return uint64(r.Check) }, func(r record) string { return offOn[r.Check&1] }); text != "" {
		return cerr.New(cerr.Mismatch, "option check must be equal on every rank: %s; set REACTANT_MPI_CHECK everywhere or nowhere", text)
	}
	if text := differ(all, func(r record) uint64 { return uint64(r.Half) }, func(r record) string { return halfNames[r.Half&1] }); text != "" {
		return cerr.New(cerr.Mismatch, "option half must be equal on every rank: %s; set REACTANT_MPI_HALF everywhere or nowhere", text)
	}
	return nil
}

// differ lists who has what, if not all ranks have the same.
func differ(all []record, key func(record) uint64, show func(record) string) string {
	var order []uint64
	groups := map[uint64][]int{}
	for rank, r := range all {
		k := key(r)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], rank)
	}
	if len(order) == 1 {
		return ""
	}
	var out []string
	for _, k := range order {
		ranks := groups[k]
		text := fmt.Sprintf("rank %d", ranks[0])
		if len(ranks) > 1 {
			text = fmt.Sprintf("%d ranks from %d on", len(ranks), ranks[0])
		}
		out = append(out, text+" on "+words(all[ranks[0]].Host[:])+": "+show(all[ranks[0]]))
	}
	return some(out)
}

// some keeps a list readable on large jobs.
func some(list []string) string {
	const most = 8
	if len(list) > most {
		return strings.Join(list[:most], "; ") + fmt.Sprintf("; and %d more", len(list)-most)
	}
	return strings.Join(list, "; ")
}

// devices tells whether any rank has something to say about them; if none has, nobody sends its 3.5 KB.
func devices(all []record) bool {
	for _, r := range all {
		if r.Devices != 0 {
			return true
		}
	}
	return false
}

// proposed is the id that all try first.
func proposed(all []record) int {
	id := 0
	for _, r := range all {
		id = max(id, int(r.Propose))
	}
	return id
}

// known is the id that every rank already has for this host communicator; 0 unless all agree.
func known(all []record) int {
	for _, r := range all {
		if r.Known == 0 || r.Known != all[0].Known {
			return 0
		}
	}
	return int(all[0].Known)
}

// local gives a rank's place among the ranks of its host.
func local(all []record, rank int) (localRank, localSize int) {
	for r, other := range all {
		if other.Node != all[rank].Node {
			continue
		}
		if r < rank {
			localRank++
		}
		localSize++
	}
	return localRank, localSize
}
