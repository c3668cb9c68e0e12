/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the products and convolutions of 8-bit integers: byte for byte what the reference for
 * every type computes. */
#include <math.h>
#include <string.h>

#include "kernels/blocks.h"
#include "kernels/cpu/int8.h"
#include "kernels/lstm_int8.h"
#include "tests/kernels/harness.h"

static enum kernel_dtype random_byte(struct test *test)
{
    return test_chance(test, 2) ? KERNEL_U8 : KERNEL_I8;
}

/* Absent now and then. */
static void *random_zeros(struct test *test, int64_t count)
{
    void *zeros = test_input_bytes(test, (size_t)count);

    return test_chance(test, 3) ? NULL : zeros;
}

/* Such that results lie inside of their range and at its ends; now and then powers of two, so that
 * many lie in the middle between two integers. */
static float *random_scales(struct test *test, int64_t count, float most)
{
    float *scales = test_input(test, (size_t)count);
    bool is_even = test_chance(test, 3);

    if (test_chance(test, 6)) /* most sums are then beyond a byte, or none of them is */
        most *= exp2f((float)test_range(test, -12, 12));
    if (test_chance(test, 8)) /* and products of two scales beyond f32 */
        most = 1e28f;
    for (int64_t i = 0; i < count; i++)
        scales[i] = is_even ? exp2f(rintf(log2f(most))) : most * (1.1f + scales[i]);
    return scales;
}

static int64_t matrices_of(const struct kernel_product *s, const int64_t *strides)
{
    int64_t count = 1;

    for (int i = 0; i < s->batch_rank; i++)
        count *= strides[i] ? s->batch_dims[i] : 1;
    return count;
}

static void random_product(struct test *test, struct kernel_product *s)
{
    *s = (struct kernel_product){
        .a_type = random_byte(test),
        .b_type = random_byte(test),
        .scale_type = KERNEL_F32,
        .m = test_range(test, 0, test->is_wide ? 60 : 20),
        .n = test_range(test, 1, test->is_wide ? 300 : 150),
        .k = test_range(test, 1, test->is_wide ? 1000 : 70),
        .trans_b = test_chance(test, 2),
        .alpha = 1.0,
        .beta = 1.0,
        .batch_rank = (int)test_range(test, 0, 2),
    };
    test_batch(test, s->batch_rank, s->m * s->k, s->k * s->n, s->batch_dims, s->a_batch_stride,
               s->b_batch_stride);
    s->a_lines = (struct kernel_lines){s->m, 1};
    if (test_chance(test, 2))
        s->a_lines = (struct kernel_lines){0, 0};
    s->b_lines = (struct kernel_lines){s->n, 1};
    if (test_chance(test, 2))
        s->b_lines = (struct kernel_lines){0, test_chance(test, 2)};
}

/* Bytes, or now and then of all numbers only those whose products are the largest. */
static uint8_t *any_bytes(struct test *test, size_t count)
{
    uint8_t *bytes = test_input_bytes(test, count);
    uint8_t largest = test_chance(test, 2) ? 0x80 : 0x7f;
    bool are_large = test_chance(test, 3), are_full = test_chance(test, 2);

    for (size_t i = 0; are_large && i < count; i++)
        bytes[i] = are_full ? 0xff : bytes[i] % 8 ? largest : bytes[i];
    return bytes;
}

/* The right side of a product or filters: any bytes, or as quantisers make them, near zero with few or more that
 * are far from it. */
static void *any_weights(struct test *test, enum kernel_dtype dtype, int64_t count)
{
    uint8_t *bytes = any_bytes(test, (size_t)count), flip = dtype == KERNEL_U8 ? 0x80 : 0;
    int near = (int)test_range(test, 1, 12), far = (int)test_range(test, 1, 200);

    if (test_chance(test, 3))
        return bytes;
    for (int64_t i = 0; i < count; i++)
        if (test_range(test, 0, far) > 0)
            bytes[i] = (uint8_t)((int8_t)bytes[i] / near) ^ flip;
    return bytes;
}

/* Zero points of as many weights, often what makes them narrow. */
static void *zeros_of_weights(struct test *test, enum kernel_dtype dtype, int64_t count)
{
    uint8_t *zeros;

    if (dtype == KERNEL_I8 || !test_chance(test, 2))
        return test_chance(test, 2) ? NULL : random_zeros(test, count);
    zeros = test_output(test, (size_t)count);
    memset(zeros, 0x80, (size_t)count);
    return zeros;
}

