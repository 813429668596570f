/* Loading an XLA library. */
#ifndef RMPI_CLIENT_LOAD_H
#define RMPI_CLIENT_LOAD_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

enum { RMPI_XLA_LOAD_TEXT = 4096 };

/* For good, and with its symbols to itself: two XLAs in a process, or an XLA and the LLVM of Julia, must not mix. 0, or -1 and text. */
int rmpi_xla_load(const char *path, char text[RMPI_XLA_LOAD_TEXT]);

#pragma GCC visibility pop

#endif
