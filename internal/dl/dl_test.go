package dl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostLibraries(t *testing.T) {
	sys := Host{}
	libm, err := sys.Open("libm.so.6")
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(libm.Path()), libm.Path())
	require.NotNil(t, libm.Symbol("cos"))
	require.True(t, libm.Owns("cos"))
	require.NotNil(t, libm.Symbol("malloc"), "a look-up reaches dependencies")
	require.False(t, libm.Owns("malloc"), "and Owns tells them apart")
	require.Nil(t, libm.Symbol("no_such_symbol"))

	require.Contains(t, sys.Loaded(), libm.Path())
	again, err := sys.Reopen(libm.Path())
	require.NoError(t, err)
	require.Equal(t, libm.Symbol("cos"), again.Symbol("cos"))

	again.Close()
	require.Contains(t, sys.Loaded(), libm.Path())

	main, err := sys.Reopen("")
	require.NoError(t, err)
	require.False(t, main.Owns("cos"))
}

func TestHostErrorsSayWhy(t *testing.T) {
	sys := Host{}
	_, err := sys.Open("/no/such/libmpi.so")
	require.ErrorContains(t, err, "/no/such/libmpi.so")

	text := filepath.Join(t.TempDir(), "libmpi.so")
	require.NoError(t, os.WriteFile(text, []byte("not a library"), 0o600))
	_, err = sys.Open(text)
	require.ErrorContains(t, err, "libmpi.so")

	_, err = sys.Reopen("/no/such/libmpi.so")
	require.Error(t, err)
}

func TestHostEnvironmentIsTheOneOfNow(t *testing.T) {
	sys := Host{}
	require.Empty(t, sys.Getenv("RMPI_TEST_VARIABLE"))
	sys.SetDefault("RMPI_TEST_VARIABLE", "one")
	require.Equal(t, "one", sys.Getenv("RMPI_TEST_VARIABLE"))
	sys.SetDefault("RMPI_TEST_VARIABLE", "two")
	require.Equal(t, "one", sys.Getenv("RMPI_TEST_VARIABLE"), "what the user set stays")
}

func TestHostAncestors(t *testing.T) {
	// The go command runs this test.
	require.NotEmpty(t, Host{}.Ancestors())
}
