/* The loader's functions as Go calls them. dlopen and dlerror stay in one C function: the text belongs to the thread. */
#ifndef RMPI_DL_HOST_H
#define RMPI_DL_HOST_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

enum { RMPI_DL_TEXT = 4096 };

/* REOPEN: only if already in the process, and without a change to how it was loaded. */
enum { RMPI_DL_GLOBAL, RMPI_DL_LOCAL, RMPI_DL_DEEP, RMPI_DL_REOPEN };

/* file gets the path that the loader really opened, text its error. */
void *rmpi_dl_open(const char *path, int how, char *file, char *text);
void rmpi_dl_close(void *handle);
void *rmpi_dl_symbol(void *handle, const char *name);
int rmpi_dl_owns(void *handle, const char *name);
/* File names of the process, each ended by NUL; malloc'ed. */
char *rmpi_dl_loaded(size_t *bytes);

#pragma GCC visibility pop

#endif
