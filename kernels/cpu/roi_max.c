/* SPDX-License-Identifier: Apache-2.0 */
/* The largest pixel of each bin of a region: the rows of a bin go down first, of all bins beside each other, whose largest
 * is then along what came of them. Bins lie where the reference has them. */
#include <math.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    GRAIN = 1 << 15, /* pixels that are worth a second thread */
    BINS = 64,       /* along an axis */
    WIDE = 2048,     /* pixels of a row */
};

/* Pixels [begin, end) of a bin along an axis. */
struct span {
    int64_t begin, end;
};

struct roi_max {
    void *y;
    const void *x, *rois;
    const struct kernel_roi_max *shape;
};

/* What is no number, or far outside of all images, is somewhere outside. */
static int64_t nearest_pixel(float place)
{
    const float far = 1e9f;

    return isnan(place) ? (int64_t)far : (int64_t)fminf(fmaxf(roundf(place), -far), far);
}

static int64_t within(int64_t pixel, int64_t count)
{
    return pixel < 0 ? 0 : pixel > count ? count : pixel;
}

static float roi_at(const struct roi_max *p, int64_t i)
{
    return p->shape->dtype == KERNEL_F64 ? (float)((const double *)p->rois)[i]
                                         : ((const float *)p->rois)[i];
}

/* The bins of region r along an axis. */
static void find_spans(struct span *spans, const struct roi_max *p, int64_t r, int axis)
{
    const struct kernel_roi_max *s = p->shape;
    /* The rois hold x before y. */
    int64_t first = nearest_pixel(roi_at(p, 5 * r + 2 - axis) * s->scale);
    int64_t last = nearest_pixel(roi_at(p, 5 * r + 4 - axis) * s->scale), size = last - first + 1;
    float bin = (float)(size > 1 ? size : 1) / (float)s->out[axis];

    for (int64_t o = 0; o < s->out[axis]; o++) {
        spans[o].begin = within(first + (int64_t)floorf((float)o * bin), s->in[axis]);
        spans[o].end = within(first + (int64_t)ceilf((float)(o + 1) * bin), s->in[axis]);
    }
}

/* Channels [begin, end) of all regions. */
#define LARGEST(name, type)                                                                        \
    ISA_BODY void name##_row(type *y, const type *plane, const struct kernel_roi_max *s,           \
                             struct span rows, const struct span *columns)                         \
    {                                                                                              \
        int64_t first = columns[0].begin, end = columns[s->out[1] - 1].end;                        \
        type line[WIDE];                                                                           \
                                                                                                   \
        for (int64_t i = first; i < end; i++)                                                      \
            line[i] = -(type)INFINITY;                                                             \
        for (int64_t row = rows.begin; row < rows.end; row++) {                                    \
            const type *x = plane + row * s->in[1];                                                \
                                                                                                   \
            _Pragma("omp simd") for (int64_t i = first; i < end; i++) line[i] =                    \
                x[i] > line[i] ? x[i] : line[i];                                                   \
        }                                                                                          \
        for (int64_t o = 0; o < s->out[1]; o++) {                                                  \
            type largest = -(type)INFINITY;                                                        \
                                                                                                   \
            for (int64_t i = columns[o].begin; i < columns[o].end; i++)                            \
                largest = line[i] > largest ? line[i] : largest;                                   \
            y[o] = rows.begin < rows.end && columns[o].begin < columns[o].end ? largest : 0;       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_part(const struct roi_max *p, int64_t begin, int64_t end)                 \
    {                                                                                              \
        const struct kernel_roi_max *s = p->shape;                                                 \
        int64_t plane = s->in[0] * s->in[1], known = -1;                                           \
        struct span rows[BINS], columns[BINS];                                                     \
                                                                                                   \
        for (; begin < end; begin++) {                                                             \
            int64_t r = begin / s->channels, image = (int64_t)((const type *)p->rois)[5 * r];      \
            const type *x =                                                                        \
                (const type *)p->x + (image * s->channels + begin % s->channels) * plane;          \
            type *y = (type *)p->y + begin * s->out[0] * s->out[1];                                \
                                                                                                   \
            if (r != known) {                                                                      \
                find_spans(rows, p, r, 0);                                                         \
                find_spans(columns, p, r, 1);                                                      \
                known = r;                                                                         \
            }                                                                                      \
            for (int64_t o = 0; o < s->out[0]; o++, y += s->out[1])                                \
                name##_row(y, x, s, rows[o], columns);                                             \
        }                                                                                          \
    }

LARGEST(f32, float)
LARGEST(f64, double)

/* False where an image is out of range. */
static bool has_images(const void *rois, const struct kernel_roi_max *s)
{
    for (int64_t r = 0; r < s->regions; r++) {
        double image = s->dtype == KERNEL_F64 ? ((const double *)rois)[5 * r]
                                              : (double)((const float *)rois)[5 * r];

        if (!(image >= 0.0 && image < (double)s->batch))
            return false;
    }
    return true;
}

static bool is_known(const struct kernel_roi_max *s)
{
    return (s->dtype == KERNEL_F32 || s->dtype == KERNEL_F64) && s->in[1] <= WIDE &&
           s->out[0] <= BINS && s->out[1] <= BINS && s->out[1] > 0 && s->channels > 0;
}

#define ROI_MAX(isa)                                                                               \
    ISA_TARGET_##isa static void f32_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        f32_part(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void f64_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        f64_part(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    int roi_max_##isa(void *y, const void *x, const void *rois,                                    \
                      const struct kernel_roi_max *shape)                                          \
    {                                                                                              \
        struct roi_max p = {y, x, rois, shape};                                                    \
                                                                                                   \
        if (!is_known(shape))                                                                      \
            return roi_max_ref(y, x, rois, shape);                                                 \
        if (!has_images(rois, shape))                                                              \
            return -1;                                                                             \
        team_for(shape->regions * shape->channels, GRAIN / (shape->in[0] * shape->in[1] + 1) + 1,  \
                 shape->dtype == KERNEL_F64 ? f64_part_##isa : f32_part_##isa, &p);                \
        return 0;                                                                                  \
    }

ISA_VERSIONS(ROI_MAX)
