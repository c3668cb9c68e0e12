/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of attention, linear attention and rotary embedding. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

enum { STEPS_MAX = 200 };

/* Attention over one flat layout, without past: written down from the formula. */
static void attend(float *y, const struct kernel_attention_data *d,
                   const struct kernel_attention *s, double *scores)
{
    const float *q = d->q, *k = d->k, *v = d->v, *mask = d->mask;
    int64_t group = s->heads / s->kv_heads;

    for (int64_t i = 0; i < s->batch * s->heads * s->q_steps; i++) {
        int64_t step = i % s->q_steps, line = i / s->q_steps;
        int64_t kv = line / s->heads * s->kv_heads + line % s->heads / group;
        int64_t seen = d->seen_steps ? d->seen_steps[line / s->heads] : s->kv_steps;
        int64_t last = step + (!d->seen_steps ? 0 : seen > 0 ? seen - s->q_steps : -s->q_steps);
        double sum = 0.0;

        for (int64_t t = 0; t < s->kv_steps; t++) {
            double score = 0.0;

            for (int64_t c = 0; c < s->channels; c++)
                score +=
                    (double)q[i * s->channels + c] * k[(kv * s->kv_steps + t) * s->channels + c];
            score *= s->scale;
            if (s->softcap != 0.0)
                score = s->softcap * tanh(score / s->softcap);
            if (mask)
                score += mask[step * s->kv_steps + t];
            if ((s->is_causal && t > last) || t >= seen ||
                (s->is_limited[0] && last - t > s->reach[0]) ||
                (s->is_limited[1] && t - last > s->reach[1]))
                scores[t] = 0.0;
            else
                scores[t] = exp(score);
            sum += scores[t];
        }
        for (int64_t c = 0; c < s->v_channels; c++) {
            double all = 0.0;

            for (int64_t t = 0; t < s->kv_steps; t++)
                all += sum == 0.0 ? (s->unseen_is_nan ? (double)NAN : 0.0)
                                  : scores[t] / sum * v[(kv * s->kv_steps + t) * s->v_channels + c];
            y[i * s->v_channels + c] = (float)all;
        }
    }
}

static struct kernel_heads dense(int64_t heads, int64_t steps, int64_t channels)
{
    return (struct kernel_heads){heads * steps * channels, steps * channels, channels};
}

