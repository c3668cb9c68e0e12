/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of recurrent layers and of what samples images, held to what must hold for them: a gate
 * that is wide open, the grid of the pixels themselves, images of one colour, boxes that are kept.
 */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

static void random_layer(struct test *test, struct kernel_recurrent *s)
{
    *s = (struct kernel_recurrent){
        .dtype = KERNEL_F32,
        .steps = test_range(test, 0, 5),
        .batch = test_range(test, 1, 3),
        .inputs = test_range(test, 1, 6),
        .hidden = test_range(test, 1, 5),
        .directions = (int)test_range(test, 1, 2),
        .is_reverse = {test_chance(test, 2), true},
        .is_batch_first = test_chance(test, 2),
        .functions = {{{.kind = GATE_TANH}}, {{.kind = GATE_TANH}}},
    };
    test_describe(test, "%lld steps, batch %lld, %lld to %lld, %d directions", (long long)s->steps,
                  (long long)s->batch, (long long)s->inputs, (long long)s->hidden, s->directions);
}

/* Of the CPU's kernels and of a device's. */
static size_t room_of(const struct kernel_recurrent *s)
{
    size_t one = kernel_recurrent_room(s), other = kernel_recurrent_device_room(s);

    return (one > other ? one : other) * sizeof(double);
}

/* A GRU whose update gate is always 0 and whose reset gate is always 1 is an RNN with the weights
 * of its hidden gate. */
static void check_recurrent(struct test *test, const struct kernel_table *table)
{
    struct kernel_recurrent rnn, gru;
    struct kernel_recurrent_data data = {0}, gru_data;
    struct test_tolerance tolerance = {.absolute = 1e-6};
    size_t y_count, states, w_rows, room;
    float *w, *r, *gru_w, *gru_r, *want, *got, *last, *gru_last;

    random_layer(test, &rnn);
    gru = rnn;
    gru.cell = CELL_GRU;
    for (int d = 0; d < rnn.directions; d++) {
        gru.functions[d][0] = (struct kernel_gate){GATE_AFFINE, 0.0, 0.0};
        gru.functions[d][1] = rnn.functions[d][0];
    }
    states = (size_t)(rnn.directions * rnn.batch * rnn.hidden);
    y_count = (size_t)rnn.steps * states;
    w_rows = (size_t)(rnn.directions * rnn.hidden);
    w = test_input(test, w_rows * (size_t)rnn.inputs);
    r = test_input(test, w_rows * (size_t)rnn.hidden);
    gru_w = test_input(test, 3 * w_rows * (size_t)rnn.inputs);
    gru_r = test_input(test, 3 * w_rows * (size_t)rnn.hidden);
    for (int d = 0; d < rnn.directions; d++) {
        size_t rows = (size_t)rnn.hidden, from = (size_t)d * rows, to = (size_t)(3 * d + 2) * rows;

        memcpy(gru_w + to * (size_t)rnn.inputs, w + from * (size_t)rnn.inputs,
               rows * (size_t)rnn.inputs * sizeof(float));
        memcpy(gru_r + to * (size_t)rnn.hidden, r + from * (size_t)rnn.hidden,
               rows * (size_t)rnn.hidden * sizeof(float));
        /* Without the reset gate nothing of the state comes back: nor does it in the RNN. */
        memset(r + from * (size_t)rnn.hidden, 0, rows * (size_t)rnn.hidden * sizeof(float));
    }
    want = test_output(test, y_count * sizeof(float));
    got = test_output(test, y_count * sizeof(float));
    last = test_output(test, states * sizeof(float));
    gru_last = test_output(test, states * sizeof(float));
    room = room_of(&gru);
    data.x = test_input(test, (size_t)(rnn.steps * rnn.batch * rnn.inputs));
    data.initial_h = test_input(test, states);
    data.workspace = test_output(test, room);
    data.w = w;
    data.r = r;
    data.y = want;
    data.last_h = last;
    gru_data = data;
    gru_data.w = gru_w;
    gru_data.r = gru_r;
    gru_data.y = got;
    gru_data.last_h = gru_last;
    TEST_RUN(test, TEST_REF, recurrent_ref(&data, &rnn));
    TEST_RUN(test, TEST_NEW, table->recurrent.fn(&gru_data, &gru));
    test_compare(test, got, want, y_count, &tolerance);
    test_compare(test, gru_last, last, states, &tolerance);
}

