package device

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func number(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// made is a device of a made-up machine: "A" is a GPU, "A1" a MIG instance of it. A and B are near CPUs 0-7, C and D near 8-15, and so on.
func made(machine, name string) GPU {
	at := int(name[0] - 'A')
	g := GPU{PCI: PCI{Bus: uint8(at + 1)}, NUMA: int16(at / 2), MIG: len(name) > 1}
	copy(g.UUID[:], machine+name+"\xff")
	for cpu := range 8 {
		g.LocalCPUs.Add(at/2*8 + cpu)
	}
	return g
}

// world reads ranks: "n0 AB A*B=1@0-7 -; n1/c1 CD" is three ranks on n0, of which the second already uses A, asks for ordinal 1 and is
// bound to CPUs 0-7, and the third sees nothing; and one in container c1 on machine n1.
func world(t testing.TB, text string, change ...func(rank int, r *Rank)) []Rank {
	var out []Rank
	for _, part := range strings.Split(text, ";") {
		words := strings.Fields(part)
		machine, host, in := strings.Cut(words[0], "/")
		if !in {
			host = machine
		}
		for _, word := range words[1:] {
			r := Rank{Host: host, Node: number(machine + "/" + host), Machine: number(machine), Vendor: CUDA, NCCL: 22809, Want: Any}
			word, cpus, _ := strings.Cut(word, "@")
			word, want, asked := strings.Cut(word, "=")
			var err error
			r.CPUs, err = ParseCPUs(cpus)
			require.NoError(t, err)
			if asked {
				r.Want, err = strconv.Atoi(want)
				require.NoError(t, err)
			}
			for word != "" && word != "-" {
				end := 1
				for end < len(word) && word[end] >= '0' && word[end] <= '9' {
					end++
				}
				g := made(machine, word[:end])
				if word = word[end:]; strings.HasPrefix(word, "*") {
					g.Active = true
					word = word[1:]
				}
				r.GPUs = append(r.GPUs, g)
			}
			out = append(out, r)
		}
	}
	for i := range out {
		for _, c := range change {
			c(i, &out[i])
		}
	}
	return out
}

func on(rank int, change func(*Rank)) func(int, *Rank) {
	return func(i int, r *Rank) {
		if i == rank || rank < 0 {
			change(r)
		}
	}
}

const every = -1

func nccl(code int) func(int, *Rank) { return on(every, func(r *Rank) { r.NCCL = code }) }
func required() func(int, *Rank)     { return on(every, func(r *Rank) { r.Mode = Required }) }
func visible(s string) func(*Rank)   { return func(r *Rank) { r.Visible = s } }
func shared(code int) func(int, *Rank) {
	return on(every, func(r *Rank) { r.NCCL, r.MultiRank = code, true })
}
func amd() func(int, *Rank) {
	return on(every, func(r *Rank) { r.Vendor, r.NCCL = HIP, 22707 })
}

type choices []func(int, *Rank)

const offFirst = "; set REACTANT_MPI_GPU=off"

var cases = []struct {
	name    string
	world   string
	change  choices
	want    string // ordinals
	reasons string // of the ranks; one for all, or separated by comma
	code    int32
	text    []string // of the problem, or of the reason of host only
	not     []string
}{
	// The same list everywhere.
	{name: "one rank, one device", world: "n0 A", want: "0", reasons: OneVisible},
	{name: "one rank, many devices", world: "n0 ABCD", want: "0", reasons: LocalRank},
	{name: "same list, as many devices as ranks", world: "n0 ABCD ABCD ABCD ABCD", want: "0 1 2 3", reasons: LocalRank},
	{name: "same list, more devices than ranks", world: "n0 ABCDEFGH ABCDEFGH", want: "0 1", reasons: LocalRank},
	{name: "two nodes, ranks in blocks", world: "n0 AB AB; n1 AB AB", want: "0 1 0 1", reasons: LocalRank},
	{name: "two nodes, ranks dealt in turn", world: "n0 AB; n1 AB; n0 AB; n1 AB", want: "0 0 1 1", reasons: LocalRank},
	{name: "nodes of different sizes", world: "n0 ABCD ABCD ABCD; n1 A; n2 AB AB", want: "0 1 2 0 0 1",
		reasons: "local rank,local rank,local rank,one visible device,local rank,local rank"},
	{name: "an order of the devices that all share", world: "n0 DCBA DCBA", want: "0 1", reasons: LocalRank},
	{name: "devices without UUID", world: "n0 AB AB", change: choices{on(every, func(r *Rank) { r.GPUs[0].UUID, r.GPUs[1].UUID = UUID{}, UUID{} })},
		want: "0 1", reasons: LocalRank},
	{name: "devices that all have the same UUID", world: "n0 AB AB", change: choices{amd(), on(every, func(r *Rank) { r.GPUs[1].UUID = r.GPUs[0].UUID })},
		want: "0 1", reasons: LocalRank},
	{name: "devices without PCI address", world: "n0 AB AB", change: choices{on(every, func(r *Rank) { r.GPUs[0].PCI, r.GPUs[1].PCI = PCI{}, PCI{} })},
		want: "0 1", reasons: LocalRank},
	{name: "devices without any name count by ordinal", world: "n0 AB AB", change: choices{on(every, func(r *Rank) { r.GPUs = make([]GPU, 2) })},
		want: "0 1", reasons: LocalRank},
	{name: "partitions of AMD devices differ in the function", world: "n0 AB AB", change: choices{amd(), on(every, func(r *Rank) { r.GPUs[1].PCI = PCI{Bus: 1, Function: 1} })},
		want: "0 1", reasons: LocalRank},

	// One device each.
	{name: "gpus-per-task", world: "n0 A B C D", want: "0 0 0 0", reasons: OneVisible},
	{name: "gpus-per-task on two nodes", world: "n0 A B; n1 A B", want: "0 0 0 0", reasons: OneVisible},
	{name: "gpus-per-task, some ranks with two", world: "n0 A B CD", want: "0 0 0", reasons: "one visible device,one visible device,local rank"},
	{name: "one visible, the same for all", world: "n0 A A", change: choices{on(every, visible("CUDA_VISIBLE_DEVICES=0"))}, code: FewDevices,
		text: []string{"ranks 0-1 on n0 see only 1 device for 2 ranks", "GPU-", "CUDA_VISIBLE_DEVICES=0", offFirst, "--ntasks-per-node=1", "--gpus-per-task=1", "NCCL_MULTI_RANK_GPU_ENABLE=1"}},

	// Lists narrowed by cgroups or variables.
	{name: "each socket sees its own", world: "n0 AB AB CD CD", want: "0 1 0 1", reasons: LocalRank},
	{name: "sockets, ranks dealt in turn", world: "n0 AB CD AB CD", want: "0 0 1 1", reasons: LocalRank},
	{name: "rotated lists are a wish", world: "n0 ABCD BCDA CDAB DABC", want: "0 0 0 0", reasons: Matching},
	{name: "lists rotated by two", world: "n0 ABCD CDAB", want: "0 0", reasons: Matching},
	{name: "overlapping lists", world: "n0 AB BC CA", want: "0 0 0", reasons: Matching},
	{name: "the second rank has no choice", world: "n0 AB A", want: "1 0", reasons: "matching,one visible device"},
	{name: "a chain of moves", world: "n0 AB BC CD AB", want: "0 1 1 1", reasons: Matching},
	{name: "lowest ordinal first", world: "n0 ABC CBA BAC", want: "0 0 0", reasons: Matching},
	{name: "the first rank goes first", world: "n0 AB ABC AB", want: "0 2 1", reasons: Matching},
	{name: "a device that others do not see", world: "n0 AB AB ABC", want: "0 1 2", reasons: Matching},
	{name: "same devices in another order", world: "n0 AB BA", want: "0 0", reasons: Matching},
	{name: "lists that leave no choice but one", world: "n0 ABC AB A", want: "2 1 0", reasons: "matching,matching,one visible device"},
	{name: "two ranks confined to one device", world: "n0 A A BCD", change: choices{on(0, visible("CUDA_VISIBLE_DEVICES=0"))}, code: Visible,
		text: []string{"ranks 0-1 on n0 see only 1 device", "see 4 together", "rank 0 on n0: CUDA_VISIBLE_DEVICES=0", offFirst, "--gpu-bind=none"}},
	{name: "three ranks confined to two devices", world: "n0 ABCD AB AB AB", code: Visible, text: []string{"ranks 1-3 on n0 see only 2 devices"}},
	{name: "a socket with too few, the other with plenty", world: "n0 AB AB AB CDEF", code: Visible, text: []string{"ranks 0-2", "6 together"}},

	// Too few.
	{name: "fewer devices than ranks", world: "n0 AB AB AB AB", code: FewDevices,
		text: []string{"ranks 0-3 on n0 see only 2 devices for 4 ranks", made("n0", "A").ID(), made("n0", "B").ID(), offFirst, "at most 2 ranks", "--gpus-per-node=4", "--gpu-bind=none",
			"NCCL ≥ 2.30 (here 2.28.9)"}},
	{name: "fewer on the second node only", world: "n0 AB AB; n1 A A", code: FewDevices, text: []string{"ranks 2-3 on n1"}, not: []string{"n0"}},
	{name: "fewer, required", world: "n0 A A", change: choices{required()}, code: FewDevices, not: []string{"REACTANT_MPI_GPU=off"}},
	{name: "fewer on three nodes", world: "n0 A A; n1 A A; n2 A A", code: FewDevices, text: []string{"ranks 0-1 on n0", "2 nodes more"}},
	{name: "fewer on both sockets", world: "n0 A A B B", code: FewDevices, text: []string{"ranks 0-3 on n0 see only 2 devices for 4 ranks", "ranks 0-1 on n0 only GPU-"}, not: []string{"more with such"}},
	{name: "fewer on AMD", world: "n0 A A", change: choices{amd()}, code: FewDevices, text: []string{"ROCR_VISIBLE_DEVICES"}, not: []string{"NCCL", "CUDA_"}},

	// None.
	{name: "no device anywhere", world: "n0 - -; n1 -", change: choices{on(every, func(r *Rank) { r.Text = "libcuda.so.1: cannot open shared object file" })},
		want: "-1 -1 -1", text: []string{"host only: no rank sees a device", "ranks 0-2 on n0, n1: libcuda.so.1"}},
	{name: "no device anywhere, no reason known", world: "n0 -", want: "-1", text: []string{"no rank sees a device"}},
	{name: "no device anywhere, hidden", world: "n0 - -", change: choices{on(every, visible("CUDA_VISIBLE_DEVICES="))}, want: "-1 -1", text: []string{"CUDA_VISIBLE_DEVICES="}},
	{name: "no device anywhere, required", world: "n0 - -", change: choices{required(), on(1, func(r *Rank) { r.Text = "cuInit: 100 no device" })}, code: NoDevice,
		text: []string{"gpu = required", "rank 1 on n0: cuInit: 100", "REACTANT_MPI_GPU=auto"}},
	{name: "no device anywhere, but asked for", world: "n0 -=0", code: NoDevice, text: []string{"rank 0 on n0 asked for device 0", "REACTANT_MPI_DEVICE"}},
	{name: "off", world: "n0 AB AB", change: choices{on(every, func(r *Rank) { r.Mode = Off })}, want: "-1 -1", text: []string{"REACTANT_MPI_GPU=off"}},
	{name: "off wins over a wish", world: "n0 AB=1", change: choices{on(every, func(r *Rank) { r.Mode = Off })}, want: "-1", text: []string{"off"}},
	{name: "none on one rank", world: "n0 AB -", change: choices{on(1, func(r *Rank) { r.Text, r.Visible = "cuInit: 100 no device", "CUDA_VISIBLE_DEVICES=" })}, code: NoDevice,
		text: []string{"1 of 2 ranks see no device", "rank 1 on n0: none (cuInit: 100 no device; CUDA_VISIBLE_DEVICES=)", "rank 0 on n0: 2 devices", offFirst, "--gpus-per-node", "--gpu-bind=none"}},
	{name: "none on one node", world: "n0 AB AB; cpu1 - -; cpu2 - -", code: NoDevice, text: []string{"4 of 6", "ranks 2-5 on cpu1, cpu2: none", offFirst}},
	{name: "none on some, required", world: "n0 A -", change: choices{required()}, code: NoDevice, not: []string{"=off"}},
	{name: "filtered twice", world: "n0 A -", change: choices{amd(), on(0, visible("ROCR_VISIBLE_DEVICES=0 HIP_VISIBLE_DEVICES=0")), on(1, visible("ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1"))},
		code: Visible, text: []string{"rank 1 on n0: none (ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1)", "set ROCR_VISIBLE_DEVICES only", offFirst}},
	{name: "filtered twice by CUDA's variable", world: "n0 A -", change: choices{amd(), on(1, visible("ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=1"))}, code: Visible},
	{name: "filtered twice and still there", world: "n0 A B", change: choices{amd(), on(every, visible("ROCR_VISIBLE_DEVICES=0,1 HIP_VISIBLE_DEVICES=1"))}, want: "0 0", reasons: OneVisible},

	// NCCL.
	{name: "no NCCL anywhere", world: "n0 A", change: choices{nccl(0), on(0, func(r *Rank) { r.Text = "libnccl.so.2: not found" })}, want: "-1",
		text: []string{"host only: no rank has NCCL or RCCL", "libnccl.so.2: not found"}},
	{name: "no NCCL anywhere, required", world: "n0 A", change: choices{required(), nccl(0)}, code: NoNCCL, text: []string{"no rank has NCCL"}},
	{name: "no NCCL anywhere and a wish", world: "n0 AB=1", change: choices{nccl(0)}, code: NoNCCL, text: []string{"asked for device 1"}},
	{name: "no NCCL on one rank", world: "n0 AB AB", change: choices{on(1, func(r *Rank) { r.NCCL, r.Text = 0, "libnccl.so.2: not found" })}, code: NoNCCL,
		text: []string{"1 of 2", "rank 1 on n0: none (libnccl.so.2: not found)", offFirst}},
	{name: "versions differ", world: "n0 A B; n1 A", change: choices{on(2, func(r *Rank) { r.NCCL = 22203 })}, code: NCCLVersions,
		text: []string{"ranks 0-1 on n0: NCCL 2.28.9", "rank 2 on n1: NCCL 2.22.3", "REACTANT_MPI_LIBNCCL", offFirst}},
	{name: "NCCL and RCCL", world: "n0 A; n1 A", change: choices{on(1, func(r *Rank) { r.Vendor = HIP })}, code: NCCLVersions, text: []string{"rank 0 on n0: NCCL 2.28.9", "rank 1 on n1: RCCL 2.28.9"}},
	{name: "too old", world: "n0 A", change: choices{nccl(21703)}, code: NCCLOld, text: []string{"NCCL 2.17.3 is too old", "2.18"}},
	{name: "old numbering", world: "n0 A", change: choices{nccl(2708)}, code: NCCLOld, text: []string{"2.7.8"}},
	{name: "the oldest", world: "n0 A", change: choices{nccl(21800)}, want: "0", reasons: OneVisible},
	{name: "versions do not matter without devices", world: "n0 - -", change: choices{on(1, func(r *Rank) { r.NCCL = 2 })}, want: "-1 -1"},

	// Wishes.
	{name: "asked for by all", world: "n0 AB=1 AB=0", want: "1 0", reasons: AskedFor},
	{name: "asked for by one, the others step aside", world: "n0 ABC ABC=0 ABC", want: "1 0 2", reasons: "matching,asked for,local rank"},
	{name: "asked for what it would have got", world: "n0 AB AB=1", want: "0 1", reasons: "local rank,asked for"},
	{name: "asked for the only one", world: "n0 A=0", want: "0", reasons: AskedFor},
	{name: "two asked for the same", world: "n0 AB=0 AB=0", code: SameDevice,
		text: []string{"ranks 0-1 on n0", "rank 0 asked for device 0 (" + made("n0", "A").ID(), "rank 1 asked for device 0", offFirst, "REACTANT_MPI_DEVICE"}},
	{name: "the same ordinal, another device", world: "n0 AB=0 BA=0", want: "0 0", reasons: AskedFor},
	{name: "the same device under other ordinals", world: "n0 AB=0 BA=1", code: SameDevice},
	{name: "the same ordinal on two nodes", world: "n0 AB=1; n1 AB=1", want: "1 1", reasons: AskedFor},
	{name: "asked for another's only one", world: "n0 AB=0 A", code: SameDevice, text: []string{"rank 0 asked for device 0", "rank 1 sees only GPU-"}},
	{name: "local rank as a wish under gpus-per-task", world: "n0 A=0 B=1", change: choices{on(every, visible("CUDA_VISIBLE_DEVICES=0"))}, code: Option,
		text: []string{"rank 1 on n0: asked for device 1, but sees 1 device (ordinals 0 to 0; CUDA_VISIBLE_DEVICES=0)", "--gpus-per-task"}, not: []string{"rank 0"}},
	{name: "a wish below zero", world: "n0 AB=-2", code: Option, text: []string{"asked for device -2"}},

	// Contexts that are active already.
	{name: "already in use", world: "n0 AB*", want: "1", reasons: ActiveContext},
	{name: "already in use by all", world: "n0 AB* A*B", want: "1 0", reasons: ActiveContext},
	{name: "already in use by one, the others step aside", world: "n0 AB A*B", want: "1 0", reasons: "matching,active context"},
	{name: "in use and asked for", world: "n0 AB*=1", want: "1", reasons: AskedFor},
	{name: "in use, another asked for", world: "n0 AB*=0", code: Visible, text: []string{"rank 0 on n0: asked for device 0 (" + made("n0", "A").ID(), "already uses device 1 (" + made("n0", "B").ID(), "REACTANT_MPI_DEVICE"}},
	{name: "two use the same", world: "n0 A*B A*B", code: SameDevice, text: []string{"rank 0 already uses device 0", "rank 1 already uses device 0", offFirst, "initialize before"}},
	{name: "one uses what the other asked for", world: "n0 A*B AB=0", code: SameDevice, text: []string{"rank 0 already uses device 0", "rank 1 asked for device 0"}},
	{name: "two in use tell nothing", world: "n0 A*B* A*B*", want: "0 1", reasons: LocalRank},
	{name: "two in use and a wish", world: "n0 A*B*=1", want: "1", reasons: AskedFor},
	{name: "the only device is in use", world: "n0 A*", want: "0", reasons: ActiveContext},

	// NUMA.
	{name: "bound to the sockets of their devices", world: "n0 ABCD@0-3 ABCD@4-7 ABCD@8-11 ABCD@12-15", want: "0 1 2 3", reasons: LocalRank},
	{name: "bound the other way round", world: "n0 ABCD@8-11 ABCD@12-15 ABCD@0-3 ABCD@4-7", want: "2 3 0 1", reasons: NUMA},
	{name: "bound in turn", world: "n0 ABCD@0 ABCD@8 ABCD@1 ABCD@9", want: "0 2 1 3", reasons: NUMA},
	{name: "bound to sockets, several to a socket", world: "n0 ABCD@0-7 ABCD@8-15 ABCD@0-7 ABCD@8-15", want: "0 2 1 3", reasons: NUMA},
	{name: "one rank on the second socket", world: "n0 ABCD@8-15", want: "2", reasons: NUMA},
	{name: "not bound", world: "n0 ABCD@0-15 ABCD@0-15", want: "0 1", reasons: LocalRank},
	{name: "masks overlap", world: "n0 ABCD@8-12 ABCD@12-15", want: "0 1", reasons: LocalRank},
	{name: "a rank without a near device", world: "n0 AB@8-11 AB@0-7", want: "0 1", reasons: LocalRank},
	{name: "three on a socket of two devices", world: "n0 ABCD@8 ABCD@9 ABCD@10", want: "0 1 2", reasons: LocalRank},
	{name: "an unknown mask", world: "n0 ABCD@8-15 ABCD", want: "0 1", reasons: LocalRank},
	{name: "unknown places", world: "n0 ABCD@8 ABCD@9", change: choices{on(every, func(r *Rank) {
		for i := range r.GPUs {
			r.GPUs[i].LocalCPUs = CPUSet{}
		}
	})}, want: "0 1", reasons: LocalRank},
	{name: "an order of one's own beats NUMA", world: "n0 ABCD@8 BADC@9", want: "0 0", reasons: Matching},
	{name: "a wish beats NUMA", world: "n0 ABCD=0@8 ABCD@9", want: "0 2", reasons: "asked for,NUMA"},
	{name: "one node bound, the other not", world: "n0 ABCD@8 ABCD@0; n1 ABCD ABCD", want: "2 0 0 1", reasons: "NUMA,NUMA,local rank,local rank"},

	// MIG.
	{name: "an instance each, of different GPUs", world: "n0 A1 B1", want: "0 0", reasons: OneVisible},
	{name: "instances of one GPU", world: "n0 A1 A2", code: SameDevice, text: []string{"ranks 0-1 on n0", "MIG-", "0000:01:00.0", "NCCL 2.28.9 refuses", offFirst, "NCCL_MULTI_RANK_GPU_ENABLE=1", "per whole GPU"}},
	{name: "instances of one GPU, new NCCL without the switch", world: "n0 A1 A2", change: choices{nccl(23007)}, code: SameDevice, text: []string{"NCCL_MULTI_RANK_GPU_ENABLE=1"}},
	{name: "instances of one GPU, the switch on", world: "n0 A1 A2", change: choices{shared(23102)}, want: "0 0", reasons: OneVisible},
	{name: "instances of one GPU, the switch on too old an NCCL", world: "n0 A1 A2", change: choices{shared(22907)}, code: SameDevice, text: []string{"here 2.29.7"}},
	{name: "instances are spread over the GPUs", world: "n0 A1A2B1B2 A1A2B1B2", want: "0 2", reasons: "local rank,matching"},
	{name: "instances are spread even if they may be shared", world: "n0 A1A2B1B2 A1A2B1B2 A1A2B1B2", change: choices{shared(23102)}, want: "0 1 2", reasons: LocalRank},
	{name: "instances in two containers are of two hosts for NCCL", world: "n0/c0 A1; n0/c1 A2", want: "0 0", reasons: OneVisible},
	{name: "the same instance", world: "n0 A1 A1", code: FewDevices},

	// Containers.
	{name: "containers that see the same devices", world: "n0/c0 AB; n0/c1 AB", want: "0 1", reasons: LocalRank},
	{name: "containers with their own devices", world: "n0/c0 AB AB; n0/c1 CD CD", want: "0 1 0 1", reasons: LocalRank},
	{name: "containers that share the only device", world: "n0/c0 A; n0/c1 A", code: FewDevices, text: []string{"ranks 0-1 on c0, c1"}},
	{name: "machine unknown", world: "n0 AB AB", change: choices{on(every, func(r *Rank) { r.Machine = 0 })}, want: "0 1", reasons: LocalRank},

	// Several ranks to a device.
	{name: "shared by two", world: "n0 A A", change: choices{shared(23007)}, want: "0 0", reasons: Shared},
	{name: "shared in turn", world: "n0 AB AB AB AB", change: choices{shared(23007)}, want: "0 1 0 1", reasons: Shared},
	{name: "shared as little as can be", world: "n0 AB AB AB", change: choices{shared(23007)}, want: "0 1 0", reasons: "shared device,local rank,shared device"},
	{name: "the switch changes nothing where there are enough", world: "n0 AB AB", change: choices{shared(23007)}, want: "0 1", reasons: LocalRank},
	{name: "shared unevenly where lists demand it", world: "n0 A A A AB", change: choices{shared(23007)}, want: "0 0 0 1", reasons: "shared device,shared device,shared device,matching"},
	{name: "shared by wish", world: "n0 AB=1 AB=1", change: choices{shared(23007)}, want: "1 1", reasons: AskedFor},
	{name: "shared by wish, the others take the rest", world: "n0 AB AB AB=0", change: choices{shared(23007)}, want: "1 0 0", reasons: "matching,shared device,asked for"},
	{name: "the switch on some ranks only", world: "n0 A A", change: choices{shared(23007), on(1, func(r *Rank) { r.MultiRank = false })}, code: FewDevices, text: []string{"now not on rank 1 on n0"}},
	{name: "RCCL knows no switch", world: "n0 A A", change: choices{shared(23007), on(every, func(r *Rank) { r.Vendor = HIP })}, code: FewDevices},
	{name: "exclusive devices are not shared", world: "n0 A A", change: choices{shared(23007), on(every, func(r *Rank) { r.GPUs[0].ComputeExclusive = true })}, code: FewDevices, text: []string{"nvidia-smi -c DEFAULT"}},
	{name: "exclusive devices are shared by wish", world: "n0 A=0 A=0", change: choices{shared(23007), on(every, func(r *Rank) { r.GPUs[0].ComputeExclusive = true })}, want: "0 0", reasons: AskedFor},
	{name: "the exclusive one of two is spared", world: "n0 AB AB AB", change: choices{shared(23007), on(every, func(r *Rank) { r.GPUs[0].ComputeExclusive = true })}, want: "0 1 1", reasons: "local rank,shared device,shared device"},
	{name: "exclusive devices without sharing", world: "n0 AB AB", change: choices{on(every, func(r *Rank) { r.GPUs[0].ComputeExclusive = true })}, want: "0 1", reasons: LocalRank},

	// Ranks that failed before, and options that differ.
	{name: "a failing rank", world: "n0 A B; n1 A", change: choices{on(2, func(r *Rank) { r.Code, r.Text = 67, "cuInit: 803 driver/library mismatch" })}, code: 67,
		text: []string{"1 of 3 ranks failed: rank 2 on n1: cuInit: 803"}},
	{name: "failing ranks with one text", world: "n0 A A A; n1 A", change: choices{on(every, func(r *Rank) { r.Code, r.Text = 67, "cuInit: 999" })}, code: 67,
		text: []string{"4 of 4", "ranks 0-3 on n0, n1: cuInit: 999"}},
	{name: "failing ranks: the lowest gives the code, each its text", world: "n0 A A A", change: choices{on(1, func(r *Rank) { r.Code, r.Text = 66, "two" }), on(2, func(r *Rank) { r.Code = 67 })}, code: 66,
		text: []string{"2 of 3", "rank 1 on n0: two", "rank 2 on n0: code 67"}},
	{name: "a failing rank alone", world: "n0 A", change: choices{on(0, func(r *Rank) { r.Code, r.Text = 67, "cuInit: 999" })}, code: 67, text: []string{"cuInit: 999"}, not: []string{"rank"}},
	{name: "failing comes before all else", world: "n0 - A=7", change: choices{on(0, func(r *Rank) { r.Code = 20 })}, code: 20},
	{name: "modes differ", world: "n0 A B", change: choices{on(1, func(r *Rank) { r.Mode = Off })}, code: Mismatch,
		text: []string{"rank 0 on n0: REACTANT_MPI_GPU=auto", "rank 1 on n0: REACTANT_MPI_GPU=off"}},
}

func ordinals(list []Choice) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprint(c.Ordinal))
	}
	return strings.Join(out, " ")
}

