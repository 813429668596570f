package mpi

import (
	"fmt"
	"strconv"
	"strings"

	"reactantmpi/internal/cerr"
	"reactantmpi/internal/dl"
)

const launcherAdvice = "start with the mpiexec that belongs to this library, or set REACTANT_MPI_LIBMPI to the library of that launcher; " +
	"REACTANT_MPI_LAUNCHER_CHECK=off turns this check off"

// CheckBeforeInit refuses what would abort inside MPI_Init: an MPICH-family library that carries no PMIx under Open MPI's launcher.
// Everything else can be judged better after Init.
func CheckBeforeInit(found *Found, getenv func(string) string) *cerr.Error {
	size, _ := strconv.Atoi(getenv("OMPI_COMM_WORLD_SIZE"))
	has := func(name string) bool {
		return found.Lib.Symbol(name) != nil || found.Behind != nil && found.Behind.Symbol(name) != nil
	}
	if !translates(found.Lib) && has("ompi_mpi_comm_world") || has("PMIx_Init") || strings.HasPrefix(found.implementation(), "Open MPI") {
		return nil
	}
	if getenv("PRTE_LAUNCHED") == "" && size <= 1 {
		return nil
	}
	return cerr.New(cerr.Launcher, "the launcher is Open MPI's (OMPI_COMM_WORLD_SIZE=%s), the library %s (%s): its MPI_Init would abort; %s",
		getenv("OMPI_COMM_WORLD_SIZE"), found.Lib.Path(), found.Family, launcherAdvice)
}

// CheckAfterInit refuses a world of one rank where the launcher started several: N programs that each believe to be alone.
func CheckAfterInit(path string, world int, getenv func(string) string) *cerr.Error {
	if world != 1 {
		return nil
	}
	claim := launcherClaim(getenv)
	if claim == "" {
		return nil
	}
	return cerr.New(cerr.Launcher, "the launcher says %s, but the world of %s has 1 rank: the launcher belongs to another MPI; %s",
		claim, path, launcherAdvice)
}

// launcherClaim is what proves that this process is one of several; "" if nothing does. A Slurm allocation alone proves nothing: only
// a step has SLURM_STEP_NUM_TASKS together with SLURM_PROCID.
func launcherClaim(getenv func(string) string) string {
	number := func(name string) int {
		n, err := strconv.Atoi(getenv(name))
		if err != nil {
			return -1
		}
		return n
	}
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"} {
		if n := number(name); n > 1 {
			return fmt.Sprintf("%s=%d", name, n)
		}
	}
	for _, pair := range [][2]string{{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}, {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"}} {
		if n := number(pair[0]); n > 1 && number(pair[1]) >= 0 {
			return fmt.Sprintf("%s=%d (%s=%d)", pair[0], n, pair[1], number(pair[1]))
		}
	}
	// PALS tells ranks, not a size.
	if n := number("PALS_RANKID"); n > 0 {
		return fmt.Sprintf("PALS_RANKID=%d", n)
	}
	return ""
}

// Getenv of the real process, for the checks.
func Getenv(name string) string { return dl.Host{}.Getenv(name) }
