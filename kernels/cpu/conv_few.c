/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by few filters, as those at the end of networks that make images, masks or sound: what lays filters
 * side by side leaves most of a register empty, and a product of unrolled images spends its time unrolling
 * them. Of row-major images some registers of neighbouring results are summed for all filters at once; where
 * windows reach over the end of a row a copy of its part lies between zeros. With channels last
 * registers are of channels, whose sums are added up in the end.
 */
#include "kernels/cpu/conv_few.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/sum_eight.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    FILTERS_MOST = 8,
    FILTERS_LAST = 4, /* with channels last: sums are to be added up for each */
    REACH_MOST = 192, /* of a window along a row */
    COLUMNS_MOST = 64,
    COLUMNS_LEAST = 24,   /* of a row of results, which are worth it */
    CHANNELS_MOST = 1024, /* whose planes are read by turns */
    GRAIN = 1 << 16,      /* products that are worth a second thread */
};

static const char name[] = "few";

struct few_place;

struct few_plan {
    struct kernel_conv_plan base;
    struct kernel_conv shape;
    const float *weights; /* [channels, kernel..., filters], or [kernel..., filters, channels] */
    const float *bias;
    bool has_residual;
    unary_f32_fn *activate; /* or NULL */
    void (*block)(const struct few_plan *plan, const struct few_place *place);
    int64_t columns; /* of a block */
};

struct few_run {
    const struct few_plan *plan;
    float *y;
    const float *x;
};

/* A place in y from which some columns of a row are computed. */
struct few_place {
    int64_t at[KERNEL_SPATIAL];
    int64_t count;
    const float *image;
    float *y;
};

static int64_t volume(const int64_t sizes[KERNEL_SPATIAL])
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* What the window's row at `row` sees of the columns: `span` elements from `first` on, which may be outside. */
ISA_BODY const float *part_of_row(const float *row, int64_t width, int64_t first, int64_t span,
                                  float *copy)
{
    int64_t before = first < 0 ? -first : 0, end = first + span < width ? span : width - first;

    if (before == 0 && end == span)
        return row + first;
    for (int64_t i = 0; i < span; i++)
        copy[i] = 0.0f;
    if (before < end)
        memcpy(copy + before, row + first + before, (size_t)(end - before) * sizeof(*copy));
    return copy;
}

/* Sums become results; `bias` is of each, or with a step of 0 one for all. */
ISA_BODY void put_row(float *restrict y, const float *restrict sums, const float *restrict bias,
                      int64_t step, int64_t count, bool adds)
{
    if (adds)
        for (int64_t i = 0; i < count; i++)
            y[i] = sums[i] + bias[i * step] + y[i];
    else
        for (int64_t i = 0; i < count; i++)
            y[i] = sums[i] + bias[i * step];
}

#define LANES(isa) (ISA_BYTES_##isa / (int)sizeof(float))

/* Registers of columns: as many sums as there is room for. */
#define WIDTH(isa, filters) ((filters) > (ISA_BYTES_##isa == 64 ? 6 : 3) ? 3 : 4)

#define ADD_EACH_avx2(sum, x, w)   (lanes) _mm256_fmadd_ps((__m256)(x), (__m256)(w), (__m256)(sum))
#define ADD_EACH_avx512(sum, x, w) (lanes) _mm512_fmadd_ps((__m512)(x), (__m512)(w), (__m512)(sum))
#define TOTAL_avx2(sum)            sum_eight((__m256)(sum))
#define TOTAL_avx512(sum)          _mm512_reduce_add_ps((__m512)(sum))

#define ADD_avx2(sum, x, w)   (lanes) _mm256_fmadd_ps((__m256)(x), _mm256_set1_ps(w), (__m256)(sum))
#define ADD_avx512(sum, x, w) (lanes) _mm512_fmadd_ps((__m512)(x), _mm512_set1_ps(w), (__m512)(sum))

