# initialize_reactant!: the order of its steps.

mutable struct Setup
    comm::Union{Nothing,ReactantMPI.Comm} # what compiled code works on
    device::Int # of Reactant's client, once there is one that was made here; it lives on when comm ends
    at_exit::Bool
end

const SETUP = Setup(nothing, -1, false)
const SETUP_LOCK = ReentrantLock()

is_live(comm) = comm !== nothing && comm.handle != C_NULL

@noinline refuse(code, text...) = throw(ReactantMPI.Error(code, string(text...), "initialize_reactant!"))

function ReactantMPI.initialize_reactant!(comm=nothing; client::Symbol=:external, gpu=nothing, generation::Symbol=:auto,
                                          on_error=nothing, options...)
    client in (:external, :reactant) || refuse(11, "client = ", repr(client), ": possible are :external, :reactant")
    generation in (:auto, :G1, :G2) || refuse(11, "generation = ", repr(generation), ": possible are :auto, :G1, :G2")
    on_error in (nothing, :return, :log, :abort) ||
        refuse(11, "on_error = ", repr(on_error), ": possible are :return, :log, :abort")
    return lock(SETUP_LOCK) do
        is_live(SETUP.comm) ? again(comm) : set_up(comm, client, gpu, options)
        register(generation_of(generation), on_error)
        ReactantAPI.serve_nccl_handle(nccl_word)
        SETUP.comm
    end
end

# The same ranks: what there is. Others: an error, since compiled code has one communicator.
function again(comm)
    handle = Ref(C_NULL)
    code = ReactantMPI.with_options(ReactantMPI.options(gpu=:off)) do options
        ReactantMPI.API.initialize_with(ReactantMPI.host_word(comm), options, handle)
    end
    ReactantMPI.check(code, :initialize)
    ReactantMPI.check(ReactantMPI.API.finalize(handle[]), :finalize) # that reference
    handle[] == SETUP.comm.handle || refuse(8, "Reactant is set up over communicator ", ReactantMPI.id(SETUP.comm),
        ", and this is another one: finalize that first. Other communicators are for calls outside of compiled code")
end

function set_up(comm, client, gpu, options)
    ReactantAPI.look(false)
    gpu = gpu_wish(gpu)
    ReactantAPI.look(gpu !== :off)
    if gpu === :off
        client = :none
    else
        SETUP.device >= 0 && (client = :external) # it is there, from an earlier communicator
        refuse_used_devices(client)
        options = gpu_options(options, client)
        claim()
    end
    made = try
        ReactantMPI.initialize(comm; gpu=gpu, client=client, options...)
    catch
        gpu === :off || unclaim()
        rethrow()
    end
    gpu === :off || together(() -> give_client(made, client), made)
    SETUP.comm = made
    end_before_reactant()
end

# ---- devices ----------------------------------------------------------------------------------------------------------------

# A Reactant that is built for the CPU has nobody who would use a device.
function gpu_wish(gpu)
    wish = Symbol(gpu === nothing ? get(ENV, "REACTANT_MPI_GPU", "auto") : gpu)
    wish === :off && return :off
    ReactantAPI.gpu_backend() === nothing || return wish
    wish === :required && refuse(61, "gpu = :required, and this Reactant is built for the CPU (preference `gpu` of Reactant_jll)")
    return :off
end

function refuse_used_devices(client)
    ReactantAPI.processes() > 1 && refuse(8, "Reactant.Distributed.initialize has been called: it spreads the GPUs over the ",
        "processes in another way. Use one of the two, or gpu = :off here")
    SETUP.device >= 0 || !ReactantAPI.has_gpu_client() || refuse(8, "Reactant has a client of its GPUs already, with other ",
        "devices than this rank is to have, and XLA keeps them for the life of the process. Call initialize_reactant! before the ",
        "first array or compilation, and before Reactant.set_default_backend(\"gpu\"); or use gpu = :off")
    client === :reactant && ReactantAPI.runtime() != "PJRT" && refuse(10, "client = :reactant makes a client of runtime PJRT, ",
        "and Reactant's preference xla_runtime says ", ReactantAPI.runtime(), ": use client = :external")
    return nothing
end

# What the user has told Reactant, where nothing else was told us.
function gpu_options(options, client)
    told = Dict{Symbol,Any}(options)
    named = ReactantAPI.visible_devices()
    if SETUP.device >= 0
        get!(told, :device, SETUP.device)
        told[:device] == SETUP.device ||
            refuse(8, "device = ", told[:device], ": Reactant's client has device ", SETUP.device, ", for the life of the process")
    elseif named !== nothing
        length(named) == 1 || refuse(68, "Reactant is told to use the GPUs ", join(named, ", "),
            " (REACTANT_VISIBLE_GPU_DEVICES), and a rank has one: CUDA_VISIBLE_DEVICES says among which each gets its own")
        get!(told, :device, only(named))
    end
    for (option, place) in ((:memory_fraction, ReactantAPI.memory_fraction()), (:preallocate, ReactantAPI.preallocate()))
        value = get(told, option, nothing)
        value === nothing || (place[] = value isa Symbol ? value === :on : value)
        # Reactant applies it to the client that it makes itself.
        client === :reactant && (told[option] = place[])
    end
    return told
end

function claim()
    try
        ReactantAPI.claim_devices()
    catch failure
        refuse(8, sprint(showerror, failure), ". Use one of the two, or gpu = :off here")
    end
end

# A client that was made keeps its mapping.
unclaim() = SETUP.device >= 0 || ReactantAPI.release_devices()

# Reactant gets a client with this rank's device, and no other.
function give_client(comm, client)
    ordinal = ReactantMPI.device(comm)
    if ordinal < 0
        unclaim()
        return nothing
    end
    if SETUP.device < 0
        pointer = client === :reactant ? ReactantMPI.client(comm) : C_NULL
        made = pointer == C_NULL ? ReactantAPI.make_client(ordinal) : ReactantAPI.adopt_client(pointer, ordinal)
        ids = ReactantAPI.hardware_ids(made)
        ids == [ordinal] || refuse(81, "Reactant's client has the devices ", ids, " instead of device ", ordinal, " alone")
        SETUP.device = ordinal
    end
    ReactantAPI.has_nccl_place() || @warn "This Reactant has no place for an NCCL communicator in what it compiles: calls of MPI " *
        "in code for the GPU fail to compile. A Reactant with default_nccl_comm_handle (pull request 3136) has it." maxlog = 1
    return nothing
end

# ---- all or none ------------------------------------------------------------------------------------------------------------

# A step that may fail on one rank. Then the communicator ends, and every rank throws.
function together(step, comm)
    failure = nothing
    try
        step()
    catch caught
        failure = caught
    end
    failed = zeros(Int32, ReactantMPI.size(comm))
    failed[ReactantMPI.rank(comm) + 1] = failure !== nothing
    ReactantMPI.allreduce!(failed, +, comm)
    all(iszero, failed) && return nothing
    ReactantMPI.finalize(comm)
    unclaim()
    failure === nothing || throw(failure)
    ranks = findall(!iszero, failed) .- 1
    refuse(32, "Reactant could not be set up on rank", length(ranks) == 1 ? " " : "s ", join(ranks, ", "), ", which says why")
end

# NCCL's communicator ends before the client of its device, which Reactant frees in a function of atexit: the latest registered
# runs first.
function end_before_reactant()
    SETUP.at_exit || atexit(ReactantMPI.at_exit)
    SETUP.at_exit = true
    return nothing
end