/* The places of the pixels themselves, in each mode, give the pixels. */
static void check_grid_sample(struct test *test, const struct kernel_table *table)
{
    struct kernel_grid_sample s = {
        .dtype = KERNEL_F32,
        .grid_type = KERNEL_F32,
        .mode = (enum kernel_sample_mode)test_range(test, 0, 2),
        .outside = (enum kernel_outside)test_range(test, 0, 2),
        .align_corners = test_chance(test, 2),
        .batch = test_range(test, 0, 2),
        .channels = test_range(test, 1, 3),
        .rank = (int)test_range(test, 1, 3),
        .points = 1,
    };
    struct test_tolerance tolerance = {.absolute = 1e-4};
    float *x, *grid, *y;
    size_t count;

    for (int i = 0; i < s.rank; i++)
        s.points *= s.in[i] = test_range(test, 2, 5);
    count = (size_t)(s.batch * s.channels * s.points);
    x = test_input(test, count);
    grid = test_input(test, (size_t)(s.batch * s.points * s.rank));
    y = test_output(test, count * sizeof(*y));
    test_describe(test, "mode %d, outside %d, align %d, rank %d", (int)s.mode, (int)s.outside,
                  s.align_corners, s.rank);
    for (int64_t i = 0; i < s.batch * s.points; i++) {
        int64_t rest = i % s.points;

        for (int axis = s.rank - 1; axis >= 0; axis--) {
            double n = (double)s.in[axis], at = (double)(rest % s.in[axis]);

            grid[i * s.rank + s.rank - 1 - axis] =
                (float)(s.align_corners ? at * 2.0 / (n - 1.0) - 1.0 : (2.0 * at + 1.0) / n - 1.0);
            rest /= s.in[axis];
        }
    }
    TEST_RUN(test, TEST_NEW, table->grid_sample.fn(y, x, grid, &s));
    test_compare(test, y, x, count, &tolerance);
}

/* Places anywhere, on pixels and between them, inside and outside, held to the reference. */
static void check_grid_places(struct test *test, const struct kernel_table *table)
{
    struct kernel_grid_sample s = {
        .dtype = KERNEL_F32,
        .grid_type = KERNEL_F32,
        .mode = (enum kernel_sample_mode)test_range(test, 0, 2),
        .outside = (enum kernel_outside)test_range(test, 0, 2),
        .align_corners = test_chance(test, 2),
        .batch = test_range(test, 0, 2),
        .channels = test_range(test, 0, 3),
        .rank = (int)test_range(test, 1, 3),
        .points = test_range(test, 0, 150),
    };
    size_t plane = 1, count = (size_t)(s.batch * s.channels * s.points);
    float *x, *grid, *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));

    for (int i = 0; i < s.rank; i++)
        plane *= (size_t)(s.in[i] = test_range(test, 1, 7));
    x = test_input(test, (size_t)(s.batch * s.channels) * plane);
    grid = test_input(test, (size_t)(s.batch * s.points * s.rank));
    test_describe(test, "mode %d, outside %d, align %d, rank %d, %lld points", (int)s.mode,
                  (int)s.outside, s.align_corners, s.rank, (long long)s.points);
    for (int64_t i = 0; i < s.batch * s.points * s.rank; i++)
        if (test_chance(test, 3))
            grid[i] = test_chance(test, 9) ? NAN : (float)test_range(test, -12, 12) / 8.0f;
    for (int64_t i = 0; plane > 1 && i < s.batch * s.channels; i++)
        x[(size_t)i * plane] = test_chance(test, 4) ? INFINITY : x[(size_t)i * plane];
    TEST_RUN(test, TEST_REF, grid_sample_ref(want, x, grid, &s));
    TEST_RUN(test, TEST_NEW, table->grid_sample.fn(got, x, grid, &s));
    for (size_t i = 0; i < count; i++) /* where both are no number, both may be any */
        want[i] = isnan(want[i]) && isnan(got[i]) ? got[i] = 0.0f : want[i];
    test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 1e-5});
}

/* Regions inside of images of one colour have that colour; an image that is not there is refused.
 */
static void check_roi_align(struct test *test, const struct kernel_table *table)
{
    struct kernel_roi_align s = {.dtype = KERNEL_F32,
                                 .index_type = KERNEL_I64,
                                 .is_half_pixel = test_chance(test, 2),
                                 .batch = test_range(test, 1, 3),
                                 .channels = test_range(test, 1, 3),
                                 .in = {test_range(test, 8, 12), test_range(test, 8, 12)},
                                 .out = {test_range(test, 1, 4), test_range(test, 1, 4)},
                                 .regions = test_range(test, 0, 4),
                                 .samples = test_range(test, 0, 3),
                                 .scale = 0.5};
    size_t pixels = (size_t)(s.in[0] * s.in[1]), bins = (size_t)(s.out[0] * s.out[1]);
    size_t count = (size_t)(s.regions * s.channels) * bins;
    float *x = test_input(test, (size_t)(s.batch * s.channels) * pixels);
    float *rois = test_input(test, (size_t)s.regions * 4);
    float *y = test_output(test, count * sizeof(*y));
    int64_t *images = test_input_bytes(test, (size_t)s.regions * sizeof(*images));

    test_describe(test, "%lld regions of %lldx%lld, %lld samples", (long long)s.regions,
                  (long long)s.out[0], (long long)s.out[1], (long long)s.samples);
    for (size_t i = 0; i < (size_t)(s.batch * s.channels) * pixels; i++)
        x[i] = (float)(i / pixels);
    for (int64_t r = 0; r < s.regions; r++) {
        images[r] = test_range(test, 0, s.batch - 1);
        rois[4 * r] = (float)test_range(test, 2, 4);
        rois[4 * r + 1] = (float)test_range(test, 2, 4);
        rois[4 * r + 2] = rois[4 * r] + (float)test_range(test, 1, 6);
        rois[4 * r + 3] = rois[4 * r + 1] + (float)test_range(test, 1, 6);
    }
    TEST_RUN(test, TEST_NEW, table->roi_align.fn(y, x, rois, images, &s));
    for (size_t i = 0; i < count; i++) {
        int64_t r = (int64_t)(i / bins) / s.channels, c = (int64_t)(i / bins) % s.channels;

        if (fabs((double)y[i] - (double)(images[r] * s.channels + c)) > 1e-5)
            test_fail(test, "element %zu is %g", i, (double)y[i]);
    }
    if (s.regions > 0) {
        images[0] = s.batch;
        if (table->roi_align.fn(y, x, rois, images, &s) != -1)
            test_fail(test, "image %lld was not refused", (long long)s.batch);
    }
}

