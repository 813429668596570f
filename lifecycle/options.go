package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"reactantmpi/client"
	"reactantmpi/internal/cerr"
	"reactantmpi/mpi"
)

// Options are those of the public header. In Given an unset option is -1, 0 or empty, as REACTANT_MPI_OPTIONS_INIT leaves it; after
// Resolve every option has a value.
type Options struct {
	GPU           int
	ThreadLevel   int
	LevelGiven    bool // ThreadLevel is somebody's wish, not the default
	LauncherCheck int
	TimeoutMS     int64
	MaxCount      uint64
	LibMPI        string
	MPIDirs       string
	LogFn, LogArg unsafe.Pointer
	Device        int
	Client        int
	Preallocate   int
	NonBlocking   int
	MemFraction   float64
	LibNCCL       string
	LibXLA        string
	CallTimeoutMS int64
	Check         int
	Half          int
	Trace         string
}

// Unset is what REACTANT_MPI_OPTIONS_INIT gives.
var Unset = Options{GPU: -1, ThreadLevel: -1, LauncherCheck: -1, TimeoutMS: -1, Device: -1, Client: -1, Preallocate: -1, NonBlocking: -1,
	CallTimeoutMS: -1, Check: -1, Half: -1}

// Choose is the value of the client option that leaves the choice to what is in the process.
const chooseClient = -1

// The values of the gpu option.
const (
	GPUAuto = iota
	GPUOff
	GPURequired
)

var gpuNames = []string{"auto", "off", "required"}

var offOn = []string{"off", "on"}

// The values of the half option.
const (
	HalfPairwise = iota
	HalfByF32
)

var halfNames = []string{"pairwise", "f32"}

// maxCount is the largest number of elements handed to MPI at once. Above it some MPIs reduce nothing and say success.
const maxCount = 1 << 30

const environmentPrefix = "REACTANT_MPI_"

// choice is an option that is one of several words; -1 in the struct means unset.
func choice(getenv func(string) string, name string, given int, words []string, fallback int) (int, *cerr.Error) {
	if given != -1 {
		if given < 0 || given >= len(words) {
			return fallback, cerr.New(cerr.Option, "option %s is %d; it takes 0 to %d (%s)", strings.ToLower(name), given, len(words)-1, strings.Join(words, ", "))
		}
		return given, nil
	}
	value := getenv(environmentPrefix + name)
	if value == "" {
		return fallback, nil
	}
	for i, word := range words {
		if strings.EqualFold(value, word) {
			return i, nil
		}
	}
	return fallback, cerr.New(cerr.Option, "%s%s=%s; it takes %s", environmentPrefix, name, value, strings.Join(words, ", "))
}

// onOff is a choice of off and on; a variable may say 0 and 1 as well.
func onOff(getenv func(string) string, name string, given, fallback int) (int, *cerr.Error) {
	words := func(variable string) string {
		switch value := getenv(variable); value {
		case "0":
			return "off"
		case "1":
			return "on"
		default:
			return value
		}
	}
	return choice(words, name, given, offOn, fallback)
}

// number is an option that is a number from low to high; `unset` in the struct means unset.
func number(getenv func(string) string, name string, given, unset, low, high, fallback int64) (int64, *cerr.Error) {
	what := "option " + strings.ToLower(name) + " is " + strconv.FormatInt(given, 10)
	if given == unset {
		value := getenv(environmentPrefix + name)
		if value == "" {
			return fallback, nil
		}
		what = environmentPrefix + name + "=" + value
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fallback, cerr.New(cerr.Option, "%s; it takes a number", what)
		}
		given = n
	}
	if given < low || given > high {
		return fallback, cerr.New(cerr.Option, "%s; it takes %d to %d", what, low, high)
	}
	return given, nil
}

// fraction is an option above 0, up to 1; 0 means unset.
func fraction(getenv func(string) string, name string, given float64) (float64, *cerr.Error) {
	what := fmt.Sprintf("option %s is %g", strings.ToLower(name), given)
	if given == 0 {
		value := getenv(environmentPrefix + name)
		if value == "" {
			return 0, nil
		}
		what = environmentPrefix + name + "=" + value
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, cerr.New(cerr.Option, "%s; it takes a number", what)
		}
		given = f
	}
	if !(given > 0 && given <= 1) {
		return 0, cerr.New(cerr.Option, "%s; it takes a number above 0, up to 1", what)
	}
	return given, nil
}

