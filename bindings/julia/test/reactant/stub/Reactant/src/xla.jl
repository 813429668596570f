module XLA

using Libdl
using ..Reactant: Reactant, Reactant_jll, Accelerators, event
using ..Accelerators.Registration: RegisteredBackends, RegisteredBackend, make_client

const XLA_REACTANT_GPU_MEM_FRACTION = Ref(0.75)
const XLA_REACTANT_GPU_PREALLOCATE = Ref(true)

LLVMclopts(options...) = event("LLVMclopts " * join(options, " "))

extra(name) = dlsym(Reactant_jll.libReactantExtra_handle, name)

# ---- clients and devices, of either runtime

abstract type AbstractClient end
function free_client end
function addressable_devices end
function get_local_hardware_id end

for (runtime, make, free, count, list, id) in (
    (:PJRT, :MakeGPUClient, :FreeClient, :ClientNumAddressableDevices, :ClientGetAddressableDevices, :PjRtDeviceGetLocalHardwareId),
    (:IFRT, :ifrt_make_pjrt_gpu_client, :ifrt_FreeClient, :ifrt_client_addressable_device_count, :ifrt_client_addressable_devices,
        :ifrt_DeviceGetLocalHardwareId),
)
    @eval module $runtime
    using ..XLA: XLA, AbstractClient, extra
    mutable struct Client <: AbstractClient
        client::Ptr{Cvoid}
        function Client(client::Ptr{Cvoid}; skip_check::Bool=false)
            skip_check || @assert client != C_NULL
            return new(client)
        end
    end
    struct Device
        device::Ptr{Cvoid}
    end
    const NullClient = Client(C_NULL; skip_check=true)
    const CPU = Ptr{Cvoid}(64)
    XLA.free_client(client::Client) = client.client == CPU || ccall(extra($(QuoteNode(free))), Cvoid, (Ptr{Cvoid},), client.client)
    function XLA.addressable_devices(client::Client)
        n = ccall(extra($(QuoteNode(count))), Cint, (Ptr{Cvoid},), client.client)
        devices = fill(C_NULL, n)
        ccall(extra($(QuoteNode(list))), Cvoid, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}), client.client, devices)
        return map(Device, devices)
    end
    XLA.get_local_hardware_id(device::Device) = ccall(extra($(QuoteNode(id))), Int64, (Ptr{Cvoid},), device.device)
    function make_gpu(; node_id, num_nodes, distributed_runtime_client, allowed_devices)
        problem = Ref{Cstring}()
        allowed = allowed_devices === nothing ? Int[] : allowed_devices
        client = ccall(extra($(QuoteNode(make))), Ptr{Cvoid},
            (Cint, Cint, Ptr{Int64}, Int64, Cdouble, Bool, Cstring, Ref{Cstring}, Ptr{Cvoid}), node_id, num_nodes,
            allowed_devices === nothing ? C_NULL : pointer(allowed), length(allowed), XLA.XLA_REACTANT_GPU_MEM_FRACTION[],
            XLA.XLA_REACTANT_GPU_PREALLOCATE[], "gpu", problem, C_NULL)
        client == C_NULL && throw(AssertionError(unsafe_string(problem[])))
        XLA.LLVMclopts("--nvptx-fma-level=1")
        return Client(client)
    end
    make_cpu(; options...) = Client(CPU)
    end
end

# ---- what the process has of them

# A value for the time of a call.
const BACKENDS_TO_INITIALIZE = Ref{Union{Missing,Set{String}}}(missing)
function with(f, pair)
    place, value = pair
    old, place[] = place[], value
    try
        return f()
    finally
        place[] = old
    end
end

const Chosen = Reactant.RUNTIME == "IFRT" ? IFRT : PJRT

mutable struct BackendState
    initialized::Bool
    clients::Dict{String,Chosen.Client}
    default_client::Chosen.Client
    attempted_backends::Set{String}
end
const global_backend_state = BackendState(false, Dict{String,Chosen.Client}(), Chosen.NullClient, Set{String}())

function Base.getproperty(state::BackendState, name::Symbol)
    name === :initialized || getfield(state, :initialized) || initialize_default_clients!(state)
    return getfield(state, name)
end

function Base.setproperty!(state::BackendState, name::Symbol, value)
    name === :initialized || getfield(state, :initialized) || initialize_default_clients!(state)
    return setfield!(state, name, value)
end

function initialize_default_clients!(state::BackendState)
    state.initialized = true
    wanted = BACKENDS_TO_INITIALIZE[]
    best = nothing
    for backend in RegisteredBackends
        wanted === missing || backend.platform_name in wanted || continue
        push!(state.attempted_backends, backend.platform_name)
        try
            event("make $(backend.platform_name)")
            state.clients[backend.platform_name] = make_client(runtime(), backend; node_id=0, num_nodes=1,
                distributed_runtime_client=nothing, allowed_devices=global_state.local_gpu_device_ids)
        catch failure
            @error "Failed to initialize client: $(backend.platform_name)" failure
            continue
        end
        (best === nothing || backend.priority > best.priority) && (best = backend)
    end
    @assert best !== nothing "No functional client was found."
    state.default_client = state.clients[best.platform_name]
    return nothing
end

function client(name::String)
    clients = global_backend_state.clients
    names = name == "gpu" ? ["cuda", "metal", "rocm"] : [name]
    for candidate in names
        haskey(clients, candidate) && return clients[candidate]
    end
    issubset(names, global_backend_state.attempted_backends) && error("No GPU client found")
    with(() -> initialize_default_clients!(global_backend_state), BACKENDS_TO_INITIALIZE => Set(names))
    union!(global_backend_state.attempted_backends, names)
    return client(name)
end

default_backend() = global_backend_state.default_client
runtime() = Chosen === PJRT ? Val(:PJRT) : Val(:IFRT)

# ---- who maps devices to processes

if Reactant.NCCL
    mutable struct State
        process_id::Int
        num_processes::Int
        local_gpu_device_ids::Union{Nothing,Vector{Int}}
        gpu_device_mapping_owner::Symbol
    end
    const global_state = State(0, 1, nothing, :none)

    function claim_gpu_device_mapping!(owner::Symbol)
        now = global_state.gpu_device_mapping_owner
        now in (:none, owner) ||
            error("GPU device mapping is already owned by $now; cannot initialize $owner GPU device mapping in the same process")
        global_state.gpu_device_mapping_owner = owner
        event("claim $owner")
    end
    has_initialized_client(name::String) = any(n -> haskey(getfield(global_backend_state, :clients), n), ["cuda", "metal", "rocm"])
else
    mutable struct State
        process_id::Int
        num_processes::Int
        local_gpu_device_ids::Union{Nothing,Vector{Int}}
    end
    const global_state = State(0, 1, nothing)
end

function cleanup_backend_state()
    event("cleanup" * Reactant.TOLD[]())
    getfield(global_backend_state, :initialized) || return
    foreach(free_client, values(global_backend_state.clients))
end

function __init__()
    push!(RegisteredBackends, RegisteredBackend("cpu", 100, PJRT.make_cpu, IFRT.make_cpu, Ref(0), Ref(0)))
    Reactant.API == "cpu" || push!(RegisteredBackends, RegisteredBackend("cuda", 500, PJRT.make_gpu, IFRT.make_gpu, Ref(0), Ref(0)))
    if haskey(ENV, "REACTANT_VISIBLE_GPU_DEVICES")
        global_state.local_gpu_device_ids = parse.(Int, split(ENV["REACTANT_VISIBLE_GPU_DEVICES"], ","))
    end
    atexit(cleanup_backend_state)
end

end