/* Pixels that grow to the right and downwards: of a bin the last one is the largest. Bins are whole pixels. */
static void check_roi_max(struct test *test, const struct kernel_table *table)
{
    struct kernel_roi_max s = {.dtype = KERNEL_F32,
                               .batch = test_range(test, 1, 3),
                               .channels = test_range(test, 1, 3),
                               .in = {test_range(test, 1, 12), test_range(test, 1, 12)},
                               .out = {test_range(test, 1, 3), test_range(test, 1, 3)},
                               .regions = test_range(test, 0, 4),
                               .scale = 0.5f};
    size_t pixels = (size_t)(s.in[0] * s.in[1]), bins = (size_t)(s.out[0] * s.out[1]);
    size_t count = (size_t)(s.regions * s.channels) * bins;
    float *x = test_input(test, (size_t)(s.batch * s.channels) * pixels);
    float *rois = test_input(test, (size_t)s.regions * 5);
    float *y = test_output(test, count * sizeof(*y)), *want = test_output(test, count * sizeof(*y));

    test_describe(test, "%lld regions of %lldx%lld", (long long)s.regions, (long long)s.out[0],
                  (long long)s.out[1]);
    for (size_t i = 0; i < (size_t)(s.batch * s.channels) * pixels; i++)
        x[i] = (float)i - 7.0f;
    for (int64_t r = 0; r < s.regions; r++) {
        int64_t image = test_range(test, 0, s.batch - 1), first[2], size[2];

        rois[5 * r] = (float)image;
        for (int axis = 0; axis < 2; axis++) {
            first[axis] = test_range(test, -3, 9);
            size[axis] = test_range(test, 1, 4);
            rois[5 * r + 2 - axis] = (float)(2 * first[axis]);
            rois[5 * r + 4 - axis] = (float)(2 * (first[axis] + size[axis] * s.out[axis] - 1));
        }
        for (int64_t i = 0; i < s.channels * (int64_t)bins; i++) {
            int64_t o[2] = {i % (int64_t)bins / s.out[1], i % s.out[1]}, last[2];
            bool is_empty = false;

            for (int axis = 0; axis < 2; axis++) {
                int64_t end = first[axis] + (o[axis] + 1) * size[axis];

                last[axis] = (end < s.in[axis] ? end : s.in[axis]) - 1;
                is_empty =
                    is_empty || last[axis] < 0 || first[axis] + o[axis] * size[axis] > last[axis];
            }
            want[r * s.channels * (int64_t)bins + i] =
                is_empty
                    ? 0.0f
                    : x[((image * s.channels + i / (int64_t)bins) * s.in[0] + last[0]) * s.in[1] +
                        last[1]];
        }
    }
    TEST_RUN(test, TEST_NEW, table->roi_max.fn(y, x, rois, &s));
    test_compare(test, y, want, count, &(struct test_tolerance){.absolute = 0.0});
    if (s.regions > 0) {
        rois[0] = (float)s.batch;
        if (table->roi_max.fn(y, x, rois, &s) != -1)
            test_fail(test, "image %lld was not refused", (long long)s.batch);
    }
}

/* For the host's kernels and for a device's. */
static size_t nms_room(const struct kernel_nms *shape)
{
    size_t host = kernel_nms_room(shape), device = kernel_nms_device_room(shape);

    return host > device ? host : device;
}

