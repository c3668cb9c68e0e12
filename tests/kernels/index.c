/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the kernels that pick and place by index: what is gathered is looked up by hand, what is
 * scattered is gathered again. */
#include <string.h>

#include <math.h>

#include "tests/kernels/harness.h"

static size_t product(const int64_t *dims, int rank)
{
    size_t count = 1;

    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    return count;
}

/* In [-limit, limit), of either type of index. */
static void *random_indices(struct test *test, enum kernel_dtype type, size_t count, int64_t limit)
{
    int64_t *wide = test_input_bytes(test, count * sizeof(*wide));
    void *indices = test_input_bytes(test, count * kernel_dtype_bytes(type));

    for (size_t i = 0; i < count; i++)
        wide[i] = test_range(test, -limit, limit - 1);
    cast_ref(indices, type, wide, KERNEL_I64, count);
    return indices;
}

static enum kernel_dtype random_index_type(struct test *test)
{
    return test_chance(test, 2) ? KERNEL_I32 : KERNEL_I64;
}

static int64_t index_of(const void *indices, enum kernel_dtype type, size_t i, int64_t limit)
{
    int64_t index =
        type == KERNEL_I32 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];

    return index < 0 ? index + limit : index;
}

static void random_elements(struct test *test, struct kernel_elements *s)
{
    *s = (struct kernel_elements){.dtype = KERNEL_F32,
                                  .index_type = random_index_type(test),
                                  .rank = (int)test_range(test, 1, 4)};
    s->axis = (int)test_range(test, 0, s->rank - 1);
    for (int i = 0; i < s->rank; i++) {
        s->x_dims[i] = test_range(test, 1, 6);
        s->dims[i] = test_range(test, 0, i == s->axis ? 8 : s->x_dims[i]);
    }
}

/* Where element i of the indices points in x. */
static size_t element_at(size_t i, int64_t index, const struct kernel_elements *s)
{
    size_t place = 0, stride = 1;

    for (int axis = s->rank - 1; axis >= 0; axis--) {
        size_t at = i % (size_t)s->dims[axis];

        place += (axis == s->axis ? (size_t)index : at) * stride;
        stride *= (size_t)s->x_dims[axis];
        i /= (size_t)s->dims[axis];
    }
    return place;
}

static void check_elements(struct test *test, const struct kernel_table *table, bool is_gather)
{
    struct kernel_elements s;
    size_t count, x_count;
    float *x, *updates, *want, *got;
    void *indices;
    int rc;

    random_elements(test, &s);
    s.op = is_gather || test_chance(test, 2) ? SCATTER_SET : SCATTER_ADD;
    count = product(s.dims, s.rank);
    x_count = product(s.x_dims, s.rank);
    x = test_input(test, x_count);
    updates = test_input(test, count);
    indices = random_indices(test, s.index_type, count, s.x_dims[s.axis]);
    want = test_output(test, (is_gather ? count : x_count) * sizeof(*want));
    got = test_output(test, (is_gather ? count : x_count) * sizeof(*got));
    test_describe(test, "rank %d, axis %d, %zu of %zu", s.rank, s.axis, count, x_count);
    if (!is_gather)
        memcpy(want, x, x_count * sizeof(*want));
    for (size_t i = 0; i < count; i++) {
        size_t at = element_at(i, index_of(indices, s.index_type, i, s.x_dims[s.axis]), &s);

        if (is_gather)
            want[i] = x[at];
        else
            want[at] = s.op == SCATTER_ADD ? want[at] + updates[i] : updates[i];
    }
    TEST_RUN(test, TEST_NEW,
             rc = is_gather ? table->gather_elements.fn(got, x, indices, &s)
                            : table->scatter_elements.fn(got, x, indices, updates, &s));
    if (rc < 0)
        test_fail(test, "refused indices that are in range");
    test_compare_bytes(test, got, want, (is_gather ? count : x_count) * sizeof(*got));
}

static void check_gather_elements(struct test *test, const struct kernel_table *table)
{
    check_elements(test, table, true);
}

/* Rows that are looked at in several blocks, of each size of element; at times one index of them all
 * is out of range, just so. */
