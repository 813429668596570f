# What compiled code calls: names and values as they are registered, and failures that are thrown afterwards.

const MAPPED = Dict{String,UInt}()
remember(name, value) = (MAPPED[unsafe_string(name)] = UInt(value); nothing)

function compiled(comm)
    n = R.size(comm)
    map_ = @cfunction(remember, Cvoid, (Ptr{UInt8}, Ptr{Cvoid}))
    R.register_symbols(map_, :G1; on_error = :return)
    @test all(!=(0), values(MAPPED))
    @test MAPPED["MPI_COMM_WORLD"] == 0x101 && MAPPED["MPI_FLOAT"] == 0x210 && MAPPED["MPI_SUM"] == 0x21
    sum_ = Float32[0]
    call(type) = ccall(
        Ptr{Cvoid}(MAPPED["MPI_Allreduce"]), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Cint, UInt, UInt, UInt),
        Float32[1], sum_, 1, type, MAPPED["MPI_SUM"], MAPPED["MPI_COMM_WORLD"],
    )
    @test call(MAPPED["MPI_FLOAT"]) == 0 && sum_ == [n]
    @test R.check_compiled() === nothing
    @test call(0x1) != 0
    failure = try R.check_compiled() catch e e end
    @test failure isa R.Error && failure.code == R.API.ERR_TYPE && occursin("MPI_Allreduce", failure.text)
    @test R.check_compiled() === nothing
    for generation in (:G2, "G3")
        empty!(MAPPED)
        R.register_symbols(map_, generation)
        @test MAPPED["MPI_FLOAT"] == 0x210
    end
    @test code_of(() -> R.register_symbols(C_NULL, :G1)) == R.API.ERR_ARGUMENT
    @test code_of(() -> R.register_symbols(map_, :G1; on_error = :ignore)) == R.API.ERR_OPTION
end
