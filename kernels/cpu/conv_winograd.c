/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution plans by Winograd's algorithm: for which shapes, with which tiles, and when it pays.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/winograd.h"
#include "kernels/kernels.h"

struct winograd_plan {
    struct kernel_conv_plan base;
    const struct winograd_kernels *kernels;
    struct winograd winograd;
};

enum {
    /* Floats of one block's matrices that stay in a core's second-level cache. */
    CACHED_FLOATS = 200 << 10,
    WIDE_FLOATS = 384 << 10, /* of transformed weights that are held meanwhile */
    LEAST_BLOCK = 24,        /* tiles, so that weights are read for many products at once */
    MOST_BLOCK = 192,
    LEAST_CHANNELS = 4, /* transforms would outweigh the products, and rounding errors both */
};

static const int tile_sizes[] = {2, 4};

/* What this CPU can run, or what ONEDNN_MAX_CPU_ISA leaves of it. */
static const struct winograd_kernels *best_kernels(void)
{
#if defined(__x86_64__)
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core)
        return &winograd_kernels_avx512;
    if ((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2)
        return &winograd_kernels_avx2;
#endif
    return &winograd_kernels_portable;
}

static bool is_possible(const struct kernel_conv *shape)
{
    const struct kernel_window *w = &shape->window;

    for (int i = 1; i < KERNEL_SPATIAL; i++)
        if (w->kernel[i] != 3 || w->stride[i] != 1 || w->dilation[i] < 1 ||
            w->out[i] < w->dilation[i])
            return false;
    return shape->rank == 2 && shape->channels_last && !shape->is_transposed &&
           shape->activation.kind <= KERNEL_CLIP && shape->batch > 0 &&
           shape->channels / shape->groups >= LEAST_CHANNELS && shape->filters > 0;
}

/* Along one side: those of as many images, between each other, as windows are dilated. */
static int64_t tiles_of(int64_t out, int64_t m, int64_t dilation)
{
    int64_t own = (out + dilation - 1) / dilation; /* outputs of the first, which has most */

    return (own + m - 1) / m * dilation;
}

static void set_geometry(const struct kernel_conv *shape, int m, struct winograd *out_geometry)
{
    const struct kernel_window *w = &shape->window;

    *out_geometry = (struct winograd){
        .m = m,
        .batch = shape->batch,
        .groups = shape->groups,
        .channels = shape->channels / shape->groups,
        .filters = shape->filters / shape->groups,
        .x_stride = shape->channels,
        .y_stride = shape->filters,
        .activation = shape->activation,
    };
    for (int i = 0; i < 2; i++) {
        out_geometry->in[i] = w->in[1 + i];
        out_geometry->out[i] = w->out[1 + i];
        out_geometry->pad[i] = w->pad_begin[1 + i];
        out_geometry->apart[i] = w->dilation[1 + i];
        out_geometry->tiles[i] = tiles_of(out_geometry->out[i], m, w->dilation[1 + i]);
    }
}

/* How the work is cut up: blocks that fit into the cache, a worker on each where there are enough
 * of them. */
static void set_blocks(struct winograd *p, bool is_stored)
{
    int64_t least = is_stored ? 2 * LEAST_BLOCK : LEAST_BLOCK; /* each block transforms them */
    int64_t per_tile = winograd_points(p) * (p->channels + p->filters);
    int64_t threads = kernel_threads(), tiles = winograd_tiles(p), fit = CACHED_FLOATS / per_tile;

    fit = fit / 12 * 12;
    fit = fit < least ? least : fit > MOST_BLOCK ? MOST_BLOCK : fit;
    p->workers = tiles >= 2 * threads * LEAST_BLOCK ? threads : 1;
    if (p->workers == 1)
        fit *= threads;
    p->block = fit < tiles ? fit : tiles;
}

/* Names: "winograd4:avx512" */

static void name_of(int m, char out_name[KERNEL_CONV_VERSION_BYTES])
{
    snprintf(out_name, KERNEL_CONV_VERSION_BYTES, "winograd%d:%s", m, best_kernels()->isa);
}