static void check_gather_long(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype dtypes[] = {KERNEL_U8, KERNEL_F16, KERNEL_F32, KERNEL_F64};
    struct kernel_elements s = {.dtype = dtypes[test_range(test, 0, 3)],
                                .index_type = random_index_type(test),
                                .rank = 2,
                                .axis = (int)test_range(test, 0, 1)};
    int64_t rows = test_range(test, 1, 4), columns = test_range(test, 100, 300);
    bool has_negative = test_chance(test, 2), is_outside = test_chance(test, 3);
    size_t count = (size_t)(rows * columns), bytes = kernel_dtype_bytes(s.dtype), x_count;
    int64_t *wide = test_input_bytes(test, count * sizeof(*wide)), limit;
    void *x, *want, *got, *indices = test_input_bytes(test, count * sizeof(*wide));
    int rc;

    s.dims[0] = s.x_dims[0] = rows;
    s.dims[1] = s.x_dims[1] = columns;
    limit = s.x_dims[s.axis] = test_range(test, 1, 400);
    x_count = product(s.x_dims, 2);
    x = test_input_bytes(test, x_count * bytes);
    want = test_output(test, count * bytes);
    got = test_output(test, count * bytes);
    for (size_t i = 0; i < x_count * bytes; i++)
        ((uint8_t *)x)[i] = (uint8_t)test_random(test);
    for (size_t i = 0; i < count; i++)
        wide[i] = (int64_t)(test_random(test) % (uint64_t)limit) -
                  (has_negative && test_random(test) % 16 == 0 ? limit : 0);
    if (is_outside)
        wide[test_random(test) % count] = test_chance(test, 2) ? limit : -limit - 1;
    cast_ref(indices, s.index_type, wide, KERNEL_I64, count);
    test_describe(test, "%lld x %lld of %lld, axis %d, %zu bytes%s", (long long)rows,
                  (long long)columns, (long long)limit, s.axis, bytes,
                  is_outside ? ", one outside" : "");
    for (size_t i = 0; i < count && !is_outside; i++)
        memcpy((char *)want + i * bytes,
               (char *)x + element_at(i, wide[i] < 0 ? wide[i] + limit : wide[i], &s) * bytes,
               bytes);
    TEST_RUN(test, TEST_NEW, rc = table->gather_elements.fn(got, x, indices, &s));
    if ((rc < 0) != is_outside)
        test_fail(test, is_outside ? "took an index that is out of range" : "refused indices");
    if (!is_outside)
        test_compare_bytes(test, got, want, count * bytes);
}

static void check_scatter_elements(struct test *test, const struct kernel_table *table)
{
    check_elements(test, table, false);
}

static void check_tuples(struct test *test, const struct kernel_table *table, bool is_gather)
{
    struct kernel_tuples s = {.dtype = KERNEL_I64,
                              .index_type = random_index_type(test),
                              .batch = is_gather ? test_range(test, 1, 3) : 1,
                              .tuples = test_range(test, 0, 9),
                              .depth = (int)test_range(test, 0, 3),
                              .slice = test_range(test, 1, 5)};
    size_t tuples = (size_t)(s.batch * s.tuples), slices, bytes;
    int64_t *x, *updates, *want, *got;
    void *indices;
    int rc;

    for (int i = 0; i < s.depth; i++)
        s.dims[i] = 4;
    slices = product(s.dims, s.depth);
    bytes = (size_t)s.slice * sizeof(*x);
    x = test_input_bytes(test, (size_t)s.batch * slices * bytes);
    updates = test_input_bytes(test, tuples * bytes);
    indices = random_indices(test, s.index_type, tuples * (size_t)s.depth, 4);
    want = test_output(test, (is_gather ? tuples : slices) * bytes);
    got = test_output(test, (is_gather ? tuples : slices) * bytes);
    test_describe(test, "%zu tuples of %d, slices of %lld", tuples, s.depth, (long long)s.slice);
    if (!is_gather)
        memcpy(want, x, slices * bytes);
    for (size_t i = 0; i < tuples; i++) {
        size_t at = 0;

        for (int d = 0; d < s.depth; d++)
            at = at * 4 +
                 (size_t)index_of(indices, s.index_type, i * (size_t)s.depth + (size_t)d, 4);
        if (is_gather)
            memcpy((char *)want + i * bytes,
                   (char *)x + (i / (size_t)s.tuples * slices + at) * bytes, bytes);
        else
            memcpy((char *)want + at * bytes, (char *)updates + i * bytes, bytes);
    }
    TEST_RUN(test, TEST_NEW,
             rc = is_gather ? table->gather_nd.fn(got, x, indices, &s)
                            : table->scatter_nd.fn(got, x, indices, updates, &s));
    if (rc < 0)
        test_fail(test, "refused indices that are in range");
    test_compare_bytes(test, got, want, (is_gather ? tuples : slices) * bytes);
}

static void check_gather_nd(struct test *test, const struct kernel_table *table)
{
    check_tuples(test, table, true);
}

static void check_scatter_nd(struct test *test, const struct kernel_table *table)
{
    check_tuples(test, table, false);
}