/* The first `past` of the keys and values are given as the past of the same sequence. */
static void attend_as_formula(struct test *test, const struct kernel_table *table,
                              const struct kernel_attention *sizes, int64_t total)
{
    /* What no model should say. */
    static const int64_t wild[] = {INT64_MIN, -1, INT64_MAX, (int64_t)1 << 40};
    struct kernel_attention s = *sizes;
    double scores[STEPS_MAX];
    float *q, *k, *v, *mask, *want, *got;
    struct kernel_attention_data data;
    int64_t *seen = test_output(test, 3 * sizeof(*seen));

    s.batch = test_range(test, 1, 3);
    s.heads = s.kv_heads * test_range(test, 1, 2);
    s.is_causal = test_chance(test, 3);
    s.kv_steps = total;
    s.mask_steps = total;
    s.mask_stride[2] = total;
    s.q = dense(s.heads, s.q_steps, s.channels);
    s.k = dense(s.kv_heads, total, s.channels);
    s.v = dense(s.kv_heads, total, s.v_channels);
    s.y = dense(s.heads, s.q_steps, s.v_channels);
    q = test_input(test, (size_t)(s.batch * s.q.batch_stride));
    k = test_input(test, (size_t)(s.batch * s.k.batch_stride));
    v = test_input(test, (size_t)(s.batch * s.v.batch_stride));
    mask = test_input(test, (size_t)(s.q_steps * total));
    want = test_output(test, (size_t)(s.batch * s.y.batch_stride) * sizeof(*want));
    got = test_output(test, (size_t)(s.batch * s.y.batch_stride) * sizeof(*got));
    data = (struct kernel_attention_data){
        .y = got, .q = q, .k = k, .v = v, .mask = test_chance(test, 2) ? mask : NULL};
    data.workspace = test_output(test, kernel_attention_room(&s));
    test_describe(test, "%lld x %lld heads of %lld, %lld x %lld steps", (long long)s.batch,
                  (long long)s.heads, (long long)s.channels, (long long)s.q_steps,
                  (long long)total);
    for (int64_t i = 0; i < s.batch; i++)
        seen[i] = test_chance(test, 6) ? wild[test_range(test, 0, 3)] : test_range(test, 0, total);
    if (test_chance(test, 3))
        data.seen_steps = seen;
    for (int side = 0; side < 2; side++) {
        s.is_limited[side] = test_chance(test, 4);
        s.reach[side] = test_range(test, 0, 3);
    }
    attend(want, &data, &s, scores);
    if (!s.is_causal && !s.is_limited[0] && !s.is_limited[1] && !data.seen_steps && s.batch == 1 &&
        s.kv_heads == 1) { /* then the past lies in front */
        s.past_steps = test_range(test, 0, total);
        s.kv_steps -= s.past_steps;
        data.past_k = k;
        data.past_v = v;
        data.k = k + s.past_steps * s.channels;
        data.v = v + s.past_steps * s.v_channels;
        data.present_k = test_output(test, (size_t)(total * s.channels) * sizeof(float));
        if (test_chance(test, 2))
            data.present_v = test_output(test, (size_t)(total * s.v_channels) * sizeof(float));
    }
    TEST_RUN(test, TEST_NEW, table->attention.fn(&data, &s));
    test_compare(test, got, want, (size_t)(s.batch * s.y.batch_stride),
                 &(struct test_tolerance){.absolute = 1e-5});
    if (data.present_k)
        test_compare_bytes(test, data.present_k, k, (size_t)(total * s.channels) * sizeof(float));
}

static void check_attention(struct test *test, const struct kernel_table *table)
{
    struct kernel_attention s = {.dtype = KERNEL_F32,
                                 .mask_type = KERNEL_F32,
                                 .batch = 1,
                                 .kv_heads = test_range(test, 1, 3),
                                 .q_steps = test_range(test, 1, 7),
                                 .channels = test_range(test, 1, 9),
                                 .v_channels = test_range(test, 1, 9),
                                 .scale = 0.7,
                                 .softcap = test_chance(test, 2) ? 0.0 : 1.5};

    attend_as_formula(test, table, &s, test_range(test, 1, 20));
}

/* Of sizes that are worked on in tiles; with rows that see nothing. */
static void check_attention_tiles(struct test *test, const struct kernel_table *table)
{
    bool is_even = test_chance(test, 2); /* channels that are read four at a time */
    struct kernel_attention s = {.dtype = KERNEL_F32,
                                 .mask_type = KERNEL_F32,
                                 .batch = 1,
                                 .kv_heads = test_range(test, 1, 2),
                                 .q_steps = test_range(test, 14, 130),
                                 .channels = test_range(test, 1, 140),
                                 .v_channels = test_range(test, 1, 130),
                                 .scale = 0.1,
                                 .softcap = test_chance(test, 3) ? 1.5 : 0.0,
                                 .unseen_is_nan = test_chance(test, 3)};

    if (is_even) {
        s.channels = (s.channels + 3) / 4 * 4;
        s.v_channels = (s.v_channels + 3) / 4 * 4;
    }
    attend_as_formula(test, table, &s, test_range(test, 1, STEPS_MAX));
}