func TestChoose(t *testing.T) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			ranks := world(t, test.world, test.change...)
			list, problem := Choose(ranks)
			if test.code != 0 {
				require.NotNil(t, problem, "%v", list)
				require.Nil(t, list)
				t.Log(problem.Text)
				require.Equal(t, test.code, problem.Code, problem.Text)
				for _, text := range test.text {
					require.Contains(t, problem.Text, text)
				}
				for _, text := range test.not {
					require.NotContains(t, problem.Text, text)
				}
				return
			}
			require.Nil(t, problem)
			require.Equal(t, test.want, ordinals(list), "%v", list)
			require.Equal(t, strings.HasPrefix(test.want, "-1"), HostOnly(list))
			for _, text := range test.text {
				require.Contains(t, list[0].Reason, text)
			}
			reasons := strings.Split(test.reasons, ",")
			for i, c := range list {
				if test.reasons != "" {
					require.Equal(t, reasons[i%len(reasons)], c.Reason, "rank %d of %v", i, list)
				}
			}
		})
	}
	require.GreaterOrEqual(t, len(cases), 60)
}

// Where gpu = auto, leaving GPUs alone is the first advice of every problem that is about GPUs; where it is required, it is none.
func TestFirstAdvice(t *testing.T) {
	for _, test := range cases {
		if test.code < NoNCCL || strings.Contains(test.name, "fail") {
			continue
		}
		ranks := world(t, test.world, test.change...)
		_, p := Choose(ranks)
		first := strings.Index(p.Text, "; or ")
		off := strings.Index(p.Text, "REACTANT_MPI_GPU=off")
		require.Equal(t, ranks[0].Mode == Auto, off >= 0, p.Text)
		require.True(t, first < 0 || off < first, p.Text)
	}
}

