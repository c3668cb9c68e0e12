/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolutions whose windows overlap, as those of vocoders and of networks that make images: with
 * channels last each place of x and the windows give a row of numbers, which is a product,
 * [places, channels] by [channels, window and filters], and is added to y where the window lies. So many rows of
 * x at once that what they give stays in a cache between the two. oneDNN would keep all of it, and makes code
 * for its product at the first run.
 */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/gemm_panels.h"

static const char prefix[] = "added:";

enum { STRIP_BYTES = 256 * 1024 };

struct added_plan {
    struct kernel_conv_plan base;
    struct kernel_conv shape;
    struct gemm_panels panels; /* of one row of x */
    const float *weights;
    const float *zeros, *bias; /* of the product, and of y; NULL: none */
    int64_t rows;              /* of x at once */
};

/* Some rows of x, of one image, on their way to y. */
struct adding {
    const struct added_plan *plan;
    const float *product;
    float *y;
    int64_t begin, end; /* rows of x */
    int64_t first0, first1,
        row_count; /* rows of y: where they begin, and of the last axis but one */
};

static int64_t window_of(const struct kernel_conv *s)
{
    return s->window.kernel[0] * s->window.kernel[1] * s->window.kernel[2];
}

static bool is_possible(const struct kernel_conv *s, struct gemm_panels *panels)
{
    static const struct kernel_activation none;
    const struct kernel_window *w = &s->window;
    struct kernel_gemm product = {.m = w->out[2], .n = window_of(s) * s->filters, .k = s->channels};

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        if (w->in[i] < 1 || w->out[i] < 1)
            return false;
    return s->is_transposed && s->channels_last && s->groups == 1 && s->batch >= 1 &&
           s->channels >= 1 && s->filters >= 1 && s->activation.kind == KERNEL_IDENTITY &&
           gemm_panels_init_widest(panels, &product, &none);
}

static bool name_of(const struct kernel_conv *shape, char out_name[KERNEL_CONV_VERSION_BYTES])
{
    struct gemm_panels panels;
    const char *isa;

    if (!is_possible(shape, &panels))
        return false;
    isa = strchr(panels.version, ':');
    snprintf(out_name, KERNEL_CONV_VERSION_BYTES, "%s%s", prefix, isa ? isa + 1 : panels.version);
    return true;
}

void conv_added_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions)
{
    if (versions->count < KERNEL_CONV_VERSIONS_MAX &&
        name_of(shape, versions->items[versions->count].name))
        conv_versions_add_own(versions);
}

/* Faster than oneDNN's direct kernels, too, but for a few places: those read more weights than they multiply, and
 * with AVX-512 oneDNN's do so faster for some more. */
const char *conv_added_prefer(const struct kernel_conv *shape,
                              char out_name[KERNEL_CONV_VERSION_BYTES])
{
    enum { PLACES_MIN = 4, WIDE_PLACES_MIN = 32 };
    const int64_t *out = shape->window.out;
    int64_t least = kernel_best_level() >= KERNEL_LEVEL_AVX512 ? WIDE_PLACES_MIN : PLACES_MIN;

    if (!name_of(shape, out_name) || shape->batch * out[0] * out[1] * out[2] < least)
        return NULL;
    return out_name;
}

/* y[at + i] += product[i], of as much of a window's row as lies in y. */
static void add_row(const struct added_plan *plan, float *restrict y, const float *restrict product)
{
    const struct kernel_window *w = &plan->shape.window;
    int64_t filters = plan->shape.filters, n = plan->panels.n;

    for (int64_t i = 0; i < w->out[2]; i++, product += n) {
        int64_t at = i * w->stride[2] - w->pad_begin[2];

        for (int64_t k = 0; k < w->kernel[2]; k++, at += w->dilation[2]) {
            if (at < 0 || at >= w->in[2])
                continue;
            for (int64_t f = 0; f < filters; f++)
                y[at * filters + f] += product[k * filters + f];
        }
    }
}

