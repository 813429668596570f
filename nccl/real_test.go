package nccl

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

// realNCCL is the libnccl.so.2 that REACTANT_MPI_TEST_NCCL names: the wheel of tests/requirements-nccl.txt, or any other.
func realNCCL(t *testing.T) string {
	t.Helper()
	path := os.Getenv("REACTANT_MPI_TEST_NCCL")
	if path == "" {
		t.Skip("REACTANT_MPI_TEST_NCCL names no libnccl.so.2 (tests/requirements-nccl.txt has one, 352 MB)")
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// TestRealNCCL needs no GPU: what it asks for, a real NCCL answers without one.
func TestRealNCCL(t *testing.T) {
	path := realNCCL(t)
	found, err := Find(dl.Host{}, Wish{Library: path})
	require.Nil(t, err)
	require.Equal(t, path, found.Lib.Path())
	require.GreaterOrEqual(t, found.Version, Minimum)
	require.Less(t, found.Version, 100_000)
	require.False(t, found.RCCL)
	require.Empty(t, found.Warning)
	t.Logf("%s is NCCL %s", path, VersionText(found.Version))

	lib, err := Bind(found)
	require.Nil(t, err)
	require.Equal(t, "NCCL", lib.Name())
	require.Equal(t, found.Version, lib.Version)
	require.True(t, lib.CanSplit())

	// The id goes by value, as it does in ncclCommInitRank.
	first, err := lib.UniqueID()
	require.Nil(t, err)
	require.Len(t, first, 128)
	second, err := lib.UniqueID()
	require.Nil(t, err)
	require.False(t, bytes.Equal(first, second), "every communicator has an id of its own")

	for words, text := range map[string]string{
		"no error": lib.text(0), "unhandled cuda error": lib.text(1), "unhandled system error": lib.text(2), "invalid argument": lib.text(4),
		"invalid usage": lib.text(5), "NCCL operation in progress": lib.text(7),
	} {
		require.Contains(t, text, words)
		require.Contains(t, text, "(NCCL error ")
	}

	// One image: by name the loader gives the one that is there, and asked without a wish the finder too.
	for _, wish := range []Wish{{Library: "libnccl.so.2"}, {}} {
		again, err := Find(dl.Host{}, wish)
		require.Nil(t, err)
		require.Equal(t, path, again.Lib.Path())
		require.Equal(t, found.Lib.Symbol("ncclAllReduce"), again.Lib.Symbol("ncclAllReduce"))
		require.Empty(t, again.Warning)
	}
}

// TestRealNCCLHasEveryFunction that the table says its version has.
func TestRealNCCLHasEveryFunction(t *testing.T) {
	lib, err := dl.Host{}.Open(realNCCL(t))
	require.NoError(t, err)
	version, rc := callVersion(lib.Symbol("ncclGetVersion"))
	require.Zero(t, rc)
	text, err := os.ReadFile("functions.inc")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^NCCL\((\w+), \S+, (\d+),`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, strings.Count(string(text), "\nNCCL("))
	for _, row := range rows {
		since, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		require.Equal(t, version >= since, lib.Owns("nccl"+row[1]), "nccl%s, since %s", row[1], VersionText(since))
	}
}

// TestRealNCCLWithoutNetwork: what NCCL says last travels with the code.
func TestRealNCCLWithoutNetwork(t *testing.T) {
	realNCCL(t)
	const in = "REACTANT_MPI_TEST_NCCL_NO_NETWORK"
	if os.Getenv(in) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRealNCCLWithoutNetwork$", "-test.count=1")
		cmd.Env = append(os.Environ(), in+"=1", "NCCL_SOCKET_IFNAME==none_such")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return
	}
	found, err := Find(dl.Host{}, Wish{Library: realNCCL(t)})
	require.Nil(t, err)
	lib, err := Bind(found)
	require.Nil(t, err)
	_, err = lib.UniqueID()
	require.NotNil(t, err)
	require.Equal(t, cerr.NCCL, err.Code)
	for _, words := range []string{"ncclGetUniqueId failed", "NCCL error", "last error:", "no socket interface found"} {
		require.Contains(t, err.Text, words)
	}
}
