/*
 * Runs kernels for the Go tests of node/kernels, which build it with all variants of one processor.
 *   driver list    the variants that this machine runs, best first, one a line, after the one that is chosen
 *   driver sweep   every variant at every length and misalignment, against one element at a time of the scalar one
 *   driver         requests from standard input, each answered with the output array, until it ends
 */
#include "node/kernels/variants.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONGEST = 70, SHIFTS = 64, ROOM = 4 * LONGEST, GUARD = 64, FILL = 0xa5 };

static size_t in_size(int way)
{
    return way == RMPI_HALF_FROM_F32 ? 4 : 2;
}

static size_t out_size(int way)
{
    return way == RMPI_HALF_TO_F32 ? 4 : 2;
}

/* ---- requests: variant -1 means the functions of half.h --------------------------------------------------------------------- */

struct request {
    int32_t variant, type, way;
    float by;
    uint64_t n;
}; /* then `in` and `out`, n elements each */

static void run(const struct request *r, const void *in, void *out)
{
    const void *from = r->way == RMPI_HALF_DIVIDE ? out : in;
    if (r->variant >= 0)
        rmpi_half_variant(r->variant)->run[r->type][r->way](from, out, r->n, r->by);
    else if (r->way == RMPI_HALF_TO_F32)
        rmpi_half_to_f32(r->type, in, out, r->n);
    else if (r->way == RMPI_HALF_FROM_F32)
        rmpi_half_from_f32(r->type, in, out, r->n);
    else if (r->way == RMPI_HALF_DIVIDE)
        rmpi_half_divide(r->type, out, r->n, r->by);
    else
        rmpi_half_reduce(r->type, r->way, in, out, r->n);
}

static int serve(void)
{
    struct request r;
    while (fread(&r, sizeof r, 1, stdin) == 1) {
        void *in = malloc(r.n * 4), *out = malloc(r.n * 4);
        if (!in || !out || fread(in, in_size(r.way), r.n, stdin) != r.n || fread(out, out_size(r.way), r.n, stdin) != r.n)
            return 1;
        run(&r, in, out);
        if (fwrite(out, out_size(r.way), r.n, stdout) != r.n || fflush(stdout))
            return 1;
        free(in);
        free(out);
    }
    return 0;
}

/* ---- sweep ----------------------------------------------------------------------------------------------------------------- */

static const float by = 3;

/* A page between two that nobody may touch; at_the_edge: its first or last bytes. */
static char *lonely_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + size, size, PROT_READ | PROT_WRITE)) {
        perror("mmap");
        exit(2);
    }
    return pages + size;
}

static char *at_the_edge(char *page, size_t bytes, int end)
{
    return end ? page + sysconf(_SC_PAGESIZE) - bytes : page;
}

struct sweep {
    const struct rmpi_half_variant *variant;
    int type, way;
    char in[ROOM], out[ROOM], expected[ROOM];
    char *in_page, *out_page;
};

static void apply(const struct sweep *s, const char *in, char *out, size_t n)
{
    memcpy(out, s->out, n * out_size(s->way));
    s->variant->run[s->type][s->way](s->way == RMPI_HALF_DIVIDE ? out : in, out, n, by);
}

static int shifted(const struct sweep *s, size_t n, size_t in_shift, size_t out_shift)
{
    static char in[ROOM + SHIFTS] __attribute__((aligned(64))), room[ROOM + SHIFTS + 2 * GUARD] __attribute__((aligned(64)));
    char *out = room + GUARD + out_shift;
    size_t bytes = n * out_size(s->way);
    memcpy(in + in_shift, s->in, n * in_size(s->way));
    memset(room, FILL, sizeof room);
    apply(s, in + in_shift, out, n);
    if (memcmp(out, s->expected, bytes))
        return 0;
    for (char *p = room; p < room + sizeof room; p++)
        if ((p < out || p >= out + bytes) && *p != (char)FILL)
            return 0;
    return 1;
}

static int at_edges(const struct sweep *s, size_t n, int end)
{
    char *in = at_the_edge(s->in_page, n * in_size(s->way), end), *out = at_the_edge(s->out_page, n * out_size(s->way), end);
    memcpy(in, s->in, n * in_size(s->way));
    apply(s, in, out, n);
    return !memcmp(out, s->expected, n * out_size(s->way));
}

/* Small normal numbers, and what one element at a time makes of them. */
static void fill(struct sweep *s)
{
    rmpi_half_fn *const *one = rmpi_half_scalar.run[s->type];
    uint32_t random = 1;
    for (size_t i = 0; i < LONGEST; i++) {
        float value = (float)(random = random * 1664525 + 1013904223) / 0x1p30f - 2, twice = 2 * value;
        char *in = s->in + i * in_size(s->way), *out = s->out + i * out_size(s->way), *result = s->expected + i * out_size(s->way);
        if (s->way == RMPI_HALF_FROM_F32)
            memcpy(in, &value, sizeof value);
        else
            one[RMPI_HALF_FROM_F32](&value, in, 1, 0);
        one[RMPI_HALF_FROM_F32](&twice, out, 1, 0);
        memcpy(result, out, out_size(s->way));
        one[s->way](s->way == RMPI_HALF_DIVIDE ? result : in, result, 1, by);
    }
}

static int wrong(const struct sweep *s, size_t n, const char *where, size_t in, size_t out)
{
    printf("%s, type %d, way %d, n = %zu: wrong, both arrays %s %zu, %zu\n", s->variant->name, s->type, s->way, n, where, in, out);
    return 0;
}

static int sweep_one(struct sweep *s)
{
    fill(s);
    for (size_t n = 0; n <= LONGEST; n++) {
        for (size_t a = 0; a < SHIFTS; a += 2)
            for (size_t b = 0; b < SHIFTS; b += 2)
                if (!shifted(s, n, a, b))
                    return wrong(s, n, "shifted by", a, b);
        for (int end = 0; end < 2; end++)
            if (!at_edges(s, n, end))
                return wrong(s, n, "at this edge of their pages:", end, end);
    }
    return 1;
}

static int sweep(void)
{
    struct sweep s = {.in_page = lonely_page(), .out_page = lonely_page()};
    int right = 1;
    for (int v = 0; (s.variant = rmpi_half_variant(v)); v++)
        for (s.type = 0; s.type < RMPI_HALVES; s.type++)
            for (s.way = 0; s.way < RMPI_HALF_WAYS; s.way++)
                right &= sweep_one(&s);
    return !right;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return serve();
    if (!strcmp(argv[1], "sweep"))
        return sweep();
    puts(rmpi_half_kernels());
    for (int v = 0; rmpi_half_variant(v); v++)
        puts(rmpi_half_variant(v)->name);
    return 0;
}
