/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of attention of half precision: held to the reference for f32 over the same numbers. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* Numbers as they are stored, and the same as floats. */
struct numbers {
    void *stored;
    float *wide;
};

static struct numbers make_numbers(struct test *test, enum kernel_dtype dtype, int64_t count)
{
    size_t all = (size_t)count;
    struct numbers made = {test_input_bytes(test, all * kernel_dtype_bytes(dtype)),
                           test_input(test, all)};

    cast_ref(made.stored, dtype, made.wide, KERNEL_F32, all);
    cast_ref(made.wide, KERNEL_F32, made.stored, dtype, all);
    return made;
}

/* A number anew, in both forms. */
static void set_number(const struct numbers *numbers, enum kernel_dtype dtype, int64_t at,
                       float number)
{
    numbers->wide[at] = number;
    cast_ref((char *)numbers->stored + (size_t)at * kernel_dtype_bytes(dtype), dtype,
             &numbers->wide[at], KERNEL_F32, 1);
}

/* [batch, heads, steps, channels], or with the steps in front of the heads. */
static struct kernel_heads lay(struct test *test, int64_t heads, int64_t steps, int64_t channels)
{
    if (test_chance(test, 2))
        return (struct kernel_heads){heads * steps * channels, channels, heads * channels};
    return (struct kernel_heads){heads * steps * channels, steps * channels, channels};
}

struct sequence {
    struct kernel_attention s;
    struct numbers q, k, v, past_k, past_v, mask;
    uint8_t *sees;
    int64_t *seen;
    size_t y_count;
};

static void random_sizes(struct test *test, struct kernel_attention *s, bool is_few)
{
    int64_t most = test_chance(test, 2) ? 64 : 128;
    bool is_wide = test_chance(test, 2); /* channels that are read eight at a time */

    *s = (struct kernel_attention){.dtype = test_chance(test, 2) ? KERNEL_F16 : KERNEL_BF16,
                                   .batch = test_range(test, 1, 2),
                                   .kv_heads = test_range(test, 1, 2),
                                   .q_steps =
                                       is_few ? test_range(test, 1, 15) : test_range(test, 16, 100),
                                   .channels = test_range(test, 1, most),
                                   .v_channels = test_range(test, 1, most),
                                   .scale = 0.05 * (double)test_range(test, 1, 20),
                                   .softcap = test_chance(test, 4) ? 1.5 : 0.0,
                                   .is_causal = test_chance(test, 3),
                                   .unseen_is_nan = test_chance(test, 3)};
    if (test_chance(test, 3))
        s->q_steps = is_few ? 1 : 16;
    s->heads = s->kv_heads * test_range(test, 1, is_few ? 9 : 2);
    s->kv_steps = test_range(test, 1, is_few && test_chance(test, 3) ? 1100 : 180);
    s->past_steps = test_chance(test, 3) ? test_range(test, 0, s->kv_steps) : 0;
    s->kv_steps -= s->past_steps;
    if (is_wide) {
        s->channels = (s->channels + 7) / 8 * 8;
        s->v_channels = (s->v_channels + 7) / 8 * 8;
    }
    for (int side = 0; side < 2; side++) {
        s->is_limited[side] = test_chance(test, 4);
        s->reach[side] = test_range(test, 0, 90);
    }
    s->q = lay(test, s->heads, s->q_steps, s->channels);
    s->k = lay(test, s->kv_heads, s->kv_steps, s->channels);
    s->v = lay(test, s->kv_heads, s->kv_steps, s->v_channels);
    s->y = lay(test, s->heads, s->q_steps, s->v_channels);
}

