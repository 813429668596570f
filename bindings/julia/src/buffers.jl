# What C takes as a buffer, of an array or a Ref.

const NO_BUFFER = C_NULL
const IN_PLACE_WORD = Ptr{Cvoid}(UInt(API.IN_PLACE))

# Address, length and element type of a buffer; `what` names it in errors.
@inline function buffer(x, what, type)
    T = element(eltype(x), type)
    return address(x, what), length(x), T
end
buffer(::Type, what, type) = no_buffer(nothing, what)
buffer(::Union{Nothing,InPlace}, what, type) = no_buffer(nothing, what)

@inline address(x::Array, what) = convert(Ptr{Cvoid}, pointer(x))
@inline address(x::Base.RefValue, what) = Base.unsafe_convert(Ptr{Cvoid}, x)
@inline function address(x::StridedArray, what)
    contiguous(x) || not_contiguous(x, what)
    return host_address(pointer(x), x, what)
end
@inline address(x, what) = no_buffer(x, what)

@inline host_address(p::Ptr, x, what) = convert(Ptr{Cvoid}, p)
host_address(p, x, what) = refuse(
    API.ERR_ARGUMENT, what, " is a ", typeof(x), ", whose memory is not the host's: ",
    "ReactantMPI.API has functions for device memory, whose names end in _stream",
)

# One element after the other, as in an Array. Dimensions of one element have no distance that counts.
@inline function contiguous(x)
    distance = 1
    for d in 1:ndims(x)
        Base.size(x, d) == 0 && return true
        Base.size(x, d) == 1 || stride(x, d) == distance || return false
        distance *= Base.size(x, d)
    end
    return true
end

@noinline not_contiguous(x, what) = refuse(
    API.ERR_ARGUMENT, what, " is not contiguous: a ", join(Base.size(x), "×"), " ", nameof(typeof(x)), " with strides ",
    strides(x), ". Give a copy, or a view of whole columns",
)
@noinline no_buffer(x, what) = refuse(
    API.ERR_ARGUMENT, what, " must be an Array, a contiguous view or reshaped or reinterpreted Array, or a Ref, not ",
    x === nothing ? "nothing" : string("a ", typeof(x)),
)

# Address of the input of a call whose other buffer has `n` elements to match.
@inline function input(send, n, T, type, what)
    from, count, U = buffer(send, what, type)
    U === T || types_differ(U, T)
    count == n || counts_differ(what, count, n)
    return from
end
@inline input(::InPlace, n, T, type, what) = IN_PLACE_WORD

@noinline types_differ(U, T) = refuse(API.ERR_TYPE, "send is of ", U, " and recv of ", T)
@noinline counts_differ(what, count, n) = refuse(API.ERR_COUNT, what, " has ", count, " elements, and ", n, " are needed")

# Length of one rank's block of a buffer that holds one for each.
@inline function block(count, comm, what)
    n, rest = divrem(count, comm.size)
    return rest == 0 ? n : uneven(what, count, comm.size)
end
@noinline uneven(what, count, ranks) =
    refuse(API.ERR_COUNT, what, " has ", count, " elements, which is no multiple of the ", ranks, " ranks")
