"""
A stub of Reactant.jl for tests: its clients, who makes, keeps and frees them, the owner of the device mapping, the registry of
symbols, and what it writes into the pass for MPI calls. Clients of a GPU come from the double of libReactantExtra.

Not modelled: tracing, compiling and running anything, arrays, MLIR, the CPU client (a number), TPU and Metal, Reactant's
distributed runtime (a number of processes), and every name that ReactantMPI does not touch.

STUB_REACTANT chooses the API: main (August 2026), 3136 (pull request for NCCL; the default), 3202 (main with communicators and wide
requests), cpu (main, built for the CPU).
STUB_RUNTIME: PJRT (the default) or IFRT.
"""
module Reactant

__precompile__(false)

const API = get(ENV, "STUB_REACTANT", "3136")
const RUNTIME = get(ENV, "STUB_RUNTIME", "PJRT")
const NCCL = API == "3136"

# What happened, in the file in which the double of libReactantExtra writes too.
event(text) = haskey(ENV, "FAKE_XLA_LOG") && open(file -> println(file, text), ENV["FAKE_XLA_LOG"], "a")

# What else is to be said when the clients are freed.
const TOLD = Ref{Any}(() -> "")

module Reactant_jll
using Libdl
const path = get(ENV, "STUB_EXTRA", "")
libReactantExtra_handle = C_NULL
__init__() = global libReactantExtra_handle = dlopen(path)
end

module MLIR
module API
# Name to value; how often each was given is the length of the list.
const MAPPED = Dict{String,Vector{UInt}}()
text(name::Cstring) = unsafe_string(name)
text(name) = String(name)
remember(name, value) = (push!(get!(MAPPED, text(name), UInt[]), value); nothing)
EnzymeJaXMapSymbol(name, symbol) = remember(name, UInt(symbol))
EnzymeJaXMapSymbol(name, symbol::Integer) = remember(name, symbol % UInt)
end
end

include("accelerators.jl")
include("xla.jl")

module Distributed
using ..Reactant: Reactant, XLA
function initialize(; num_processes::Int)
    Reactant.NCCL && XLA.claim_gpu_device_mapping!(:distributed)
    XLA.global_state.num_processes = num_processes
end
end

synchronize(results) = event("synchronize")

# The name of the pass and its options, as the compiler makes it.
if NCCL
    function default_nccl_comm_handle end
    mpi_pass(backend) = backend == "cpu" ? "lower-enzymexla-mpi{backend=cpu}" :
        "lower-enzymexla-mpi{backend=$backend ncclCommPtr=$(default_nccl_comm_handle())}"
else
    mpi_pass(backend) = "lower-enzymexla-mpi{backend=$backend}"
end

# The extension for MPI.jl, as MPI.jl is loaded: MPI's own functions and constants are registered.
function load_mpi_extension(mpi)
    @eval module ReactantMPIExt
    using ..Reactant: Reactant, MLIR
    const MPI = $mpi
    Reactant.API == "3202" && struct TracedCommunicator end
    const NCCL_COMM = Ref(C_NULL)
    if Reactant.NCCL
        Reactant.default_nccl_comm_handle() =
            NCCL_COMM[] == C_NULL ? error("Default NCCL communicator has not been initialized") : UInt(NCCL_COMM[])
    end
    end
    for name in (:MPI_Comm_rank, :MPI_Comm_size, :MPI_Barrier, :MPI_Send, :MPI_Recv)
        MLIR.API.EnzymeJaXMapSymbol(name, mpi.symbol(name))
    end
    MLIR.API.EnzymeJaXMapSymbol(:MPI_COMM_WORLD, Int(mpi.COMM_WORLD.val))
end

function __init__()
    for name in ("cuModuleLoadData", "ncclAllReduce")
        MLIR.API.EnzymeJaXMapSymbol(name, Ptr{Cvoid}(4096)) # XLA's own, which no test calls
    end
end

end
