# Messages between two ranks.

"""
    send(buf, comm = world(); dest, tag = 0, type = nothing)

Send to rank `dest`. Blocking until `buf` may be used again. [`isend`](@ref) starts it.
"""
send(buf, comm::Comm = world(); dest, tag = 0, type = nothing) =
    GC.@preserve buf check(API.send(words_send(buf, dest, tag, type)..., comm.handle), :send)

"`isend(buf, comm = world(); dest, tag = 0, type = nothing) -> Request`: [`send`](@ref) started."
isend(buf, comm::Comm = world(); dest, tag = 0, type = nothing) =
    requested(API.isend, :isend, false, comm, (buf,), words_send(buf, dest, tag, type))

"""
    recv!(buf, comm = world(); source = ANY_SOURCE, tag = ANY_TAG, status = nothing, type = nothing) -> buf

Receive what rank `source` sends with `tag`; `buf` may be longer than the message. `status` is nothing or a `Ref{Status}`. Blocking.
[`irecv!`](@ref) starts it, and [`wait`](@ref) returns the [`Status`](@ref).
"""
function recv!(
    buf, comm::Comm = world(); source = ANY_SOURCE, tag = ANY_TAG, status::Union{Nothing,Ref{Status}} = nothing, type = nothing,
)
    GC.@preserve buf check(API.recv(words_recv(buf, source, tag, type)..., comm.handle, something(status, C_NULL)), :recv)
    return buf
end

"`irecv!(buf, comm = world(); source = ANY_SOURCE, tag = ANY_TAG, type = nothing) -> Request`: [`recv!`](@ref) started."
irecv!(buf, comm::Comm = world(); source = ANY_SOURCE, tag = ANY_TAG, type = nothing) =
    requested(API.irecv, :irecv, false, comm, (buf,), words_recv(buf, source, tag, type))

"""
    sendrecv!(send, recv, comm = world(); dest, source = ANY_SOURCE, sendtag = 0, recvtag = ANY_TAG, status, type) -> recv

Send `send` to `dest` and receive into `recv` from `source`, without deadlock. Blocking.
"""
function sendrecv!(
    send, recv, comm::Comm = world(); dest, source = ANY_SOURCE, sendtag = 0, recvtag = ANY_TAG,
    status::Union{Nothing,Ref{Status}} = nothing, type = nothing,
)
    GC.@preserve send recv begin
        from, count, T, to, tag = words_send(send, dest, sendtag, type)
        into, room, U, source, other_tag = words_recv(recv, source, recvtag, type)
        T == U || types_differ(eltype(send), eltype(recv))
        code = API.sendrecv(from, count, to, tag, into, room, source, other_tag, T, comm.handle, something(status, C_NULL))
    end
    check(code, :sendrecv)
    return recv
end

"`probe(comm = world(); source = ANY_SOURCE, tag = ANY_TAG) -> Status`: wait for a message, and say what a recv would get."
function probe(comm::Comm = world(); source = ANY_SOURCE, tag = ANY_TAG)
    status = Ref(Status())
    check(API.probe(cint(source, "source"), cint(tag, "tag"), comm.handle, status), :probe)
    return status[]
end

@inline function words_send(buf, dest, tag, type)
    from, n, T = buffer(buf, "buf", type)
    return from, n, T.value, cint(dest, "dest"), cint(tag, "tag")
end

@inline function words_recv(buf, source, tag, type)
    to, n, T = buffer(buf, "buf", type)
    return to, n, T.value, cint(source, "source"), cint(tag, "tag")
end