/* Unit squares in a row: one hides its neighbours that are less than half a side away. */
static void check_nms(struct test *test, const struct kernel_table *table)
{
    struct kernel_nms s = {.batch = 1,
                           .classes = test_range(test, 1, 3),
                           .boxes = test_range(test, 0, 20),
                           .limit = test_range(test, 0, 25),
                           .overlap_max = 1.0f / 3.0f,
                           .has_score_min = true,
                           .score_min = -0.5f};
    float *boxes = test_input(test, (size_t)s.boxes * 4);
    float *scores = test_input(test, (size_t)(s.boxes * s.classes));
    void *kept = test_output(test, nms_room(&s));
    int64_t *y = test_output(test, (size_t)(s.boxes * s.classes) * 3 * sizeof(*y)), count = 0;

    test_describe(test, "%lld boxes, %lld classes, %lld kept at most", (long long)s.boxes,
                  (long long)s.classes, (long long)s.limit);
    for (int64_t i = 0; i < s.boxes; i++) {
        float at = boxes[4 * i] * 3.0f;

        boxes[4 * i] = 1.0f; /* the corners are those of the other diagonal */
        boxes[4 * i + 1] = at;
        boxes[4 * i + 2] = 0.0f;
        boxes[4 * i + 3] = at + 1.0f;
    }
    TEST_RUN(test, TEST_NEW,
             count = table->nms.fn(y, s.boxes * s.classes, boxes, scores, kept, &s));
    if (count != nms_ref(NULL, INT64_MAX, boxes, scores, kept, &s))
        test_fail(test, "counting alone finds another number than %lld", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        if (scores[y[3 * i + 1] * s.boxes + y[3 * i + 2]] < s.score_min)
            test_fail(test, "row %lld has too low a score", (long long)i);
        for (int64_t k = 0; k < i; k++) {
            double gap =
                fabs((double)boxes[4 * y[3 * i + 2] + 1] - (double)boxes[4 * y[3 * k + 2] + 1]);

            if (y[3 * i + 1] == y[3 * k + 1] && gap < 0.4999)
                test_fail(test, "rows %lld and %lld are %g apart", (long long)k, (long long)i, gap);
        }
    }
}

/* Boxes of all kinds, held to the reference. */
static void check_nms_boxes(struct test *test, const struct kernel_table *table)
{
    struct kernel_nms s = {.batch = test_range(test, 0, 2),
                           .classes = test_range(test, 1, 3),
                           .boxes = test_range(test, 0, test_chance(test, 4) ? 1500 : 90),
                           .is_center = test_chance(test, 2),
                           .limit = test_range(test, 0, 100),
                           .overlap_max = (float)test_range(test, -1, 10) / 10.0f,
                           .has_score_min = test_chance(test, 2),
                           .score_min = -0.5f};
    size_t lines = (size_t)(s.batch * s.classes), count = lines * (size_t)s.boxes;
    float *boxes = test_input(test, (size_t)(s.batch * s.boxes) * 4);
    float *scores = test_input(test, count);
    void *scratch = test_output(test, nms_room(&s));
    int64_t room = test_chance(test, 4) ? test_range(test, 0, 9) : (int64_t)count;
    int64_t *want = test_output(test, (size_t)room * 3 * sizeof(*want)), wanted = 0;
    int64_t *got = test_output(test, (size_t)room * 3 * sizeof(*got)), found = 0;

    test_describe(test, "%lld boxes, %lld classes, %lld kept at most", (long long)s.boxes,
                  (long long)s.classes, (long long)s.limit);
    for (size_t i = 0; i < count; i++) { /* some are equal, some are no number */
        scores[i] = truncf(scores[i] * 20.0f) / 20.0f;
        if (test_chance(test, 300))
            scores[i] = NAN;
    }
    TEST_RUN(test, TEST_REF, wanted = nms_ref(want, room, boxes, scores, scratch, &s));
    TEST_RUN(test, TEST_NEW, found = table->nms.fn(got, room, boxes, scores, scratch, &s));
    if (found != wanted)
        test_fail(test, "it keeps %lld, not %lld", (long long)found, (long long)wanted);
    else
        test_compare_bytes(test, got, want, (size_t)found * 3 * sizeof(*got));
}

/* With all else that a cell can have. */
static void random_functions(struct test *test, struct kernel_recurrent *s,
                             struct kernel_recurrent_data *data)
{
    s->is_forget_one_minus = test_chance(test, 2);
    s->clip = test_chance(test, 2) ? 0.4 : 0.0;
    if (s->cell == CELL_LSTM && test_chance(test, 2))
        data->p = test_input(test, (size_t)(3 * s->directions * s->hidden));
    for (int d = 0; d < s->directions; d++)
        for (int f = 0; f < KERNEL_CELL_FUNCTIONS; f++)
            s->functions[d][f] = (struct kernel_gate){
                (enum kernel_gate_kind)test_range(test, GATE_AFFINE, GATE_THRESHOLDED_RELU), 0.5,
                0.25};
}

static void widen(struct test *test, const void **numbers, int64_t count)
{
    const float *from = *numbers;
    double *to = from ? test_output(test, (size_t)count * sizeof(*to)) : NULL;

    for (int64_t i = 0; from && i < count; i++)
        to[i] = (double)from[i];
    *numbers = to;
}

/* The same layer, of f64. */
static void widen_cells(struct test *test, struct kernel_recurrent *s,
                        struct kernel_recurrent_data *data, int64_t states, int64_t rows)
{
    s->dtype = KERNEL_F64;
    widen(test, &data->x, s->steps * s->batch * s->inputs);
    widen(test, &data->w, rows * s->inputs);
    widen(test, &data->r, rows * s->hidden);
    widen(test, &data->b, 2 * rows);
    widen(test, &data->p, 3 * s->directions * s->hidden);
    widen(test, &data->initial_h, states);
    widen(test, &data->initial_c, states);
}

