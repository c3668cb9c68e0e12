/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsemble of ai.onnx.ml 5 as a TreeEnsembleRegressor, whose leaves are nodes and which tests for one
 * number at a time: a test for members becomes a test for each, with a copy of what they lead to. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/ops/lower/rules.h"

#define REGRESSOR "ai.onnx.ml.TreeEnsembleRegressor"

enum {
    MEMBER = 6,  /* of the modes */
    MODES = 6,   /* that are tests for one number */
    COPIES = 64, /* how many times as many nodes may come out as go in */
};

/* The lists that come in: one entry each for what branches, and for each leaf. */
struct branches {
    size_t count, leaves, member_count;
    const int64_t *feature, *yes, *no, *yes_is_leaf, *no_is_leaf, *nan;
    const uint8_t *mode;
    double *split, *members, *weight; /* its own, of float32 or float64 */
    const int64_t *target;
    size_t *first; /* of the members of each; where the next one's begin it ends */
};

typedef ARRAY_OF(int64_t) ints_array;

/* The lists that go out. */
struct made {
    ints_array tree, id, feature, yes, no, nan, leaf_tree, leaf_id, target;
    ARRAY_OF(double) split;
    ARRAY_OF(double) weight;
    ARRAY_OF(const char *) mode;
};

/* A node that is to be made, and which link of which node leads to it; parent -1: it is a root. */
struct to_do {
    int64_t source, parent, tree;
    size_t member; /* of a test for members: at which the chain is */
    bool is_leaf, is_yes;
};

typedef ARRAY_OF(struct to_do) to_do_array;

static const int64_t *ints_of(const struct lower *l, const char *name, size_t count)
{
    size_t given;
    const int64_t *ints = node_ints(l->node, name, &given);

    return ints && given == count ? ints : NULL;
}

/* Elements of a tensor that is as long, of the type; NULL: it is none. */
static const void *tensor_of(const struct lower *l, const char *name, enum dtype dtype,
                             size_t *out_count)
{
    const struct attribute *a = node_attribute(l->node, name);

    if (!a || a->type != ATTRIBUTE_TENSOR || a->tensor.dtype != dtype)
        return NULL;
    *out_count = (size_t)shape_elements(&a->tensor.shape);
    return a->tensor.data;
}

/* The same as float64, which free() releases; NULL: it is no such tensor, or there is no memory. */
static double *reals_of(const struct lower *l, const char *name, size_t *out_count)
{
    const float *narrow = tensor_of(l, name, DTYPE_F32, out_count);
    const double *wide = narrow ? NULL : tensor_of(l, name, DTYPE_F64, out_count);
    double *reals = narrow || wide ? malloc((*out_count + 1) * sizeof(*reals)) : NULL;

    for (size_t i = 0; reals && i < *out_count; i++)
        reals[i] = narrow ? (double)narrow[i] : wide[i];
    return reals;
}

/* Each test for members has its own up to a NaN. */
static bool find_members(struct branches *b)
{
    size_t at = 0;

    for (size_t i = 0; i < b->count; i++) {
        b->first[i] = at;
        if (b->mode[i] != MEMBER)
            continue;
        while (at < b->member_count && !isnan(b->members[at]))
            at++;
        if (at++ >= b->member_count)
            return false;
    }
    b->first[b->count] = at;
    return true;
}

static bool read_branches(const struct lower *l, struct branches *b)
{
    size_t splits = 0, modes = 0;

    node_ints(l->node, "nodes_featureids", &b->count);
    b->feature = ints_of(l, "nodes_featureids", b->count);
    b->yes = ints_of(l, "nodes_truenodeids", b->count);
    b->no = ints_of(l, "nodes_falsenodeids", b->count);
    b->yes_is_leaf = ints_of(l, "nodes_trueleafs", b->count);
    b->no_is_leaf = ints_of(l, "nodes_falseleafs", b->count);
    b->nan = ints_of(l, "nodes_missing_value_tracks_true", b->count);
    b->mode = tensor_of(l, "nodes_modes", DTYPE_U8, &modes);
    b->split = reals_of(l, "nodes_splits", &splits);
    b->members = reals_of(l, "membership_values", &b->member_count);
    b->weight = reals_of(l, "leaf_weights", &b->leaves);
    b->target = ints_of(l, "leaf_targetids", b->leaves);
    b->first = calloc(b->count + 1, sizeof(*b->first));
    return b->count > 0 && b->feature && b->yes && b->no && b->yes_is_leaf && b->no_is_leaf &&
           b->mode && modes == b->count && b->split && splits == b->count && b->weight &&
           b->target && b->first && find_members(b);
}

