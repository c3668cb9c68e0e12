/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles of trees: what is around TreeEnsembleRegressor's sums, which have a kernel. Where two classes
 * share one score, what is told of them is what ONNX Runtime tells. */
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

#define REGRESSOR "ai.onnx.ml.TreeEnsembleRegressor"
#define NODES                                                                                         \
    "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes " \
    "nodes_nodeids nodes_treeids nodes_truenodeids nodes_values nodes_values_as_tensor"

/* Features as the thresholds are: float64 where those are. */
static struct value *features(struct lower *l)
{
    struct value *x = lower_input(l, 0);
    bool is_wide = node_attribute(l->node, "nodes_values_as_tensor") != NULL;

    if (x->dtype == DTYPE_F32 || x->dtype == DTYPE_F64)
        return x;
    return lower_cast(l, x, is_wide ? DTYPE_F64 : DTYPE_F32);
}

/* Sums of float64 weights are float64; what comes out is float32. */
static struct value *narrowed(struct lower *l, struct value *y, const char *weights)
{
    return node_attribute(l->node, weights) ? lower_cast(l, y, DTYPE_F32) : y;
}

/* The sums that have a kernel stay. */
static void lower_regressor(struct lower *l)
{
    struct value *y;

    if (l->node->is_lowered) {
        lower_keep(l);
        return;
    }
    y = lower_one(l, REGRESSOR, features(l));
    lower_copy(l,
               NODES " aggregate_function base_values base_values_as_tensor n_targets target_ids "
                     "target_nodeids target_treeids target_weights target_weights_as_tensor");
    y = narrowed(l, y, "target_weights_as_tensor");
    lower_done(l, 0, lower_post_transform(l, y));
}

/* Of two classes one may have all the scores. */
struct votes {
    struct value *names;
    size_t labels;
    int64_t only;     /* the class that alone has scores, or -1 */
    bool is_positive; /* there is no weight below 0 */
};

/* Elements of a list of reals, which may be a float64 tensor under another name; 0: there is none. */
static size_t reals_of(const struct lower *l, const char *name, const char *wide_name,
                       const struct attribute **out_list)
{
    const struct attribute *a = node_attribute(l->node, name);
    const struct attribute *wide = node_attribute(l->node, wide_name);

    *out_list = a;
    if (a && a->type == ATTRIBUTE_FLOATS && a->count > 0)
        return a->count;
    *out_list = wide;
    return wide && wide->type == ATTRIBUTE_TENSOR && wide->tensor.dtype == DTYPE_F64
               ? (size_t)shape_elements(&wide->tensor.shape)
               : 0;
}

static bool is_below_zero(const struct attribute *list, size_t i)
{
    return list->type == ATTRIBUTE_FLOATS ? list->floats[i] < 0.0f
                                          : ((const double *)list->tensor.data)[i] < 0.0;
}

static void count_votes(struct lower *l, struct votes *v)
{
    size_t count, bases;
    const int64_t *ids = node_ints(l->node, "class_ids", &count);
    const struct attribute *weights, *base;

    v->names = lower_labels(l, "classlabels_int64s", &v->labels);
    if (v->labels < 2 || !ids ||
        reals_of(l, "class_weights", "class_weights_as_tensor", &weights) != count) {
        lower_refuse(l, "it does not have two or more labels, or no weights");
        return;
    }
    v->only = v->labels == 2 && count > 0 ? ids[0] : -1;
    v->is_positive = true;
    for (size_t i = 0; i < count; i++) {
        v->only = ids[i] == v->only ? v->only : -1;
        v->is_positive &= !is_below_zero(weights, i);
    }
    bases = reals_of(l, "base_values", "base_values_as_tensor", &base);
    if (bases > 0 && (v->labels == 2 ? bases != 1 || v->only != 0 : bases != v->labels))
        lower_refuse(l, "it has %zu base values for %zu classes", bases, v->labels);
}

/* [rows, classes], or [rows, 1] of the class that has all. */
static struct value *sums_of(struct lower *l, const struct votes *v)
{
    struct value *x = features(l), *y;
    size_t count;
    const int64_t *ids = node_ints(l->node, "class_ids", &count);
    int64_t *targets = calloc(count + 1, sizeof(*targets));