static void compare_cells(struct test *test, const struct kernel_recurrent *s, const void *got,
                          const void *want, size_t count)
{
    const double *a = got, *b = want;

    if (s->dtype == KERNEL_F32)
        test_compare(test, got, want, count,
                     &(struct test_tolerance){.absolute = 1e-5, .relative = 1e-5});
    for (size_t i = 0; s->dtype == KERNEL_F64 && i < count; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-12 * (1.0 + fabs(b[i])))) {
            test_fail(test, "f64 %zu is %.17g, not %.17g", i, a[i], b[i]);
            return;
        }
}

/* Cells with their usual functions, of every length and direction, held to the reference. */
static void check_cells(struct test *test, const struct kernel_table *table)
{
    static const int gates[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4};
    struct kernel_recurrent s = {
        .cell = (enum kernel_cell)test_range(test, 0, 2),
        .dtype = KERNEL_F32,
        .steps = test_range(test, 1, 4),
        .batch = test_range(test, 1, test_chance(test, 3) ? 17 : 5),
        .inputs = test_range(test, 1, 20),
        .hidden = test_range(test, 1, 90),
        .directions = (int)test_range(test, 1, 2),
        .is_reverse = {test_chance(test, 2), true},
        .is_batch_first = test_chance(test, 2),
        .is_reset_last = test_chance(test, 2),
    };
    int64_t states = s.directions * s.batch * s.hidden,
            rows = s.directions * gates[s.cell] * s.hidden;
    void *out[3][3];
    float *r, *w, *packed;
    size_t bytes = sizeof(float);
    struct kernel_recurrent_data data = {0};
    int32_t *lengths = test_output(test, 17 * sizeof(*lengths));
    int rc = 0;

    for (int d = 0; d < s.directions; d++)
        for (int f = 0; f < KERNEL_CELL_FUNCTIONS; f++)
            s.functions[d][f].kind = s.cell != CELL_RNN && f == 0 ? GATE_SIGMOID : GATE_TANH;
    test_describe(test, "cell %d, %lld steps of %lld, %lld to %lld, %d directions", (int)s.cell,
                  (long long)s.steps, (long long)s.batch, (long long)s.inputs, (long long)s.hidden,
                  s.directions);
    data.x = test_input(test, (size_t)(s.steps * s.batch * s.inputs));
    data.w = w = test_input(test, (size_t)(rows * s.inputs));
    data.r = r = test_input(test, (size_t)(rows * s.hidden));
    for (int64_t i = 0; i < rows * s.inputs; i++)
        w[i] *= 0.2f;
    for (int64_t i = 0; i < rows * s.hidden; i++)
        r[i] *= 0.1f;
    data.b = test_chance(test, 2) ? test_input(test, (size_t)(2 * rows)) : NULL;
    data.initial_h = test_chance(test, 2) ? test_input(test, (size_t)states) : NULL;
    data.initial_c = test_chance(test, 2) ? test_input(test, (size_t)states) : NULL;
    for (int i = 0; i < 17; i++)
        lengths[i] = (int32_t)test_range(test, 0, s.steps);
    data.lengths = test_chance(test, 2) ? lengths : NULL;
    if (test_chance(test, 3))
        random_functions(test, &s, &data);
    if (test_chance(test, 3)) {
        widen_cells(test, &s, &data, states, rows);
        bytes = sizeof(double);
    }
    for (int side = 0; side < 3; side++) { /* the third: by one thread */
        for (int i = 0; i < 3; i++)
            out[side][i] = test_output(test, (size_t)(states * (i == 0 ? s.steps : 1)) * bytes);
        data.y = out[side][0];
        data.last_h = out[side][1];
        data.last_c = s.cell == CELL_LSTM ? out[side][2] : NULL;
        data.workspace = test_output(test, room_of(&s));
        if (side == 0) {
            TEST_RUN(test, TEST_REF, rc = recurrent_ref(&data, &s));
            continue;
        }
        if (side == 2) {
            kernel_set_threads(1);
            rc |= table->recurrent.fn(&data, &s);
            continue;
        }
        packed = test_output(test, kernel_recurrent_packed(&s));
        if (s.dtype == KERNEL_F32 && test_chance(test, 2)) {
            kernel_pack_recurrent(packed, data.r, &s);
            data.packed = packed;
        }
        TEST_RUN(test, TEST_NEW, rc |= table->recurrent.fn(&data, &s));
    }
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
    for (int i = 0; i < (s.cell == CELL_LSTM ? 3 : 2); i++) {
        size_t count = (size_t)(states * (i == 0 ? s.steps : 1));

        compare_cells(test, &s, out[1][i], out[0][i], count);
        test_compare_bytes(test, out[2][i], out[1][i], count * bytes);
    }
}

