package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mode is the option gpu, with the header's values.
type Mode uint8

// The modes.
const (
	Auto Mode = iota
	Off
	Required
)

var modeNames = [...]string{"auto", "off", "required"}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprint(uint8(m))
}

// Any is the wish for no particular device.
const Any = -1

// Rank is what one rank tells the others about its devices.
type Rank struct {
	Host string
	// Node is equal for ranks that NCCL takes for one host: hash of boot id and host name (or NCCL_HOSTID).
	Node uint64
	// Machine is equal for ranks on one kernel: hash of the boot id alone; 0 = the same as Node. Containers on one machine have host
	// names of their own and may still see the same GPUs.
	Machine uint64
	GPUs    []GPU
	CPUs    CPUSet // the process's affinity mask; empty = unknown
	// Visible is the visibility variables that are set, for messages: "CUDA_VISIBLE_DEVICES=0,1"; several with a space between.
	Visible string
	Vendor  Vendor
	Driver  int // version, for messages
	NCCL    int // version code of NCCL or RCCL; 0 = none
	Want    int // ordinal asked for by option or environment; Any = choose
	Mode    Mode
	// MultiRank says that NCCL_MULTI_RANK_GPU_ENABLE=1 is set.
	MultiRank bool
	// Code and Text: this rank's own failure before the exchange. With Code 0 the text says why it has no device or no NCCL.
	Code int32
	Text string
}

func (r *Rank) machine() uint64 {
	if r.Machine != 0 {
		return r.Machine
	}
	return r.Node
}

// Sizes of the record. What does not fit is left out: devices from the end, texts marked with "…", CPU sets as if unknown.
const (
	MaxGPUs    = 64 // 8 GPUs of 8 partitions each
	maxSets    = 8  // different sets of local CPUs: NUMA nodes with GPUs
	hostSize   = 64
	visSize    = 192
	textSize   = 320
	wireMagic  = 0x31764452 // "RDv1"; changes with the layout
	flagMulti  = 1
	gpuActive  = 1
	gpuMIG     = 2
	gpuExclude = 4
)

// The layout, little-endian:
//
//	magic 4, vendor 1, mode 1, flags 1, devices 1, driver 4, NCCL 4, want 4, code 4, node 8, machine 8,
//	CPUs 128, 8 sets of local CPUs of 128 each, 64 devices of 27 each, host 64, visible 192, text 320
//
// and a device: UUID 16, PCI domain 4, bus 1, device 1, function 1, flags 1, NUMA 2, set 1. Its local CPUs are a place in the table of sets,
// from 1, 0 = unknown: so a record takes 3.5 KB instead of 12.
const (
	headSize = 40
	setSize  = MaxCPUs / 8
	gpuSize  = 27
	gpusAt   = headSize + setSize + maxSets*setSize
	hostAt   = gpusAt + MaxGPUs*gpuSize

	// Size of every encoded record.
	Size = hostAt + hostSize + visSize + textSize
)

var wire = binary.LittleEndian

// Encode writes the record in its fixed size.
func Encode(r Rank) []byte {
	gpus := r.GPUs[:min(len(r.GPUs), MaxGPUs)]
	b := make([]byte, 0, Size)
	b = wire.AppendUint32(b, wireMagic)
	b = append(b, byte(r.Vendor), byte(r.Mode), bit(r.MultiRank, flagMulti), byte(len(gpus)))
	for _, v := range []int32{int32(r.Driver), int32(r.NCCL), int32(r.Want), r.Code} {
		b = wire.AppendUint32(b, uint32(v))
	}
	b = wire.AppendUint64(b, r.Node)
	b = wire.AppendUint64(b, r.Machine)
	b = appendCPUs(b, r.CPUs)
	var sets []CPUSet
	for _, g := range gpus {
		if !g.LocalCPUs.Empty() && len(sets) < maxSets && !slices.Contains(sets, g.LocalCPUs) {
			sets = append(sets, g.LocalCPUs)
			b = appendCPUs(b, g.LocalCPUs)
		}
	}
	b = b[:gpusAt] // zero from make
	for _, g := range gpus {
		b = append(b, g.UUID[:]...)
		b = wire.AppendUint32(b, g.PCI.Domain)
		b = append(b, g.PCI.Bus, g.PCI.Device, g.PCI.Function, bit(g.Active, gpuActive)|bit(g.MIG, gpuMIG)|bit(g.ComputeExclusive, gpuExclude))
		b = wire.AppendUint16(b, uint16(g.NUMA))
		b = append(b, byte(slices.Index(sets, g.LocalCPUs)+1))
	}
	b = b[:Size]
	put(b[hostAt:][:hostSize], r.Host)
	put(b[hostAt+hostSize:][:visSize], r.Visible)
	put(b[hostAt+hostSize+visSize:], r.Text)
	return b
}

