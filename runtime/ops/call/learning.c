/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsembleRegressor of ai.onnx.ml, whose lists become nodes that know each other's places; and
 * com.microsoft's distances; probabilities of pairs of classes; TfIdfVectorizer, whose pool becomes
 * a hash table of n-grams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/trees.h"
#include "runtime/graph/texts.h"
#include "runtime/ops/call/call.h"

struct trees_params {
    trees_fn *fn;
    struct kernel_trees trees;
    struct kernel_tree_walk walk; /* without steps: fn */
    max_align_t room[];
};

/* The lists of a node, each as long as there are nodes or weights. */
struct lists {
    size_t nodes, weights;
    const int64_t *tree, *id, *feature, *yes, *no, *nan;
    const float *threshold, *weight, *base;
    const double *thresholds, *weights_wide, *base_wide; /* in place of those */
    char *const *test;
    const int64_t *weight_tree, *weight_id, *target;
};

struct place {
    int64_t tree, id;
    int32_t at;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : 0;
}

static int32_t find_place(const struct place *places, size_t count, int64_t tree, int64_t id)
{
    struct place key = {tree, id, 0};
    const struct place *found = bsearch(&key, places, count, sizeof(key), compare_places);

    return found ? found->at : -1;
}

static const int64_t *ints_of(const struct node *node, const char *name, size_t count)
{
    size_t given;
    const int64_t *ints = node_ints(node, name, &given);

    return ints && given == count ? ints : NULL;
}

static const float *floats_of(const struct node *node, const char *name, size_t count)
{
    const struct attribute *a = node_attribute(node, name);

    return a && a->type == ATTRIBUTE_FLOATS && a->count == count ? a->floats : NULL;
}

static const double *doubles_of(const struct node *node, const char *name, size_t count)
{
    const struct attribute *a = node_attribute(node, name);

    return a && a->type == ATTRIBUTE_TENSOR && a->tensor.dtype == DTYPE_F64 &&
                   shape_elements(&a->tensor.shape) == (int64_t)count
               ? a->tensor.data
               : NULL;
}

/* A base that is given has one number for each target. */
static bool read_base(const struct node *node, int64_t targets, struct lists *l)
{
    l->base = floats_of(node, "base_values", (size_t)targets);
    l->base_wide = doubles_of(node, "base_values_as_tensor", (size_t)targets);
    return l->base || l->base_wide ||
           (!node_attribute(node, "base_values") && !node_attribute(node, "base_values_as_tensor"));
}

static bool read_lists(const struct node *node, int64_t targets, struct lists *l)
{
    const struct attribute *tests = node_attribute(node, "nodes_modes");

    node_ints(node, "nodes_nodeids", &l->nodes);
    node_ints(node, "target_ids", &l->weights);
    l->tree = ints_of(node, "nodes_treeids", l->nodes);
    l->id = ints_of(node, "nodes_nodeids", l->nodes);
    l->feature = ints_of(node, "nodes_featureids", l->nodes);
    l->yes = ints_of(node, "nodes_truenodeids", l->nodes);
    l->no = ints_of(node, "nodes_falsenodeids", l->nodes);
    l->nan = ints_of(node, "nodes_missing_value_tracks_true", l->nodes);
    l->threshold = floats_of(node, "nodes_values", l->nodes);
    l->thresholds = doubles_of(node, "nodes_values_as_tensor", l->nodes);
    l->test = tests && tests->type == ATTRIBUTE_STRINGS && tests->count == l->nodes ? tests->strings
                                                                                    : NULL;
    l->weight_tree = ints_of(node, "target_treeids", l->weights);
    l->weight_id = ints_of(node, "target_nodeids", l->weights);
    l->target = ints_of(node, "target_ids", l->weights);
    l->weight = floats_of(node, "target_weights", l->weights);
    l->weights_wide = doubles_of(node, "target_weights_as_tensor", l->weights);
    return read_base(node, targets, l) && l->nodes > 0 && l->nodes < INT32_MAX &&
           l->weights < INT32_MAX && l->tree && l->id && l->feature && l->yes && l->no &&
           (l->threshold || l->thresholds) && l->test &&
           (l->weights == 0 ||
            (l->weight_tree && l->weight_id && l->target && (l->weight || l->weights_wide)));
}

