# Everything that is tried at several ranks, or the parts named, in one launch: Julia compiles slowly.

include("checks.jl")
include("collectives.jl")
include("messages.jl")
include("comms.jl")
include("bad_input.jl")
include("tasks.jl")
include("compiled.jl")

parts = (collectives = collectives, messages = messages, comms = comms, bad_input = bad_input, tasks = tasks, compiled = compiled)
issubset(Symbol.(ARGS), keys(parts)) || error("which part is that? $ARGS")

comm = R.initialize()
@testset "rank $(R.rank(comm)) of $(R.size(comm))" begin
    for (name, part) in pairs(parts)
        if isempty(ARGS) || string(name) in ARGS
            @testset "$name" begin
                part(comm)
            end
        end
    end
end
print("ok\n") # one write: the ranks share the output
