/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions lose the outer taps of their windows that meet nothing but padding, as those do that are
 * dilated further than a small image reaches: of 3 x 3 the middle one stays. */
#include <errno.h>
#include <string.h>

#include "runtime/passes/pass.h"

enum { SPATIAL = 3 };

/* What stays of a window along one axis. */
struct span {
    int64_t size, first, count;
};

struct along {
    int64_t image, positions, stride, dilation, begin, end;
};

/* Some position of the window has the tap on the image. */
static bool meets_image(const struct along *a, int64_t tap)
{
    int64_t at = tap * a->dilation - a->begin;
    int64_t position = at < 0 ? (-at + a->stride - 1) / a->stride : 0;

    return position < a->positions && position * a->stride + at < a->image;
}

/* Pads stay above 0: what is cut off was within them. */
static struct span keep(const struct along *a, int64_t size)
{
    struct span span = {size, 0, size};

    while (span.count > 1 && (span.first + 1) * a->dilation <= a->begin &&
           !meets_image(a, span.first)) {
        span.first++;
        span.count--;
    }
    while (span.count > 1 && (size - span.first - span.count + 1) * a->dilation <= a->end &&
           !meets_image(a, span.first + span.count - 1))
        span.count--;
    return span;
}

static bool is_candidate(const struct node *node)
{
    const struct value *x = node_input(node, 0), *w = node_input(node, 1);

    return strcmp(node->op_type, "Conv") == 0 && node->domain[0] == '\0' && x && w && w->data &&
           node_output(node, 0) && x->shape.rank > 2 && x->shape.rank <= 2 + SPATIAL &&
           w->shape.rank == x->shape.rank && shape_elements(&w->shape) > 0 &&
           node->outputs[0]->shape.rank == x->shape.rank &&
           shape_elements(&node->outputs[0]->shape) > 0 &&
           strcmp(node_string(node, "auto_pad", "NOTSET"), "NOTSET") == 0;
}

/* The taps that stay, and the attributes that go with them. Returns whether any goes. */
static bool find_spans(const struct node *node, struct span *spans, int64_t *pads, int64_t *kernel)
{
    const struct value *x = node->inputs[0], *w = node->inputs[1], *y = node->outputs[0];
    size_t count = (size_t)x->shape.rank - 2;
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        struct along a = {x->shape.dims[2 + i],
                          y->shape.dims[2 + i],
                          node_int_at(node, "strides", i, 1),
                          node_int_at(node, "dilations", i, 1),
                          node_int_at(node, "pads", i, 0),
                          node_int_at(node, "pads", count + i, 0)};
        struct span span = keep(&a, w->shape.dims[2 + i]);

        pads[i] = a.begin - span.first * a.dilation;
        pads[count + i] = a.end - (span.size - span.first - span.count) * a.dilation;
        kernel[i] = span.count;
        any |= span.count < span.size;
        spans[SPATIAL - count + i] = span;
    }
    return any;
}

static void copy_taps(uint8_t *to, const uint8_t *from, int64_t windows, size_t bytes,
                      const struct span *s)
{
    size_t row = (size_t)s[2].count * bytes;

    for (int64_t i = 0; i < windows; i++)
        for (int64_t a = 0; a < s[0].count; a++)
            for (int64_t b = 0; b < s[1].count; b++, to += row) {
                int64_t plane = i * s[0].size + s[0].first + a;
                int64_t line = plane * s[1].size + s[1].first + b;

                memcpy(to, from + (size_t)(line * s[2].size + s[2].first) * bytes, row);
            }
}

/* A constant of its own: others may read the whole windows. */
static struct value *cut_weights(struct graph *graph, struct value *w, const struct span *spans,
                                 const int64_t *kernel)
{
    struct shape shape = w->shape;
    struct value *value;
    void *data;

    for (int i = 2; i < shape.rank; i++)
        shape.dims[i] = kernel[i - 2];
    if (value_settle(w) < 0)
        return NULL;
    value = graph_add_value(graph, NULL, w->dtype, &shape, NULL);
    data = value ? graph_alloc_data((size_t)shape_bytes(&shape, w->dtype)) : NULL;
    if (!data)
        return NULL;
    copy_taps(data, w->data, shape.dims[0] * shape.dims[1], dtype_bytes(w->dtype), spans);
    value_set_data(value, data);
    return value;
}

static int trim(struct graph *graph, struct node *conv)
{
    struct span spans[SPATIAL] = {{1, 0, 1}, {1, 0, 1}, {1, 0, 1}};
    int64_t pads[2 * SPATIAL], kernel[SPATIAL];
    size_t count = (size_t)conv->inputs[0]->shape.rank - 2;
    struct value *w;

    if (!find_spans(conv, spans, pads, kernel))
        return 0;
    w = cut_weights(graph, conv->inputs[1], spans, kernel);
    if (!w || node_set_input(conv, 1, w) < 0 || node_set_ints(conv, "pads", pads, 2 * count) < 0 ||
        node_set_ints(conv, "kernel_shape", kernel, count) < 0)
        return -ENOMEM;
    return 1;
}

int pass_trim_taps(struct graph *graph, struct diag *diag)
{
    int changed = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        int rc = is_candidate(graph->nodes[i]) ? trim(graph, graph->nodes[i]) : 0;

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