static void check_product(struct test *test, const struct kernel_table *table)
{
    struct kernel_product s;
    struct kernel_product_data data = {0};
    bool is_quantised = test_chance(test, 2);
    size_t count, packed_bytes;
    void *want, *packed = NULL, *workspace;

    random_product(test, &s);
    s.y_type = is_quantised ? random_byte(test) : KERNEL_I32;
    test_describe(test, "%lldx%lldx%lld, types %d %d %d, batch rank %d, trans %d", (long long)s.m,
                  (long long)s.n, (long long)s.k, s.a_type, s.b_type, s.y_type, s.batch_rank,
                  s.trans_b);
    count = (size_t)(matrices_of(&s, (int64_t[]){1, 1}) * s.m * s.n);
    count *= kernel_dtype_bytes(s.y_type);
    data.a = any_bytes(test, (size_t)(matrices_of(&s, s.a_batch_stride) * s.m * s.k));
    data.b = any_weights(test, s.b_type, matrices_of(&s, s.b_batch_stride) * s.k * s.n);
    data.a_zero = random_zeros(test, matrices_of(&s, s.a_batch_stride) * s.m + 1);
    data.b_zero = zeros_of_weights(test, s.b_type, matrices_of(&s, s.b_batch_stride) * s.n);
    if (is_quantised) {
        data.a_scale = random_scales(test, matrices_of(&s, s.a_batch_stride) * s.m + 1, 0.1f);
        data.b_scale = random_scales(test, matrices_of(&s, s.b_batch_stride) * s.n, 0.01f);
        data.y_scale = random_scales(test, 1, 1.0f);
        data.y_zero = random_zeros(test, 1);
    }
    if (is_quantised && test_chance(test, 3)) {
        int32_t *c = test_input_bytes(test, (size_t)s.n * sizeof(*c));

        for (int64_t j = 0; j < s.n; j++)
            c[j] %= 100000;
        s.c_col_stride = 1;
        data.c = c;
    }
    data.y = want = test_output(test, count);
    TEST_RUN(test, TEST_REF, product_ref(&data, &s));
    data.y = test_output(test, count);
    packed_bytes = kernel_product_int8_packed(&s);
    if (packed_bytes > 0 && test_chance(test, 2)) {
        packed = test_output(test, packed_bytes);
        kernel_pack_int8(packed, data.b, &s);
    }
    if (!kernel_product_int8_fits(&s))
        test_fail(test, "it is said not to fit");
    workspace = test_output(test, kernel_product_int8_room(&s, packed != NULL));
    TEST_RUN(test, TEST_NEW, table->product_int8.fn(&data, packed, &s, workspace));
    test_compare_bytes(test, data.y, want, count);
}

/* Pads, strides and dilations of every axis. */
static void random_window(struct test *test, struct kernel_window *w)
{
    int rank = (int)test_range(test, 1, 3);
    char text[TEST_WINDOW_BYTES];

    if (test->is_wide || test_chance(test, 3)) {
        test_wide_window(test, rank, w);
    } else {
        *w =
            (struct kernel_window){{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}};
        for (int i = KERNEL_SPATIAL - rank; i < KERNEL_SPATIAL; i++) {
            w->kernel[i] = test_range(test, 1, 3);
            w->stride[i] = test_range(test, 1, 2);
            w->pad_begin[i] = w->pad_end[i] = w->kernel[i] / 2;
            w->in[i] = test_range(test, 3, 40);
            w->out[i] =
                (w->in[i] + w->pad_begin[i] + w->pad_end[i] - w->kernel[i]) / w->stride[i] + 1;
        }
    }
    test_window_text(w, text);
    test_describe(test, "%s", text);
}

/* 3 x 3 at every place of an image of some size, with as many channels as Winograd's algorithm wants. */
static void make_winograd(struct test *test, struct kernel_convolve *s)
{
    struct kernel_window *w = &s->window;

    *w = (struct kernel_window){{1, 1, 1}, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0}, {0}};
    s->channels = s->groups * test_range(test, 30, 40);
    s->filters = s->groups * test_range(test, 30, 40);
    if (test_chance(test, 16))
        s->channels = s->groups * test_range(test, 510, 514);
    for (int i = 1; i < KERNEL_SPATIAL; i++) {
        w->in[i] = test_range(test, 5, i == 2 && test_chance(test, 8) ? 260 : 12);
        w->pad_begin[i] = test_range(test, -1, 2);
        w->pad_end[i] = test_range(test, 0, 2);
        w->out[i] = w->in[i] + w->pad_begin[i] + w->pad_end[i] - 2;
    }
    test_describe(test, "3 x 3, %lld channels by %lld filters of %lldx%lld, pads %lld %lld",
                  (long long)s->channels, (long long)s->filters, (long long)w->in[1],
                  (long long)w->in[2], (long long)w->pad_begin[1], (long long)w->pad_begin[2]);
}

