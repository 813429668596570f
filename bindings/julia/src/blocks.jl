# Arguments of the collectives on blocks of different sizes: one count and one displacement (from 0) for each rank, in elements.

function words_allgatherv(comm, send, recv, counts, displs, type)
    to, total, T = buffer(recv, "recv", type)
    sizes, starts = blocks(comm, counts, displs, total, "recv")
    n = Int(sizes[comm.rank + 1])
    return input(send, n, T, type, "send"), send isa InPlace ? 0 : n, to, sizes, starts, T.value
end

function words_gatherv(comm, send, recv, counts, root, displs, type)
    if comm.rank == root
        return (words_allgatherv(comm, send, recv, counts, displs, type)..., cint(root, "root"))
    end
    from, n, T = buffer(send, "send", type)
    return from, n, NO_BUFFER, Csize_t[], Csize_t[], T.value, cint(root, "root")
end

function words_scatterv(comm, send, recv, counts, root, displs, type)
    if comm.rank != root
        to, n, T = buffer(recv, "recv", type)
        return NO_BUFFER, Csize_t[], Csize_t[], to, n, T.value, cint(root, "root")
    end
    from, total, T = buffer(send, "send", type)
    sizes, starts = blocks(comm, counts, displs, total, "send")
    n = Int(sizes[root + 1])
    return from, sizes, starts, input(recv, n, T, type, "recv"), recv isa InPlace ? 0 : n, T.value, cint(root, "root")
end

function words_alltoallv(comm, send, recv, send_counts, recv_counts, send_displs, recv_displs, type)
    to, total, T = buffer(recv, "recv", type)
    sizes, starts = blocks(comm, recv_counts, recv_displs, total, "recv")
    send isa InPlace && return IN_PLACE_WORD, sizes, starts, to, sizes, starts, T.value
    from, length, U = buffer(send, "send", type)
    U === T || types_differ(U, T)
    return (from, blocks(comm, send_counts, send_displs, length, "send")..., to, sizes, starts, T.value)
end

function words_reduce_scatterv(comm, send, recv, counts, op, type)
    to, n, T = buffer(recv, "recv", type)
    sizes = per_rank(comm, counts, "counts")
    total, own = total_of(sizes), Int(sizes[comm.rank + 1])
    from = input(send, total, T, type, "send")
    needed = send isa InPlace ? total : own
    n == needed || counts_differ("recv", n, needed)
    return from, to, sizes, T.value, operation(op, eltype(recv))
end

# Counts and displacements of blocks that all lie within a buffer of `total` elements.
function blocks(comm, counts, displs, total, what)
    sizes = per_rank(comm, counts, "counts of $what")
    if displs === nothing
        total_of(sizes)
        starts = Csize_t[0; cumsum(sizes)[1:(end - 1)]]
    else
        starts = per_rank(comm, displs, "displacements of $what")
    end
    for (rank, (n, start)) in enumerate(zip(sizes, starts))
        start <= total && n <= total - start || refuse(
            API.ERR_COUNT, "block ", rank - 1, " of ", what, ", ", n, " elements at ", start, ", does not fit: ", what, " has ",
            total,
        )
    end
    return sizes, starts
end

function per_rank(comm, values, what)
    is_list = values isa Union{AbstractVector{<:Integer},Tuple{Vararg{Integer}}}
    is_list && length(values) == comm.size && all(>=(0), values) || refuse(
        API.ERR_COUNT, what, " must be ", comm.size, " numbers that are not negative, one for each rank, not ",
        values === nothing ? "nothing" : values,
    )
    return collect(Csize_t, values)
end

function total_of(sizes)
    total = sum(BigInt.(sizes))
    total <= typemax(Int) || refuse(API.ERR_COUNT, "the counts add up to more than memory can hold: ", total)
    return Int(total)
end
