# Communicators: what they say of themselves, and those made from them.

function comms(comm)
    me, n = R.rank(comm), R.size(comm)
    @testset "queries" begin
        @test R.world() === comm
        @test 0 <= R.local_rank(comm) < R.local_size(comm) == n # the tests run on one host
        @test R.device(comm) == -1
        @test R.nccl_comm(comm) == R.client(comm) == C_NULL
        @test R.mpi_comm(comm) != 0
        @test R.comm_error(comm) == 0
        @test allreduce(R.id(comm), min, comm) == allreduce(R.id(comm), max, comm) == R.id(comm) > 0
        @test occursin("\"rank\": $me", R.describe(comm)) && occursin("\"version\"", R.describe())
        @test occursin("rank $me of $n", sprint(show, comm))
        by_id = R.Comm(Ptr{Cvoid}(R.id(comm)), me, n) # C takes the id where it takes the handle
        @test allreduce(1, +, by_id) == n
        @test R.version() == v"0.1.0" && isfile(R.libpath())
    end
    @testset "again" begin
        again = R.initialize()
        @test again !== comm && again.handle == comm.handle && R.id(again) == R.id(comm)
        R.finalize(again)
        R.finalize(again)
        @test again.handle == C_NULL && occursin("ended", sprint(show, again))
        @test code_of(() -> R.rank(again)) == R.API.ERR_COMM
        @test code_of(() -> R.describe(again)) == R.API.ERR_COMM
        @test code_of(() -> R.nccl_comm(again)) == R.API.ERR_COMM
        @test code_of(() -> R.abort(again)) == R.API.ERR_COMM # and not the end of the world
        @test code_of(() -> allreduce!([1], +, again)) == R.API.ERR_COMM
        @test allreduce(1, +, comm) == n
        @test R.world() === comm && allreduce(1, +) == n # the latest was the default, and has ended
    end
    @testset "derived" begin
        half = R.split(comm, me % 2, -me)
        members = reverse([rank for rank in 0:(n - 1) if rank % 2 == me % 2])
        @test R.size(half) == length(members) && members[R.rank(half) + 1] == me
        @test allreduce(me, +, half) == sum(members)
        @test R.world() === comm
        R.free(half)
        @test R.split(comm, me == 0 ? nothing : 1) === nothing || me > 0
        node = R.split_node(comm)
        @test R.size(node) == n
        copied = R.dup(comm)
        @test R.id(copied) != R.id(comm) && R.mpi_comm(copied) != R.mpi_comm(comm)
        list = unique([n - 1, 0])
        if me in list
            ends = R.create(comm, list)
            @test list[R.rank(ends) + 1] == me && R.size(ends) == length(list)
            R.free(ends)
        end
        R.finalize(copied)
        R.free(node)
    end
    @testset "by device ids" begin
        R.set_devices!(comm, [100 + 2me, 101 + 2me])
        clique = R.from_devices(comm, [100 + 2rank for rank in (n - 1):-1:0])
        @test R.rank(clique) == n - 1 - me && R.size(clique) == n
        R.free(clique)
        @test code_of(() -> R.from_devices(comm, [7])) == R.API.ERR_ARGUMENT
    end
    @testset "deadlines" begin
        hasty = R.dup(comm)
        R.set_timeout!(hasty, 200)
        @test allreduce(1, +, hasty) == n
        R.set_timeout!(hasty, 0)
        @test allreduce(1, +, hasty) == n
        R.free(hasty)
        @test code_of(() -> R.set_timeout!(comm, -1)) == R.API.ERR_ARGUMENT
    end
end
