# What the extension for Reactant.jl defines (ext/ReactantMPIReactantExt).

"""
    initialize_reactant!(comm = nothing; client = :external, gpu, generation = :auto, on_error, options...) -> Comm

Let Reactant.jl's compiled code work over `comm`: make the communicator ([`initialize`](@ref)), give Reactant a client with this
rank's GPU alone, and register what compiled MPI and NCCL calls call. Collective, blocking; with Reactant (and MPI.jl, if it is
used) loaded, before the first array or compilation. Again with the same ranks it gives the same communicator; once that has been
finalized, a new one.

* `client`: `:external`, Reactant makes its client with the device chosen here; `:reactant`, the library makes it through
  libReactantExtra while the communicator is made, and Reactant adopts and frees it (runtime PJRT only)
* `gpu`: as in `initialize`; with `:off`, or where Reactant is built for the CPU, only communicator and symbols
* `generation`: `:G1` for compiled code with requests of 4 bytes (`enzymexla.mpi`), `:G2` for 8 bytes (`comm.mpi`); `:auto` looks
  at Reactant
* `on_error`: what becomes of a failure in compiled code, as in [`register_symbols`](@ref)
* others as in `initialize`. Where they are not given, Reactant's `XLA_REACTANT_GPU_MEM_FRACTION`, `XLA_REACTANT_GPU_PREALLOCATE`
  and a single `REACTANT_VISIBLE_GPU_DEVICES` count

Throws [`Error`](@ref): codes 8 (a client of the GPUs exists, another has the mapping of devices, set up over other ranks), 10 (a
name of this Reactant is not known), 11, 32 (another rank failed), 61, 68, 81, and those of `initialize`.
"""
initialize_reactant!(arguments...; options...) =
    refuse(API.ERR_STATE, "initialize_reactant! takes one communicator at most, and needs Reactant: `using Reactant` first ",
        "(Julia 1.9 or newer)")

"""
    checked(f, arguments...; options...)

`f(arguments...; options...)`, a function compiled by Reactant; waits for its results and throws the first failure of a
communication in it, as [`check_compiled`](@ref). Without this, failures are logged only. Needs Reactant.
"""
function checked end
