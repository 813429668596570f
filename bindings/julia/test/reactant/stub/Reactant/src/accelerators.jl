module Accelerators
module Registration

struct RegisteredBackend
    platform_name::String
    priority::Int64
    pjrt_initialize_function
    ifrt_initialize_function
    pjrt_client_count::Base.RefValue{Int64}
    ifrt_client_count::Base.RefValue{Int64}
end

const RegisteredBackends = RegisteredBackend[]

function make_client(runtime, backend; options...)
    pjrt = runtime isa Val{:PJRT}
    count = pjrt ? backend.pjrt_client_count : backend.ifrt_client_count
    @assert count[] == 0
    client = (pjrt ? backend.pjrt_initialize_function : backend.ifrt_initialize_function)(; options...)
    count[] += 1
    return client
end

end
end
