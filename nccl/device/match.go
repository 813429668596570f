package device

import "slices"

// seating gives each rank one of the seats that it may take; a seat takes room[s] ranks.
//
// Of all complete seatings it finds the first: going through the ranks in order, each takes the least taken seat, among equals the one that
// it lists first, that leaves a complete seating for all others. With room for one that is "lowest ordinal first"; with the same list on all
// ranks it is rank i on seat i, and with room for several rank i on seat i modulo their number.
type seating struct {
	wishes  [][]int // of each rank, most wanted first
	room    []int
	seat    []int   // of each rank, -1 = none yet
	holders [][]int // of each seat
	load    []int   // of each seat: ranks that stay there
	fixed   []bool
}

// solve gives each rank's seat, or the ranks that have too few seats among them all.
func solve(wishes [][]int, room []int) (seat, short []int) {
	t := &seating{wishes: wishes, room: room, seat: make([]int, len(wishes)), holders: make([][]int, len(room)),
		load: make([]int, len(room)), fixed: make([]bool, len(wishes))}
	var order, free []int
	for r, w := range wishes {
		t.seat[r] = -1
		if len(w) == 1 { // no choice: first, so that the others see the load
			order = append(order, r)
		} else {
			free = append(free, r)
		}
	}
	order = append(order, free...)
	for _, r := range order {
		if !t.settle(r, func(s int) int { return len(t.holders[s]) }) {
			return nil, t.rivals(r)
		}
	}
	for _, r := range order {
		t.settle(r, func(s int) int { return t.load[s] })
		t.fixed[r] = true
		t.load[t.seat[r]]++
	}
	return t.seat, nil
}

// settle puts a rank on the best seat that it can have while nobody who has a seat loses it.
func (t *seating) settle(r int, taken func(seat int) int) bool {
	wishes := slices.Clone(t.wishes[r])
	slices.SortStableFunc(wishes, func(a, b int) int { return taken(a) - taken(b) })
	for _, s := range wishes {
		if t.seat[r] == s || t.load[s] < t.room[s] && t.take(r, s) {
			return true
		}
	}
	return false
}

// take moves a rank to a seat and, where that is one too many, others along a chain that ends at a free one.
func (t *seating) take(r, s int) bool {
	old := t.seat[r]
	t.move(r, s)
	if len(t.holders[s]) <= t.room[s] || t.relieve(r, s) {
		return true
	}
	t.move(r, old)
	return false
}

func (t *seating) move(r, s int) {
	if old := t.seat[r]; old >= 0 {
		at := slices.Index(t.holders[old], r)
		t.holders[old] = slices.Delete(t.holders[old], at, at+1)
	}
	t.seat[r] = s
	if s >= 0 {
		t.holders[s] = append(t.holders[s], r)
	}
}

// relieve frees the seat of one rank, not of newcomer: the shortest chain of moves of ranks that are not fixed.
func (t *seating) relieve(newcomer, seat int) bool {
	by := map[int]int{seat: -1} // the rank that would move to the seat
	for queue := []int{seat}; len(queue) > 0; queue = queue[1:] {
		for _, r := range t.holders[queue[0]] {
			if r == newcomer || t.fixed[r] {
				continue
			}
			for _, s := range t.wishes[r] {
				if _, seen := by[s]; seen {
					continue
				}
				by[s] = r
				if len(t.holders[s]) < t.room[s] {
					for s != seat {
						mover := by[s]
						from := t.seat[mover]
						t.move(mover, s)
						s = from
					}
					return true
				}
				queue = append(queue, s)
			}
		}
	}
	return false
}

// rivals are a rank without a seat and all that hold the seats it could have had, directly or by a chain: more ranks than seats.
func (t *seating) rivals(r int) []int {
	out, seen := []int{r}, map[int]bool{}
	for i := 0; i < len(out); i++ {
		for _, s := range t.wishes[out[i]] {
			if !seen[s] {
				seen[s] = true
				out = append(out, t.holders[s]...)
			}
		}
	}
	slices.Sort(out)
	return out
}
