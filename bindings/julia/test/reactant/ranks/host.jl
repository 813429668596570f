# Communicator and symbols without GPUs (off, or none found): what compiled CPU code calls, in both generations, gives the
# right results.

include("common.jl")
using MPI
Reactant.load_mpi_extension(MPI)

const WIDE = Reactant.API == "3202"
const Request = WIDE ? Int64 : Int32
const SIZE = parse(Int, ARGS[1])

refused(() -> ReactantMPI.initialize_reactant!(1, 2), 8, "one communicator")
refused(() -> ReactantMPI.initialize_reactant!(client = :pjrt), 11, ":pjrt", ":external")
refused(() -> ReactantMPI.initialize_reactant!(generation = :G3), 11, ":G3")
refused(() -> ReactantMPI.initialize_reactant!(nonsense = 1), 11, "nonsense")
Reactant.API == "cpu" && refused(() -> ReactantMPI.initialize_reactant!(gpu = :required), 61, "built for the CPU")

MPI.Init()
comm = ReactantMPI.initialize_reactant!(MPI.COMM_WORLD; on_error = :return)
@test ReactantMPI.size(comm) == SIZE && ReactantMPI.rank(comm) == RANK
@test ReactantMPI.device(comm) == -1
# Nothing of Reactant's devices was touched.
@test !getfield(XLA.global_backend_state, :initialized)
@test XLA.global_state.local_gpu_device_ids === nothing
@test !any(startswith("make"), happened())
# While it was not known that there are none, the mapping of devices was claimed.
@test any(startswith("claim"), happened()) == (Reactant.NCCL && ENV["REACTANT_MPI_GPU"] == "auto")
Reactant.NCCL && @test XLA.global_state.gpu_device_mapping_owner === :none

# ---- symbols: each once; after MPI's own, which then no longer count

const FUNCTIONS = split("""Init Finalize Comm_rank Comm_size Comm_split Barrier Send Recv Isend Irecv Wait Waitall Request_free
    Allreduce Bcast Error_string Reduce Allgather Gather Scatter Reduce_scatter_block Alltoall Sendrecv Scan""")
for name in FUNCTIONS
    @test length(MAPPED["MPI_" * name]) == (name in ("Comm_rank", "Comm_size", "Barrier", "Send", "Recv") ? 2 : 1)
end
@test at("MPI_Comm_rank") != MPI.symbol(:MPI_Comm_rank)
# Values of the MPI-5 standard ABI, whatever MPI is underneath.
for (name, value) in (COMM_WORLD = 0x101, COMM_SELF = 0x102, FLOAT = 0x210, DOUBLE = 0x214, INT64_T = 0x258, SUM = 0x21) |> pairs
    @test at("MPI_$name") == P(UInt(value))
end
@test !any(values -> 0 in values, values(MAPPED))
# Those of the FFI handlers, where libReactantExtra has them.
@test count(startswith("constant MPI_FLOAT="), happened()) == WIDE
@test !WIDE || "constant MPI_FLOAT=0x210 pointer=1" in happened()

once = Dict(name => length(values) for (name, values) in MAPPED)
@test ReactantMPI.initialize_reactant!(MPI.COMM_WORLD) === comm
@test ReactantMPI.initialize_reactant!() === comm
@test Dict(name => length(values) for (name, values) in MAPPED) == once
if SIZE > 1
    self = MPI.COMM_WORLD.val isa Cint ? 0x44000001 : MPI.symbol(:ompi_mpi_comm_self)
    refused(() -> ReactantMPI.initialize_reactant!(self), 8, "another one")
end

# ---- calls, with the prototypes of compiled code

function asked(name)
    out = Ref(Int32(-1))
    GC.@preserve out call(name, Tuple{P,P}, at(WORLD), P(pointer_from_objref(out)))
    return out[]
end
@test asked("MPI_Comm_rank") == RANK && asked("MPI_Comm_size") == SIZE
@test call("MPI_Barrier", Tuple{P}, at(WORLD)) == 0

for (T, name) in ((Float32, "MPI_FLOAT"), (Float64, "MPI_DOUBLE"), (Int32, "MPI_INT32_T"), (UInt64, "MPI_UINT64_T"))
    mine, sum = T[10RANK + i for i in 1:5], zeros(T, 5)
    @test call("MPI_Allreduce", Tuple{P,P,Int32,P,P,P}, pointer(mine), pointer(sum), 5, at(name), at("MPI_SUM"), at(WORLD)) == 0
    @test sum == T[10 * (SIZE * (SIZE - 1) ÷ 2) + SIZE * i for i in 1:5]
