/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of zeros that stand for a RecordFunction and for a TensorImpl. A word or a bit is set, an
 * accessor is asked, and what it answers tells whether that was the one. Everything is asked in more
 * than one way; where two answers do not agree, nothing is known.
 */
#include "client/inject/torch_layout.h"

#include <dlfcn.h>
#include <string.h>

enum {
    WORDS = 128, /* of a buffer; accessors read no further than about 300 bytes */
    SEARCHED = 100,
    VIRTUALS = 128,
    INLINE_DIMS = 5, /* more dims are in memory of their own */
    RANK_MAX = 64,
    VALUES_MAX = 256,
    VALUE_BYTES = 16,
    TAG_MAX = 64,
    DTYPES = 64,
};

/* Of 2.2 to 2.15: the low byte of a word stays 0, which a variant would have its index in. */
#define PROBE UINT64_C(0x4200)

_Static_assert(sizeof(struct torch_value) == VALUE_BYTES, "as the library counts them");

typedef size_t count_type(const void *function);
typedef int sizes_type(void *tensor, int64_t **out_sizes);
typedef int dim_type(void *tensor, int64_t *out_dim);
typedef int code_type(void *tensor, int32_t *out_code);

static struct layout {
    size_t inputs, outputs;       /* in a RecordFunction: pointer and count; begin and end */
    size_t sizes, dtype, virtual; /* in a TensorImpl; the rank lies before the sizes */
    unsigned char virtual_bit;    /* set: it computes its sizes when asked */
    bool has_dtype;
    const void *undefined; /* the tensor that is none */
} layout;

static bool is_broken, is_expected;

/* --- RecordFunction --- */

static size_t count_of_probe(count_type *count, uint64_t *words, size_t word, uint64_t value)
{
    size_t answer;

    words[word] = value;
    answer = count(words);
    words[word] = 0;
    return answer;
}

/* The only word that changes the answer as it must; 0: there is none, or more than one. */
static size_t find_word(count_type *count, uint64_t *words, uint64_t answer)
{
    size_t found = 0;

    for (size_t i = 1; i < SEARCHED; i++) {
        if (count_of_probe(count, words, i, PROBE) != answer)
            continue;
        if (found)
            return 0;
        found = i;
    }
    return found;
}

static bool find_values(count_type *count_inputs, count_type *count_outputs)
{
    uint64_t words[WORDS] = {0};
    size_t length, end;

    if (count_inputs(words) != 0 || count_outputs(words) != 0)
        return false;
    length = find_word(count_inputs, words, PROBE);
    end = find_word(count_outputs, words, PROBE / VALUE_BYTES);
    if (length < 2 || end < 2 || length == end)
        return false;
    words[end - 1] = 0x100;
    words[end] = 0x400;
    if (count_outputs(words) != (0x400 - 0x100) / VALUE_BYTES)
        return false;
    words[end - 1] = words[end] = 0;
    words[length - 1] = UINT64_C(0x7f0000001000); /* an address, which is not to be counted */
    if (count_inputs(words) != 0)
        return false;
    layout.inputs = (length - 1) * sizeof(words[0]);
    layout.outputs = (end - 1) * sizeof(words[0]);
    return true;
}

/* --- TensorImpl --- */

static uint32_t asked;

/* In place of each virtual function; what it returns is not looked at. */
static void *answer_nothing(void)
{
    asked++;
    return NULL;
}

struct probe {
    uint64_t words[WORDS];
    const void *table[VIRTUALS];
    void *tensor; /* words; a handle is the address of this */
    sizes_type *sizes;
    dim_type *dim;
};

static int64_t *ask_sizes(struct probe *probe)
{
    int64_t *sizes = NULL;

    asked = 0;
    return probe->sizes(&probe->tensor, &sizes) == 0 ? sizes : NULL;
}

/* Sizes of few dims lie inside, those of more where the first of these words points. */
static bool find_sizes(struct probe *probe)
{
    unsigned char *const bytes = (unsigned char *)probe->words;
    int64_t elsewhere[RANK_MAX] = {0};
    const int64_t *const inside = ask_sizes(probe);
    const size_t offset = (size_t)((const unsigned char *)inside - bytes);
    size_t word;

    if (!inside || asked || (const unsigned char *)inside < bytes + 24 || offset > 512 ||
        offset % sizeof(int64_t) != 0)
        return false;
    word = offset / sizeof(int64_t);
    probe->words[word] = (uintptr_t)elsewhere;
    for (int rank = 1; rank <= TORCH_DIMS_MAX; rank++) {
        const int64_t *expected = rank > INLINE_DIMS ? elsewhere : inside;
        int64_t dim = -1;

        probe->words[word - 1] = (uint64_t)rank;
        if (ask_sizes(probe) != expected || asked)
            return false;
        if (probe->dim && (probe->dim(&probe->tensor, &dim) != 0 || dim != rank || asked))
            return false;
    }
    probe->words[word - 1] = probe->words[word] = 0;
    layout.sizes = offset;
    return true;
}

/* The only bit that has a virtual function asked for the sizes. */
static bool find_virtual_bit(struct probe *probe)
{
    unsigned char *const bytes = (unsigned char *)probe->words;
    int found = 0;

    for (size_t i = sizeof(void *); i < 512; i++) {
        if (i >= layout.sizes - 8 && i < layout.sizes + 80) /* rank, sizes, strides */
            continue;
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (unsigned char)(1u << bit);
            ask_sizes(probe);
            if (asked) {
                layout.virtual = i;
                layout.virtual_bit = bytes[i];
                found++;
            }
            bytes[i] = 0;
        }
    }
    return found == 1;
}