/* The columns of one row, of all filters. */
#define BLOCK(isa, filters)                                                                        \
    ISA_TARGET_##isa static void block_##filters##_##isa(const struct few_plan *plan,              \
                                                         const struct few_place *place)            \
    {                                                                                              \
        enum { N = (filters), V = WIDTH(isa, filters), L = LANES(isa) };                           \
        typedef float lanes __attribute__((vector_size(L * sizeof(float))));                       \
        typedef float loaded                                                                       \
            __attribute__((vector_size(L * sizeof(float)), aligned(4), may_alias));                \
        const struct kernel_window *w = &plan->shape.window;                                       \
        int64_t step = w->dilation[2], span = V * L + (w->kernel[2] - 1) * step;                   \
        int64_t from = place->at[2] - w->pad_begin[2];                                             \
        const float *weights = plan->weights;                                                      \
        float copy[COLUMNS_MOST + REACH_MOST], out[COLUMNS_MOST];                                  \
        lanes sums[N][V] = {{{0}}};                                                                \
                                                                                                   \
        for (int64_t k = 0; k < plan->shape.channels * w->kernel[0] * w->kernel[1]; k++) {         \
            int64_t kh = k % w->kernel[1], kd = k / w->kernel[1] % w->kernel[0];                   \
            int64_t c = k / w->kernel[1] / w->kernel[0];                                           \
            int64_t d = place->at[0] * w->stride[0] - w->pad_begin[0] + kd * w->dilation[0];       \
            int64_t h = place->at[1] * w->stride[1] - w->pad_begin[1] + kh * w->dilation[1];       \
            const float *x;                                                                        \
                                                                                                   \
            if (d < 0 || d >= w->in[0] || h < 0 || h >= w->in[1]) {                                \
                weights += w->kernel[2] * N;                                                       \
                continue;                                                                          \
            }                                                                                      \
            x = place->image + ((c * w->in[0] + d) * w->in[1] + h) * w->in[2];                     \
            x = part_of_row(x, w->in[2], from, span, copy);                                        \
            for (int64_t kw = 0; kw < w->kernel[2]; kw++, x += step, weights += N) {               \
                lanes taken[V];                                                                    \
                                                                                                   \
                _Pragma("GCC unroll 4") for (int v = 0; v < V; v++) taken[v] =                     \
                    *(const loaded *)(x + v * L);                                                  \
                _Pragma("GCC unroll 8") for (int f = 0; f < N; f++)                                \
                    _Pragma("GCC unroll 4") for (int v = 0; v < V; v++) sums[f][v] =               \
                        ADD_##isa(sums[f][v], taken[v], weights[f]);                               \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int f = 0; f < N; f++)                                        \
        {                                                                                          \
            _Pragma("GCC unroll 4") for (int v = 0; v < V; v++) * (loaded *)(out + v * L) =        \
                sums[f][v];                                                                        \
            put_row(place->y + f * volume(w->out), out, plan->bias + f, 0, place->count,           \
                    plan->has_residual);                                                           \
        }                                                                                          \
    }

/* A pixel outside of an image. */
static const float nothing[CHANNELS_MOST];

/* Whether all windows of some neighbouring outputs lie within their rows. */
ISA_BODY bool are_inside(const struct kernel_window *w, int64_t ow, int64_t end, int count)
{
    int64_t last = (ow + count - 1) * w->stride[2] - w->pad_begin[2];

    return ow + count <= end && ow * w->stride[2] >= w->pad_begin[2] &&
           last + (w->kernel[2] - 1) * w->dilation[2] < w->in[2];
}

/* The pixels that they see at one tap. */
ISA_BODY void find_pixels(const float **pixels, int count, const struct few_plan *plan,
                          const float *row, int64_t ow, int64_t end, int64_t kw)
{
    const struct kernel_window *w = &plan->shape.window;

    for (int p = 0; p < count; p++) {
        int64_t at = (ow + p) * w->stride[2] - w->pad_begin[2] + kw * w->dilation[2];
        bool is_inside = ow + p < end && at >= 0 && at < w->in[2];

        pixels[p] = is_inside ? row + at * plan->shape.channels : nothing;
    }
}

/* Outputs that are computed together. */
#define PIXELS(isa, filters) ((filters) > 2 && ISA_BYTES_##isa < 64 ? 2 : 4)

#define LAST(isa, filters)                                                                         \
    ISA_TARGET_##isa static void pixels_##filters##_##isa(                                         \
        const struct few_plan *plan, const struct few_place *place, int64_t ow, int64_t end)       \
    {                                                                                              \
        enum { N = (filters), P = PIXELS(isa, filters), L = LANES(isa) };                          \
        typedef float lanes __attribute__((vector_size(L * sizeof(float))));                       \
        typedef float loaded                                                                       \
            __attribute__((vector_size(L * sizeof(float)), aligned(4), may_alias));                \
        const struct kernel_window *w = &plan->shape.window;                                       \
        const float *weights = plan->weights, *pixels[P];                                          \
        int64_t channels = plan->shape.channels, step = w->stride[2] * channels;                   \
        int64_t gap = w->dilation[2] * channels;                                                   \
        int64_t first = (ow * w->stride[2] - w->pad_begin[2]) * channels;                          \
        bool is_whole = are_inside(w, ow, end, P);                                                 \
        float out[P][N];                                                                           \
        lanes sums[N][P] = {{{0}}};                                                                \
                                                                                                   \
        for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {                                \
            int64_t kh = k % w->kernel[1], kd = k / w->kernel[1];                                  \
            int64_t d = place->at[0] * w->stride[0] - w->pad_begin[0] + kd * w->dilation[0];       \
            int64_t h = place->at[1] * w->stride[1] - w->pad_begin[1] + kh * w->dilation[1];       \
            const float *row = place->image + (d * w->in[1] + h) * w->in[2] * channels;            \
                                                                                                   \
            if (d < 0 || d >= w->in[0] || h < 0 || h >= w->in[1]) {                                \
                weights += w->kernel[2] * N * channels;                                            \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t kw = 0; kw < w->kernel[2]; kw++, weights += N * channels) {               \
                if (is_whole)                                                                      \
                    _Pragma("GCC unroll 4") for (int p = 0; p < P; p++) pixels[p] =                \
                        row + first + kw * gap + p * step;                                         \
                else                                                                               \
                    find_pixels(pixels, P, plan, row, ow, end, kw);                                \
                for (int64_t c = 0; c < channels; c += L) {                                        \
                    lanes taken[P];                                                                \
                                                                                                   \
                    _Pragma("GCC unroll 4") for (int p = 0; p < P; p++) taken[p] =                 \
                        *(const loaded *)(pixels[p] + c);                                          \
                    _Pragma("GCC unroll 4") for (int f = 0; f < N; f++)                            \
                    {                                                                              \
                        lanes weight = *(const loaded *)(weights + f * channels + c);              \
                                                                                                   \
                        _Pragma("GCC unroll 4") for (int p = 0; p < P; p++) sums[f][p] =           \
                            ADD_EACH_##isa(sums[f][p], taken[p], weight);                          \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 4") for (int f = 0; f < N; f++)                                        \
            _Pragma("GCC unroll 4") for (int p = 0; p < P; p++) out[p][f] =                        \
                TOTAL_##isa(sums[f][p]);                                                           \
        for (int p = 0; p < P && ow + p < end; p++)                                                \
            put_row(place->y + (ow + p - place->at[2]) * N, out[p], plan->bias, 1, N,              \
                    plan->has_residual);                                                           \
    }                                                                                              \
                                                                                                   \
    static void last_##filters##_##isa(const struct few_plan *plan, const struct few_place *place) \
    {                                                                                              \
        int64_t end = place->at[2] + place->count;                                                 \
                                                                                                   \
        for (int64_t ow = place->at[2]; ow < end; ow += PIXELS(isa, filters))                      \
            pixels_##filters##_##isa(plan, place, ow, end);                                        \
    }

#define PARTS(isa)                                                                                 \
    BLOCK(isa, 1)                                                                                  \
    BLOCK(isa, 2)                                                                                  \
    BLOCK(isa, 3)                                                                                  \
    BLOCK(isa, 4)                                                                                  \
    BLOCK(isa, 5)                                                                                  \
    BLOCK(isa, 6)                                                                                  \
    BLOCK(isa, 7) BLOCK(isa, 8) LAST(isa, 1) LAST(isa, 2) LAST(isa, 3) LAST(isa, 4)

static int64_t blocks_of(const struct few_plan *plan)
{
    return (plan->shape.window.out[2] + plan->columns - 1) / plan->columns;
}

static void find_place(const struct few_run *run, int64_t block, struct few_place *out_place)
{
    const struct kernel_conv *s = &run->plan->shape;
    const struct kernel_window *w = &s->window;
    int64_t blocks = blocks_of(run->plan), row = block / blocks, *at = out_place->at;
    int64_t image = row / w->out[1] / w->out[0], left;

    at[0] = row / w->out[1] % w->out[0];
    at[1] = row % w->out[1];
    at[2] = block % blocks * run->plan->columns;
    left = w->out[2] - at[2];
    out_place->count = left < run->plan->columns ? left : run->plan->columns;
    out_place->image = run->x + image * s->channels * volume(w->in);
    out_place->y =
        run->y + image * s->filters * volume(w->out) +
        ((at[0] * w->out[1] + at[1]) * w->out[2] + at[2]) * (s->channels_last ? s->filters : 1);
}

/* Blocks [begin, end) of columns, counted over all rows. */
static void run_part(void *argument, int64_t begin, int64_t end)
{
    const struct few_run *run = argument;
    struct few_place place;

    for (; begin < end; begin++) {
        find_place(run, begin, &place);
        run->plan->block(run->plan, &place);
    }
}

#if defined(__x86_64__)

PARTS(avx2)
PARTS(avx512)

typedef void block_fn(const struct few_plan *plan, const struct few_place *place);

#define ALL(isa)                                                                                   \
    block_1_##isa, block_2_##isa, block_3_##isa, block_4_##isa, block_5_##isa, block_6_##isa,      \
        block_7_##isa, block_8_##isa
#define ALL_LAST(isa) last_1_##isa, last_2_##isa, last_3_##isa, last_4_##isa

/* What computes it here; false: nothing. */
static bool find_block(struct few_plan *plan)
{
    static block_fn *const blocks[2][FILTERS_MOST] = {{ALL(avx2)}, {ALL(avx512)}};
    static block_fn *const lasts[2][FILTERS_LAST] = {{ALL_LAST(avx2)}, {ALL_LAST(avx512)}};
    bool is_wide = kernel_best_level() >= KERNEL_LEVEL_AVX512;
    int filters = (int)plan->shape.filters;

    if (kernel_best_level() < KERNEL_LEVEL_AVX2)
        return false;
    if (plan->shape.channels_last) {
        plan->block = filters <= FILTERS_LAST ? lasts[is_wide][filters - 1] : NULL;
        plan->columns = COLUMNS_MOST;
        return plan->block && plan->shape.channels % (is_wide ? LANES(avx512) : LANES(avx2)) == 0;
    }
    plan->block = blocks[is_wide][filters - 1];
    plan->columns =
        is_wide ? WIDTH(avx512, filters) * LANES(avx512) : WIDTH(avx2, filters) * LANES(avx2);
    return is_wide || filters <= FILTERS_MOST / 2;
}

#else

static bool find_block(struct few_plan *plan)
{
    (void)plan;
    return false;
}

#endif

static bool is_possible(const struct kernel_conv *s, struct few_plan *out_plan)
{
    const struct kernel_window *w = &s->window;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        if (w->in[i] < 1 || w->out[i] < 1 || w->pad_begin[i] < 0)
            return false;
    if (s->is_transposed || s->types.weights != KERNEL_F32 || s->groups != 1 || s->batch < 1 ||
        s->channels < 1 || s->channels > CHANNELS_MOST || s->filters < 1 ||
        s->filters > FILTERS_MOST)
        return false;
    if (!s->channels_last && (w->stride[2] != 1 || w->out[2] < COLUMNS_LEAST ||
                              (w->kernel[2] - 1) * w->dilation[2] > REACH_MOST))
        return false;
    out_plan->shape = *s;
    return find_block(out_plan);
}

void conv_few_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions)
{
    struct few_plan plan;

    if (!is_possible(shape, &plan) || versions->count == KERNEL_CONV_VERSIONS_MAX)
        return;
    snprintf(versions->items[versions->count].name, KERNEL_CONV_VERSION_BYTES, "%s", name);
    conv_versions_add_own(versions);
}

const char *conv_few_prefer(const struct kernel_conv *shape)
{
    struct few_plan plan;

    return is_possible(shape, &plan) ? name : NULL;
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    const struct few_plan *plan = (const struct few_plan *)base;
    const struct kernel_conv *s = &plan->shape;
    const struct kernel_window *w = &s->window;
    struct few_run run = {plan, y, x};
    int64_t rows = s->batch * w->out[0] * w->out[1], count = s->filters * volume(w->out) * s->batch;
    int64_t products = s->channels * volume(w->kernel) * s->filters * plan->columns;

    (void)workspace;
    team_for(rows * blocks_of(plan), GRAIN / products + 1, run_part, &run);
    if (plan->activate)
        plan->activate(y, y, (size_t)count, s->activation.a, s->activation.b);
    return 0;
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct few_plan *plan = (struct few_plan *)base;

    plan->weights = weights;
    plan->bias = bias;
}

static void destroy(struct kernel_conv_plan *plan)
{
    free(plan->weights);
    free(plan);
}

/* Filters side by side, the bias behind them. */
static int set_weights(struct few_plan *plan, const struct conv_request *request)
{
    const struct kernel_conv *s = request->shape;
    int64_t places = volume(s->window.kernel), taps = s->channels * places;
    struct kernel_conv_plan *base = &plan->base;
    float *weights, *bias;

    base->w_bytes = conv_round_up((size_t)(taps * s->filters) * sizeof(float));
    base->weights_bytes = base->w_bytes + conv_round_up((size_t)s->filters * sizeof(float));
    base->weights = weights = aligned_alloc(64, base->weights_bytes);
    if (!weights)
        return -ENOMEM;
    bias = weights + base->w_bytes / sizeof(float);
    memset(weights, 0, base->weights_bytes);
    for (int64_t f = 0; f < s->filters; f++) {
        for (int64_t i = 0; i < taps; i++) {
            int64_t c = i / places, tap = i % places;

            weights[s->channels_last ? (tap * s->filters + f) * s->channels + c
                                     : i * s->filters + f] = request->w[f * taps + i];
        }
        bias[f] = request->bias ? request->bias[f] : 0.0f;
    }
    place(base, weights, bias);
    return 0;
}

int conv_few_create(const struct conv_request *request, const char *version,
                    struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    const struct kernel_conv *s = request->shape;
    struct few_plan *plan;
    struct kernel_table table;

    if (strcmp(version, name) != 0)
        return -ENOTSUP;
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    if (!is_possible(s, plan)) {
        free(plan);
        return -ENOTSUP;
    }
    kernel_table_init(&table, kernel_best_level());
    plan->base.type = &type;
    plan->has_residual = request->has_residual;
    if (s->activation.kind != KERNEL_IDENTITY)
        plan->activate = table.unary_f32[s->activation.kind].fn;
    snprintf(plan->base.version, sizeof(plan->base.version), "%s", version);
    if (set_weights(plan, request) < 0) {
        destroy(&plan->base);
        return -ENOMEM;
    }
    *out_plan = &plan->base;
    return 0;
}
