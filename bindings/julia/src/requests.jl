"""
    ReactantMPI.Request

A call that has been started (`iallreduce!` and so on) or prepared (`prepare_allreduce!`). It keeps its buffers alive, and is itself
kept alive until it is done or freed. A started call that is done is used up.
"""
mutable struct Request
    handle::Ptr{Cvoid}
    prepared::Bool
    roots::Any
end

# Requests that are under way or prepared: C has their buffers.
const REQUESTS = IdDict{Request,Nothing}()
const REQUESTS_LOCK = ReentrantLock()

function Base.show(io::IO, request::Request)
    print(io, "ReactantMPI.Request(", request.handle == C_NULL ? "done" : request.prepared ? "prepared" : "started", ")")
end

# Call a function that begins or prepares something; `words` and `buffers` are what must live as long.
function requested(f::F, name, prepared, comm, buffers, words) where {F}
    out = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve buffers check(f(words..., comm.handle, out), name)
    request = Request(out[], prepared, (buffers, words))
    lock(REQUESTS_LOCK) do
        REQUESTS[request] = nothing
    end
    return request
end

function gone(request)
    request.handle = C_NULL
    request.roots = nothing
    lock(REQUESTS_LOCK) do
        delete!(REQUESTS, request)
    end
end

# What a wait may say and leave the request as it was. After any other failure it is gone, as after success.
const STAYS = (
    API.ERR_ARGUMENT, API.ERR_COMM, API.ERR_REQUEST, API.ERR_STATE, API.ERR_THREAD, API.ERR_FORKED, API.ERR_TIMEOUT, API.ERR_PEER,
)

@inline function ended(request, code, name)
    request.prepared || code in STAYS || gone(request)
    check(code, name)
end

"""
    wait(request) -> Status
    wait(request, timeout_ms) -> Status

Wait until a call is done, blocking. With `timeout_ms` for so long at most: then an `Error` of code 31, and the call is still under
way. `Base.wait` is the same.
"""
function wait(request::Request)
    status = Ref(Status())
    ended(request, API.wait(request.handle, status), :wait)
    return status[]
end

function wait(request::Request, timeout_ms::Integer)
    status = Ref(Status())
    ended(request, API.wait_for(request.handle, cint(timeout_ms, "timeout_ms"), status), :wait_for)
    return status[]
end

Base.wait(request::Request) = wait(request)

"`waitall(requests) -> Vector{Status}`: wait until all are done; those done before count as that. The first failure is thrown."
function waitall(requests)
    list = collect(Request, requests)
    words = Ptr{Cvoid}[request.handle for request in list]
    statuses = fill(Status(), length(list))
    code = API.waitall(length(list), words, statuses)
    struck_out(list, words)
    check(code, :waitall)
    return statuses
end

"""
    test(request, [status::Ref{Status}]) -> Bool

Whether a call is done; if so, that is its end. Not blocking.
"""
function test(request::Request, status::Union{Nothing,Ref{Status}} = nothing)
    done = Ref{Cint}(0)
    code = API.test(request.handle, done, something(status, C_NULL))
    code == 0 && done[] == 0 && return false
    ended(request, code, :test)
    return true
end

"`testall(requests) -> Bool`: whether all are done; if so, that is their end, else nothing has changed. Not blocking."
function testall(requests)
    list = collect(Request, requests)
    words = Ptr{Cvoid}[request.handle for request in list]
    done = Ref{Cint}(0)
    code = API.testall(length(list), words, done, C_NULL)
    struck_out(list, words)
    check(code, :testall)
    return done[] != 0
end

# C makes NULL of those that are done, but for prepared calls, which live on.
struck_out(list, words) = foreach((request, word) -> word == C_NULL && !request.prepared && gone(request), list, words)

"""
    run!(request)

Do a prepared call. Collective, blocking.
"""
@inline run!(request::Request) = check(API.run(request.handle), :run)

"`start!(request)`: begin a prepared call; [`wait`](@ref) or [`test`](@ref) ends it, and then it can be started again."
@inline start!(request::Request) = check(API.start(request.handle), :start)

"""
    free(request)

Give a prepared call back, or let go of a started one, which goes on: its buffers are kept until [`finalize`](@ref)`()`.
"""
function free(request::Request)
    request.handle == C_NULL && return nothing
    done = Ref{Cint}(0)
    seen = API.test(request.handle, done, C_NULL) == 0 # no failure: it was under way
    if !seen || done[] == 0 || request.prepared
        check(API.request_free(request.handle), :request_free)
    end
    request.handle = C_NULL
    seen && done[] == 0 || gone(request)
    return nothing
end

# Everything has ended, and C has nobody's buffers any more.
function forget_requests()
    lock(REQUESTS_LOCK) do
        foreach(request -> (request.handle = C_NULL; request.roots = nothing), keys(REQUESTS))
        empty!(REQUESTS)
    end
end
