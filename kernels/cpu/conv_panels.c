/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions as products by weights in panels: a row for each place of the window. Without AVX-512 of small images
 * by weights of half precision, since to widen all weights first takes as long as to multiply them so few times; and
 * along lines, as those of audio: what a window sees lies together there, so that nothing is unrolled, and weights
 * that are read once for many places take less than oneDNN's kernels, which read them for each three. With AVX-512
 * short work along lines, with gaps in the window, too: oneDNN's kernels need milliseconds to write their code. Where
 * there are few filters, neighbouring places are columns of the product, too, each with its weights further down.
 */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/gemm_panels.h"

enum {
    PLACES_MAX = 64,       /* of the window, in all images */
    WEIGHTS_MIN = 1 << 12, /* fewer stay in the cache once they are widened */
};

struct panels_plan {
    struct kernel_conv_plan base;
    struct kernel_conv shape;
    struct gemm_panels panels;
    const void *weights; /* of which a caller may have a copy */
    const float *bias;
    bool is_line, unrolls; /* neither: x is what is multiplied */
    int64_t line;          /* elements that windows along a line reach over */
    bool has_residual;     /* then the product comes behind what is unrolled, and is added */
    size_t product_offset; /* in the workspace */
    binary_fn *add;
    unary_f32_fn *activate; /* what was added to; NULL: nothing does */
};

static int64_t taps_of(const struct kernel_conv *s)
{
    return s->window.kernel[0] * s->window.kernel[1] * s->window.kernel[2];
}

/* Elements that windows reach over, from the first one's begin. */
static int64_t line_of(const struct kernel_window *w)
{
    return (w->out[2] - 1) * w->stride[2] + w->kernel[2];
}

/* Images of one axis, of whose elements a window sees neighbours, with pads that no window lies in. */
static bool is_along_line(const struct kernel_conv *s)
{
    const struct kernel_window *w = &s->window;

    for (int i = 0; i < 2; i++)
        if (w->in[i] != 1 || w->out[i] != 1 || w->kernel[i] != 1 || w->pad_begin[i] != 0)
            return false;
    return w->kernel[2] > 1 && w->dilation[2] == 1 && w->in[2] >= 1 && w->out[2] >= 1 &&
           w->pad_begin[2] >= 0 && w->pad_begin[2] < w->kernel[2] &&
           line_of(w) < w->in[2] + w->pad_begin[2] + w->kernel[2];
}

static bool has_avx512(void)
{
    return kernel_best_level() >= KERNEL_LEVEL_AVX512;
}

/* The same with gaps in the window, for which what it sees is put together first. */
static bool is_along_gaps(const struct kernel_conv *s)
{
    enum { UNROLLED_MAX = 1 << 18 }; /* elements */
    struct kernel_conv dense = *s;

    dense.window.dilation[2] = 1;
    dense.window.kernel[2] = (s->window.kernel[2] - 1) * s->window.dilation[2] + 1;
    return s->window.dilation[2] > 1 && s->window.kernel[2] > 1 && is_along_line(&dense) &&
           s->batch * s->window.out[2] * s->window.kernel[2] * s->channels <= UNROLLED_MAX;
}

/* Neighbours that are columns of one row: so many that they fill a register of AVX-512. Those of all rows are the
 * places. Nothing lies between windows, which would be multiplied by 0. */
static int64_t neighbours_of(const struct kernel_conv *s)
{
    enum { COLUMNS = 16 };
    int64_t count = 1;

    if (s->types.weights != KERNEL_F32 || !has_avx512() || !is_along_line(s) ||
        s->window.stride[2] > s->window.kernel[2])
        return 1;
    while (2 * count * s->filters <= COLUMNS && s->window.out[2] % (2 * count) == 0)
        count *= 2;
    return count;
}

/* From what the first of them sees to what the last one does. */
static int64_t shift_of(const struct kernel_conv *s)
{
    return (neighbours_of(s) - 1) * s->window.stride[2];
}

static int64_t places_of(const struct kernel_conv *s)
{
    return s->batch * s->window.out[0] * s->window.out[1] * s->window.out[2];
}

static struct kernel_gemm product_of(const struct kernel_conv *s)
{
    int64_t neighbours = neighbours_of(s);

    return (struct kernel_gemm){.m =
                                    is_along_line(s) ? s->window.out[2] / neighbours : places_of(s),
                                .n = s->filters * neighbours,
                                .k = (taps_of(s) + shift_of(s)) * s->channels,
                                .trans_b = true,
                                .types = s->types};
}

