package device

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

// wireGPU is a GPU on the wire. Its CPUs are a place in the record's table of sets, from 1: the record stays 3.5 KB instead of 10.
type wireGPU struct {
	UUID                  UUID
	Domain                uint32
	Bus, Device, Function uint8
	Flags                 uint8
	NUMA                  int16
	Set                   uint8
}

type wireRank struct {
	Magic                      uint32
	Vendor, Mode, Flags, Count uint8
	Driver, NCCL, Want, Code   int32
	Node, Machine              uint64
	CPUs                       CPUSet
	Sets                       [maxSets]CPUSet
	GPUs                       [MaxGPUs]wireGPU
	Host                       [hostSize]byte
	Visible                    [visSize]byte
	Text                       [textSize]byte
}

// Size of every encoded record.
var Size = binary.Size(wireRank{})

// Encode writes the record in its fixed size.
func Encode(r Rank) []byte {
	w := wireRank{Magic: wireMagic, Vendor: uint8(r.Vendor), Mode: uint8(r.Mode), Count: uint8(min(len(r.GPUs), MaxGPUs)),
		Driver: int32(r.Driver), NCCL: int32(r.NCCL), Want: int32(r.Want), Code: r.Code, Node: r.Node, Machine: r.Machine, CPUs: r.CPUs,
		Flags: bit(r.MultiRank, flagMulti)}
	sets := 0
	for i, g := range r.GPUs[:w.Count] {
		w.GPUs[i] = wireGPU{UUID: g.UUID, Domain: g.PCI.Domain, Bus: g.PCI.Bus, Device: g.PCI.Device, Function: g.PCI.Function, NUMA: g.NUMA}
		w.GPUs[i].Flags = bit(g.Active, gpuActive) | bit(g.MIG, gpuMIG) | bit(g.ComputeExclusive, gpuExclude)
		if g.LocalCPUs.Empty() {
			continue
		}
		at := 0
		for at < sets && w.Sets[at] != g.LocalCPUs {
			at++
		}
		if at == sets && sets < maxSets {
			w.Sets[sets] = g.LocalCPUs
			sets++
		}
		if at < sets {
			w.GPUs[i].Set = uint8(at + 1)
		}
	}
	put(w.Host[:], r.Host)
	put(w.Visible[:], r.Visible)
	put(w.Text[:], r.Text)
	var out bytes.Buffer
	// A fixed-size struct into a buffer: cannot fail.
	_ = binary.Write(&out, binary.LittleEndian, &w)
	return out.Bytes()
}

// Decode reads a record. The bytes may be anything: what it returns without error is a record that Encode keeps as it is.
func Decode(b []byte) (Rank, error) {
	var w wireRank
	if len(b) != Size {
		return Rank{}, fmt.Errorf("a device record of %d bytes instead of %d: the ranks run different versions of this library", len(b), Size)
	}
	if _, err := binary.Decode(b, binary.LittleEndian, &w); err != nil {
		return Rank{}, err
	}
	if w.Magic != wireMagic {
		return Rank{}, fmt.Errorf("a device record of layout %#x instead of %#x: the ranks run different versions of this library", w.Magic, uint32(wireMagic))
	}
	if w.Vendor > uint8(HIP) || w.Mode > uint8(Required) || w.Count > MaxGPUs {
		return Rank{}, errors.New("a device record holds values that no rank sends")
	}
	r := Rank{Host: get(w.Host[:]), Node: w.Node, Machine: w.Machine, CPUs: w.CPUs, Visible: get(w.Visible[:]), Vendor: Vendor(w.Vendor),
		Driver: int(w.Driver), NCCL: int(w.NCCL), Want: int(w.Want), Mode: Mode(w.Mode), MultiRank: w.Flags&flagMulti != 0,
		Code: w.Code, Text: get(w.Text[:])}
	for _, g := range w.GPUs[:w.Count] {
		if g.Set > maxSets {
			return Rank{}, errors.New("a device record names a CPU set that it does not hold")
		}
		gpu := GPU{UUID: g.UUID, PCI: PCI{g.Domain, g.Bus, g.Device, g.Function}, NUMA: g.NUMA,
			Active: g.Flags&gpuActive != 0, MIG: g.Flags&gpuMIG != 0, ComputeExclusive: g.Flags&gpuExclude != 0}
		if g.Set > 0 {
			gpu.LocalCPUs = w.Sets[g.Set-1]
		}
		r.GPUs = append(r.GPUs, gpu)
	}
	return r, nil
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
