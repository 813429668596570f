package device

import "slices"

// group is ranks of one machine that see devices in common, directly or by way of others: what one of them takes matters to the others
// and to nobody else. Containers on a machine fall into one group where they see the same GPUs, however their hosts are called.
type group struct {
	job     *job
	machine []int   // all ranks of the machine, for messages
	ranks   []int   // of the group, ascending
	device  [][]int // of each of them, by ordinal: number of the device
	gpu     []GPU   // by number of the device
	board   []int   // by number of the device: number of the whole GPU
	boards  int
	forced  []int // of each rank: the ordinal that it must have; -1 = free
	active  []bool
}

func (j *job) groups() []*group {
	type place struct {
		machine uint64
		board   identity
	}
	// Union of ranks over what they see.
	parent := make([]int, len(j.ranks))
	root := func(r int) int {
		for parent[r] != r {
			parent[r] = parent[parent[r]]
			r = parent[r]
		}
		return r
	}
	seen, machines := map[place]int{}, map[uint64][]int{}
	for r := range j.ranks {
		parent[r] = r
		rank := &j.ranks[r]
		machines[rank.machine()] = append(machines[rank.machine()], r)
		for o, g := range rank.GPUs {
			at := place{rank.machine(), g.board(o)}
			if first, is := seen[at]; is {
				// The lower rank stays the root: groups come out in the order of their first rank.
				a, b := root(first), root(r)
				parent[max(a, b)] = min(a, b)
			} else {
				seen[at] = r
			}
		}
	}
	var out []*group
	at := map[int]*group{}
	for r := range j.ranks {
		g := at[root(r)]
		if g == nil {
			g = &group{job: j, machine: machines[j.ranks[r].machine()]}
			at[root(r)] = g
			out = append(out, g)
		}
		g.ranks = append(g.ranks, r)
	}
	for _, g := range out {
		g.number()
	}
	return out
}

// number gives the devices of the group numbers, in the order in which its ranks name them.
func (g *group) number() {
	devices, boards := map[identity]int{}, map[identity]int{}
	for _, r := range g.ranks {
		rank := &g.job.ranks[r]
		list := make([]int, len(rank.GPUs))
		for o, gpu := range rank.GPUs {
			id := gpu.identity(o)
			n, is := devices[id]
			if !is {
				n = len(devices)
				devices[id] = n
				if _, is := boards[gpu.board(o)]; !is {
					boards[gpu.board(o)] = len(boards)
				}
				g.gpu = append(g.gpu, gpu)
				g.board = append(g.board, boards[gpu.board(o)])
			}
			list[o] = n
		}
		g.device = append(g.device, list)
		forced, active := rank.Want, false
		if forced == Any {
			forced = rank.active()
			active = forced >= 0
		}
		g.forced = append(g.forced, forced)
		g.active = append(g.active, active)
	}
	g.boards = len(boards)
}

// seats is a way to see the group as a question of seats.
type seats struct {
	boards bool // a seat is a whole GPU, not a device
	room   int  // ranks to a seat
	near   bool // only devices near the rank's CPUs
	free   bool // as if no rank had to have a certain device
}

// solve gives ordinals, or the group's ranks (places in g.ranks) that have too few seats.
func (g *group) solve(how seats) (ordinals, short []int) {
	wishes, room := make([][]int, len(g.ranks)), make([]int, len(g.gpu))
	for d, gpu := range g.gpu {
		room[d] = how.room
		if gpu.ComputeExclusive {
			room[d] = 1
		}
	}
	if how.boards {
		room = slices.Repeat([]int{how.room}, g.boards)
	}
	seat := func(i, o int) int {
		if how.boards {
			return g.board[g.device[i][o]]
		}
		return g.device[i][o]
	}
	demand := make([]int, len(room))
	for i := range g.ranks {
		if o := g.forced[i]; o >= 0 && !how.free {
			s := seat(i, o)
			wishes[i] = []int{s}
			demand[s]++
			if how.room > 1 { // a named device may be shared even if it is exclusive: MPS makes that work
				room[s] = max(room[s], demand[s])
			}
			continue
		}
		for o := range g.device[i] {
			if !how.near || g.near(i, o) {
				wishes[i] = append(wishes[i], seat(i, o))
			}
		}
	}
	taken, short := solve(wishes, room)
	for i := range taken {
		o := g.forced[i]
		if o < 0 || how.free {
			for o = 0; seat(i, o) != taken[i] || how.near && !g.near(i, o); {
				o++
			}
		}
		ordinals = append(ordinals, o)
	}
	return ordinals, short
}

