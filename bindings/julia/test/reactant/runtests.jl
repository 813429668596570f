# The extension for Reactant.jl, with a stub in Reactant's place (stub/Reactant says what it does not model; Reactant itself
# cannot be installed here), on real MPIs and on the doubles of libcuda, NCCL and libReactantExtra that `make test-programs` builds.

module ReactantExtensionTests

using Test

const RANKS = joinpath(@__DIR__, "ranks")
const ROOT = normpath(@__DIR__, "..", "..", "..", "..")
const LAUNCH = joinpath(ROOT, "tests", "launch")
const FAKES = joinpath(ROOT, "build", "tests", "fake")
const EXTRA = joinpath(FAKES, "xla", "libReactantExtra.so")

# With this many GPUs.
function gpus(n)
    folders = [joinpath(FAKES, "gpu", name) for name in ("cuda", "nccl228")]
    path = join(filter(!isempty, [folders; get(ENV, "LD_LIBRARY_PATH", "")]), ':')
    return ["LD_LIBRARY_PATH" => path, "FAKE_GPUS" => "$n", "FAKE_DIR" => FAKES, "REACTANT_MPI_GPU" => "auto"]
end

const NO_EXTRA = "STUB_EXTRA" => joinpath(FAKES, "libempty.so") # a libReactantExtra of before the FFI handlers
const WITH_EXTRA = "STUB_EXTRA" => EXTRA
const THIRD = "REACTANT_VISIBLE_GPU_DEVICES" => "2"

# Ranks of a program; its environment, MPI, number of ranks and arguments; what each rank says when all was right.
const RUNS = [
    ("host.jl", ["STUB_REACTANT" => "3136", NO_EXTRA, gpus(0)...], "mpich", 2, [], ["done"]),
    ("host.jl", ["STUB_REACTANT" => "3202", WITH_EXTRA, "REACTANT_MPI_GPU" => "off"], "openmpi", 2, [], ["done"]),
    ("host.jl", ["STUB_REACTANT" => "cpu", NO_EXTRA, gpus(1)...], "mpich", 1, [], ["done"]),
    ("device.jl", ["STUB_REACTANT" => "3136", WITH_EXTRA, gpus(4)...], "mpich", 2, ["external"], ["done", "ended well"]),
    ("device.jl", ["STUB_REACTANT" => "3136", WITH_EXTRA, gpus(4)...], "openmpi", 2, ["reactant"], ["done", "ended well"]),
    ("device.jl", ["STUB_REACTANT" => "main", WITH_EXTRA, THIRD, gpus(4)...], "openmpi", 1, ["reactant"], ["done", "ended well"]),
    ("device.jl", ["STUB_REACTANT" => "3136", "STUB_RUNTIME" => "IFRT", WITH_EXTRA, THIRD, gpus(4)...], "mpich", 1, ["external"],
        ["done", "ended well"]),
    ("refusals.jl", ["STUB_REACTANT" => "3136", WITH_EXTRA, gpus(4)...], "mpich", 2, [], ["done"]),
]

# Interpreted as far as can be: these programs run once, and compiling them takes most of the time.
function launch(program, variables, mpi, n, arguments, log)
    julia = `$(Base.julia_cmd()) --startup-file=no --color=no --compile=min $(joinpath(RANKS, program)) $n $arguments`
    command = `$LAUNCH -n $n --mpi $mpi --timeout 120 -- $julia`
    output = IOBuffer()
    environment = merge(Dict{String,String}(ENV), Dict(variables), Dict("FAKE_XLA_LOG" => log, "JULIA_LOAD_PATH" => "@stdlib"))
    process = run(pipeline(ignorestatus(setenv(command, environment)), stdout = output, stderr = output))
    return process.exitcode, String(take!(output))
end

if !isfile(LAUNCH)
    println("not run: the extension for Reactant.jl: its doubles are in the source tree only")
else
    @testset "Reactant extension" begin
        mktempdir() do folder
            for (i, (program, variables, mpi, n, arguments, words)) in enumerate(RUNS)
                @testset "$program $(last(first(variables))) $mpi $n $(join(arguments))" begin
                    code, output = launch(program, variables, mpi, n, arguments, joinpath(folder, "log$i"))
                    unsaid = [(rank, word) for rank in 0:n-1 for word in words if !occursin("rank $rank: $word", output)]
                    code == 0 && isempty(unsaid) || println(output)
                    @test code == 0
                    @test isempty(unsaid)
                end
            end
        end
    end
end

end
