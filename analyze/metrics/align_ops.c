/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of align_ops.h over one array of all ops, those of the base first. */
#include "analyze/metrics/align_ops.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/containers/text_order.h"
#include "analyze/json/text.h"

#define NO_OP UINT32_MAX

/* Renamed ops between two neighbours are looked for by a table of this many cells at most; in
 * larger gaps, which take thousands of changed ops on both sides, by none. */
enum { GAP_CELLS_MAX = 16 << 20 };

const char *const align_kind_names[ALIGN_KINDS] = {
    "same",  "renamed",   "changed shape", "changed type", "fused",
    "split", "regrouped", "removed",       "added",
};

struct aligning {
    const struct align_op *const *ops;
    size_t base_count, count; /* of all */
    uint32_t *parent;         /* a forest: the root stands for the group */
    bool *is_matched;
};

static const struct align_op *op_at(const struct aligning *aligning, uint32_t op)
{
    return op < aligning->base_count ? &aligning->ops[ALIGN_BASE][op]
                                     : &aligning->ops[ALIGN_NEW][op - aligning->base_count];
}

static bool is_base(const struct aligning *aligning, uint32_t op)
{
    return op < aligning->base_count;
}

static uint32_t root_of(const struct aligning *aligning, uint32_t op)
{
    while (aligning->parent[op] != op) {
        aligning->parent[op] = aligning->parent[aligning->parent[op]];
        op = aligning->parent[op];
    }
    return op;
}

static void join(struct aligning *aligning, uint32_t a, uint32_t b)
{
    uint32_t left = root_of(aligning, a), right = root_of(aligning, b);

    if (left < right)
        aligning->parent[right] = left;
    else
        aligning->parent[left] = right;
}

/* --- Steps 1, 3 and 5: equal ones, the first with the first. --- */

struct keyed {
    const struct align_op *op;
    uint32_t place;
};

static int compare_work(const struct align_op *a, const struct align_op *b)
{
    int order = strcmp(a->type, b->type);

    order = order ? order : compare_texts(a->shapes, b->shapes);
    return order ? order : compare_texts(a->dtypes, b->dtypes);
}

static int compare_name(const struct align_op *a, const struct align_op *b)
{
    int order = strcmp(a->name, b->name);

    return order ? order : strcmp(a->type, b->type);
}

static int compare_all(const struct align_op *a, const struct align_op *b)
{
    int order = compare_name(a, b);

    order = order ? order : compare_work(a, b);
    return order ? order : compare_texts(a->origin, b->origin);
}

/* What makes ops equal. */
struct align_key {
    int (*compare)(const struct align_op *a, const struct align_op *b);
    bool is_work;         /* a name does not matter: shapes must be known, and both sides have as
                             many, else none is matched */
    bool may_lack_shapes; /* where one side tells none, all are one group */
};

static int compare_keyed(const void *a, const void *b, void *key)
{
    const struct keyed *left = a, *right = b;
    int order = ((const struct align_key *)key)->compare(left->op, right->op);

    return order ? order : (left->place > right->place) - (left->place < right->place);
}

static void match(struct aligning *aligning, uint32_t a, uint32_t b)
{
    join(aligning, a, b);
    aligning->is_matched[a] = true;
    aligning->is_matched[b] = true;
}

static bool has_shapes(const struct keyed *run, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (run[i].op->shapes)
            return true;
    }
    return false;
}

/* Joins the k-th of equal ops of one side with the k-th of the other; base ops stand first. */
static void match_run(struct aligning *aligning, const struct keyed *run, size_t count,
                      const struct align_key *key)
{
    size_t base = 0;

    while (base < count && is_base(aligning, run[base].place))
        base++;
    if (base == 0 || base == count)
        return;
    if (key->is_work && (2 * base != count || !run->op->shapes))
        return;
    if (key->may_lack_shapes && has_shapes(run, base) != has_shapes(run + base, count - base)) {
        for (size_t i = 1; i < count; i++)
            match(aligning, run[0].place, run[i].place);
        return;
    }
    for (size_t k = 0; k < base && base + k < count; k++)
        match(aligning, run[k].place, run[base + k].place);
}

