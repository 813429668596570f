# The collectives, each as a blocking call, started and prepared, all made from one table.

# name, buffers and operation in order, keywords, what it does, way to do it in place with one buffer.
const COLLECTIVES = (
    (:allreduce, (:send, :recv, :op), (),
        "`recv` on every rank = `op` over the ranks' `send`.", :equal),
    (:reduce, (:send, :recv, :op), (:root => 0,),
        "`recv` at the root = `op` over the ranks' `send`; elsewhere `recv` may be `nothing`.", :equal),
    (:reduce_scatter, (:send, :recv, :op), (),
        "`recv` = this rank's block of the `op` over the ranks' `send`, which have a block for each.", :in_place),
    (:bcast, (:buf,), (:root => 0,),
        "`buf` of the root to every rank.", nothing),
    (:allgather, (:send, :recv), (),
        "`recv` on every rank = the ranks' `send`, one after the other.", :in_place),
    (:alltoall, (:send, :recv), (),
        "Block j of `send` goes to rank j; block i of `recv` comes from rank i.", :in_place),
    (:gather, (:send, :recv), (:root => 0,),
        "`recv` at the root = the ranks' `send`, one after the other; elsewhere `recv` may be `nothing`.", nothing),
    (:scatter, (:send, :recv), (:root => 0,),
        "Block i of the root's `send` goes to rank i; elsewhere `send` may be `nothing`.", nothing),
    (:scan, (:send, :recv, :op), (),
        "`recv` = `op` over the `send` of ranks 0 to this one.", :equal),
    (:exscan, (:send, :recv, :op), (),
        "The same as `scan!` without this rank's own; `recv` of rank 0 is left as it is.", :equal),
    (:allgatherv, (:send, :recv, :counts), (:displs => nothing,),
        "`allgather!` of `counts[i + 1]` elements from rank i.", nothing),
    (:gatherv, (:send, :recv, :counts), (:root => 0, :displs => nothing),
        "`gather!` of `counts[i + 1]` elements from rank i; `recv` and `counts` are for the root.", nothing),
    (:scatterv, (:send, :recv, :counts), (:root => 0, :displs => nothing),
        "`scatter!` of `counts[i + 1]` elements to rank i; `send` and `counts` are for the root.", nothing),
    (:alltoallv, (:send, :recv, :send_counts, :recv_counts), (:send_displs => nothing, :recv_displs => nothing),
        "`alltoall!` of `send_counts[j + 1]` elements to rank j and `recv_counts[i + 1]` from rank i.", nothing),
    (:reduce_scatterv, (:send, :recv, :counts, :op), (),
        "`reduce_scatter!` with blocks of `counts[i + 1]` elements.", nothing),
    (:permute, (:send, :recv), (:source => PROC_NULL, :dests => ()),
        "XLA's collective-permute: `send` to each of `dests`, `recv` from `source`, and zeros if that is `PROC_NULL`.", nothing),
)

for (name, positional, defaults, does, in_place) in COLLECTIVES
    keywords = (first.(defaults)..., :type)
    buffers = filter(x -> x in (:send, :recv, :buf), positional)
    result = last(buffers)
    # With a type parameter: Julia does not specialise on a function that is only handed on.
    typed = map(x -> x === :op ? :(op::OP) : x, positional)
    declared = [Expr(:kw, key, default) for (key, default) in (defaults..., :type => nothing)]
    passed = [Expr(:kw, key, key) for key in keywords]
    words = :($(Symbol(:words_, name))(comm, $(positional...), $(keywords...)))
    plain, started, prepared = Symbol(name, :!), Symbol(:i, name, :!), Symbol(:prepare_, name, :!)
    signature(call) = :op in positional ? :($call where {OP}) : call
    @eval $(signature(:($plain($(typed...), comm::Comm; $(declared...))))) = begin
        GC.@preserve $(buffers...) check(API.$name($words..., comm.handle), $(QuoteNode(name)))
        return $result
    end
    for (form, kind, is_prepared) in ((started, Symbol(:i, name), false), (prepared, Symbol(:prepare_, name), true))
        @eval $(signature(:($form($(typed...), comm::Comm; $(declared...))))) =
            requested(API.$kind, $(QuoteNode(kind)), $is_prepared, comm, ($(buffers...),), $words)
    end
    for form in (plain, started, prepared)
        by_keyword = [Expr(:kw, :(comm::Comm), :(world())); declared]
        @eval $(signature(:($form($(typed...); $(by_keyword...))))) = $form($(positional...), comm; $(passed...))
        in_place === nothing && continue
        # One buffer: the same for both.
        both = in_place === :equal ? :buf : :IN_PLACE
        call = :($form($both, buf, $(positional[3:end]...), comm; $(passed...)))
        @eval $(signature(:($form(buf, $(typed[3:end]...), comm::Comm; $(declared...))))) = $call
        @eval $(signature(:($form(buf, $(typed[3:end]...); $(by_keyword...))))) = $call
    end
    told = join((string(keyword, " = ", repr(default)) for (keyword, default) in (defaults..., :type => nothing)), ", ")
    arguments = string(join(positional, ", "), ", comm = world(); ", told)
    in_one = in_place === nothing ? "" : string("\n    ", plain, "(", join(("buf", positional[3:end]...), ", "), ", comm; ...)")
    has_displs = any(default -> occursin("displs", string(first(default))), defaults)
    remark = has_displs ? "Displacements, from 0, are by default the running sum of the counts." :
             in_place === nothing ? "" : "With one buffer: in place."
    text = """
        $plain($arguments) -> $result$in_one

    $(strip("$does $remark")) Collective, blocking.

    Buffers are Arrays, contiguous views of them, or Refs; `type`, as `ReactantMPI.BFLOAT16`, is for what Julia's type does not say.
    `comm` may also be given as a keyword. `$started` starts the same and `$prepared` prepares it; both return a [`Request`](@ref).
    """
    @eval @doc $text $plain
    @eval @doc $("`$started`: [`$plain`](@ref) started; returns a [`Request`](@ref).") $started
    @eval @doc $("`$prepared`: [`$plain`](@ref) prepared for [`run!`](@ref), [`start!`](@ref); a [`Request`](@ref).") $prepared
    name === :permute || @eval export $plain, $started, $prepared # Base has a permute! of its own
end

"`barrier(comm = world())`: returns when every rank has called. `ibarrier` starts it, `prepare_barrier` prepares it."
barrier(comm::Comm = world()) = check(API.barrier(comm.handle), :barrier)
"`ibarrier(comm = world())`: [`barrier`](@ref) started; returns a [`Request`](@ref)."
ibarrier(comm::Comm = world()) = requested(API.ibarrier, :ibarrier, false, comm, (), ())
"`prepare_barrier(comm = world())`: [`barrier`](@ref) prepared; returns a [`Request`](@ref)."
prepare_barrier(comm::Comm = world()) = requested(API.prepare_barrier, :prepare_barrier, true, comm, (), ())

"`allreduce(x, op, comm = world())`: a fresh array, or number, that is `op` over the ranks' `x`. Collective, blocking."
allreduce(x::Number, op, comm::Comm = world()) = allreduce!(Ref(x), op, comm)[]
allreduce(x::AbstractArray, op, comm::Comm = world()) = allreduce!(Array(x), op, comm)

export allreduce, barrier, ibarrier, prepare_barrier, sendrecv!, recv!, irecv!, run!, start!
