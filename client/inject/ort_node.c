/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes from text, and operations from shapes. */
#include "client/inject/ort_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/op_flop.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum { TENSORS_MAX = 32, RANK_MAX = 16, KEY_KIND = 104, TEXTS = 8 };

struct tensors {
    struct optrace_tensor tensors[TENSORS_MAX];
    int64_t dims[TENSORS_MAX][RANK_MAX];
    uint32_t count;
};

static uint32_t dtype_of(const char *text, size_t length)
{
    static const struct {
        const char *name;
        uint32_t dtype;
    } names[] = {
        {"float", OPTRACE_DTYPE_F32},     {"double", OPTRACE_DTYPE_F64},
        {"float16", OPTRACE_DTYPE_F16},   {"bfloat16", OPTRACE_DTYPE_BF16},
        {"int8", OPTRACE_DTYPE_I8},       {"uint8", OPTRACE_DTYPE_U8},
        {"int16", OPTRACE_DTYPE_I16},     {"uint16", OPTRACE_DTYPE_U16},
        {"int32", OPTRACE_DTYPE_I32},     {"uint32", OPTRACE_DTYPE_U32},
        {"int64", OPTRACE_DTYPE_I64},     {"uint64", OPTRACE_DTYPE_U64},
        {"bool", OPTRACE_DTYPE_BOOL},     {"string", OPTRACE_DTYPE_STRING},
        {"complex64", OPTRACE_DTYPE_C64}, {"complex128", OPTRACE_DTYPE_C128},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0)
            return names[i].dtype;
    }
    return OPTRACE_DTYPE_UNKNOWN;
}

/* One {"float":[1,2]} from behind its brace on; NULL where it is none. */
static const char *read_tensor(const char *at, struct tensors *out_tensors)
{
    struct optrace_tensor *tensor = &out_tensors->tensors[out_tensors->count];
    int64_t *dims = out_tensors->dims[out_tensors->count];
    size_t length;

    *tensor = (struct optrace_tensor){NULL, dims, 0, OPTRACE_DTYPE_UNKNOWN};
    if (*at++ != '"')
        return NULL;
    length = strcspn(at, "\"");
    tensor->dtype = dtype_of(at, length);
    at += length;
    if (strncmp(at, "\":[", 3) != 0)
        return NULL;
    for (at += 3; *at && *at != ']'; at += *at == ',') {
        char *end;
        const long long dim = strtoll(at, &end, 10);

        if (end == at || tensor->rank == RANK_MAX)
            return NULL;
        dims[tensor->rank++] = dim < 0 ? -1 : dim;
        at = end;
    }
    return *at ? at : NULL;
}

static void read_tensors(const char *text, struct tensors *out_tensors)
{
    out_tensors->count = 0;
    while (text && out_tensors->count < TENSORS_MAX && (text = strchr(text, '{'))) {
        text = read_tensor(text + 1, out_tensors);
        out_tensors->count += text != NULL;
    }
}

static struct op_flop_shape shape_of(const struct tensors *tensors, uint32_t place)
{
    struct op_flop_shape shape = {.rank = -1};
    const struct optrace_tensor *tensor = &tensors->tensors[place];

    if (place >= tensors->count || tensor->rank > OP_FLOP_RANK_MAX)
        return shape;
    shape.rank = (int)tensor->rank;
    memcpy(shape.dims, tensor->dims, tensor->rank * sizeof(shape.dims[0]));
    return shape;
}

static int64_t flop_of(const char *type, const struct tensors *inputs,
                       const struct tensors *outputs)
{
    struct op_flop_call call = {
        .name = type, .input_count = inputs->count, .output = shape_of(outputs, 0)};

    for (uint32_t i = 0; i < inputs->count && i < OP_FLOP_TENSORS_MAX; i++)
        call.inputs[i] = shape_of(inputs, i);
    return op_flop(&call);
}

static int64_t bytes_of(const struct ort_node *node)
{
    int64_t sum = -1;

    for (size_t i = 0; i < sizeof(node->sizes) / sizeof(node->sizes[0]); i++) {
        if (node->sizes[i] && node->sizes[i][0])
            sum = (sum < 0 ? 0 : sum) + strtoll(node->sizes[i], NULL, 10);
    }
    return sum;
}

/* "CPUExecutionProvider" computes on cpu:0; of others the name says it. */
static const char *device_of(const char *provider)
{
    if (!provider || strcmp(provider, "CPUExecutionProvider") == 0)
        return "cpu:0";
    return strcmp(provider, "CUDAExecutionProvider") == 0 ? "cuda:0" : NULL;
}

static uint64_t define(const void *context)
{
    const struct ort_node *node = context;
    const char *const type = node->type && node->type[0] ? node->type : "op";
    struct optrace_op_info info = OPTRACE_OP_INFO(node->name, type);
    struct tensors inputs, outputs;
    uint32_t op = 0;

    read_tensors(node->inputs, &inputs);
    read_tensors(node->outputs, &outputs);
    info.model = node->model;
    info.node_id = node->index && node->index[0] ? node->index : NULL;
    info.device = device_of(node->provider);
    info.inputs = inputs.tensors;
    info.input_count = inputs.count;
    info.outputs = outputs.tensors;
    info.output_count = outputs.count;
    info.computation_flop = flop_of(type, &inputs, &outputs);
    info.memory_bytes = bytes_of(node);
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Name and shapes make an op: another batch is another one. Long texts count by their hashes. */
uint32_t ort_node_op(const struct ort_node *node)
{
    const char *const texts[TEXTS] = {node->name,   node->type,    node->index,    node->provider,
                                      node->inputs, node->outputs, node->sizes[0], node->sizes[2]};
    struct {
        uint64_t kind, model, hashes[TEXTS];
        char name[256];
    } key = {.kind = KEY_KIND, .model = node->model};

    for (size_t i = 0; i < TEXTS; i++)
        key.hashes[i] = texts[i] ? hash_of(texts[i]) : 0;
    snprintf(key.name, sizeof(key.name), "%s", node->name);
    return (uint32_t)names_find(&key, sizeof(key), define, node);
}