static int find_test(const char *name)
{
    static const char *const names[] = {"LEAF",      "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT", "BRANCH_EQ",  "BRANCH_NEQ"};

    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Branches know their children; false: what is said of one cannot be. */
static bool make_nodes(const struct lists *l, const struct place *places, int64_t features,
                       struct kernel_tree_node *nodes, uint8_t *has_parent)
{
    for (size_t i = 0; i < l->nodes; i++) {
        int test = find_test(l->test[i]);
        struct kernel_tree_node *node = &nodes[i];

        if (test < 0)
            return false;
        *node = (struct kernel_tree_node){.test = (uint8_t)test};
        if (test == TREE_LEAF)
            continue;
        node->threshold = l->thresholds ? l->thresholds[i] : (double)l->threshold[i];
        node->takes_nan = l->nan && l->nan[i] != 0;
        node->yes = find_place(places, l->nodes, l->tree[i], l->yes[i]);
        node->no = find_place(places, l->nodes, l->tree[i], l->no[i]);
        if (l->feature[i] < 0 || l->feature[i] >= features || node->yes < 0 || node->no < 0 ||
            node->yes == node->no || has_parent[node->yes] || has_parent[node->no])
            return false;
        node->feature = (int32_t)l->feature[i];
        has_parent[node->yes] = has_parent[node->no] = 1;
    }
    return true;
}

/* Each child has one parent: what no root leads to goes in a circle, which nobody enters. */
static int64_t find_roots(const struct lists *l, const uint8_t *has_parent, int32_t *roots)
{
    int64_t count = 0;

    for (size_t i = 0; i < l->nodes; i++)
        if (!has_parent[i])
            roots[count++] = (int32_t)i;
    return count;
}

/* The weights of each leaf behind each other. */
static bool make_weights(const struct lists *l, const struct place *places, int64_t targets,
                         struct kernel_tree_node *nodes, struct kernel_tree_weight *weights)
{
    int32_t first = 0;

    for (size_t i = 0; i < l->weights; i++) {
        int32_t at = find_place(places, l->nodes, l->weight_tree[i], l->weight_id[i]);

        if (at < 0 || nodes[at].test != TREE_LEAF || l->target[i] < 0 || l->target[i] >= targets)
            return false;
        nodes[at].no++;
    }
    for (size_t i = 0; i < l->nodes; i++) {
        if (nodes[i].test != TREE_LEAF)
            continue;
        nodes[i].yes = first;
        first += nodes[i].no;
        nodes[i].no = 0;
    }
    for (size_t i = 0; i < l->weights; i++) {
        int32_t at = find_place(places, l->nodes, l->weight_tree[i], l->weight_id[i]);

        weights[nodes[at].yes + nodes[at].no++] = (struct kernel_tree_weight){
            l->weights_wide ? l->weights_wide[i] : (double)l->weight[i], (int32_t)l->target[i]};
    }
    return true;
}

static bool make_trees(const struct lists *l, struct kernel_trees *t,
                       struct kernel_tree_node *nodes, struct kernel_tree_weight *weights,
                       int32_t *roots)
{
    struct place *places = malloc(l->nodes * sizeof(*places));
    uint8_t *has_parent = calloc(l->nodes, 1);
    bool is_sound = places && has_parent;

    for (size_t i = 0; is_sound && i < l->nodes; i++)
        places[i] = (struct place){l->tree[i], l->id[i], (int32_t)i};
    if (is_sound)
        qsort(places, l->nodes, sizeof(*places), compare_places);
    for (size_t i = 1; is_sound && i < l->nodes; i++)
        is_sound = compare_places(&places[i - 1], &places[i]) != 0;
    is_sound = is_sound && make_nodes(l, places, t->features, nodes, has_parent) &&
               make_weights(l, places, t->targets, nodes, weights);
    if (is_sound)
        t->tree_count = find_roots(l, has_parent, roots);
    t->has_only_less = true;
    for (size_t i = 0; is_sound && i < l->nodes; i++)
        t->has_only_less &= nodes[i].test <= TREE_LT;
    free(places);
    free(has_parent);
    return is_sound && t->tree_count > 0;
}

static int run_trees(const struct call *call)
{
    const struct trees_params *p = call->params;

    if (p->walk.steps)
        trees_by_steps(call->outputs[0], call->inputs[0], &p->trees, &p->walk);
    else
        p->fn(call->outputs[0], call->inputs[0], &p->trees);
    return 0;
}

static int find_sum(const struct call_request *request, enum kernel_tree_sum *out_sum)
{
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    const char *name = node_string(request->node, "aggregate_function", "SUM");

    for (int i = 0; i < 4; i++) {
        *out_sum = (enum kernel_tree_sum)i;
        if (strcmp(names[i], name) == 0)
            return 0;
    }
    return call_refuse(request, -ENOTSUP, "attribute aggregate_function is '%.40s'", name);
}

/* Where the parts of the parameters begin: what has the largest elements comes first. */
struct trees_room {
    struct kernel_tree_node *nodes;
    struct kernel_tree_weight *weights;
    double *base, *values;
    struct kernel_tree_step *steps;
    struct kernel_tree_root *step_roots;
    int32_t *roots;
};

/* Of leaves, where they are laid out at all. */
static size_t values_of(const struct lists *l, int64_t targets)
{
    size_t leaves = 0;

    for (size_t i = 0; i < l->nodes; i++)
        leaves += strcmp(l->test[i], "LEAF") == 0;
    return trees_want_values((int64_t)leaves, targets, (int64_t)l->weights)
               ? leaves * (size_t)targets
               : 0;
}

static size_t trees_bytes(const struct lists *l, int64_t targets)
{
    return l->nodes * (sizeof(struct kernel_tree_node) + sizeof(struct kernel_tree_step) +
                       sizeof(struct kernel_tree_root) + sizeof(int32_t)) +
           l->weights * sizeof(struct kernel_tree_weight) +
           ((size_t)targets + values_of(l, targets)) * sizeof(double);
}

static struct trees_room lay_out_trees(const struct lists *l, int64_t targets, void *at)
{
    struct trees_room room = {.nodes = at};
    size_t values = values_of(l, targets);

    room.weights = (struct kernel_tree_weight *)(room.nodes + l->nodes);
    room.base = (double *)(room.weights + l->weights);
    room.values = values > 0 ? room.base + targets : NULL;
    room.steps = (struct kernel_tree_step *)(room.base + targets + values);
    room.step_roots = (struct kernel_tree_root *)(room.steps + l->nodes);
    room.roots = (int32_t *)(room.step_roots + l->nodes);
    return room;
}

static int fill_trees(const struct call_request *request, const struct lists *l,
                      struct kernel_trees *t, const struct trees_room *room)
{
    t->nodes = room->nodes;
    t->weights = room->weights;
    t->roots = room->roots;
    if (!make_trees(l, t, room->nodes, room->weights, room->roots))
        return call_refuse(request, -EINVAL, "its nodes are no trees over its %lld features",
                           (long long)t->features);
    if (!l->base && !l->base_wide)
        return 0;
    for (int64_t i = 0; i < t->targets; i++)
        room->base[i] = l->base_wide ? l->base_wide[i] : (double)l->base[i];
    t->base = room->base;
    return 0;
}

int call_bind_trees(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape;
    struct kernel_trees t = {
        .rows = x->dims[0], .features = x->dims[1], .targets = request->outputs[0].shape.dims[1]};
    struct lists l = {0};
    struct trees_room room;
    struct trees_params *p;
    int rc = find_sum(request, &t.sum);

    if (rc == 0 && (!call_dtype(request->inputs[0].dtype, &t.dtype) ||
                    !call_dtype(request->outputs[0].dtype, &t.result)))
        rc = call_refuse(request, -ENOTSUP, "no kernel for its features");
    if (rc == 0 && !read_lists(request->node, t.targets, &l))
        rc = call_refuse(request, -EINVAL, "its lists of nodes and weights do not fit together");
    if (rc < 0)
        return rc;
    rc = call_params(request, call, sizeof(*p) + trees_bytes(&l, t.targets));
    if (rc < 0)
        return rc;
    p = call->params;
    room = lay_out_trees(&l, t.targets, p->room);
    rc = fill_trees(request, &l, &t, &room);
    if (rc < 0)
        return rc;
    p->trees = t;
    p->fn = request->kernels->trees.fn;
    if (p->fn != trees_ref && trees_can_step(&t)) {
        p->walk = (struct kernel_tree_walk){room.steps, room.step_roots, room.values};
        trees_lay_out(&t, &p->walk);
    }
    call->version = request->kernels->trees.version;
    call->run = run_trees;
    return 0;
}

struct distances_params {
    distances_fn *fn;
    struct kernel_distances shape;
};

static int run_distances(const struct call *call)
{
    const struct distances_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape);
    return 0;
}

