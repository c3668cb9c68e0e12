/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd's minimal filtering F(m x m, 3 x 3): a tile of m x m outputs costs (m + 2)^2 products
 * per channel and filter where the direct way takes 9 m^2 (Lavin and Gray, 2015, arXiv:1509.09308).
 * Images are channels-last. Inside kernels/cpu only.
 *
 * A tile is a patch of (m + 2)^2 inputs. Each of its positions, transformed, is a matrix [tiles,
 * channels], which is multiplied by that of the transformed weights of this position: (m + 2)^2
 * independent products, then transformed back.
 *
 * Of a dilated window only every n-th input meets every n-th output: so many images lie between each
 * other, each of which has tiles of its own.
 */
#ifndef OPTRACE_KERNELS_CPU_WINOGRAD_H
#define OPTRACE_KERNELS_CPU_WINOGRAD_H

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { WINOGRAD_ROW_UNIT = 32 }; /* floats: rows of matrices are a multiple of it */

/* Counts are of one group; strides of whole images. */
struct winograd {
    int m; /* 2 or 4 */
    int64_t batch, groups;
    int64_t channels, filters;
    int64_t x_stride, y_stride; /* channels of x and y */
    int64_t in[2], out[2];      /* height, width */
    int64_t pad[2];             /* before the first */
    int64_t apart[2];           /* inputs of a window, and so of a patch, and outputs of a tile */
    int64_t tiles[2];
    int64_t block;   /* tiles that are worked on together */
    int64_t workers; /* that have a block each; 1: they share each step of one */
    bool has_residual;
    struct kernel_activation activation;
    const float *bias; /* of all filters, or NULL */
    const float *u;    /* of weights(); or, where they are kept in half precision: */
    enum kernel_dtype stored;
    const uint16_t *w; /* [group][panel][channel][3 x 3][filter of the panel] */
    int64_t together;  /* panels of it that are transformed at a time, at each run anew */
    cast_fn *cast;
};

static inline int64_t winograd_round_up(int64_t count, int64_t unit)
{
    return (count + unit - 1) / unit * unit;
}

static inline int64_t winograd_points(const struct winograd *p)
{
    return (int64_t)(p->m + 2) * (p->m + 2);
}

static inline int64_t winograd_tiles(const struct winograd *p)
{
    return p->batch * p->tiles[0] * p->tiles[1];
}

/* Tiles [first, first + count) of one group, on their way. */
struct winograd_block {
    const struct winograd *p;
    float *y;
    const float *x;
    float *v, *m; /* matrices [tiles, channels] and [tiles, filters], one for each point */
    int64_t v_matrix, m_matrix; /* floats from one to the next */
    int64_t group, first, count;
    float *wide;    /* of stored weights: winograd_wide_count() for each share */
    int64_t shares; /* of the panels, that may run on several threads */
    bool is_wide;   /* the shares have all of their panels there, of the block before */
};

struct winograd_kernels {
    const char *isa;
    int64_t panel; /* filters whose weights lie together */

    /** w [filters of all groups, channels, 3, 3] into u, winograd_weights_count() floats: [group]
     *  [point][panel][channel][filter of the panel]. Uses the team. */
    void (*weights)(const struct winograd *p, float *u, const float *w);

    /* Steps on a winograd_block, each of which a team can share: patches and tiles over its tiles,
     * products over winograd_units(), or over the shares of a block whose weights are stored. */
    team_fn *patches;  /* x to v */
    team_fn *products; /* v to m */
    team_fn *tiles;    /* m to y */
};

extern const struct winograd_kernels winograd_kernels_portable, winograd_kernels_avx2,
    winograd_kernels_avx512;

/** Of one group. */
static inline int64_t winograd_panels(const struct winograd *p, int64_t panel)
{
    return winograd_round_up(p->filters, panel) / panel;
}

/** The panels of all points. */
static inline int64_t winograd_units(const struct winograd *p, int64_t panel)
{
    return winograd_points(p) * winograd_panels(p, panel);
}

static inline int64_t winograd_weights_count(const struct winograd *p, int64_t panel)
{
    return p->groups * winograd_points(p) * p->channels * winograd_round_up(p->filters, panel);
}

/* The weights of one panel at one point, an odd number of cache lines, as all points are written in turn. */
static inline int64_t winograd_wide_point(const struct winograd *p, int64_t panel)
{
    return winograd_round_up(p->channels * panel, WINOGRAD_ROW_UNIT) + 16;
}

/* What the panels of stored weights take that are transformed at a time. */
static inline int64_t winograd_wide_count(const struct winograd *p, int64_t panel)
{
    return p->together * winograd_points(p) * winograd_wide_point(p, panel);
}

/* Matrices begin an odd number of cache lines after each other, so that those of one tile do not
 * all fall into the same sets of the cache. */
static inline int64_t winograd_matrix(int64_t tiles, int64_t columns)
{
    return tiles * winograd_round_up(columns, WINOGRAD_ROW_UNIT) + 16;
}

static inline int64_t winograd_scratch_count(const struct winograd *p)
{
    return p->workers * winograd_points(p) *
           (winograd_matrix(p->block, p->channels) + winograd_matrix(p->block, p->filters));
}

#endif
