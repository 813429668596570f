"""
    ReactantMPI.Comm

Ranks that work together; made by [`initialize`](@ref) and by [`split`](@ref) and its kin. Field `handle` is the
`reactant_mpi_comm *` of C, NULL once it has ended. Nothing ends it but [`finalize`](@ref): there is no finalizer.
"""
mutable struct Comm
    handle::Ptr{Cvoid}
    rank::Int
    size::Int
end

function Comm(handle::Ptr{Cvoid})
    comm = Comm(handle, known(API.rank(handle), :rank), known(API.size(handle), :size))
    lock(LIVE_LOCK) do
        push!(LIVE, comm)
    end
    return comm
end

# Every communicator that has not ended, oldest first.
const LIVE = Comm[]
const LIVE_LOCK = ReentrantLock()

function Base.show(io::IO, comm::Comm)
    comm.handle == C_NULL && return print(io, "ReactantMPI.Comm(ended)")
    print(io, "ReactantMPI.Comm(rank ", comm.rank, " of ", comm.size, ")")
end

# What a query returns, or the failure that a negative value stands for.
@inline known(value, name) = value < 0 ? failed(-value, name) : Int(value)

"`rank(comm)`: this rank, from 0."
rank(comm::Comm) = known(API.rank(comm.handle), :rank)

"`size(comm)`: number of ranks."
size(comm::Comm) = known(API.size(comm.handle), :size)

"`local_rank(comm)`: this rank among those on the same host, from 0."
local_rank(comm::Comm) = known(API.local_rank(comm.handle), :local_rank)

"`local_size(comm)`: number of ranks on this host."
local_size(comm::Comm) = known(API.local_size(comm.handle), :local_size)

"`id(comm)`: small positive integer, equal on every rank, that C and compiled code take instead of the handle."
id(comm::Comm) = known(API.comm_id(comm.handle), :comm_id)

"`device(comm)`: CUDA or HIP ordinal of this rank's GPU; -1 for a host communicator."
function device(comm::Comm)
    ordinal = API.device(comm.handle)
    return ordinal < -1 ? failed(-ordinal, :device) : Int(ordinal)
end

"`nccl_comm(comm)`: the `ncclComm_t`, owned by the library; `C_NULL` for a host communicator."
nccl_comm(comm::Comm) = alive(comm, API.nccl_comm(comm.handle))

"`client(comm)`: the XLA client with just this rank's device (`PjRtClient *` or `PJRT_Client *`); `C_NULL` where the host makes it."
client(comm::Comm) = alive(comm, API.client(comm.handle))

"`mpi_comm(comm)`: the duplicate that the communicator works on, as the word that the host MPI has for it; owned by the library."
function mpi_comm(comm::Comm)
    word = API.mpi_comm(comm.handle)
    return word == 0 ? failed(API.ERR_COMM, :mpi_comm) : word
end

"`comm_error(comm)`: code of the first error that was latched on the communicator, 0 if none."
comm_error(comm::Comm) = known(API.comm_error(comm.handle), :comm_error)

# A NULL pointer is no failure unless the communicator has ended.
function alive(comm, pointer)
    pointer == C_NULL && comm_error(comm)
    return pointer
end

"""
    describe([comm]) -> String

Everything known of the process, or of a communicator and the process, as JSON: version, MPI library by path and ABI and how it was
found, ranks, hosts, options, times, first error. Local.
"""
describe(comm::Comm) = described(comm.handle == C_NULL ? Ptr{Cvoid}(-1) : comm.handle) # NULL would be the process
describe() = described(C_NULL)

function described(handle)
    text = UInt8[]
    while true
        n = Int(API.describe(handle, text, length(text)))
        n == 0 && failed(API.last_error_code(), :describe)
        n < length(text) && return String(resize!(text, n))
        resize!(text, n + 1)
    end
end