/* Regions in, across and outside of images that are not flat, held to the reference. */
static void check_roi_align_places(struct test *test, const struct kernel_table *table)
{
    struct kernel_roi_align s = {.dtype = KERNEL_F32,
                                 .index_type = test_chance(test, 2) ? KERNEL_I64 : KERNEL_I32,
                                 .is_max = test_chance(test, 2),
                                 .is_half_pixel = test_chance(test, 2),
                                 .batch = test_range(test, 1, 2),
                                 .channels = test_range(test, 1, 5),
                                 .in = {test_range(test, 1, 12), test_range(test, 1, 12)},
                                 .out = {test_range(test, 1, 9), test_range(test, 1, 9)},
                                 .regions = test_range(test, 1, 4),
                                 .samples = test_range(test, 0, 4),
                                 .scale = 0.5};
    size_t count = (size_t)(s.regions * s.channels * s.out[0] * s.out[1]);
    float *x = test_input(test, (size_t)(s.batch * s.channels * s.in[0] * s.in[1]));
    float *rois = test_input(test, (size_t)s.regions * 4);
    float *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));
    void *images = test_input_bytes(test, (size_t)s.regions * sizeof(int64_t));
    int rc = 0;

    test_describe(test, "%lld regions of %lldx%lld in %lldx%lld, %lld samples",
                  (long long)s.regions, (long long)s.out[0], (long long)s.out[1],
                  (long long)s.in[0], (long long)s.in[1], (long long)s.samples);
    for (int64_t r = 0; r < s.regions; r++) {
        int64_t image = test_range(test, 0, s.batch - 1);

        if (s.index_type == KERNEL_I64)
            ((int64_t *)images)[r] = image;
        else
            ((int32_t *)images)[r] = (int32_t)image;
        for (int i = 0; i < 4; i++)
            rois[4 * r + i] = (float)test_range(test, -8, 40) * 0.7f;
    }
    x[0] = test_chance(test, 3) ? NAN : x[0]; /* which counts for no sample outside */
    TEST_RUN(test, TEST_REF, rc = roi_align_ref(want, x, rois, images, &s));
    TEST_RUN(test, TEST_NEW, rc |= table->roi_align.fn(got, x, rois, images, &s));
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
    test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 1e-5});
}

/* With pads, strides and dilations, that leave some pixels unread. */
static void check_col2im(struct test *test, const struct kernel_table *table)
{
    struct kernel_col2im s = {.dtype = KERNEL_F32, .images = test_range(test, 0, 3)};
    struct test_tolerance tolerance = {.absolute = 2e-5};
    char text[TEST_WINDOW_BYTES];
    size_t x_count, y_count;
    float *x, *want, *got;

    test_wide_window(test, (int)test_range(test, 1, 3), &s.window);
    test_window_text(&s.window, text);
    test_describe(test, "%lld images, %s", (long long)s.images, text);
    x_count = y_count = (size_t)s.images;
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        x_count *= (size_t)(s.window.kernel[i] * s.window.out[i]);
        y_count *= (size_t)s.window.in[i];
    }
    x = test_input(test, x_count);
    want = test_output(test, y_count * sizeof(*want));
    got = test_output(test, y_count * sizeof(*got));
    TEST_RUN(test, TEST_REF, col2im_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->col2im.fn(got, x, &s));
    test_compare(test, got, want, y_count, &tolerance);
}

/* The sums of |w * mask * x| for each output: what rounding is held against. */
static float *deform_sizes(struct test *test, const struct kernel_deform_conv_data *d,
                           const struct kernel_deform_conv *s, size_t counts[4])
{
    struct kernel_deform_conv_data sizes = *d;
    const void *from[] = {d->x, d->w, d->bias, d->mask};
    float *to[4], *y = test_output(test, counts[0] * sizeof(*y));
    size_t lengths[] = {counts[1], counts[2], (size_t)s->filters, counts[3]};

    for (int i = 0; i < 4; i++) {
        to[i] = from[i] ? test_input(test, lengths[i]) : NULL;
        for (size_t k = 0; from[i] && k < lengths[i]; k++)
            to[i][k] = fabsf(((const float *)from[i])[k]);
    }
    sizes.y = y;
    sizes.x = to[0];
    sizes.w = to[1];
    sizes.bias = to[2];
    sizes.mask = to[3];
    deform_conv_ref(&sizes, s);
    return y;
}

/* Offsets that lead onto pixels, between them, outside and nowhere. */
static void random_offsets(struct test *test, float *offset, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (test_range(test, 0, 5)) {
        case 0:
            offset[i] = (float)test_range(test, -3, 3);
            break;
        case 1:
            offset[i] = (float)test_range(test, -12, 12) / 4.0f;
            break;
        case 2:
            if (test_chance(test, 6))
                offset[i] = test_chance(test, 2) ? NAN : test_chance(test, 2) ? INFINITY : -1e30f;
            break;
        default:
            offset[i] *= 3.0f;
        }
    }
}

