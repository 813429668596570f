/*
 * The machine that the doubles of libcuda and libamdhip64 show: GPUs by FAKE_GPUS, filtered by the visibility variables.
 * Not modelled: CUDA_DEVICE_ORDER (the table's order is the order), NVML, MIG profiles (an instance is an entry with its own UUID),
 * attributes beyond a few, hot removal.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

static struct fake_gpu table[MAX_GPUS], visible[MAX_GPUS];
static int n_table, n_visible;
static atomic_int ready;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static void wrong(const char *text)
{
    fprintf(stderr, "a test double does not understand FAKE_GPUS: %s\n", text);
    abort();
}

/* AMD's 16 bytes are the letters themselves. */
static void uuid_bytes(const char *text, uint8_t out[16])
{
#ifdef FAKE_HIP
    if (strlen(text) != 20)
        wrong(text);
    memcpy(out, text + 4, 16);
#else
    int n = 0;
    for (const char *p = strchr(text, '-') ? strchr(text, '-') + 1 : text; *p && n < 32; p++) {
        if (*p == '-')
            continue;
        if (!isxdigit((unsigned char)*p))
            wrong(text);
        int digit = *p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10;
        out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | digit : digit << 4);
        n++;
    }
    if (n != 32)
        wrong(text);
#endif
}

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;
    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* What a GPU is where the table says nothing. UUIDs begin with the index and differ between the hosts that FAKE_HOST names. */
static struct fake_gpu standard(int index)
{
    const char *host = fake_env("FAKE_HOST") ? fake_env("FAKE_HOST") : getenv("NCCL_HOSTID");
    struct fake_gpu gpu = {.name = "Fake H200", .major = 9, .memory = (size_t)1 << 34, .bus = 0x10 + index, .physical = index};
#ifdef FAKE_HIP
    snprintf(gpu.uuid_text, sizeof gpu.uuid_text, "GPU-%08x%08x", index, host ? hash(host) : 0);
    snprintf(gpu.name, sizeof gpu.name, "Fake MI300X");
#else
    snprintf(gpu.uuid_text, sizeof gpu.uuid_text, "GPU-%08x-0000-4000-8000-0000%08x", index, host ? hash(host) : 0);
#endif
    snprintf(gpu.pci, sizeof gpu.pci, "0000:%02x:00.0", gpu.bus);
    return gpu;
}

static void put(char *to, size_t size, const char *value)
{
    if (strlen(value) >= size)
        wrong(value);
    strcpy(to, value);
}

static void set(struct fake_gpu *gpu, const char *key, const char *value)
{
    if (strcmp(key, "uuid") == 0)
        put(gpu->uuid_text, sizeof gpu->uuid_text, value);
    else if (strcmp(key, "mig") == 0)
        put(gpu->mig_text, sizeof gpu->mig_text, value);
    else if (strcmp(key, "pci") == 0)
        put(gpu->pci, sizeof gpu->pci, value);
    else if (strcmp(key, "name") == 0)
        put(gpu->name, sizeof gpu->name, value);
    else if (strcmp(key, "numa") == 0)
        gpu->numa = atoi(value);
    else if (strcmp(key, "mode") == 0)
        gpu->mode = atoi(value);
    else if (strcmp(key, "mib") == 0)
        gpu->memory = strtoul(value, NULL, 10) << 20;
    else if (strcmp(key, "cc") != 0 || sscanf(value, "%d.%d", &gpu->major, &gpu->minor) != 2)
        wrong(key);
}

/* "4", or entries between ';' of key=value between ',' (an empty entry is a standard GPU). Entries of one PCI id are MIG instances. */
static void read_table(void)
{
    const char *text = fake_env("FAKE_GPUS");
    n_table = 0;
    if (!text || !*text)
        return;
    char *end;
    long n = strtol(text, &end, 10);
    if (!*end) {
        if (n < 0 || n > MAX_GPUS)
            wrong(text);
        for (; n_table < n; n_table++)
            table[n_table] = standard(n_table);
    } else {
        char *copy = strdup(text), *rest = copy, *entry, *pair;
        while ((entry = strsep(&rest, ";")) != NULL) {
            if (n_table == MAX_GPUS)
                wrong(text);
            struct fake_gpu *gpu = &table[n_table];
            *gpu = standard(n_table);
            while ((pair = strsep(&entry, ",")) != NULL) {
                char *value = strchr(pair, '=');
                if (!*pair)
                    continue;
                if (!value)
                    wrong(pair);
                *value++ = 0;
                set(gpu, pair, value);
            }
            n_table++;
        }
        free(copy);
    }
    int physical = 0;
    for (int i = 0; i < n_table; i++) {
        struct fake_gpu *gpu = &table[i];
        uuid_bytes(gpu->uuid_text, gpu->uuid);
        memcpy(gpu->mig, gpu->uuid, 16);
        if (*gpu->mig_text)
            uuid_bytes(gpu->mig_text, gpu->mig);
        unsigned domain, bus, slot;
        if (sscanf(gpu->pci, "%x:%x:%x.0", &domain, &bus, &slot) != 3)
            wrong(gpu->pci);
        gpu->domain = (int)domain, gpu->bus = (int)bus, gpu->slot = (int)slot;
        gpu->physical = -1;
        for (int j = 0; j < i; j++)
            if (strcmp(table[j].pci, gpu->pci) == 0) {
                gpu->physical = table[j].physical;
                if (strcmp(gpu->uuid_text, standard(i).uuid_text) == 0) {
                    memcpy(gpu->uuid_text, table[j].uuid_text, sizeof gpu->uuid_text);
                    memcpy(gpu->uuid, table[j].uuid, 16);
                }
            }
        if (gpu->physical < 0)
            gpu->physical = physical++;
    }
}