end

last_rank = SIZE - 1
data = RANK == last_rank ? [1.5, -2.0, 3.25] : zeros(3)
@test call("MPI_Bcast", Tuple{P,Int32,P,Int32,P}, pointer(data), 3, at("MPI_DOUBLE"), last_rank, at(WORLD)) == 0
@test data == [1.5, -2.0, 3.25]

# A ring: to the next rank, from the one before; requests are as wide as this generation's, beside bytes that nobody may touch.
const TO, FROM = mod(RANK + 1, SIZE), mod(RANK - 1, SIZE)
const STATUS = fill(0xaa, 24)
function ring(wait)
    out, into = Int32[RANK, 7, 8], zeros(Int32, 3)
    requests = fill(Request(-1), 3)
    peer_call(name, buffer, peer, i) = call(name, Tuple{P,Int32,P,Int32,Int32,P,P}, pointer(buffer), 3, at("MPI_INT32_T"), peer, 5,
        at(WORLD), pointer(requests, i))
    GC.@preserve out into requests begin
        @test peer_call("MPI_Irecv", into, FROM, 1) == 0
        @test peer_call("MPI_Isend", out, TO, 2) == 0
        wait(requests)
    end
    @test into == [FROM, 7, 8]
    @test requests[3] == -1
end
ring() do requests
    for i in 1:2
        @test call("MPI_Wait", Tuple{P,P}, pointer(requests, i), WIDE ? at("MPI_STATUS_IGNORE") : pointer(STATUS)) == 0
    end
end
ring() do requests
    statuses = fill(0xaa, 48)
    @test call("MPI_Waitall", Tuple{Int32,P,P}, 2, pointer(requests), WIDE ? at("MPI_STATUSES_IGNORE") : pointer(statuses)) == 0
end

if SIZE > 1
    got = [-1.0]
    const MINE = [RANK + 0.5]
    send() = call("MPI_Send", Tuple{P,Int32,P,Int32,Int32,P}, pointer(MINE), 1, at("MPI_DOUBLE"), TO, 9, at(WORLD))
    recv() = call("MPI_Recv", Tuple{P,Int32,P,Int32,Int32,P,P}, pointer(got), 1, at("MPI_DOUBLE"), FROM, 9, at(WORLD),
        at("MPI_STATUS_IGNORE"))
    @test RANK == 0 ? send() == recv() == 0 : recv() == send() == 0
    @test got == [FROM + 0.5]
end

if WIDE
    half = Ref(Int64(-1))
    GC.@preserve half call("MPI_Comm_split", Tuple{P,Int32,Int32,P}, at(WORLD), 0, -RANK, P(pointer_from_objref(half)))
    rank = Ref(Int32(-1))
    GC.@preserve rank call("MPI_Comm_rank", Tuple{P,P}, P(half[] % UInt), P(pointer_from_objref(rank)))
    @test rank[] == SIZE - 1 - RANK
end

# ---- failures: compiled code drops the code

ReactantMPI.check_compiled()
wrong_root() = call("MPI_Bcast", Tuple{P,Int32,P,Int32,P}, pointer(data), 3, at("MPI_DOUBLE"), 99, at(WORLD))
@test wrong_root() != 0
failure = refusal(ReactantMPI.check_compiled)
@test failure isa ReactantMPI.Error && occursin("99", failure.text)
ReactantMPI.check_compiled()
@test refusal(() -> ReactantMPI.checked(wrong_root)) isa ReactantMPI.Error
@test last(happened()) == "synchronize"
@test ReactantMPI.checked(+, 2, 3) == 5

# ---- the end, and again

@test Reactant.mpi_pass("cpu") == "lower-enzymexla-mpi{backend=cpu}"
Reactant.NCCL && @test Reactant.mpi_pass("cuda") == "lower-enzymexla-mpi{backend=cuda ncclCommPtr=0}"
ReactantMPI.finalize(comm)
@test wrong_root() != 0 && refusal(ReactantMPI.check_compiled) isa ReactantMPI.Error
comm = ReactantMPI.initialize_reactant!(MPI.COMM_WORLD; on_error = :return)
@test asked("MPI_Comm_size") == SIZE
@test Dict(name => length(values) for (name, values) in MAPPED) == once
done()
