/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: Attention, LinearAttention, RotaryEmbedding. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, SEEN };

enum { HEADS_MAX = 1 << 20 }; /* of no channels there could be any number */

/* One of the three operands as [batch, heads, steps, channels]. */
static int operand_shape(struct infer *infer, uint32_t i, const char *heads_name,
                         struct shape *out_shape)
{
    const struct shape *x = infer_shape(infer, i);
    int64_t heads = node_int(infer->node, heads_name, 0);
    int rc = infer_float(infer, i);

    if (rc < 0)
        return rc;
    if (x->rank != 3 && x->rank != 4)
        return infer_fail(infer, "input %u has %d dimensions instead of 3 or 4", i, x->rank);
    *out_shape = *x;
    if (x->rank == 4)
        return 0;
    if (heads < 1 || heads > HEADS_MAX || x->dims[2] % heads != 0)
        return infer_fail(infer, "attribute %s is %" PRId64 " for %" PRId64 " channels", heads_name,
                          heads, x->dims[2]);
    *out_shape = (struct shape){4, {x->dims[0], heads, x->dims[1], x->dims[2] / heads}};
    return 0;
}

static int check_past(struct infer *infer, uint32_t i, const struct shape *now)
{
    const struct shape *past;

    if (!infer_has(infer, i))
        return 0;
    past = infer_shape(infer, i);
    if (past->rank != 4 || past->dims[0] != now->dims[0] || past->dims[1] != now->dims[1] ||
        past->dims[3] != now->dims[3] || infer_dtype(infer, i) != infer_dtype(infer, Q))
        return infer_fail(infer, "input %u does not fit the keys and values", i);
    return 0;
}

static int check_operands(struct infer *infer, const struct shape *q, const struct shape *k,
                          const struct shape *v)
{
    bool fits = q->dims[0] == k->dims[0] && q->dims[0] == v->dims[0] && k->dims[1] == v->dims[1] &&
                k->dims[2] == v->dims[2] && q->dims[3] == k->dims[3] && k->dims[1] > 0 &&
                q->dims[1] % k->dims[1] == 0;
    int rc;

    if (!fits)
        return infer_fail(infer, "its queries, keys and values do not fit together");
    if (infer_has(infer, PAST_K) != infer_has(infer, PAST_V))
        return infer_fail(infer, "it has a past of keys or of values alone");
    rc = check_past(infer, PAST_K, k);
    if (rc == 0)
        rc = check_past(infer, PAST_V, v);
    if (rc == 0 && infer_has(infer, PAST_K) &&
        infer_shape(infer, PAST_K)->dims[2] != infer_shape(infer, PAST_V)->dims[2])
        rc = infer_fail(infer, "its past keys and values differ in length");
    if (rc == 0 && infer_has(infer, SEEN) &&
        (infer_dtype(infer, SEEN) != DTYPE_I64 ||
         shape_elements(infer_shape(infer, SEEN)) != q->dims[0]))
        rc = infer_fail(infer, "it has not one int64 length for each batch");
    return rc;
}

int shape_attention(struct infer *infer)
{
    struct shape q, k, v, out;
    int64_t past;
    int rc = operand_shape(infer, Q, "q_num_heads", &q);

    if (rc == 0)
        rc = operand_shape(infer, K, "kv_num_heads", &k);
    if (rc == 0)
        rc = operand_shape(infer, V, "kv_num_heads", &v);
    if (rc == 0)
        rc = check_operands(infer, &q, &k, &v);
    if (rc < 0)
        return rc;
    past = infer_has(infer, PAST_K) ? infer_shape(infer, PAST_K)->dims[2] : 0;
    k.dims[2] += past;
    v.dims[2] += past;
    out = *infer_shape(infer, Q);
    if (out.rank == 3)
        out.dims[2] = q.dims[1] * v.dims[3];
    else
        out.dims[3] = v.dims[3];
    rc = infer_output(infer, 0, infer_dtype(infer, Q), &out);
    if (rc == 0)
        rc = infer_output(infer, 1, infer_dtype(infer, Q), &k);
    if (rc == 0)
        rc = infer_output(infer, 2, infer_dtype(infer, Q), &v);
    q.dims[3] = k.dims[2];
    return rc < 0 ? rc : infer_output(infer, 3, infer_dtype(infer, Q), &q);
}

enum { STATE = 3, DECAY, BETA };