static bool begins(const char *text, const char *with, size_t n)
{
    return *text && n <= strlen(text) && strncasecmp(text, with, n) == 0;
}

/* The entry of gpus[] that a word of a list names, or -1. */
static int named(const struct fake_gpu *gpus, int n, const char *word)
{
    int found = -1, physical = -1;
    char *end;
    long index = strtol(word, &end, 10);
    bool number = end != word && !*end;
    for (int i = 0, distinct = -1, last = -1; i < n; i++) {
        if (gpus[i].physical != last)
            last = gpus[i].physical, distinct++;
        size_t n_word = strlen(word);
        bool is = number ? distinct == index
                         : n_word > 4 && (begins(gpus[i].uuid_text, word, n_word) || begins(gpus[i].mig_text, word, n_word));
        if (!is || (found >= 0 && gpus[i].physical == physical))
            continue;
        if (found >= 0)
            return -1; /* a prefix that two have */
        found = i, physical = gpus[i].physical;
    }
    return found;
}

/* The list stops at the first word that names nothing or names something again. Unset: everything, and of each GPU one instance. */
static int filter(struct fake_gpu *gpus, int n, const char *list)
{
    struct fake_gpu kept[MAX_GPUS];
    int n_kept = 0;
    if (!list) {
        for (int i = 0; i < n; i++)
            if (i == 0 || gpus[i].physical != gpus[i - 1].physical)
                kept[n_kept++] = gpus[i];
    } else {
        bool taken[MAX_GPUS] = {false};
        char *copy = strdup(list), *rest = copy, *word;
        while ((word = strsep(&rest, ",")) != NULL) {
            while (*word == ' ')
                word++;
            int i = named(gpus, n, word);
            if (i < 0 || taken[i])
                break;
            taken[i] = true;
            kept[n_kept++] = gpus[i];
        }
        free(copy);
    }
    memcpy(gpus, kept, sizeof *kept * (size_t)n_kept);
    return n_kept;
}

int gpu_init(void)
{
    pthread_mutex_lock(&starting);
    int code = (int)fake_env_number("FAKE_INIT_CODE", 0);
    if (!code && !ready) {
        read_table();
        memcpy(visible, table, sizeof table);
#ifdef FAKE_HIP
        const char *lists[] = {getenv("ROCR_VISIBLE_DEVICES"), getenv("HIP_VISIBLE_DEVICES")};
        if (!lists[1])
            lists[1] = getenv("CUDA_VISIBLE_DEVICES");
        if (!lists[1])
            lists[1] = getenv("GPU_DEVICE_ORDINAL");
        n_visible = filter(visible, n_table, lists[0]);
        n_visible = filter(visible, n_visible, lists[1]);
#else
        n_visible = filter(visible, n_table, getenv("CUDA_VISIBLE_DEVICES"));
#endif
        /* A process sees one MIG instance, and then nothing else. */
        for (int i = 0; i < n_visible; i++)
            if (*visible[i].mig_text) {
                n_visible = i ? i : 1;
                break;
            }
        ready = n_visible > 0;
    }
    if (!code && !ready)
        code = NO_DEVICE;
    pthread_mutex_unlock(&starting);
    return code;
}

bool gpu_ready(void)
{
    return ready;
}

int gpu_count(void)
{
    return n_visible;
}

const struct fake_gpu *gpu_at(int ordinal)
{
    return ready && ordinal >= 0 && ordinal < n_visible ? &visible[ordinal] : NULL;
}

int gpu_attribute(int attribute, int ordinal, int *value)
{
    const struct fake_gpu *gpu = gpu_at(ordinal);
    if (!value)
        return INVALID_VALUE;
    if (!gpu)
        return INVALID_DEVICE;
    switch (attribute) {
    case 16: *value = 132; break;        /* multiprocessors */
    case 20: *value = gpu->mode; break;  /* compute mode */
    case 33: *value = gpu->bus; break;   /* */
    case 34: *value = gpu->slot; break;  /* */
    case 41: *value = 1; break;          /* unified addressing */
    case 50: *value = gpu->domain; break;
    case 75: *value = gpu->major; break;
    case 76: *value = gpu->minor; break;
    case 115: *value = 1; break;         /* memory pools */
    case 134: *value = gpu->numa; break; /* host NUMA node */
    default: *value = 0;
    }
    return attribute < 1 || attribute > 200 ? INVALID_VALUE : OK;
}

static const struct { int code; const char *name, *text; } errors[] = {
    {OK, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {35, "CUDA_ERROR_INSUFFICIENT_DRIVER", "CUDA driver version is insufficient for CUDA runtime version"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const char *gpu_error_name(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return errors[i].name;
    return NULL;
}

const char *gpu_error_string(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return errors[i].text;
    return NULL;
}

FAKE_EXPORT int fake_gpu_visible(void)
{
    return n_visible;
}

/* Read the environment again: rules now, the machine at the next init. Nothing of the old machine may be in use. */
FAKE_EXPORT void fake_gpu_reload(void)
{
    fake_reload();
    ready = 0;
    n_visible = 0;
}

FAKE_EXPORT unsigned long fake_gpu_calls(const char *function)
{
    return fake_calls(function);
}
