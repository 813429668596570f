/* Calls into XLA on a thread of their own. XLA reports some failures by calling a function that must not return, or by a C++
 * exception: either would unwind the frames of whoever called, which here are Go's, and a Go frame that is unwound ends the host at
 * the next call. So such a call runs on a thread whose stack holds nothing but C, and the failure comes back as a text. */
#ifndef RMPI_CLIENT_GUARD_H
#define RMPI_CLIENT_GUARD_H

#pragma GCC visibility push(hidden)

enum { RMPI_XLA_TEXT = 4096 };

/* How a guarded call ended. */
enum rmpi_xla_end {
    RMPI_XLA_RETURNED,   /* the body came to its end; what it found is its own matter */
    RMPI_XLA_THREW,      /* ReactantThrowError was called; text is XLA's */
    RMPI_XLA_EXCEPTION,  /* an exception that nobody caught; text names its type */
    RMPI_XLA_LEFT,       /* the thread was ended from inside (pthread_exit) */
    RMPI_XLA_NO_THREAD,  /* no thread could be made; text says why */
};

/* What a library offers for its failures to be caught; each may be NULL. */
struct rmpi_xla_hooks {
    void (**throw_error)(const char *); /* libReactantExtra's ReactantThrowError */
    void *set_terminate;                /* the C++ library's, of the instance that XLA uses */
    void *exception_type;               /* __cxa_current_exception_type */
    void *demangle;                     /* __cxa_demangle */
};

/* Runs body(arg) and waits for its end. One at a time in a process: the hooks are the library's globals. */
enum rmpi_xla_end rmpi_xla_guarded(const struct rmpi_xla_hooks *hooks, void (*body)(void *), void *arg, char text[RMPI_XLA_TEXT]);

#pragma GCC visibility pop

#endif