/* All that is real is of one type, that of the features as well. */
static bool is_wide(const struct lower *l)
{
    size_t count;

    return tensor_of(l, "leaf_weights", DTYPE_F64, &count) != NULL;
}

static bool fits_features(const struct lower *l)
{
    static const char *const names[] = {"nodes_splits", "membership_values", "leaf_weights"};
    enum dtype dtype = is_wide(l) ? DTYPE_F64 : DTYPE_F32;
    size_t count;
    bool fits = lower_input(l, 0)->dtype == dtype;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        fits &= !node_attribute(l->node, names[i]) || tensor_of(l, names[i], dtype, &count);
    return fits;
}

static int add_node(struct made *m, const struct to_do *t, const char *mode, int64_t feature,
                    double split, bool takes_nan)
{
    int64_t id = (int64_t)m->id.count;

    if (array_push(&m->tree, t->tree) < 0 || array_push(&m->id, id) < 0 ||
        array_push(&m->feature, feature) < 0 || array_push(&m->yes, 0) < 0 ||
        array_push(&m->no, 0) < 0 || array_push(&m->nan, takes_nan) < 0 ||
        array_push(&m->split, split) < 0 || array_push(&m->mode, mode) < 0)
        return -ENOMEM;
    if (t->parent >= 0)
        (t->is_yes ? m->yes : m->no).items[t->parent] = id;
    return 0;
}

static int add_leaf(const struct branches *b, struct made *m, const struct to_do *t)
{
    int64_t id = (int64_t)m->id.count;

    if (t->source < 0 || t->source >= (int64_t)b->leaves)
        return -EINVAL;
    return array_push(&m->leaf_tree, t->tree) < 0 || array_push(&m->leaf_id, id) < 0 ||
                   array_push(&m->target, b->target[t->source]) < 0 ||
                   array_push(&m->weight, b->weight[t->source]) < 0
               ? -ENOMEM
               : add_node(m, t, "LEAF", 0, 0.0, false);
}

/* The node, and what its links lead to as more to do. */
static int add_branch(const struct branches *b, struct made *m, const struct to_do *t,
                      to_do_array *left)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    int64_t i = t->source, id = (int64_t)m->id.count;
    struct to_do yes = {.parent = id, .tree = t->tree, .is_yes = true}, no = yes;
    bool is_member;
    double split;
    int rc;

    if (i < 0 || i >= (int64_t)b->count || b->mode[i] > MODES)
        return -EINVAL;
    is_member = b->mode[i] == MEMBER;
    /* Of no members none is equal. */
    split = is_member ? b->members[b->first[i] + t->member] : b->split[i];
    yes.source = b->yes[i];
    yes.is_leaf = b->yes_is_leaf[i] != 0;
    no.is_yes = false;
    no.source = b->no[i];
    no.is_leaf = b->no_is_leaf[i] != 0;
    if (is_member && !isnan(split) && !isnan(b->members[b->first[i] + t->member + 1])) {
        no.source = i;
        no.is_leaf = false;
        no.member = t->member + 1;
    }
    rc = add_node(m, t, is_member ? "BRANCH_EQ" : modes[b->mode[i]], b->feature[i], split,
                  b->nan && b->nan[i] != 0);
    if (rc == 0)
        rc = array_push(left, yes);
    return rc < 0 ? rc : array_push(left, no);
}

/* -EINVAL: a link leads to nothing, or round in a circle, which would make nodes for ever. */
static int make_nodes(const struct lower *l, const struct branches *b, struct made *m)
{
    size_t roots, limit = (b->count + b->leaves) * COPIES;
    const int64_t *root = node_ints(l->node, "tree_roots", &roots);
    to_do_array left = {0};
    int rc = root && roots > 0 ? 0 : -EINVAL;

    for (size_t i = 0; rc == 0 && i < roots; i++) {
        rc = array_push(&left, ((struct to_do){root[i], -1, (int64_t)i, 0, false, false}));
        while (rc == 0 && left.count > 0) {
            struct to_do t = left.items[--left.count];

            rc = m->id.count >= limit ? -EINVAL
                 : t.is_leaf          ? add_leaf(b, m, &t)
                                      : add_branch(b, m, &t, &left);
        }
    }
    array_deinit(&left);
    return rc;
}

