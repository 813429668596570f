# A double of MPI.jl, which the tests do not install: what ReactantMPI meets of it, over the real library of MPI. Communicators hold
# the library's own handle in `val`, Init registers the end of MPI with atexit unless MPI runs already, Finalize calls the hooks,
# latest first, and nothing is finalized while an exception passes. Not there: everything else.
module MPI

using Libdl

const LIBRARY = dlopen(ENV["REACTANT_MPI_LIBMPI"], RTLD_LAZY | RTLD_GLOBAL)
const OPEN_MPI = dlsym_e(LIBRARY, :ompi_mpi_comm_world)

const MPI_Comm = OPEN_MPI == C_NULL ? Cint : Ptr{Cvoid}

mutable struct Comm
    val::MPI_Comm
end
const COMM_WORLD = Comm(OPEN_MPI == C_NULL ? Cint(0x44000000) : OPEN_MPI)

const finalize_hooks = Any[]
add_finalize_hook!(f) = pushfirst!(finalize_hooks, f)

function Initialized()
    flag = Ref{Cint}(0)
    ccall(dlsym(LIBRARY, :MPI_Initialized), Cint, (Ptr{Cint},), flag)
    return flag[] != 0
end

function Finalized()
    flag = Ref{Cint}(0)
    ccall(dlsym(LIBRARY, :MPI_Finalized), Cint, (Ptr{Cint},), flag)
    return flag[] != 0
end

exception_is_passing() = !isempty(isdefined(Base, :current_exceptions) ? Base.current_exceptions() : Base.catch_stack())

function Init()
    Initialized() && return
    provided = Ref{Cint}(0)
    ccall(dlsym(LIBRARY, :MPI_Init_thread), Cint, (Ptr{Cint}, Ptr{Cvoid}, Cint, Ptr{Cint}), C_NULL, C_NULL, 2, provided)
    atexit(() -> Finalized() || exception_is_passing() || Finalize())
end

function Finalize()
    foreach(f -> f(), finalize_hooks)
    ccall(dlsym(LIBRARY, :MPI_Finalize), Cint, ()) == 0 || error("MPI_Finalize failed")
end

function Comm_dup(comm)
    word = Ref(comm.val)
    ccall(dlsym(LIBRARY, :MPI_Comm_dup), Cint, (MPI_Comm, Ptr{Cvoid}), comm.val, word) == 0 || error("MPI_Comm_dup failed")
    return Comm(word[])
end

end
