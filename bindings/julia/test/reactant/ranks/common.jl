# What every program of a rank begins with: the package, the stubs, the extension, and compiled code's way of calling.

using Test

const BINDING = normpath(@__DIR__, "..", "..", "..")
push!(LOAD_PATH, BINDING, normpath(@__DIR__, "..", "stub"))

const RANK = parse(Int, get(ENV, "PMI_RANK", get(ENV, "OMPI_COMM_WORLD_RANK", "0")))
# A file for each rank, in which the stub and the double of libReactantExtra write what happens.
const LOG = ENV["FAKE_XLA_LOG"] *= ".$RANK"
happened() = isfile(LOG) ? readlines(LOG) : String[]
place(text, lines = happened()) = something(findfirst(line -> startswith(line, text), lines), 0)

using ReactantMPI
# A communicator of before: what ends communicators at exit is registered before what frees Reactant's clients.
const EARLY = get(ENV, "STUB_REACTANT", "") == "main"
EARLY && ReactantMPI.finalize(ReactantMPI.initialize(gpu = :off))
using Reactant

# Before 1.9 Julia has no extensions, and includes it here.
const EXTENSION = isdefined(Base, :get_extension) ? Base.get_extension(ReactantMPI, :ReactantMPIReactantExt) :
    include(joinpath(BINDING, "ext", "ReactantMPIReactantExt", "ReactantMPIReactantExt.jl"))

const MAPPED = Reactant.MLIR.API.MAPPED
const XLA = Reactant.XLA

# The error that f throws.
function refusal(f)
    try
        f()
    catch failure
        return failure
    end
    return nothing
end

function refused(f, code, words...)
    failure = refusal(f)
    @test failure isa ReactantMPI.Error
    failure.code == code || @error "another code than $code" failure
    @test failure.code == code
    @test all(word -> occursin(word, failure.text), words)
end

# An external symbol of compiled code: the value that was registered last under its name, as an address.
at(name) = Ptr{Cvoid}(last(MAPPED[name]))
const P = Ptr{Cvoid}
call(name, types, arguments...) = call(at(name), types, arguments...)
@generated function call(f::P, ::Type{T}, arguments...) where {T<:Tuple}
    return :(ccall(f, Cint, ($(T.parameters...),), $((:(arguments[$i]) for i in eachindex(T.parameters))...)))
end

const WORLD = "MPI_COMM_WORLD"

# In one write: launchers mingle the output of the ranks.
done() = print("rank $RANK: done\n")
