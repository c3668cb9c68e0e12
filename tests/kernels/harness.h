/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tests share: random cases from a seed, guarded buffers, comparison with the
 * reference, timing. The cases of each operation are in tests/kernels/<group>.c.
 *
 * A check function makes one random case: it draws sizes with test_range(), describes them with
 * test_describe(), makes inputs and two outputs, runs the reference and the version through
 * TEST_RUN() and compares with test_compare(). With --bench, TEST_RUN() repeats each call.
 *
 * The first draws of a case are kept: with its seed they are the case, and a search (search.c)
 * makes a case that failed smaller by lowering them.
 */
#ifndef OPTRACE_TESTS_KERNELS_HARNESS_H
#define OPTRACE_TESTS_KERNELS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

enum { TEST_BUFFERS_MAX = 64, TEST_SIDES = 2, TEST_DRAWS_MAX = 64, TEST_KERNEL_BYTES = 48 };

enum test_side { TEST_REF, TEST_NEW };

struct test_buffer {
    unsigned char *base; /* what was allocated */
    size_t bytes;
    bool is_guarded;
};

/** What test_range() and test_chance() gave, in their order; what a case draws beyond is random. */
struct test_draws {
    int given; /* the first ones are these already, as far as the range allows */
    int count;
    int64_t values[TEST_DRAWS_MAX], lows[TEST_DRAWS_MAX];
};

struct test {
    const char *op, *version;
    const char *entry; /* of struct kernel_table, or op */
    uint64_t seed;     /* of this case: reproduces it alone */
    uint64_t state;    /* of the random numbers */
    struct test_draws draws;
    bool bench;
    bool is_wide;                   /* sizes that networks do not have, too */
    bool takes_all;                 /* kernels of which another case takes one */
    bool is_quiet;                  /* failures are not printed */
    bool failed;                    /* this case */
    int failures;                   /* cases so far */
    char text[256];                 /* the case */
    char message[256];              /* how it failed */
    char kernel[TEST_KERNEL_BYTES]; /* what computed it, where one version has several */
    double seconds[TEST_SIDES];
    struct test_buffer buffers[TEST_BUFFERS_MAX];
    int buffer_count;
};

/* Random numbers */

uint64_t test_random(struct test *test);
/** Both ends included. */
int64_t test_range(struct test *test, int64_t low, int64_t high);
/** One in `n`. */
bool test_chance(struct test *test, int n);
/** In [-1, 1), now and then exactly 0. */
float test_float(struct test *test);

/** A window of as many of the last axes as `rank`: pads, strides and dilations on both sides of the
 *  kernel's size, and at least one output. */
void test_wide_window(struct test *test, int rank, struct kernel_window *window);

enum { TEST_WINDOW_BYTES = 160 };
void test_window_text(const struct kernel_window *window, char out[TEST_WINDOW_BYTES]);

/** Axes of a batch of products, at most two: the second operand may be the same along one. The strides are
 *  those of matrices of so many elements that lie one behind the other. */
void test_batch(struct test *test, int rank, int64_t a_size, int64_t b_size, int64_t *out_dims,
                int64_t *out_a_stride, int64_t *out_b_stride);

