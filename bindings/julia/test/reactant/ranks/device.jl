# One GPU for each rank, on doubles of the driver, NCCL and libReactantExtra: order of steps, ordinals, the handle in compiled
# code, the end.
# Arguments: the number of ranks, who makes the client.

# Registered before all others, and so the last to run.
atexit(() -> foreach(problem -> print("rank $RANK: $problem\n"), what_is_wrong_with_the_end()))

include("common.jl")
using MPI

# The end is left to Julia: our communicator, then MPI, then Reactant's client.
function what_is_wrong_with_the_end()
    lines = happened()
    free = IFRT ? "ifrt_FreeClient" : "FreeClient"
    # MPI is ours to end where it was initialised here, early.
    order = [place(text, lines) for text in [EARLY ? [] : ["MPI_Finalize live=false"]; "cleanup live=false"; free]]
    problems = String[]
    comm.handle == C_NULL || push!(problems, "the communicator has not ended")
    0 in order || !issorted(order) && push!(problems, "the end came as $(lines[max(end - 4, 1):end])")
    0 in order && push!(problems, "the end is not whole: $(lines[max(end - 4, 1):end])")
    count(isequal(free), lines) == 1 || push!(problems, "the client was freed $(count(isequal(free), lines)) times")
    isempty(problems) && push!(problems, "ended well")
    return problems
end

const SIZE, CLIENT = parse(Int, ARGS[1]), Symbol(ARGS[2])
const IFRT = Reactant.RUNTIME == "IFRT"
const MAKE = IFRT ? "ifrt_make_pjrt_gpu_client" : "MakeGPUClient"
pass() = Reactant.mpi_pass("cuda")
word() = UInt(parse(UInt64, match(r"ncclCommPtr=(\d+)", pass()).captures[1]))

# Nobody has asked for a communicator: code for a GPU compiles all the same, also where MPI.jl's extension comes later.
Reactant.NCCL && @test word() == 0

IFRT && refused(() -> ReactantMPI.initialize_reactant!(client = :reactant), 10, "IFRT", ":external")

MPI.Init()
Reactant.TOLD[] = () -> " live=$(comm.handle != C_NULL)"
MPI.TOLD[] = text -> Reactant.event("$text live=$(comm.handle != C_NULL)")
# Said here, or to Reactant.
const MEMORY = Reactant.NCCL ? (memory_fraction = 0.25, preallocate = false) : (;)
Reactant.NCCL || (XLA.XLA_REACTANT_GPU_MEM_FRACTION[] = 0.5)
comm = ReactantMPI.initialize_reactant!(MPI.COMM_WORLD; client = CLIENT, on_error = :return, MEMORY...)

# ---- one client, of the right device, and Reactant's default

const DEVICE = SIZE == 1 ? 2 : RANK # one rank is told so by REACTANT_VISIBLE_GPU_DEVICES
@test ReactantMPI.device(comm) == DEVICE
@test XLA.global_state.local_gpu_device_ids == [DEVICE]
client = XLA.client("gpu")
@test map(XLA.get_local_hardware_id, XLA.addressable_devices(client)) == [DEVICE]
@test XLA.default_backend() === client
@test client.client == ReactantMPI.client(comm) || CLIENT === :external
@test client isa (IFRT ? XLA.IFRT.Client : XLA.PJRT.Client)
lines = happened()
@test count(startswith(MAKE), lines) == 1
const ASKED = "allowed=1:$DEVICE fraction=$(Reactant.NCCL ? "0.25 preallocate=0" : "0.5 preallocate=1")"
@test occursin(ASKED, lines[place(MAKE, lines)])
@test count(isequal("LLVMclopts --nvptx-fma-level=1"), lines) == 1
if Reactant.NCCL
    @test place("claim mpi") == 1 < place(MAKE)
end
# A client of the CPU can still be had, and does not push the other one aside.
@test XLA.client("cpu") !== client
@test XLA.client("gpu") === client
gpu = only(filter(backend -> backend.platform_name == "cuda", Reactant.Accelerators.Registration.RegisteredBackends))
@test (gpu.pjrt_client_count[], gpu.ifrt_client_count[]) == (IFRT ? (0, 1) : (1, 0))

# ---- again

ours = at("ncclAllReduce")
@test ReactantMPI.initialize_reactant!(; client = CLIENT) === comm
@test ReactantMPI.world() === comm
@test length(MAPPED["ncclAllReduce"]) == 2 # Reactant's, then ours
@test count(startswith(MAKE), happened()) == 1

