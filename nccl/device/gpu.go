package device

import (
	"fmt"
	"strconv"
	"strings"
)

// Vendor of the GPU runtime that a rank found.
type Vendor uint8

// The runtimes.
const (
	NoVendor Vendor = iota
	CUDA
	HIP
)

// library is what that runtime's communicators are made with.
func (v Vendor) library() string {
	if v == HIP {
		return "RCCL"
	}
	return "NCCL"
}

// UUID names a device; all zero = unknown. CUDA's is binary, HIP's are 16 letters.
type UUID [16]byte

// PCI is where a device sits; all zero = unknown. The function tells partitions of AMD devices apart.
type PCI struct {
	Domain                uint32
	Bus, Device, Function uint8
}

// String is the form of /sys/bus/pci/devices.
func (p PCI) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", p.Domain, p.Bus, p.Device, p.Function)
}

// ParsePCI reads what cuDeviceGetPCIBusId and hipDeviceGetPCIBusId write, with or without the function.
func ParsePCI(s string) (PCI, error) {
	parts := strings.Split(strings.TrimRight(s, "\x00\n"), ":")
	if len(parts) == 3 {
		dev, function, found := strings.Cut(parts[2], ".")
		if !found {
			function = "0"
		}
		var n [4]uint64
		var err error
		for i, field := range []string{parts[0], parts[1], dev, function} {
			size := 8
			if i == 0 {
				size = 32
			}
			v, e := strconv.ParseUint(field, 16, size)
			if e != nil {
				err = e
			}
			n[i] = v
		}
		if err == nil {
			return PCI{uint32(n[0]), uint8(n[1]), uint8(n[2]), uint8(n[3])}, nil
		}
	}
	return PCI{}, fmt.Errorf("%q is no PCI address", s)
}

// GPU is one visible device of a process; its place in Rank.GPUs is its ordinal there.
type GPU struct {
	UUID             UUID
	PCI              PCI
	NUMA             int16  // -1 = unknown
	Active           bool   // its primary context is active in that process
	MIG              bool   // an instance of a divided GPU
	ComputeExclusive bool   // one process at a time
	LocalCPUs        CPUSet // empty = unknown
}

// ID names the device as nvidia-smi, rocminfo and the visibility variables do; by its PCI address where it has no UUID.
func (g GPU) ID() string {
	if g.UUID == (UUID{}) {
		if g.PCI == (PCI{}) {
			return "unknown GPU"
		}
		return g.PCI.String()
	}
	if isLetters(g.UUID) {
		return "GPU-" + string(g.UUID[:])
	}
	kind := "GPU"
	if g.MIG {
		kind = "MIG"
	}
	u := g.UUID
	return fmt.Sprintf("%s-%x-%x-%x-%x-%x", kind, u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// isLetters tells HIP's hexadecimal letters from a binary UUID, which looks like this once in 10^17.
func isLetters(u UUID) bool {
	for _, c := range u {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

// identity makes two entries of two processes the same device. Neither half is enough: MIG instances of a GPU share its PCI address, and
// HIP gives all devices without a serial number the same UUID. A device with neither is known by its ordinal, for want of better.
type identity struct {
	uuid    UUID
	pci     PCI
	ordinal int // + 1
}

func (g GPU) identity(ordinal int) identity {
	id := identity{uuid: g.UUID, pci: g.PCI}
	if id == (identity{}) {
		id.ordinal = ordinal + 1
	}
	return id
}

// board is the identity of the whole GPU, equal for MIG instances of one.
func (g GPU) board(ordinal int) identity {
	if g.PCI != (PCI{}) {
		return identity{pci: g.PCI}
	}
	return g.identity(ordinal)
}