/* The recurrence says which of the two it takes. */
static int check_rule(struct infer *infer)
{
    const char *rule = node_string(infer->node, "update_rule", "gated_delta");
    bool has_decay = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    bool has_beta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;

    if (!has_decay && !has_beta && strcmp(rule, "linear") != 0)
        return infer_fail(infer, "attribute update_rule is '%.40s'", rule);
    if (has_decay != infer_has(infer, DECAY))
        return infer_fail(infer, "update_rule %s is %s a decay", rule,
                          has_decay ? "without" : "with");
    if (has_beta != infer_has(infer, BETA))
        return infer_fail(infer, "update_rule %s is %s a beta", rule,
                          has_beta ? "without" : "with");
    return 0;
}

/* A number for each step, and for each of what the last axis holds: one of two counts. */
static int check_steps(struct infer *infer, uint32_t i, int64_t count, int64_t other)
{
    const struct shape *q = infer_shape(infer, Q), *x;

    if (!infer_has(infer, i))
        return 0;
    x = infer_shape(infer, i);
    if (x->rank != 3 || x->dims[0] != q->dims[0] || x->dims[1] != q->dims[1] ||
        (x->dims[2] != count && x->dims[2] != other))
        return infer_fail(infer,
                          "input %u does not have %" PRId64 " or %" PRId64 " numbers for each step",
                          i, count, other);
    return infer_same_dtype(infer, Q, i);
}

int shape_linear_attention(struct infer *infer)
{
    struct shape q, k, v, out, state;
    enum dtype state_type = infer_dtype(infer, infer_has(infer, STATE) ? STATE : Q);
    int rc = check_rule(infer);

    for (uint32_t i = Q; rc == 0 && i <= V; i++)
        if (infer_shape(infer, i)->rank != 3)
            rc = infer_fail(infer, "input %u has %d dimensions instead of 3", i,
                            infer_shape(infer, i)->rank);
    if (rc == 0)
        rc = operand_shape(infer, Q, "q_num_heads", &q);
    if (rc == 0)
        rc = operand_shape(infer, K, "kv_num_heads", &k);
    if (rc == 0)
        rc = operand_shape(infer, V, "kv_num_heads", &v);
    for (uint32_t i = K; rc == 0 && i <= V; i++)
        rc = infer_same_dtype(infer, Q, i);
    if (rc < 0)
        return rc;
    if (q.dims[0] != k.dims[0] || q.dims[0] != v.dims[0] || q.dims[2] != k.dims[2] ||
        q.dims[2] != v.dims[2] || q.dims[3] != k.dims[3] || q.dims[1] % k.dims[1] != 0)
        return infer_fail(infer, "its queries, keys and values do not fit together");
    rc = check_steps(infer, DECAY, k.dims[1], k.dims[1] * k.dims[3]);
    if (rc == 0)
        rc = check_steps(infer, BETA, k.dims[1], 1);
    if (rc < 0)
        return rc;
    state = (struct shape){4, {k.dims[0], k.dims[1], k.dims[3], v.dims[3]}};
    if (infer_has(infer, STATE) && !shape_equal(infer_shape(infer, STATE), &state))
        return infer_fail(infer,
                          "its state does not have the shape [%" PRId64 ", %" PRId64 ", %" PRId64
                          ", %" PRId64 "]",
                          state.dims[0], state.dims[1], state.dims[2], state.dims[3]);
    if (infer_has(infer, STATE))
        rc = infer_float(infer, STATE);
    out = *infer_shape(infer, Q);
    out.dims[2] = q.dims[1] * v.dims[3];
    if (rc == 0)
        rc = infer_output(infer, 0, infer_dtype(infer, Q), &out);
    return rc < 0 ? rc : infer_output(infer, 1, state_type, &state);
}

int shape_rotary(struct infer *infer)
{
    int64_t heads = node_int(infer->node, "num_heads", 0);
    int rank = infer_shape(infer, 0)->rank;
    int rc = infer_float(infer, 0);

    if (rc == 0 && rank != 3 && rank != 4)
        rc = infer_fail(infer, "its input has %d dimensions instead of 3 or 4", rank);
    if (rc == 0 && rank == 3 &&
        (heads < 1 || heads > HEADS_MAX || infer_shape(infer, 0)->dims[2] % heads != 0))
        rc = infer_fail(infer, "attribute num_heads does not fit its channels");
    return rc < 0 ? rc : infer_same(infer);
}