static void check_deform_conv(struct test *test, const struct kernel_table *table)
{
    struct kernel_deform_conv s = {.dtype = KERNEL_F32, .rank = (int)test_range(test, 1, 3)};
    struct test_tolerance tolerance = {.absolute = 1e-6, .scale = 4e-6};
    struct kernel_deform_conv_data data = {0}, want;
    int64_t area = 1, places = 1, plane = 1, unit;
    size_t counts[4], offsets;
    char text[TEST_WINDOW_BYTES];

    test_wide_window(test, s.rank, &s.window);
    test_window_text(&s.window, text);
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        area *= s.window.kernel[i];
        places *= s.window.out[i];
        plane *= s.window.in[i];
    }
    s.groups = test_range(test, 1, 3);
    s.offset_groups = test_range(test, 1, 2);
    unit = s.groups * s.offset_groups;
    s.channels = unit * test_range(test, 1, 2);
    s.filters = s.groups * test_range(test, 0, 3);
    s.batch = test_range(test, 0, 2);
    test_describe(test, "%lld images, %lld to %lld channels, %lld and %lld groups, %s",
                  (long long)s.batch, (long long)s.channels, (long long)s.filters,
                  (long long)s.groups, (long long)s.offset_groups, text);
    counts[0] = (size_t)(s.batch * s.filters * places);
    counts[1] = (size_t)(s.batch * s.channels * plane);
    counts[2] = (size_t)(s.filters * s.channels / s.groups * area);
    counts[3] = (size_t)(s.batch * s.offset_groups * area * places);
    offsets = counts[3] * (size_t)s.rank;
    data.x = test_input(test, counts[1]);
    data.w = test_input(test, counts[2]);
    data.offset = test_input(test, offsets);
    data.bias = test_chance(test, 2) ? test_input(test, (size_t)s.filters) : NULL;
    data.mask = test_chance(test, 2) ? test_input(test, counts[3]) : NULL;
    data.y = test_output(test, counts[0] * sizeof(float));
    data.workspace = test_output(test, kernel_deform_conv_room(&s));
    want = data;
    want.y = test_output(test, counts[0] * sizeof(float));
    random_offsets(test, (float *)data.offset, offsets);
    tolerance.allowed = deform_sizes(test, &data, &s, counts);
    TEST_RUN(test, TEST_REF, deform_conv_ref(&want, &s));
    TEST_RUN(test, TEST_NEW, table->deform_conv.fn(&data, &s));
    test_compare(test, data.y, want.y, counts[0], &tolerance);
}

/* Moved by a whole pixel it is the convolution whose window begins a pixel further on. */
static void check_deform_moved(struct test *test, const struct kernel_table *table)
{
    int64_t moved = test_range(test, -2, 2), groups = test_range(test, 1, 2);
    int64_t size = test_range(test, 3, 40), taps = test_range(test, 1, 3);
    struct kernel_deform_conv s = {
        .dtype = KERNEL_F32,
        .rank = 1,
        .batch = 1,
        .channels = groups * test_range(test, 1, 3),
        .filters = groups,
        .groups = groups,
        .offset_groups = 1,
        .window = {.in = {1, 1, size},
                   .out = {1, 1, size - taps + 1},
                   .kernel = {1, 1, taps},
                   .stride = {1, 1, 1},
                   .dilation = {1, 1, 1}},
    };
    struct kernel_convolve plain = {.x_type = KERNEL_F32,
                                    .w_type = KERNEL_F32,
                                    .y_type = KERNEL_F32,
                                    .batch = 1,
                                    .channels = s.channels,
                                    .filters = s.filters,
                                    .groups = groups,
                                    .window = s.window};
    size_t count = (size_t)(s.filters * s.window.out[2]),
           offsets = (size_t)(taps * (size - taps + 1));
    float *x = test_input(test, (size_t)(s.channels * size)), *offset = test_input(test, offsets);
    float *w = test_input(test, (size_t)(s.channels / groups * s.filters * taps));
    float *got = test_output(test, count * sizeof(float));
    float *want = test_output(test, count * sizeof(float));
    struct kernel_deform_conv_data data = {.y = got, .x = x, .w = w, .offset = offset};

    test_describe(test, "%lld taps over %lld, moved by %lld", (long long)taps, (long long)size,
                  (long long)moved);
    for (size_t i = 0; i < offsets; i++)
        offset[i] = (float)moved;
    data.workspace = test_output(test, kernel_deform_conv_room(&s));
    plain.window.pad_begin[2] = -moved;
    plain.window.pad_end[2] = moved;
    TEST_RUN(test, TEST_REF,
             convolve_ref(&(struct kernel_convolve_data){.y = want, .x = x, .w = w}, &plain));
    TEST_RUN(test, TEST_NEW, table->deform_conv.fn(&data, &s));
    test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 1e-5});
}