static bool is_possible(const struct kernel_conv *s, bool has_residual, struct gemm_panels *panels)
{
    static const struct kernel_activation none;
    struct kernel_gemm product = product_of(s);
    bool is_wide = s->types.weights == KERNEL_F32 && has_avx512();
    const struct kernel_activation *activation = has_residual ? &none : &s->activation;

    if (s->types.weights == KERNEL_F32 ? !is_along_line(s) && !(is_wide && is_along_gaps(s))
                                       : places_of(s) > PLACES_MAX)
        return false;
    if (s->is_transposed || !s->channels_last || s->groups != 1 || s->batch < 1 || product.m < 1 ||
        product.n < 1 || s->activation.kind >= KERNEL_UNARY_COUNT)
        return false;
    if (is_wide)
        return gemm_panels_init_widest(panels, &product, activation);
    return product.n * product.k >= WEIGHTS_MIN && gemm_panels_init(panels, &product, activation);
}

/* What is not finite is in neighbours' results, too, as it is in those of merged groups. */
static void write_name(const struct kernel_conv *s, const struct gemm_panels *panels,
                       char out_name[KERNEL_CONV_VERSION_BYTES])
{
    snprintf(out_name, KERNEL_CONV_VERSION_BYTES, "%s%s", neighbours_of(s) > 1 ? "merged:" : "",
             panels->version);
}

static const char *name_of(const struct kernel_conv *shape,
                           char out_name[KERNEL_CONV_VERSION_BYTES])
{
    struct gemm_panels panels;

    if (!is_possible(shape, false, &panels))
        return NULL;
    write_name(shape, &panels, out_name);
    return out_name;
}

/* Weights of f32: where those of oneDNN's kernels have parts of registers, or more than the caches hold. */
static bool is_worth(const struct kernel_conv *s)
{
    enum { LANES = 8, LEAST_DEPTH = 128, MANY_WEIGHTS = 1 << 19, SHORT_WORK = 1 << 21 };
    struct kernel_gemm product = product_of(s);

    if (has_avx512()) /* run some thousand times, oneDNN's would be worth their code */
        return s->batch * product.m * product.n * product.k <= SHORT_WORK && product.n >= LANES;
    return product.k >= LEAST_DEPTH && (s->channels % LANES != 0 || s->filters % LANES != 0 ||
                                        product.n * product.k >= MANY_WEIGHTS);
}

const char *conv_panels_prefer(const struct kernel_conv *shape,
                               char out_name[KERNEL_CONV_VERSION_BYTES])
{
    return shape->types.weights != KERNEL_F32 || is_worth(shape) ? name_of(shape, out_name) : NULL;
}

void conv_panels_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions)
{
    if (versions->count < KERNEL_CONV_VERSIONS_MAX &&
        name_of(shape, versions->items[versions->count].name))
        conv_versions_add_own(versions);
}

/* What the window sees at one place: channels of each tap, zeros where that is outside. */
static float *unroll_place(const struct kernel_conv *s, float *to, const float *x,
                           const int64_t at[KERNEL_SPATIAL])
{
    const struct kernel_window *w = &s->window;
    size_t bytes = (size_t)s->channels * sizeof(*x);
    int64_t k[KERNEL_SPATIAL], in[KERNEL_SPATIAL];

    for (int64_t tap = 0; tap < taps_of(s); tap++, to += s->channels) {
        bool is_inside = true;

        k[2] = tap % w->kernel[2];
        k[1] = tap / w->kernel[2] % w->kernel[1];
        k[0] = tap / w->kernel[2] / w->kernel[1];
        for (int i = 0; i < KERNEL_SPATIAL; i++) {
            in[i] = at[i] * w->stride[i] - w->pad_begin[i] + k[i] * w->dilation[i];
            is_inside = is_inside && in[i] >= 0 && in[i] < w->in[i];
        }
        if (is_inside)
            memcpy(to, x + ((in[0] * w->in[1] + in[1]) * w->in[2] + in[2]) * s->channels, bytes);
        else
            memset(to, 0, bytes);
    }
    return to;
}

/* Four numbers at a time: there are too few in a tap for a call of memcpy(). */
static void copy_tap(float *to, const float *x, int64_t count)
{
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    int64_t i = 0;

    for (; i + 4 <= count; i += 4)
        *(four *)(to + i) = *(const four *)(x + i);
    for (; i < count; i++)
        to[i] = x[i];
}