/* In order, from the input, each place once, and nothing better left out. */
static void check_top_k(struct test *test, const struct kernel_table *table)
{
    struct kernel_top_k s = {.dtype = KERNEL_I8,
                             .outer = test_range(test, 0, 4),
                             .axis = test_range(test, 0, 30),
                             .inner = test_range(test, 1, 5),
                             .is_smallest = test_chance(test, 2)};
    size_t lines = (size_t)(s.outer * s.inner), got_count;
    int8_t *x = test_input_bytes(test, lines * (size_t)s.axis), *values;
    int64_t *indices;

    s.k = test_range(test, 0, s.axis);
    got_count = lines * (size_t)s.k;
    values = test_output(test, got_count);
    indices = test_output(test, got_count * sizeof(*indices));
    test_describe(test, "%lld of %lldx%lldx%lld", (long long)s.k, (long long)s.outer,
                  (long long)s.axis, (long long)s.inner);
    for (size_t i = 0; i < lines * (size_t)s.axis; i++)
        x[i] = (int8_t)(x[i] / 16);
    TEST_RUN(test, TEST_NEW, table->top_k.fn(values, indices, x, &s));
    for (size_t line = 0; line < lines; line++) {
        size_t o = line / (size_t)s.inner, i = line % (size_t)s.inner;
        const int8_t *in = x + o * (size_t)(s.axis * s.inner) + i;
        size_t out = o * (size_t)(s.k * s.inner) + i;

        for (int64_t k = 0; k < s.k; k++, out += (size_t)s.inner) {
            int64_t better = 0;
            int here = s.is_smallest ? -values[out] : values[out];

            for (int64_t j = 0; j < s.axis; j++) {
                int there = s.is_smallest ? -in[j * s.inner] : in[j * s.inner];

                better += there > here || (there == here && j < indices[out]);
            }
            if (indices[out] < 0 || indices[out] >= s.axis ||
                in[indices[out] * s.inner] != values[out] || better != k)
                test_fail(test, "line %zu: the wrong element at place %lld", line, (long long)k);
        }
    }
}

static void check_nonzero(struct test *test, const struct kernel_table *table)
{
    struct kernel_nonzero s = {.dtype = KERNEL_F32, .rank = (int)test_range(test, 1, 4)};
    size_t count, found = 0;
    int64_t *got;
    float *x;

    for (int i = 0; i < s.rank; i++)
        s.dims[i] = test_range(test, 1, 6);
    count = product(s.dims, s.rank);
    x = test_input(test, count);
    for (size_t i = 0; i < count; i++) {
        x[i] = test_chance(test, 2) ? 0.0f : x[i];
        s.count += x[i] != 0.0f;
    }
    got = test_output(test, (size_t)(s.rank * s.count) * sizeof(*got));
    test_describe(test, "rank %d, %lld of %zu", s.rank, (long long)s.count, count);
    TEST_RUN(test, TEST_NEW, (void)table->nonzero.fn(got, x, &s));
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        if (x[i] == 0.0f)
            continue;
        for (int axis = 0; axis < s.rank; axis++)
            at = at * (size_t)s.dims[axis] + (size_t)got[(size_t)(axis * s.count) + found];
        if (at != i)
            test_fail(test, "element %zu is not found in its place", i);
        found++;
    }
    s.count++;
    if (s.count <= (int64_t)count &&
        table->nonzero.fn(test_output(test, (size_t)(s.rank * s.count) * sizeof(*got)), x, &s) == 0)
        test_fail(test, "did not notice that there are fewer");
}

static void check_compress(struct test *test, const struct kernel_table *table)
{
    struct kernel_compress s = {.outer = test_range(test, 0, 4),
                                .axis = test_range(test, 1, 9),
                                .inner_bytes = test_range(test, 1, 9)};
    uint8_t *condition, *x, *want, *got;
    size_t bytes, next = 0;

    s.conditions = test_range(test, 0, s.axis + 3);
    condition = test_input_bytes(test, (size_t)s.conditions);
    for (int64_t i = 0; i < s.conditions; i++) {
        condition[i] &= 1;
        s.count += condition[i] && i < s.axis;
    }
    x = test_input_bytes(test, (size_t)(s.outer * s.axis * s.inner_bytes));
    bytes = (size_t)(s.outer * s.count * s.inner_bytes);
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    test_describe(test, "%lldx%lldx%lld, %lld stay", (long long)s.outer, (long long)s.axis,
                  (long long)s.inner_bytes, (long long)s.count);
    for (int64_t i = 0; i < s.outer * s.axis * s.inner_bytes; i++) {
        int64_t at = i / s.inner_bytes % s.axis;

        if (at < s.conditions && condition[at])
            want[next++] = x[i];
    }
    TEST_RUN(test, TEST_NEW, (void)table->compress.fn(got, x, condition, &s));
    test_compare_bytes(test, got, want, bytes);
}

/* The index as a type of its own has it; reals are cut off. */
static void set_index(void *indices, enum kernel_dtype type, int64_t i, int64_t index, double rest)
{
    if (type == KERNEL_F32)
        ((float *)indices)[i] = (float)((double)index + (index < 0 ? -rest : rest));
    else if (type == KERNEL_I32)
        ((int32_t *)indices)[i] = (int32_t)index;
    else if (type == KERNEL_I8)
        ((int8_t *)indices)[i] = (int8_t)index;
    else
        ((int64_t *)indices)[i] = index;
}

