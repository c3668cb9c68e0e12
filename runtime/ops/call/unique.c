/* SPDX-License-Identifier: Apache-2.0 */
/* Unique, also of texts, whose order is not that of their numbers. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/texts.h"

struct unique_params {
    unique_fn *fn;
    uint32_t outputs; /* of the node */
    int64_t count, elements;
    struct kernel_unique shape;
};

static void *output(const struct call *call, uint32_t i)
{
    const struct unique_params *p = call->params;

    return i < p->outputs ? call->outputs[i] : NULL;
}

static int run_unique(const struct call *call)
{
    const struct unique_params *p = call->params;
    struct kernel_unique_outputs outputs = {output(call, 0), output(call, 1), output(call, 2),
                                            output(call, 3), p->count};

    return p->fn(&outputs, call->inputs[0], call->workspace, &p->shape) == p->count ? 0 : -ESTALE;
}

/* Of two numbers of texts, by the bytes of those. */
static int compare_texts(const void *a, const void *b)
{
    size_t x_length, y_length;
    const char *x = texts_get(*(const int64_t *)a, &x_length);
    const char *y = texts_get(*(const int64_t *)b, &y_length);
    int order = memcmp(x, y, x_length < y_length ? x_length : y_length);

    return order != 0 ? order : (x_length > y_length) - (x_length < y_length);
}

/* Each text becomes its place among all, in order; the same texts, the same. */
static void rank_texts(const int64_t *x, int64_t count, int64_t *sorted, int64_t *ranks)
{
    memcpy(sorted, x, (size_t)count * sizeof(*x));
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_texts);
    for (int64_t i = 0; i < count; i++) {
        int64_t low = 0, high = count - 1;

        while (low < high) {
            int64_t middle = low + (high - low) / 2;

            if (compare_texts(&sorted[middle], &x[i]) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        ranks[i] = low;
    }
}

static int run_unique_texts(const struct call *call)
{
    const struct unique_params *p = call->params;
    const struct kernel_unique *s = &p->shape;
    int64_t *sorted = call->workspace, *ranks = sorted + p->elements, *y = output(call, 0);
    struct kernel_unique_outputs outputs = {y, output(call, 1), output(call, 2), output(call, 3),
                                            p->count};

    if (p->elements > 0)
        rank_texts(call->inputs[0], p->elements, sorted, ranks);
    if (p->fn(&outputs, ranks, ranks + p->elements, s) != p->count)
        return -ESTALE;
    for (int64_t i = 0; y && i < s->outer * p->count * s->inner; i++)
        y[i] = sorted[y[i]];
    return 0;
}

int call_bind_unique(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *y = &request->outputs[0];
    bool has_axis = node_attribute(request->node, "axis") != NULL;
    struct unique_params *p;
    int axis = 0, rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (has_axis)
        axis = rc = call_axis(request, node_int(request->node, "axis", 0), x->shape.rank);
    if (rc < 0)
        return rc;
    if (!call_moved_dtype(x->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    p->shape.is_sorted = node_int(request->node, "sorted", 1) != 0;
    p->shape.outer = p->shape.inner = 1;
    p->shape.axis = has_axis ? x->shape.dims[axis] : shape_elements(&x->shape);
    for (int i = 0; has_axis && i < x->shape.rank; i++)
        *(i < axis ? &p->shape.outer : &p->shape.inner) *= i == axis ? 1 : x->shape.dims[i];
    p->outputs = request->node->output_count;
    p->count = y->shape.dims[axis];
    p->fn = request->kernels->unique.fn;
    call->workspace_bytes = kernel_unique_room(&p->shape);
    call->version = request->kernels->unique.version;
    call->run = run_unique;
    p->elements = shape_elements(&x->shape);
    if (x->dtype == DTYPE_STRING) {
        if (request->on_device)
            return call_refuse(request, -ENOTSUP, "no kernel of a device for texts");
        call->run = run_unique_texts;
        call->workspace_bytes += 2 * (size_t)p->elements * sizeof(int64_t);
    }
    return 0;
}
