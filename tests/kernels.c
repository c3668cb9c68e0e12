/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every version of every kernel against its reference: random cases with odd sizes, guard bytes
 * around the outputs, one and two threads.
 *
 *     kernels [--op NAME] [--seed N] [--cases N] [--stop] [--bench] [--cuda]
 *     kernels --search SECONDS [--op NAME] [--seed N] [--isa A,B] [--findings N] [--kernels]
 *     kernels --replay FILE | --again LINE
 *
 * A failure prints operation, version, case, seed and the worst element; --op NAME --seed N
 * --cases 1 runs that case alone; --stop leaves out what would come behind it. --bench times the
 * same cases and prints, as JSON lines, how much faster than the reference a version is. --search
 * tries sizes that networks do not have as well, in processes of their own (scripts/search-kernels);
 * --replay runs what it found before. --cuda checks the kernels of GPUs in place of the CPU's, on
 * the emulated device, whose memory may be the host's: CUDA_DOUBLE_STREAMS=eager, and its
 * libcuda.so.1 is the first that is found. With OPTRACE_GPU=1 on the machine's GPU: all buffers are
 * pinned memory, which it reads where it is, and each launch is waited for.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(TEST_CUDA)
#include <dlfcn.h>

#include "kernels/cuda.h"
#endif
#include "tests/kernels/harness.h"

enum {
    GUARD_BYTES = 128,
    GUARD = 0xa5,
    GARBAGE = 0xff, /* as a real number NaN */
    SHOWN_MAX = 5,  /* failures of one version that are printed */
};

/* Random numbers: splitmix64 */

uint64_t test_random(struct test *test)
{
    uint64_t z = test->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* What is given goes before what was drawn; random numbers are used up either way, so that the
 * contents of a case do not depend on it. */
static int64_t draw(struct test *test, int64_t drawn, int64_t low, int64_t high)
{
    struct test_draws *draws = &test->draws;
    int64_t given;

    if (draws->count == TEST_DRAWS_MAX)
        return drawn;
    given = draws->values[draws->count];
    if (draws->count < draws->given)
        drawn = given < low ? low : given > high ? high : given;
    draws->lows[draws->count] = low;
    draws->values[draws->count++] = drawn;
    return drawn;
}

int64_t test_range(struct test *test, int64_t low, int64_t high)
{
    return draw(test, low + (int64_t)(test_random(test) % (uint64_t)(high - low + 1)), low, high);
}

bool test_chance(struct test *test, int n)
{
    return draw(test, test_random(test) % (uint64_t)n == 0, 0, 1) == 1;
}

float test_float(struct test *test)
{
    uint64_t bits = test_random(test);

    if (bits % 61 == 0)
        return 0.0f;
    return (float)((double)(bits >> 11) * 0x1p-52 - 1.0);
}

/* A check that is handed its reference calls it ref. */
static bool calls_reference(const char *call, const char *name)
{
    char reference[2 * TEST_KERNEL_BYTES];
    const char *found;

    if (strncmp(call, "ref(", 4) == 0)
        return true;
    snprintf(reference, sizeof(reference), "%s_ref", name);
    found = strstr(call, reference);
    return found && (found == call || !strchr("_abcdefghijklmnopqrstuvwxyz", found[-1]));
}

void test_not_itself(struct test *test, int side, const char *call)
{
    if (side != TEST_REF || strcmp(test->version, "ref") != 0)
        return;
    if (calls_reference(call, test->entry))
        test_fail(test, "%s_ref is compared with itself", test->entry);
}

void test_batch(struct test *test, int rank, int64_t a_size, int64_t b_size, int64_t *out_dims,
                int64_t *out_a_stride, int64_t *out_b_stride)
{
    for (int i = rank - 1; i >= 0; i--) {
        out_dims[i] = test_range(test, 1, 3);
        out_a_stride[i] = a_size;
        out_b_stride[i] = test_chance(test, 2) ? b_size : 0;
        a_size *= out_dims[i];
        b_size *= out_b_stride[i] ? out_dims[i] : 1;
    }
}

void test_describe(struct test *test, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(test->text, sizeof(test->text), format, args);
    va_end(args);
}

void test_kernel(struct test *test, const char *name)
{
    snprintf(test->kernel, sizeof(test->kernel), "%s", name);
}

/* Buffers */

static void *take_memory(size_t bytes, bool is_guarded)
{
    return is_guarded ? aligned_alloc(64, bytes) : malloc(bytes);
}

static struct {
    void *(*take)(size_t bytes, bool is_guarded);
    void (*give_back)(void *memory);
} memory = {take_memory, free};

static unsigned char *add_buffer(struct test *test, size_t bytes, bool is_guarded)
{
    size_t all = is_guarded ? (bytes + 2 * GUARD_BYTES + 63) / 64 * 64 : bytes ? bytes : 1;
    unsigned char *base = memory.take(all, is_guarded);

    if (!base || test->buffer_count == TEST_BUFFERS_MAX) {
        fprintf(stderr, "kernels: no room for the buffers of a case\n");
        exit(EXIT_FAILURE);
    }
    test->buffers[test->buffer_count++] = (struct test_buffer){base, bytes, is_guarded};
    if (!is_guarded)
        return base;
    memset(base, GUARD, all);
    return base + GUARD_BYTES;
}

void *test_input_bytes(struct test *test, size_t bytes)
{
    unsigned char *data = add_buffer(test, bytes, false);

    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)test_random(test);
    return data;
}

