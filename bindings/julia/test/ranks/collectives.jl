# Every collective, blocking, started and prepared, on every type and kind of buffer.

function operations(@nospecialize(T))
    T === Bool && return Any[(&, &), (|, |), (xor, xor), (min, &), (max, |), (R.LAND, &), (R.LOR, |), (:lxor, xor)]
    T <: Complex && return Any[(+, +), (*, *), (R.SUM, +), (:prod, *)]
    common = Any[(+, +), (*, *), (min, min), (max, max), (R.MAX, max), (:sum, +), (:*, *)]
    T <: AbstractFloat && return common
    truth(f) = (a, b) -> T(f(a != 0, b != 0))
    return [common; Any[(&, &), (|, |), (xor, xor), (R.BXOR, xor), (R.LAND, truth(&)), (:lor, truth(|)), (R.LXOR, truth(xor))]]
end

"""
Do a collective in its three forms: f calls a blocking, a starting and a preparing function, each with a fresh result of `make`,
which must be `expected` afterwards.
"""
function in_every_form(@nospecialize(f), (blocking, started, prepared), @nospecialize(make), @nospecialize(expected))
    recv = make()
    f(blocking, recv)
    @test recv == expected
    recv = make()
    R.wait(f(started, recv))
    @test recv == expected
    recv = make()
    request = f(prepared, recv)
    run!(request)
    @test recv == expected
    copyto!(recv, make())
    start!(request)
    wait(request)
    @test recv == expected
    R.free(request)
end

function reductions(comm, me, n)
    # Every type and every operation: which function of C gets which number is the same for all types but Bool.
    for T in TYPES, (op, f) in (T in (Bool, Int32, Float64, ComplexF32) ? operations(T) : operations(T)[1:1])
        send, expected = given(T, me, 1:5), reduced(f, T, 0:(n - 1), 1:5)
        recv = zeros(T, 5)
        @test allreduce!(send, recv, op, comm) === recv
        @test recv == expected
        @test send == given(T, me, 1:5)
    end
    for T in (Float16, Float32, Float64)
        @test allreduce(given(T, me, 1:5), R.AVG, comm) ≈ reduced(+, T, 0:(n - 1), 1:5) ./ n
    end
    T, range = Int32, 1:6
    send, sum_ = given(T, me, range), reduced(+, T, 0:(n - 1), range)
    fresh = () -> zeros(T, 6)
    in_every_form((allreduce!, iallreduce!, prepare_allreduce!), fresh, sum_) do call, recv
        call(send, recv, +, comm)
    end
    root = n - 1
    in_every_form((reduce!, ireduce!, prepare_reduce!), fresh, me == root ? sum_ : fresh()) do call, recv
        call(send, recv, +, comm; root = root)
    end
    in_every_form((scan!, iscan!, prepare_scan!), fresh, reduced(+, T, 0:me, range)) do call, recv
        call(send, recv, +, comm)
    end
    below = me == 0 ? fresh() : reduced(+, T, 0:(me - 1), range)
    in_every_form((exscan!, iexscan!, prepare_exscan!), fresh, below) do call, recv
        call(send, recv, +, comm)
    end
    own = (6me + 1):(6me + 6)
    blocks, part = given(T, me, 1:(6n)), reduced(+, T, 0:(n - 1), own)
    in_every_form((reduce_scatter!, ireduce_scatter!, prepare_reduce_scatter!), fresh, part) do call, recv
        call(blocks, recv, +, comm)
    end
    counts = [i + 1 for i in 0:(n - 1)]
    starts = cumsum([0; counts])
    mine = (starts[me + 1] + 1):starts[me + 2]
    all_blocks = given(T, me, 1:sum(counts))
    part = reduced(+, T, 0:(n - 1), mine)
    fresh = () -> zeros(T, counts[me + 1])
    in_every_form((reduce_scatterv!, ireduce_scatterv!, prepare_reduce_scatterv!), fresh, part) do call, recv
        call(all_blocks, recv, counts, +, comm)
    end
end

