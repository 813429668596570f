"""Other packages' operations by their names, over reactant_mpi.jax."""
