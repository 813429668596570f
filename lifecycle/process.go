// Package lifecycle holds what initialize and finalize mean: the order of the steps, how ranks agree, what is undone when a step fails.
// It runs on the caller's thread from beginning to end; no goroutine is started and none outlives a call.
package lifecycle

import (
	"sync"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
	"reactantmpi/internal/handle"
	"reactantmpi/mpi"
)

// process is what the whole process shares. The lock is held while MPI is found and initialised and for short looks, never while
// waiting for other ranks: two threads may make two communicators in different order on different ranks.
var process struct {
	sync.Mutex
	lib       *mpi.Library
	first     Options // options (process) of the first initialize
	ours      bool    // this library called MPI_Init
	outOfStep bool    // a communicator has ended whose ranks were: MPI_Finalize might never return
	prepared  bool    // verified, end watched
	modes     handle.Modes
	gpus      gpus
	trace     string // folder of the trace; empty: there is none
}

// attach finds, binds and initialises MPI, or gives the one that is there.
func attach(o Options, steps *timings) (*mpi.Library, *cerr.Error) {
	process.Lock()
	defer process.Unlock()
	if err := sameProcessOptions(o); err != nil {
		return nil, err
	}
	if process.lib == nil {
		if o.LogFn != nil {
			cerr.LogTo(o.LogFn, o.LogArg)
		}
		found, err := mpi.Find(dl.Host{}, mpi.Wish{Library: o.LibMPI, Dirs: o.MPIDirs})
		if err != nil {
			return nil, err
		}
		steps.mark("find")
		lib, err := mpi.Bind(found)
		if err != nil {
			return nil, err
		}
		if !lib.Initialized() && o.LauncherCheck != 0 {
			if err := mpi.CheckBeforeInit(found, mpi.Getenv); err != nil {
				return nil, err
			}
		}
		process.lib, process.first = lib, o
		steps.mark("bind")
	}
	lib := process.lib
	if lib.Finalized() {
		return nil, cerr.New(cerr.MPIFinalized, "MPI has been finalized and cannot be initialised again in this process; library %s", lib.Path)
	}
	if !lib.Initialized() {
		if err := lib.Init(o.ThreadLevel); err != nil {
			return nil, err
		}
		process.ours = true
		steps.mark("MPI_Init_thread")
	}
	if err := lib.MakeErrorsReturn(); err != nil {
		return nil, err
	}
	level := lib.ThreadLevel()
	if err := checkThread(lib, level); err != nil {
		return nil, err
	}
	if !process.prepared {
		if err := prepare(lib, level); err != nil {
			return nil, err
		}
		steps.mark("verify")
	}
	return lib, nil
}

// prepare looks at a freshly initialised MPI once.
func prepare(lib *mpi.Library, level int) *cerr.Error {
	if err := lib.Verify(); err != nil {
		return err
	}
	rank, _, err := lib.RankSize(lib.World())
	if err != nil {
		return err
	}
	cerr.LogRank(rank)
	switch level {
	case mpi.Multiple:
	case mpi.Serialized:
		process.modes |= handle.OneAtATime
	default:
		process.modes |= handle.MainThread
	}
	if lib.CrashesInReduce() {
		process.modes |= handle.CopyReduce
	}
	if err := lib.WatchEnd(); err != nil {
		cerr.Log(cerr.Debug, "each call asks whether MPI has ended: %s", err.Text)
		process.modes |= handle.LookFinalized
	}
	process.prepared = true
	cerr.Log(cerr.Info, "using %s (%s, %s), %s; thread level %s", lib.Path, lib.Family, lib.Version, lib.How, mpi.ThreadNames[level])
	return nil
}

// enter takes MPI for this call where the thread level lets one thread in at a time, data calls included (capi/flight.h).
func enter() (leave func()) {
	process.Lock()
	one := process.modes&handle.OneAtATime != 0
	process.Unlock()
	if !one {
		return func() {}
	}
	handle.Enter()
	return handle.Leave
}

// checkThread refuses a thread that MPI's thread level keeps out.
func checkThread(lib *mpi.Library, level int) *cerr.Error {
	if level <= mpi.Funneled && !lib.IsMainThread() {
		return cerr.New(cerr.Thread, "MPI was initialised with thread level %s, so only the thread that initialised it may call; "+
			"initialise MPI with MPI_THREAD_MULTIPLE", mpi.ThreadNames[level])
	}
	return nil
}

// sameProcessOptions refuses an option that counts for the whole process and differs from the first initialize.
func sameProcessOptions(o Options) *cerr.Error {
	if process.lib == nil {
		return nil
	}
	differs := ""
	sys := dl.Host{}
	switch {
	case o.LibMPI != "" && o.LibMPI != process.first.LibMPI && sys.RealPath(o.LibMPI) != sys.RealPath(process.lib.Path):
		differs = "libmpi=" + o.LibMPI
	case o.MPIDirs != "" && process.first.MPIDirs != "" && o.MPIDirs != process.first.MPIDirs:
		differs = "mpi_dirs=" + o.MPIDirs
	case o.LevelGiven && o.ThreadLevel != process.first.ThreadLevel:
		differs = "thread_level=" + mpi.ThreadNames[o.ThreadLevel]
	case o.LibNCCL != "" && process.gpus.nccl != nil && sys.RealPath(o.LibNCCL) != sys.RealPath(process.gpus.nccl.Path) && o.LibNCCL != process.first.LibNCCL:
		differs = "libnccl=" + o.LibNCCL
	case o.Trace != "" && o.Trace != process.trace && (process.trace != "" || handle.Next() > 1):
		differs = "trace=" + o.Trace
	case o.LogFn != nil && (o.LogFn != process.first.LogFn || o.LogArg != process.first.LogArg):
		differs = "log_fn"
	}
	if differs == "" {
		return nil
	}
	return cerr.New(cerr.State, "%s differs from the first initialize of this process, which bound %s; give it there, or leave it out", differs, process.lib.Path)
}
