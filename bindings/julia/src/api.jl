"""
    ReactantMPI.API

The C library one to one: functions, constants and structs of `reactant_mpi.h` without their prefix. Results are C's codes and
nothing is checked. Every function that can wait for other ranks lets the garbage collector of other threads run meanwhile.
"""
module API

include("abi.jl")
include("library.jl")

# Where the functions of the table are in memory, once the library is loaded.
const POINTERS = fill(C_NULL, length(FUNCTIONS))

@inline function address(i)
    pointer = @inbounds POINTERS[i]
    return pointer == C_NULL ? first_address(i) : pointer
end

@noinline function first_address(i)
    load()
    return POINTERS[i]
end

# These return at once, or may call Julia back, which only a thread that takes part in garbage collection can do.
const PLAIN = (
    :version, :rank, :size, :local_rank, :local_size, :device, :nccl_comm, :client, :comm_id, :mpi_comm, :describe,
    :last_error, :last_error_code, :error_name, :comm_error, :compiled_error, :register_symbols, :request_free,
    :initialize, :initialize_with, :initialize_fint,
)

function expression(i, name, result, types, arguments)
    if name in PLAIN
        return :(ccall(address($i), $result, ($(types...),), $(arguments...)))
    end
    @static if Base.VERSION >= v"1.12"
        typed = [:($argument::$type) for (argument, type) in zip(arguments, types)]
        call = Expr(:(::), Expr(:call, Expr(:$, :(address($i))), typed...), result)
        return Expr(:macrocall, Symbol("@ccall"), LineNumberNode(@__LINE__, @__FILE__), :(gc_safe = true), call)
    end
    # The same by hand: between enter and leave nothing of Julia's is touched.
    roots, words = [Symbol(:root, k) for k in eachindex(arguments)], [Symbol(:word, k) for k in eachindex(arguments)]
    return quote
        pointer = address($i)
        $((:($root = Base.cconvert($type, $argument)) for (root, type, argument) in zip(roots, types, arguments))...)
        GC.@preserve $(roots...) begin
            $((:($word = Base.unsafe_convert($type, $root)) for (word, type, root) in zip(words, types, roots))...)
            state = ccall(:jl_gc_safe_enter, Int8, ())
            value = ccall(pointer, $result, ($(types...),), $(words...))
            ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)
        end
        value
    end
end

for (i, (name, result, types)) in enumerate(FUNCTIONS)
    arguments = [Symbol(:argument, k) for k in eachindex(types)]
    @eval $name($(arguments...)) = $(expression(i, name, result, types, arguments))
end

end