int call_bind_distances(const struct call_request *request, struct call *call)
{
    const struct tensor_view *a = &request->inputs[0], *b = &request->inputs[1];
    struct distances_params *p;
    const char *metric;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(a->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(a->dtype));
    p->shape.m = a->shape.dims[0];
    p->shape.n = b->shape.dims[0];
    p->shape.k = a->shape.dims[1];
    metric = node_string(request->node, "metric", "sqeuclidean");
    p->shape.is_root = strcmp(metric, "euclidean") == 0;
    p->shape.is_absolute = strcmp(metric, "cityblock") == 0;
    p->fn = request->kernels->distances.fn;
    call->version = request->kernels->distances.version;
    call->run = run_distances;
    return 0;
}

struct coupling_params {
    coupling_fn *fn;
    struct kernel_coupling shape;
};

static int run_coupling(const struct call *call)
{
    const struct coupling_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], call->inputs[2], &p->shape);
}

int call_bind_coupling(const struct call_request *request, struct call *call)
{
    const struct tensor_view *y = &request->outputs[0];
    struct coupling_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->shape = (struct kernel_coupling){y->shape.dims[0], y->shape.dims[1]};
    p->fn = request->kernels->coupling.fn;
    call->version = request->kernels->coupling.version;
    call->run = run_coupling;
    return 0;
}

