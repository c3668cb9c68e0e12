/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression: boxes are sorted by their scores once, and each is held against those
 * that are kept, which lie beside each other, some at a time. */
#include <string.h>

#include "kernels/kernels.h"

enum {
    BLOCK = 8,
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    FEW = 1000, /* boxes */
    FEW_BITS = 8,
};

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

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t pair_mask __attribute__((vector_size(16)));

/* Whether one of a block of boxes shares something with this one: most do not. */
static bool any_meets(const struct box *a, const struct kept *k, int64_t i)
{
    pair top = {a->top, a->top}, left = {a->left, a->left};
    pair bottom = {a->bottom, a->bottom}, right = {a->right, a->right};
    pair_mask any = {0};

    for (int64_t j = i; j < i + BLOCK; j += 2)
        any |= (top < *(const pair *)(k->bottom + j)) & (*(const pair *)(k->top + j) < bottom) &
               (left < *(const pair *)(k->right + j)) & (*(const pair *)(k->left + j) < right);
    return (any[0] | any[1]) != 0;
}

static bool is_free(const struct box *box, const struct kept *k, double limit)
{
    int64_t i = 0;

    while (i < k->count) {
        int64_t end = i + BLOCK < k->count ? i + BLOCK : k->count;

        if (limit >= 0.0 && end - i == BLOCK && !any_meets(box, k, i))
            i = end;
        for (; i < end; i++)
            if (overlaps(box, k, i, limit))
                return false;
    }
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

/* By rank, which stands in the upper half; of equal ones in the order in which they are. Of few the digits are small:
 * as many counts are looked at for each. */
static void sort(uint64_t *keys, uint64_t *other, int64_t count)
{
    uint64_t *from = keys, *to = other;
    int bits = count <= FEW ? FEW_BITS : DIGIT_BITS, digits = 1 << bits;

    for (int shift = 32; shift < 64; shift += bits) {
        int64_t places[DIGITS + 1];
        uint64_t *swap = from;

        memset(places, 0, (size_t)(digits + 1) * sizeof(*places));
        for (int64_t i = 0; i < count; i++)
            places[(from[i] >> shift & (uint64_t)(digits - 1)) + 1]++;
        for (int i = 1; i < digits; i++)
            places[i] += places[i - 1];
        for (int64_t i = 0; i < count; i++)
            to[places[from[i] >> shift & (uint64_t)(digits - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)count * sizeof(*keys));
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
