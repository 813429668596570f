# Finding and loading libreactant_mpi.so, once, at the first call.

using Libdl

const SONAME = "libreactant_mpi.so.$VERSION_MAJOR"
const VARIABLE = "REACTANT_MPI_LIBRARY"
const UUID = Base.UUID("49982382-10e2-4c9c-abfc-e83fbb2186c1")

const LOCK = ReentrantLock()
const LOADED = Ref("") # path of the library once it is loaded
const CHOSEN = Ref("") # by set_libpath!

function load()
    lock(LOCK) do
        isempty(LOADED[]) || return
        tried = String[]
        for path in candidates()
            if occursin('/', path) && !ispath(path)
                push!(tried, "$path: no such file")
                continue
            end
            handle, problem = opened(path)
            if isempty(problem)
                for (i, (name, _, _)) in enumerate(FUNCTIONS)
                    POINTERS[i] = dlsym(handle, Symbol(:reactant_mpi_, name))
                end
                LOADED[] = dlpath(handle)
                return
            end
            push!(tried, "$path: $problem")
        end
        error("$SONAME cannot be loaded. Tried:\n  ", join(tried, "\n  "),
            "\nSet $VARIABLE to its path, or run `make build` in the checkout.")
    end
end

"Where the library may be, in the order tried. What was chosen counts alone."
function candidates()
    for chosen in (CHOSEN[], get(ENV, VARIABLE, ""), preference())
        isempty(chosen) || return [chosen]
    end
    checkout = joinpath(@__DIR__, "..", "..", "..")
    built = isfile(joinpath(checkout, "include", "reactant_mpi.h")) ? [normpath(checkout, "build", SONAME)] : String[]
    return [built; SONAME]
end

# LocalPreferences.toml, where this Julia reads it (1.6 and later).
function preference()
    isdefined(Base, :get_preferences) || return ""
    return string(get(Base.get_preferences(UUID), "libpath", ""))
end

# Handle and "", or nothing and what is wrong with this library.
function opened(path)
    handle = try
        dlopen(path, RTLD_NOW | RTLD_LOCAL)
    catch failure
        return nothing, sprint(showerror, failure)
    end
    for (name, _, _) in FUNCTIONS
        if dlsym_e(handle, Symbol(:reactant_mpi_, name)) == C_NULL
            return nothing, "not a libreactant_mpi of version $VERSION_MAJOR.$VERSION_MINOR: no reactant_mpi_$name"
        end
    end
    found = ccall(dlsym(handle, :reactant_mpi_version), UInt32, ())
    if found >> 8 != VERSION >> 8
        return nothing, "is version $(found >> 16).$(found >> 8 & 0xff), wanted $VERSION_MAJOR.$VERSION_MINOR"
    end
    return handle, ""
end