static int match_equal(struct aligning *aligning, struct align_key key)
{
    struct keyed *sorted = malloc((aligning->count ? aligning->count : 1) * sizeof(*sorted));
    size_t count = 0;

    if (!sorted)
        return -ENOMEM;
    for (uint32_t i = 0; i < aligning->count; i++) {
        if (!aligning->is_matched[i])
            sorted[count++] = (struct keyed){op_at(aligning, i), i};
    }
    if (count)
        qsort_r(sorted, count, sizeof(*sorted), compare_keyed, &key);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && !key.compare(sorted[first].op, sorted[end].op);)
            end++;
        match_run(aligning, sorted + first, end - first, &key);
    }
    free(sorted);
    return 0;
}

/* --- Step 2: model nodes in common. --- */

struct node_use {
    char *node;
    uint32_t op;
    bool is_own_name; /* the op has no nodes of its own */
};
struct node_uses ARRAY_FIELDS(struct node_use);

static int compare_uses(const void *a, const void *b)
{
    const struct node_use *left = a, *right = b;
    int order = strcmp(left->node, right->node);

    return order ? order : (left->op > right->op) - (left->op < right->op);
}

/* ONNX Runtime appends this to the name of a node whose layout it changed. */
static void cut_suffix(char *node)
{
    static const char suffix[] = "_nchwc";
    size_t length = strlen(node), cut = sizeof(suffix) - 1;

    if (length > cut && strcmp(node + length - cut, suffix) == 0)
        node[length - cut] = '\0';
}

/* Takes `node`, also after a failure. */
static int add_use(struct node_uses *uses, char *node, uint32_t op, bool is_own_name)
{
    struct node_use use = {node, op, is_own_name};

    if (!node)
        return -ENOMEM;
    cut_suffix(node);
    if (array_push(uses, use) < 0) {
        free(node);
        return -ENOMEM;
    }
    return 0;
}

static int add_op_uses(struct node_uses *uses, const struct align_op *op, uint32_t place)
{
    struct json_slice list =
        json_value(op->origin ? op->origin : "", op->origin ? strlen(op->origin) : 0);
    struct json_walk walk = json_walk_over(list);
    struct json_slice key, value;
    size_t count = uses->count;

    while (list.kind == JSON_ARRAY && json_walk_next(&walk, &key, &value) == 1) {
        if (add_use(uses, json_take_text(value), place, false) < 0)
            return -ENOMEM;
    }
    return uses->count > count ? 0 : add_use(uses, strdup(op->name), place, true);
}

/* Joins the ops that use one node. Ops of one side that merely have the same name are not joined,
 * and then say nothing about the other side either. */
static void join_users(struct aligning *aligning, const struct node_use *uses, size_t count)
{
    size_t own_names[ALIGN_SIDES] = {0};
    uint32_t first = NO_OP;

    for (size_t i = 0; i < count; i++)
        own_names[is_base(aligning, uses[i].op) ? ALIGN_BASE : ALIGN_NEW] += uses[i].is_own_name;
    for (size_t i = 0; i < count; i++) {
        int side = is_base(aligning, uses[i].op) ? ALIGN_BASE : ALIGN_NEW;

        if (uses[i].is_own_name && own_names[side] > 1)
            continue;
        if (first == NO_OP)
            first = uses[i].op;
        else
            join(aligning, first, uses[i].op);
    }
}

/* An op is matched when its group has ops of both sides; groups of one side fall apart again. */
static int keep_shared(struct aligning *aligning)
{
    uint8_t *sides = calloc(aligning->count ? aligning->count : 1, 1);

    if (!sides)
        return -ENOMEM;
    for (uint32_t i = 0; i < aligning->count; i++)
        sides[root_of(aligning, i)] |= is_base(aligning, i) ? 1 : 2;
    for (uint32_t i = 0; i < aligning->count; i++)
        aligning->is_matched[i] = sides[root_of(aligning, i)] == 3;
    for (uint32_t i = 0; i < aligning->count; i++) {
        if (!aligning->is_matched[i])
            aligning->parent[i] = i;
    }
    free(sides);
    return 0;
}