/* Values that are not numbers where the mask lets nobody see them; rows of a mask that hide all; queries that lie as [steps, heads]. Against the reference. */
static void check_attention_mask(struct test *test, const struct kernel_table *table)
{
    int64_t heads = test_range(test, 1, 3), steps = test_range(test, 14, 70);
    int64_t total = test_range(test, 1, 90), channels = test_range(test, 1, 20);
    struct kernel_attention s = {
        .dtype = KERNEL_F32,
        .mask_type = test_chance(test, 2) ? KERNEL_BOOL : KERNEL_F32,
        .batch = 1,
        .heads = heads,
        .kv_heads = heads,
        .q_steps = steps,
        .kv_steps = total,
        .channels = channels,
        .v_channels = channels,
        .q = {heads * steps * channels, channels, heads * channels},
        .k = {heads * total * channels, channels, heads * channels},
        .v = dense(heads, total, channels),
        .y = {heads * steps * channels, channels, heads * channels},
        .mask_stride = {0, test_chance(test, 2) ? 0 : steps * total, total},
        .mask_steps = total,
        .scale = 0.4,
        .unseen_is_nan = test_chance(test, 2)};
    size_t count = (size_t)(heads * steps * channels), keys = (size_t)(heads * total * channels);
    int64_t hidden = test_range(test, 0, total - 1), blind = test_range(test, 0, steps - 1);
    float *values = test_input(test, keys),
          *mask = test_input(test, (size_t)(heads * steps * total));
    uint8_t *sees = test_output(test, (size_t)(heads * steps * total));
    float *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));
    struct kernel_attention_data data = {
        .y = want, .q = test_input(test, count), .k = test_input(test, keys), .v = values};

    data.workspace = test_output(test, kernel_attention_room(&s));
    test_describe(test, "%lld heads of %lld, %lld x %lld steps, hidden %lld, blind %lld",
                  (long long)heads, (long long)channels, (long long)steps, (long long)total,
                  (long long)hidden, (long long)blind);
    for (int64_t i = 0; i < heads * steps * total; i++) {
        bool is_seen = i % total != hidden && i / total % steps != blind;

        sees[i] = is_seen;
        mask[i] = is_seen ? 3.0f * mask[i] : -INFINITY;
    }
    for (int64_t h = 0; h < heads; h++)
        values[(h * total + hidden) * channels + test_range(test, 0, channels - 1)] =
            test_chance(test, 2) ? NAN : INFINITY;
    data.mask = s.mask_type == KERNEL_BOOL ? (const void *)sees : mask;
    TEST_RUN(test, TEST_REF, attention_ref(&data, &s));
    data.y = got;
    TEST_RUN(test, TEST_NEW, table->attention.fn(&data, &s));
    for (size_t i = 0; i < count; i++) {
        bool is_wrong = (want[i] != want[i]) != (got[i] != got[i]);

        if (is_wrong)
            test_fail(test, "element %zu is %g, not %g", i, (double)got[i], (double)want[i]);
        got[i] = want[i] != want[i] ? 0.0f : got[i];
        want[i] = want[i] != want[i] ? 0.0f : want[i];
    }
    test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 1e-5});
}

static void random_f64(struct test *test, struct kernel_attention *s)
{
    *s = (struct kernel_attention){.dtype = KERNEL_F64,
                                   .mask_type = test_chance(test, 2) ? KERNEL_BOOL : KERNEL_F64,
                                   .batch = test_range(test, 1, 2),
                                   .kv_heads = test_range(test, 1, 2),
                                   .q_steps = test_range(test, 1, 20),
                                   .kv_steps = test_range(test, 0, 70),
                                   .past_steps = test_chance(test, 2) ? 0 : test_range(test, 1, 20),
                                   .channels = test_range(test, 0, 40),
                                   .v_channels = test_range(test, 1, 40),
                                   .is_causal = test_chance(test, 3),
                                   .is_limited = {test_chance(test, 4), test_chance(test, 4)},
                                   .reach = {test_range(test, 0, 9), test_range(test, 0, 9)},
                                   .scale = test_chance(test, 6) ? 900.0 : 0.6,
                                   .softcap = test_chance(test, 3) ? 1.5 : 0.0,
                                   .unseen_is_nan = test_chance(test, 3),
                                   .scores_mode =
                                       (enum kernel_scores)test_range(test, 0, SCORES_SOFTMAX)};
    s->heads = s->kv_heads * test_range(test, 1, 3);
    s->q = dense(s->heads, s->q_steps, s->channels);
    s->k = dense(s->kv_heads, s->kv_steps, s->channels);
    s->v = dense(s->kv_heads, s->kv_steps, s->v_channels);
    s->y = (struct kernel_heads){s->heads * s->q_steps * s->v_channels, s->v_channels,
                                 s->heads * s->v_channels};
    s->mask_steps = s->past_steps + s->kv_steps - (test_chance(test, 4) ? s->kv_steps / 2 : 0);
    s->mask_stride[2] = s->mask_steps;
    test_describe(test, "f64, %lld x %lld heads of %lld and %lld, %lld x %lld + %lld steps",
                  (long long)s->batch, (long long)s->heads, (long long)s->channels,
                  (long long)s->v_channels, (long long)s->q_steps, (long long)s->past_steps,
                  (long long)s->kv_steps);
}