function moves(comm, me, n)
    T, root = Float32, n - 1
    all_of(k) = vcat((given(T, rank, 1:k) for rank in 0:(n - 1))...)
    send, everything = given(T, me, 1:4), all_of(4)
    one, many = () -> zeros(T, 4), () -> zeros(T, 4n)
    in_every_form((bcast!, ibcast!, prepare_bcast!), () -> given(T, me, 1:4), given(T, root, 1:4)) do call, buf
        call(buf, comm; root = root)
    end
    in_every_form((allgather!, iallgather!, prepare_allgather!), many, everything) do call, recv
        call(send, recv, comm)
    end
    at_root = me == root ? everything : many()
    in_every_form((gather!, igather!, prepare_gather!), many, at_root) do call, recv
        call(send, recv, comm; root = root)
    end
    blocks = given(T, me, 1:(4n))
    part(rank, i) = given(T, rank, (4i + 1):(4i + 4))
    in_every_form((scatter!, iscatter!, prepare_scatter!), one, part(root, me)) do call, recv
        call(blocks, recv, comm; root = root)
    end
    received = vcat((part(rank, me) for rank in 0:(n - 1))...)
    in_every_form((alltoall!, ialltoall!, prepare_alltoall!), many, received) do call, recv
        call(blocks, recv, comm)
    end
    source, dests = mod(me - 1, n), [mod(me + 1, n)]
    in_every_form((R.permute!, R.ipermute!, R.prepare_permute!), one, given(T, source, 1:4)) do call, recv
        call(send, recv, comm; source = source, dests = dests)
    end
    in_every_form((R.permute!, R.ipermute!, R.prepare_permute!), () -> ones(T, 4), zeros(T, 4)) do call, recv
        call(send, recv, comm)
    end
end

function blocks_of_different_sizes(comm, me, n)
    T, root = Int64, n - 1
    counts = [i + 1 for i in 0:(n - 1)]
    total, starts = sum(counts), cumsum([0; counts])
    send = given(T, me, 1:counts[me + 1])
    packed = vcat((given(T, rank, 1:counts[rank + 1]) for rank in 0:(n - 1))...)
    in_every_form((allgatherv!, iallgatherv!, prepare_allgatherv!), () -> zeros(T, total), packed) do call, recv
        call(send, recv, counts, comm)
    end
    # With gaps of one, the last rank first.
    gapped = [total + n - starts[rank + 2] - rank - 1 for rank in 0:(n - 1)]
    spread = zeros(T, total + n)
    for rank in 0:(n - 1)
        spread[(gapped[rank + 1] + 1):(gapped[rank + 1] + counts[rank + 1])] = given(T, rank, 1:counts[rank + 1])
    end
    fresh = () -> zeros(T, total + n)
    in_every_form((gatherv!, igatherv!, prepare_gatherv!), fresh, me == root ? spread : fresh()) do call, recv
        call(send, recv, counts, comm; root = root, displs = gapped)
    end
    in_every_form((scatterv!, iscatterv!, prepare_scatterv!), () -> zeros(T, counts[me + 1]), send) do call, recv
        call(me == root ? spread : nothing, recv, me == root ? counts : nothing, comm; root = root, displs = gapped)
    end
    # Rank i sends i + j + 1 elements to rank j.
    to, from = [me + j + 1 for j in 0:(n - 1)], [i + me + 1 for i in 0:(n - 1)]
    outgoing = vcat((fill(T(10me + j), to[j + 1]) for j in 0:(n - 1))...)
    incoming = vcat((fill(T(10i + me), from[i + 1]) for i in 0:(n - 1))...)
    in_every_form((alltoallv!, ialltoallv!, prepare_alltoallv!), () -> zeros(T, sum(from)), incoming) do call, recv
        call(outgoing, recv, to, from, comm)
    end
    recv = copy(outgoing) # what goes to a rank lies where its block will come
    @test alltoallv!(R.IN_PLACE, recv, to, to, comm) == incoming
end