static int match_nodes(struct aligning *aligning)
{
    struct node_uses uses = {0};
    int rc = 0;

    for (uint32_t i = 0; i < aligning->count && rc == 0; i++) {
        if (!aligning->is_matched[i])
            rc = add_op_uses(&uses, op_at(aligning, i), i);
    }
    if (rc == 0 && uses.count)
        qsort(uses.items, uses.count, sizeof(*uses.items), compare_uses);
    for (size_t first = 0, end; rc == 0 && first < uses.count; first = end) {
        for (end = first + 1;
             end < uses.count && strcmp(uses.items[first].node, uses.items[end].node) == 0;)
            end++;
        join_users(aligning, uses.items + first, end - first);
    }
    for (size_t i = 0; i < uses.count; i++)
        free(uses.items[i].node);
    array_deinit(&uses);
    return rc ? rc : keep_shared(aligning);
}

/* --- Step 4: the same work between the same neighbours. --- */

/* An op without counterpart and the group that stands last before it. */
struct loose {
    uint32_t op, behind;
};

static size_t gather_loose(struct aligning *aligning, uint32_t first, uint32_t end,
                           struct loose *out_loose)
{
    uint32_t behind = NO_OP;
    size_t count = 0;

    for (uint32_t i = first; i < end; i++) {
        if (aligning->is_matched[i])
            behind = root_of(aligning, i);
        else
            out_loose[count++] = (struct loose){i, behind};
    }
    return count;
}

static bool is_same_work(const struct aligning *aligning, uint32_t a, uint32_t b)
{
    const struct align_op *left = op_at(aligning, a);

    return left->shapes && compare_work(left, op_at(aligning, b)) == 0;
}

/* The longest common subsequence; longest[i * (b_count + 1) + k] is that of a[i..] and b[k..]. */
static int match_gap(struct aligning *aligning, const struct loose *a, size_t a_count,
                     const struct loose *b, size_t b_count)
{
    size_t width = b_count + 1;
    uint32_t *longest;

    if ((a_count + 1) * width > GAP_CELLS_MAX)
        return 0;
    longest = calloc((a_count + 1) * width, sizeof(*longest));
    if (!longest)
        return -ENOMEM;
    for (size_t i = a_count; i-- > 0;) {
        for (size_t k = b_count; k-- > 0;) {
            uint32_t skip_a = longest[(i + 1) * width + k], skip_b = longest[i * width + k + 1];

            if (is_same_work(aligning, a[i].op, b[k].op))
                longest[i * width + k] = longest[(i + 1) * width + k + 1] + 1;
            else
                longest[i * width + k] = skip_a > skip_b ? skip_a : skip_b;
        }
    }
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        if (is_same_work(aligning, a[i].op, b[k].op)) {
            match(aligning, a[i++].op, b[k++].op);
        } else if (longest[(i + 1) * width + k] >= longest[i * width + k + 1]) {
            i++;
        } else {
            k++;
        }
    }
    free(longest);
    return 0;
}

static size_t gap_end(const struct loose *loose, size_t count, size_t first)
{
    size_t end = first;

    while (end < count && loose[end].behind == loose[first].behind)
        end++;
    return end;
}

static int match_renamed(struct aligning *aligning)
{
    struct loose *loose = malloc((aligning->count ? aligning->count : 1) * sizeof(*loose));
    uint32_t base_count = (uint32_t)aligning->base_count;
    size_t base, all;
    int rc = 0;

    if (!loose)
        return -ENOMEM;
    base = gather_loose(aligning, 0, base_count, loose);
    all = base + gather_loose(aligning, base_count, (uint32_t)aligning->count, loose + base);
    for (size_t i = 0, end; i < base && rc == 0; i = end) {
        end = gap_end(loose, base, i);
        for (size_t k = base, k_end; k < all && rc == 0; k = k_end) {
            k_end = gap_end(loose, all, k);
            if (loose[k].behind == loose[i].behind)
                rc = match_gap(aligning, loose + i, end - i, loose + k, k_end - k);
        }
    }
    free(loose);
    return rc;
}

/* --- Groups. --- */

static enum align_kind kind_of(const struct aligning *aligning, const struct align_group *group)
{
    const struct align_op *base, *new;

