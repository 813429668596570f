/*
 * Faults, delays and traces by environment, for the doubles of the GPU libraries. FAKE_PREFIX is FAKE_GPU or FAKE_NCCL.
 * Not modelled: nothing; this is machinery of the doubles themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_gpu.h"

enum { ANY = -1, HANG = -2, KILL = -3, STOP = -4, EXIT = -5, MAX_RULES = 128 };

struct rule {
    int rank; /* or ANY */
    char function[56];
    long nth; /* or ANY */
    bool onwards;
    int code;
    long us; /* a delay rule */
};

struct rules {
    int n, trace;
    struct rule rule[MAX_RULES];
};

static struct rules *_Atomic rules;
static struct fake_site *_Atomic sites;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static atomic_int set_rank = -1;

static void bad(const char *variable, const char *text)
{
    fprintf(stderr, "a test double does not understand %s=%s\n", variable, text);
    abort();
}

int fake_rank(void)
{
    static const char *const names[] = {"FAKE_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return atoi(value);
    }
    return set_rank < 0 ? 0 : set_rank;
}

void fake_set_rank(int rank)
{
    int none = -1;
    atomic_compare_exchange_strong(&set_rank, &none, rank);
}

const char *fake_env(const char *name)
{
    char with_rank[96];
    snprintf(with_rank, sizeof with_rank, "%s_%d", name, fake_rank());
    const char *value = getenv(with_rank);
    return value ? value : getenv(name);
}

long fake_env_number(const char *name, long otherwise)
{
    const char *value = fake_env(name);
    if (!value || !*value)
        return otherwise;
    char *end;
    long number = strtol(value, &end, 0);
    if (*end)
        bad(name, value);
    return number;
}

void fake_sleep_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (us > 0 && nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static int code_of(const char *variable, const char *text, const char *whole)
{
    static const struct { const char *word; int code; } words[] = {
        {"hang", HANG}, {"kill", KILL}, {"stop", STOP}, {"exit", EXIT}, {"stuck", FAKE_STUCK}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0)
            return words[i].code;
    char *end;
    long code = strtol(text, &end, 10);
    if (end == text || *end || code <= 0)
        bad(variable, whole);
    return (int)code;
}

/* rank:function:nth:code or rank:function:us, separated by commas; * for every rank, every call; 3+ for the third and all after. */
static void parse(struct rules *into, const char *variable, bool delay)
{
    const char *whole = fake_env(variable);
    if (!whole || !*whole)
        return;
    char *copy = strdup(whole), *rest = copy, *one;
    while ((one = strsep(&rest, ",;")) != NULL) {
        if (!*one)
            continue;
        struct rule *rule = &into->rule[into->n];
        char *field[4], *part;
        int n = 0;
        while (n < 4 && (part = strsep(&one, ":")) != NULL)
            field[n++] = part;
        if (one || n != (delay ? 3 : 4) || into->n == MAX_RULES || strlen(field[1]) >= sizeof rule->function)
            bad(variable, whole);
        *rule = (struct rule){.rank = strcmp(field[0], "*") == 0 ? ANY : atoi(field[0]), .nth = ANY};
        strcpy(rule->function, field[1]);
        if (delay) {
            rule->us = atol(field[2]);
        } else {
            char *end = field[2];
            if (strcmp(field[2], "*") != 0)
                rule->nth = strtol(field[2], &end, 10);
            else
                end++;
            rule->onwards = *end == '+';
            if (end == field[2] || (*end && strcmp(end, "+") != 0))
                bad(variable, whole);
            rule->code = code_of(variable, field[3], whole);
        }
        into->n++;
    }
    free(copy);
}

static struct rules *load(bool again)
{
    pthread_mutex_lock(&loading);
    struct rules *now = rules;
    if (!now || again) {
        struct rules *fresh = calloc(1, sizeof *fresh);
        parse(fresh, FAKE_PREFIX "_FAIL", false);
        parse(fresh, FAKE_PREFIX "_DELAY", true);
        const char *path = fake_env(FAKE_PREFIX "_TRACE");
        fresh->trace = path && *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
        if (path && *path && fresh->trace < 0)
            bad(FAKE_PREFIX "_TRACE", path);
        rules = fresh; /* an old one is left: another thread may be reading it */
        if (now && now->trace >= 0)
            close(now->trace);
        now = fresh;
    }
    pthread_mutex_unlock(&loading);
    return now;
}

static struct rules *loaded(void)
{
    struct rules *now = rules;
    return now ? now : load(false);
}

void fake_reload(void)
{
    for (struct fake_site *site = sites; site; site = site->next)
        site->calls = 0;
    load(true);
}

static int act(int code, const char *name)
{
    switch (code) {
    case KILL:
        kill(getpid(), SIGKILL);
        return 0;
    case STOP:
        kill(getpid(), SIGSTOP);
        return 0;
    case EXIT:
        _exit(97);
    case HANG:
        fake_trace("%s hangs", name);
        for (;;)
            fake_sleep_us(3600L * 1000000);
    default:
        return code;
    }
}

int fake_enter(struct fake_site *site, const char *name)
{
    struct rules *now = loaded();
    long nth = (long)atomic_fetch_add(&site->calls, 1) + 1;
    const char *none = NULL;
    if (!site->name && atomic_compare_exchange_strong(&site->name, &none, name)) {
        site->next = sites;
        while (!atomic_compare_exchange_weak(&sites, &site->next, site))
            ;
    }
    if (now->n == 0)
        return 0;
    int rank = fake_rank();
    for (int i = 0; i < now->n; i++) {
        const struct rule *rule = &now->rule[i];
        if ((rule->rank != ANY && rule->rank != rank) || strcmp(rule->function, name) != 0)
            continue;
        if (rule->us)
            fake_sleep_us(rule->us);
        else if (rule->nth == ANY || rule->nth == nth || (rule->onwards && nth > rule->nth))
            return act(rule->code == FAKE_STUCK && strcmp(name, "async") != 0 ? HANG : rule->code, name);
    }
    return 0;
}

unsigned long fake_calls(const char *name)
{
    for (struct fake_site *site = sites; site; site = site->next)
        if (strcmp(site->name, name) == 0)
            return site->calls;
    return 0;
}

bool fake_traces(void)
{
    return loaded()->trace >= 0;
}

void fake_trace(const char *format, ...)
{
    struct rules *now = loaded();
    if (now->trace < 0)
        return;
    char line[512];
    int n = snprintf(line, sizeof line, "%d\t", fake_rank());
    va_list arguments;
    va_start(arguments, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
    va_end(arguments);
    if (n > (int)sizeof line - 2)
        n = sizeof line - 2;
    line[n] = '\n';
    if (write(now->trace, line, (size_t)n + 1) < 0)
        abort();
}
