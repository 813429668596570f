# Code that a compiler of XLA programs made, and that calls the library by MPI's and NCCL's names.

const GENERATIONS = Dict(:G1 => :SYMBOLS_G1, :G2 => :SYMBOLS_G2, :G3 => :SYMBOLS_G3)
const POLICIES = Dict(:return => :ERRORS_RETURN, :log => :ERRORS_LOG, :abort => :ERRORS_ABORT)

"""
    register_symbols(map::Ptr{Cvoid}, generation; on_error = nothing)

Give the library's functions and constants the names that compiled code calls, through `map`, a C function `void (const char *name,
void *value)` as `EnzymeJaXMapSymbol`. Once, and before anything is compiled.

`generation` is `:G1` (4-byte requests), `:G2` (8-byte requests) or `:G3` (constants only). `on_error` says what becomes of failures
that compiled code cannot look at: `:return` keeps them for [`check_compiled`](@ref), `:log` also logs them, `:abort` ends the job;
by default what `REACTANT_MPI_COMPILED_ERRORS` says, and else `:log`.
"""
function register_symbols(map::Ptr{Cvoid}, generation; on_error = nothing)
    flags = flag(GENERATIONS, "generation", generation)
    on_error === nothing || (flags |= flag(POLICIES, "on_error", on_error))
    check(API.register_symbols(map, flags), :register_symbols)
end

function flag(choices, what, value)
    value isa Union{Symbol,AbstractString} && haskey(choices, Symbol(value)) ||
        refuse(API.ERR_OPTION, what, " = ", repr(value), ": possible are ", join(map(repr, sort!(collect(keys(choices)))), ", "))
    return getfield(API, choices[Symbol(value)])
end

"`check_compiled()`: throw the first failure in compiled code since the last call of this; nothing if there was none. Local."
function check_compiled()
    text = zeros(UInt8, 4096)
    code = GC.@preserve text API.compiled_error(pointer(text), length(text))
    code == 0 || throw(Error(code, GC.@preserve(text, unsafe_string(pointer(text))), "compiled code"))
    return nothing
end
