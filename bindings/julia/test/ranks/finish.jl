# How a program ends, by its argument. "ok" is printed where nothing may come after it but a good end.

using ReactantMPI
const R = ReactantMPI

expect(what, condition) = condition || error("expected: $what")

function nothing_said()
    comm = R.initialize()
    half = R.split(comm, 0)
    expect("a sum", allreduce(1, +, half) == R.size(comm))
    request = iallreduce!([1.0], [0.0], +, comm)
    R.free(request)
end

function finalized()
    comm = R.initialize(; gpu = :off, timeout_ms = 60_000)
    prepared = prepare_allreduce!([1.0], [0.0], +, comm)
    R.finalize()
    R.finalize()
    R.finalize(comm)
    expect("no communicator", isempty(R.LIVE) && isempty(R.REQUESTS))
    for call in (() -> R.initialize(), () -> allreduce!([1], +, comm), () -> allreduce!([1], +), () -> run!(prepared))
        code = try call(); 0 catch failure failure.code end
        expect("code 43, 2, 8 or 7", code in (43, 2, 8, 7))
    end
end

# MPI belongs to MPI.jl: our communicators end before it does, whoever begins the end.
function beside_mpi_jl(explicitly)
    Core.eval(Main, :(include(joinpath(@__DIR__, "mpi_double.jl"))))
    Base.invokelatest(beside, explicitly)
end

function beside(explicitly)
    MPI = Main.MPI
    MPI.Init()
    copied = MPI.Comm_dup(MPI.COMM_WORLD) # its handle is negative under MPICH
    comm, other = R.initialize(MPI.COMM_WORLD), R.initialize(copied)
    same = [R.initialize(word) for word in (copied.val, Ref(copied.val), R.host_word(copied.val), copied)]
    expect("the same", all(again -> R.id(again) == R.id(other) != R.id(comm), same))
    expect("sums", allreduce(1, +, comm) == allreduce(1, +, other) == R.size(comm))
    expect("one hook", length(MPI.finalize_hooks) == 1)
    expect("our hook", MPI.finalize_hooks[1] === R.end_communicators)
    push!(MPI.finalize_hooks, () -> expect("that ours have ended", isempty(R.LIVE))) # called last
    if explicitly
        MPI.add_finalize_hook!(() -> expect("six of ours", length(R.LIVE) == 6)) # called first
        MPI.Finalize()
        expect("MPI's end", MPI.Finalized())
    else
        atexit(() -> expect("MPI and six of ours", !MPI.Finalized() && length(R.LIVE) == 6)) # registered last, called first
    end
end

function one_fails()
    comm = R.initialize()
    barrier(comm)
    R.rank(comm) == 0 && error("this rank fails")
    barrier(comm)
    println("has come")
end

function too_late()
    comm = R.initialize(; call_timeout_ms = 300)
    barrier(comm)
    R.rank(comm) == 0 || return sleep(1)
    code = try barrier(comm); 0 catch failure failure.code end
    expect("a timeout", code == R.API.ERR_TIMEOUT == R.comm_error(comm))
end

const WAYS = Dict(
    "nothing" => nothing_said, "finalize" => finalized, "beside MPI.jl" => () -> beside_mpi_jl(false),
    "MPI.Finalize" => () -> beside_mpi_jl(true), "one fails" => one_fails, "too late" => too_late,
)
WAYS[ARGS[1]]()
print("ok\n") # one write: the ranks share the output
