"""
    ReactantMPI

Collectives between processes for XLA programs and plain Julia arrays, over whatever MPI is found at run time, by
libreactant_mpi.so. Loading the package loads no library; the first call does.

    using ReactantMPI
    comm = ReactantMPI.initialize()              # or initialize(MPI.COMM_WORLD)
    allreduce!([1.0, 2.0], +, comm)

What `ReactantMPI.API` holds are the functions of `reactant_mpi.h` one to one.
"""
module ReactantMPI

include("api.jl")
include("errors.jl")
include("options.jl")
include("comm.jl")
include("life.jl")
include("types.jl")
include("buffers.jl")
include("requests.jl")
include("collectives.jl")
include("blocks.jl")
include("messages.jl")
include("forms.jl")
include("compiled.jl")
include("reactant.jl")

end
