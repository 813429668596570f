package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

func TestLauncher(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   map[string]string
		world int
		text  string // of code 42; "" = fine
	}{
		{"no launcher", nil, 1, ""},
		{"several ranks", map[string]string{"PMI_SIZE": "4"}, 4, ""},
		{"one rank started", map[string]string{"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "1"}, 1, ""},
		{"Open MPI's launcher", map[string]string{"OMPI_COMM_WORLD_SIZE": "3"}, 1, "OMPI_COMM_WORLD_SIZE=3"},
		{"hydra", map[string]string{"PMI_SIZE": "2"}, 1, "PMI_SIZE=2"},
		{"several on the node", map[string]string{"MPI_LOCALNRANKS": "2"}, 1, "MPI_LOCALNRANKS=2"},
		{"Slurm step", map[string]string{"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"}, 1, "SLURM_STEP_NUM_TASKS=8"},
		{"Slurm allocation only", map[string]string{"SLURM_NTASKS": "8"}, 1, ""},
		{"Slurm allocation with a step's count but no rank", map[string]string{"SLURM_STEP_NUM_TASKS": "8"}, 1, ""},
		{"Flux", map[string]string{"FLUX_JOB_SIZE": "2", "FLUX_TASK_RANK": "0"}, 1, "FLUX_JOB_SIZE=2"},
		{"PALS", map[string]string{"PALS_RANKID": "1"}, 1, "PALS_RANKID=1"},
		{"PALS rank 0 proves nothing", map[string]string{"PALS_RANKID": "0"}, 1, ""},
		{"nonsense", map[string]string{"PMI_SIZE": "many"}, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckAfterInit("/m/libmpi.so.12", test.world, func(n string) string { return test.env[n] })
			if test.text == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, cerr.Launcher, err.Code)
			for _, text := range []string{test.text, "/m/libmpi.so.12", "REACTANT_MPI_LAUNCHER_CHECK=off"} {
				require.Contains(t, err.Text, text)
			}
		})
	}
}

func TestLauncherBeforeInit(t *testing.T) {
	prte := func(n string) string {
		return map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "PRTE_LAUNCHED": "1"}[n]
	}
	none := func(string) string { return "" }
	withPMIx := mpich("/d/libmpich.so.12")
	withPMIx.needed = []string{"PMIx_Init"}

	require.NotNil(t, CheckBeforeInit(&Found{Lib: mpich("/m/libmpi.so.12"), Family: MPICH}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: withPMIx, Family: MPICH}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: openmpi("/o/libmpi.so.40"), Family: OpenMPI}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: mpi5("/o/libmpi_abi.so.1", "", "ompi_mpi_comm_world"), Family: MPI5}, prte))
	require.Nil(t, CheckBeforeInit(&Found{Lib: mpich("/m/libmpi.so.12"), Family: MPICH}, none))
}