/* f64 with all that may be asked for, held to the reference: keys that nobody sees have values that are no numbers. */
static void check_attention_f64(struct test *test, const struct kernel_table *table)
{
    struct kernel_attention_data data = {0};
    struct kernel_attention s;
    int64_t total, lines, hidden;
    size_t sizes[4];
    void *sides[2][4] = {{0}};
    uint8_t *sees;
    double *mask, *values;
    int64_t *seen = test_output(test, 2 * sizeof(*seen));

    random_f64(test, &s);
    total = s.past_steps + s.kv_steps;
    lines = s.batch * s.kv_heads;
    hidden = test_range(test, 0, s.mask_steps);
    sees = test_output(test, (size_t)(s.q_steps * s.mask_steps));
    mask = test_input_f64(test, (size_t)(s.q_steps * s.mask_steps));
    for (int64_t i = 0; i < s.q_steps * s.mask_steps; i++) {
        sees[i] = i % s.mask_steps != hidden && !test_chance(test, 4);
        mask[i] = sees[i] ? mask[i] : -(double)INFINITY;
    }
    data.q = test_input_f64(test, (size_t)(s.batch * s.q.batch_stride));
    data.k = test_input_f64(test, (size_t)(lines * s.kv_steps * s.channels));
    data.v = values = test_input_f64(test, (size_t)(lines * s.kv_steps * s.v_channels));
    data.past_k =
        s.past_steps ? test_input_f64(test, (size_t)(lines * s.past_steps * s.channels)) : NULL;
    data.past_v =
        s.past_steps ? test_input_f64(test, (size_t)(lines * s.past_steps * s.v_channels)) : NULL;
    seen[0] = test_range(test, 0, total);
    seen[1] = test_range(test, -1, total + 1);
    data.seen_steps = test_chance(test, 3) ? seen : NULL;
    if (test_chance(test, 2))
        data.mask = s.mask_type == KERNEL_BOOL ? (const void *)sees : mask;
    if (data.mask && hidden >= s.past_steps && hidden < s.mask_steps && test_chance(test, 2))
        values[(hidden - s.past_steps) * s.v_channels] = (double)NAN;
    data.workspace = test_output(test, kernel_attention_room(&s));
    sizes[0] = (size_t)(s.batch * s.y.batch_stride);
    sizes[1] = (size_t)(lines * total * s.channels);
    sizes[2] = (size_t)(lines * total * s.v_channels);
    sizes[3] = (size_t)(s.batch * s.heads * s.q_steps * total);
    for (int i = 0; i < 4; i++) {
        bool is_wanted = i == 0 || test_chance(test, 2);

        for (int side = 0; is_wanted && side < 2; side++)
            sides[side][i] = test_output(test, sizes[i] * sizeof(double));
    }
    for (int side = 0; side < 2; side++) {
        data.y = sides[side][0];
        data.present_k = sides[side][1];
        data.present_v = sides[side][2];
        data.scores = sides[side][3];
        if (side == 0)
            TEST_RUN(test, TEST_REF, attention_ref(&data, &s));
        else
            TEST_RUN(test, TEST_NEW, table->attention.fn(&data, &s));
    }
    for (int i = 0; i < 4; i++) {
        for (size_t at = 0; sides[0][i] && at < sizes[i]; at++) {
            double want = ((double *)sides[0][i])[at], got = ((double *)sides[1][i])[at];

            if (isnan(want) ? !isnan(got)
                            : got != want && !(fabs(got - want) <= 1e-11 * fmax(1.0, fabs(want))))
                test_fail(test, "element %zu of output %d is %.17g, not %.17g", at, i, got, want);
        }
    }
}

