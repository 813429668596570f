# What is refused, and by which code. After each the ranks are still in step.

function bad_input(comm)
    me, n = R.rank(comm), R.size(comm)
    E = R.API
    x, y = [1.0, 2.0], zeros(2)
    @testset "handles" begin
        for word in (0x1234, 0xffffffffffffff00, 0x999)
            stranger = R.Comm(Ptr{Cvoid}(UInt(word)), me, n)
            @test code_of(() -> allreduce!(x, y, +, stranger)) == E.ERR_COMM
            @test code_of(() -> R.rank(stranger)) == E.ERR_COMM
            @test code_of(() -> R.mpi_comm(stranger)) == E.ERR_COMM
            @test code_of(() -> R.split(stranger, 0)) == E.ERR_COMM
            request = R.Request(Ptr{Cvoid}(UInt(word)), true, nothing)
            for call in (R.wait, R.test, run!, start!, R.free)
                @test code_of(() -> call(request)) == E.ERR_REQUEST
            end
        end
        prepared = prepare_allreduce!(x, y, +, comm)
        @test code_of(() -> R.wait(prepared)) == E.ERR_STATE
        R.free(prepared)
        @test code_of(() -> run!(prepared)) == E.ERR_REQUEST
        for comm in (0x123456789, 12345, Ptr{Cvoid}(16), Ref(77))
            @test code_of(() -> R.initialize(comm; timeout_ms = 1000)) in (E.ERR_ARGUMENT, E.ERR_MPI)
        end
        for comm in ("world", 1.5, C_NULL, true, big(1), (val = 0,), (val = "a",), Ref{Any}(), Dict())
            @test code_of(() -> R.initialize(comm)) == E.ERR_ARGUMENT
        end
    end
    @testset "types" begin
        for buf in (["a"], [1 // 2], ['a'], Any[1], [nothing], Vector{Real}([1]), Int128[1], [(1, 2)])
            @test code_of(() -> allreduce!(buf, +, comm)) == E.ERR_TYPE
            @test code_of(() -> bcast!(buf, comm)) == E.ERR_TYPE
        end
        @test code_of(() -> allreduce!(x, [1f0, 2f0], +, comm)) == E.ERR_TYPE
        @test code_of(() -> bcast!(x, comm; type = R.BFLOAT16)) == E.ERR_TYPE
        @test code_of(() -> bcast!(x, comm; type = 0x210)) == E.ERR_TYPE
        @test code_of(() -> sendrecv!([1], [1.0], comm; dest = me)) == E.ERR_TYPE
        @test occursin("Rational", text_of(() -> bcast!([1 // 2], comm)))
    end
    @testset "operations" begin
        for (buf, op) in ((x, &), (x, R.LAND), ([true], +), ([1.0], -), ([1], (a, b) -> a), ([1], :nonsense), ([1], 0x21))
            @test code_of(() -> allreduce!(buf, op, comm)) == E.ERR_OP
        end
        @test code_of(() -> allreduce!(ComplexF32[1], max, comm)) == E.ERR_OP
        @test code_of(() -> scan!(x, R.AVG, comm)) == E.ERR_OP
    end
    @testset "buffers" begin
        whole = reshape(collect(1.0:12), 3, 4)
        scattered = (view(whole, 1:2, 1:2), view(whole, 1, :), view(whole, 1:2:3, 1), whole', view(whole, [1, 3], 1))
        for buf in (scattered..., 1.0:3.0, (1.0,), 1.0, nothing)
            @test code_of(() -> bcast!(buf, comm)) in (E.ERR_ARGUMENT, E.ERR_TYPE)
            @test code_of(() -> allreduce!(buf, buf, +, comm)) in (E.ERR_ARGUMENT, E.ERR_TYPE)
        end
        @test code_of(() -> bcast!(view(whole, 1, :), comm)) == E.ERR_ARGUMENT
        @test occursin("not contiguous", text_of(() -> bcast!(view(whole, 1:2, 1:2), comm)))
        @test code_of(() -> bcast!(R.IN_PLACE, comm)) == E.ERR_ARGUMENT
        @test code_of(() -> alltoall!(zeros(n), R.IN_PLACE, comm)) == E.ERR_ARGUMENT
        same = zeros(n)
        @test code_of(() -> alltoall!(same, same, comm)) == E.ERR_ARGUMENT
    end
    @testset "counts" begin
        @test code_of(() -> allreduce!(x, zeros(3), +, comm)) == E.ERR_COUNT
        @test code_of(() -> allgather!(x, zeros(2n + 1), comm)) == E.ERR_COUNT
        @test code_of(() -> allgather!(zeros(3), zeros(2n), comm)) == E.ERR_COUNT
        @test code_of(() -> reduce_scatter!(zeros(2n + 1), y, +, comm)) == E.ERR_COUNT
        @test code_of(() -> alltoall!(zeros(n), zeros(2n), comm)) == E.ERR_COUNT
        @test code_of(() -> R.permute!(zeros(3), zeros(2), comm)) == E.ERR_COUNT
        for counts in (ones(Int, n + 1), fill(-1, n), fill(2, n), fill(typemax(Int), n), ones(n), nothing, 1)
            @test code_of(() -> allgatherv!([1.0], zeros(n), counts, comm)) == E.ERR_COUNT
        end
        @test code_of(() -> allgatherv!([1.0], zeros(n), ones(Int, n), comm; displs = fill(n, n))) == E.ERR_COUNT
        @test code_of(() -> allgatherv!([1.0, 2.0], zeros(n), ones(Int, n), comm)) == E.ERR_COUNT
        @test code_of(() -> reduce_scatterv!(zeros(n), zeros(2), ones(Int, n), +, comm)) == E.ERR_COUNT
        huge = unsafe_wrap(Array, pointer(x), typemax(Int) ÷ 8 + 1) # more bytes than there are addresses
        @test code_of(() -> bcast!(huge, comm)) == E.ERR_COUNT
        @test code_of(() -> R.send(huge, comm; dest = me)) == E.ERR_COUNT
    end
    @testset "peers" begin
        for root in (-1, n, 2^40, typemin(Int))
            @test code_of(() -> bcast!(x, comm; root = root)) in (E.ERR_RANK, E.ERR_ARGUMENT)
        end
        @test code_of(() -> R.send(x, comm; dest = n)) == E.ERR_RANK
        @test code_of(() -> R.send(x, comm; dest = -1)) == E.ERR_RANK # a constant of some MPI
        @test code_of(() -> R.send(x, comm; dest = me, tag = -5)) == E.ERR_RANK
        @test code_of(() -> R.create(comm, [n])) == E.ERR_RANK
    end
    @testset "options" begin
        for wrong in ((gpu = :maybe,), (client = "mine",), (timeout_ms = -1,), (memory_fraction = 2,), (libmpi = 3,), (check = 7,),
                      (max_count = 0,), (device = 1.5,), (trace = "a\0b",), (colour = 1,))
            @test code_of(() -> R.initialize(; wrong...)) == E.ERR_OPTION
        end
        @test code_of(() -> R.register_symbols(C_NULL, :G9)) == E.ERR_OPTION
        @test code_of(() -> R.set_libpath!("/elsewhere")) == E.ERR_STATE
    end
    @testset "text" begin
        failure = try allreduce!(ComplexF32[1], max, comm) catch e e end
        @test failure.name == "ERR_OP" && failure.code == 4 && failure.function == "allreduce"
        @test occursin("ERR_OP, code 4", sprint(showerror, failure))
    end
    @test allreduce(1, +, comm) == n
end
