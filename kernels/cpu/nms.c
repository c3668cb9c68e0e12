/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression: boxes are sorted by their scores once, and each is held against those
 * that are kept, which lie beside each other, some at a time. */
#include <string.h>

#include "kernels/kernels.h"

enum { BLOCK = 8, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

/* Boxes that are kept. */
struct kept {
    int64_t count;
    double *top, *left, *bottom, *right, *area;
};

struct box {
    double top, left, bottom, right, area;
};

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double area_of(double top, double left, double bottom, double right)
{
    return bottom > top && right > left ? (bottom - top) * (right - left) : 0.0;
}

static struct box box_at(const float *b, bool is_center)
{
    double first = (double)b[0], second = (double)b[1], third = (double)b[2], last = (double)b[3];
    struct box box;

    if (is_center) {
        double w = third / 2.0, h = last / 2.0;

        box = (struct box){second - h, first - w, second + h, first + w, 0.0};
    } else { /* any two opposite corners */
        box = (struct box){least(first, third), least(second, last), first < third ? third : first,
                           second < last ? last : second, 0.0};
    }
    box.area = area_of(box.top, box.left, box.bottom, box.right);
    return box;
}

static bool overlaps(const struct box *a, const struct kept *k, int64_t i, double limit)
{
    double shared = area_of(most(a->top, k->top[i]), most(a->left, k->left[i]),
                            least(a->bottom, k->bottom[i]), least(a->right, k->right[i]));
    double all = a->area + k->area[i] - shared;

    return (a->area > 0.0 && k->area[i] > 0.0 && all > 0.0 ? shared / all : 0.0) > limit;
}

static bool is_free(const struct box *box, const struct kept *k, double limit)
{
    int64_t i = 0;

    for (; i + BLOCK <= k->count; i += BLOCK) {
        int any = 0;

        for (int64_t j = i; j < i + BLOCK; j++)
            any |= overlaps(box, k, j, limit);
        if (any)
            return false;
    }
    for (; i < k->count; i++)
        if (overlaps(box, k, i, limit))
            return false;
    return true;
}

/* The higher the score, the lower; zeros of both signs are the same. */
static uint32_t rank_of(float score)
{
    int32_t bits;

    score += 0.0f; /* -0 is 0 */
    memcpy(&bits, &score, sizeof(bits));
    bits ^= bits >> 31 & INT32_MAX;
    return (uint32_t)INT32_MAX - (uint32_t)bits;
}

/* By rank, which stands in the upper half; of equal ones in the order in which they are. */
static void sort(uint64_t *keys, uint64_t *other, int64_t count)
{
    for (int pass = 0; pass < PASSES; pass++) {
        int shift = 32 + pass * DIGIT_BITS;
        int64_t places[DIGITS + 1] = {0};
        uint64_t *swap;

        for (int64_t i = 0; i < count; i++)
            places[(keys[i] >> shift & (DIGITS - 1)) + 1]++;
        for (int i = 1; i < DIGITS; i++)
            places[i] += places[i - 1];
        for (int64_t i = 0; i < count; i++)
            other[places[keys[i] >> shift & (DIGITS - 1)]++] = keys[i];
        swap = keys;
        keys = other;
        other = swap;
    }
    memcpy(other, keys, (size_t)count * sizeof(*keys)); /* after an odd number of passes */
}

static int64_t find_candidates(uint64_t *keys, const float *scores, const struct kernel_nms *s)
{
    int64_t count = 0;

    for (int64_t i = 0; i < s->boxes; i++)
        if (!s->has_score_min || scores[i] >= s->score_min)
            keys[count++] = (uint64_t)rank_of(scores[i]) << 32 | (uint64_t)i;
    return count;
}

/* The scores of NaN come in an order of the reference's own. */
static bool has_odd_scores(const float *scores, const struct kernel_nms *s)
{
    int64_t count = s->batch * s->classes * s->boxes;
    int odd = s->boxes > UINT32_MAX;

    for (int64_t i = 0; !s->has_score_min && i < count; i++)
        odd |= scores[i] != scores[i];
    return odd;
}

int64_t nms_portable(int64_t *y, int64_t room, const float *boxes, const float *scores,
                     void *scratch, const struct kernel_nms *s)
{
    uint64_t *keys = scratch, *other;
    double *numbers;
    struct kept kept;
    int64_t count = 0;

    if (s->boxes == 0) /* then there need not be any memory for them either */
        return 0;
    other = keys + s->boxes;
    numbers = (double *)(other + s->boxes);
    kept = (struct kept){0,
                         numbers,
                         numbers + s->boxes,
                         numbers + 2 * s->boxes,
                         numbers + 3 * s->boxes,
                         numbers + 4 * s->boxes};
    if (has_odd_scores(scores, s))
        return nms_ref(y, room, boxes, scores, scratch, s);
    for (int64_t line = 0; line < s->batch * s->classes; line++) {
        int64_t image = line / s->classes;
        int64_t candidates = find_candidates(keys, scores + line * s->boxes, s);

        sort(keys, other, candidates);
        kept.count = 0;
        for (int64_t i = 0; i < candidates && kept.count < s->limit && count < room; i++) {
            int64_t at = (int64_t)(keys[i] & UINT32_MAX);
            struct box box = box_at(boxes + (image * s->boxes + at) * 4, s->is_center);

            if (!is_free(&box, &kept, (double)s->overlap_max))
                continue;
            kept.top[kept.count] = box.top;
            kept.left[kept.count] = box.left;
            kept.bottom[kept.count] = box.bottom;
            kept.right[kept.count] = box.right;
            kept.area[kept.count++] = box.area;
            if (y) {
                y[3 * count] = image;
                y[3 * count + 1] = line % s->classes;
                y[3 * count + 2] = at;
            }
            count++;
        }
    }
    return count;
}
