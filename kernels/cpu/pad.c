/* SPDX-License-Identifier: Apache-2.0 */
/* Pads and triangles by whole rows. */
#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 15 }; /* elements that are worth a second thread */

struct padding {
    char *y;
    const char *x, *value;
    const struct kernel_pad *shape;
};

static void fill(char *y, const char *value, size_t bytes, int64_t count)
{
    uint32_t four;

    if (bytes == 4) {
        memcpy(&four, value, sizeof(four));
        for (int64_t i = 0; i < count; i++)
            memcpy(y + (size_t)i * sizeof(four), &four, sizeof(four));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(y + (size_t)i * bytes, value, bytes);
}

enum { EDGE = 64 }; /* elements beside a row whose places are worked out once */

/* Elements [from, until) of a row of y one by one; `places`, where it is not NULL, has theirs. */
static void pad_elements(const struct padding *p, char *y, const char *x, int64_t from,
                         int64_t until, const int64_t *places)
{
    const struct kernel_pad *s = p->shape;
    size_t bytes = s->element_bytes;

    if (s->mode == KERNEL_PAD_CONSTANT) {
        fill(y + (size_t)from * bytes, p->value, bytes, until - from);
        return;
    }
    if (places && bytes == 4) {
        for (int64_t o = from; o < until; o++)
            memcpy(y + 4 * (size_t)o, x + 4 * (size_t)places[o - from], 4);
        return;
    }
    for (int64_t o = from; o < until; o++) {
        int64_t at = places ? places[o - from] : kernel_pad_source(s, s->rank - 1, o);

        memcpy(y + (size_t)o * bytes, at < 0 ? p->value : x + (size_t)at * bytes, bytes);
    }
}

/* Rows [begin, end) of y: what is inside of x is copied in one piece. */
static void pad_rows(void *argument, int64_t begin, int64_t end)
{
    const struct padding *p = argument;
    const struct kernel_pad *s = p->shape;
    int last = s->rank - 1;
    int64_t wide = s->y_dims[last], size = s->x_dims[last], front = s->begin[last];
    int64_t behind = wide - size - front, first = front > 0 ? front : 0;
    int64_t until = behind > 0 ? wide - behind : wide;
    int64_t front_places[EDGE], back_places[EDGE];
    size_t bytes = s->element_bytes;
    bool is_known = false;

    first = first < wide ? first : wide;
    until = until < first ? first : until;
    /* In the other modes every element has one. */
    if (s->mode != KERNEL_PAD_CONSTANT && first <= EDGE && wide - until <= EDGE) {
        for (int64_t o = 0; o < first; o++)
            front_places[o] = kernel_pad_source(s, last, o);
        for (int64_t o = until; o < wide; o++)
            back_places[o - until] = kernel_pad_source(s, last, o);
        is_known = true;
    }
    for (int64_t row = begin; row < end; row++) {
        char *y = p->y + (size_t)(row * wide) * bytes;
        int64_t rest = row, at = 0, stride = size;
        bool is_outside = false;

        for (int i = last - 1; i >= 0; i--) {
            int64_t source = kernel_pad_source(s, i, rest % s->y_dims[i]);

            is_outside = is_outside || source < 0;
            at += source * stride;
            stride *= s->x_dims[i];
            rest /= s->y_dims[i];
        }
        if (is_outside) {
            fill(y, p->value, bytes, wide);
            continue;
        }
        pad_elements(p, y, p->x + (size_t)at * bytes, 0, first, is_known ? front_places : NULL);
        if (until > first)
            memcpy(y + (size_t)first * bytes, p->x + (size_t)(at + first - front) * bytes,
                   (size_t)(until - first) * bytes);
        pad_elements(p, y, p->x + (size_t)at * bytes, until, wide, is_known ? back_places : NULL);
    }
}

void pad_portable(void *y, const void *x, const void *value, const struct kernel_pad *shape)
{
    struct padding p = {y, x, value, shape};
    int64_t rows = 1, wide = shape->rank > 0 ? shape->y_dims[shape->rank - 1] : 0;

    for (int i = 0; i < shape->rank - 1; i++)
        rows *= shape->y_dims[i];
    for (int i = 0; i < shape->rank; i++) /* nothing can be copied of nothing */
        if (shape->x_dims[i] == 0 || shape->begin[i] <= -shape->x_dims[i])
            wide = 0;
    if (wide == 0)
        pad_ref(y, x, value, shape);
    else
        team_for(rows, GRAIN / wide + 1, pad_rows, &p);
}

void triangle_portable(void *y, const void *x, int64_t k, const struct kernel_triangle *shape)
{
    size_t bytes = shape->element_bytes, line = (size_t)shape->cols * bytes;
    const char *from = x;
    char *to = y;

    k = k > shape->cols ? shape->cols : k < -shape->rows ? -shape->rows : k;
    for (int64_t i = 0; i < shape->batch * shape->rows; i++, to += line, from += line) {
        /* The upper part begins at this column, the lower one ends behind it. */
        int64_t at = i % shape->rows + k + (shape->is_upper ? 0 : 1);
        size_t part = (size_t)(at < 0 ? 0 : at < shape->cols ? at : shape->cols) * bytes;

        if (y != x && shape->is_upper)
            memcpy(to + part, from + part, line - part);
        else if (y != x)
            memcpy(to, from, part);
        if (shape->is_upper)
            memset(to, 0, part);
        else
            memset(to + part, 0, line - part);
    }
}
