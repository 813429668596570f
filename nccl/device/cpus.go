package device

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// MaxCPUs is how many CPUs a set can hold; later ones are left out, which costs at most the NUMA choice.
const MaxCPUs = 1024

// CPUSet is a set of CPUs by their number.
type CPUSet [MaxCPUs / 64]uint64

// Add puts a CPU into the set.
func (s *CPUSet) Add(cpu int) {
	if cpu >= 0 && cpu < MaxCPUs {
		s[cpu/64] |= 1 << (cpu % 64)
	}
}

// Has says whether the CPU is in the set.
func (s CPUSet) Has(cpu int) bool {
	return cpu >= 0 && cpu < MaxCPUs && s[cpu/64]>>(cpu%64)&1 != 0
}

// Empty is also how an unknown set looks.
func (s CPUSet) Empty() bool { return s == CPUSet{} }

// Meets says whether the sets have a CPU in common.
func (s CPUSet) Meets(other CPUSet) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// String is the kernel's list form, as "0-7,16".
func (s CPUSet) String() string {
	var list []int
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			list = append(list, i*64+bits.TrailingZeros64(word))
		}
	}
	return ranges(list, ",")
}

// ParseCPUs reads the kernel's list form (local_cpulist of a PCI device, Cpus_allowed_list of a process).
func ParseCPUs(list string) (CPUSet, error) {
	var s CPUSet
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		if part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(high)
		}
		if err != nil || first < 0 || last < first {
			return CPUSet{}, fmt.Errorf("%q is no list of CPUs", list)
		}
		for cpu := first; cpu <= min(last, MaxCPUs-1); cpu++ {
			s.Add(cpu)
		}
	}
	return s, nil
}