/* A mask of each kind, which hides one key from all, and all keys from one step. */
static void random_mask(struct test *test, struct sequence *made, int64_t hidden)
{
    static const enum kernel_dtype types[] = {KERNEL_BOOL, KERNEL_F32, KERNEL_F16};
    struct kernel_attention *s = &made->s;
    int64_t blind = test_range(test, 0, s->q_steps - 1), steps, count;

    s->mask_type = types[test_range(test, 0, 2)];
    s->mask_type = s->mask_type == KERNEL_F16 ? s->dtype : s->mask_type;
    s->mask_steps = s->past_steps + s->kv_steps;
    if (hidden == s->mask_steps - 1 && s->mask_steps > 1 && test_chance(test, 2))
        s->mask_steps--; /* keys behind a mask are not seen */
    steps = test_chance(test, 3) ? 1 : s->q_steps;
    s->mask_stride[2] = steps == 1 ? 0 : s->mask_steps;
    s->mask_stride[1] = test_chance(test, 2) ? 0 : steps * s->mask_steps;
    count = steps * s->mask_steps * (s->mask_stride[1] ? s->heads : 1);
    s->mask_stride[0] = test_chance(test, 2) ? 0 : count;
    count *= s->mask_stride[0] ? s->batch : 1;
    made->sees = test_input_bytes(test, (size_t)count);
    made->mask = make_numbers(test, s->mask_type == KERNEL_BOOL ? KERNEL_F32 : s->mask_type, count);
    for (int64_t i = 0; i < count; i++) {
        bool is_seen = i % s->mask_steps != hidden && !test_chance(test, 5) &&
                       (steps == 1 || i / s->mask_steps % steps != blind);

        made->sees[i] = is_seen;
        if (!is_seen)
            set_number(&made->mask, s->mask_type == KERNEL_BOOL ? KERNEL_F32 : s->mask_type, i,
                       -INFINITY);
    }
}

/* Where the mask lets nobody see them, values are no numbers. */
static void hide_values(struct test *test, const struct sequence *made, int64_t hidden)
{
    const struct kernel_attention *s = &made->s;

    for (int64_t line = 0; line < s->batch * s->kv_heads; line++) {
        int64_t c = test_range(test, 0, s->v_channels - 1);
        bool is_past = hidden < s->past_steps;
        int64_t at = is_past ? (line * s->past_steps + hidden) * s->v_channels + c
                             : line / s->kv_heads * s->v.batch_stride +
                                   line % s->kv_heads * s->v.head_stride +
                                   (hidden - s->past_steps) * s->v.step_stride + c;

        set_number(is_past ? &made->past_v : &made->v, s->dtype, at,
                   test_chance(test, 2) ? NAN : INFINITY);
    }
}

static struct sequence make_sequence(struct test *test, bool is_few)
{
    struct sequence made = {0};
    struct kernel_attention *s = &made.s;
    int64_t total, hidden;

    random_sizes(test, s, is_few);
    total = s->past_steps + s->kv_steps;
    hidden = test_chance(test, 2) ? total - 1 : test_range(test, 0, total - 1);
    made.q = make_numbers(test, s->dtype, s->batch * s->q.batch_stride);
    made.k = make_numbers(test, s->dtype, s->batch * s->k.batch_stride);
    made.v = make_numbers(test, s->dtype, s->batch * s->v.batch_stride);
    made.past_k =
        make_numbers(test, s->dtype, s->batch * s->kv_heads * s->past_steps * s->channels);
    made.past_v =
        make_numbers(test, s->dtype, s->batch * s->kv_heads * s->past_steps * s->v_channels);
    made.y_count = (size_t)(s->batch * s->y.batch_stride);
    if (test_chance(test, 2)) {
        random_mask(test, &made, hidden);
        hide_values(test, &made, hidden);
    }
    if (test_chance(test, 3)) {
        made.seen = test_output(test, (size_t)s->batch * sizeof(*made.seen));
        for (int64_t b = 0; b < s->batch; b++)
            made.seen[b] = test_range(test, 0, total);
    }
    test_describe(test,
                  "type %d, %lld x %lld heads on %lld, %lld of %lld channels, %lld x %lld + %lld "
                  "steps, mask %d, seen %d",
                  (int)s->dtype, (long long)s->batch, (long long)s->heads, (long long)s->kv_heads,
                  (long long)s->channels, (long long)s->v_channels, (long long)s->q_steps,
                  (long long)s->past_steps, (long long)s->kv_steps,
                  made.sees ? (int)s->mask_type : -1, made.seen != NULL);
    return made;
}