void conv_winograd_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions)
{
    if (!is_possible(shape))
        return;
    for (size_t i = 0; i < sizeof(tile_sizes) / sizeof(tile_sizes[0]); i++)
        if (versions->count < KERNEL_CONV_VERSIONS_MAX) {
            struct kernel_conv_version *version = &versions->items[versions->count++];

            name_of(tile_sizes[i], version->name);
            version->is_reproducible = true;
        }
}

/*
 * Which one to expect most of, without timing. A model in cycles of one core, fitted to what was
 * measured over the layers of common networks on one CPU (AMD, Zen 5) and within 20 % of it:
 *
 * products    two fused multiply-adds of a whole register per cycle; a panel is worked out whole
 * transforms  per tile and register of channels, from memory to memory; a part of a register goes
 *             element by element
 * weights     come from memory, since a network's do not fit into the caches; arithmetic hides
 *             about half of that
 */
static const double transform_cycles[] = {[2] = 130.0, [4] = 490.0};

enum { PART_COST = 4 };

static double time_of(double arithmetic, double weight_bytes)
{
    static const double bytes_per_cycle = 5.5, hidden = 0.55, most_threads_memory = 1.7;
    double threads = kernel_threads(), readers = threads;
    double memory, both;

    readers = readers < most_threads_memory ? readers : most_threads_memory;
    memory = weight_bytes / (bytes_per_cycle * readers);
    both = arithmetic / threads + (1.0 - hidden) * memory;
    return both > memory ? both : memory;
}

static double products_per_cycle(const struct winograd_kernels *kernels)
{
    /* Two registers are a panel. Without fused multiply-adds it takes twice as long. */
    return kernels == &winograd_kernels_portable ? (double)kernels->panel / 2
                                                 : (double)kernels->panel;
}

static double direct_time(const struct winograd *p, const struct winograd_kernels *kernels)
{
    double lanes = (double)kernels->panel / 2, filters = ceil((double)p->filters / lanes) * lanes;
    double weights = 9.0 * (double)(p->groups * p->channels) * filters;
    double outputs = (double)(p->batch * p->out[0] * p->out[1]);

    return time_of(weights * outputs / products_per_cycle(kernels), weights * sizeof(float));
}

static double registers_of(int64_t channels, int64_t lanes)
{
    return (double)(channels / lanes) + (channels % lanes ? PART_COST : 0);
}

static double winograd_time(const struct winograd *p, const struct winograd_kernels *kernels)
{
    int64_t lanes = kernels->panel / 2;
    double weights = (double)winograd_weights_count(p, kernels->panel);
    double tiles = (double)winograd_tiles(p);
    double products = weights * tiles / (0.92 * products_per_cycle(kernels));
    double registers = (registers_of(p->channels, lanes) + registers_of(p->filters, lanes)) / 2.0;

    return time_of(products + (double)p->groups * tiles * registers * transform_cycles[p->m],
                   weights * sizeof(float));
}

const char *conv_winograd_prefer(const struct kernel_conv *shape,
                                 char out_name[KERNEL_CONV_VERSION_BYTES])
{
    /* Weights take 1.8 or 4 times the memory and images are rounded to larger errors: not for a
     * little. From tiles of 2 to those of 4 it takes less, since the model is sure of that. */
    static const double worth[] = {0.9, 0.97};
    const struct winograd_kernels *kernels = best_kernels();
    const char *name = NULL;
    double best = 0.0;

    if (!is_possible(shape))
        return NULL;
    for (size_t i = 0; i < sizeof(tile_sizes) / sizeof(tile_sizes[0]); i++) {
        struct winograd winograd;
        double time;

        set_geometry(shape, tile_sizes[i], &winograd);
        if (i == 0)
            best = direct_time(&winograd, kernels);
        time = winograd_time(&winograd, kernels);
        if (time < worth[name != NULL] * best) {
            best = time;
            name_of(tile_sizes[i], out_name);
            name = out_name;
        }
    }
    return name;
}

/* Plans */