/* Turning back gives what was there; what is not turned stays. */
static void check_rotary(struct test *test, const struct kernel_table *table)
{
    struct kernel_rotary s = {.dtype = KERNEL_F32,
                              .batch = test_range(test, 1, 3),
                              .heads = test_range(test, 1, 3),
                              .steps = test_range(test, 1, 5),
                              .rotated = 2 * test_range(test, 1, test_chance(test, 2) ? 5 : 40),
                              .is_interleaved = test_chance(test, 2),
                              .positions = 6};
    size_t count, half = (size_t)s.rotated / 2;
    float *x, *once, *twice, *cosines, *sines, *back;
    int64_t *places = test_output(test, 15 * sizeof(*places));

    s.channels = s.rotated + test_range(test, 0, 4);
    s.x = dense(s.heads, s.steps, s.channels);
    count = (size_t)(s.batch * s.x.batch_stride);
    x = test_input(test, count);
    once = test_output(test, count * sizeof(*once));
    twice = test_output(test, count * sizeof(*twice));
    cosines = test_input(test, 6 * half);
    sines = test_input(test, 6 * half);
    back = test_input(test, 6 * half);
    for (size_t i = 0; i < 6 * half; i++) {
        double angle = 3.0 * sines[i];

        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
        back[i] = -sines[i];
    }
    for (int64_t i = 0; i < s.batch * s.steps; i++)
        places[i] = test_range(test, 0, 5);
    test_describe(test, "%zu elements, %lld of %lld channels", count, (long long)s.rotated,
                  (long long)s.channels);
    rotary_ref(twice, x, cosines, sines, places, &s);
    TEST_RUN(test, TEST_NEW, (void)table->rotary.fn(once, x, cosines, sines, places, &s));
    test_compare(test, once, twice, count, &(struct test_tolerance){.absolute = 1e-6});
    (void)table->rotary.fn(twice, once, cosines, back, places, &s);
    test_compare(test, twice, x, count, &(struct test_tolerance){.absolute = 1e-6});
    if (fabs((double)once[0] -
             ((double)cosines[(size_t)places[0] * half] * x[0] -
              (double)sines[(size_t)places[0] * half] * x[s.is_interleaved ? 1 : half])) > 1e-6)
        test_fail(test, "the first channel is turned the wrong way");
}

