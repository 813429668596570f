# Arguments of the collectives: what C is given for Julia's, in C's order and without the communicator. Checked here is what C
# cannot see: lengths, element types, and where the elements are.

@inline function words_allreduce(comm, send, recv, op::OP, type) where {OP}
    to, n, T = buffer(recv, "recv", type)
    from = input(send, n, T, type, "send")
    return from, to, n, T.value, operation(op, eltype(recv))
end

const words_scan = words_allreduce
const words_exscan = words_allreduce

@inline function words_reduce(comm, send, recv, op::OP, root, type) where {OP}
    if comm.rank == root
        return (words_allreduce(comm, send, recv, op, type)..., cint(root, "root"))
    end
    from, n, T = buffer(send, "send", type)
    return from, NO_BUFFER, n, T.value, operation(op, eltype(send)), cint(root, "root")
end

@inline function words_reduce_scatter(comm, send, recv, op::OP, type) where {OP}
    to, n, T = buffer(recv, "recv", type)
    send isa InPlace && (n = block(n, comm, "recv"))
    from = input(send, n * comm.size, T, type, "send")
    return from, to, n, T.value, operation(op, eltype(recv))
end

@inline function words_bcast(comm, buf, root, type)
    at, n, T = buffer(buf, "buf", type)
    return at, n, T.value, cint(root, "root")
end

@inline function words_allgather(comm, send, recv, type)
    to, all, T = buffer(recv, "recv", type)
    n = block(all, comm, "recv")
    return input(send, n, T, type, "send"), to, n, T.value
end

@inline function words_alltoall(comm, send, recv, type)
    to, all, T = buffer(recv, "recv", type)
    return input(send, all, T, type, "send"), to, block(all, comm, "recv"), T.value
end

@inline function words_gather(comm, send, recv, root, type)
    if comm.rank == root
        return (words_allgather(comm, send, recv, type)..., cint(root, "root"))
    end
    from, n, T = buffer(send, "send", type)
    return from, NO_BUFFER, n, T.value, cint(root, "root")
end

@inline function words_scatter(comm, send, recv, root, type)
    if comm.rank != root
        to, n, T = buffer(recv, "recv", type)
        return NO_BUFFER, to, n, T.value, cint(root, "root")
    end
    from, all, T = buffer(send, "send", type)
    n = block(all, comm, "send")
    return from, input(recv, n, T, type, "recv"), n, T.value, cint(root, "root")
end

words_barrier(comm) = ()

@inline function words_permute(comm, send, recv, source, dests, type)
    to, n, T = buffer(recv, "recv", type)
    list = Cint[cint(dest, "a destination") for dest in dests]
    return input(send, n, T, type, "send"), to, n, T.value, cint(source, "source"), cint(length(list), "dests"), list
end
