# What the programs that run as ranks have in common. Expected values are computed here, from what every rank is known to give.

using ReactantMPI, Test
const R = ReactantMPI

const TYPES = (Bool, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float16, Float32, Float64, ComplexF32, ComplexF64)

"""What a rank gives as element i (from 1): small, so that sums and products of three ranks are exact in every type."""
given(::Type{T}, rank, i::Int) where {T<:Real} = T((3rank + i) % 4 + 1)
given(::Type{Bool}, rank, i::Int) = isodd(rank * i + i ÷ 2)
given(::Type{Complex{T}}, rank, i::Int) where {T} = Complex{T}((rank + i) % 3 + 1, (rank * i) % 2)
given(T::Type, rank, range::AbstractVector) = T[given(T, rank, i) for i in range]

"""The reduction of all ranks' elements, as Julia does it. Nothing here has a method for each type: those take long to compile."""
function reduced(@nospecialize(f), @nospecialize(T), ranks, range)
    result = zeros(T, length(range))
    for (k, i) in enumerate(range)
        element = given(T, first(ranks), i)
        for rank in ranks[2:end]
            element = f(element, given(T, rank, i))
        end
        result[k] = element
    end
    return result
end

"""The code of the Error that f throws; 0 if it throws none."""
function code_of(@nospecialize(f))
    try
        f()
        return 0
    catch failure
        failure isa R.Error || rethrow()
        return failure.code
    end
end

function text_of(@nospecialize(f))
    try
        f()
        return ""
    catch failure
        return sprint(showerror, failure)
    end
end
