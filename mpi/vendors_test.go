package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIntelFindsItsNetwork(t *testing.T) {
	useFakes(t)
	intel := func(path string) *fakeLib {
		return &fakeLib{path: path, own: append([]string{"I_MPI_Check_image_status"}, realMPI...)}
	}
	for _, test := range []struct {
		name, mpi, fabric, providers string
		env                          map[string]string
	}{
		{"wheel", "/v/lib/libmpi.so.12", "/v/lib/libfabric.so.1", "/v/lib", nil},
		{"oneAPI", "/i/mpi/2021.18/lib/libmpi.so.12", "/i/mpi/2021.18/opt/mpi/libfabric/lib/libfabric.so.1", "/i/mpi/2021.18/opt/mpi/libfabric/lib", nil},
		{"older oneAPI", "/i/lib/release/libmpi.so.12", "/i/libfabric/lib/libfabric.so.1", "/i/libfabric/lib", nil},
		{"a component of its own", "/i/mpi/2021.19/lib/libmpi.so.12", "/i/libfabric/latest/lib/libfabric.so.1", "/i/libfabric/latest/lib", nil},
		{"the user's", "/v/lib/libmpi.so.12", "/v/lib/libfabric.so.1", "/mine", map[string]string{"FI_PROVIDER_PATH": "/mine"}},
		{"another libfabric is wanted", "/v/lib/libmpi.so.12", "/v/lib/libfabric.so.1", "", map[string]string{"I_MPI_OFI_LIBRARY_INTERNAL": "NO"}},
		{"no network is wanted", "/v/lib/libmpi.so.12", "/v/lib/libfabric.so.1", "", map[string]string{"I_MPI_FABRICS": "shm"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sys := &machine{env: map[string]string{}, files: map[string]*fakeLib{test.mpi: intel(test.mpi), test.fabric: {path: test.fabric}}}
			for k, v := range test.env {
				sys.env[k] = v
			}
			_, err := Find(sys, Wish{Library: test.mpi})
			require.Nil(t, err)
			require.Equal(t, test.providers, sys.env["FI_PROVIDER_PATH"])
			require.Equal(t, test.providers != "", has(sys.opened, test.fabric))
		})
	}
}