static void check_one_hot(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_I64, KERNEL_I32, KERNEL_F32, KERNEL_I8};
    struct kernel_one_hot s = {.index_type = types[test_range(test, 0, 3)],
                               .element_bytes = (size_t)1 << test_range(test, 0, 3),
                               .outer = test_range(test, 0, 5),
                               .depth = test_range(test, 0, test_chance(test, 4) ? 40 : 7),
                               .inner = test_range(test, 1, 5)};
    size_t n = s.element_bytes, count = (size_t)(s.outer * s.depth * s.inner);
    uint8_t *values = test_input_bytes(test, 2 * n), *want = test_output(test, count * n);
    void *got = test_output(test, count * n);
    void *indices = test_output(test, (size_t)(s.outer * s.inner) * sizeof(int64_t));

    test_describe(test, "%lldx%lldx%lld of %zu bytes, type %d", (long long)s.outer,
                  (long long)s.depth, (long long)s.inner, n, (int)s.index_type);
    for (size_t i = 0; i < count; i++)
        memcpy(want + i * n, values, n);
    for (int64_t i = 0; i < s.outer * s.inner; i++) {
        int64_t index = test_range(test, -s.depth - 2, s.depth + 1);

        set_index(indices, s.index_type, i, index, (double)test_range(test, 0, 1) / 2);
        if (s.index_type == KERNEL_F32 && test_chance(test, 8)) {
            ((float *)indices)[i] = test_chance(test, 2) ? NAN : -INFINITY;
            continue;
        }
        index += index < 0 ? s.depth : 0;
        if (index >= 0 && index < s.depth)
            memcpy(want + (size_t)((i / s.inner * s.depth + index) * s.inner + i % s.inner) * n,
                   values + n, n);
    }
    TEST_RUN(test, TEST_NEW, table->one_hot.fn(got, indices, values, &s));
    test_compare_bytes(test, got, want, count * n);
}

static void check_triangle(struct test *test, const struct kernel_table *table)
{
    struct kernel_triangle s = {.element_bytes = 1,
                                .batch = test_range(test, 0, 3),
                                .rows = test_range(test, 1, 8),
                                .cols = test_range(test, 1, 8),
                                .is_upper = test_chance(test, 2)};
    size_t count = (size_t)(s.batch * s.rows * s.cols);
    int64_t k = test_range(test, -9, 9);
    uint8_t *x = test_input_bytes(test, count), *want = test_output(test, count);
    uint8_t *got = test_output(test, count);
    uint8_t *p = want;

    test_describe(test, "%lldx%lldx%lld, diagonal %lld", (long long)s.batch, (long long)s.rows,
                  (long long)s.cols, (long long)k);
    for (int64_t b = 0; b < s.batch; b++)
        for (int64_t r = 0; r < s.rows; r++)
            for (int64_t c = 0; c < s.cols; c++, p++)
                *p = (s.is_upper ? c >= r + k : c <= r + k) ? x[p - want] : 0;
    TEST_RUN(test, TEST_NEW, table->triangle.fn(got, x, k, &s));
    test_compare_bytes(test, got, want, count);
}

/* Reversing twice gives what was there. */
static void check_reverse(struct test *test, const struct kernel_table *table)
{
    struct kernel_reverse s = {.batch = test_range(test, 1, 5),
                               .time = test_range(test, 1, 9),
                               .inner_bytes = test_range(test, 1, 9),
                               .is_time_first = test_chance(test, 2)};
    size_t bytes = (size_t)(s.batch * s.time * s.inner_bytes);
    uint8_t *x = test_input_bytes(test, bytes), *once = test_output(test, bytes);
    uint8_t *twice = test_output(test, bytes);
    int64_t *lengths = test_output(test, 5 * sizeof(*lengths));

    test_describe(test, "%lld sequences of %lld", (long long)s.batch, (long long)s.time);
    for (int64_t b = 0; b < s.batch; b++)
        lengths[b] = test_range(test, 0, s.time);
    TEST_RUN(test, TEST_NEW, (void)table->reverse.fn(once, x, lengths, &s));
    (void)table->reverse.fn(twice, once, lengths, &s);
    test_compare_bytes(test, twice, x, bytes);
    if (lengths[0] > 0 &&
        memcmp(once, x + (lengths[0] - 1) * s.inner_bytes * (s.is_time_first ? s.batch : 1),
               (size_t)s.inner_bytes) != 0)
        test_fail(test, "the last step of the first sequence is not its first one");
}

static void check_cache_write(struct test *test, const struct kernel_table *table)
{
    struct kernel_cache_write s = {.batch = test_range(test, 1, 3),
                                   .outer = test_range(test, 1, 3),
                                   .places = test_range(test, 1, 9),
                                   .inner_bytes = test_range(test, 1, 5),
                                   .is_circular = test_chance(test, 2)};
    size_t bytes, inner = (size_t)s.inner_bytes;
    uint8_t *cache, *update, *want, *got;
    int64_t *at = test_output(test, 3 * sizeof(*at));

    s.steps = test_range(test, 0, s.places);
    bytes = (size_t)(s.batch * s.outer * s.places) * inner;
    cache = test_input_bytes(test, bytes);
    update = test_input_bytes(test, (size_t)(s.batch * s.outer * s.steps) * inner);
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    test_describe(test, "%lld of %lld places", (long long)s.steps, (long long)s.places);
    memcpy(want, cache, bytes);
    for (int64_t b = 0; b < s.batch; b++)
        at[b] = test_range(test, 0, s.is_circular ? s.places : s.places - s.steps);
    for (int64_t row = 0; row < s.batch * s.outer; row++)
        for (int64_t i = 0; i < s.steps; i++)
            memcpy(want + (size_t)(row * s.places + (at[row / s.outer] + i) % s.places) * inner,
                   update + (size_t)(row * s.steps + i) * inner, inner);
    TEST_RUN(test, TEST_NEW, (void)table->cache_write.fn(got, cache, update, at, &s));
    test_compare_bytes(test, got, want, bytes);
    at[0] = INT64_MAX - test_range(test, 0, 1);
    if (s.steps > 2 && table->cache_write.fn(got, cache, update, at, &s) != -1)
        test_fail(test, "places behind the last number are taken");
}