/* The grid that is not turned leads GridSample to the pixels themselves; one that is moves them. */
static void check_affine_grid(struct test *test, const struct kernel_table *table)
{
    struct kernel_affine_grid s = {.dtype = KERNEL_F32,
                                   .align_corners = test_chance(test, 2),
                                   .batch = test_range(test, 0, 2),
                                   .rank = (int)test_range(test, 2, 3)};
    struct kernel_grid_sample sample = {.dtype = KERNEL_F32,
                                        .grid_type = KERNEL_F32,
                                        .mode = SAMPLE_LINEAR,
                                        .align_corners = s.align_corners,
                                        .batch = s.batch,
                                        .channels = 1,
                                        .rank = s.rank,
                                        .points = 1};
    int64_t rank = s.rank, flipped = test_range(test, -1, rank - 1);
    size_t count;
    float *x, *y, *want, *grid, *theta = test_input(test, (size_t)(s.batch * rank * (rank + 1)));

    for (int i = 0; i < s.rank; i++)
        sample.points *= s.out[i] = sample.in[i] = test_range(test, 1, 5);
    count = (size_t)(s.batch * sample.points);
    x = test_input(test, count);
    y = test_output(test, count * sizeof(*y));
    want = test_output(test, count * sizeof(*want));
    grid = test_output(test, count * (size_t)rank * sizeof(*grid));
    test_describe(test, "%lld images of rank %d, align %d, flipped %lld", (long long)s.batch,
                  s.rank, s.align_corners, (long long)flipped);
    for (int64_t i = 0; i < s.batch * rank * (rank + 1); i++) {
        int64_t row = i / (rank + 1) % rank, column = i % (rank + 1);

        theta[i] = row != column ? 0.0f : row == flipped ? -1.0f : 1.0f;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t rest = (int64_t)i, from = (int64_t)i / sample.points, at[KERNEL_SPATIAL];

        for (int axis = s.rank - 1; axis >= 0; axis--) {
            at[axis] = rest % s.out[axis];
            rest /= s.out[axis];
            if (rank - 1 - axis == flipped)
                at[axis] = s.out[axis] - 1 - at[axis];
        }
        for (int axis = 0; axis < s.rank; axis++)
            from = from * s.out[axis] + at[axis];
        want[i] = x[from];
    }
    TEST_RUN(test, TEST_NEW, table->affine_grid.fn(grid, theta, &s));
    grid_sample_ref(y, x, grid, &sample);
    test_compare(test, y, want, count, &(struct test_tolerance){.absolute = 1e-4});
}

/* What was put there is found there, and nothing else; an index beyond is refused. */
static void check_max_unpool(struct test *test, const struct kernel_table *table)
{
    struct kernel_max_unpool s = {.element_bytes = sizeof(float),
                                  .x_count = test_range(test, 0, 20)};
    float *x = test_input(test, (size_t)s.x_count), *y, sum = 0.0f;
    int64_t *indices = test_input_bytes(test, (size_t)s.x_count * sizeof(*indices)), filled = 0;
    int64_t step = test_range(test, 1, 3);
    int rc = 0;

    s.y_count = s.x_count * step + test_range(test, 0, 3);
    y = test_output(test, (size_t)s.y_count * sizeof(*y));
    test_describe(test, "%lld of %lld", (long long)s.x_count, (long long)s.y_count);
    for (int64_t i = 0; i < s.x_count; i++) {
        x[i] = (float)(i + 1);
        indices[i] = (s.x_count - 1 - i) * step;
    }
    TEST_RUN(test, TEST_NEW, rc = table->max_unpool.fn(y, x, indices, &s));
    for (int64_t i = 0; i < s.y_count; i++) {
        filled += y[i] != 0.0f;
        sum += y[i];
    }
    if (rc != 0 || filled != s.x_count || sum != (float)(s.x_count * (s.x_count + 1) / 2))
        test_fail(test, "it returned %d, with %lld numbers", rc, (long long)filled);
    for (int64_t i = 0; i < s.x_count; i++)
        if (y[indices[i]] != x[i])
            test_fail(test, "element %lld is %g", (long long)i, (double)y[indices[i]]);
    if (s.x_count == 0)
        return;
    indices[s.x_count - 1] = test_chance(test, 2) ? s.y_count : -1;
    if (table->max_unpool.fn(y, x, indices, &s) != -1)
        test_fail(test, "index %lld is not refused", (long long)indices[s.x_count - 1]);
}

const struct test_op test_ops_vision[] = {
    {"affine_grid", check_affine_grid, offsetof(struct kernel_table, affine_grid)},
    {"max_unpool", check_max_unpool, offsetof(struct kernel_table, max_unpool)},
    {"deform_conv", check_deform_conv, offsetof(struct kernel_table, deform_conv)},
    {"deform_conv_moved", check_deform_moved, offsetof(struct kernel_table, deform_conv)},
    {"col2im", check_col2im, offsetof(struct kernel_table, col2im)},
    {"nms_boxes", check_nms_boxes, offsetof(struct kernel_table, nms)},
    {"recurrent", check_recurrent, offsetof(struct kernel_table, recurrent)},
    {"recurrent_cells", check_cells, offsetof(struct kernel_table, recurrent)},
    {"grid_sample", check_grid_sample, offsetof(struct kernel_table, grid_sample)},
    {"grid_sample_places", check_grid_places, offsetof(struct kernel_table, grid_sample)},
    {"roi_align", check_roi_align, offsetof(struct kernel_table, roi_align)},
    {"roi_max", check_roi_max, offsetof(struct kernel_table, roi_max)},
    {"roi_align_places", check_roi_align_places, offsetof(struct kernel_table, roi_align)},
    {"nms", check_nms, offsetof(struct kernel_table, nms)},
};
const size_t test_ops_vision_count = sizeof(test_ops_vision) / sizeof(test_ops_vision[0]);
