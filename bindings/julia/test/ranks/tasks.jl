# From Tasks and from several threads at once, with the garbage collector at work.

using Base.Threads: @spawn, Atomic, nthreads, threadid

function tasks(comm)
    me, n = R.rank(comm), R.size(comm)
    @testset "a task" begin
        @test fetch(@async allreduce(me, +, comm)) == n * (n - 1) ÷ 2
        @test fetch(@async begin
            copied = R.dup(comm)
            sum_ = allreduce(1, +, copied)
            R.free(copied)
            sum_
        end) == n
        @test fetch(@async code_of(() -> bcast!([1], comm; root = n))) == R.API.ERR_RANK
    end
    @testset "garbage collection while another thread waits" begin
        if nthreads() == 1
            println("not run: garbage collection while another thread waits: one thread")
        else
            waiting, buf = Atomic{Int}(0), [0]
            receiver = @spawn begin
                waiting[] = threadid()
                recv!(buf, comm; source = me, tag = 77)
            end
            while waiting[] == 0 # without yielding: the other thread has to take it
                ccall(:jl_cpu_pause, Cvoid, ())
            end
            @test waiting[] != threadid()
            Libc.systemsleep(0.3)
            GC.gc() # would wait for ever for a thread that cannot be stopped
            R.send([5], comm; dest = me, tag = 77)
            @test fetch(receiver) == [5]
        end
    end
    @testset "threads" begin
        copies = [R.dup(comm) for _ in 1:nthreads()]
        sums = map(copies) do copied
            @spawn begin
                sum_ = 0.0
                for i in 1:60
                    garbage = [fill(Float64(i), 500) for _ in 1:20]
                    sum_ += allreduce!(garbage[1], +, copied)[1]
                    i % 20 == 0 && GC.gc()
                end
                sum_
            end
        end
        @test fetch.(sums) == fill(n * sum(1:60), nthreads())
        foreach(R.free, copies)
    end
end