/* Half precision in either order of heads and steps, held to the reference; y may be x. */
static void check_rotary_half(struct test *test, const struct kernel_table *table)
{
    struct kernel_rotary s = {.dtype = test_chance(test, 2) ? KERNEL_F16 : KERNEL_BF16,
                              .batch = test_range(test, 0, 3),
                              .heads = test_range(test, 1, 20),
                              .steps = test_range(test, 0, test_chance(test, 2) ? 5 : 70),
                              .rotated = 2 * test_range(test, 0, test_chance(test, 2) ? 5 : 80),
                              .is_interleaved = test_chance(test, 2),
                              .positions = test_range(test, 0, 1) * 6,
                              .is_shared = test_chance(test, 2)};
    int64_t rows;
    size_t count, angles;
    float *x, *caches[2], *got, *want;
    uint16_t *y, *right, *half[3];
    int64_t *places = test_output(test, 210 * sizeof(*places));

    s.is_shared = s.is_shared && s.positions == 0;
    s.channels = s.rotated + test_range(test, !s.rotated, test_chance(test, 20) ? 2100 : 4);
    s.x = dense(s.heads, s.steps, s.channels);
    if (test_chance(test, 2)) {
        s.x.head_stride = s.channels;
        s.x.step_stride = s.heads * s.channels;
    }
    rows = s.positions ? s.positions : s.steps * (s.is_shared ? 1 : s.batch);
    count = (size_t)(s.batch * s.heads * s.steps * s.channels);
    angles = (size_t)(rows * (s.rotated / 2));
    x = test_input(test, count);
    caches[0] = test_input(test, angles);
    caches[1] = test_input(test, angles);
    for (int i = 0; i < 3; i++)
        half[i] = test_output(test, (i == 0 ? count : angles) * sizeof(uint16_t));
    cast_ref(half[0], s.dtype, x, KERNEL_F32, count);
    for (int i = 0; i < 2; i++)
        cast_ref(half[1 + i], s.dtype, caches[i], KERNEL_F32, angles);
    for (int64_t i = 0; i < s.batch * s.steps; i++)
        places[i] = test_range(test, 0, 5);
    test_describe(test, "type %d, %lldx%lldx%lld, %lld of %lld channels", (int)s.dtype,
                  (long long)s.batch, (long long)s.heads, (long long)s.steps, (long long)s.rotated,
                  (long long)s.channels);
    right = test_output(test, count * sizeof(*right));
    y = test_chance(test, 3) ? half[0] : test_output(test, count * sizeof(*y));
    rotary_ref(right, half[0], half[1], half[2], s.positions ? places : NULL, &s);
    TEST_RUN(test, TEST_NEW,
             (void)table->rotary.fn(y, half[0], half[1], half[2], s.positions ? places : NULL, &s));
    got = test_output(test, count * sizeof(*got));
    want = test_output(test, count * sizeof(*want));
    cast_ref(got, KERNEL_F32, y, s.dtype, count);
    cast_ref(want, KERNEL_F32, right, s.dtype, count);
    test_compare(test, got, want, count,
                 &(struct test_tolerance){.absolute = 1e-6,
                                          .relative = s.dtype == KERNEL_F16 ? 1e-3 : 8e-3});
}

/* Sizes, with keys of a length below 1, so that nothing grows. */
static void random_linear(struct test *test, struct kernel_linear_attention *s)
{
    *s = (struct kernel_linear_attention){
        .dtype = KERNEL_F32,
        .state_type = KERNEL_F32,
        .batch = test_range(test, 0, 2),
        .steps = test_range(test, 0, 6),
        .kv_heads = test_range(test, 1, 3),
        .channels = test_range(test, 0, test_chance(test, 6) ? 130 : 9),
        .v_channels = test_range(test, 0, test_chance(test, 3) ? 150 : 9),
        .is_beta_shared = test_chance(test, 2),
        .scale = 0.6};
    s->heads = s->kv_heads * test_range(test, 1, 3);
    s->decay_channels = test_chance(test, 2) ? 1 : s->channels;
    test_describe(test, "%lld x %lld steps, %lld heads of %lld, %lld of %lld", (long long)s->batch,
                  (long long)s->steps, (long long)s->heads, (long long)s->channels,
                  (long long)s->kv_heads, (long long)s->v_channels);
}