/* Many equal numbers, zeros and NaN of both signs among them. */
static void make_equal_f64(struct test *test, double *x, size_t count)
{
    static const double some[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, -1.5, 1e300};

    for (size_t i = 0; i < count; i++)
        x[i] = test_random(test) % 4 == 0 ? (double)test_float(test) : some[test_random(test) % 8];
}

/* Long lines of every type that has a version, byte for byte what the reference chooses. */
static void check_top_k_long(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype dtypes[] = {KERNEL_F32, KERNEL_F64, KERNEL_I32,
                                               KERNEL_I64, KERNEL_U8,  KERNEL_I8};
    struct kernel_top_k s = {.dtype = dtypes[test_range(test, 0, 5)],
                             .outer = test_range(test, 1, 2),
                             .axis = test_range(test, 1, 300),
                             .inner = test_chance(test, 2) ? test_range(test, 1, 3)
                                                           : test_range(test, 8, 140),
                             .is_smallest = test_chance(test, 2)};
    size_t count, bytes = kernel_dtype_bytes(s.dtype), made;
    char *x, *want, *got;
    int64_t *want_indices, *got_indices;

    if (test_chance(test, 16) &&
        strcmp(test->version, "cuda") != 0) { /* more than are sorted together */
        s.inner = test_range(test, 1, 2);
        s.axis = test_range(test, 300, 12000);
    }
    count = (size_t)(s.outer * s.axis * s.inner);
    x = test_input_bytes(test, count * bytes);
    s.k = test_range(test, 0, test_chance(test, 2) || s.axis < 16 ? s.axis : 16);
    if (s.axis > 300)
        s.k = test_range(test, 1, test_chance(test, 2) ? 100 : 2500) % s.axis;
    test_describe(test, "%lld of %lldx%lldx%lld of type %d", (long long)s.k, (long long)s.outer,
                  (long long)s.axis, (long long)s.inner, (int)s.dtype);
    made = (size_t)(s.outer * s.k * s.inner);
    /* Some that are equal, both zeros, both infinities and several NaNs. */
    for (size_t i = 0; s.dtype == KERNEL_F32 && i < count; i++)
        ((float *)(void *)x)[i] =
            test_chance(test, 3)
                ? (const float[]){0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN}[i % 6]
                : test_float(test);
    if (s.dtype == KERNEL_F64)
        make_equal_f64(test, (double *)(void *)x, count);
    want = test_output(test, made * bytes);
    got = test_output(test, made * bytes);
    want_indices = test_output(test, made * sizeof(*want_indices));
    got_indices = test_output(test, made * sizeof(*got_indices));
    TEST_RUN(test, TEST_REF, top_k_ref(want, want_indices, x, &s));
    TEST_RUN(test, TEST_NEW, table->top_k.fn(got, got_indices, x, &s));
    test_compare_bytes(test, got_indices, want_indices, made * sizeof(*got_indices));
    test_compare_bytes(test, got, want, made * bytes);
}

/* More than the reference would be done with: each comes before the next one, and nothing else before the last.
 * An emulated device would not be done with it either. */
static void check_top_k_many(struct test *test, const struct kernel_table *table)
{
    const bool is_device = strcmp(test->version, "cuda") == 0;
    struct kernel_top_k s = {.dtype = KERNEL_F32,
                             .outer = 1,
                             .axis = is_device ? test_range(test, 600, 700)
                                               : test_range(test, 66000, 70000),
                             .inner = 1,
                             .is_smallest = test_chance(test, 2)};
    float *x = test_input(test, (size_t)s.axis), sign = s.is_smallest ? -1.0f : 1.0f;
    int64_t *indices, last = -1, found = 0;

    s.k = test_chance(test, 2) ? s.axis : s.axis - test_range(test, 0, 400);
    indices = test_output(test, (size_t)s.k * sizeof(*indices));
    test_describe(test, "%lld of %lld", (long long)s.k, (long long)s.axis);
    for (int64_t i = 0; i < s.axis; i++)
        x[i] = truncf(x[i] * 1000.0f);
    TEST_RUN(test, TEST_NEW, table->top_k.fn(NULL, indices, x, &s));
    for (int64_t k = 0; k < s.k; last = indices[k++])
        if (indices[k] < 0 || indices[k] >= s.axis ||
            (k > 0 && !(sign * x[last] > sign * x[indices[k]] ||
                        (x[last] == x[indices[k]] && last < indices[k])))) {
            test_fail(test, "the wrong element at place %lld", (long long)k);
            return;
        }
    for (int64_t i = 0; i < s.axis; i++)
        found += sign * x[i] > sign * x[last] || (x[i] == x[last] && i <= last);
    if (found != s.k)
        test_fail(test, "%lld come before the last", (long long)found);
}

