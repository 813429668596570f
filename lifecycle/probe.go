package lifecycle

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
	"reactantmpi/nccl"
	"reactantmpi/nccl/device"
)

// gpus is what this process has for devices: found once, since a GPU runtime and an NCCL are for good.
type gpus struct {
	runtime *nccl.Runtime
	nccl    *nccl.Library
}

// probe looks for a GPU runtime, its devices and an NCCL, and writes down what this rank will tell the others. It fails only where
// something is there and broken; that there is nothing is an answer.
func probe(o Options, host string) (device.Rank, gpus) {
	sys := dl.Host{}
	r := device.Rank{Host: host, Node: nodeID(host), Machine: hash(bootID()), Want: o.Device, Mode: device.Mode(o.GPU)}
	if o.GPU == GPUOff {
		return r, gpus{}
	}
	r.CPUs, r.Visible = affinity(), visible(sys.Lookup)
	r.MultiRank = sys.Getenv("NCCL_MULTI_RANK_GPU_ENABLE") == "1"
	process.Lock()
	defer process.Unlock()
	g := &process.gpus
	if g.runtime == nil {
		runtime, err := nccl.FindRuntime(sys)
		if err != nil {
			r.Text = err.Text
			if err.Code == cerr.Driver {
				r.Code = int32(err.Code)
			}
			return r, gpus{}
		}
		g.runtime = runtime
	}
	r.Vendor, r.Driver = device.CUDA, g.runtime.Version
	if g.runtime.Name == "HIP" {
		r.Vendor = device.HIP
	}
	for i := range g.runtime.Count {
		gpu, err := describeGPU(g.runtime, i)
		if err != nil {
			r.Code, r.Text = int32(err.Code), err.Text
			return r, *g
		}
		r.GPUs = append(r.GPUs, gpu)
	}
	if g.nccl == nil {
		lib, err := findNCCL(sys, o, r.Vendor == device.HIP)
		if err != nil {
			r.Text = err.Text
			if err.Code != cerr.NoNCCL || o.LibNCCL != "" {
				r.Code = int32(err.Code)
			}
			return r, *g
		}
		g.nccl = lib
	}
	r.NCCL = g.nccl.Version
	return r, *g
}

func findNCCL(sys dl.System, o Options, hip bool) (*nccl.Library, *cerr.Error) {
	found, err := nccl.Find(sys, nccl.Wish{Library: o.LibNCCL, XLA: o.LibXLA, HIP: hip})
	if err != nil {
		return nil, err
	}
	if found.Warning != "" {
		if o.GPU == GPURequired {
			return nil, cerr.New(cerr.TwoNCCL, "%s", found.Warning)
		}
		cerr.Log(cerr.Warn, "%s", found.Warning)
	}
	return nccl.Bind(found)
}

func describeGPU(r *nccl.Runtime, ordinal int) (device.GPU, *cerr.Error) {
	info, err := r.Info(ordinal)
	if err != nil {
		return device.GPU{}, err
	}
	pci, perr := device.ParsePCI(info.PCI)
	if perr != nil {
		return device.GPU{}, cerr.New(cerr.Driver, "device %d: %s", ordinal, perr)
	}
	gpu := device.GPU{UUID: info.UUID, PCI: pci, NUMA: -1, Active: info.Active, MIG: info.MIG, ComputeExclusive: info.Exclusive}
	folder := "/sys/bus/pci/devices/" + pci.String()
	if n, err := strconv.Atoi(strings.TrimSpace(read(folder + "/numa_node"))); err == nil {
		gpu.NUMA = int16(n)
	}
	// What the kernel does not tell stays unknown.
	gpu.LocalCPUs, _ = device.ParseCPUs(read(folder + "/local_cpulist"))
	return gpu, nil
}

func read(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func affinity() device.CPUSet {
	var kernel unix.CPUSet
	var out device.CPUSet
	if unix.SchedGetaffinity(0, &kernel) != nil {
		return out
	}
	for cpu := range device.MaxCPUs {
		if kernel.IsSet(cpu) {
			out.Add(cpu)
		}
	}
	return out
}

// visible quotes the variables that hide devices, for messages; one that is set to nothing hides all.
func visible(lookup func(string) (string, bool)) string {
	var out []string
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"} {
		if value, ok := lookup(name); ok {
			out = append(out, fmt.Sprintf("%s=%s", name, value))
		}
	}
	return strings.Join(out, " ")
}