static void destroy(struct kernel_conv_plan *plan)
{
    free(plan->weights);
    free(plan);
}

/* One run of a plan. */
struct run {
    const struct winograd_plan *plan;
    float *y;
    const float *x;
    float *scratch, *wide; /* wide: the weights of a share, where they are stored */
};

static struct winograd_block block_of(const struct run *run, int64_t worker)
{
    const struct winograd *p = &run->plan->winograd;
    int64_t points = winograd_points(p);
    struct winograd_block b = {
        .p = p,
        .y = run->y,
        .x = run->x,
        .v_matrix = winograd_matrix(p->block, p->channels),
        .m_matrix = winograd_matrix(p->block, p->filters),
    };

    b.v = run->scratch + worker * points * (b.v_matrix + b.m_matrix);
    b.m = b.v + points * b.v_matrix;
    b.wide = run->wide + worker * winograd_wide_count(p, run->plan->kernels->panel);
    b.shares = p->workers > 1 ? 1 : kernel_threads();
    return b;
}

static int64_t units_of(const struct winograd *p, const struct winograd_block *b,
                        const struct winograd_kernels *kernels)
{
    return p->stored == KERNEL_F32 ? winograd_units(p, kernels->panel) : b->shares;
}

/* Whether the stored weights of a group are there together, once they are transformed. */
static bool holds_all(const struct run *run)
{
    const struct winograd *p = &run->plan->winograd;

    return p->together >= winograd_panels(p, run->plan->kernels->panel);
}

/* A worker's own tiles, a block after the other. */
static void run_alone(void *argument, int64_t begin, int64_t end)
{
    const struct run *run = argument;
    const struct winograd *p = &run->plan->winograd;
    const struct winograd_kernels *kernels = run->plan->kernels;

    for (int64_t worker = begin; worker < end; worker++) {
        struct winograd_block b = block_of(run, worker);
        int64_t from = winograd_tiles(p) * worker / p->workers;
        int64_t count = winograd_tiles(p) * (worker + 1) / p->workers - from;
        int64_t blocks = (count + p->block - 1) / p->block;

        for (b.group = 0; b.group < p->groups; b.group++)
            for (int64_t i = 0; i < blocks; i++) {
                b.first = from + count * i / blocks;
                b.count = from + count * (i + 1) / blocks - b.first;
                b.is_wide = i > 0 && holds_all(run);
                kernels->patches(&b, 0, b.count);
                kernels->products(&b, 0, units_of(p, &b, kernels));
                kernels->tiles(&b, 0, b.count);
            }
    }
}

/* All workers on the same few tiles, so that each reads a part of the weights only. */
static void run_together(const struct run *run)
{
    const struct winograd *p = &run->plan->winograd;
    const struct winograd_kernels *kernels = run->plan->kernels;
    struct winograd_block b = block_of(run, 0);
    int64_t tiles = winograd_tiles(p);

    for (b.group = 0; b.group < p->groups; b.group++)
        for (b.first = 0; b.first < tiles; b.first += b.count) {
            b.count = tiles - b.first < p->block ? tiles - b.first : p->block;
            b.is_wide = b.first > 0 && holds_all(run);
            team_for(b.count, 1, kernels->patches, &b);
            team_for(units_of(p, &b, kernels), 1, kernels->products, &b);
            team_for(b.count, 1, kernels->tiles, &b);
        }
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    struct run run = {(const struct winograd_plan *)base, y, x, workspace, NULL};

    run.wide = run.scratch + winograd_scratch_count(&run.plan->winograd);
    if (run.plan->winograd.workers > 1)
        team_for(run.plan->winograd.workers, 1, run_alone, &run);
    else
        run_together(&run);
    return 0;
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct winograd *p = &((struct winograd_plan *)base)->winograd;

    p->u = weights;
    p->bias = p->bias ? bias : NULL;
}