func appendCPUs(b []byte, s CPUSet) []byte {
	for _, word := range s {
		b = wire.AppendUint64(b, word)
	}
	return b
}

// Decode reads a record. The bytes may be anything: what it returns without error is a record that Encode keeps as it is.
func Decode(b []byte) (Rank, error) {
	if len(b) != Size {
		return Rank{}, fmt.Errorf("a device record of %d bytes instead of %d: the ranks run different versions of this library", len(b), Size)
	}
	if magic := wire.Uint32(b); magic != wireMagic {
		return Rank{}, fmt.Errorf("a device record of layout %#x instead of %#x: the ranks run different versions of this library", magic, uint32(wireMagic))
	}
	number := func(at int) int { return int(int32(wire.Uint32(b[at:]))) }
	r := Rank{Vendor: Vendor(b[4]), Mode: Mode(b[5]), MultiRank: b[6]&flagMulti != 0,
		Driver: number(8), NCCL: number(12), Want: number(16), Code: int32(number(20)), Node: wire.Uint64(b[24:]), Machine: wire.Uint64(b[32:]),
		CPUs: readCPUs(b[headSize:]),
		Host: get(b[hostAt:][:hostSize]), Visible: get(b[hostAt+hostSize:][:visSize]), Text: get(b[hostAt+hostSize+visSize:])}
	count := int(b[7])
	if r.Vendor > HIP || r.Mode > Required || count > MaxGPUs {
		return Rank{}, errors.New("a device record holds values that no rank sends")
	}
	if count > 0 {
		r.GPUs = make([]GPU, count)
	}
	for i := range r.GPUs {
		w := b[gpusAt+i*gpuSize:][:gpuSize]
		r.GPUs[i] = GPU{UUID: UUID(w[:16]), PCI: PCI{wire.Uint32(w[16:]), w[20], w[21], w[22]}, NUMA: int16(wire.Uint16(w[24:])),
			Active: w[23]&gpuActive != 0, MIG: w[23]&gpuMIG != 0, ComputeExclusive: w[23]&gpuExclude != 0}
		switch set := int(w[26]); {
		case set > maxSets:
			return Rank{}, errors.New("a device record names a CPU set that it does not hold")
		case set > 0:
			r.GPUs[i].LocalCPUs = readCPUs(b[headSize+set*setSize:])
		}
	}
	return r, nil
}

func readCPUs(b []byte) (s CPUSet) {
	for i := range s {
		s[i] = wire.Uint64(b[i*8:])
	}
	return s
}

func bit(is bool, flag uint8) uint8 {
	if is {
		return flag
	}
	return 0
}

const cut = "…"

// put writes a text into its field, whole runes only, so that what arrives is still text.
func put(field []byte, s string) {
	s = clean(s)
	if len(s) > len(field) {
		end := len(field) - len(cut)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + cut
	}
	copy(field, s)
}

func get(field []byte) string { return clean(string(field)) }

// clean ends a text at its first zero byte and replaces what is not UTF-8: host names and dlerror texts come from anywhere.
func clean(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return strings.ToValidUTF8(s, "?")
}