# Reactant's extension for MPI.jl comes late, and puts MPI's functions, and a method that fails, over ours: once more mends it.
Reactant.load_mpi_extension(MPI)
@test at("MPI_Comm_rank") == MPI.symbol(:MPI_Comm_rank)
Reactant.NCCL && @test_throws ErrorException pass()
@test ReactantMPI.initialize_reactant!() === comm
@test at("MPI_Comm_rank") != MPI.symbol(:MPI_Comm_rank)
@test at("ncclAllReduce") == ours

# ---- what compiled GPU code calls: the address that is registered, with the word of the pass as the communicator

const CUDA = ReactantMPI.API.Libdl.dlopen("libcuda.so.1")
cu(name, types, arguments...) = @test call(ReactantMPI.API.Libdl.dlsym(CUDA, name), types, arguments...) == 0
address_of(ref) = P(Base.unsafe_convert(Ptr{eltype(ref)}, ref))
# XLA makes the device's context current in the threads that run its code.
const CONTEXT, ORDINAL, STREAM = Ref(C_NULL), Ref(Cint(0)), Ref(C_NULL)
cu(:cuDeviceGet, Tuple{P,Cint}, address_of(ORDINAL), DEVICE)
cu(:cuDevicePrimaryCtxRetain, Tuple{P,Cint}, address_of(CONTEXT), ORDINAL[])
cu(:cuCtxSetCurrent, Tuple{P}, CONTEXT[])
cu(:cuStreamCreate, Tuple{P,Cuint}, address_of(STREAM), 1)

function device_array(host)
    address = Ref(UInt64(0))
    GC.@preserve address host begin
        cu(:cuMemAlloc_v2, Tuple{P,Csize_t}, address_of(address), sizeof(host))
        cu(:cuMemcpyHtoD_v2, Tuple{UInt64,P,Csize_t}, address[], pointer(host), sizeof(host))
    end
    return address[]
end

function allreduce(f, communicator, T, type, op, mine)
    send, into = device_array(T.(mine)), device_array(zeros(T, length(mine)))
    code = call(f, Tuple{P,P,Int64,Int32,Int32,P,P}, P(send), P(into), length(mine), type, op, P(communicator), STREAM[])
    cu(:cuStreamSynchronize, Tuple{P}, STREAM[])
    result = zeros(T, length(mine))
    cu(:cuMemcpyDtoH_v2, Tuple{P,UInt64,Csize_t}, pointer(result), into, sizeof(result))
    return code, result
end

if Reactant.NCCL
    handle = word()
    @test handle == UInt(comm.handle) != 0
    mine = [RANK + i for i in 1:6]
    for (T, type) in ((Int32, 2), (UInt32, 3), (Int64, 4), (UInt64, 5), (Float32, 7), (Float64, 8))
        @test allreduce(at("ncclAllReduce"), handle, T, type, 0, mine) == (0, T[sum(r + i for r in 0:SIZE-1) for i in 1:6])
        @test allreduce(at("ncclAllReduce"), handle, T, type, 1, mine) == (0, T[prod(r + i for r in 0:SIZE-1) for i in 1:6])
        @test allreduce(at("ncclAllReduce"), handle, T, type, 2, mine) == (0, T[SIZE - 1 + i for i in 1:6])
        @test allreduce(at("ncclAllReduce"), handle, T, type, 3, mine) == (0, T[i for i in 1:6])
    end
    ReactantMPI.check_compiled()

    # What was compiled is called after its communicator has ended: a failure, and no crash.
    ReactantMPI.finalize(comm)
    @test word() == 0
    @test first(allreduce(at("ncclAllReduce"), handle, Float32, 7, 0, mine)) != 0
    @test refusal(ReactantMPI.check_compiled) isa ReactantMPI.Error

    # A new one: Reactant's client stays, with its device.
    @test refusal(() -> ReactantMPI.initialize_reactant!(; device = 3 - DEVICE)).code == 8
    comm = ReactantMPI.initialize_reactant!(MPI.COMM_WORLD; client = CLIENT, on_error = :return)
    @test XLA.client("gpu") === client && count(startswith(MAKE), happened()) == 1
    @test ReactantMPI.device(comm) == DEVICE
    @test word() == UInt(comm.handle) != handle
    @test allreduce(at("ncclAllReduce"), word(), Float64, 8, 0, mine) == (0, [sum(r + i for r in 0:SIZE-1) for i in 1:6])
else
    @test pass() == "lower-enzymexla-mpi{backend=cuda}"
end

done()
