# Communicators: made and ended.

"""
    initialize(comm = nothing; options...) -> Comm

Make a communicator over the ranks of a communicator of MPI. Collective over those ranks, blocking.

`comm` is `nothing` for all ranks (`MPI_COMM_WORLD`), a communicator of MPI.jl under any MPI (anything whose field `val` is its
handle), or such a handle as an integer, pointer or `Ref`. MPI is found and initialised unless that has been done, as by
`MPI.Init()`. Works on a duplicate. The same communicator again gives one with the same id, which has its own end.

Options; each is by default taken from the environment variable `REACTANT_MPI_<NAME>`, and else has the default given there.

* `gpu`: `:auto`, `:off` or `:required`
* `client`: who makes the XLA client: `:none`, `:external` (you, with `device(comm)`), `:reactant` or `:pjrt`
* `device`: ordinal of this rank's GPU, after CUDA_VISIBLE_DEVICES and the like; by default it is chosen
* `memory_fraction`, `preallocate`: XLA's share of the device memory, and whether it takes it at once
* `timeout_ms`: longest wait for the other ranks in here; `call_timeout_ms`: that of every later call on host buffers; 0 = for ever
* `check`: `:on` or `:off`: the ranks compare what they are about to do before each collective
* `half`: `:pairwise` or `:f32`: how 16-bit floats are reduced
* `libmpi`, `mpi_dirs`, `libnccl`, `libxla`: paths of the libraries; `trace`: folder for a trace of every call
* `thread_level` (`:single`, `:funneled`, `:serialized`, `:multiple`), `launcher_check`, `max_count`, `nccl_nonblocking`: as in
  `reactant_mpi.h`

Throws [`Error`](@ref); `ErrorException` where libreactant_mpi.so is not found.
"""
function initialize(comm = nothing; wishes...)
    word = host_word(comm)
    values = options(; wishes...)
    end_at_exit()
    end_before_mpi(comm)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    code = with_options(struct_ -> API.initialize_with(word, struct_, out), values)
    check(code, :initialize)
    made = Comm(out[])
    lock(LIVE_LOCK) do
        push!(INITIALIZED, made)
        choose_world()
    end
    return made
end

const WORLD = Ref{Union{Nothing,Comm}}(nothing)
const INITIALIZED = Comm[] # by initialize and alive, oldest first

# The communicator of all ranks stays the default when one of some of them is made, or when another of all of them ends.
function choose_world()
    WORLD[] = nothing
    for comm in INITIALIZED
        (WORLD[] === nothing || comm.size >= WORLD[].size) && (WORLD[] = comm)
    end
end

"""
    world() -> Comm

What calls without a communicator work on: the latest of [`initialize`](@ref), unless an older one that is alive has more ranks.
"""
@inline function world()
    comm = WORLD[]
    return comm === nothing ? no_world() : comm
end

@noinline no_world() = refuse(API.ERR_STATE, "there is no communicator: call ReactantMPI.initialize first")

# The word that the host's MPI has for a communicator.
host_word(::Nothing) = UInt(API.COMM_WORLD)
host_word(comm::Union{Int128,UInt128,BigInt,Bool}) = no_communicator(comm)
host_word(comm::Integer) = comm % UInt
host_word(comm::Ptr) = comm == C_NULL ? refuse(API.ERR_ARGUMENT, "comm is a NULL pointer") : UInt(comm)
host_word(comm::Ref) = isassigned(comm) ? host_word(comm[]) : no_communicator(comm)
function host_word(comm)
    hasproperty(comm, :val) || no_communicator(comm)
    value = comm.val
    value isa Union{Integer,Ptr,Ref} || no_communicator(comm)
    word = host_word(value)
    word == 0 && refuse(API.ERR_ARGUMENT, "comm = ", comm, " is no communicator: its handle is 0. Call MPI.Init() first")
    return word
end

@noinline no_communicator(comm) = refuse(
    API.ERR_ARGUMENT, "comm must be nothing, a communicator of MPI.jl, or the handle of one as an integer, pointer or Ref, not a ",
    typeof(comm),
)

"""
    finalize(comm)
    finalize()

End one communicator, never MPI; twice is fine. Without one: end every communicator, and MPI if it was initialised here.
Collective, blocking. Done by itself when Julia ends without an uncaught exception, and before `MPI.Finalize()`.
"""
function finalize(comm::Comm)
    handle = comm.handle
    handle == C_NULL && return nothing
    check(API.finalize(handle), :finalize)
    comm.handle = C_NULL
    lock(LIVE_LOCK) do
        filter!(other -> other !== comm, LIVE)
        filter!(other -> other !== comm, INITIALIZED)
        choose_world()
    end
    return nothing
end

function finalize()
    isempty(API.LOADED[]) && return nothing
    check(API.finalize(C_NULL), :finalize)
    lock(LIVE_LOCK) do
        foreach(comm -> comm.handle = C_NULL, LIVE)
        empty!(LIVE)
        empty!(INITIALIZED)
        choose_world()
    end
    forget_requests()
    return nothing
end

"`free(comm)`: [`finalize`](@ref)`(comm)` under the name that goes with [`split`](@ref)."
free(comm::Comm) = finalize(comm)

"`abort(comm, code = 1)`: end the whole job at once, with every rank of it. For the rank that wants it; does not return."
function abort(comm::Comm, code::Integer = 1)
    comm.handle == C_NULL && refuse(API.ERR_COMM, "abort: this communicator has been ended") # NULL would be the world
    flush(stdout)
    flush(stderr)
    check(API.abort(comm.handle, code), :abort)