static void check_convolve(struct test *test, const struct kernel_table *table)
{
    bool is_deep = test_chance(test, 8); /* one channel and one filter for each group */
    int64_t groups = test_range(test, 1, is_deep ? 150 : 3), filters, depth, out, in;
    int64_t channels =
        is_deep || test_chance(test, 4) ? 1 : test_range(test, 1, 9); /* of a group */
    bool is_quantised = test_chance(test, 2);
    struct kernel_convolve s = {
        .x_type = random_byte(test),
        .w_type = random_byte(test),
        .y_type = is_quantised ? random_byte(test) : KERNEL_I32,
        .bias_type = KERNEL_I32,
        .scale_type = KERNEL_F32,
        .batch = test_range(test, 1, 2),
        .channels = groups * channels,
        .filters = groups * (is_deep ? 1 : test_range(test, 1, test_chance(test, 3) ? 80 : 11)),
        .groups = groups,
        .has_filter_zeros = test_chance(test, 2),
        .has_filter_scales = test_chance(test, 2),
    };
    struct kernel_convolve_data data = {0};
    size_t count;
    void *want, *workspace, *packed = NULL;

    if (!is_deep && test_chance(test, 4))
        make_winograd(test, &s);
    else
        random_window(test, &s.window);
    s.channels_last = test_chance(test, 2);
    s.channels_last = s.channels_last && kernel_convolve_int8_fits(&s, true, is_quantised);
    filters = s.filters;
    depth = s.channels / groups * s.window.kernel[0] * s.window.kernel[1] * s.window.kernel[2];
    in = s.window.in[0] * s.window.in[1] * s.window.in[2];
    out = s.window.out[0] * s.window.out[1] * s.window.out[2];
    count = (size_t)(s.batch * filters * out) * kernel_dtype_bytes(s.y_type);
    data.x = any_bytes(test, (size_t)(s.batch * s.channels * in));
    data.w = any_weights(test, s.w_type, filters * depth);
    data.x_zero = random_zeros(test, 1);
    data.w_zero = zeros_of_weights(test, s.w_type, filters);
    if (test_chance(test, 2)) {
        int32_t *bias = test_input_bytes(test, (size_t)filters * sizeof(*bias));

        for (int64_t f = 0; is_quantised && f < filters; f++)
            bias[f] %= 100000;
        data.bias = bias;
    }
    if (is_quantised) {
        data.x_scale = random_scales(test, 1, 0.1f);
        data.w_scale = random_scales(test, filters, 0.01f);
        data.y_scale = random_scales(test, 1, 1.0f);
        data.y_zero = random_zeros(test, 1);
    }
    data.y = want = test_output(test, count);
    TEST_RUN(test, TEST_REF, convolve_ref(&data, &s));
    data.y = test_output(test, count);
    if (!kernel_convolve_int8_fits(&s, data.bias != NULL, is_quantised))
        test_fail(test, "it is said not to fit");
    if (kernel_convolve_int8_packed(&s) > 0 && !test_chance(test, 4)) {
        packed = test_output(test, kernel_convolve_int8_packed(&s));
        kernel_pack_filters_int8(packed, data.w, &s);
    }
    workspace = test_output(test, kernel_convolve_int8_room(&s));
    TEST_RUN(test, TEST_NEW, table->convolve_int8.fn(&data, packed, &s, workspace));
    test_compare_bytes(test, data.y, want, count);
}

/* One that this machine can run, also if its table has a better one. */
static struct int8_tile any_tile(struct test *test)
{
#if defined(__x86_64__)
    if (kernel_best_level() >= KERNEL_LEVEL_AVX512 && !test_chance(test, 3))
        return test_chance(test, 2) ? int8_tile_avx512() : int8_tile_avx512bw();
    if (kernel_best_level() >= KERNEL_LEVEL_AVX2 && !test_chance(test, 4))
        return int8_tile_avx2();
#else
    (void)test;
#endif
    return int8_tile_portable();
}