    if (!group->count[ALIGN_NEW] || !group->count[ALIGN_BASE])
        return group->count[ALIGN_NEW] ? ALIGN_ADDED : ALIGN_REMOVED;
    if (group->count[ALIGN_BASE] > 1)
        return group->count[ALIGN_NEW] > 1 ? ALIGN_REGROUPED : ALIGN_FUSED;
    if (group->count[ALIGN_NEW] > 1)
        return ALIGN_SPLIT;
    base = &aligning->ops[ALIGN_BASE][group->first[ALIGN_BASE]];
    new = &aligning->ops[ALIGN_NEW][group->first[ALIGN_NEW]];
    if (strcmp(base->type, new->type) != 0)
        return ALIGN_RETYPED;
    if (compare_texts(base->shapes, new->shapes) || compare_texts(base->dtypes, new->dtypes))
        return ALIGN_RESHAPED;
    return strcmp(base->name, new->name) ? ALIGN_RENAMED : ALIGN_SAME;
}

static int add_to_group(struct aligning *aligning, uint32_t op, uint32_t *group_of_root,
                        struct alignment *out_alignment)
{
    int side = is_base(aligning, op) ? ALIGN_BASE : ALIGN_NEW;
    uint32_t place = op - (side == ALIGN_NEW ? (uint32_t)aligning->base_count : 0);
    uint32_t *group = &group_of_root[root_of(aligning, op)];

    if (*group == NO_OP) {
        struct align_group added = {0};

        if (array_push(&out_alignment->groups, added) < 0)
            return -ENOMEM;
        *group = (uint32_t)(out_alignment->groups.count - 1);
    }
    if (!out_alignment->groups.items[*group].count[side]++)
        out_alignment->groups.items[*group].first[side] = place;
    out_alignment->group_of[side][place] = *group;
    return 0;
}

static int make_groups(struct aligning *aligning, struct alignment *out_alignment)
{
    uint32_t *group_of_root =
        malloc((aligning->count ? aligning->count : 1) * sizeof(*group_of_root));
    uint32_t base_count = (uint32_t)aligning->base_count, count = (uint32_t)aligning->count;
    int rc = group_of_root ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < count && rc == 0; i++)
        group_of_root[i] = NO_OP;
    for (uint32_t i = base_count; i < count && rc == 0; i++)
        rc = add_to_group(aligning, i, group_of_root, out_alignment);
    for (uint32_t i = 0; i < base_count && rc == 0; i++)
        rc = add_to_group(aligning, i, group_of_root, out_alignment);
    for (size_t i = 0; i < out_alignment->groups.count && rc == 0; i++)
        out_alignment->groups.items[i].kind = kind_of(aligning, &out_alignment->groups.items[i]);
    free(group_of_root);
    return rc;
}

int align_ops(const struct align_op *const ops[ALIGN_SIDES], const size_t count[ALIGN_SIDES],
              struct alignment *out_alignment)
{
    size_t all = count[ALIGN_BASE] + count[ALIGN_NEW];
    struct aligning aligning = {
        .ops = ops,
        .base_count = count[ALIGN_BASE],
        .count = all,
        .parent = malloc((all ? all : 1) * sizeof(*aligning.parent)),
        .is_matched = calloc(all ? all : 1, sizeof(*aligning.is_matched)),
    };
    int rc = aligning.parent && aligning.is_matched ? 0 : -ENOMEM;

    *out_alignment = (struct alignment){0};
    for (int side = 0; side < ALIGN_SIDES && rc == 0; side++) {
        out_alignment->group_of[side] =
            calloc(count[side] ? count[side] : 1, sizeof(*out_alignment->group_of[side]));
        rc = out_alignment->group_of[side] ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < all && rc == 0; i++)
        aligning.parent[i] = i;
    if (rc == 0)
        rc = match_equal(&aligning, (struct align_key){.compare = compare_all});
    if (rc == 0)
        rc = match_nodes(&aligning);
    if (rc == 0)
        rc = match_equal(&aligning,
                         (struct align_key){.compare = compare_name, .may_lack_shapes = true});
    if (rc == 0)
        rc = match_renamed(&aligning);
    if (rc == 0)
        rc = match_equal(&aligning, (struct align_key){.compare = compare_work, .is_work = true});
    if (rc == 0)
        rc = make_groups(&aligning, out_alignment);
    free(aligning.parent);
    free(aligning.is_matched);
    return rc;
}

void alignment_deinit(struct alignment *alignment)
{
    array_deinit(&alignment->groups);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        free(alignment->group_of[side]);
        alignment->group_of[side] = NULL;
    }
}
