"""
A stub of MPI.jl for tests, over the MPI library of REACTANT_MPI_LIBMPI: the handle of the world as MPI.jl has it, Init, Finalize
and its hooks, and atexit. Not modelled: everything else; MPIs other than of the ABIs of MPICH and Open MPI.
"""
module MPI

__precompile__(false)

using Libdl

struct Comm{T}
    val::T
end

const library = dlopen(ENV["REACTANT_MPI_LIBMPI"], RTLD_LAZY | RTLD_GLOBAL)
symbol(name) = dlsym(library, name)
const world = dlsym(library, :ompi_mpi_comm_world; throw_error=false)
const COMM_WORLD = world === nothing ? Comm(Cint(0x44000000)) : Comm(world)

const finalize_hooks = Any[]
add_finalize_hook!(f) = push!(finalize_hooks, f)

function flag(name)
    value = Ref{Cint}()
    ccall(symbol(name), Cint, (Ref{Cint},), value)
    return value[] != 0
end
Initialized() = flag(:MPI_Initialized)
Finalized() = flag(:MPI_Finalized)

function Init()
    Initialized() && return
    ccall(symbol(:MPI_Init_thread), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Cint, Ref{Cint}), C_NULL, C_NULL, 2, Ref{Cint}())
    atexit(() -> isempty(Base.catch_stack()) && Finalize())
end

function Finalize()
    Finalized() && return
    while !isempty(finalize_hooks)
        pop!(finalize_hooks)()
    end
    TOLD[]("MPI_Finalize")
    ccall(symbol(:MPI_Finalize), Cint, ())
end

# Who is told of the end of MPI.
const TOLD = Ref{Any}(text -> nothing)

end