func TestNobody(t *testing.T) {
	list, problem := Choose(nil)
	require.Empty(t, list)
	require.Nil(t, problem)
	require.False(t, HostOnly(list))
	require.EqualError(t, &Problem{NoDevice, "none"}, "none (code 61)")
}

// Every failing rank is named on a large job too, and the text stays readable.
func TestTextsStayShort(t *testing.T) {
	var text strings.Builder
	for n := range 512 {
		fmt.Fprintf(&text, "node%03d ABCD ABCD ABCD ABCD ABCD ABCD ABCD ABCD;", n)
	}
	spec := strings.TrimSuffix(text.String(), ";")
	for name, change := range map[string]func(int, *Rank){
		"failed":   func(i int, r *Rank) { r.Code, r.Text = 67, strings.Repeat("x", textSize) },
		"own text": func(i int, r *Rank) { r.Code, r.Text = 67, fmt.Sprint(strings.Repeat("x", textSize-8), i) },
		"few":      func(int, *Rank) {},
		"versions": func(i int, r *Rank) { r.NCCL += i },
		"blind":    func(i int, r *Rank) { r.GPUs, r.Visible = r.GPUs[:i%2], strings.Repeat("v", visSize) },
		"asked":    func(i int, r *Rank) { r.Want = i },
		"torn":     func(i int, r *Rank) { r.Want, r.GPUs[1].Active = 0, true },
		"same":     func(i int, r *Rank) { r.Want = 0 },
	} {
		_, p := Choose(world(t, spec, change))
		require.NotNil(t, p, name)
		// An error record holds 8 KB.
		require.Less(t, len(p.Text), 6000, name)
	}
}

func TestLargeJob(t *testing.T) {
	var ranks []Rank
	for n := range 512 {
		host := fmt.Sprintf("node%03d", n)
		for l := range 8 {
			r := Rank{Host: host, Node: number(host), Machine: number(host), Vendor: CUDA, NCCL: 22809, Want: Any}
			for d := range 8 {
				r.GPUs = append(r.GPUs, made(host, string(rune('A'+d))))
			}
			r.CPUs.Add((l + 4) % 8 * 4)
			ranks = append(ranks, r)
		}
	}
	list, p := Choose(ranks)
	require.Nil(t, p)
	for i, c := range list {
		require.Equal(t, Choice{(i + 4) % 8, NUMA}, c)
	}
	// The same number of ranks on one machine, where they share 8 devices.
	for i := range ranks {
		ranks[i] = ranks[i%8]
		ranks[i].NCCL, ranks[i].MultiRank, ranks[i].CPUs = 23007, true, CPUSet{}
	}
	list, p = Choose(ranks)
	require.Nil(t, p)
	for i, c := range list {
		require.Equal(t, Choice{i % 8, Shared}, c)
	}
	ranks[9].MultiRank = false
	_, p = Choose(ranks)
	require.Equal(t, FewDevices, p.Code)
}