/* Two bytes that come back as they are, whatever they are. */
static bool find_dtype(struct probe *probe, code_type *get_dtype)
{
    static const unsigned char codes[] = {11, 6, 15};
    unsigned char *const bytes = (unsigned char *)probe->words;
    int found = 0;

    for (size_t i = sizeof(void *); i < 512; i += 2) {
        bool is_it = i != (layout.virtual & ~(size_t)1);

        for (size_t k = 0; is_it && k < sizeof(codes); k++) {
            int32_t code = -1;

            asked = 0;
            bytes[i] = codes[k];
            is_it = get_dtype(&probe->tensor, &code) == 0 && code == codes[k] && !asked;
        }
        bytes[i] = 0;
        if (is_it) {
            layout.dtype = i;
            found++;
        }
    }
    return found == 1;
}

static bool find_tensor(void *library)
{
    struct probe probe = {.tensor = NULL};
    code_type *get_dtype;

    *(void **)&probe.sizes = dlsym(library, "aoti_torch_get_sizes");
    *(void **)&probe.dim = dlsym(library, "aoti_torch_get_dim");
    *(void **)&get_dtype = dlsym(library, "aoti_torch_get_dtype");
    if (!probe.sizes)
        return false;
    for (size_t i = 0; i < VIRTUALS; i++)
        *(void *(**)(void)) & probe.table[i] = answer_nothing;
    probe.words[0] = (uintptr_t)probe.table;
    probe.tensor = probe.words;
    if (!find_sizes(&probe) || !find_virtual_bit(&probe))
        return false;
    if (get_dtype)
        layout.has_dtype = find_dtype(&probe, get_dtype);
    else if (layout.virtual == layout.sizes + 0x66) { /* 2.2, at the distances of its successors */
        layout.dtype = layout.sizes + 0x60;
        layout.has_dtype = true;
    }
    return layout.has_dtype || !get_dtype;
}

bool torch_layout_find(void *library)
{
    count_type *inputs, *outputs;

    *(void **)&inputs = dlsym(library, "_ZNK2at14RecordFunction10num_inputsEv");
    *(void **)&outputs = dlsym(library, "_ZNK2at14RecordFunction11num_outputsEv");
    layout.undefined = dlsym(library, "_ZN3c1019UndefinedTensorImpl10_singletonE");
    is_expected = inputs && outputs && dlsym(library, "aoti_torch_get_sizes");
    return is_expected && find_values(inputs, outputs) && find_tensor(library);
}

bool torch_layout_is_expected(void)
{
    return is_expected;
}

/* --- Of the program --- */

static struct torch_values check(const struct torch_value *items, size_t count)
{
    if (count == 0)
        return (struct torch_values){NULL, 0};
    if (!items || (uintptr_t)items % sizeof(void *) != 0 || count > VALUES_MAX) {
        __atomic_store_n(&is_broken, true, __ATOMIC_RELAXED);
        return (struct torch_values){NULL, 0};
    }
    return (struct torch_values){items, count};
}

struct torch_values torch_layout_inputs(const void *function)
{
    const char *place = (const char *)function + layout.inputs;
    const struct torch_value *items;
    size_t count;

    memcpy(&items, place, sizeof(items));
    memcpy(&count, place + sizeof(items), sizeof(count));
    return check(items, count);
}

struct torch_values torch_layout_outputs(const void *function)
{
    const char *place = (const char *)function + layout.outputs;
    const struct torch_value *begin, *end;

    memcpy(&begin, place, sizeof(begin));
    memcpy(&end, place + sizeof(begin), sizeof(end));
    return begin == end ? (struct torch_values){NULL, 0} : check(begin, (size_t)(end - begin));
}

static bool fill(const unsigned char *tensor, struct torch_tensor *out_tensor)
{
    const unsigned char *const inside = tensor + layout.sizes;
    const int64_t *dims = (const int64_t *)(const void *)inside;
    uint16_t dtype = 0;
    int64_t rank;

    if (layout.has_dtype) {
        memcpy(&dtype, tensor + layout.dtype, sizeof(dtype));
        out_tensor->dtype = dtype;
    }
    if (tensor[layout.virtual] & layout.virtual_bit)
        return true;
    memcpy(&rank, inside - sizeof(rank), sizeof(rank));
    if (rank < 0 || rank > RANK_MAX || (layout.has_dtype && dtype >= DTYPES))
        return false;
    if (rank > TORCH_DIMS_MAX)
        return true;
    if (rank > INLINE_DIMS)
        memcpy(&dims, inside, sizeof(dims));
    out_tensor->rank = (int16_t)rank;
    for (int i = 0; i < rank; i++) {
        out_tensor->dims[i] = dims[i];
        if (dims[i] < 0)
            return false;
    }
    return true;
}

bool torch_layout_read(struct torch_values values, size_t place, struct torch_tensor *out_tensor)
{
    const struct torch_value *value = &values.items[place];

    if (value->tag != TORCH_TAG_TENSOR && value->tag < TAG_MAX)
        return false;
    out_tensor->place = (int16_t)place;
    out_tensor->rank = -1;
    out_tensor->dtype = -1;
    if (value->payload == layout.undefined)
        return true;
    if (value->tag == TORCH_TAG_TENSOR && value->payload &&
        (uintptr_t)value->payload % sizeof(void *) == 0 && fill(value->payload, out_tensor))
        return true;
    out_tensor->rank = -1;
    __atomic_store_n(&is_broken, true, __ATOMIC_RELAXED);
    return false;
}

bool torch_layout_is_true(struct torch_values values, size_t place)
{
    return place < values.count && ((uintptr_t)values.items[place].payload & 1) != 0;
}

bool torch_layout_is_broken(void)
{
    return __atomic_load_n(&is_broken, __ATOMIC_RELAXED);
}
