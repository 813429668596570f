# The table of calls against the header that it is generated from, read here in another way, and against the C compiler.

const HEADER = joinpath(@__DIR__, "..", "..", "..", "include", "reactant_mpi.h")

const IN_JULIA = Dict(
    "int" => Cint, "unsigned" => Cuint, "size_t" => Csize_t, "uintptr_t" => UInt, "int64_t" => Int64, "uint32_t" => UInt32,
    "const char *" => Cstring, "char *" => Ptr{UInt8}, "int *" => Ptr{Cint}, "size_t *" => Ptr{Csize_t}, "int64_t *" => Ptr{Int64},
    "int32_t *" => Ptr{Int32}, "uintptr_t *" => Ptr{UInt}, "reactant_mpi_status *" => Ptr{R.API.Status},
    "reactant_mpi_options *" => Ptr{R.API.Options}, "reactant_mpi_map_fn" => Ptr{Cvoid},
)

"What ccall takes for a C declaration, with or without a name after it."
function in_julia(declaration)
    text = strip(replace(declaration, r"\s+" => " "))
    m = match(r"^(const char \*|(?:const )?(?:struct )?\w+ ?\*{0,2}) ?\w*$", text)
    m === nothing && error("what is $text?")
    type = strip(m[1])
    haskey(IN_JULIA, type) && return IN_JULIA[type]
    type = replace(type, "const " => "")
    haskey(IN_JULIA, type) && return IN_JULIA[type]
    endswith(type, "**") && return Ptr{Ptr{Cvoid}}
    endswith(type, "*") && return Ptr{Cvoid}
    error("what is $type?")
end

function prototypes(path)
    text = replace(read(path, String), r"/\*.*?\*/"s => " ")
    text = replace(text, r"^\s*#.*(\\\n.*)*$"m => "")
    found = Dict{Symbol,Any}()
    for m in eachmatch(r"^(\w[\w ]*?[ *]+)reactant_mpi_(\w+)\(([^()]*)\);"ms, text)
        arguments = strip(m[3]) == "void" ? () : Tuple(in_julia.(split(m[3], ',')))
        found[Symbol(m[2])] = (in_julia(m[1]), arguments)
    end
    return found
end

@testset "table" begin
    table = Dict(name => (result, arguments) for (name, result, arguments) in R.API.FUNCTIONS)
    @test length(table) == length(R.API.FUNCTIONS) # nothing twice
    @test all(name -> isdefined(R.API, name), keys(table))
    @test all(name -> name in (:initialize, keys(table)...), R.API.PLAIN)
    if isfile(HEADER)
        wanted = prototypes(HEADER)
        @test length(wanted) > 150
        @test setdiff(keys(wanted), keys(table)) == setdiff(keys(table), keys(wanted)) == Set()
        @test [name for name in keys(table) if table[name] != wanted[name]] == []
        symbols = readlines(joinpath(dirname(HEADER), "..", "capi", "symbols.txt"))
        @test Set(symbols) == Set("reactant_mpi_$name" for name in keys(table))
    else
        println("not run: the table of calls against the header: not in a checkout")
    end
    if isfile(HEADER) && Sys.which("cc") !== nothing
        is_constant(name) = occursin(r"^[A-Z][A-Z0-9_]*$", string(name)) && getfield(R.API, name) isa Integer
        constants = filter(is_constant, names(R.API; all = true))
        values = Any[("REACTANT_MPI_$name", getfield(R.API, name)) for name in constants]
        for (T, c) in ((R.API.Status, "reactant_mpi_status"), (R.API.Options, "reactant_mpi_options"))
            push!(values, ("sizeof($c)", sizeof(T)))
            append!(values, [("offsetof($c, $field)", fieldoffset(T, i)) for (i, field) in enumerate(fieldnames(T))])
        end
        filter!(row -> row[1] != "REACTANT_MPI_IN_PLACE", values) # a pointer
        checks = ["_Static_assert((long long)($c) == $(Int(value)), \"$c\");" for (c, value) in values]
        program = "#include <reactant_mpi.h>\n" * join(checks, '\n')
        @test length(checks) > 100
        compiler = `cc -std=c11 -fsyntax-only -I $(dirname(HEADER)) -x c -`
        @test success(pipeline(compiler; stdin = IOBuffer(program), stderr = stderr))
    else
        println("not run: constants and structs against the C compiler: no cc, or not in a checkout")
    end
end

@testset "docstrings" begin
    documented = keys(Base.Docs.meta(ReactantMPI))
    bare = [name for name in names(ReactantMPI) if !(Base.Docs.Binding(ReactantMPI, name) in documented)]
    @test bare == []
    public = Symbol.(split("""
        initialize finalize rank size local_rank local_size device nccl_comm client id mpi_comm comm_error split split_node create
        dup free set_timeout! shrink abort set_devices! from_devices describe libpath set_libpath! version register_symbols
        check_compiled Error Comm Request Status Op ElementType IN_PLACE ANY_SOURCE ANY_TAG PROC_NULL send isend probe wait waitall test testall
        get_count world"""))
    @test [name for name in public if !(Base.Docs.Binding(ReactantMPI, name) in documented)] == []
end
