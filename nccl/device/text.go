package device

import (
	"fmt"
	"slices"
	"strings"
)

// some keeps a list readable on large jobs.
func some(list []string, most int) string {
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}

// ranges writes ascending numbers as "0-3,8".
func ranges(list []int, between string) string { return strings.Join(runs(list), between) }

func runs(list []int) []string {
	var out []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if end == i {
			out = append(out, fmt.Sprint(list[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[end]))
		}
		i = end + 1
	}
	return out
}

// list names ranks and their hosts: "ranks 0-3, 8 on n0, n2".
func (j *job) list(ranks []int) string {
	var hosts []string
	seen := map[string]bool{}
	for _, r := range ranks {
		if host := j.ranks[r].Host; !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	word := "rank"
	if len(ranks) > 1 {
		word = "ranks"
	}
	return fmt.Sprintf("%s %s on %s", word, some(runs(ranks), 8), some(hosts, 4))
}

// by lists what ranks (nil = all) say, those that say the same together, so that each is named even on large jobs; silent ones are left out.
func (j *job) by(ranks []int, say func(*Rank) string) string {
	if ranks == nil {
		ranks = j.which(func(*Rank) bool { return true })
	}
	var order []string
	who := map[string][]int{}
	for _, r := range ranks {
		text := say(&j.ranks[r])
		if who[text] == nil {
			order = append(order, text)
		}
		who[text] = append(who[text], r)
	}
	var out []string
	for _, text := range order {
		if text != "" {
			out = append(out, j.list(who[text])+": "+text)
		}
	}
	const most = 8
	if len(out) > most {
		return strings.Join(out[:most], "; ") + fmt.Sprintf("; and %d more", len(out)-most)
	}
	return strings.Join(out, "; ")
}

// told is what a rank knows of why it has nothing.
func told(r *Rank) string {
	switch {
	case r.Text == "":
		return r.Visible
	case r.Visible == "":
		return r.Text
	}
	return r.Text + "; " + r.Visible
}

// also appends an addition, if there is one.
func also(text, addition string) string {
	switch {
	case addition == "":
		return text
	case text == "":
		return "; " + addition
	}
	return text + " (" + addition + ")"
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func version(code int) string {
	if code < 10000 { // up to 2.8
		return fmt.Sprintf("%d.%d.%d", code/1000, code/100%10, code%100)
	}
	return fmt.Sprintf("%d.%d.%d", code/10000, code/100%100, code%100)
}

// advice joins cures. Who only has gpu = auto may not want a GPU communicator at all: that cure comes first.
func advice(mode Mode, cures ...string) string {
	if mode == Auto {
		cures = append([]string{"set REACTANT_MPI_GPU=off for a host communicator"}, cures...)
	}
	cures = slices.DeleteFunc(cures, func(c string) bool { return c == "" })
	return strings.Join(cures, "; or ")
}

// filteredTwice says that ROCm devices were picked by ordinals among what other ordinals left.
func filteredTwice(visible string) bool {
	first, second := false, false
	for _, word := range strings.Fields(visible) {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "ROCR_VISIBLE_DEVICES":
			first = true
		case "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL":
			second = true
		}
	}
	return first && second
}

// global are the ranks' numbers in the communicator.
func (g *group) global(places []int) []int {
	out := make([]int, len(places))
	for i, place := range places {
		out[i] = g.ranks[place]
	}
	return out
}

// sees lists the devices that the ranks may take.
func (g *group) sees(places []int) (ids []string) {
	var devices []int
	for _, i := range places {
		devices = append(devices, g.device[i]...)
	}
	slices.Sort(devices)
	for _, d := range slices.Compact(devices) {
		ids = append(ids, g.gpu[d].ID())
	}
	return ids
}

// claims tells how each rank comes to a device it must have.
func (g *group) claims(places []int) string {
	at := map[int]int{}
	for _, i := range places {
		at[g.ranks[i]] = i
	}
	var out []string
	for _, i := range places {
		rank := &g.job.ranks[g.ranks[i]]
		text := fmt.Sprintf("sees only %s", some(g.sees([]int{i}), 4))
		if o := g.forced[i]; o >= 0 {
			verb := "asked for"
			if g.active[i] {
				verb = "already uses"
			}
			text = fmt.Sprintf("%s device %d (%s)", verb, o, rank.GPUs[o].ID())
		}
		out = append(out, fmt.Sprintf("rank %d %s", g.ranks[i], text))
	}
	return some(out, 8)
}

// counts are the devices that ranks of the machine see together.
func (g *group) counts() int {
	seen := map[identity]bool{}
	for _, r := range g.machine {
		for o, gpu := range g.job.ranks[r].GPUs {
			seen[gpu.identity(o)] = true
		}
	}
	return len(seen)
}

// variable is the visibility variable to recommend.
func (g *group) variable() string {
	if g.job.ranks[g.ranks[0]].Vendor == HIP {
		return "ROCR_VISIBLE_DEVICES"
	}
	return "CUDA_VISIBLE_DEVICES"
}

// shareCure is what lets several ranks have one device; "" where nothing does.
func (j *job) shareCure() string {
	without := j.which(func(r *Rank) bool { return !r.MultiRank })
	switch {
	case j.ranks[0].Vendor == HIP:
		return ""
	case j.ranks[0].NCCL < multiRankNCCL:
		return "share devices: NCCL ≥ 2.30 (here " + version(j.ranks[0].NCCL) + ") with NCCL_MULTI_RANK_GPU_ENABLE=1"
	case len(without) == len(j.ranks):
		return "share devices: NCCL_MULTI_RANK_GPU_ENABLE=1 (NCCL ≥ 2.30)"
	case len(without) > 0:
		return "share devices: NCCL_MULTI_RANK_GPU_ENABLE=1 on every rank (now not on " + j.list(without) + ")"
	}
	// It is on, and did not help: the devices are exclusive.
	return "allow several processes on a device (nvidia-smi -c DEFAULT); or under MPS name the devices with REACTANT_MPI_DEVICE"
}

// short is the verdict for ranks that cannot have a device each.
func (g *group) short(places []int) *Problem {
	j := g.job
	ranks := g.global(places)
	share := j.shareCure()
	all := g.counts()
	if _, stillShort := g.solve(seats{room: 1, free: true}); stillShort == nil {
		cures := []string{"leave option device and REACTANT_MPI_DEVICE unset, or give each rank of a node its own"}
		for _, i := range places {
			if g.active[i] {
				cures = []string{"call initialize before the program uses a GPU", "let each process use its own from the start (Slurm --gpus-per-task=1, or " +
					g.variable() + " by local rank)"}
			}
		}
		return problem(SameDevice, "%s would share a device: %s; %s", j.list(ranks), g.claims(places), advice(j.mode(), append(cures, share)...))
	}
	seen := some(g.sees(places), 4)
	visible := j.by(ranks, func(r *Rank) string { return r.Visible })
	if all < len(g.machine) {
		text := fmt.Sprintf("%s see only %s for %d ranks", j.list(g.machine), plural(all, "device"), len(g.machine))
		if len(g.machine) == len(places) || len(g.ranks) == len(g.machine) {
			text += ": " + some(g.sees(g.places()), 4)
		} else {
			text += "; " + j.list(ranks) + " only " + seen
		}
		return problem(FewDevices, "%s; %s", also(text, visible), advice(j.mode(),
			fmt.Sprintf("start at most %s on a node (Slurm --ntasks-per-node=%d)", plural(all, "rank"), all),
			fmt.Sprintf("give the node %d devices (Slurm --gpus-per-node=%d or --gpus-per-task=1) and hide none (%s, Slurm --gpu-bind=none)",
				len(g.machine), len(g.machine), g.variable()), share))
	}
	text := fmt.Sprintf("%s see only %s (%s), though the ranks of the node see %d together", j.list(ranks), plural(len(g.sees(places)), "device"), seen, all)
	return problem(Visible, "%s; %s", also(text, visible), advice(j.mode(),
		"let every rank see its node's devices (Slurm --gpu-bind=none, "+g.variable()+" unset)", "let each see one of its own (Slurm --gpus-per-task=1)", share))
}

func (g *group) places() []int {
	out := make([]int, len(g.ranks))
	for i := range out {
		out[i] = i
	}
	return out
}

// divided is the verdict for two ranks on instances of one GPU.
func (g *group) divided(a, b int, ordinals []int) *Problem {
	at := func(i int) GPU { return g.gpu[g.device[i][ordinals[i]]] }
	return problem(SameDevice, "%s would have parts of one GPU (%s and %s of %s), which %s %s refuses as a duplicate; %s",
		g.job.list(g.global([]int{a, b})), at(a).ID(), at(b).ID(), at(a).PCI, g.job.ranks[0].Vendor.library(), version(g.job.ranks[0].NCCL),
		advice(g.job.mode(), g.job.shareCure(), "start one rank per whole GPU"))
}