/* All of k at once, or, where a tile can go on, some of it after the other. */
static void run_tile(struct test *test, const struct int8_tile *tile, struct int8_sides *sides,
                     int32_t *acc, int rows, int units)
{
    int64_t k = sides->k, step = k;
    int16_t *wide = test_output(test, INT8_WIDE * sizeof(*wide));
    int16_t *spread = test_output(test, INT8_SPREAD * sizeof(*spread));

    sides->wide = wide;
    sides->spread = spread;
    if (tile->widen)
        step = test_range(test, 1, INT8_WIDE_K / INT8_QUAD) * INT8_QUAD;
    for (int64_t at = 0; at < k; at += step) {
        sides->k = k - at < step ? k - at : step;
        sides->is_begun = at > 0;
        if (tile->widen)
            tile->widen(wide, sides, rows);
        if (tile->spread && rows > 1)
            tile->spread(spread, sides);
        if (at == 0)
            TEST_RUN(test, TEST_NEW, tile->fn(acc, sides, rows, units));
        else /* once: sums go on */
            tile->fn(acc, sides, rows, units);
        sides->a += step;
        sides->offsets += step / INT8_QUAD;
    }
}

static void check_tile(struct test *test, const struct kernel_table *table)
{
    int64_t k = test_range(test, 1, test_chance(test, 4) ? 3 * INT8_WIDE_K : 300);
    int64_t line = k + test_range(test, 0, 5);
    struct int8_tile plain = int8_tile_portable(), tile = any_tile(test);
    int64_t unit = int8_packed_bytes(1, k), places[] = {0, unit, 2 * unit, 3 * unit};
    struct int8_sides sides = {.a_line = line,
                               .k = k,
                               .units = places,
                               .offsets = int8_packed_offsets,
                               .a_is_signed = test_chance(test, 2)};
    int32_t *want = test_output(test, INT8_MAX_ROWS * INT8_LINE * sizeof(*want));
    int32_t *got = test_output(test, INT8_MAX_ROWS * INT8_LINE * sizeof(*got));
    int rows = (int)test_range(test, 1, tile.rows);
    int units = test_chance(test, 2) ? tile.units : test_chance(test, 2) ? 1 : 2;
    uint8_t *a, *b;

    (void)table;
    units = units < tile.units ? units : tile.units;
    test_describe(test, "%d rows, %d units, %lld deep", rows, units, (long long)k);
    a = any_bytes(test, (size_t)(rows * line));
    b = any_bytes(test, (size_t)int8_packed_bytes((int64_t)units * INT8_UNIT, k));
    for (int r = 0; r < rows; r++) {
        for (int u = 0; u < units; u++) {
            sides.a = a + r * line;
            sides.b = b + u * unit;
            TEST_RUN(
                test, TEST_REF,
                plain.fn(want + (int64_t)r * INT8_LINE + (int64_t)u * INT8_UNIT, &sides, 1, 1));
        }
    }
    sides.a = a;
    sides.b = b;
    run_tile(test, &tile, &sides, got, rows, units);
    test_compare_bytes(test, got, want, INT8_MAX_ROWS * INT8_LINE * sizeof(*want));
}

