/*
 * Libraries whose functions only jump to another's, through pointers that are null until they are filled: MPItrampoline and the
 * interface library of WI4MPI. JUMP(name, pointer) defines MPI_name and PMPI_name so.
 */
#ifndef JUMP_H
#define JUMP_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#define JUMP_TO(pointer) "mov " pointer "@GOTPCREL(%rip), %rax\n jmp *(%rax)\n"
#elif defined __aarch64__
#define JUMP_TO(pointer) "adrp x16, :got:" pointer "\n ldr x16, [x16, :got_lo12:" pointer "]\n ldr x16, [x16]\n br x16\n"
#endif

#define LABEL(name) ".globl " name "\n.type " name ", %function\n" name ":\n"
#define JUMP(name, pointer) \
    void *pointer;          \
    __asm__(".text\n" LABEL("MPI_" #name) LABEL("PMPI_" #name) JUMP_TO(#pointer));

#endif