float *test_input(struct test *test, size_t count)
{
    float *data = (float *)(void *)add_buffer(test, count * sizeof(*data), false);

    for (size_t i = 0; i < count; i++)
        data[i] = test_float(test);
    return data;
}

void *test_output(struct test *test, size_t bytes)
{
    unsigned char *data = add_buffer(test, bytes, true);

    memset(data, GARBAGE, bytes);
    return data;
}

double *test_input_f64(struct test *test, size_t count)
{
    float *numbers = test_input(test, count);
    double *reals = test_output(test, count * sizeof(*reals));

    cast_ref(reals, KERNEL_F64, numbers, KERNEL_F32, count);
    return reals;
}

static void check_guards(struct test *test)
{
    for (int i = 0; i < test->buffer_count; i++) {
        const struct test_buffer *buffer = &test->buffers[i];

        for (size_t j = 0; buffer->is_guarded && j < GUARD_BYTES; j++) {
            if (buffer->base[j] != GUARD)
                test_fail(test, "wrote %zu bytes before the output", GUARD_BYTES - j);
            if (buffer->base[GUARD_BYTES + buffer->bytes + j] != GUARD)
                test_fail(test, "wrote byte %zu behind the output", j);
        }
        memory.give_back(buffer->base);
    }
    test->buffer_count = 0;
}

/* Registers of MMX are those of the x87: a kernel that used them without emms leaves what is NaN to whoever computes
 * with long double next. */
static void check_x87(struct test *test)
{
#if defined(__x86_64__)
    struct {
        uint16_t words[14];
    } environment;

    __asm__ volatile("fnstenv %0; fldenv %0" : "+m"(environment));
    if (environment.words[4] == 0xffff)
        return;
    __asm__ volatile("emms");
    test_fail(test, "registers of the x87 are left in use");
#else
    (void)test;
#endif
}

/* Comparison */

void test_fail(struct test *test, const char *format, ...)
{
    va_list args;

    if (test->failed)
        return;
    test->failed = true;
    va_start(args, format);
    vsnprintf(test->message, sizeof(test->message), format, args);
    va_end(args);
    if (test->failures++ >= SHOWN_MAX || test->is_quiet)
        return;
    printf("FAIL %s %s: %s\n  case: %s\n  again: --op %s --seed %llu --cases 1\n", test->op,
           test->kernel[0] ? test->kernel : test->version, test->message, test->text, test->op,
           (unsigned long long)test->seed);
}

void test_compare(struct test *test, const float *got, const float *want, size_t count,
                  const struct test_tolerance *tolerance)
{
    double worst = 0.0;
    size_t worst_at = 0;

    for (size_t i = 0; i < count; i++) {
        double room = tolerance->absolute + tolerance->relative * fabs((double)want[i]) + 1e-30;
        double excess;

        if (tolerance->allowed && isnan(tolerance->allowed[i]))
            continue;
        if (tolerance->allowed)
            room += tolerance->scale * (double)tolerance->allowed[i];
        if (isnan(got[i]) || isnan(want[i]) || isinf(want[i]) || isinf(got[i]))
            excess = (isnan(got[i]) && isnan(want[i])) || got[i] == want[i] ? 0.0 : INFINITY;
        else
            excess = fabs((double)got[i] - (double)want[i]) / room;
        if (excess > worst) {
            worst = excess;
            worst_at = i;
        }
    }
    if (worst > 1.0)
        test_fail(test, "element %zu of %zu is %.9g, not %.9g: %.3g times the tolerance", worst_at,
                  count, (double)got[worst_at], (double)want[worst_at], worst);
}

void test_compare_bytes(struct test *test, const void *got, const void *want, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        int g = ((const unsigned char *)got)[i], w = ((const unsigned char *)want)[i];

        if (g != w) {
            test_fail(test, "byte %zu of %zu is 0x%02x, not 0x%02x", i, bytes, (unsigned)g,
                      (unsigned)w);
            return;
        }
    }
}

