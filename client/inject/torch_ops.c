/* SPDX-License-Identifier: Apache-2.0 */
/* Names by address first, and by text; ops by keys. */
#include "client/inject/torch_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum { KEY_NAME = 104, KEY_OP = 105, NEAR_SLOTS = 4096, TEXT_MAX = 511 };

struct name_key {
    uint32_t kind, is_label;
    char text[TEXT_MAX + 1];
};

/* By the address of the text, which is the same for all calls of an op; a label's may come back for
 * another one, so that the text decides. */
static const struct torch_name *near[NEAR_SLOTS];

/* As PyTorch names them: `aten::neg_` returns what it was given. Some of them give that other dims. */
static bool is_in_place(const char *text)
{
    static const char *const reshaping[] = {"resize",  "squeeze", "transpose", "swap",
                                            "strided", "::set_",  "::t_",      "_foreach"};
    const size_t length = strlen(text);

    if (strncmp(text, "aten::", 6) != 0 || text[length - 1] != '_' || text[length - 2] == '_')
        return false;
    for (size_t i = 0; i < sizeof(reshaping) / sizeof(reshaping[0]); i++) {
        if (strstr(text, reshaping[i]))
            return false;
    }
    return true;
}

static uint64_t make_name(const void *context)
{
    const struct name_key *key = context;
    const size_t bytes = strlen(key->text) + 1;
    const struct names_text label = {.text = key->text, .type = OPTRACE_LABEL};
    struct optrace_op_info info = OPTRACE_OP_INFO(key->text, key->text);
    struct torch_name *name = calloc(1, sizeof(*name) + bytes);

    if (!name)
        return 0;
    found_say(FOUND_TORCH);
    memcpy(name->text, key->text, bytes);
    name->is_label = key->is_label != 0;
    name->is_in_place = !name->is_label && is_in_place(name->text);
    name->place = name->is_label ? OP_FLOP_NOWHERE : op_flop_nested_place(name->text);
    if (name->is_label) {
        name->op = names_define(&label);
    } else if (recorder.op_define(&info, &name->op) == 0) {
        runs_note(name->op, name->text);
    }
    return (uint64_t)(uintptr_t)name;
}

static const struct torch_name *find_by_text(const char *text, bool is_label)
{
    static const struct torch_name none = {.op = 0};
    const size_t length = strnlen(text, TEXT_MAX);
    struct name_key key = {.kind = KEY_NAME, .is_label = is_label};
    uintptr_t found;

    memcpy(key.text, text, length);
    key.text[length] = '\0';
    found = (uintptr_t)names_find(&key, offsetof(struct name_key, text) + length, make_name, &key);
    if (!found) { /* too many to keep */
        strcpy(key.text, is_label ? "(further names)" : "(further ops)");
        found = (uintptr_t)names_find_always(&key, offsetof(struct name_key, text) + 15, make_name,
                                             &key);
    }
    return found ? (const struct torch_name *)found : &none;
}

const struct torch_name *torch_name_find(const char *text, bool is_label)
{
    const uint64_t hash = (uint64_t)(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15);
    const struct torch_name **const slot = &near[hash >> 52];
    const struct torch_name *name = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    if (LIKELY(name && name->is_label == is_label && strcmp(name->text, text) == 0))
        return name;
    name = find_by_text(text, is_label);
    if (name->text[0] || name->op)
        __atomic_store_n(slot, name, __ATOMIC_RELEASE);
    return name;
}

/* --- Keys --- */

/* Where it stands in the key: one that is copied there would be waited for. Returns the bytes with it,
 * 0 when the value is no tensor. */
static size_t add_tensor(struct torch_key *key, size_t bytes, struct torch_values values,
                         size_t place)
{
    struct torch_tensor *tensor = (struct torch_tensor *)(void *)((char *)key + bytes);

    return torch_layout_read(values, place, tensor) ? bytes + TORCH_TENSOR_BYTES(tensor->rank) : 0;
}

/* The argument of aten::convolution and aten::_convolution that says which it is. */
enum { TRANSPOSED_PLACE = 6 };

size_t torch_key_begin(struct torch_key *key, const struct torch_name *name,
                       struct torch_values inputs)
{
    size_t bytes = sizeof(*key);

    *key = (struct torch_key){.kind = KEY_OP, .name = name};
    for (size_t i = 0; i < inputs.count && key->input_count < TORCH_INPUTS_MAX; i++) {
        const size_t with = add_tensor(key, bytes, inputs, i);

        bytes = with ? with : bytes;
        key->input_count += with != 0;
    }
    if (name->place == OP_FLOP_OUTERMOST)
        key->is_transposed = torch_layout_is_true(inputs, TRANSPOSED_PLACE);
    return bytes;
}

size_t torch_key_end(struct torch_key *key, size_t bytes, struct torch_values outputs)
{
    const size_t with = outputs.count ? add_tensor(key, bytes, outputs, 0) : 0;

    key->output_count = with != 0;
    return with ? with : bytes;
}

static const struct torch_tensor *first_of(const struct torch_key *key)
{
    return (const struct torch_tensor *)(const void *)((const char *)key + sizeof(*key));
}

