package client

import (
	"strconv"
	"strings"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// memory is how much of the device XLA takes and when.
type memory struct {
	fraction    float64
	preallocate bool
}

// XLA's own defaults, written out so that a description can tell them.
const defaultFraction = 0.75

// The variables that users of each host know.
var (
	fractionVariables = map[Mode][]string{
		Reactant: {"XLA_REACTANT_GPU_MEM_FRACTION"},
		PJRT:     {"XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"},
	}
	preallocateVariables = map[Mode][]string{
		Reactant: {"XLA_REACTANT_GPU_PREALLOCATE"},
		PJRT:     {"XLA_PYTHON_CLIENT_PREALLOCATE"},
	}
)

// memoryOf takes the options, then the environment, then the defaults.
func memoryOf(sys dl.System, o Options) (memory, *cerr.Error) {
	m := memory{defaultFraction, true}
	if what, value := given(sys, fractionVariables[o.Mode]); o.MemoryFraction == 0 && value != "" {
		f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !isFraction(f) {
			return m, cerr.New(cerr.Option, "%s=%s; it takes a number above 0, up to 1", what, value)
		}
		m.fraction = f
	} else if o.MemoryFraction != 0 {
		if !isFraction(o.MemoryFraction) {
			return m, cerr.New(cerr.Option, "option memory_fraction is %v; it takes a number above 0, up to 1, or 0 for the default of %v",
				o.MemoryFraction, defaultFraction)
		}
		m.fraction = o.MemoryFraction
	}
	switch what, value := given(sys, preallocateVariables[o.Mode]); {
	case o.Preallocate == 0 || o.Preallocate == 1:
		m.preallocate = o.Preallocate == 1
	case o.Preallocate != -1:
		return m, cerr.New(cerr.Option, "option preallocate is %d; it takes 0, 1, or -1 for the default", o.Preallocate)
	case value != "":
		on, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(value)))
		if err != nil {
			return m, cerr.New(cerr.Option, "%s=%s; it takes true or false", what, value)
		}
		m.preallocate = on
	}
	return m, nil
}

// isFraction is false for NaN too.
func isFraction(f float64) bool { return f > 0 && f <= 1 }

// given is the first of the variables that is set, and its value.
func given(sys dl.System, variables []string) (name, value string) {
	for _, name := range variables {
		if value := sys.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}
