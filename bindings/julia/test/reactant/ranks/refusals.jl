# What initialize_reactant! refuses, on two ranks with doubles of the GPU libraries, and that nothing stays behind.

include("common.jl")

const STATE, GLOBAL = XLA.global_backend_state, XLA.global_state

# As in a process in which Reactant has not been used.
function forget()
    foreach(XLA.free_client, values(getfield(STATE, :clients)))
    empty!(getfield(STATE, :clients))
    empty!(getfield(STATE, :attempted_backends))
    STATE.initialized = false
    foreach(backend -> backend.pjrt_client_count[] = 0, Reactant.Accelerators.Registration.RegisteredBackends)
    EXTENSION.SETUP.device = -1
    GLOBAL.local_gpu_device_ids, GLOBAL.num_processes, GLOBAL.gpu_device_mapping_owner = nothing, 1, :none
end
nothing_made() = !getfield(STATE, :initialized) && GLOBAL.gpu_device_mapping_owner === :none

# A name that is gone.
const API = EXTENSION.ReactantAPI
refused(() -> API.need(:XLA, :no_such_name), 10, "Reactant.XLA.no_such_name", API.KNOWN)
refused(() -> API.field(GLOBAL, :no_such_field), 10, "no_such_field")

# A client of the GPUs exists.
GLOBAL.local_gpu_device_ids = [0] # the double makes none with several devices
XLA.client("gpu")
refused(ReactantMPI.initialize_reactant!, 8, "client of its GPUs already", "gpu = :off")
comm = ReactantMPI.initialize_reactant!(gpu = :off)
@test ReactantMPI.device(comm) == -1
ReactantMPI.finalize(comm)
forget()

# Another maps devices to processes.
Reactant.Distributed.initialize(num_processes = 1)
refused(ReactantMPI.initialize_reactant!, 8, "owned by distributed", "gpu = :off")
forget()
Reactant.Distributed.initialize(num_processes = 2)
refused(ReactantMPI.initialize_reactant!, 8, "Reactant.Distributed.initialize")
forget()

# Devices named for Reactant.
GLOBAL.local_gpu_device_ids = [0, 2]
refused(ReactantMPI.initialize_reactant!, 68, "0, 2", "CUDA_VISIBLE_DEVICES")
forget()

# The ranks have a host communicator, which is given again.
host = ReactantMPI.initialize(gpu = :off)
refused(() -> ReactantMPI.initialize_reactant!(gpu = :required), 8, "finalize it first")
@test nothing_made()
ReactantMPI.finalize(host)

# The library refuses: the mapping is free again.
refused(() -> ReactantMPI.initialize_reactant!(device = 9), 11, "9")
@test nothing_made()

# The library's client fails on one rank: every rank says why.
RANK == 1 && (ENV["FAKE_XLA"] = "error_text")
refused(() -> ReactantMPI.initialize_reactant!(client = :reactant), 81, "rank 1", "No visible GPU devices")
@test nothing_made()

# Reactant's own client has another device on one rank.
RANK == 1 && (ENV["FAKE_XLA"] = "wrong_device")
if RANK == 1
    refused(ReactantMPI.initialize_reactant!, 81, "[2]", "device 1")
else
    refused(ReactantMPI.initialize_reactant!, 32, "rank 1")
end
forget()

# It fails on the other rank.
delete!(ENV, "FAKE_XLA")
RANK == 0 && (ENV["FAKE_XLA"] = "error_text")
if RANK == 0
    @test refusal(ReactantMPI.initialize_reactant!) isa AssertionError # Reactant's
else
    refused(ReactantMPI.initialize_reactant!, 32, "rank 0")
end
done()