/* The same along lines. */
static void unroll_lines(const struct kernel_conv *s, float *to, const float *x)
{
    const struct kernel_window *w = &s->window;
    int64_t count = s->channels;

    for (int64_t b = 0; b < s->batch; b++, x += w->in[2] * count) {
        for (int64_t o = 0; o < w->out[2]; o++) {
            int64_t at = o * w->stride[2] - w->pad_begin[2];

            for (int64_t k = 0; k < w->kernel[2]; k++, at += w->dilation[2], to += count) {
                if (at >= 0 && at < w->in[2])
                    copy_tap(to, x + at * count, count);
                else
                    memset(to, 0, (size_t)count * sizeof(*to));
            }
        }
    }
}

static void unroll(const struct kernel_conv *s, float *to, const float *x)
{
    const struct kernel_window *w = &s->window;
    int64_t at[KERNEL_SPATIAL];

    for (int64_t b = 0; b < s->batch; b++, x += w->in[0] * w->in[1] * w->in[2] * s->channels)
        for (at[0] = 0; at[0] < w->out[0]; at[0]++)
            for (at[1] = 0; at[1] < w->out[1]; at[1]++)
                for (at[2] = 0; at[2] < w->out[2]; at[2]++)
                    to = unroll_place(s, to, x, at);
}

/* An image of one axis between zeros, as far as windows reach; x itself where they stay within it. */
static const float *between_zeros(const struct panels_plan *plan, float *to, const float *x)
{
    const struct kernel_window *w = &plan->shape.window;
    int64_t begin = w->pad_begin[2] < plan->line ? w->pad_begin[2] : plan->line;
    int64_t count = plan->line - begin < w->in[2] ? plan->line - begin : w->in[2];
    size_t unit = (size_t)plan->shape.channels;

    if (begin == 0 && count == plan->line)
        return x;
    memset(to, 0, (size_t)begin * unit * sizeof(*to));
    memcpy(to + (size_t)begin * unit, x, (size_t)count * unit * sizeof(*to));
    memset(to + (size_t)(begin + count) * unit, 0,
           (size_t)(plan->line - begin - count) * unit * sizeof(*to));
    return to;
}

static void run_lines(const struct panels_plan *plan, float *y, const float *x, float *image)
{
    const struct kernel_conv *s = &plan->shape;

    for (int64_t b = 0; b < s->batch; b++) {
        gemm_panels_run(&plan->panels, y, between_zeros(plan, image, x), plan->weights, plan->bias);
        x += s->window.in[2] * s->channels;
        y += plan->panels.m * plan->panels.n;
    }
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    struct panels_plan *plan = (struct panels_plan *)base;
    size_t images = plan->is_line ? (size_t)plan->shape.batch : 1;
    size_t count = images * (size_t)(plan->panels.m * plan->panels.n);
    struct kernel_broadcast flat = {
        .rank = 1, .dims = {(int64_t)count}, .a_stride = {1}, .b_stride = {1}};
    void *product = plan->has_residual ? (char *)workspace + plan->product_offset : y;

    if (plan->unrolls) {
        if (is_along_gaps(&plan->shape))
            unroll_lines(&plan->shape, workspace, x);
        else
            unroll(&plan->shape, workspace, x);
        x = workspace;
    }
    if (plan->is_line)
        run_lines(plan, product, x, workspace);
    else
        gemm_panels_run(&plan->panels, product, x, plan->weights, plan->bias);
    if (plan->has_residual)
        plan->add(y, y, product, &flat);
    if (plan->activate)
        plan->activate(y, y, count, plan->shape.activation.a, plan->shape.activation.b);
    return 0;
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct panels_plan *plan = (struct panels_plan *)base;

    plan->weights = weights;
    plan->bias = bias;
}

static void destroy(struct kernel_conv_plan *plan)
{
    free(plan->weights);
    free(plan);
}

/* A window of one element that takes each of the image's. */
static bool is_pointwise(const struct kernel_conv *s)
{
    const struct kernel_window *w = &s->window;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->pad_begin[i] != 0 || w->in[i] != w->out[i])
            return false;
    return true;
}

#define TURN(type)                                                                                 \
    static void turn_##type(const struct kernel_conv *s, type *restrict to,                        \
                            const type *restrict w)                                                \
    {                                                                                              \
        int64_t taps = taps_of(s), line = (taps + shift_of(s)) * s->channels;                      \
                                                                                                   \
        for (int64_t f = 0; f < s->filters; f++, to += line)                                       \
            for (int64_t c = 0; c < s->channels; c++, w += taps)                                   \
                for (int64_t tap = 0; tap < taps; tap++)                                           \
                    to[tap * s->channels + c] = w[tap];                                            \
    }
TURN(uint16_t)
TURN(uint32_t)

