"""
Every name of Reactant.jl that this extension touches. Reactant calls none of them public, and they move; so each is looked up
when it is needed, and one that is gone is an error that says what was expected, of which versions.
"""
module ReactantAPI

using Libdl
using Reactant
import ReactantMPI

# Versions in which these names were seen: from the one that remembers which backends it has tried (April 2026) to main of
# August 2026, and pull requests 3136 (NCCL) and 3202 (communicators, requests of 8 bytes).
const KNOWN = "0.2.253 to 0.2.280"

# What Reactant calls its GPUs; Metal has no NCCL.
const GPU_BACKENDS = ("cuda", "rocm")

version() = isdefined(Base, :pkgversion) ? something(Base.pkgversion(Reactant), "of unknown version") : "of unknown version"

"What stands at this path below `Reactant`, or `nothing`."
function find(path::Symbol...)
    found = Reactant
    for name in path
        found isa Module && isdefined(found, name) || return nothing
        found = getfield(found, name)
    end
    return found
end

function need(path::Symbol...)
    found = find(path...)
    found === nothing || return found
    throw(missing_name("Reactant." * join(path, ".")))
end

"Throws where a name is gone that is needed in any case, and those for a GPU: before anything has been done."
function look(gpu::Bool)
    need(:MLIR, :API, :EnzymeJaXMapSymbol)
    need(:Accelerators, :Registration, :RegisteredBackends)
    gpu || return nothing
    foreach(name -> need(:XLA, name), (:addressable_devices, :client, :get_local_hardware_id, :runtime))
    foreach(name -> field(backend_state(), name), (:initialized, :clients))
    foreach(look_up -> look_up(), (memory_fraction, preallocate, visible_devices, processes))
    return nothing
end

missing_name(name) = ReactantMPI.Error(10,
    "this Reactant (" * string(version()) * ") has no " * name * ". ReactantMPI knows the names of Reactant " * KNOWN *
    ": use one of these, or a newer ReactantMPI", "initialize_reactant!")

"A field, without what a property of the same name may set off."
field(object, name::Symbol) =
    hasfield(typeof(object), name) ? getfield(object, name) : throw(missing_name("field $name in its $(typeof(object))"))

# ---- clients ----------------------------------------------------------------------------------------------------------------

backend_state() = need(:XLA, :global_backend_state)
global_state() = need(:XLA, :global_state)

"Whether there is a client of a GPU; makes none."
function has_gpu_client()
    asked = find(:XLA, :has_initialized_client)
    asked === nothing || return asked("gpu")
    # The field: to read the property makes every client that there can be.
    clients = field(backend_state(), :clients)
    return any(name -> haskey(clients, name), GPU_BACKENDS)
end

"Reactant's entry for its GPUs; `nothing` where it is built for the CPU."
function gpu_backend()
    backends = need(:Accelerators, :Registration, :RegisteredBackends)
    found = findfirst(backend -> backend.platform_name in GPU_BACKENDS, backends)
    return found === nothing ? nothing : backends[found]
end

"`PJRT` or `IFRT`."
runtime() = string(typeof(need(:XLA, :runtime)()).parameters[1])

"Makes Reactant's GPU client with just this device, as Reactant does it."
function make_client(ordinal::Integer)
    global_state().local_gpu_device_ids = [Int(ordinal)]
    return need(:XLA, :client)("gpu")
end

"Makes a client that exists Reactant's own: it is its default, and Reactant frees it."
function adopt_client(pointer::Ptr{Cvoid}, ordinal::Integer)
    state, backend = backend_state(), gpu_backend()
    client = need(:XLA, :PJRT, :Client)(pointer)
    # Else the first look at the clients would make another of the GPU.
    field(state, :initialized) || make_cpu_client(state)
    global_state().local_gpu_device_ids = [Int(ordinal)]
    need(:XLA, :LLVMclopts)("--nvptx-fma-level=1") # as Reactant sets it for each GPU client
    state.clients[backend.platform_name] = client
    push!(state.attempted_backends, backend.platform_name)
    state.default_client = client
    backend.pjrt_client_count[] += 1
    return client
end

function make_cpu_client(state)
    need(:XLA, :with)(need(:XLA, :BACKENDS_TO_INITIALIZE) => Set(["cpu"])) do
        need(:XLA, :initialize_default_clients!)(state)
    end
    return nothing
end

"The hardware ids of the devices of a client."
hardware_ids(client) = [Int(need(:XLA, :get_local_hardware_id)(device)) for device in need(:XLA, :addressable_devices)(client)]

"The devices that the user has named for Reactant (`REACTANT_VISIBLE_GPU_DEVICES`), or `nothing`."
visible_devices() = field(global_state(), :local_gpu_device_ids)

memory_fraction() = need(:XLA, :XLA_REACTANT_GPU_MEM_FRACTION)
preallocate() = need(:XLA, :XLA_REACTANT_GPU_PREALLOCATE)

# ---- who maps devices to processes ------------------------------------------------------------------------------------------

"Reserves the mapping for us. Throws Reactant's error if another has it."
function claim_devices()
    claim = find(:XLA, :claim_gpu_device_mapping!)
    claim === nothing || claim(:mpi)
    return nothing
end

"Gives it back: there is no device to map, or what needed it has failed."
function release_devices()
    state = global_state()
    hasfield(typeof(state), :gpu_device_mapping_owner) || return nothing
    state.gpu_device_mapping_owner === :mpi && (state.gpu_device_mapping_owner = :none)
    return nothing
end

"Processes of Reactant's own distributed runtime."
processes() = field(global_state(), :num_processes)

# ---- compiled code ----------------------------------------------------------------------------------------------------------

"Gives a name to compiled code; the last one given counts."
map_symbol(name::Cstring, address::Ptr{Cvoid}) = need(:MLIR, :API, :EnzymeJaXMapSymbol)(name, address)

"`enzymexla_set_mpi_constant` of libReactantExtra, or NULL: constants of its FFI handlers."
function constant_setter()
    handle = find(:Reactant_jll, :libReactantExtra_handle)
    handle === nothing && return C_NULL
    return something(Libdl.dlsym(handle, :enzymexla_set_mpi_constant; throw_error=false), C_NULL)
end

"Reactant's extension for MPI.jl, which traces MPI calls; `nothing` while MPI.jl is not loaded."
mpi_extension() = isdefined(Base, :get_extension) ? Base.get_extension(Reactant, :ReactantMPIExt) : find(:ReactantMPIExt)

"Whether compiled code keeps requests in 8 bytes (generation 2) and not in 4 (generation 1)."
has_wide_requests() = (extension = mpi_extension(); extension !== nothing && isdefined(extension, :TracedCommunicator))

"Whether compiled code has a place for an NCCL communicator."
has_nccl_place() = find(:default_nccl_comm_handle) !== nothing

"""
Reactant asks `word()` for the communicator that it writes into GPU code. Its own method fails where there is none, and with it
every compilation for a GPU; and its own variables belong to a function that would destroy what they hold as NCCL's.
"""
function serve_nccl_handle(word)
    asked = find(:default_nccl_comm_handle)
    # While a package is precompiled no method may be put into another module.
    (asked === nothing || ccall(:jl_generating_output, Cint, ()) != 0) && return nothing
    if isempty(methods(asked, Tuple{})) || which(asked, Tuple{}).module !== @__MODULE__
        @eval Reactant.default_nccl_comm_handle() = $word()
    end
    return nothing
end

"Waits for what was computed."
synchronize(results) = need(:synchronize)(results)

end