/** Say what the case is; printed when it fails. */
void test_describe(struct test *test, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Say which kernel computes it, where test->version does not. */
void test_kernel(struct test *test, const char *name);

/* Buffers, freed after the case */

/** An input: exactly that large, so that the address sanitizer sees a read beyond it. */
float *test_input(struct test *test, size_t count);
/** The same numbers as float64, between guard bytes: cases may change them. */
double *test_input_f64(struct test *test, size_t count);
void *test_input_bytes(struct test *test, size_t bytes);
/** An output, filled with garbage, with guard bytes on both sides that are checked after the case.
 *  64-byte aligned. */
void *test_output(struct test *test, size_t bytes);

/** Fail the case with a sentence. */
void test_fail(struct test *test, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** |got - want| <= absolute + relative * |want| + (allowed ? scale * allowed[i] : 0) for each
 *  element; infinities must match. What reads NaN may be anything: allowed[i] is NaN then. Prints
 * the worst one. */
struct test_tolerance {
    double absolute, relative;
    const float *allowed;
    double scale;
};
void test_compare(struct test *test, const float *got, const float *want, size_t count,
                  const struct test_tolerance *tolerance);

/** Byte for byte. */
void test_compare_bytes(struct test *test, const void *got, const void *want, size_t bytes);

/* Timing */

double test_now(void);

/** Fails the case when `call` is what it is held against: a version that is the reference must be
 *  held against something else. */
void test_not_itself(struct test *test, int side, const char *call);

/** Run one side's call once; with --bench until it has taken 2 ms, and more than once, because the
 *  first run may have to make code, and keep the best time. */
#define TEST_RUN(test, side, call)                                                                 \
    do {                                                                                           \
        double test_best_ = 1e9, test_all_ = 0.0;                                                  \
        int test_runs_ = 0;                                                                        \
                                                                                                   \
        test_not_itself(test, side, #call);                                                        \
        do {                                                                                       \
            double test_start_ = test_now(), test_took_;                                           \
                                                                                                   \
            call;                                                                                  \
            test_took_ = test_now() - test_start_;                                                 \
            test_all_ += test_took_;                                                               \
            test_best_ = test_took_ < test_best_ ? test_took_ : test_best_;                        \
        } while ((test)->bench && (++test_runs_ < 3 || test_all_ < 2e-3));                         \
        (test)->seconds[side] += test_best_;                                                       \
    } while (0)

/* Operations */

/** One random case of the version in the table. */
typedef void test_check_fn(struct test *test, const struct kernel_table *table);

struct test_op {
    const char *name;
    test_check_fn *check;
    size_t entry; /* offset of the entry in struct kernel_table, or TEST_ALWAYS */
};

/** Not in the table: tested once, as the version that it reports through test->version. */
#define TEST_ALWAYS SIZE_MAX

/** One case, from test->seed and the draws that are given. Guard bytes are checked and buffers
 *  freed. */
void test_case(struct test *test, const struct test_op *op, const struct kernel_table *table);

/** Whether the operation has a version of its own at this level, which this machine has, and then
 *  the table that holds it. */
bool test_has_level(const struct test_op *op, int level, struct kernel_table *out_table);

/** Every operation, by number. NULL: there is none. */
const struct test_op *test_op_at(int index);
/** name NULL: all that are sound (broken.c is not). */
bool test_is_asked(const struct test_op *op, const char *name);

/* Searching: see search.c */

struct test_search {
    double seconds;
    uint64_t seed;
    const char *isas;  /* NULL: all; names with commas between them */
    const char *op;    /* NULL: all */
    int findings;      /* end after so many; 0: go on */
    bool with_kernels; /* print what computed how many cases */
};

/** Returns an exit status: 0, 1 (something was found), 2 (no such name), 3 (none of the instruction
 *  sets is here). */
int test_search(const struct test_search *search);
/** Run the case of each line of a file, each in its own process. Exit status as above. */
int test_replay(const char *path);
/** Run the case of one line in this process, as a debugger wants it. */
int test_replay_line(const char *line);

extern const struct test_op test_ops_attention[], test_ops_attention_half[], test_ops_broken[],
    test_ops_chain[], test_ops_convolve[], test_ops_elementwise[], test_ops_half[],
    test_ops_half_plan[], test_ops_image[], test_ops_index[], test_ops_int8[], test_ops_math[],
    test_ops_move[], test_ops_product[], test_ops_quantize[], test_ops_reduce[],
    test_ops_resample[], test_ops_spectrum[], test_ops_vision[], test_ops_vision_f64[],
    test_ops_vision_sizes[], test_ops_learning[];
extern const size_t test_ops_attention_count, test_ops_attention_half_count, test_ops_broken_count,
    test_ops_chain_count, test_ops_convolve_count, test_ops_elementwise_count, test_ops_half_count,
    test_ops_half_plan_count, test_ops_image_count, test_ops_index_count, test_ops_int8_count,
    test_ops_math_count, test_ops_move_count, test_ops_product_count, test_ops_quantize_count,
    test_ops_reduce_count, test_ops_resample_count, test_ops_spectrum_count, test_ops_vision_count,
    test_ops_vision_f64_count, test_ops_vision_sizes_count, test_ops_learning_count;

#endif
