package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/dl"
)

// The doubles, compiled once for all tests of the package; "" with the reason where there is no compiler.
var (
	pluginPath, reactantPath string
	noDoubles                string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rmpi-client")
	if err != nil {
		panic(err)
	}
	pluginPath = build(dir, "pjrt_plugin.c", "pjrt_plugin.so")
	reactantPath = build(dir, "reactant_extra.c", "libReactantExtra.so")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(dir, source, name string) string {
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	out := filepath.Join(dir, name)
	source = filepath.Join("..", "tests", "fake", "xla", source)
	// Reading them tells the go command that this test depends on them.
	for _, file := range []string{source, filepath.Join(filepath.Dir(source), "double.h")} {
		if _, err := os.ReadFile(file); err != nil {
			noDoubles = err.Error()
			return ""
		}
	}
	// The C++ library by its file: it is there without a compiler for C++.
	text, err := exec.Command(compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-Wl,-soname,"+name, "-o", out,
		source, "-Wl,--no-as-needed", "-l:libstdc++.so.6", "-lpthread").CombinedOutput()
	if err != nil {
		noDoubles = compiler + ": " + err.Error() + "\n" + string(text)
		return ""
	}
	return out
}

// world is the real machine with a C environment of its own and, if hidden, without libReactantExtra among its libraries.
type world struct {
	dl.Host
	env    map[string]string
	hidden bool
}

func (w *world) Getenv(name string) string { return w.env[name] }

func (w *world) Loaded() []string {
	if w.hidden {
		return nil
	}
	return w.Host.Loaded()
}

// double chooses the faults of the doubles and gives their record so far.
func double(t *testing.T, faults ...string) (record func() []string) {
	t.Helper()
	if noDoubles != "" {
		t.Skip("not run: no doubles of XLA libraries: ", noDoubles)
	}
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("FAKE_XLA", strings.Join(faults, ","))
	t.Setenv("FAKE_XLA_LOG", log)
	return func() []string {
		text, err := os.ReadFile(log)
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

func contains(t *testing.T, lines []string, part string) {
	t.Helper()
	require.Contains(t, strings.Join(lines, "\n"), part)
}