/* As a list of float32, or as a tensor of float64 under its other name. */
static void write_reals(struct lower *l, const char *name, const double *reals, size_t count)
{
    char wide_name[32];

    if (is_wide(l)) {
        snprintf(wide_name, sizeof(wide_name), "%s_as_tensor", name);
        lower_doubles(l, wide_name, reals, count);
    } else {
        float *narrow = malloc((count + 1) * sizeof(*narrow));

        for (size_t i = 0; narrow && i < count; i++)
            narrow[i] = (float)reals[i];
        if (narrow)
            lower_floats(l, name, narrow, count);
        else
            lower_refuse(l, "there is no memory for it");
        free(narrow);
    }
}

static void write_lists(struct lower *l, const struct made *m)
{
    const struct {
        const char *name;
        const ints_array *ints;
    } lists[] = {
        {"nodes_treeids", &m->tree},       {"nodes_nodeids", &m->id},
        {"nodes_featureids", &m->feature}, {"nodes_truenodeids", &m->yes},
        {"nodes_falsenodeids", &m->no},    {"nodes_missing_value_tracks_true", &m->nan},
        {"target_treeids", &m->leaf_tree}, {"target_nodeids", &m->leaf_id},
        {"target_ids", &m->target},
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        lower_ints(l, lists[i].name, lists[i].ints->items, lists[i].ints->count);
    write_reals(l, "nodes_values", m->split.items, m->split.count);
    write_reals(l, "target_weights", m->weight.items, m->weight.count);
    lower_strings(l, "nodes_modes", m->mode.items, m->mode.count);
}

static void make_regressor(struct lower *l, const struct made *m)
{
    static const char *const sums[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    int64_t sum = node_int(l->node, "aggregate_function", 1);
    struct value *y;

    if (sum < 0 || sum > 3)
        lower_refuse(l, "attribute aggregate_function is %lld", (long long)sum);
    /* 1 is softmax to the standard, logistic to ONNX Runtime, 2 the other one. */
    if (node_int(l->node, "post_transform", 0) != 0)
        lower_refuse(l,
                     "attribute post_transform is not 0 (none): its numbers mean one thing in the "
                     "standard, another in ONNX Runtime");
    if (l->rc < 0)
        return;
    y = lower_one(l, REGRESSOR, lower_input(l, 0));
    write_lists(l, m);
    lower_string(l, "aggregate_function", sums[sum]);
    lower_int(l, "n_targets", node_int(l->node, "n_targets", 1));
    lower_done(l, 0, y);
}

static void deinit(struct branches *b, struct made *m)
{
    ints_array *lists[] = {&m->tree, &m->id,        &m->feature, &m->yes,   &m->no,
                           &m->nan,  &m->leaf_tree, &m->leaf_id, &m->target};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        array_deinit(lists[i]);
    array_deinit(&m->split);
    array_deinit(&m->weight);
    array_deinit(&m->mode);
    free(b->first);
    free(b->split);
    free(b->members);
    free(b->weight);
}

static void lower_ensemble(struct lower *l)
{
    struct branches b = {0};
    struct made m = {0};
    int rc;

    if (!fits_features(l))
        lower_refuse(l, "its numbers are not of the type of its input, float32 or float64");
    else if (!read_branches(l, &b))
        lower_refuse(l, "its lists of nodes and leaves do not fit together");
    rc = l->rc == 0 ? make_nodes(l, &b, &m) : 0;
    if (rc < 0)
        lower_refuse(l, rc == -ENOMEM
                            ? "there is no memory for it"
                            : "its nodes are no trees, or trees too large by their members");
    if (l->rc == 0)
        make_regressor(l, &m);
    deinit(&b, &m);
}

const struct lower_rule lower_ensembles[] = {
    {{"ai.onnx.ml.TreeEnsemble", "TreeEnsembleRegressor"},
     1,
     1,
     1,
     "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs "
     "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes "
     "nodes_splits nodes_trueleafs nodes_truenodeids post_transform tree_roots",
     lower_ensemble},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