/* Weights of 4 bits in blocks, by one of the versions that this machine has. */
static void check_blocks(struct test *test, const struct kernel_table *table)
{
    struct kernel_blocks s = {test_range(test, 1, 14),  test_range(test, 1, 90),
                              test_range(test, 1, 300), KERNEL_BLOCK_MIN,
                              test_chance(test, 2),     test_chance(test, 2)};
    struct kernel_blocks_weights weights;
    product_blocks_fn *fn;
    const char *version;
    float *a, *y, *want, *allowed, *bias = NULL;
    int64_t blocks, bytes;
    void *packed;

    (void)table;
    s.size <<= test_range(test, 0, 4);
    fn = kernel_product_blocks((enum kernel_level)test_range(test, 1, (int64_t)kernel_best_level()),
                               &version);
    test_kernel(test, version);
    test_describe(test, "%lldx%lldx%lld, blocks of %lld, zero points %d, rounded %d, %s",
                  (long long)s.m, (long long)s.n, (long long)s.k, (long long)s.size, s.has_zeros,
                  s.is_rounded, version);
    blocks = (s.k + s.size - 1) / s.size;
    bytes = s.n * blocks * (s.size / 2);
    weights.quanta = any_bytes(test, (size_t)bytes);
    weights.scales = test_input(test, (size_t)(s.n * blocks));
    weights.zeros = s.has_zeros ? any_bytes(test, (size_t)(s.n * ((blocks + 1) / 2))) : NULL;
    a = test_input(test, (size_t)(s.m * s.k));
    if (test_chance(test, 3))
        memset(a, 0, (size_t)(s.k < s.size ? s.k : s.size) * sizeof(*a)); /* a block of zeros */
    if (test_chance(test, 2))
        bias = test_input(test, (size_t)s.n);
    want = test_output(test, (size_t)(s.m * s.n) * sizeof(*want));
    TEST_RUN(test, TEST_REF, product_blocks_ref(want, a, &weights, bias, &s));
    allowed = test_output(test, (size_t)(s.m * s.n) * sizeof(*allowed));
    for (int64_t i = 0; i < s.m * s.n; i++)
        allowed[i] = 15.0f * (float)s.k; /* the numbers and the scales are up to 1 */
    packed = test_output(test, kernel_blocks_packed(&s));
    kernel_pack_blocks(packed, &weights, &s);
    y = test_output(test, (size_t)(s.m * s.n) * sizeof(*y));
    TEST_RUN(test, TEST_NEW, fn(y, a, packed, bias, &s, test_output(test, kernel_blocks_room(&s))));
    test_compare(test, y, want, (size_t)(s.m * s.n),
                 &(struct test_tolerance){1e-6, 1e-6, allowed, 1e-6});
}

/* What is not finite makes its row NaN where rows are rounded, else what float32 makes of it, and no other row. */
static void check_blocks_nan(struct test *test, const struct kernel_table *table)
{
    static const float numbers[] = {NAN, INFINITY, -INFINITY};
    struct kernel_blocks s = {3, 20, 70, 32, false, test_chance(test, 2)};
    struct kernel_blocks_weights weights = {any_bytes(test, 20 * 3 * 16), test_input(test, 20 * 3),
                                            NULL};
    float *a = test_input(test, 3 * 70), *y = test_output(test, 3 * 20 * sizeof(*y));
    float *want = test_output(test, 3 * 20 * sizeof(*want));
    void *packed = test_output(test, kernel_blocks_packed(&s));
    const char *version;
    product_blocks_fn *fn = kernel_product_blocks(
        (enum kernel_level)test_range(test, 1, (int64_t)kernel_best_level()), &version);

    (void)table;
    test_kernel(test, version);
    test_describe(test, "rounded %d, %s", s.is_rounded, version);
    a[70 + test_range(test, 0, 69)] = numbers[test_range(test, 0, 2)];
    TEST_RUN(test, TEST_REF, product_blocks_ref(want, a, &weights, NULL, &s));
    kernel_pack_blocks(packed, &weights, &s);
    TEST_RUN(test, TEST_NEW, fn(y, a, packed, NULL, &s, test_output(test, kernel_blocks_room(&s))));
    for (int i = 0; i < 3 * 20; i++)
        if (isnan(y[i]) != isnan(want[i]) || (isinf(want[i]) && y[i] != want[i]) ||
            isfinite(want[i]) != (i / 20 != 1) || (s.is_rounded && isinf(want[i])))
            test_fail(test, "element %d is %g, the reference's %g", i, (double)y[i],
                      (double)want[i]);
}

/* Weights of two sorts; scales such that gates are neither all open nor all shut. */
static void random_weights(struct test *test, struct kernel_lstm_int8_weights *how,
                           struct kernel_lstm_int8_bytes *out_weights, int64_t directions,
                           int64_t rows, int64_t columns)
{
    int64_t lines;
    float *scale;

    how->is_signed = test_chance(test, 2);
    how->has_columns = test_chance(test, 2);
    lines = directions * (how->has_columns ? columns : 1);
    scale = test_input(test, (size_t)lines);
    for (int64_t i = 0; i < lines; i++)
        scale[i] = (1.2f + scale[i]) / 200.0f / sqrtf((float)rows);
    out_weights->quanta = any_bytes(test, (size_t)(directions * rows * columns));
    out_weights->scale = scale;
    out_weights->zero = test_chance(test, 2) ? any_bytes(test, (size_t)lines) : NULL;
}

static void random_lstm(struct test *test, struct kernel_lstm_int8 *s)
{
    *s = (struct kernel_lstm_int8){.steps = test_range(test, 0, 5),
                                   .batch = test_range(test, 0, 9),
                                   .inputs = test_range(test, 1, 40),
                                   .hidden = test_range(test, 1, 140),
                                   .directions = (int)test_range(test, 1, 2)};
    s->is_reverse[0] = test_chance(test, 2);
    s->is_reverse[1] = !s->is_reverse[0];
}