/* The same without gaps in the window, whose row is added at once. */
static void add_dense_row(const struct added_plan *plan, float *restrict y,
                          const float *restrict product)
{
    const struct kernel_window *w = &plan->shape.window;
    int64_t filters = plan->shape.filters, n = plan->panels.n;

    for (int64_t i = 0; i < w->out[2]; i++, product += n) {
        int64_t at = i * w->stride[2] - w->pad_begin[2];
        int64_t from = at < 0 ? -at : 0;
        int64_t to = w->in[2] - at < w->kernel[2] ? w->in[2] - at : w->kernel[2];

        for (int64_t j = from * filters; j < to * filters; j++)
            y[at * filters + j] += product[j];
    }
}

/* Of one axis, the place of x whose window has its element `k` at `o`; -1: none. */
static int64_t source_of(const struct kernel_window *w, int axis, int64_t o, int64_t k)
{
    int64_t u = o + w->pad_begin[axis] - k * w->dilation[axis];

    if (u < 0 || u % w->stride[axis] != 0 || u / w->stride[axis] >= w->out[axis])
        return -1;
    return u / w->stride[axis];
}

/* Each row of y takes what there is for it, so that rows can be shared out. */
static void add_rows(void *argument, int64_t begin, int64_t end)
{
    const struct adding *a = argument;
    const struct added_plan *plan = a->plan;
    const struct kernel_window *w = &plan->shape.window;
    int64_t filters = plan->shape.filters;

    for (int64_t at = begin; at < end; at++) {
        int64_t o0 = a->first0 + at / a->row_count, o1 = a->first1 + at % a->row_count;
        float *y = a->y + (o0 * w->in[1] + o1) * w->in[2] * filters;

        for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
            int64_t i0 = source_of(w, 0, o0, k / w->kernel[1]);
            int64_t i1 = source_of(w, 1, o1, k % w->kernel[1]);
            int64_t row = i0 < 0 || i1 < 0 ? -1 : i0 * w->out[1] + i1;
            const float *product;

            if (row < a->begin || row >= a->end)
                continue;
            product = a->product + (row - a->begin) * w->out[2] * plan->panels.n +
                      k * w->kernel[2] * filters;
            if (w->dilation[2] == 1)
                add_dense_row(plan, y, product);
            else
                add_row(plan, y, product);
        }
    }
}

/* Which rows of y an axis of x reaches, from `begin` to `end`. */
static void find_reach(const struct kernel_window *w, int axis, int64_t begin, int64_t end,
                       int64_t *out_first, int64_t *out_count)
{
    int64_t first = begin * w->stride[axis] - w->pad_begin[axis];
    int64_t behind = (end - 1) * w->stride[axis] - w->pad_begin[axis] +
                     (w->kernel[axis] - 1) * w->dilation[axis] + 1;

    first = first < 0 ? 0 : first;
    behind = behind > w->in[axis] ? w->in[axis] : behind;
    *out_first = first;
    *out_count = behind > first ? behind - first : 0;
}

static void add_strip(struct adding *a)
{
    enum { GRAIN_BYTES = 32 * 1024 };
    const struct kernel_window *w = &a->plan->shape.window;
    int64_t first_plane = a->begin / w->out[1], last_plane = (a->end - 1) / w->out[1], planes;
    int64_t row_bytes = w->in[2] * a->plan->shape.filters * (int64_t)sizeof(float);

    find_reach(w, 0, first_plane, last_plane + 1, &a->first0, &planes);
    if (first_plane == last_plane)
        find_reach(w, 1, a->begin % w->out[1], (a->end - 1) % w->out[1] + 1, &a->first1,
                   &a->row_count);
    else
        find_reach(w, 1, 0, w->out[1], &a->first1, &a->row_count);
    if (a->row_count > 0)
        team_for(planes * a->row_count, GRAIN_BYTES / row_bytes + 1, add_rows, a);
}

