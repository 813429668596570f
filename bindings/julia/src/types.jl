# Element types, operations and constants.

"`ReactantMPI.ElementType`: what C calls the elements of a buffer; for keyword `type`, as `ReactantMPI.BFLOAT16` for `UInt16`."
struct ElementType
    value::Cint
    bytes::Int
end

const ELEMENT_TYPES = (
    (:BOOL, Bool), (:INT8, Int8), (:UINT8, UInt8), (:INT16, Int16), (:UINT16, UInt16), (:INT32, Int32), (:UINT32, UInt32),
    (:INT64, Int64), (:UINT64, UInt64), (:FLOAT16, Float16), (:FLOAT32, Float32), (:FLOAT64, Float64), (:COMPLEX64, ComplexF32),
    (:COMPLEX128, ComplexF64),
)
for (name, T) in ELEMENT_TYPES
    @eval const $name = ElementType(API.$name, $(sizeof(T)))
    @eval @inline element(::Type{$T}) = $name
end
const BYTE = ElementType(API.BYTE, 1)
const BFLOAT16 = ElementType(API.BFLOAT16, 2)
const FLOAT8_E4M3FN = ElementType(API.FLOAT8_E4M3FN, 1)
const FLOAT8_E5M2 = ElementType(API.FLOAT8_E5M2, 1)

# Types of other packages that C has too, by their names.
const FOREIGN = Dict(:BFloat16 => BFLOAT16, :Float8_E4M3FN => FLOAT8_E4M3FN, :Float8_E5M2 => FLOAT8_E5M2)
function element(T::Type)
    isbitstype(T) && haskey(FOREIGN, nameof(T)) && sizeof(T) == FOREIGN[nameof(T)].bytes && return FOREIGN[nameof(T)]
    refuse(
        API.ERR_TYPE, "elements of type ", T, ": possible are ", join(last.(ELEMENT_TYPES), ", "),
        ", BFloat16, and what `type =` says or `reinterpret` makes of others",
    )
end

@inline element(T::Type, ::Nothing) = element(T)
@inline element(T::Type, type::ElementType) = isbitstype(T) && sizeof(T) == type.bytes ? type : no_such_element(T, type)
element(T::Type, type) = refuse(API.ERR_TYPE, "type = ", repr(type), ": must be one of ReactantMPI's, as ReactantMPI.BFLOAT16")
@noinline no_such_element(T, type) =
    refuse(API.ERR_TYPE, "elements of type ", T, " cannot be taken as ", type, ", which have ", type.bytes, " bytes")

Base.show(io::IO, type::ElementType) = print(io, "ReactantMPI.", name_of(type.value, element_names()))
element_names() = [first.(collect(ELEMENT_TYPES)); [:BYTE, :BFLOAT16, :FLOAT8_E4M3FN, :FLOAT8_E5M2]]

"`ReactantMPI.Op`: a reduction, as `ReactantMPI.SUM`; where one is asked for, `+ * min max & | xor` will do too."
struct Op
    value::Cint
end

const OPERATIONS = (:SUM, :MIN, :MAX, :PROD, :BAND, :BOR, :BXOR, :LAND, :LOR, :LXOR, :AVG)
for name in OPERATIONS
    @eval const $name = Op(API.$name)
end

Base.show(io::IO, op::Op) = print(io, "ReactantMPI.", name_of(op.value, OPERATIONS))
name_of(value, names) = first(Iterators.flatten(((name for name in names if getfield(API, name) == value), ("?",))))

# The operation of C for elements of type T.
@inline operation(op::Op, T) = op.value
@inline operation(::typeof(+), T) = SUM.value
@inline operation(::typeof(*), T) = PROD.value
@inline operation(::typeof(min), T) = MIN.value
@inline operation(::typeof(max), T) = MAX.value
@inline operation(::typeof(&), T) = BAND.value
@inline operation(::typeof(|), T) = BOR.value
@inline operation(::typeof(xor), T) = BXOR.value
@inline operation(::typeof(*), ::Type{Bool}) = LAND.value
@inline operation(::typeof(&), ::Type{Bool}) = LAND.value
@inline operation(::typeof(|), ::Type{Bool}) = LOR.value
@inline operation(::typeof(xor), ::Type{Bool}) = LXOR.value
function operation(op::Symbol, T)
    functions = Dict(:+ => +, :* => *, :min => min, :max => max, :& => &, :| => |, :xor => xor, :⊻ => xor)
    haskey(functions, op) && return operation(functions[op], T)
    name = Symbol(uppercase(string(op)))
    return name in OPERATIONS ? Cint(getfield(API, name)) : no_operation(op)
end
operation(op, T) = no_operation(op)
@noinline no_operation(op) = refuse(
    API.ERR_OP, "op = ", op, ": must be one of + * min max & | xor, or of ReactantMPI's: ", join(OPERATIONS, ", "),
    " (functions of your own and operations of MPI.jl cannot be passed on)",
)

struct InPlace end
"`ReactantMPI.IN_PLACE`: as a buffer: take the input from the other buffer."
const IN_PLACE = InPlace()
Base.show(io::IO, ::InPlace) = print(io, "ReactantMPI.IN_PLACE")

"`ReactantMPI.ANY_SOURCE`: receive from whoever sends."
const ANY_SOURCE = API.ANY_SOURCE
"`ReactantMPI.ANY_TAG`: receive whatever the tag."
const ANY_TAG = API.ANY_TAG
"`ReactantMPI.PROC_NULL`: the peer with which nothing happens."
const PROC_NULL = API.PROC_NULL

"`ReactantMPI.Status`: what a receive got, by `source`, `tag` and `bytes`."
const Status = API.Status
Status() = Status(PROC_NULL, ANY_TAG, 0)

"`get_count(status, T)`: number of elements of type `T` that a receive got."
get_count(status::Status, T::Type) = Int(status.bytes) ÷ sizeof(T)
get_count(status::Ref{Status}, T::Type) = get_count(status[], T)
