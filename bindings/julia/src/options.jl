# Options of initialize, from Julia's values to the C struct.

const GPU = (auto = API.GPU_AUTO, off = API.GPU_OFF, required = API.GPU_REQUIRED)
const CLIENT = (none = API.CLIENT_NONE, external = API.CLIENT_EXTERNAL, reactant = API.CLIENT_REACTANT, pjrt = API.CLIENT_PJRT)
const THREAD_LEVEL = (
    single = API.THREAD_SINGLE, funneled = API.THREAD_FUNNELED, serialized = API.THREAD_SERIALIZED, multiple = API.THREAD_MULTIPLE,
)
const HALF = (pairwise = API.HALF_PAIRWISE, f32 = API.HALF_F32)
const ON_OFF = (off = 0, on = 1)

# How each option is read; the rest of the struct is not for users.
const OPTION_KINDS = (
    gpu = GPU, client = CLIENT, thread_level = THREAD_LEVEL, half = HALF, launcher_check = ON_OFF, preallocate = ON_OFF,
    nccl_nonblocking = ON_OFF, check = ON_OFF, timeout_ms = 0:typemax(Int32), call_timeout_ms = 0:typemax(Int32), device = 0:2^15,
    max_count = 1:2^30, memory_fraction = Real, libmpi = String, mpi_dirs = String, libnccl = String, libxla = String,
    trace = String,
)

# The values of the struct. Strings stay strings: options_struct makes pointers of them.
function options(; wishes...)
    given = (; (name => option(name, value) for (name, value) in wishes if value !== nothing)...)
    return merge(API.OPTIONS_INIT, given)
end

function option(name, value)
    haskey(OPTION_KINDS, name) ||
        refuse(API.ERR_OPTION, "there is no option ", name, "; there are: ", join(keys(OPTION_KINDS), ", "))
    return option(name, value, OPTION_KINDS[name])
end

function option(name, value, choices::NamedTuple)
    value isa Bool && choices === ON_OFF && return Int(value)
    if value isa Union{Symbol,AbstractString} && haskey(choices, Symbol(value))
        return choices[Symbol(value)]
    end
    refuse(API.ERR_OPTION, name, " = ", repr(value), ": possible are ", join(map(repr, keys(choices)), ", "))
end

function option(name, value, range::AbstractRange)
    value isa Integer && !(value isa Bool) && value in range && return Int(value)
    refuse(API.ERR_OPTION, name, " = ", repr(value), ": must be an integer from ", first(range), " to ", last(range))
end

function option(name, value, ::Type{Real})
    value isa Real && !(value isa Bool) && 0 < value <= 1 && return Float64(value)
    refuse(API.ERR_OPTION, name, " = ", repr(value), ": must be a number above 0, up to 1")
end

function option(name, value, ::Type{String})
    name === :mpi_dirs && value isa AbstractVector && (value = join(value, ':'))
    value isa AbstractString || refuse(API.ERR_OPTION, name, " = ", repr(value), ": must be a path")
    '\0' in value && refuse(API.ERR_OPTION, name, " = ", repr(value), ": contains a zero byte")
    return String(value)
end

# Call f with the address of the C struct.
function with_options(f, values)
    GC.@preserve values begin
        words = map(value -> value isa String ? Cstring(pointer(value)) : value, values)
        return f(Ref(API.Options(words...)))
    end
end