/* Whole numbers of any type, few or many of them equal, zeros of both signs and NaN among reals. */
static void *few_numbers(struct test *test, enum kernel_dtype dtype, size_t count)
{
    float *numbers = test_input(test, count), most = test_chance(test, 2) ? 4.0f : 100.0f;
    void *x = test_output(test, count * kernel_dtype_bytes(dtype));

    for (size_t i = 0; i < count; i++) {
        numbers[i] = truncf(numbers[i] * most);
        if (kernel_dtype_is_real(dtype) && test_chance(test, 20))
            numbers[i] = test_chance(test, 2) ? NAN : -0.0f;
        if (dtype == KERNEL_I64 && most > 4.0f)
            numbers[i] *= 1e9f;
    }
    cast_ref(x, dtype, numbers, KERNEL_F32, count);
    return x;
}

/* Slices of every type, as the reference has them. */
static void check_unique_types(struct test *test, const struct kernel_table *table)
{
    struct kernel_unique s = {.dtype = (enum kernel_dtype)test_range(test, 0, KERNEL_DTYPES - 1),
                              .outer = test_range(test, 1, 2),
                              .axis = test_range(test, 1, 300),
                              .inner = test_range(test, 1, test_chance(test, 3) ? 9 : 2),
                              .is_sorted = test_chance(test, 2)};
    size_t count = (size_t)s.axis, slice = (size_t)(s.outer * s.inner);
    size_t bytes = slice * kernel_dtype_bytes(s.dtype);
    void *x = few_numbers(test, s.dtype, slice * count);
    void *scratch = test_output(test, kernel_unique_room(&s));
    struct kernel_unique_outputs out[2];
    int64_t groups = unique_ref(NULL, x, scratch, &s);

    test_describe(test, "%lldx%lldx%lld of type %d, sorted %d", (long long)s.outer,
                  (long long)s.axis, (long long)s.inner, (int)s.dtype, s.is_sorted);
    for (int i = 0; i < 2; i++)
        out[i] = (struct kernel_unique_outputs){
            test_output(test, (size_t)groups * bytes), test_output(test, (size_t)groups * 8),
            test_output(test, count * 8), test_output(test, (size_t)groups * 8), groups};
    TEST_RUN(test, TEST_REF, (void)unique_ref(&out[0], x, scratch, &s));
    TEST_RUN(test, TEST_NEW, groups = table->unique.fn(&out[1], x, scratch, &s));
    if (groups != out[0].count)
        test_fail(test, "%lld differ, not %lld", (long long)groups, (long long)out[0].count);
    test_compare_bytes(test, out[1].y, out[0].y, (size_t)out[0].count * bytes);
    test_compare_bytes(test, out[1].first, out[0].first, (size_t)out[0].count * 8);
    test_compare_bytes(test, out[1].counts, out[0].counts, (size_t)out[0].count * 8);
    test_compare_bytes(test, out[1].inverse, out[0].inverse, count * 8);
}

static void check_nonzero_types(struct test *test, const struct kernel_table *table)
{
    struct kernel_nonzero s = {.dtype = (enum kernel_dtype)test_range(test, 0, KERNEL_DTYPES - 1),
                               .rank = (int)test_range(test, 1, 4)};
    size_t count = 1, bytes;
    int64_t *want, *got;
    double *wide;
    void *x;

    for (int i = 0; i < s.rank; i++)
        count *= (size_t)(s.dims[i] = test_range(test, 1, i == s.rank - 1 ? 40 : 5));
    x = few_numbers(test, s.dtype, count);
    wide = test_output(test, count * sizeof(*wide));
    cast_ref(wide, KERNEL_F64, x, s.dtype, count);
    for (size_t i = 0; i < count; i++)
        s.count += wide[i] != 0.0;
    test_describe(test, "%lld of %zu of type %d", (long long)s.count, count, (int)s.dtype);
    bytes = (size_t)(s.rank * s.count) * sizeof(*want);
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    TEST_RUN(test, TEST_REF, (void)nonzero_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, (void)table->nonzero.fn(got, x, &s));
    test_compare_bytes(test, got, want, bytes);
    for (int beyond = -1; beyond <= 1 && s.count > 0;
         beyond += 2) { /* another size than there is */
        struct kernel_nonzero other = s;

        other.count += beyond;
        if (table->nonzero.fn(test_output(test, (size_t)(s.rank * other.count) * sizeof(*want)), x,
                              &other) != -1)
            test_fail(test, "%lld are taken for %lld", (long long)s.count, (long long)other.count);
    }
}

/* Each slice is like the one that it is said to be, these differ, and stand in the order that is asked
 * for. */
