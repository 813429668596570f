/* What the parts of the doubles' own test share: a rank is a process, and what it wants of the libraries goes through these. */
#ifndef FAKE_SELFTEST_H
#define FAKE_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct id {
    char bytes[128];
};

/* Counts; a wrong one says where and ends the rank. */
#define CHECK(condition)                                                                                                           \
    do {                                                                                                                           \
        if (!(condition))                                                                                                          \
            failed(__FILE__, __LINE__, #condition);                                                                                \
        checked();                                                                                                                 \
    } while (0)
#define EQUAL(a, b)                                                                                                                \
    do {                                                                                                                           \
        long a_ = (long)(a), b_ = (long)(b);                                                                                       \
        if (a_ != b_)                                                                                                              \
            failed_numbers(__FILE__, __LINE__, #a, a_, b_);                                                                        \
        checked();                                                                                                                 \
    } while (0)

void checked(void);
void failed(const char *file, int line, const char *what) __attribute__((noreturn));
void failed_numbers(const char *file, int line, const char *what, long got, long wanted) __attribute__((noreturn));

extern int rank, nranks;
extern const char *variant; /* "nccl228" */
extern bool hip;
extern void *driver, *nccl;

/* Functions by name, called without prototypes: arguments must have their exact types. */
typedef int (*function)();
function sym(void *library, const char *name);
#define D(name) sym(driver, #name)
#define N(name) sym(nccl, #name)

double seconds(void);
void meet_ranks(void); /* of the test, not of NCCL */
void share_id(struct id *id);
void load(const char *which); /* driver and NCCL of that variant */
void *bring_up(void);         /* a context on device `rank`, and a communicator of all ranks */
void *stream_new(void);
uint64_t device_new(size_t bytes);
void device_free(uint64_t pointer);
void to_device(uint64_t to, const void *from, size_t bytes);
void from_device(void *to, uint64_t from, size_t bytes);
int sync_stream(void *stream);
int query_stream(void *stream);
const char *last_error(void);

enum { FLOAT = 7, ADD = 0 };

void device(int ordinal);     /* its context is current */
int async_error(void *comm);
int until_not(void *comm, int code, double limit); /* the asynchronous error that it has then */
uint64_t with_number(float x);
float number(uint64_t at);
int all_reduce(uint64_t at, size_t count, void *comm, void *stream); /* sum of floats in place */
void works(void *comm, int n, float wanted);                         /* n ranks add the rank of the process + 1 */

/* Runs f in n processes with these settings ("A=1 B=2"); every rank must end well, but the one that the test kills. */
void run(const char *title, void (*f)(void), int n, const char *with, const char *settings, int killed);

void test_data(void);   /* selftest_data.c */
void test_driver(void); /* selftest_driver.c */
void test_comm(void);   /* selftest_comm.c */
void test_faults(void); /* selftest_faults.c */

#endif
