# From Tasks and from several threads at once, with the garbage collector at work.

using Base.Threads: @spawn, nthreads

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