double test_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Running */

struct run {
    const char *op; /* NULL: all */
    uint64_t seed;
    int cases;
    bool bench, stops;
    int failures;
};

/* Every table entry is a function and the name of its version. */
struct any_entry {
    void (*fn)(void);
    const char *version;
};

static struct any_entry entry_of(const struct kernel_table *table, size_t offset)
{
    struct any_entry entry = {NULL, "once"};

    if (offset != TEST_ALWAYS)
        memcpy(&entry, (const char *)table + offset, sizeof(entry));
    return entry;
}

/* What its reference is called: an operation may have several checks, each with a name of its own. */
static const char *entry_name(const struct test_op *op)
{
#define NAME_OF(name, versions)                                                                    \
    if (op->entry == offsetof(struct kernel_table, name))                                          \
    return #name
    ALL_KERNELS(NAME_OF);
    return op->name; /* of a row of entries, which have names of operators */
}

const struct test_op *test_op_at(int index)
{
    const struct {
        const struct test_op *ops;
        size_t count;
    } groups[] = {
        {test_ops_image, test_ops_image_count},
        {test_ops_math, test_ops_math_count},
        {test_ops_move, test_ops_move_count},
        {test_ops_elementwise, test_ops_elementwise_count},
        {test_ops_chain, test_ops_chain_count},
        {test_ops_attention, test_ops_attention_count},
        {test_ops_attention_half, test_ops_attention_half_count},
        {test_ops_index, test_ops_index_count},
        {test_ops_int8, test_ops_int8_count},
        {test_ops_resample, test_ops_resample_count},
        {test_ops_spectrum, test_ops_spectrum_count},
        {test_ops_quantize, test_ops_quantize_count},
        {test_ops_reduce, test_ops_reduce_count},
        {test_ops_product, test_ops_product_count},
        {test_ops_convolve, test_ops_convolve_count},
        {test_ops_learning, test_ops_learning_count},
        {test_ops_half, test_ops_half_count},
        {test_ops_half_plan, test_ops_half_plan_count},
        {test_ops_vision, test_ops_vision_count},
        {test_ops_vision_f64, test_ops_vision_f64_count},
        {test_ops_vision_sizes, test_ops_vision_sizes_count},
        {test_ops_broken, test_ops_broken_count},
    };
    size_t left = (size_t)index;

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (left < groups[i].count)
            return &groups[i].ops[left];
        left -= groups[i].count;
    }
    return NULL;
}

bool test_is_asked(const struct test_op *op, const char *name)
{
    if (name)
        return strcmp(op->name, name) == 0;
    return op < test_ops_broken || op >= test_ops_broken + test_ops_broken_count;
}

void test_case(struct test *test, const struct test_op *op, const struct kernel_table *table)
{
    test->op = op->name;
    test->entry = entry_name(op);
    test->version = entry_of(table, op->entry).version;
    test->state = test->seed;
    test->draws.count = 0;
    test->failed = false;
    test->kernel[0] = test->text[0] = test->message[0] = '\0';
    /* Sizes, contents and the number of threads all come from the seed; times are of one. */
    kernel_set_threads((uint32_t)test_range(test, 1, test->bench ? 1 : test->is_wide ? 4 : 2));
    op->check(test, table);
    check_x87(test);
    check_guards(test);
}

static void run_version(struct run *run, const struct test_op *op, const struct kernel_table *table)
{
    struct test test = {.bench = run->bench, .version = ""};
    int cases = 0;

    while (cases < run->cases && !(run->stops && run->failures + test.failures)) {
        test.seed = run->seed + (uint64_t)cases++;
        test_case(&test, op, table);
    }
    if (run->bench)
        printf("{\"bench\":\"kernels\",\"figure\":\"%s\",\"version\":\"%s\",\"cases\":%d,"
               "\"value\":%.2f,\"unit\":\"times the reference\"}\n",
               op->name, test.version, cases, test.seconds[TEST_REF] / test.seconds[TEST_NEW]);
    else
        printf("%-18s %-9s %d cases, %d failed\n", op->name, test.version, cases, test.failures);
    run->failures += test.failures;
}

bool test_has_level(const struct test_op *op, int level, struct kernel_table *out_table)
{
    struct kernel_table below;

    if (level < KERNEL_LEVEL_PORTABLE || level > (int)kernel_best_level())
        return false;
    kernel_table_init(out_table, (enum kernel_level)level);
    if (level == KERNEL_LEVEL_PORTABLE)
        return true;
    kernel_table_init(&below, (enum kernel_level)(level - 1));
    return op->entry != TEST_ALWAYS &&
           entry_of(out_table, op->entry).fn != entry_of(&below, op->entry).fn;
}