/* What y is before anything is added. */
static void begin_image(const struct added_plan *plan, float *restrict y)
{
    const struct kernel_window *w = &plan->shape.window;
    int64_t places = w->in[0] * w->in[1] * w->in[2], filters = plan->shape.filters;

    if (!plan->bias)
        memset(y, 0, (size_t)(places * filters) * sizeof(*y));
    for (int64_t i = 0; plan->bias && i < places; i++)
        memcpy(y + i * filters, plan->bias, (size_t)filters * sizeof(*y));
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    const struct added_plan *plan = (const struct added_plan *)base;
    const struct kernel_conv *s = &plan->shape;
    const struct kernel_window *w = &s->window;
    int64_t x_rows = w->out[0] * w->out[1], x_row = w->out[2] * s->channels;
    size_t y_count = (size_t)(w->in[0] * w->in[1] * w->in[2] * s->filters);
    struct adding adding = {.plan = plan, .product = workspace, .y = y};
    struct gemm_panels panels = plan->panels;
    const float *image = x;

    for (int64_t b = 0; b < s->batch; b++, adding.y += y_count, image += x_rows * x_row) {
        begin_image(plan, adding.y);
        for (int64_t row = 0; row < x_rows; row += plan->rows) {
            adding.begin = row;
            adding.end = row + plan->rows < x_rows ? row + plan->rows : x_rows;
            panels.m = (adding.end - adding.begin) * w->out[2];
            gemm_panels_run(&panels, workspace, image + row * x_row, plan->weights, plan->zeros);
            add_strip(&adding);
        }
    }
    return 0;
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct added_plan *plan = (struct added_plan *)base;

    plan->weights = weights;
    plan->zeros = bias;
    plan->bias = plan->bias ? bias + gemm_panels_bias_bytes(&plan->panels) / sizeof(float) : NULL;
}

static void destroy(struct kernel_conv_plan *plan)
{
    free(plan->weights);
    free(plan);
}

/* From [channels, filters, kernel...] to [channels, kernel..., filters]; the caller frees it. */
static float *turn(const struct kernel_conv *s, const float *w)
{
    int64_t window = window_of(s);
    float *turned = malloc((size_t)(s->channels * window * s->filters) * sizeof(*turned) + 1);

    for (int64_t c = 0; turned && c < s->channels; c++)
        for (int64_t f = 0; f < s->filters; f++)
            for (int64_t k = 0; k < window; k++)
                turned[(c * window + k) * s->filters + f] = w[(c * s->filters + f) * window + k];
    return turned;
}

static int set_weights(struct added_plan *plan, const struct conv_request *request)
{
    size_t zeros_bytes = gemm_panels_bias_bytes(&plan->panels);
    size_t bias_bytes = request->bias ? (size_t)request->shape->filters * sizeof(float) : 0;
    struct kernel_conv_plan *base = &plan->base;
    float *turned = turn(request->shape, request->w), *bias;

    base->w_bytes = gemm_panels_weights_bytes(&plan->panels);
    base->weights_bytes = base->w_bytes + zeros_bytes + conv_round_up(bias_bytes);
    base->weights = turned ? aligned_alloc(64, base->weights_bytes) : NULL;
    if (!base->weights) {
        free(turned);
        return -ENOMEM;
    }
    bias = (float *)(void *)((char *)base->weights + base->w_bytes);
    gemm_panels_pack(&plan->panels, base->weights, turned, false);
    gemm_panels_pack_bias(&plan->panels, bias, NULL);
    if (request->bias)
        memcpy((char *)bias + zeros_bytes, request->bias, bias_bytes);
    plan->bias = request->bias;
    place(base, base->weights, bias);
    free(turned);
    return 0;
}

int conv_added_create(const struct conv_request *request, const char *version,
                      struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    const struct kernel_conv *s = request->shape;
    char name[KERNEL_CONV_VERSION_BYTES];
    struct added_plan *plan;
    int64_t row_bytes;

    if (!name_of(s, name) || strcmp(name, version) != 0 || request->has_residual)
        return -ENOTSUP;
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    is_possible(s, &plan->panels);
    plan->base.type = &type;
    plan->shape = *s;
    memcpy(plan->base.version, name, sizeof(name));
    row_bytes = plan->panels.m * plan->panels.n * (int64_t)sizeof(float);
    plan->rows = row_bytes < STRIP_BYTES ? STRIP_BYTES / row_bytes : 1;
    if (plan->rows > s->window.out[0] * s->window.out[1])
        plan->rows = s->window.out[0] * s->window.out[1];
    plan->base.workspace_bytes = conv_round_up((size_t)(plan->rows * row_bytes));
    if (set_weights(plan, request) < 0) {
        destroy(&plan->base);
        return -ENOMEM;
    }
    *out_plan = &plan->base;
    return 0;
}
