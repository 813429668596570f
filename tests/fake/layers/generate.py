"""The functions of a library double that translates between two ABIs of MPI, from the prototypes in mpi/functions.inc.

    generate.py functions.inc FOLDER

names.h lists the functions. functions.h has of every one a definition in the types of the program's ABI, that translates each
argument as its type and place ask for, calls the MPI behind, and translates back. What a prototype does not tell (which int is a
rank, which pointer a status) stands here.
"""

import re
import subprocess
import sys

HANDLES = ("Comm", "Datatype", "Op", "Request", "Group", "Errhandler")
# Places of ranks that may be ANY_SOURCE or PROC_NULL.
PEERS = {"Send": [3], "Isend": [3], "Recv": [3], "Irecv": [3], "Sendrecv": [3, 8], "Probe": [0], "Iprobe": [0]}
# Functions whose last `void *` is a status that is written, and those whose first argument is one that is read.
STATUS_OUT = {"Wait", "Test", "Recv", "Sendrecv", "Probe", "Iprobe"}
STATUS_IN = {"Get_count", "Get_elements_x"}
NO_BUFFERS = {"Comm_get_attr", "Comm_set_attr", "Comm_create_keyval"}
# Not of functions.inc, but a host program calls them.
MORE = """
NEEDED(Init, int, (int *, char ***))
NEEDED(Comm_dup, int, (MPI_Comm, MPI_Comm *))
NEEDED(Comm_delete_attr, int, (MPI_Comm, int))
NEEDED(Op_free, int, (MPI_Op *))
"""
# By hand in layer.h: they are no business of the MPI behind, or have no arguments.
BY_HAND = {"Finalize"}


def prototypes(path):
    """(name, [types]) of the functions that every MPI 3.1 has. The optional ones are of later versions, with one exception."""
    text = subprocess.run(["cc", "-E", "-P", "-xc", path], capture_output=True, text=True, check=True).stdout + MORE
    for kind, name, types in re.findall(
        r"\b(NEEDED|OPTIONAL|EXTENSION)\((\w+), int,\s*(\(.*?\))\)(?=\s*(?:NEEDED|OPTIONAL|EXTENSION|$))", text, re.S
    ):
        if (kind == "NEEDED" or name == "Get_elements_x") and name not in BY_HAND:
            yield name, split(re.sub(r"\s+", " ", types)[1:-1])


def split(text):
    out, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            out.append("")
        else:
            out[-1] += c
    return [t.strip() for t in out]


def define(name, types):
    before, words, after = [], [], []
    for i, t in enumerate(types):
        a = f"a{i}"
        handle = re.fullmatch(r"MPI_(\w+)", t)
        pointer = re.fullmatch(r"MPI_(\w+) \*", t)
        array = re.fullmatch(r"const MPI_(\w+) \*", t)
        if handle and handle[1] in HANDLES:
            words.append(f"to_run(KIND_{handle[1]}, WORD({a}))")
        elif pointer and pointer[1] in HANDLES:
            before.append(f"word h{i} = to_run(KIND_{pointer[1]}, WORD(*{a}));")
            words.append(f"(word)&h{i}")
            after.append(f"if (rc == 0) *{a} = (MPI_{pointer[1]})to_app(KIND_{pointer[1]}, run_handle(h{i}), WORD(*{a}));")
        elif array:
            before.append(f"word h{i}[8]; to_run_array(KIND_{array[1]}, {a}, a0, h{i});")
            words.append(f"(word)h{i}")
        elif t == "void *" and i == len(types) - 1 and name in STATUS_OUT:
            before.append(f"struct run_status s{i};")
            words.append(f"status_in({a}, &s{i})")
            after.append(f"status_out(&s{i}, {a});")
        elif i == 0 and name in STATUS_IN:
            before.append(f"struct run_status s{i}; status_again({a}, &s{i});")
            words.append(f"(word)&s{i}")
        elif t in ("void *", "const void *") and name not in NO_BUFFERS:
            words.append(f"buffer({a})")
        elif t == "int" and i in PEERS.get(name, ()):
            words.append(f"(word)peer({a})")
        elif name == "Comm_get_attr" and i == 1:
            words.append(f"(word)key({a})")
        elif name == "Op_create" and i == 0:
            words.append(f"(word)op_thunk({a})")
        else:
            words.append(f"(word){a}")
    named = ", ".join(f"__typeof__({t}) a{i}" for i, t in enumerate(types))
    lines = [f"FUNCTION({name}, ({named}))", "{"]
    lines += ["    " + b for b in before]
    lines += [f'    int rc = run_call(RUN("{name}"), (word[13]){{{", ".join(words)}}});']
    lines += ["    " + a for a in after]
    return "\n".join(lines + ["    return rc;", "}"])


if __name__ == "__main__":
    functions = list(prototypes(sys.argv[1]))
    with open(f"{sys.argv[2]}/functions.h", "w") as f:
        print("\n\n".join(define(*function) for function in functions), file=f)
    with open(f"{sys.argv[2]}/names.h", "w") as f:
        print("\n".join(f"NAME({name})" for name in [name for name, _ in functions] + sorted(BY_HAND)), file=f)
