/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: RNN, GRU, LSTM. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P };

/* The sizes of a layer. */
struct layer {
    int64_t steps, batch, inputs, hidden, directions, gates;
    bool is_batch_first;
};

static int check_shape(struct infer *infer, uint32_t i, int rank, const int64_t *dims)
{
    struct shape want = {.rank = rank};
    char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];

    if (!infer_has(infer, i))
        return 0;
    memcpy(want.dims, dims, (size_t)rank * sizeof(*dims));
    if (!shape_equal(&want, infer_shape(infer, i)))
        return infer_fail(infer, "input %u is %s instead of %s", i,
                          shape_text(infer_shape(infer, i), a), shape_text(&want, b));
    return i == LENGTHS ? 0 : infer_same_dtype(infer, X, i);
}

static void set_state(const struct layer *l, int64_t out[3])
{
    out[0] = l->is_batch_first ? l->batch : l->directions;
    out[1] = l->is_batch_first ? l->directions : l->batch;
    out[2] = l->hidden;
}

static int check_inputs(struct infer *infer, const struct layer *l)
{
    int64_t w[] = {l->directions, l->gates * l->hidden, l->inputs};
    int64_t r[] = {l->directions, l->gates * l->hidden, l->hidden};
    int64_t b[] = {l->directions, 2 * l->gates * l->hidden};
    int64_t p[] = {l->directions, 3 * l->hidden};
    int64_t state[3];
    int rc = check_shape(infer, W, 3, w);

    set_state(l, state);
    if (rc == 0)
        rc = check_shape(infer, R, 3, r);
    if (rc == 0)
        rc = check_shape(infer, B, 2, b);
    if (rc == 0)
        rc = check_shape(infer, LENGTHS, 1, &l->batch);
    if (rc == 0 && infer_has(infer, LENGTHS) && infer_dtype(infer, LENGTHS) != DTYPE_I32)
        rc = infer_fail(infer, "its lengths are %s, not int32",
                        dtype_name(infer_dtype(infer, LENGTHS)));
    if (rc == 0)
        rc = check_shape(infer, INITIAL_H, 3, state);
    if (rc == 0)
        rc = check_shape(infer, INITIAL_C, 3, state);
    return rc < 0 ? rc : check_shape(infer, P, 2, p);
}

static int64_t gates_of(const char *op_type)
{
    return strcmp(op_type, "LSTM") == 0 ? 4 : strcmp(op_type, "GRU") == 0 ? 3 : 1;
}

int shape_recurrent(struct infer *infer)
{
    const struct node *node = infer->node;
    const struct shape *x = infer_shape(infer, X), *r = infer_shape(infer, R);
    bool is_both = strcmp(node_string(node, "direction", "forward"), "bidirectional") == 0;
    struct layer l = {.directions = is_both ? 2 : 1, .gates = gates_of(node->op_type)};
    struct shape y = {.rank = 4}, state = {.rank = 3};
    int rc = infer_float(infer, X);

    if (rc < 0)
        return rc;
    if (x->rank != 3 || r->rank != 3)
        return infer_fail(infer, "its input and weights do not have 3 dimensions");
    l.is_batch_first = node_int(node, "layout", 0) != 0;
    l.steps = x->dims[l.is_batch_first];
    l.batch = x->dims[!l.is_batch_first];
    l.inputs = x->dims[2];
    l.hidden = r->dims[2];
    if (node_int(node, "hidden_size", l.hidden) != l.hidden)
        return infer_fail(infer, "attribute hidden_size is %" PRId64 " for weights of %" PRId64,
                          node_int(node, "hidden_size", 0), l.hidden);
    rc = check_inputs(infer, &l);
    if (rc < 0)
        return rc;
    set_state(&l, state.dims);
    y = (struct shape){4, {l.steps, l.directions, l.batch, l.hidden}};
    if (l.is_batch_first)
        y = (struct shape){4, {l.batch, l.steps, l.directions, l.hidden}};
    rc = infer_output(infer, 0, infer_dtype(infer, X), &y);
    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_output(infer, i, infer_dtype(infer, X), &state);
    return rc;
}
