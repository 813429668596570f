# What compiled code calls: the functions and constants of the library, under MPI's and NCCL's names.

# What of it has been registered: generation, policy, and whether Reactant's extension for MPI.jl was there, which registers
# MPI's own.
const REGISTERED = Ref{Any}(nothing)
const MAP_FAILURE = Ref{Any}(nothing)

# Called from C, where no exception may pass. The name is the library's own, of static lifetime: it is handed on as it is.
function map_one(name::Cstring, address::Ptr{Cvoid})::Cvoid
    try
        ReactantAPI.map_symbol(name, address)
    catch failure
        MAP_FAILURE[] = failure
    end
    return nothing
end

generation_of(wish::Symbol) = wish === :auto ? (ReactantAPI.has_wide_requests() ? :G2 : :G1) : wish

"Once for what is asked for; again where MPI's own have been put over ours since."
function register(generation, on_error)
    on_error === nothing && REGISTERED[] !== nothing && (on_error = REGISTERED[][2]) # as it was
    key = (generation, on_error, ReactantAPI.mpi_extension() !== nothing)
    REGISTERED[] == key && return nothing
    MAP_FAILURE[] = nothing
    ReactantMPI.register_symbols(@cfunction(map_one, Cvoid, (Cstring, Ptr{Cvoid})), generation; on_error=on_error)
    MAP_FAILURE[] === nothing || throw(MAP_FAILURE[])
    setter = ReactantAPI.constant_setter()
    setter == C_NULL || ReactantMPI.register_symbols(setter, :G3; on_error=on_error)
    REGISTERED[] = key
    return nothing
end

"The word that GPU code gets as its communicator: our handle, which is refused and not followed once it has ended. 0: none."
function nccl_word()
    comm = SETUP.comm
    return is_live(comm) && ReactantMPI.device(comm) >= 0 ? UInt(comm.handle) : UInt(0)
end

function ReactantMPI.checked(f, arguments...; options...)
    results = f(arguments...; options...)
    ReactantAPI.synchronize(results)
    ReactantMPI.check_compiled()
    return results
end