bool torch_key_is_in_place(const struct torch_key *key)
{
    return key->input_count > 0 && first_of(key)->place == 0 && first_of(key)->rank >= 0;
}

size_t torch_key_end_in_place(struct torch_key *key, size_t bytes)
{
    const struct torch_tensor *const first = first_of(key);
    const size_t more = TORCH_TENSOR_BYTES(first->rank);

    memcpy((char *)key + bytes, first, more);
    key->output_count = 1;
    return bytes + more;
}

static uint32_t dtype_of(int32_t code)
{
    static const uint8_t dtypes[] = {
        OPTRACE_DTYPE_U8,       OPTRACE_DTYPE_I8,      OPTRACE_DTYPE_I16,     OPTRACE_DTYPE_I32,
        OPTRACE_DTYPE_I64,      OPTRACE_DTYPE_F16,     OPTRACE_DTYPE_F32,     OPTRACE_DTYPE_F64,
        OPTRACE_DTYPE_UNKNOWN,  OPTRACE_DTYPE_C64,     OPTRACE_DTYPE_C128,    OPTRACE_DTYPE_BOOL,
        OPTRACE_DTYPE_I8,       OPTRACE_DTYPE_U8,      OPTRACE_DTYPE_I32,     OPTRACE_DTYPE_BF16,
        OPTRACE_DTYPE_UNKNOWN,  OPTRACE_DTYPE_UNKNOWN, OPTRACE_DTYPE_UNKNOWN, OPTRACE_DTYPE_UNKNOWN,
        OPTRACE_DTYPE_UNKNOWN,  OPTRACE_DTYPE_UNKNOWN, OPTRACE_DTYPE_UNKNOWN, OPTRACE_DTYPE_F8E5M2,
        OPTRACE_DTYPE_F8E4M3FN,
    };

    return code >= 0 && (size_t)code < sizeof(dtypes) ? dtypes[code] : OPTRACE_DTYPE_UNKNOWN;
}

/* A key taken apart. */
struct parts {
    struct torch_tensor tensors[TORCH_INPUTS_MAX + 1]; /* the result comes last */
    size_t count;
};

static void take_apart(const struct torch_key *key, struct parts *out_parts)
{
    const char *from = (const char *)key + sizeof(*key);

    out_parts->count = key->input_count + key->output_count;
    for (size_t i = 0; i < out_parts->count; i++) {
        struct torch_tensor *tensor = &out_parts->tensors[i];

        memcpy(tensor, from, offsetof(struct torch_tensor, dims));
        memcpy(tensor, from, TORCH_TENSOR_BYTES(tensor->rank));
        from += TORCH_TENSOR_BYTES(tensor->rank);
    }
}

static void put_shape(const struct torch_tensor *tensor, struct op_flop_shape *out_shape)
{
    out_shape->rank = tensor->rank;
    for (int i = 0; i < tensor->rank; i++)
        out_shape->dims[i] = tensor->dims[i];
}

static int64_t flop_of(const struct torch_key *key, const struct parts *parts)
{
    struct op_flop_call call = {.name = key->name->text, .output.rank = -1};

    for (size_t i = 0; i < OP_FLOP_TENSORS_MAX; i++)
        call.inputs[i].rank = -1;
    call.input_count = OP_FLOP_TENSORS_MAX;
    call.scalars[TRANSPOSED_PLACE] = key->is_transposed ? "True" : "False";
    for (size_t i = 0; i < key->input_count; i++) {
        if (parts->tensors[i].place < OP_FLOP_TENSORS_MAX)
            put_shape(&parts->tensors[i], &call.inputs[parts->tensors[i].place]);
    }
    if (key->output_count)
        put_shape(&parts->tensors[key->input_count], &call.output);
    return op_flop_nested(&call);
}

static uint64_t make_op(const void *context)
{
    const struct torch_key *key = context;
    struct optrace_op_info info = OPTRACE_OP_INFO(key->name->text, key->name->text);
    struct optrace_tensor tensors[TORCH_INPUTS_MAX + 1];
    struct parts parts;
    uint32_t op;

    take_apart(key, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        const struct torch_tensor *tensor = &parts.tensors[i];

        tensors[i] = (struct optrace_tensor){NULL, tensor->dims,
                                             tensor->rank > 0 ? (uint32_t)tensor->rank : 0,
                                             dtype_of(tensor->dtype)};
    }
    info.inputs = tensors;
    info.input_count = key->input_count;
    info.outputs = &tensors[key->input_count];
    info.output_count = key->output_count;
    if (key->is_launched)
        info.device = "cuda";
    if (key->counts)
        info.computation_flop = flop_of(key, &parts);
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

uint32_t torch_op_find(const struct torch_key *key, size_t bytes)
{
    static const struct names_entry
        *last[NEAR_SLOTS]; /* an op has the shapes that it had, mostly */
    const uint64_t hash = (uint64_t)(uintptr_t)key->name * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)names_find_again(&last[hash >> 52], key, bytes, make_op, key);
}
