package lifecycle

import (
	"encoding/json"
	"unsafe"

	"reactantmpi/client"
	"reactantmpi/internal/cerr"
	"reactantmpi/internal/handle"
	"reactantmpi/mpi"
	"reactantmpi/nccl"
	"reactantmpi/nccl/device"
)

type describedMPI struct {
	Path          string `json:"path"`
	ABI           string `json:"abi"`
	Version       string `json:"version"`
	Found         string `json:"found"`
	ThreadLevel   string `json:"thread_level,omitempty"`
	InitialisedBy string `json:"initialised_by,omitempty"`
	State         string `json:"state"`
	Repaired      int    `json:"repaired_operations,omitempty"`
}

type describedComm struct {
	ID        int            `json:"id"`
	State     string         `json:"state"`
	Rank      int            `json:"rank"`
	Size      int            `json:"size"`
	LocalRank int            `json:"local_rank"`
	LocalSize int            `json:"local_size"`
	Host      string         `json:"host"`
	Hosts     map[string]int `json:"hosts"`  // name: ranks
	Device    *describedGPU  `json:"device"` // null: host communicator
	DeviceWhy string         `json:"device_reason"`
	Options   map[string]any `json:"options"`
	Steps     []step         `json:"steps"`
	Error     *describedErr  `json:"error"`
	Refs      int            `json:"references"`
}

type describedGPU struct {
	Ordinal     int                 `json:"ordinal"`
	ID          string              `json:"id"`
	PCI         string              `json:"pci"`
	Runtime     string              `json:"runtime"`
	RuntimePath string              `json:"runtime_path"`
	Driver      int                 `json:"driver"`
	NCCL        string              `json:"nccl"`
	NCCLPath    string              `json:"nccl_path"`
	NCCLFound   string              `json:"nccl_found"`
	NCCLWarning string              `json:"nccl_warning,omitempty"`
	Failed      bool                `json:"failed"`
	Client      *client.Description `json:"client"`
}

type describedErr struct {
	Code int    `json:"code"`
	Name string `json:"name"`
	Text string `json:"text"`
}

type described struct {
	Version       string         `json:"version"`
	MPI           *describedMPI  `json:"mpi"`
	Comm          *describedComm `json:"communicator,omitempty"`
	Communicators []int          `json:"communicators,omitempty"` // ids of the live ones, when the process is described
}

// Describe gives everything known as JSON; word nil describes the process.
func Describe(version string, word unsafe.Pointer) ([]byte, *cerr.Error) {
	process.Lock()
	defer process.Unlock()
	out := described{Version: version}
	if l := process.lib; l != nil {
		out.MPI = describeMPI(l)
	}
	if word == nil {
		for id := 1; id < handle.Next(); id++ {
			if handle.ByID(id).State() == handle.Live {
				out.Communicators = append(out.Communicators, id)
			}
		}
	} else {
		c, ok := handle.ByWord(word)
		if !ok || c.State() != handle.Live && c.State() != handle.Ended {
			return nil, cerr.New(cerr.Comm, "%#x is not a live communicator", uintptr(word))
		}
		out.Comm = describeComm(c, sessionOf(c))
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, cerr.New(cerr.Memory, "%s", err)
	}
	return text, nil
}

func describeDevice(c handle.Comm, s *session) *describedGPU {
	g := s.gpu
	if g == nil {
		return nil
	}
	d := &describedGPU{Ordinal: g.choice.Ordinal, Runtime: g.runtime.Name, RuntimePath: g.runtime.Path, Driver: g.runtime.Version,
		NCCL: g.nccl.Name() + " " + nccl.VersionText(g.nccl.Version), NCCLPath: g.nccl.Path, NCCLFound: g.nccl.How, NCCLWarning: g.nccl.Warning,
		Failed: c.DeviceFailed()}
	if r, err := device.Decode(s.devices[s.rank]); err == nil && g.choice.Ordinal < len(r.GPUs) {
		d.ID, d.PCI = r.GPUs[g.choice.Ordinal].ID(), r.GPUs[g.choice.Ordinal].PCI.String()
	}
	if g.client != nil {
		about := g.client.Describe()
		d.Client = &about
	}
	return d
}

func describeMPI(l *mpi.Library) *describedMPI {
	d := &describedMPI{Path: l.Path, ABI: l.Family.String(), Version: l.Version, Found: l.How, State: "not initialised", Repaired: l.Repaired}
	switch {
	case l.Finalized():
		d.State = "finalized"
	case l.Initialized():
		d.State = "initialised"
		d.ThreadLevel = mpi.ThreadNames[l.ThreadLevel()]
	}
	if d.State != "not initialised" {
		d.InitialisedBy = map[bool]string{true: "reactant_mpi", false: "host"}[process.ours]
	}
	return d
}

func describeComm(c handle.Comm, s *session) *describedComm {
	localRank, localSize := local(s.ranks, s.rank)
	d := &describedComm{
		ID: c.ID(), State: map[handle.State]string{handle.Live: "live", handle.Ended: "MPI finalized"}[c.State()],
		Rank: s.rank, Size: len(s.ranks), LocalRank: localRank, LocalSize: localSize,
		Host: words(s.ranks[s.rank].Host[:]), Hosts: map[string]int{},
		Device: describeDevice(c, s), DeviceWhy: s.why,
		Options: map[string]any{
			"gpu": gpuNames[s.options.GPU], "thread_level": mpi.ThreadNames[s.options.ThreadLevel],
			"launcher_check": s.options.LauncherCheck != 0, "timeout_ms": s.options.TimeoutMS,
			"max_count": s.options.MaxCount, "libmpi": s.options.LibMPI, "mpi_dirs": s.options.MPIDirs,
			"call_timeout_ms": s.options.CallTimeoutMS,
			"device":          s.options.Device, "libnccl": s.options.LibNCCL, "libxla": s.options.LibXLA,
			"check": s.options.Check != 0, "half": halfNames[s.options.Half], "trace": process.trace,
		},
		Steps: s.steps.steps, Refs: s.refs,
	}
	for _, r := range s.ranks {
		d.Hosts[words(r.Host[:])]++
	}
	if code, text := c.FirstError(); code != 0 {
		d.Error = &describedErr{code, cerr.Code(code).String(), text}
	}
	return d
}