/* The columns of the other neighbours, between zeros, from those of the first. */
static void add_neighbours(const struct kernel_conv *s, float *turned)
{
    int64_t neighbours = neighbours_of(s), step = s->window.stride[2] * s->channels;
    int64_t count = taps_of(s) * s->channels, line = count + shift_of(s) * s->channels;

    for (int64_t i = 1; i < neighbours; i++)
        for (int64_t f = 0; f < s->filters; f++)
            memcpy(turned + (i * s->filters + f) * line + i * step, turned + f * line,
                   (size_t)count * sizeof(*turned));
}

/* Channels of a tap side by side, as they are unrolled. NULL without memory; the caller frees it. */
static void *turn(const struct panels_plan *plan, const void *w)
{
    const struct kernel_conv *s = &plan->shape;
    size_t bytes = kernel_dtype_bytes(s->types.weights);
    void *turned = calloc((size_t)(plan->panels.n * plan->panels.k) + 1, bytes);

    if (turned && bytes == 2)
        turn_uint16_t(s, turned, w);
    else if (turned)
        turn_uint32_t(s, turned, w);
    if (turned && neighbours_of(s) > 1)
        add_neighbours(s, turned);
    return turned;
}

/* The bias of the filters once more for each neighbour. */
static void repeat_bias(const struct kernel_conv *s, float *bias)
{
    for (int64_t i = s->filters; i < s->filters * neighbours_of(s); i++)
        bias[i] = bias[i - s->filters];
}

static int set_weights(struct panels_plan *plan, const struct conv_request *request)
{
    struct kernel_conv_plan *base = &plan->base;
    struct gemm_panels filters = plan->panels;
    void *turned = NULL;
    float *bias;

    base->w_bytes = gemm_panels_weights_bytes(&plan->panels);
    base->weights_bytes = base->w_bytes + gemm_panels_bias_bytes(&plan->panels);
    base->weights = aligned_alloc(64, base->weights_bytes);
    if (base->weights && taps_of(request->shape) > 1)
        turned = turn(plan, request->stored_w);
    if (!base->weights || (taps_of(request->shape) > 1 && !turned))
        return -ENOMEM;
    bias = (float *)(void *)((char *)base->weights + base->w_bytes);
    gemm_panels_pack(&plan->panels, base->weights, turned ? turned : request->stored_w, true);
    memset(bias, 0, gemm_panels_bias_bytes(&plan->panels));
    filters.n = request->shape->filters;
    gemm_panels_pack_bias(&filters, bias, request->bias);
    repeat_bias(request->shape, bias);
    place(base, base->weights, bias);
    free(turned);
    return 0;
}

static void set_workspace(struct panels_plan *plan)
{
    const struct gemm_panels *p = &plan->panels;
    int64_t images = plan->is_line ? plan->shape.batch : 1;
    int64_t unrolled = plan->unrolls   ? p->m * p->k
                       : plan->is_line ? plan->line * plan->shape.channels
                                       : 0;

    plan->product_offset = conv_round_up((size_t)unrolled * sizeof(float));
    plan->base.workspace_bytes = plan->product_offset;
    if (plan->has_residual)
        plan->base.workspace_bytes += conv_round_up((size_t)(images * p->m * p->n) * sizeof(float));
}

int conv_panels_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    const struct kernel_conv *s = request->shape;
    struct panels_plan *plan = calloc(1, sizeof(*plan));
    char name[KERNEL_CONV_VERSION_BYTES] = "";
    struct kernel_table table;

    if (!plan)
        return -ENOMEM;
    if (is_possible(s, request->has_residual, &plan->panels))
        write_name(s, &plan->panels, name);
    if (strcmp(version, name) != 0) {
        free(plan);
        return -ENOTSUP;
    }
    kernel_table_init(&table, kernel_best_level());
    plan->base.type = &type;
    plan->shape = *s;
    plan->is_line = is_along_line(s);
    plan->unrolls = !plan->is_line && !is_pointwise(s);
    if (plan->is_line) {
        plan->line = line_of(&s->window);
        plan->panels.a_line = neighbours_of(s) * s->window.stride[2] * s->channels;
    }
    plan->has_residual = request->has_residual;
    plan->add = table.binary[KERNEL_ADD][KERNEL_F32].fn;
    if (request->has_residual && s->activation.kind != KERNEL_IDENTITY)
        plan->activate = table.unary_f32[s->activation.kind].fn;
    snprintf(plan->base.version, sizeof(plan->base.version), "%s", version);
    set_workspace(plan);
    if (set_weights(plan, request) < 0) {
        destroy(&plan->base);
        return -ENOMEM;
    }
    *out_plan = &plan->base;
    return 0;
}
