# Finding the library, each time in a process of its own, without MPI.

function julia_says(code; variables...)
    output = IOBuffer()
    environment = ("JULIA_LOAD_PATH" => join(Base.load_path(), ':'), (string(name) => value for (name, value) in variables)...)
    command = `$(Base.julia_cmd()) -O0 --startup-file=no -e "using ReactantMPI; const R = ReactantMPI; $code"`
    run(pipeline(ignorestatus(with_variables(command, environment...)); stdout = output, stderr = output))
    return String(take!(output))
end

with_variables(command, pairs...) = setenv(command, merge(Dict(ENV), Dict(pairs)))

@testset "loading" begin
    nowhere = joinpath(mktempdir(), "lib.so")
    say = "try R.version() catch e showerror(stdout, e) end"
    @test occursin("$nowhere: no such file", julia_says(say; REACTANT_MPI_LIBRARY = nowhere))
    @test occursin("Set REACTANT_MPI_LIBRARY", julia_says(say; REACTANT_MPI_LIBRARY = nowhere))
    @test occursin("no reactant_mpi_version", julia_says(say; REACTANT_MPI_LIBRARY = "libc.so.6"))
    @test julia_says("print(R.finalize())"; REACTANT_MPI_LIBRARY = nowhere) == "nothing" # no library is needed to end nothing
    real = R.libpath()
    @test julia_says("R.set_libpath!(\"$real\"); print(R.libpath(), R.version())"; REACTANT_MPI_LIBRARY = nowhere) == "$(real)0.1.0"
    @test julia_says("print(R.libpath())"; REACTANT_MPI_LIBRARY = real) == real
    # Julia before 1.9 wants to find a weak dependency among [extras] too.
    project = normpath(@__DIR__, "..")
    @test success(`$(Base.julia_cmd()) -O0 --startup-file=no --project=$project -e "using Pkg; Pkg.status()"`)
end
