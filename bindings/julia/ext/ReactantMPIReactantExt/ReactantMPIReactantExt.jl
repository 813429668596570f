"""
What Reactant.jl needs to run its compiled MPI and NCCL calls through this library: `ReactantMPI.initialize_reactant!`.

`reactant_api.jl` holds every name of Reactant that is touched, `setup.jl` the order of steps, `symbols.jl` what compiled
code calls.
"""
module ReactantMPIReactantExt

using Libdl
using Reactant
using ReactantMPI

include("reactant_api.jl")
include("symbols.jl")
include("setup.jl")

function __init__()
    # Also without a communicator: a GPU program that never asks for one must compile.
    ReactantAPI.serve_nccl_handle(nccl_word)
    return nothing
end

end
