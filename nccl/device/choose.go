package device

import (
	"cmp"
	"fmt"
)

// The codes of a Problem that arise here, as in the public header. A rank's own failure keeps its code.
const (
	Option       int32 = 11
	Mismatch     int32 = 30
	NoNCCL       int32 = 60
	NoDevice     int32 = 61
	FewDevices   int32 = 62
	SameDevice   int32 = 63
	NCCLVersions int32 = 64
	NCCLOld      int32 = 65
	Visible      int32 = 68
)

// Why a rank got its device.
const (
	AskedFor      = "asked for"
	ActiveContext = "active context"
	OneVisible    = "one visible device"
	LocalRank     = "local rank"
	NUMA          = "NUMA"
	Matching      = "matching"
	Shared        = "shared device"
	hostOnly      = "host only" // followed by why
)

// None is the ordinal of a rank in a host-only communicator.
const None = -1

// The version codes that matter.
const (
	oldestNCCL    = 21800
	multiRankNCCL = 23000
)

// Choice is the device of one rank.
type Choice struct {
	Ordinal int    // among its visible devices; None
	Reason  string // one of the constants above; "host only: …"
}

// Problem is the verdict that there are no choices.
type Problem struct {
	Code int32
	Text string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s (code %d)", p.Text, p.Code) }

func problem(code int32, format string, args ...any) *Problem {
	return &Problem{Code: code, Text: fmt.Sprintf(format, args...)}
}

// HostOnly says that the choices are those of a communicator without devices; Reason says why.
func HostOnly(choices []Choice) bool { return len(choices) > 0 && choices[0].Ordinal == None }

// Choose gives every rank of a communicator its device, or tells why that cannot be.
func Choose(ranks []Rank) ([]Choice, *Problem) {
	if len(ranks) == 0 {
		return nil, nil
	}
	j := &job{ranks: ranks}
	if p := j.failed(); p != nil {
		return nil, p
	}
	if p := j.modes(); p != nil {
		return nil, p
	}
	if why, p := j.nothing(); p != nil || why != "" {
		return j.host(why), p
	}
	for _, check := range []func() *Problem{j.partly, j.versions, j.wishes} {
		if p := check(); p != nil {
			return nil, p
		}
	}
	choices := make([]Choice, len(ranks))
	var first *Problem
	failing := map[uint64]bool{} // machines
	for _, g := range j.groups() {
		if p := g.choose(choices); p != nil {
			failing[ranks[g.ranks[0]].machine()] = true
			if first == nil {
				first = p
			}
		}
	}
	if first == nil {
		return choices, nil
	}
	if more := len(failing) - 1; more > 0 {
		first.Text += fmt.Sprintf("; %s more with such a problem", plural(more, "node"))
	}
	return nil, first
}

// job is what all ranks told.
type job struct{ ranks []Rank }

func (j *job) mode() Mode { return j.ranks[0].Mode }

// which are the ranks of which something is true.
func (j *job) which(is func(r *Rank) bool) []int {
	var out []int
	for i := range j.ranks {
		if is(&j.ranks[i]) {
			out = append(out, i)
		}
	}
	return out
}

func (j *job) host(why string) []Choice {
	if why == "" {
		return nil
	}
	out := make([]Choice, len(j.ranks))
	for i := range out {
		out[i] = Choice{None, hostOnly + ": " + why}
	}
	return out
}

func (j *job) failed() *Problem {
	failed := j.which(func(r *Rank) bool { return r.Code != 0 })
	if len(failed) == 0 {
		return nil
	}
	code := j.ranks[failed[0]].Code
	text := func(r *Rank) string { return cmp.Or(r.Text, fmt.Sprintf("code %d", r.Code)) }
	if len(j.ranks) == 1 {
		return problem(code, "%s", text(&j.ranks[0]))
	}
	return problem(code, "%d of %d ranks failed: %s", len(failed), len(j.ranks), j.by(failed, text))
}

// modes must be equal, for one rank that is off would leave the others waiting.
func (j *job) modes() *Problem {
	if other := j.which(func(r *Rank) bool { return r.Mode != j.mode() }); len(other) == 0 {
		return nil
	}
	return problem(Mismatch, "option gpu must be equal on every rank: %s",
		j.by(nil, func(r *Rank) string { return "REACTANT_MPI_GPU=" + r.Mode.String() }))
}

// nothing tells why no rank can have a GPU communicator; a problem where one was demanded.
func (j *job) nothing() (string, *Problem) {
	if j.mode() == Off {
		return "REACTANT_MPI_GPU=off", nil
	}
	devices := j.which(func(r *Rank) bool { return len(r.GPUs) > 0 })
	libraries := j.which(func(r *Rank) bool { return r.NCCL != 0 })
	var why string
	var code int32
	switch {
	case len(devices) == 0:
		why, code = "no rank sees a device", NoDevice
	case len(libraries) == 0:
		why, code = "no rank has NCCL or RCCL", NoNCCL
	default:
		return "", nil
	}
	if told := j.by(nil, told); told != "" {
		why += " (" + told + ")"
	}
	if j.mode() == Required {
		return "", problem(code, "gpu = required, but %s; %s", why, "set REACTANT_MPI_GPU=auto for a host communicator where there is none")
	}
	if asked := j.which(func(r *Rank) bool { return r.Want != Any }); len(asked) > 0 {
		return "", problem(code, "%s asked for device %d, but %s; %s", j.list(asked), j.ranks[asked[0]].Want, why,
			advice(j.mode(), "leave option device and REACTANT_MPI_DEVICE unset"))
	}
	return why, nil
}

// partly refuses a job in which some ranks lack what others have.
func (j *job) partly() *Problem {
	blind := j.which(func(r *Rank) bool { return len(r.GPUs) == 0 })
	if len(blind) > 0 {
		code, cures := NoDevice, []string{"start the ranks where the devices are (Slurm --gpus-per-node or --gpus-per-task)",
			"let every rank see its node's devices (Slurm --gpu-bind=none)", "initialize a communicator of the ranks that have a device"}
		if twice := j.which(func(r *Rank) bool { return len(r.GPUs) == 0 && filteredTwice(r.Visible) }); len(twice) > 0 {
			// Ordinals of the second variable count in what the first one left.
			code, cures = Visible, []string{"set ROCR_VISIBLE_DEVICES only: HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES and GPU_DEVICE_ORDINAL count " +
				"within what it leaves, so that both together hide every device"}
		}
		sees := j.which(func(r *Rank) bool { return len(r.GPUs) > 0 })
		return problem(code, "%d of %d ranks see no device: %s; %s", len(blind), len(j.ranks),
			j.by(blind, func(r *Rank) string { return also("none", told(r)) })+"; "+
				j.by(sees, func(r *Rank) string { return plural(len(r.GPUs), "device") }),
			advice(j.mode(), cures...))
	}
	without := j.which(func(r *Rank) bool { return r.NCCL == 0 })
	if len(without) > 0 {
		return problem(NoNCCL, "%d of %d ranks have no NCCL or RCCL: %s; %s", len(without), len(j.ranks),
			j.by(without, func(r *Rank) string { return also("none", r.Text) }),
			advice(j.mode(), "make the library that the other ranks use available on every node"))
	}
	return nil
}

func (j *job) versions() *Problem {
	show := func(r *Rank) string { return r.Vendor.library() + " " + version(r.NCCL) }
	first := &j.ranks[0]
	if len(j.which(func(r *Rank) bool { return r.NCCL != first.NCCL || r.Vendor != first.Vendor })) > 0 {
		return problem(NCCLVersions, "the ranks use different libraries, which cannot talk to each other: %s; %s", j.by(nil, show),
			advice(j.mode(), "make every node use the same one (REACTANT_MPI_LIBNCCL)"))
	}
	if first.NCCL < oldestNCCL {
		return problem(NCCLOld, "%s is too old: 2.18 or later is needed; %s", show(first),
			advice(j.mode(), "point REACTANT_MPI_LIBNCCL to a newer one"))
	}
	return nil
}

// wishes refuses ordinals that do not exist and those that contradict what the process already does.
func (j *job) wishes() *Problem {
	beyond := j.which(func(r *Rank) bool { return r.Want < Any || r.Want >= len(r.GPUs) })
	if len(beyond) > 0 {
		return problem(Option, "%s", j.by(beyond, func(r *Rank) string {
			return fmt.Sprintf("asked for device %d, but sees %s (ordinals 0 to %d%s)", r.Want, plural(len(r.GPUs), "device"), len(r.GPUs)-1, also("", r.Visible))
		})+"; "+advice(j.mode(), "leave option device and REACTANT_MPI_DEVICE unset: ordinals count within the visible devices, "+
			"and a rank with one device (Slurm --gpus-per-task) has only device 0", "let every rank see its node's devices (Slurm --gpu-bind=none)"))
	}
	torn := j.which(func(r *Rank) bool {
		active := r.active()
		return r.Want != Any && active >= 0 && r.GPUs[r.Want].identity(r.Want) != r.GPUs[active].identity(active)
	})
	if len(torn) > 0 {
		return problem(Visible, "%s", j.by(torn, func(r *Rank) string {
			active := r.active()
			return fmt.Sprintf("asked for device %d (%s), but the process already uses device %d (%s)", r.Want, r.GPUs[r.Want].ID(), active, r.GPUs[active].ID())
		})+"; "+advice(j.mode(), "leave option device and REACTANT_MPI_DEVICE unset to take the device in use", "call initialize before anything else uses a GPU"))
	}
	return nil
}

// active is the ordinal of the only device that the process uses already; -1 where there is none, or where several tell nothing.
func (r *Rank) active() int {
	at := -1
	for i, g := range r.GPUs {
		if !g.Active {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	return at
}
