/* An event as a line of text, put together by the calling thread and added to the file's buffer whole. Between the files of this folder. */
#ifndef RMPI_TRACE_EVENTS_H
#define RMPI_TRACE_EVENTS_H

#include "trace.h"

#include <string.h>

#pragma GCC visibility push(hidden)

enum { RMPI_LINE_BYTES = 1024 }; /* more than any event but those with texts from outside, which are cut */

struct rmpi_line {
    size_t used;
    char text[RMPI_LINE_BYTES];
};

/* 0: there is no file, or this process is not its owner. */
int rmpi_line_begin(struct rmpi_line *l, const char *phase, const char *name, const char *category, int64_t time);
/* Closes "args" and adds the line to the file. now: older lines than some go to the file with it; 0 = all do. */
void rmpi_line_end(struct rmpi_line *l, int64_t now);

static inline void rmpi_put_bytes(struct rmpi_line *l, const char *text, size_t n)
{
    memcpy(l->text + l->used, text, n);
    l->used += n;
}

/* Text that needs no escapes; for a literal the compiler knows the length. */
#define PUT(l, text) rmpi_put_bytes(l, text, strlen(text))

void rmpi_put_number(struct rmpi_line *l, int64_t value);
void rmpi_put_time(struct rmpi_line *l, int64_t ns);
void rmpi_put_string(struct rmpi_line *l, const char *text); /* any text, in quotes */

/* ,"name":value and ,"name":"word" with literal names. */
#define PUT_ARGUMENT(l, name, value) (PUT(l, ",\"" name "\":"), rmpi_put_number(l, value))
#define PUT_WORD(l, name, word) (PUT(l, ",\"" name "\":\""), PUT(l, word), PUT(l, "\""))

#pragma GCC visibility pop

#endif
