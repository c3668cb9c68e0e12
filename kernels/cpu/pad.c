/* SPDX-License-Identifier: Apache-2.0 */
/* Pads and triangles by whole rows. */
#include <string.h>

#include "kernels/cpu/copy_small.h"
#include "kernels/cpu/fill.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 15 }; /* elements that are worth a second thread */

struct padding {
    char *y;
    const char *x, *value;
    const struct kernel_pad *shape;
};

/* By elements of a size that compilers know: mostly few. */
#define FILL(type)                                                                                 \
    {                                                                                              \
        type element;                                                                              \
                                                                                                   \
        memcpy(&element, value, sizeof(element));                                                  \
        for (int64_t i = 0; i < count; i++)                                                        \
            memcpy(y + (size_t)i * sizeof(element), &element, sizeof(element));                    \
    }

static void fill(char *y, const char *value, size_t bytes, int64_t count)
{
    if (bytes == 1)
        FILL(uint8_t)
    else if (bytes == 2)
        FILL(uint16_t)
    else if (bytes == 4)
        FILL(uint32_t)
    else
        FILL(uint64_t)
}

#define TAKE(type)                                                                                 \
    for (int64_t i = 0; i < count; i++)                                                            \
        memcpy(y + (size_t)i * sizeof(type), x + (size_t)places[i] * sizeof(type), sizeof(type));

static void take(char *y, const char *x, const int64_t *places, size_t bytes, int64_t count)
{
    if (bytes == 1)
        TAKE(uint8_t)
    else if (bytes == 2)
        TAKE(uint16_t)
    else if (bytes == 4)
        TAKE(uint32_t)
    else
        TAKE(uint64_t)
}

enum { EDGE = 64 }; /* elements beside a row whose places are worked out once */

/* Elements [from, until) of a row of y one by one. */
static void pad_elements(const struct padding *p, char *y, const char *x, int64_t from,
                         int64_t until)
{
    const struct kernel_pad *s = p->shape;
    size_t bytes = s->element_bytes;

    if (s->mode == KERNEL_PAD_CONSTANT) {
        fill(y + (size_t)from * bytes, p->value, bytes, until - from);
        return;
    }
    for (int64_t o = from; o < until; o++) {
        int64_t at = kernel_pad_source(s, s->rank - 1, o);

        memcpy(y + (size_t)o * bytes, at < 0 ? p->value : x + (size_t)at * bytes, bytes);
    }
}

/* Where in x a plane of rows of y lies. */
struct plane {
    int64_t at; /* in planes */
    bool is_outside;
};

static struct plane find_plane(const struct kernel_pad *s, int64_t index)
{
    struct plane plane = {0, false};
    int64_t stride = 1;

    for (int i = s->rank - 3; i >= 0; i--) {
        int64_t source = kernel_pad_source(s, i, index % s->y_dims[i]);

        plane.is_outside = plane.is_outside || source < 0;
        plane.at += source * stride;
        stride *= s->x_dims[i];
        index /= s->y_dims[i];
    }
    return plane;
}

enum { SMALL = 512, LINE = 16 }; /* bytes of a short row, and of what it is filled with at a time */

/* A row of at least LINE bytes. `line` has as many of the value, whose size divides that. */
static void fill_small(char *y, const char line[LINE], size_t bytes)
{
    for (size_t at = 0; at + LINE <= bytes; at += LINE)
        memcpy(y + at, line, LINE);
    memcpy(y + bytes - LINE, line, LINE);
}

/* Of such a row what is beside [first, until), in bytes, and what is written there again, where that is less. */
static void fill_beside(char *y, const char line[LINE], size_t bytes, size_t first, size_t until)
{
    if (first > LINE || bytes - until > LINE) {
        fill_small(y, line, bytes);
        return;
    }
    memcpy(y, line, LINE);
    memcpy(y + bytes - LINE, line, LINE);
}

static void copy_inside(char *y, const char *x, size_t bytes)
{
    if (bytes < SMALL)
        copy_small(y, x, bytes);
    else
        memcpy(y, x, bytes);
}

/* Rows [begin, end) of y: what is inside of x is copied in one piece. Only the first row of a plane
 * takes divisions. */
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
    int64_t high = last > 0 ? s->y_dims[last - 1] : 1, o = begin % high, index = begin / high;
    struct plane plane = find_plane(s, index);
    bool is_known = false, is_small = false;
    char line[LINE] = {0};

    if (s->mode == KERNEL_PAD_CONSTANT && bytes * (size_t)wide >= LINE &&
        bytes * (size_t)wide < SMALL) {
        fill_run(line, p->value, bytes, LINE);
        is_small = true;
    }
    first = first < wide ? first : wide;
    until = until < first ? first : until;
    /* In the other modes every element has one. */
    if (s->mode != KERNEL_PAD_CONSTANT && first <= EDGE && wide - until <= EDGE) {
        for (int64_t i = 0; i < first; i++)
            front_places[i] = kernel_pad_source(s, last, i);
        for (int64_t i = until; i < wide; i++)
            back_places[i - until] = kernel_pad_source(s, last, i);
        is_known = true;
    }
    for (int64_t row = begin; row < end; row++, o++) {
        char *y = p->y + (size_t)(row * wide) * bytes;
        const char *x;
        int64_t source, at;

        if (o == high) {
            o = 0;
            plane = find_plane(s, ++index);
        }
        source = last > 0 ? kernel_pad_source(s, last - 1, o) : 0;
        at = last > 0 ? (plane.at * s->x_dims[last - 1] + source) * size : 0;
        if (plane.is_outside || source < 0) {
            if (is_small)
                fill_small(y, line, bytes * (size_t)wide);
            else
                fill(y, p->value, bytes, wide);
            continue;
        }
        x = p->x + (size_t)at * bytes;
        if (is_small)
            fill_beside(y, line, bytes * (size_t)wide, bytes * (size_t)first,
                        bytes * (size_t)until);
        else if (is_known)
            take(y, x, front_places, bytes, first);
        else
            pad_elements(p, y, x, 0, first);
        if (until > first)
            copy_inside(y + (size_t)first * bytes, x + (size_t)(first - front) * bytes,
                        (size_t)(until - first) * bytes);
        if (is_known)
            take(y + (size_t)until * bytes, x, back_places, bytes, wide - until);
        else if (!is_small)
            pad_elements(p, y, x, until, wide);
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
    if (wide == 0 || rows == 0)
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