static void check_unique(struct test *test, const struct kernel_table *table)
{
    struct kernel_unique s = {.dtype = KERNEL_I32,
                              .outer = test_range(test, 1, 2),
                              .axis = test_range(test, 0, 40),
                              .inner = test_range(test, 1, 2),
                              .is_sorted = test_chance(test, 2)};
    size_t count = (size_t)(s.outer * s.axis * s.inner), axis = (size_t)s.axis;
    int32_t *x = test_output(test, count * sizeof(*x)), *y = test_output(test, count * sizeof(*y));
    void *scratch = test_output(test, kernel_unique_room(&s));
    struct kernel_unique_outputs out = {y, test_output(test, axis * sizeof(int64_t)),
                                        test_output(test, axis * sizeof(int64_t)),
                                        test_output(test, axis * sizeof(int64_t)), 0};
    int64_t sum = 0;

    test_describe(test, "%lldx%lldx%lld, sorted %d", (long long)s.outer, (long long)s.axis,
                  (long long)s.inner, s.is_sorted);
    for (size_t i = 0; i < count; i++)
        x[i] = (int32_t)test_range(test, -2, 2);
    TEST_RUN(test, TEST_NEW, out.count = table->unique.fn(NULL, x, scratch, &s));
    if (table->unique.fn(&out, x, scratch, &s) != out.count)
        test_fail(test, "it counts otherwise than before");
    for (int64_t i = 0; i < s.axis; i++)
        for (int64_t e = 0; e < s.outer * s.inner; e++) {
            int64_t o = e / s.inner, k = e % s.inner;

            if (x[(o * s.axis + i) * s.inner + k] !=
                y[(o * out.count + out.inverse[i]) * s.inner + k])
                test_fail(test, "slice %lld is not what it is said to be", (long long)i);
        }
    for (int64_t g = 0; g < out.count; g++) {
        bool is_new = out.inverse[out.first[g]] == g;

        sum += out.counts[g];
        for (int64_t i = 0; i < out.first[g]; i++)
            is_new = is_new && out.inverse[i] != g;
        if (!is_new || (g > 0 && !s.is_sorted && out.first[g] <= out.first[g - 1]))
            test_fail(test, "number %lld does not begin at %lld", (long long)g,
                      (long long)out.first[g]);
        if (g > 0 && s.is_sorted && y[(g - 1) * s.inner] > y[g * s.inner])
            test_fail(test, "number %lld is below the one before", (long long)g);
    }
    if (sum != s.axis)
        test_fail(test, "%lld of %lld slices are counted", (long long)sum, (long long)s.axis);
}

/* Numbers of a type; of small whole ones, so that many are equal, and some are none. */
static void *random_numbers(struct test *test, enum kernel_dtype dtype, size_t count)
{
    double *wide = test_input_bytes(test, count * sizeof(*wide));
    void *numbers = test_input_bytes(test, count * kernel_dtype_bytes(dtype));
    bool is_signed = kernel_dtype_is_real(dtype) || dtype == KERNEL_I8;

    for (size_t i = 0; i < count; i++)
        wide[i] = test_chance(test, 40) && kernel_dtype_is_real(dtype)
                      ? (double)NAN
                      : (double)test_range(test, is_signed ? -9 : 0, 9) * 1.125;
    cast_ref(numbers, dtype, wide, KERNEL_F64, count);
    return numbers;
}

static enum kernel_dtype random_scattered(struct test *test)
{
    static const enum kernel_dtype dtypes[] = {KERNEL_F32, KERNEL_F64, KERNEL_I32,
                                               KERNEL_I64, KERNEL_F16, KERNEL_U8,
                                               KERNEL_I16, KERNEL_I8,  KERNEL_BOOL};

    return dtypes[test_random(test) % (sizeof(dtypes) / sizeof(dtypes[0]))];
}

/* All that a version made, and where an index is out of range that it says so. One NaN is like another. */
static void compare_scattered(struct test *test, int rc, int want_rc, void *got, const void *want,
                              enum kernel_dtype dtype, size_t count)
{
    const size_t size = kernel_dtype_bytes(dtype);
    double *numbers = test_input_bytes(test, 2 * count * sizeof(*numbers));

    cast_ref(numbers, KERNEL_F64, got, dtype, count);
    cast_ref(numbers + count, KERNEL_F64, want, dtype, count);
    for (size_t i = 0; i < count; i++)
        if (isnan(numbers[i]) && isnan(numbers[count + i]))
            memcpy((char *)got + i * size, (const char *)want + i * size, size);
    if (rc != want_rc)
        test_fail(test, "%d is returned, not %d", rc, want_rc);
    else if (rc == 0)
        test_compare_bytes(test, got, want, count * size);
}