    y = lower_one(l, REGRESSOR, x);
    lower_copy(l, NODES " base_values base_values_as_tensor");
    lower_copy_as(l, "class_nodeids", "target_nodeids");
    lower_copy_as(l, "class_treeids", "target_treeids");
    lower_copy_as(l, "class_weights", "target_weights");
    lower_copy_as(l, "class_weights_as_tensor", "target_weights_as_tensor");
    for (size_t i = 0; targets && i < count; i++)
        targets[i] = v->only >= 0 ? 0 : ids[i];
    if (targets)
        lower_ints(l, "target_ids", targets, count);
    else
        lower_refuse(l, "there is no memory for it");
    lower_int(l, "n_targets", v->only >= 0 ? 1 : (int64_t)v->labels);
    free(targets);
    return narrowed(l, y, "class_weights_as_tensor");
}

/* Which of the labels, by the place of each row's. */
static struct value *label_of(struct lower *l, const struct votes *v, struct value *place)
{
    struct value *y = lower_two(l, "Gather", v->names, place);

    lower_int(l, "axis", 0);
    return y;
}

static struct value *beside(struct lower *l, struct value *a, struct value *b)
{
    struct value *y = lower_two(l, "Concat", a, b);

    lower_int(l, "axis", 1);
    return y;
}

/* Scores of both classes, from the one of the second. */
static struct value *both_of(struct lower *l, const struct votes *v, struct value *y)
{
    bool is_logistic = strcmp(node_string(l->node, "post_transform", "NONE"), "LOGISTIC") == 0;

    if (v->only == 1)
        return lower_post_transform(l, beside(l, lower_two(l, "Mul", y, lower_number(l, 0.0f)), y));
    if (v->is_positive && !is_logistic)
        return beside(l, lower_two(l, "Sub", lower_number(l, 1.0f), y), y);
    y = beside(l, lower_one(l, "Neg", y), y);
    return is_logistic ? lower_one(l, "Sigmoid", y) : y;
}

static void lower_classifier(struct lower *l)
{
    static const int64_t flat = -1;
    struct votes v = {0};
    struct value *sums, *place;

    if (strcmp(node_string(l->node, "post_transform", "NONE"), "PROBIT") == 0 ||
        strcmp(node_string(l->node, "post_transform", "NONE"), "SOFTMAX_ZERO") == 0)
        lower_refuse(l, "attribute post_transform is '%s'",
                     node_string(l->node, "post_transform", ""));
    count_votes(l, &v);
    if (l->rc < 0)
        return;
    sums = sums_of(l, &v);
    if (v.only >= 0) {
        place = lower_two(l, "Greater", sums, lower_number(l, v.is_positive ? 0.5f : 0.0f));
        place = lower_reshape(l, lower_cast(l, place, DTYPE_I64), &flat, 1);
    } else {
        place = lower_one(l, "ArgMax", sums);
        lower_int(l, "axis", 1);
        lower_int(l, "keepdims", 0);
    }
    lower_done(l, 0, label_of(l, &v, place));
    if (lower_wants(l, 1))
        lower_done(l, 1, v.only >= 0 ? both_of(l, &v, sums) : lower_post_transform(l, sums));
}

const struct lower_rule lower_trees[] = {
    {{"ai.onnx.ml.TreeEnsembleClassifier",
      "TreeEnsembleRegressor, ArgMax or Greater, Gather, its transform"},
     1,
     1,
     2,
     NODES " base_values base_values_as_tensor class_ids class_nodeids class_treeids class_weights "
           "class_weights_as_tensor classlabels_int64s classlabels_strings post_transform",
     lower_classifier},
    {{REGRESSOR, "TreeEnsembleRegressor, its transform"},
     1,
     1,
     1,
     NODES
     " aggregate_function base_values base_values_as_tensor n_targets post_transform target_ids "
     "target_nodeids target_treeids target_weights target_weights_as_tensor",
     lower_regressor},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