static void check_linear_attention(struct test *test, const struct kernel_table *table)
{
    struct kernel_linear_attention s;
    struct kernel_linear_attention_data want = {0}, got;
    size_t lines, state, y_count;
    float *k, *decay, *beta;

    random_linear(test, &s);
    lines = (size_t)(s.batch * s.steps);
    state = (size_t)(s.batch * s.kv_heads * s.channels * s.v_channels);
    y_count = lines * (size_t)(s.heads * s.v_channels);
    k = test_input(test, lines * (size_t)(s.kv_heads * s.channels));
    decay = test_input(test, lines * (size_t)(s.kv_heads * s.decay_channels));
    beta = test_input(test, lines * (size_t)(s.is_beta_shared ? 1 : s.kv_heads));
    for (size_t i = 0; i < lines * (size_t)(s.kv_heads * s.channels); i++)
        k[i] /= sqrtf((float)s.channels);
    for (size_t i = 0; i < lines * (size_t)(s.kv_heads * s.decay_channels); i++)
        decay[i] = -fabsf(decay[i]);
    for (size_t i = 0; i < lines * (size_t)(s.is_beta_shared ? 1 : s.kv_heads); i++)
        beta[i] = fabsf(beta[i]);
    want.q = test_input(test, lines * (size_t)(s.heads * s.channels));
    want.k = k;
    want.v = test_input(test, lines * (size_t)(s.kv_heads * s.v_channels));
    want.past = test_chance(test, 2) ? test_input(test, state) : NULL;
    want.decay = test_chance(test, 2) ? decay : NULL;
    want.beta = test_chance(test, 2) ? beta : NULL;
    want.workspace = test_output(test, kernel_linear_attention_room(&s));
    got = want;
    want.y = test_output(test, y_count * sizeof(float));
    got.y = test_output(test, y_count * sizeof(float));
    want.present = test_output(test, state * sizeof(float));
    got.present = test_chance(test, 3) ? NULL : test_output(test, state * sizeof(float));
    TEST_RUN(test, TEST_REF, linear_attention_ref(&want, &s));
    TEST_RUN(test, TEST_NEW, table->linear_attention.fn(&got, &s));
    test_compare(test, got.y, want.y, y_count, &(struct test_tolerance){.absolute = 4e-5});
    if (got.present)
        test_compare(test, got.present, want.present, state,
                     &(struct test_tolerance){.absolute = 2e-5});
}

/* Without decay and beta it is q (K^T V), causally: attention without softmax. */
static void check_linear_sums(struct test *test, const struct kernel_table *table)
{
    struct kernel_linear_attention s;
    struct kernel_linear_attention_data data = {0};
    size_t lines, count;
    float *want;

    random_linear(test, &s);
    s.heads = s.kv_heads;
    lines = (size_t)(s.batch * s.steps * s.heads);
    count = lines * (size_t)s.v_channels;
    data.q = test_input(test, lines * (size_t)s.channels);
    data.k = test_input(test, lines * (size_t)s.channels);
    data.v = test_input(test, count);
    data.y = test_output(test, count * sizeof(float));
    data.workspace = test_output(test, kernel_linear_attention_room(&s));
    want = test_output(test, count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        int64_t line = (int64_t)i / s.v_channels, first = line % s.heads;
        double sum = 0.0;

        first += line / s.heads / s.steps * s.steps * s.heads;
        for (int64_t from = first; from <= line; from += s.heads)
            for (int64_t c = 0; c < s.channels; c++)
                sum += (double)((const float *)data.q)[line * s.channels + c] *
                       ((const float *)data.k)[from * s.channels + c] *
                       ((const float *)data.v)[from * s.v_channels + (int64_t)i % s.v_channels];
        want[i] = (float)(s.scale * sum);
    }
    TEST_RUN(test, TEST_NEW, table->linear_attention.fn(&data, &s));
    test_compare(test, data.y, want, count, &(struct test_tolerance){.absolute = 1e-4});
}

const struct test_op test_ops_attention[] = {
    {"linear_attention", check_linear_attention, offsetof(struct kernel_table, linear_attention)},
    {"linear_attention_sums", check_linear_sums, offsetof(struct kernel_table, linear_attention)},
    {"attention", check_attention, offsetof(struct kernel_table, attention)},
    {"attention_tiles", check_attention_tiles, offsetof(struct kernel_table, attention)},
    {"attention_f64", check_attention_f64, offsetof(struct kernel_table, attention)},
    {"attention_mask", check_attention_mask, offsetof(struct kernel_table, attention)},
    {"rotary", check_rotary, offsetof(struct kernel_table, rotary)},
    {"rotary_half", check_rotary_half, offsetof(struct kernel_table, rotary)},
};
const size_t test_ops_attention_count = sizeof(test_ops_attention) / sizeof(test_ops_attention[0]);