/* Each type and operation, long rows and indices that are out of range, against the reference. */
static void check_scatter_each(struct test *test, const struct kernel_table *table)
{
    struct kernel_elements s;
    size_t count, bytes;
    void *x, *updates, *indices, *want, *got;
    int rc, want_rc;
    bool in_place;

    random_elements(test, &s);
    s.dtype = random_scattered(test);
    s.op = (enum kernel_scatter_op)test_range(test, SCATTER_SET, SCATTER_MIN);
    if (test_chance(test, 4))
        s.dims[s.axis] = test_range(test, 200, 600);
    count = product(s.dims, s.rank);
    bytes = product(s.x_dims, s.rank) * kernel_dtype_bytes(s.dtype);
    x = random_numbers(test, s.dtype, product(s.x_dims, s.rank));
    updates = random_numbers(test, s.dtype, count);
    indices = random_indices(test, s.index_type, count, s.x_dims[s.axis] + test_chance(test, 30));
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    test_describe(test, "type %d, operation %d, rank %d, axis %d, %zu", (int)s.dtype, (int)s.op,
                  s.rank, s.axis, count);
    in_place = test_chance(test, 2) && !test->bench;
    TEST_RUN(test, TEST_REF, want_rc = scatter_elements_ref(want, x, indices, updates, &s));
    if (in_place)
        memcpy(got, x, bytes);
    TEST_RUN(test, TEST_NEW,
             rc = table->scatter_elements.fn(got, in_place ? got : x, indices, updates, &s));
    compare_scattered(test, rc, want_rc, got, want, s.dtype, bytes / kernel_dtype_bytes(s.dtype));
}

/* The same of slices that tuples name. */
static void check_scatter_slices(struct test *test, const struct kernel_table *table)
{
    struct kernel_tuples s = {
        .dtype = random_scattered(test),
        .index_type = random_index_type(test),
        .op = (enum kernel_scatter_op)test_range(test, SCATTER_SET, SCATTER_MIN),
        .batch = 1,
        .tuples = test_range(test, 0, test_chance(test, 4) ? 600 : 9),
        .depth = (int)test_range(test, 0, 3),
        .slice = test_chance(test, 3) ? 1 : test_range(test, 0, 40)};
    size_t tuples = (size_t)s.tuples, slices, bytes;
    void *x, *updates, *indices, *want, *got;
    int rc, want_rc;
    bool in_place;

    for (int i = 0; i < s.depth; i++)
        s.dims[i] = 4;
    slices = product(s.dims, s.depth) * (size_t)s.slice;
    bytes = slices * kernel_dtype_bytes(s.dtype);
    x = random_numbers(test, s.dtype, slices);
    updates = random_numbers(test, s.dtype, tuples * (size_t)s.slice);
    indices =
        random_indices(test, s.index_type, tuples * (size_t)s.depth, 4 + test_chance(test, 30));
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    test_describe(test, "type %d, operation %d, %zu tuples of %d, slices of %lld", (int)s.dtype,
                  (int)s.op, tuples, s.depth, (long long)s.slice);
    in_place = test_chance(test, 2) && !test->bench;
    TEST_RUN(test, TEST_REF, want_rc = scatter_nd_ref(want, x, indices, updates, &s));
    if (in_place)
        memcpy(got, x, bytes);
    TEST_RUN(test, TEST_NEW,
             rc = table->scatter_nd.fn(got, in_place ? got : x, indices, updates, &s));
    compare_scattered(test, rc, want_rc, got, want, s.dtype, bytes / kernel_dtype_bytes(s.dtype));
}

const struct test_op test_ops_index[] = {
    {"nonzero_types", check_nonzero_types, offsetof(struct kernel_table, nonzero)},
    {"unique_types", check_unique_types, offsetof(struct kernel_table, unique)},
    {"unique", check_unique, offsetof(struct kernel_table, unique)},
    {"cache_write", check_cache_write, offsetof(struct kernel_table, cache_write)},
    {"compress", check_compress, offsetof(struct kernel_table, compress)},
    {"gather_elements", check_gather_elements, offsetof(struct kernel_table, gather_elements)},
    {"gather_long", check_gather_long, offsetof(struct kernel_table, gather_elements)},
    {"gather_nd", check_gather_nd, offsetof(struct kernel_table, gather_nd)},
    {"nonzero", check_nonzero, offsetof(struct kernel_table, nonzero)},
    {"one_hot", check_one_hot, offsetof(struct kernel_table, one_hot)},
    {"reverse", check_reverse, offsetof(struct kernel_table, reverse)},
    {"scatter_elements", check_scatter_elements, offsetof(struct kernel_table, scatter_elements)},
    {"scatter_each", check_scatter_each, offsetof(struct kernel_table, scatter_elements)},
    {"scatter_slices", check_scatter_slices, offsetof(struct kernel_table, scatter_nd)},
    {"scatter_nd", check_scatter_nd, offsetof(struct kernel_table, scatter_nd)},
    {"top_k", check_top_k, offsetof(struct kernel_table, top_k)},
    {"top_k_long", check_top_k_long, offsetof(struct kernel_table, top_k)},
    {"top_k_many", check_top_k_many, offsetof(struct kernel_table, top_k)},
    {"triangle", check_triangle, offsetof(struct kernel_table, triangle)},
};
const size_t test_ops_index_count = sizeof(test_ops_index) / sizeof(test_ops_index[0]);