/* What is no number has to be none; the others may be off by how weights are rounded. */
static void compare(struct test *test, const struct sequence *made, const void *y, float *want)
{
    double unit = made->s.dtype == KERNEL_F16 ? 0x1p-10 : 0x1p-7;
    float *got = test_input(test, made->y_count);

    cast_ref(got, KERNEL_F32, y, made->s.dtype, made->y_count);
    for (size_t i = 0; i < made->y_count; i++) {
        if ((want[i] != want[i]) != (got[i] != got[i]))
            test_fail(test, "element %zu is %g, not %g", i, (double)got[i], (double)want[i]);
        got[i] = want[i] != want[i] ? 0.0f : got[i];
        want[i] = want[i] != want[i] ? 0.0f : want[i];
    }
    test_compare(test, got, want, made->y_count,
                 &(struct test_tolerance){.absolute = unit, .relative = unit});
}

static const void *pick(const struct numbers *numbers, bool is_stored)
{
    return is_stored ? numbers->stored : (const void *)numbers->wide;
}

/* What is read, in half precision or as the same numbers of float32. */
static struct kernel_attention_data data_of(const struct sequence *made, bool is_stored)
{
    bool has_past = made->s.past_steps > 0;
    const void *mask = made->s.mask_type == KERNEL_BOOL ? made->sees : pick(&made->mask, is_stored);

    return (struct kernel_attention_data){
        .q = pick(&made->q, is_stored),
        .k = pick(&made->k, is_stored),
        .v = pick(&made->v, is_stored),
        .mask = made->sees ? mask : NULL,
        .past_k = has_past ? pick(&made->past_k, is_stored) : NULL,
        .past_v = has_past ? pick(&made->past_v, is_stored) : NULL,
        .seen_steps = made->seen};
}

static void check(struct test *test, const struct kernel_table *table, bool is_few)
{
    struct sequence made = make_sequence(test, is_few);
    struct kernel_attention wide = made.s;
    size_t bytes = (size_t)(made.s.batch * made.s.kv_heads * (made.s.past_steps + made.s.kv_steps) *
                            made.s.channels) *
                   kernel_dtype_bytes(made.s.dtype);
    float *want = test_output(test, made.y_count * sizeof(*want));
    void *got = test_output(test, made.y_count * kernel_dtype_bytes(made.s.dtype));
    struct kernel_attention_data data = data_of(&made, false);

    wide.dtype = KERNEL_F32;
    wide.mask_type = made.s.mask_type == KERNEL_BOOL ? KERNEL_BOOL : KERNEL_F32;
    data.y = want;
    data.workspace = test_output(test, kernel_attention_room(&wide));
    TEST_RUN(test, TEST_REF, attention_ref(&data, &wide));
    data = data_of(&made, true);
    data.y = got;
    data.present_k = made.s.past_steps > 0 ? test_output(test, bytes) : NULL;
    data.workspace = test_output(test, kernel_attention_room(&made.s));
    TEST_RUN(test, TEST_NEW, table->attention.fn(&data, &made.s));
    compare(test, &made, got, want);
}

static void check_many(struct test *test, const struct kernel_table *table)
{
    check(test, table, false);
}

static void check_few(struct test *test, const struct kernel_table *table)
{
    check(test, table, true);
}

const struct test_op test_ops_attention_half[] = {
    {"attention_half", check_many, offsetof(struct kernel_table, attention)},
    {"attention_half_few", check_few, offsetof(struct kernel_table, attention)},
};
const size_t test_ops_attention_half_count =
    sizeof(test_ops_attention_half) / sizeof(test_ops_attention_half[0]);