// choose writes the choices of the group's ranks.
func (g *group) choose(choices []Choice) *Problem {
	how := seats{boards: true, room: 1}
	ordinals, short := g.solve(how)
	share := g.job.sharing()
	if short != nil {
		// MIG instances of one GPU: fine for ranks that NCCL takes for different hosts. (Where containers see several instances each, this may
		// refuse although another choice would do; a process of today sees one.)
		how.boards = false
		if ordinals, short = g.solve(how); short == nil && !share {
			if a, b := g.clash(ordinals); a >= 0 {
				return g.divided(a, b, ordinals)
			}
		}
	}
	if short != nil && share {
		// As few ranks to a device as can be. Only exclusive devices can defeat room for all.
		for how.room = (len(g.ranks)-1)/len(g.gpu) + 1; ; how.room++ {
			if ordinals, short = g.solve(how); short == nil || how.room >= len(g.ranks) {
				break
			}
		}
	}
	if short != nil {
		return g.short(short)
	}
	numa := false
	if g.bound() {
		how.near = true
		if near, none := g.solve(how); none == nil && !slices.Equal(near, ordinals) {
			if a, _ := g.clash(near); a < 0 || share {
				ordinals, numa = near, true
			}
		}
	}
	users := make([]int, len(g.gpu))
	for i, o := range ordinals {
		users[g.device[i][o]]++
	}
	same := g.sameLists()
	for i, o := range ordinals {
		reason := Matching
		switch {
		case g.active[i]:
			reason = ActiveContext
		case g.forced[i] >= 0:
			reason = AskedFor
		case users[g.device[i][o]] > 1:
			reason = Shared
		case len(g.device[i]) == 1:
			reason = OneVisible
		case numa:
			reason = NUMA
		case same && o == i:
			reason = LocalRank
		}
		choices[g.ranks[i]] = Choice{o, reason}
	}
	return nil
}

// clash finds two ranks of one host on instances of one GPU, which NCCL before 2.30 takes for the same device: it compares PCI addresses.
func (g *group) clash(ordinals []int) (int, int) {
	type place struct {
		node  uint64
		board int
	}
	first := map[place]int{}
	for i, o := range ordinals {
		at := place{g.job.ranks[g.ranks[i]].Node, g.board[g.device[i][o]]}
		if other, is := first[at]; is {
			return other, i
		}
		first[at] = i
	}
	return -1, -1
}

// sameLists says that all ranks of the group name the same devices in the same order.
func (g *group) sameLists() bool {
	for _, list := range g.device {
		if !slices.Equal(list, g.device[0]) {
			return false
		}
	}
	return true
}

func (g *group) near(i, o int) bool {
	return g.forced[i] >= 0 || g.job.ranks[g.ranks[i]].CPUs.Meets(g.gpu[g.device[i][o]].LocalCPUs)
}

// bound says that the CPU masks tell where each rank belongs: any two are disjoint, or equal as on launchers that bind to sockets, and every
// rank has a device near. Only for equal lists: an order of one's own (rotated CUDA_VISIBLE_DEVICES) is a wish.
func (g *group) bound() bool {
	if !g.sameLists() {
		return false
	}
	masks := map[CPUSet]bool{}
	for i, r := range g.ranks {
		near := false
		for o := range g.device[i] {
			near = near || g.near(i, o)
		}
		if !near {
			return false
		}
		masks[g.job.ranks[r].CPUs] = true
	}
	var all CPUSet
	for m := range masks {
		if all.Meets(m) {
			return false
		}
		for i := range all {
			all[i] |= m[i]
		}
	}
	return true
}

// sharing says that several ranks may use one device: NCCL's switch, which every rank must have set.
func (j *job) sharing() bool {
	return j.ranks[0].Vendor != HIP && j.ranks[0].NCCL >= multiRankNCCL && len(j.which(func(r *Rank) bool { return !r.MultiRank })) == 0
}