function in_place(comm, me, n)
    T = Float64
    sum_ = reduced(+, T, 0:(n - 1), 1:3)
    @test allreduce!(given(T, me, 1:3), +, comm) == sum_
    @test allreduce!(R.IN_PLACE, given(T, me, 1:3), +, comm) == sum_
    buf = given(T, me, 1:3)
    R.wait(iallreduce!(buf, +, comm))
    @test buf == sum_
    @test reduce!(given(T, me, 1:3), +, comm; root = 0) == (me == 0 ? sum_ : given(T, me, 1:3))
    @test scan!(given(T, me, 1:3), +, comm) == reduced(+, T, 0:me, 1:3)
    @test exscan!(given(T, me, 1:3), +, comm) == (me == 0 ? given(T, 0, 1:3) : reduced(+, T, 0:(me - 1), 1:3))
    everything = vcat((given(T, rank, 1:2) for rank in 0:(n - 1))...)
    buf = zeros(T, 2n)
    buf[(2me + 1):(2me + 2)] = given(T, me, 1:2)
    @test allgather!(copy(buf), comm) == everything
    gather!(me == 0 ? R.IN_PLACE : given(T, me, 1:2), buf, comm)
    me == 0 && @test buf == everything
    @test scatter!(everything, me == 0 ? R.IN_PLACE : zeros(T, 2), comm) == (me == 0 ? R.IN_PLACE : given(T, me, 1:2))
    @test alltoall!(fill(T(me), n), comm) == T.(0:(n - 1))
    buf = given(T, me, 1:(3n))
    @test reduce_scatter!(buf, +, comm)[1:3] == reduced(+, T, 0:(n - 1), (3me + 1):(3me + 3))
end

function buffers(comm, me, n)
    sum_ = reduced(+, Float64, 0:(n - 1), 1:12)
    whole = reshape(given(Float64, me, 1:12), 3, 4)
    @test allreduce!(whole, zeros(3, 4), +, comm) == reshape(sum_, 3, 4)
    @test allreduce!(view(whole, :, 2:3), zeros(3, 2), +, comm) == reshape(sum_, 3, 4)[:, 2:3]
    @test allreduce!(view(whole, 2:3, 4), zeros(2), +, comm) == sum_[11:12]
    @test allreduce!(view(whole, 2:2, 3:3), zeros(1), +, comm) == sum_[8:8]
    out = zeros(5)
    allreduce!(whole[1:3], view(out, 2:4), +, comm)
    @test out == [0; sum_[1:3]; 0]
    @test reinterpret(Float64, allreduce!(reinterpret(UInt64, [0.0]), |, comm)) == [0.0]
    @test allreduce!(Ref(Int32(me + 1)), +, comm)[] == n * (n + 1) ÷ 2
    @test allreduce(me + 1, +, comm) === n * (n + 1) ÷ 2
    @test allreduce(zeros(0), +, comm) == zeros(0)
    @test allreduce!(zeros(3, 0), zeros(0, 5), max, comm) == zeros(0, 5)
    one = 0x3f80 # 1.0 in bfloat16
    @test allreduce!(fill(one, 3), +, comm; type = R.BFLOAT16) == fill((0x3f80, 0x4000, 0x4040)[n], 3)
    @test bcast!(UInt8[me, 7], comm; type = R.BYTE) == UInt8[0, 7]
    @test bcast!(UInt8[me, 7]; comm = comm, type = R.FLOAT8_E5M2) == UInt8[0, 7]
    @test allreduce!(Float32[1], +) == Float32[n]
end

function allocations(comm)
    send, recv = [1.0], [0.0]
    prepared = prepare_allreduce!(send, recv, +, comm)
    everything(send, recv, comm, prepared) = begin
        allreduce!(send, recv, +, comm)
        allreduce!(recv, max; comm = comm)
        bcast!(recv, comm; root = 0)
        reduce!(send, recv, min, comm; root = 0)
        barrier(comm)
        run!(prepared)
    end
    everything(send, recv, comm, prepared)
    @test @allocated(everything(send, recv, comm, prepared)) == 0
    R.free(prepared)
end

function collectives(comm)
    me, n = R.rank(comm), R.size(comm)
    @testset "reductions" begin reductions(comm, me, n) end
    @testset "moves" begin moves(comm, me, n) end
    @testset "blocks of different sizes" begin blocks_of_different_sizes(comm, me, n) end
    @testset "in place" begin in_place(comm, me, n) end
    @testset "buffers" begin buffers(comm, me, n) end
    @testset "allocations" begin allocations(comm) end
    barrier(comm)
    R.wait(ibarrier(comm))
    prepared = prepare_barrier(comm)
    run!(prepared)
    R.free(prepared)
end
