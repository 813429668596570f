# Tests of ReactantMPI.jl: `Pkg.test()`, or `julia --project=bindings/julia bindings/julia/test/runtests.jl`.
#
# In a checkout the ranks are started by tests/launch on MPICH and Open MPI, elsewhere by the mpiexec on PATH. Julia compiles
# slowly, so one launch carries many checks. REACTANT_MPI_TEST_FULL=1: everything, at 1 to 3 ranks, on every MPI that is here.

using ReactantMPI, Test
const R = ReactantMPI
const ROOT = normpath(@__DIR__, "..", "..", "..")
const LAUNCH = joinpath(ROOT, "tests", "launch")
const PYTHON = joinpath(ROOT, ".venv", "bin", "python")
const FULL = get(ENV, "REACTANT_MPI_TEST_FULL", "") == "1"
const SECONDS = 300

"How n ranks of an MPI are started; `nothing` where it cannot be done."
function launcher(mpi, n)
    isfile(LAUNCH) && return `$(isfile(PYTHON) ? PYTHON : "python3") $LAUNCH -n $n --mpi $mpi --timeout $SECONDS --`
    mpiexec = Sys.which("mpiexec")
    return mpiexec === nothing ? nothing : `$mpiexec -n $n`
end

"Exit code and output of a program in ranks/ at n ranks."
function ranks(mpi, n, program, arguments...)
    script = joinpath(@__DIR__, "ranks", program)
    command = `$(launcher(mpi, n)) $(Base.julia_cmd()) -O0 --startup-file=no --color=no $script $(collect(arguments))`
    settings = Dict("JULIA_LOAD_PATH" => join(Base.load_path(), ':'), "JULIA_NUM_THREADS" => "2", "REACTANT_MPI_GPU" => "off")
    output = IOBuffer()
    process = run(pipeline(ignorestatus(setenv(command, merge(Dict(ENV), settings))); stdout = output, stderr = output))
    return process.exitcode, String(take!(output))
end

"It must end well on every rank."
function ranks_ok(mpi, n, program, arguments...)
    code, output = ranks(mpi, n, program, arguments...)
    good = code == 0 && count(==("ok"), split(output, '\n')) == n && !occursin(r"ERROR|expected:|Fail", output)
    good || println("$program $(join(arguments, ' ')) at $n ranks on $mpi: exit code $code\n$output")
    return good
end

const HERE = isfile(LAUNCH) ? split(read(`$(isfile(PYTHON) ? PYTHON : "python3") $LAUNCH --list`, String)) : ["mpiexec"]

@testset "ReactantMPI" begin
    include("table.jl")
    include("loading.jl")
    if launcher("mpich", 2) === nothing
        println("not run: everything at several ranks: no mpiexec on PATH")
    else
        @testset "ranks" begin
            if FULL || !isfile(LAUNCH)
                for mpi in HERE, n in 1:3
                    @test ranks_ok(mpi, n, "all.jl")
                end
            else
                @test ranks_ok("mpich", 2, "all.jl")
                @test ranks_ok("mpich", 1, "all.jl", "collectives", "messages", "comms")
                @test ranks_ok("openmpi", 3, "all.jl", "collectives", "messages", "comms")
                @test ranks_ok("openmpi", 1, "all.jl", "bad_input", "tasks", "compiled")
            end
        end
        @testset "end" begin
            for mpi in (FULL || !isfile(LAUNCH) ? HERE : ["mpich", "openmpi"])
                @test ranks_ok(mpi, 2, "finish.jl", "nothing")
                @test ranks_ok(mpi, 2, "finish.jl", "finalize")
            end
            for mpi in intersect(HERE, ["mpich", "openmpi"]) # the double of MPI.jl knows their handles
                @test ranks_ok(mpi, 2, "finish.jl", "beside MPI.jl")
                @test ranks_ok(mpi, 2, "finish.jl", "MPI.Finalize")
            end
            code, output = ranks("openmpi", 2, "finish.jl", "one fails")
            @test code != 0 && code != 124 && occursin("this rank fails", output) && !occursin("has come", output)
            code, output = ranks("mpich", 2, "finish.jl", "too late")
            @test code != 124 && occursin("MPI_Finalize is not called", output) && occursin("ok", output)
        end
    end

    isfile(joinpath(@__DIR__, "reactant", "runtests.jl")) && include("reactant/runtests.jl")
end