/* TfIdfVectorizer */

struct ngrams_params {
    ngrams_fn *fn;
    struct kernel_ngrams shape;
    int64_t items[];
};

static int run_ngrams(const struct call *call)
{
    const struct ngrams_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

/* The lists of a node. */
struct pool {
    size_t count, gram_count, start_count;
    const int64_t *numbers; /* or texts */
    char *const *texts;
    const int64_t *starts;  /* of the grams of each size, from one element on */
    const int64_t *columns; /* of each gram */
    const float *weights;   /* of each gram; NULL: 1 */
};

static size_t end_of_size(const struct pool *pool, size_t size)
{
    return size < pool->start_count ? (size_t)pool->starts[size] : pool->count;
}

/* Whether grams of each size are whole, one behind the other, and each has a column. */
static bool fits(const struct pool *pool)
{
    size_t grams = 0;

    for (size_t size = 1; size <= pool->start_count; size++) {
        int64_t start = pool->starts[size - 1];
        size_t end = end_of_size(pool, size);

        if (start < 0 || (size == 1 && start != 0) || (uint64_t)start > pool->count ||
            end > pool->count || end < (size_t)start || (end - (size_t)start) % size != 0)
            return false;
        grams += (end - (size_t)start) / size;
    }
    return pool->start_count > 0 && grams == pool->gram_count && grams < UINT32_MAX / 4;
}

static bool read_pool(const struct call_request *request, struct pool *out_pool)
{
    const struct node *node = request->node;
    const struct attribute *texts = node_attribute(node, "pool_strings");
    const struct attribute *weights = node_attribute(node, "weights");
    struct pool pool = {0};

    pool.numbers = node_ints(node, "pool_int64s", &pool.count);
    if (request->inputs[0].dtype == DTYPE_STRING) {
        pool.numbers = NULL;
        pool.texts = texts && texts->type == ATTRIBUTE_STRINGS ? texts->strings : NULL;
        pool.count = pool.texts ? texts->count : 0;
    }
    pool.columns = node_ints(node, "ngram_indexes", &pool.gram_count);
    pool.starts = node_ints(node, "ngram_counts", &pool.start_count);
    if (weights && weights->count > 0) {
        pool.weights = weights->floats;
        if (weights->type != ATTRIBUTE_FLOATS || weights->count != pool.gram_count)
            return false;
    }
    *out_pool = pool;
    return (pool.numbers || pool.texts) && fits(&pool);
}

static void put_gram(uint32_t *slots, const struct kernel_ngrams *s, uint32_t place)
{
    const struct kernel_gram *gram = &s->grams[place];
    uint64_t hash = 0, slot;

    for (int32_t i = 0; i < gram->size; i++)
        hash = kernel_gram_hash(hash, s->items[gram->first + i]);
    for (slot = hash & s->slot_mask; slots[slot]; slot = (slot + 1) & s->slot_mask) {
        const struct kernel_gram *other = &s->grams[slots[slot] - 1];

        if (other->size == gram->size && memcmp(s->items + other->first, s->items + gram->first,
                                                (size_t)gram->size * sizeof(int64_t)) == 0)
            return; /* the first of two that are the same */
    }
    slots[slot] = place + 1;
}

static void fill_grams(const struct pool *pool, const struct kernel_ngrams *s,
                       struct kernel_gram *grams, uint32_t *slots)
{
    uint32_t place = 0;

    for (size_t size = 1; size <= pool->start_count; size++)
        for (size_t at = (size_t)pool->starts[size - 1]; at < end_of_size(pool, size);
             at += size, place++) {
            grams[place] =
                (struct kernel_gram){(int64_t)at, (int32_t)size, (int32_t)pool->columns[place],
                                     pool->weights ? pool->weights[place] : 1.0f};
            put_gram(slots, s, place);
        }
}

static int fill_items(const struct pool *pool, int64_t *items)
{
    for (size_t i = 0; i < pool->count; i++) {
        items[i] =
            pool->texts ? texts_number(pool->texts[i], strlen(pool->texts[i])) : pool->numbers[i];
        if (pool->texts && items[i] < 0)
            return (int)items[i];
    }
    return 0;
}

/* Sizes, and what a gram counts. */
static int read_mode(const struct call_request *request, struct pool *pool, struct kernel_ngrams *s)
{
    const char *mode = node_string(request->node, "mode", "");

    s->shortest = node_int(request->node, "min_gram_length", 1);
    s->longest = node_int(request->node, "max_gram_length", s->shortest);
    s->skips = node_int(request->node, "max_skip_count", 0);
    if (s->shortest < 1 || s->longest < s->shortest || s->skips < 0)
        return call_refuse(request, -EINVAL, "its n-grams have no sizes that make sense");
    if (s->longest > (int64_t)pool->start_count)
        s->longest = (int64_t)pool->start_count;
    if (s->skips > s->length)
        s->skips = s->length;
    s->has_counts = strcmp(mode, "IDF") != 0;
    if (strcmp(mode, "TF") == 0)
        pool->weights = NULL;
    if (strcmp(mode, "TF") != 0 && strcmp(mode, "IDF") != 0 && strcmp(mode, "TFIDF") != 0)
        return call_refuse(request, -EINVAL, "attribute mode is '%.40s'", mode);
    return 0;
}

int call_bind_ngrams(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = &request->inputs[0];
    const struct shape *y = &request->outputs[0].shape;
    struct kernel_ngrams s = {.rows = x->shape.rank == 2 ? x->shape.dims[0] : 1,
                              .length = x->shape.dims[x->shape.rank - 1],
                              .columns = y->dims[y->rank - 1]};
    struct pool pool;
    struct ngrams_params *p;
    struct kernel_gram *grams;
    uint64_t slots = 2;
    int rc;

    if (!call_moved_dtype(x->dtype, &s.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    if (!read_pool(request, &pool))
        return call_refuse(request, -EINVAL, "its lists of n-grams do not fit together");
    while (slots < 2 * pool.gram_count)
        slots *= 2;
    rc = read_mode(request, &pool, &s);
    if (rc == 0)
        rc = call_params(request, call,
                         sizeof(*p) + pool.count * sizeof(int64_t) +
                             pool.gram_count * sizeof(*grams) + slots * sizeof(uint32_t));
    if (rc < 0)
        return rc;
    p = call->params;
    grams = (struct kernel_gram *)(p->items + pool.count);
    s.items = p->items;
    s.grams = grams;
    s.slots = (uint32_t *)(grams + pool.gram_count);
    s.slot_mask = slots - 1;
    rc = fill_items(&pool, p->items);
    if (rc < 0)
        return call_refuse(request, rc, "out of memory");
    fill_grams(&pool, &s, grams, (uint32_t *)(grams + pool.gram_count));
    p->shape = s;
    p->fn = request->kernels->ngrams.fn;
    call->version = request->kernels->ngrams.version;
    call->run = run_ngrams;
    return 0;
}
