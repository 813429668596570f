# Messages, statuses and requests.

function messages(comm)
    me, n = R.rank(comm), R.size(comm)
    next, previous = mod(me + 1, n), mod(me - 1, n)
    status = Ref(R.Status())
    @testset "ring" begin
        recv = zeros(Int32, 5)
        request = R.isend(given(Int32, me, 1:3), comm; dest = next, tag = 7)
        @test recv!(recv, comm; source = previous, tag = 7, status = status) === recv
        @test recv == [given(Int32, previous, 1:3); 0; 0]
        @test (status[].source, status[].tag, status[].bytes) == (previous, 7, 12)
        @test R.get_count(status, Int32) == 3
        sent = R.wait(request)
        @test (sent.source, sent.tag, sent.bytes) == (R.PROC_NULL, R.ANY_TAG, 0)
        @test sendrecv!([Float64(me)], [0.0], comm; dest = next, source = previous, status = status) == [previous]
        @test status[].source == previous
    end
    @testset "from anybody" begin
        if me == 0
            for _ in 1:(n - 1)
                seen = R.probe(comm)
                buf = zeros(Int64, R.get_count(seen, Int64))
                recv!(buf, comm; source = seen.source, tag = seen.tag)
                @test buf == fill(seen.source, seen.source)
                @test seen.tag == 10 + seen.source
            end
        else
            R.send(fill(me, me), comm; dest = 0, tag = 10 + me)
        end
        barrier(comm) # later messages are not for these receives
    end
    @testset "requests" begin
        recv = [zeros(Float32, 2) for _ in 1:3]
        requests = [irecv!(recv[k], comm; source = previous, tag = k) for k in 1:3]
        append!(requests, [R.isend(Float32[me, k], comm; dest = next, tag = k) for k in 1:3])
        statuses = R.waitall(requests)
        @test recv == [Float32[previous, k] for k in 1:3]
        @test [s.tag for s in statuses[1:3]] == [1, 2, 3]
        @test all(request -> request.handle == C_NULL, requests)
        @test R.waitall(requests) isa Vector # done before counts as done
        buf = [0.0]
        requests = [irecv!(buf, comm; source = previous), R.isend([me + 0.5], comm; dest = next)]
        while !R.testall(requests)
        end
        @test buf == [previous + 0.5]
        request = irecv!(buf, comm; source = previous)
        other = R.isend([me + 1.5], comm; dest = next)
        while !R.test(request, status)
        end
        @test buf == [previous + 1.5] && status[].source == previous
        R.wait(other)
        @test code_of(() -> R.wait(request)) == R.API.ERR_REQUEST
        @test code_of(() -> R.test(request)) == R.API.ERR_REQUEST
    end
    @testset "nobody" begin
        R.send([1], comm; dest = R.PROC_NULL)
        @test recv!([5], comm; source = R.PROC_NULL, status = status) == [5]
        @test (status[].source, status[].tag, status[].bytes) == (R.PROC_NULL, R.ANY_TAG, 0)
    end
    @testset "waiting for so long" begin
        barrier(comm)
        buf = [0]
        request = irecv!(buf, comm; source = previous, tag = 3)
        @test code_of(() -> R.wait(request, 20)) == R.API.ERR_TIMEOUT
        @test request.handle != C_NULL
        barrier(comm)
        R.send([me], comm; dest = next, tag = 3)
        @test R.wait(request, 60_000).bytes == 8
        @test buf == [previous]
    end
    @testset "buffers are kept" begin
        requests = map(1:20) do k # nobody else has these arrays
            irecv!(zeros(1000), comm; source = previous, tag = k)
        end
        arrays = [WeakRef(request.roots[1][1]) for request in requests]
        GC.gc()
        @test all(array -> array.value !== nothing, arrays)
        foreach(k -> R.send(fill(Float64(k), 1000), comm; dest = next, tag = k), 1:20)
        R.waitall(requests)
        @test !any(request -> haskey(R.REQUESTS, request), requests)
        lost = irecv!(zeros(10), comm; source = previous, tag = 30)
        R.free(lost) # under way
        @test haskey(R.REQUESTS, lost)
        barrier(comm)
        R.send(ones(10), comm; dest = next, tag = 30)
        done = ibarrier(comm)
        R.wait(done)
        @test R.free(done) === nothing
    end
end