/* Each version that the levels of this machine bring, once. */
static void run_op(struct run *run, const struct test_op *op)
{
    struct kernel_table table;

    for (int level = KERNEL_LEVEL_PORTABLE; level < KERNEL_LEVELS; level++)
        if (test_has_level(op, level, &table))
            run_version(run, op, &table);
}

#if defined(TEST_CUDA)
/* A kernel that faults makes all later calls fail: one is enough. */
static void run_device(struct run *run, const struct test_op *op, struct kernel_cuda *cuda,
                       const struct kernel_table *table)
{
    if (op->entry == TEST_ALWAYS || !entry_of(table, op->entry).fn ||
        kernel_cuda_problem(cuda)[0] != '\0')
        return;
    run_version(run, op, table);
    if (kernel_cuda_wait(cuda) == 0)
        return;
    printf("FAIL %s: %s\n", op->name, kernel_cuda_problem(cuda));
    run->failures++;
}

/* Pinned memory */

static struct {
    int (*take)(void **out_memory, size_t bytes, unsigned flags);
    int (*give_back)(void *memory);
} driver;

static void *take_pinned(size_t bytes, bool is_guarded)
{
    void *taken;

    return driver.take(&taken, bytes, 0) == 0 ? taken : NULL;
}

static void give_back_pinned(void *taken)
{
    (void)driver.give_back(taken);
}

static int use_pinned_memory(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return -1;
    *(void **)&driver.take = dlsym(library, "cuMemHostAlloc");
    *(void **)&driver.give_back = dlsym(library, "cuMemFreeHost");
    memory.take = take_pinned;
    memory.give_back = give_back_pinned;
    return driver.take && driver.give_back ? 0 : -1;
}

static int run_cuda(struct run *run)
{
    const bool is_real = getenv("OPTRACE_GPU") != NULL;
    char text[KERNEL_CUDA_TEXT_BYTES];
    struct kernel_table table;
    struct kernel_cuda *cuda;
    const struct test_op *op;

    if (is_real)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1); /* read as the driver starts */
    if (kernel_cuda_open(0, &cuda, text) < 0) {
        fprintf(stderr, "kernels: %s\n", text);
        return EXIT_FAILURE;
    }
    kernel_cuda_table(&table);
    kernel_cuda_use(cuda, 0, true);
    if (is_real && use_pinned_memory() < 0) {
        fprintf(stderr, "kernels: libcuda.so.1 gives no pinned memory\n");
        kernel_cuda_close(&cuda);
        return EXIT_FAILURE;
    }
    for (int i = 0; (op = test_op_at(i)); i++)
        if (test_is_asked(op, run->op))
            run_device(run, op, cuda, &table);
    kernel_cuda_close(&cuda);
    return run->failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
#else
static int run_cuda(struct run *run)
{
    fprintf(stderr, "kernels: built without the kernels of GPUs\n");
    return EXIT_FAILURE;
}
#endif

static int run_all(struct run *run)
{
    const struct test_op *op;

    for (int i = 0; (op = test_op_at(i)); i++)
        if (test_is_asked(op, run->op))
            run_op(run, op);
    return run->failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: kernels [--op NAME] [--seed N] [--cases N] [--stop] [--bench] [--cuda]\n"
            "       kernels --search SECONDS [--op NAME] [--seed N] [--isa A,B] [--kernels]\n"
            "       kernels --replay FILE | --again LINE\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct run run = {.seed = 1, .cases = 60};
    struct test_search search = {0};
    bool is_cuda = false;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash is seen */
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--bench") == 0)
            run.bench = true;
        else if (strcmp(argv[i], "--stop") == 0)
            run.stops = true;
        else if (strcmp(argv[i], "--cuda") == 0)
            is_cuda = true;
        else if (strcmp(argv[i], "--kernels") == 0)
            search.with_kernels = true;
        else if (!value)
            return usage();
        else if (strcmp(argv[i], "--op") == 0)
            run.op = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0)
            run.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--cases") == 0)
            run.cases = atoi(argv[++i]);
        else if (strcmp(argv[i], "--search") == 0)
            search.seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--findings") == 0)
            search.findings = atoi(argv[++i]);
        else if (strcmp(argv[i], "--isa") == 0)
            search.isas = argv[++i];
        else if (strcmp(argv[i], "--replay") == 0)
            return test_replay(value);
        else if (strcmp(argv[i], "--again") == 0)
            return test_replay_line(value);
        else
            return usage();
    }
    if (is_cuda)
        return run_cuda(&run);
    search.op = run.op;
    search.seed = run.seed;
    return search.seconds > 0.0 ? test_search(&search) : run_all(&run);
}
