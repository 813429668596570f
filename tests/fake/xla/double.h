/*
 * What both doubles of an XLA library have: words that choose a fault, and a record of what was called.
 * FAKE_XLA: the words, separated by commas. FAKE_XLA_LOG: a file to which each call appends a line.
 */
#ifndef FAKE_XLA_DOUBLE_H
#define FAKE_XLA_DOUBLE_H

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int fault(const char *word)
{
    const char *all = getenv("FAKE_XLA");
    size_t n = strlen(word);
    for (const char *at = all ? strstr(all, word) : NULL; at; at = strstr(at + 1, word))
        if ((at == all || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return 1;
    return 0;
}

__attribute__((format(printf, 1, 2))) static inline void record(const char *format, ...)
{
    const char *path = getenv("FAKE_XLA_LOG");
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    va_list list;
    if (!file)
        return;
    va_start(list, format);
    vfprintf(file, format, list);
    va_end(list);
    fputc('\n', file);
    fclose(file);
}

/* Whether the calling thread would take a SIGINT and a SIGSEGV; and whether it is the main thread. */
static inline const char *thread_state(void)
{
    static char text[64];
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    snprintf(text, sizeof text, "main=%d SIGINT=%s SIGSEGV=%s", syscall(SYS_gettid) == getpid(),
             sigismember(&mask, SIGINT) ? "blocked" : "open", sigismember(&mask, SIGSEGV) ? "blocked" : "open");
    return text;
}

/* A C++ exception (of type int) that leaves the library. */
void *__cxa_allocate_exception(size_t) __attribute__((weak));
void __cxa_throw(void *, void *, void (*)(void *)) __attribute__((weak, noreturn));
extern void *_ZTIi __attribute__((weak));

static inline void throw_int(void)
{
    if (!__cxa_allocate_exception || !__cxa_throw) {
        fprintf(stderr, "a test double has no C++ library to throw with\n");
        _exit(99);
    }
    __cxa_throw(__cxa_allocate_exception(sizeof(int)), &_ZTIi, NULL);
}

#endif
