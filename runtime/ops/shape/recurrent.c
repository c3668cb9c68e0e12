/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: RNN, GRU, LSTM. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P };

/* Of an LSTM of bytes, each with scale and zero point behind it. */
enum { BYTES_X, BYTES_W = 3, BYTES_R = 6, BYTES_B = 9 };

/* The sizes of a layer. */
struct layer {
    int64_t steps, batch, inputs, hidden, directions, gates;
    bool is_batch_first;
    uint32_t rest;    /* the place of its biases, behind which stand lengths and states */
    bool is_of_bytes; /* its input; biases and states are float32 */
};

static int check_shape(struct infer *infer, const struct layer *l, uint32_t i, int rank,
                       const int64_t *dims)
{
    struct shape want = {.rank = rank};
    char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];

    if (!infer_has(infer, i))
        return 0;
    memcpy(want.dims, dims, (size_t)rank * sizeof(*dims));
    if (!shape_equal(&want, infer_shape(infer, i)))
        return infer_fail(infer, "input %u is %s instead of %s", i,
                          shape_text(infer_shape(infer, i), a), shape_text(&want, b));
    if (l->is_of_bytes && i != l->rest + 1 && infer_dtype(infer, i) != DTYPE_F32)
        return infer_unsupported(infer, "input %u is %s", i, dtype_name(infer_dtype(infer, i)));
    return i == l->rest + 1 || l->is_of_bytes ? 0 : infer_same_dtype(infer, X, i);
}

static void set_state(const struct layer *l, int64_t out[3])
{
    out[0] = l->is_batch_first ? l->batch : l->directions;
    out[1] = l->is_batch_first ? l->directions : l->batch;
    out[2] = l->hidden;
}

/* All but the weights. */
static int check_rest(struct infer *infer, const struct layer *l)
{
    int64_t b[] = {l->directions, 2 * l->gates * l->hidden};
    int64_t state[3];
    uint32_t lengths = l->rest + 1;
    int rc = check_shape(infer, l, l->rest, 2, b);

    set_state(l, state);
    if (rc == 0)
        rc = check_shape(infer, l, lengths, 1, &l->batch);
    if (rc == 0 && infer_has(infer, lengths) && infer_dtype(infer, lengths) != DTYPE_I32)
        rc = infer_fail(infer, "its lengths are %s, not int32",
                        dtype_name(infer_dtype(infer, lengths)));
    if (rc == 0)
        rc = check_shape(infer, l, l->rest + 2, 3, state);
    return rc < 0 ? rc : check_shape(infer, l, l->rest + 3, 3, state);
}

static int check_inputs(struct infer *infer, const struct layer *l)
{
    int64_t w[] = {l->directions, l->gates * l->hidden, l->inputs};
    int64_t r[] = {l->directions, l->gates * l->hidden, l->hidden};
    int64_t p[] = {l->directions, 3 * l->hidden};
    int rc = check_shape(infer, l, W, 3, w);

    if (rc == 0)
        rc = check_shape(infer, l, R, 3, r);
    if (rc == 0)
        rc = check_rest(infer, l);
    return rc < 0 ? rc : check_shape(infer, l, P, 2, p);
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
    struct layer l = {.directions = is_both ? 2 : 1, .gates = gates_of(node->op_type), .rest = B};
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

/* Whether the scale and the zero point of bytes are one for each direction, or for each of its columns. */
static bool fits_columns(const struct infer *infer, uint32_t i, int64_t directions, int64_t columns)
{
    int64_t count = shape_elements(infer_shape(infer, i + 1));

    return (count == directions || count == directions * columns) &&
           shape_elements(infer_shape(infer, i + 2)) == count &&
           infer_dtype(infer, i + 1) == DTYPE_F32;
}

/* Bytes [steps, batch, inputs], weights [directions, inputs, 4 * hidden], [directions, hidden, 4 * hidden]. */
int shape_lstm_int8(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, BYTES_X), *w = infer_shape(infer, BYTES_W);
    const struct shape *r = infer_shape(infer, BYTES_R);
    bool is_both = strcmp(node_string(infer->node, "direction", "forward"), "bidirectional") == 0;
    struct layer l = {
        .directions = is_both ? 2 : 1, .gates = 4, .rest = BYTES_B, .is_of_bytes = true};
    struct shape y, state = {.rank = 3};
    int rc = infer_quantised(infer, BYTES_W, BYTES_W + 2);

    if (rc == 0)
        rc = infer_quantised(infer, BYTES_R, BYTES_R + 2);
    if (rc < 0)
        return rc;
    if (infer_dtype(infer, BYTES_X) != DTYPE_U8 || infer_dtype(infer, BYTES_X + 2) != DTYPE_U8 ||
        infer_dtype(infer, BYTES_X + 1) != DTYPE_F32)
        return infer_unsupported(infer, "its inputs are no bytes with a scale");
    if (x->rank != 3 || w->rank != 3 || r->rank != 3)
        return infer_fail(infer, "its input and weights do not have 3 dimensions");
    l.steps = x->dims[0];
    l.batch = x->dims[1];
    l.inputs = x->dims[2];
    l.hidden = r->dims[1];
    if (!shape_equal(w, &(struct shape){3, {l.directions, l.inputs, 4 * l.hidden}}) ||
        !shape_equal(r, &(struct shape){3, {l.directions, l.hidden, 4 * l.hidden}}) ||
        !fits_columns(infer, BYTES_W, l.directions, 4 * l.hidden) ||
        !fits_columns(infer, BYTES_R, l.directions, 4 * l.hidden))
        return infer_fail(infer, "its weights do not fit its input");
    rc = check_rest(infer, &l);
    if (rc < 0)
        return rc;
    set_state(&l, state.dims);
    y = (struct shape){4, {l.steps, l.directions, l.batch, l.hidden}};
    rc = infer_output(infer, 0, DTYPE_F32, &y);
    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_output(infer, i, DTYPE_F32, &state);
    return rc;
}
