"""
    ReactantMPI.Error <: Exception

A call failed.

* `code`: the result code of the C library, as in `reactant_mpi.h` (checks made in Julia use the same codes)
* `name`: its name, as `"ERR_COMM"`
* `text`: what happened, where, and what to do
* `function`: the function of the C library that was called, or the check that failed, without prefix
"""
struct Error <: Exception
    code::Int
    name::String
    text::String
    var"function"::String
end

Error(code, text, name) = Error(code, get(API.RESULT_NAMES, code, "unknown code"), text, string(name))

Base.showerror(io::IO, e::Error) = print(io, "ReactantMPI.Error: ", e.text, " (", e.name, ", code ", e.code, ")")

# Throw what a C function has just failed with on this thread; nothing for 0.
@inline check(code, name) = code == 0 ? nothing : failed(code, name)
@noinline failed(code, name) = throw(Error(code, unsafe_string(API.last_error()), name))

@noinline refuse(code, text...) = throw(Error(code, string(text...), "arguments"))