func text(getenv func(string) string, name, given string) string {
	if given != "" {
		return given
	}
	return getenv(environmentPrefix + name)
}

// Resolve fills what is unset from the environment and the defaults. local is an error that the other ranks can still be told of;
// fatal one in an option that must be right before MPI is found. Both leave a usable value behind.
func Resolve(given Options, getenv func(string) string) (o Options, local, fatal *cerr.Error) {
	keep := func(first **cerr.Error, err *cerr.Error) {
		if *first == nil {
			*first = err
		}
	}
	var err *cerr.Error
	o = given
	o.ThreadLevel, err = choice(getenv, "THREAD_LEVEL", given.ThreadLevel, mpi.ThreadNames[:], mpi.Multiple)
	keep(&fatal, err)
	o.LevelGiven = given.ThreadLevel != -1 || getenv(environmentPrefix+"THREAD_LEVEL") != ""
	o.GPU, err = choice(getenv, "GPU", given.GPU, gpuNames, GPUAuto)
	keep(&local, err)
	o.LauncherCheck, err = onOff(getenv, "LAUNCHER_CHECK", given.LauncherCheck, 1)
	keep(&local, err)
	o.TimeoutMS, err = number(getenv, "TIMEOUT_MS", given.TimeoutMS, -1, 0, 1<<31-1, 300_000)
	keep(&local, err)
	if given.MaxCount > maxCount {
		o.MaxCount, err = maxCount, cerr.New(cerr.Option, "option max_count is %d; it takes 1 to %d", given.MaxCount, maxCount)
	} else {
		var m int64
		m, err = number(getenv, "MAX_COUNT", int64(given.MaxCount), 0, 1, maxCount, maxCount)
		o.MaxCount = uint64(m)
	}
	keep(&local, err)
	var n int64
	n, err = number(getenv, "DEVICE", int64(given.Device), -1, 0, 1<<15, -1)
	o.Device = int(n)
	keep(&local, err)
	o.Client, err = choice(getenv, "CLIENT", given.Client, client.ModeNames, chooseClient)
	keep(&local, err)
	o.Preallocate, err = onOff(getenv, "PREALLOCATE", given.Preallocate, -1)
	keep(&local, err)
	o.NonBlocking, err = onOff(getenv, "NCCL_NONBLOCKING", given.NonBlocking, 0)
	keep(&local, err)
	o.MemFraction, err = fraction(getenv, "MEMORY_FRACTION", given.MemFraction)
	keep(&local, err)
	o.CallTimeoutMS, err = number(getenv, "CALL_TIMEOUT_MS", given.CallTimeoutMS, -1, 0, 1<<31-1, 0)
	keep(&local, err)
	o.Check, err = onOff(getenv, "CHECK", given.Check, 0)
	keep(&local, err)
	o.Half, err = choice(getenv, "HALF", given.Half, halfNames, HalfPairwise)
	keep(&local, err)
	o.Trace = text(getenv, "TRACE", given.Trace)
	o.LibNCCL = text(getenv, "LIBNCCL", given.LibNCCL)
	o.LibXLA = text(getenv, "LIBXLA", given.LibXLA)
	o.LibMPI = text(getenv, "LIBMPI", given.LibMPI)
	o.MPIDirs = text(getenv, "MPI_DIRS", given.MPIDirs)
	return o, local, fatal
}

// otherThan tells which of the options given (those that are set) differ from what a communicator was made with; "" if none does.
func (s *session) otherThan(given Options) string {
	var other []string
	differs := func(name string, isSet, same bool, has string) {
		if isSet && !same {
			other = append(other, name+" is "+has)
		}
	}
	device := -1
	if s.gpu != nil {
		device = s.gpu.choice.Ordinal
	}
	differs("gpu", given.GPU == GPURequired, s.gpu != nil, "off there (a host communicator)")
	differs("device", given.Device != -1, given.Device == device, strconv.Itoa(device))
	differs("check", given.Check != -1, given.Check == s.options.Check, offOn[s.options.Check])
	differs("half", given.Half != -1, given.Half == s.options.Half, halfNames[s.options.Half])
	differs("max_count", given.MaxCount != 0, given.MaxCount == s.options.MaxCount, strconv.FormatUint(s.options.MaxCount, 10))
	differs("call_timeout_ms", given.CallTimeoutMS != -1, given.CallTimeoutMS == s.options.CallTimeoutMS,
		strconv.FormatInt(s.options.CallTimeoutMS, 10))
	return strings.Join(other, ", ")
}