end

# atexit functions run latest first: registered at the first initialize, and so after MPI.Init(), this one runs before MPI.jl's.
const AT_EXIT = Ref(false)
function end_at_exit()
    AT_EXIT[] && return
    AT_EXIT[] = true
    atexit(at_exit)
end

# After an uncaught exception the other ranks wait in some call and would not meet this one in MPI_Finalize: leaving without it
# lets the launcher see the failure and end the job.
at_exit() = exception_is_passing() ? nothing : finalize()

@static if isdefined(Base, :current_exceptions)
    exception_is_passing() = !isempty(current_exceptions())
else
    exception_is_passing() = !isempty(Base.catch_stack())
end

# MPI.jl, or what gave us the communicator, ends our communicators in MPI.Finalize(), before MPI.
const HOOKED = Module[]
const MPI_JL = Base.PkgId(Base.UUID("da04e1cc-30fd-572f-bb4f-1f8673147195"), "MPI")
function end_before_mpi(comm)
    for mpi in (get(Base.loaded_modules, MPI_JL, nothing), parentmodule(typeof(comm)))
        if mpi isa Module && !(mpi in HOOKED) && isdefined(mpi, :add_finalize_hook!)
            push!(HOOKED, mpi)
            Base.invokelatest(getfield(mpi, :add_finalize_hook!), end_communicators)
        end
    end
end

end_communicators() = foreach(finalize, reverse(LIVE))

# ---- communicators from communicators

# Call f with where the new communicator goes; nothing where this rank has no part in it.
function derived(f, name)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    check(f(out), name)
    return out[] == C_NULL ? nothing : Comm(out[])
end

"""
    split(comm, color, key = 0) -> Comm or nothing

One new communicator per colour, ranks ordered by key, then by rank. `color = nothing` or a negative one takes part and gets
nothing. Collective over `comm`, blocking.
"""
function split(comm::Comm, color::Union{Integer,Nothing}, key::Integer = 0)
    word = cint(something(color, -1), "color")
    return derived(out -> API.comm_split(comm.handle, word, cint(key, "key"), out), :comm_split)
end

"`split_node(comm, key = 0) -> Comm`: the ranks that share a host. Collective over `comm`, blocking."
split_node(comm::Comm, key::Integer = 0) = derived(out -> API.comm_split_node(comm.handle, cint(key, "key"), out), :comm_split_node)

"`create(comm, ranks) -> Comm`: the listed ranks of `comm`, in that order. Called by those ranks only; blocking."
function create(comm::Comm, ranks)
    list = Cint[cint(rank, "a rank") for rank in ranks]
    return derived(out -> API.comm_create(comm.handle, length(list), list, out), :comm_create)
end

"`dup(comm) -> Comm`: a second communicator of the same ranks, whose calls are independent. Collective, blocking."
dup(comm::Comm) = derived(out -> API.comm_dup(comm.handle, out), :comm_dup)

"`set_devices!(comm, ids)`: tell which global device ids (XLA's) this process holds. Collective, blocking, once."
function set_devices!(comm::Comm, ids)
    list = collect(Int64, ids)
    check(API.set_devices(comm.handle, list, length(list)), :set_devices)
end

"`from_devices(comm, ids) -> Comm`: the processes that hold these device ids, in that order. Called by those only; blocking."
function from_devices(comm::Comm, ids)
    list = collect(Int64, ids)
    return derived(out -> API.comm_from_devices(comm.handle, list, length(list), out), :comm_from_devices)
end

"""
    set_timeout!(comm, timeout_ms)

Longest wait of every call on host buffers of `comm`, 0 = for ever. Collective, blocking: all ranks give the same value.
"""
set_timeout!(comm::Comm, timeout_ms::Integer) =
    check(API.comm_set_timeout(comm.handle, cint(timeout_ms, "timeout_ms")), :comm_set_timeout)

"`shrink(comm) -> Comm`: the ranks that live after the failure of a process; by an MPI with fault tolerance. Collective over those."
shrink(comm::Comm) = derived(out -> API.comm_shrink(comm.handle, out), :comm_shrink)

# An integer that C takes as int.
cint(value::Integer, what) =
    typemin(Cint) <= value <= typemax(Cint) ? Cint(value) : refuse(API.ERR_ARGUMENT, what, " = ", value, ": does not fit 32 bits")

# ---- the library itself

"`libpath()`: path of libreactant_mpi.so as it was loaded. Loads it."
function libpath()
    API.load()
    return API.LOADED[]
end

"""
    set_libpath!(path)

Choose the library for this process, before the first call. For good: `REACTANT_MPI_LIBRARY` in the environment, or, with Julia
1.6 and later, `libpath` under `[ReactantMPI]` in the project's `LocalPreferences.toml`.
"""
function set_libpath!(path::AbstractString)
    isempty(API.LOADED[]) || API.LOADED[] == path ||
        refuse(API.ERR_STATE, "set_libpath!: ", API.LOADED[], " is loaded already, which cannot be undone in this process")
    API.CHOSEN[] = path
    return nothing
end

"`version()`: version of the loaded library."
function version()
    word = API.version()
    return VersionNumber(word >> 16, word >> 8 & 0xff, word & 0xff)
end
