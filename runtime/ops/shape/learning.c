/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: ensembles of trees, distances, probabilities of pairs, n-grams. */
#include <inttypes.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

int shape_trees(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    int64_t targets = node_int(infer->node, "n_targets", 1);
    bool is_wide;

    if (infer_dtype(infer, 0) != DTYPE_F32 && infer_dtype(infer, 0) != DTYPE_F64)
        return infer_unsupported(infer, "its features are %s", dtype_name(infer_dtype(infer, 0)));
    if (x->rank != 2)
        return infer_fail(infer, "its input has %d dimensions instead of 2", x->rank);
    if (targets < 1)
        return infer_fail(infer, "it has %" PRId64 " targets", targets);
    /* The standard casts what comes of such weights; that is a Cast of its own. */
    is_wide = node_attribute(infer->node, "target_weights_as_tensor") != NULL;
    return infer_output(infer, 0, is_wide ? DTYPE_F64 : DTYPE_F32,
                        &(struct shape){2, {x->dims[0], targets}});
}

int shape_distances(struct infer *infer)
{
    const struct shape *a = infer_shape(infer, 0), *b = infer_shape(infer, 1);
    const char *metric = node_string(infer->node, "metric", "sqeuclidean");
    int rc = infer_same_dtype(infer, 0, 1);

    if (rc == 0)
        rc = infer_float(infer, 0);
    if (rc < 0)
        return rc;
    if (strcmp(metric, "euclidean") != 0 && strcmp(metric, "sqeuclidean") != 0 &&
        strcmp(metric, "cityblock") != 0)
        return infer_unsupported(infer, "its metric is '%.40s'", metric);
    if (a->rank != 2 || b->rank != 2)
        return infer_fail(infer, "its inputs have %d and %d dimensions instead of 2", a->rank,
                          b->rank);
    if (a->dims[1] != b->dims[1])
        return infer_fail(infer, "rows of %" PRId64 " and of %" PRId64 " elements", a->dims[1],
                          b->dims[1]);
    return infer_output(infer, 0, infer_dtype(infer, 0),
                        &(struct shape){2, {a->dims[0], b->dims[0]}});
}

/* Of so many pairs there are less than 46,341 classes: two of them have one. */
int shape_coupling(struct infer *infer)
{
    const struct shape *scores = infer_shape(infer, 0);
    int64_t classes = 2;

    for (int i = 0; i < 3; i++) {
        const struct shape *shape = infer_shape(infer, i);

        if (infer_dtype(infer, i) != DTYPE_F32)
            return infer_unsupported(infer, "its inputs are not float32");
        if (shape->rank < 1 || shape->dims[shape->rank - 1] != scores->dims[scores->rank - 1])
            return infer_fail(infer, "its inputs do not have as many pairs");
    }
    if (scores->rank != 2)
        return infer_fail(infer, "its scores have %d dimensions instead of 2", scores->rank);
    while (classes < INT16_MAX && classes * (classes - 1) / 2 < scores->dims[1])
        classes++;
    if (classes * (classes - 1) / 2 != scores->dims[1])
        return infer_fail(infer, "%" PRId64 " are not all pairs of some classes", scores->dims[1]);
    return infer_output(infer, 0, DTYPE_F32, &(struct shape){2, {scores->dims[0], classes}});
}

/* A column for each number in ngram_indexes, and for those below. */
int shape_ngrams(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    enum dtype dtype = infer_dtype(infer, 0);
    int64_t columns = 0;
    size_t count;
    const int64_t *indexes = node_ints(infer->node, "ngram_indexes", &count);

    if (dtype != DTYPE_I32 && dtype != DTYPE_I64 && dtype != DTYPE_STRING)
        return infer_unsupported(infer, "its input is %s", dtype_name(dtype));
    if (out.rank != 1 && out.rank != 2)
        return infer_fail(infer, "its input has %d dimensions instead of 1 or 2", out.rank);
    for (size_t i = 0; i < count; i++) {
        if (indexes[i] < 0 || indexes[i] >= INT32_MAX)
            return infer_fail(infer, "an n-gram has column %" PRId64, indexes[i]);
        columns = indexes[i] >= columns ? indexes[i] + 1 : columns;
    }
    if (columns == 0)
        return infer_fail(infer, "attribute ngram_indexes is missing");
    out.dims[out.rank - 1] = columns;
    return infer_output(infer, 0, DTYPE_F32, &out);
}
