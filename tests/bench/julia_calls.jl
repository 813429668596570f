# Time of an 8-byte allreduce from Julia, in turn: C's function by a bare ccall, allreduce! on the root task, allreduce! in a child Task, and
# a prepared one. Run by run.py under tests/launch.
#
# Prints lines `way minimum`, in nanoseconds per call, `task.ratio median`, of each turn against its neighbour, and `allocated bytes`.

using ReactantMPI
const R = ReactantMPI
const CALLS, WINDOWS = 500, 400

function bare(send, recv, comm, pointer)
    for _ in 1:CALLS
        ccall(pointer, Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t, Cint, Cint, Ptr{Cvoid}), send, recv, 1, R.API.FLOAT64, R.API.SUM, comm.handle)
    end
end

function ours(send, recv, comm)
    for _ in 1:CALLS
        allreduce!(send, recv, +, comm)
    end
end

function prepared(request)
    for _ in 1:CALLS
        run!(request)
    end
end

function window(f::F, arguments...) where {F}
    begin_ = time_ns()
    f(arguments...)
    return Int(time_ns() - begin_) / CALLS
end

median(values) = sort(values)[cld(length(values), 2)]

function main()
    comm = R.initialize()
    send, recv = [1.5], [0.0]
    request = prepare_allreduce!(send, recv, +, comm)
    pointer = R.API.POINTERS[findfirst(row -> row[1] === :allreduce, R.API.FUNCTIONS)]
    ways = (
        bare = () -> window(bare, send, recv, comm, pointer), ours = () -> window(ours, send, recv, comm),
        task = () -> fetch(@async window(ours, send, recv, comm)), prepared = () -> window(prepared, request),
    )
    times = map(_ -> Float64[], ways)
    GC.enable(false)
    for turn in -3:WINDOWS, way in keys(ways)
        ns = ways[way]()
        turn > 0 && push!(times[way], ns)
    end
    GC.enable(true)
    recv[1] == 1.5 * R.size(comm) || error("a wrong sum: $recv")
    allocated = @allocated ours(send, recv, comm)
    if R.rank(comm) == 0
        foreach((way, ns) -> println(way, ' ', minimum(ns)), keys(times), values(times))
        println("task.ratio ", median(times.task ./ times.ours))
        println("allocated ", allocated)
    end
end

main()
