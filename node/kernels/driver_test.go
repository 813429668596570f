package kernels

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The C files, built with tests/kernels/driver.c into a program of their own: every variant can be called there.
type driver struct {
	variants []string // that can run, after the chosen one
	in       io.Writer
	out      io.Reader
	command  []string
}

type processor struct{ arch, compiler, emulator string }

// What aarch64 needs may be missing; the tests then say so.
var processors = []processor{{runtime.GOARCH, "gcc", ""}, {"arm64", "aarch64-linux-gnu-gcc", "qemu-aarch64-static"}}

// Built once for each processor, by the first test that asks.
var programs = map[string]string{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, program := range programs {
		os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

func forProcessors(t *testing.T, test func(t *testing.T, d *driver)) {
	for _, p := range processors {
		if p.arch == runtime.GOARCH && p.emulator != "" {
			continue
		}
		t.Run(p.arch, func(t *testing.T) {
			for _, tool := range []string{p.compiler, p.emulator} {
				if _, err := exec.LookPath(tool); tool != "" && err != nil {
					t.Skipf("not run for %s: %v", p.arch, err)
				}
			}
			test(t, start(t, p))
		})
	}
}

func build(t *testing.T, p processor) string {
	if programs[p.arch] != "" {
		return programs[p.arch]
	}
	dir, err := os.MkdirTemp("", "")
	require.NoError(t, err)
	program := filepath.Join(dir, "driver")
	args := strings.Fields("-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I../.. ../../tests/kernels/driver.c -o " + program)
	if p.emulator != "" {
		args = append(args, "-static")
	}
	files, err := filepath.Glob("*.c")
	require.NoError(t, err)
	for _, file := range files {
		if _, only, found := strings.Cut(strings.TrimSuffix(file, ".c"), "_"); !found || only == p.arch {
			args = append(args, file)
		}
	}
	programs[p.arch] = program
	output, err := exec.Command(p.compiler, args...).CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

func start(t *testing.T, p processor) *driver {
	d := &driver{command: []string{build(t, p)}}
	if p.emulator != "" {
		d.command = append([]string{p.emulator}, d.command...)
	}
	list, err := d.with("list").Output()
	require.NoError(t, err)
	d.variants = strings.Fields(string(list))

	serve := d.with()
	serve.Stderr = os.Stderr
	in, err := serve.StdinPipe()
	require.NoError(t, err)
	out, err := serve.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, serve.Start())
	d.in, d.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, serve.Wait())
	})
	return d
}

func (d *driver) with(args ...string) *exec.Cmd {
	return exec.Command(d.command[0], append(d.command[1:], args...)...)
}

// What a kernel does, as in variants.h.
const (
	sum = iota
	least
	greatest
	prod
	toF32
	fromF32
	divide
)

// run gives in and out to a variant (-1: to the functions of half.h) and returns what out has become.
func run[I, O uint16 | uint32](t *testing.T, d *driver, variant int, k kind, way int, by float32, in []I, out []O) []O {
	var request bytes.Buffer
	header := struct {
		Variant, Type, Way int32
		By                 float32
		N                  uint64
	}{int32(variant), int32(k.number), int32(way), by, uint64(len(in))}
	for _, part := range []any{header, in, out} {
		require.NoError(t, binary.Write(&request, binary.LittleEndian, part))
	}
	failed := make(chan error, 1)
	go func() {
		_, err := d.in.Write(request.Bytes())
		failed <- err
	}()
	result := make([]O, len(out))
	err := binary.Read(d.out, binary.LittleEndian, result)
	require.NoError(t, <-failed)
	require.NoError(t, err)
	return result
}

// The best that can run is chosen; what cannot run here is said.
func TestVariants(t *testing.T) {
	forProcessors(t, func(t *testing.T, d *driver) {
		chosen, runs := d.variants[0], d.variants[1:]
		require.Equal(t, runs[0], chosen)
		if len(d.command) == 1 {
			require.Equal(t, chosen, Chosen())
		}
		compiled := []string{"avx512", "avx2", "scalar"}
		if slices.Contains(runs, "neon") {
			compiled = []string{"neon", "scalar"}
		}
		require.Subset(t, compiled, runs)
		for _, name := range compiled {
			t.Run(name, func(t *testing.T) {
				if !slices.Contains(runs, name) {
					t.Skipf("this processor has no %s: compiled, not run", name)
				}
			})
		}
	})
}

func TestLengthsAndAlignments(t *testing.T) {
	forProcessors(t, func(t *testing.T, d *driver) {
		output, err := d.with("sweep").CombinedOutput()
		require.NoError(t, err, string(output))
	})
}
