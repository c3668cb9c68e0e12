/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer: its pool becomes a hash table of n-grams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/texts.h"
#include "runtime/ops/call/call.h"

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