/* Stored weights in the order in which they are transformed, zeros in place of filters that are not there. */
static void pack(const struct winograd *p, int64_t panel, uint16_t *to, const uint16_t *w)
{
    int64_t panels = winograd_panels(p, panel), line = p->channels * 9;

    for (int64_t i = 0; i < p->groups * panels; i++, to += line * panel) {
        int64_t first = i % panels * panel, left = p->filters - first;
        const uint16_t *from = w + (i / panels * p->filters + first) * line;

        left = left < panel ? left : panel;
        for (int64_t at = 0; at < line; at++) {
            for (int64_t k = 0; k < left; k++)
                to[at * panel + k] = from[k * line + at];
            for (int64_t k = left; k < panel; k++)
                to[at * panel + k] = 0;
        }
    }
}

static size_t weights_count(const struct winograd_plan *plan)
{
    const struct winograd *p = &plan->winograd;
    int64_t panel = plan->kernels->panel;

    return p->stored == KERNEL_F32
               ? (size_t)winograd_weights_count(p, panel)
               : (size_t)(p->groups * winograd_panels(p, panel) * panel * p->channels * 9);
}

static int set_weights(struct winograd_plan *plan, const struct conv_request *request)
{
    struct winograd *p = &plan->winograd;
    size_t w_bytes = conv_round_up(weights_count(plan) * kernel_dtype_bytes(p->stored));
    size_t bias_bytes = request->bias ? (size_t)request->shape->filters * sizeof(float) : 0;
    char *weights;

    plan->base.w_bytes = w_bytes;
    plan->base.weights_bytes = w_bytes + conv_round_up(bias_bytes);
    weights = aligned_alloc(64, plan->base.weights_bytes);
    if (!weights)
        return -ENOMEM;
    plan->base.weights = weights;
    p->u = (const float *)(const void *)weights;
    p->w = (const uint16_t *)(const void *)weights;
    if (p->stored == KERNEL_F32)
        plan->kernels->weights(p, (float *)(void *)weights, request->w);
    else
        pack(p, plan->kernels->panel, (uint16_t *)(void *)weights, request->stored_w);
    if (request->bias) {
        memcpy(weights + w_bytes, request->bias, bias_bytes);
        p->bias = (const float *)(const void *)(weights + w_bytes);
    }
    return 0;
}

/* As many panels at a time as stay in a core's cache together, each time that the points of a block come by. */
static void store_weights(struct winograd_plan *plan, enum kernel_dtype dtype)
{
    struct winograd *p = &plan->winograd;
    int64_t panel = plan->kernels->panel, panels = winograd_panels(p, panel);
    int64_t fit = WIDE_FLOATS / (winograd_points(p) * winograd_wide_point(p, panel));
    struct kernel_table table;

    kernel_table_init(&table, kernel_best_level());
    p->stored = dtype;
    p->cast = table.cast.fn;
    p->together = fit < 1 ? 1 : fit < panels ? fit : panels;
    plan->base.workspace_bytes +=
        (size_t)(kernel_threads() * winograd_wide_count(p, panel)) * sizeof(float);
}

int conv_winograd_create(const struct conv_request *request, const char *version,
                         struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    struct winograd_plan *plan;
    char name[KERNEL_CONV_VERSION_BYTES];
    int m = 0;

    for (size_t i = 0; i < sizeof(tile_sizes) / sizeof(tile_sizes[0]); i++) {
        name_of(tile_sizes[i], name);
        if (strcmp(name, version) == 0)
            m = tile_sizes[i];
    }
    if (m == 0 || !is_possible(request->shape))
        return -ENOTSUP;
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    plan->base.type = &type;
    plan->kernels = best_kernels();
    name_of(m, plan->base.version);
    set_geometry(request->shape, m, &plan->winograd);
    set_blocks(&plan->winograd, !request->w);
    plan->winograd.has_residual = request->has_residual;
    plan->base.workspace_bytes = (size_t)winograd_scratch_count(&plan->winograd) * sizeof(float);
    if (!request->w)
        store_weights(plan, request->shape->types.weights);
    if (set_weights(plan, request) < 0) {
        destroy(&plan->base);
        return -ENOMEM;
    }
    *out_plan = &plan->base;
    return 0;
}