/* Both versions; false where a length is none of the steps', which both say. */
static bool run_lstm(struct test *test, const struct kernel_lstm_int8 *s,
                     struct kernel_lstm_int8_data data, lstm_int8_fn *fn, float *const want[3],
                     float *const got[3])
{
    bool is_right = true;
    int old = 0, new = 0;

    for (int64_t i = 0; data.lengths && i < s->batch; i++)
        is_right = is_right && data.lengths[i] >= 0;
    data.y = want[0];
    data.last_h = want[1];
    data.last_c = want[2];
    TEST_RUN(test, TEST_REF, old = lstm_int8_ref(&data, s));
    data.y = got[0];
    data.last_h = got[1];
    data.last_c = got[2];
    data.packed = test_output(test, kernel_lstm_int8_packed(s));
    kernel_pack_lstm_int8((void *)data.packed, &data.w, &data.r, s);
    data.workspace = test_output(test, kernel_lstm_int8_room(s));
    TEST_RUN(test, TEST_NEW, new = fn(&data, s));
    if (old != new || old != (is_right ? 0 : -1))
        test_fail(test, "returned %d, the reference %d", new, old);
    return is_right;
}

/* An LSTM of bytes, by one of the versions that this machine has. A state in the middle of two bytes may become either, which
 * is more than all else that may differ. */
static void check_lstm(struct test *test, const struct kernel_table *table)
{
    struct kernel_lstm_int8 s;
    struct kernel_lstm_int8_data data = {0};
    size_t state, y;
    const char *version;
    lstm_int8_fn *fn = kernel_lstm_int8(
        (enum kernel_level)test_range(test, 1, (int64_t)kernel_best_level()), &version);
    float *want[3], *got[3];
    int32_t *lengths;

    (void)table;
    random_lstm(test, &s);
    test_kernel(test, version);
    test_describe(test, "%lld steps of %lld sequences of %lld, %lld hidden, %d directions, %s",
                  (long long)s.steps, (long long)s.batch, (long long)s.inputs, (long long)s.hidden,
                  s.directions, version);
    state = (size_t)(s.directions * s.batch * s.hidden);
    y = state * (size_t)s.steps;
    random_weights(test, &s.w, &data.w, s.directions, s.inputs, 4 * s.hidden);
    random_weights(test, &s.r, &data.r, s.directions, s.hidden, 4 * s.hidden);
    data.x = any_bytes(test, (size_t)(s.steps * s.batch * s.inputs));
    data.x_scale = &(const float){0.01f};
    data.x_zero = &(const uint8_t){117};
    data.b = test_chance(test, 4) ? NULL : test_input(test, (size_t)(s.directions * 8 * s.hidden));
    data.initial_h = test_chance(test, 2) ? NULL : test_input(test, state);
    data.initial_c = test_chance(test, 2) ? NULL : test_input(test, state);
    lengths = test_output(test, (size_t)s.batch * sizeof(*lengths));
    for (int64_t i = 0; i < s.batch; i++)
        lengths[i] = (int32_t)test_range(test, test_chance(test, 30) ? -1 : 0, s.steps);
    data.lengths = test_chance(test, 2) ? lengths : NULL;
    for (int i = 0; i < 3; i++) {
        want[i] = test_output(test, (i == 0 ? y : state) * sizeof(float));
        got[i] = test_output(test, (i == 0 ? y : state) * sizeof(float));
    }
    if (!run_lstm(test, &s, data, fn, want, got))
        return;
    for (int i = 0; i < 3; i++)
        test_compare(test, got[i], want[i], i == 0 ? y : state,
                     &(struct test_tolerance){.absolute = 0.01});
}

const struct test_op test_ops_int8[] = {
    {"product_int8", check_product, offsetof(struct kernel_table, product_int8)},
    {"convolve_int8", check_convolve, offsetof(struct kernel_table, convolve_int8)},
    {"int8_tile", check_tile, TEST_ALWAYS},
    {"product_blocks", check_blocks, TEST_ALWAYS},
    {"lstm_int8", check_lstm, TEST_ALWAYS},
    {"product_blocks_nan", check_blocks_nan, TEST_ALWAYS},
};
const size_t test_ops_int8_count = sizeof(test_ops_int8) / sizeof(test_ops_int8[0]);
