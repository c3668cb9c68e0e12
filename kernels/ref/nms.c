/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression, the truth. */
#include "kernels/kernels.h"

#include <string.h>

struct box {
    double top, left, bottom, right;
};

static struct box box_of(const float *b, bool is_center)
{
    if (is_center) {
        double x = (double)b[0], y = (double)b[1], w = (double)b[2] / 2.0, h = (double)b[3] / 2.0;

        return (struct box){y - h, x - w, y + h, x + w};
    }
    /* Any two opposite corners. */
    return (struct box){
        .top = (double)(b[0] < b[2] ? b[0] : b[2]),
        .left = (double)(b[1] < b[3] ? b[1] : b[3]),
        .bottom = (double)(b[0] < b[2] ? b[2] : b[0]),
        .right = (double)(b[1] < b[3] ? b[3] : b[1]),
    };
}

static double area(const struct box *b)
{
    return b->bottom > b->top && b->right > b->left ? (b->bottom - b->top) * (b->right - b->left)
                                                    : 0.0;
}

/* Intersection over union; 0 where a box has no area. */
static double overlap(const struct box *a, const struct box *b)
{
    struct box both = {
        .top = a->top > b->top ? a->top : b->top,
        .left = a->left > b->left ? a->left : b->left,
        .bottom = a->bottom < b->bottom ? a->bottom : b->bottom,
        .right = a->right < b->right ? a->right : b->right,
    };
    double shared = area(&both), all = area(a) + area(b) - shared;

    return area(a) > 0.0 && area(b) > 0.0 && all > 0.0 ? shared / all : 0.0;
}

enum { WAITS, DROPPED, KEPT };

/* The best box that waits, or -1. */
static int64_t best(const float *scores, const uint8_t *state, const struct kernel_nms *s)
{
    int64_t found = -1;

    for (int64_t i = 0; i < s->boxes; i++)
        if (state[i] == WAITS && (!s->has_score_min || scores[i] >= s->score_min) &&
            (found < 0 || scores[i] > scores[found]))
            found = i;
    return found;
}

static bool is_free(const float *boxes, const uint8_t *state, int64_t candidate,
                    const struct kernel_nms *s)
{
    struct box a = box_of(boxes + 4 * candidate, s->is_center);

    for (int64_t i = 0; i < s->boxes; i++) {
        if (state[i] == KEPT) {
            struct box b = box_of(boxes + 4 * i, s->is_center);

            if (overlap(&a, &b) > (double)s->overlap_max)
                return false;
        }
    }
    return true;
}

int64_t nms_ref(int64_t *y, int64_t room, const float *boxes, const float *scores, void *scratch,
                const struct kernel_nms *shape)
{
    uint8_t *kept = scratch;
    int64_t count = 0;

    if (shape->boxes == 0) /* then there need not be any memory for them either */
        return 0;
    for (int64_t line = 0; line < shape->batch * shape->classes; line++) {
        int64_t image = line / shape->classes, found;
        const float *image_boxes = boxes + image * shape->boxes * 4;
        const float *line_scores = scores + line * shape->boxes;
        int64_t left = shape->limit;

        memset(kept, WAITS, (size_t)shape->boxes);
        while (left > 0 && count < room && (found = best(line_scores, kept, shape)) >= 0) {
            if (!is_free(image_boxes, kept, found, shape)) {
                kept[found] = DROPPED;
                continue;
            }
            kept[found] = KEPT;
            if (y) {
                y[3 * count] = image;
                y[3 * count + 1] = line % shape->classes;
                y[3 * count + 2] = found;
            }
            count++;
            left--;
        }
    }
    return count;
}
