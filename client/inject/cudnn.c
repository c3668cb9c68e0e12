/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of cuDNN's graph interface (8 and 9), each execution as an op: what its operations are, with
 * sizes and types; what they compute is said of the kernel that is launched first, as in cublas.c.
 *
 * A plan is not asked what it is of: that would be calls which the program does not make. What it
 * says while it builds one is written down: of tensors, operations, their graph, and what stands for
 * the graph from there on (heuristics, engine, configuration, plan).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/cupti/work.h"
#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum { KEY_PLAN = 127, RANK_MAX = 8, TENSORS = 4, KINDS_MAX = 6, BUCKETS = 1 << 12 };

/* Types of descriptors and of attributes, and names of attributes: the same in 8 and 9. Checked
 * against a toolkit's header by tests/support/cuda/layout_cudnn.c. */
enum {
    CONV = 10,
    CONV_WEIGHTS = 11,
    CONV_DATA = 12,
    GRAPH = 15,
    TENSOR = 17,
    MATMUL = 19,
    ATTENTION = 41,
    TYPE_DATA_TYPE = 1,
    TYPE_INT64 = 3,
    TYPE_DESCRIPTOR = 15,
    GRAPH_OPERATIONS = 801,
    TENSOR_DATA_TYPE = 901,
    TENSOR_DIMENSIONS = 902,
};

struct tensor {
    int64_t dims[RANK_MAX];
    int32_t rank, type; /* rank 0: not known */
};

/* What a graph is, and all that stands for it. */
struct summary {
    uint64_t kind;                  /* tells these keys from others */
    struct tensor tensors[TENSORS]; /* of the operation that computes most, as its row has them */
    int64_t flop;                   /* of all operations that are known */
    int32_t main;                   /* that operation; 0: none */
    int32_t count;                  /* of operations; 0: it is not a graph */
    int32_t kinds[KINDS_MAX];
};

/* What is known of a descriptor. */
struct thing {
    struct thing *next;
    const void *descriptor;
    int32_t type;
    struct summary summary; /* a tensor is its first, an operation its main one */
};

/* Operations with numbers of what they compute. The last tensor is the result. */
static const struct row {
    int32_t kind;
    const char *name, *type;
    int32_t count, attributes[TENSORS];
    const char *tensors[TENSORS];
} rows[] = {
    {CONV, "conv", "Conv", 3, {704, 703, 705}, {"X", "W", "Y"}},
    {CONV_DATA, "conv_backward_data", "ConvBackward", 3, {711, 709, 710}, {"dY", "W", "dX"}},
    {CONV_WEIGHTS, "conv_backward_weights", "ConvBackward", 3, {716, 717, 715}, {"X", "dY", "dW"}},
    {MATMUL, "matmul", "MatMul", 3, {1520, 1521, 1522}, {"A", "B", "C"}},
    {ATTENTION, "attention", "Attention", 4, {2800, 2801, 2802, 2803}, {"Q", "K", "V", "O"}},
};

static const struct {
    int32_t kind;
    const char *name;
} others[] = {{13, "pointwise"}, {14, "statistics"}, {22, "reduction"}, {25, "resample"},
              {27, "concat"},    {29, "norm"},       {31, "reshape"},   {45, "softmax"}};

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_wanted;
static struct thing *buckets[BUCKETS]; /* under RECORDER_LOCK_CUDNN, with all in them */

static void ask(void)
{
    is_wanted = recorder_wants("cudnn");
}

static bool is_noted(void)
{
    pthread_once(&asked, ask);
    return is_wanted;
}

/* --- Descriptors --- */

static struct thing **place_of(const void *descriptor)
{
    struct thing **place =
        &buckets[((uintptr_t)descriptor >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52];

    while (*place && (*place)->descriptor != descriptor)
        place = &(*place)->next;
    return place;
}

static void forget(const void *descriptor)
{
    struct thing **place, *thing;

    recorder_lock(RECORDER_LOCK_CUDNN);
    place = place_of(descriptor);
    thing = *place;
    if (thing)
        *place = thing->next;
    recorder_unlock(RECORDER_LOCK_CUDNN);
    free(thing);
}

static void note(const void *descriptor, int32_t type)
{
    struct thing *thing = calloc(1, sizeof(*thing));
    struct thing **place;

    forget(descriptor);
    if (!thing)
        return;
    thing->descriptor = descriptor;
    thing->type = type;
    thing->summary.kind = KEY_PLAN;
    recorder_lock(RECORDER_LOCK_CUDNN);
    place = place_of(descriptor);
    thing->next = *place;
    *place = thing;
    recorder_unlock(RECORDER_LOCK_CUDNN);
}

/* --- What operations compute --- */

static const struct row *row_of(int32_t kind)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].kind == kind)
            return &rows[i];
    }
    return NULL;
}

/* -1: not known. */
static int64_t count_of(const struct tensor *tensor)
{
    int64_t count = 1;

    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0 || __builtin_mul_overflow(count, tensor->dims[i], &count))
            return -1;
    }
    return tensor->rank > 0 ? count : -1;
}

/* A multiplication and an addition for each element of `each`, `times` over. */
static int64_t twice(const struct tensor *each, int64_t times)
{
    const int64_t count = count_of(each);
    int64_t flop;

    if (count < 0 || times < 0 || __builtin_mul_overflow(count, times, &flop) ||
        __builtin_mul_overflow(flop, 2, &flop))
        return -1;
    return flop;
}

/* Weights are {channels of the result, channels of the input in a group, height, width}: each value
 * of the side with the result's channels goes with all that belong to its channel. */
static int64_t convolution(const struct tensor *results, const struct tensor *weights)
{
    const int64_t all = count_of(weights);

    return weights->rank < 3 || all < 0 || weights->dims[0] <= 0
               ? -1
               : twice(results, all / weights->dims[0]);
}

static int64_t attention(const struct tensor *q, const struct tensor *k, const struct tensor *v)
{
    struct tensor scores = *q;

    if (q->rank < 2 || k->rank != q->rank || v->rank != q->rank)
        return -1;
    scores.dims[q->rank - 1] = k->dims[k->rank - 2];
    return twice(&scores, q->dims[q->rank - 1] + v->dims[v->rank - 1]);
}

static int64_t flop_of(int32_t kind, const struct tensor *tensors)
{
    switch (kind) {
    case CONV:
        return convolution(&tensors[2], &tensors[1]);
    case CONV_DATA:
        return convolution(&tensors[0], &tensors[1]);
    case CONV_WEIGHTS:
        return convolution(&tensors[1], &tensors[2]);
    case MATMUL:
        return tensors[0].rank < 2 ? -1 : twice(&tensors[2], tensors[0].dims[tensors[0].rank - 1]);
    case ATTENTION:
        return attention(&tensors[0], &tensors[1], &tensors[2]);
    default:
        return 0;
    }
}

/* --- What the program says of them --- */

static void set_tensor(struct tensor *tensor, int32_t name, int32_t type, int64_t count,
                       const void *values)
{
    if (name == TENSOR_DATA_TYPE && type == TYPE_DATA_TYPE && count == 1) {
        memcpy(&tensor->type, values, sizeof(tensor->type));
    } else if (name == TENSOR_DIMENSIONS && type == TYPE_INT64 && count > 0 && count <= RANK_MAX) {
        memcpy(tensor->dims, values, (size_t)count * sizeof(tensor->dims[0]));
        tensor->rank = (int32_t)count;
    }
}

static void set_operation(struct thing *operation, int32_t name, const void *const *values)
{
    const struct row *row = row_of(operation->type);
    const struct thing *tensor = *place_of(values[0]);

    for (int32_t i = 0; row && tensor && tensor->type == TENSOR && i < row->count; i++) {
        if (row->attributes[i] == name)
            operation->summary.tensors[i] = tensor->summary.tensors[0];
    }
}

static void set_graph(struct summary *graph, int64_t count, const void *const *values)
{
    int64_t most = -2;

    *graph = (struct summary){.kind = KEY_PLAN};
    for (int64_t i = 0; i < count; i++) {
        const struct thing *operation = *place_of(values[i]);
        int64_t flop;

        if (!operation)
            continue;
        if (graph->count < KINDS_MAX)
            graph->kinds[graph->count] = operation->type;
        graph->count++;
        flop = flop_of(operation->type, operation->summary.tensors);
        if (flop > 0 && __builtin_add_overflow(graph->flop, flop, &graph->flop))
            graph->flop = INT64_MAX;
        if (row_of(operation->type) && flop > most) {
            most = flop;
            graph->main = operation->type;
            memcpy(graph->tensors, operation->summary.tensors, sizeof(graph->tensors));
        }
    }
}

static void set_attribute(const void *descriptor, int32_t name, int32_t type, int64_t count,
                          const void *values)
{
    struct thing *thing;
    const struct thing *source;

    if (count <= 0 || !values)
        return;
    recorder_lock(RECORDER_LOCK_CUDNN);
    thing = *place_of(descriptor);
    if (thing && thing->type == TENSOR) {
        set_tensor(&thing->summary.tensors[0], name, type, count, values);
    } else if (thing && type == TYPE_DESCRIPTOR && thing->type == GRAPH) {
        if (name == GRAPH_OPERATIONS)
            set_graph(&thing->summary, count, values);
    } else if (thing && type == TYPE_DESCRIPTOR && row_of(thing->type)) {
        set_operation(thing, name, values);
    } else if (thing && type == TYPE_DESCRIPTOR) {
        source = *place_of(*(const void *const *)values);
        if (source && source->summary.count > 0)
            thing->summary = source->summary;
    }
    recorder_unlock(RECORDER_LOCK_CUDNN);
}

/* What comes out of a thing that stands for a graph stands for it, too. */
static void give_attribute(const void *descriptor, int64_t count, const void *const *values)
{
    const struct thing *source;

    recorder_lock(RECORDER_LOCK_CUDNN);
    source = *place_of(descriptor);
    for (int64_t i = 0; source && source->summary.count > 0 && i < count; i++) {
        struct thing *thing = *place_of(values[i]);

        if (thing && thing->summary.count == 0)
            thing->summary = source->summary;
    }
    recorder_unlock(RECORDER_LOCK_CUDNN);
}

/* --- Ops --- */

static const struct {
    int32_t type;
    uint32_t dtype;
    int32_t bits;
    const char *name;
} types[] = {
    {0, OPTRACE_DTYPE_F32, 32, "f32"},         {1, OPTRACE_DTYPE_F64, 64, "f64"},
    {2, OPTRACE_DTYPE_F16, 16, "f16"},         {3, OPTRACE_DTYPE_I8, 8, "i8"},
    {4, OPTRACE_DTYPE_I32, 32, "i32"},         {6, OPTRACE_DTYPE_U8, 8, "u8"},
    {9, OPTRACE_DTYPE_BF16, 16, "bf16"},       {10, OPTRACE_DTYPE_I64, 64, "i64"},
    {12, OPTRACE_DTYPE_F8E4M3FN, 8, "f8e4m3"}, {13, OPTRACE_DTYPE_F8E5M2, 8, "f8e5m2"},
};

static size_t type_place(int32_t type)
{
    size_t i = 0;

    while (i < sizeof(types) / sizeof(types[0]) && types[i].type != type)
        i++;
    return i;
}

static uint32_t dtype_of(int32_t type)
{
    const size_t i = type_place(type);

    return i < sizeof(types) / sizeof(types[0]) ? types[i].dtype : OPTRACE_DTYPE_UNKNOWN;
}

/* Of one operation; what of several stays within the kernel is not known: -1. */
static int64_t traffic_of(const struct summary *plan)
{
    const struct row *row = row_of(plan->main);
    int64_t bytes = 0;

    for (int32_t i = 0; row && i < row->count; i++) {
        const size_t type = type_place(plan->tensors[i].type);
        const int64_t count = count_of(&plan->tensors[i]);

        if (plan->count != 1 || type == sizeof(types) / sizeof(types[0]) || count < 0 ||
            count > INT64_MAX / 64 ||
            __builtin_add_overflow(bytes, count * types[type].bits / 8, &bytes))
            return -1;
    }
    return row ? bytes : -1;
}

static const char *kind_name(int32_t kind, char room[16])
{
    const struct row *row = row_of(kind);

    if (row)
        return row->name;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].kind == kind)
            return others[i].name;
    }
    snprintf(room, 16, "kind %d", kind);
    return room;
}

static void put_name(const struct summary *plan, const struct row *row, char *out, size_t bytes)
{
    size_t used = (size_t)snprintf(out, bytes, "cudnn ");
    char room[16];

    for (int32_t i = 0; i < plan->count && i < KINDS_MAX; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? "+" : "",
                                 kind_name(plan->kinds[i], room));
    if (plan->count > KINDS_MAX)
        used += (size_t)snprintf(out + used, bytes - used, "+...");
    if (!row)
        return;
    for (int32_t i = 0; i < plan->tensors[row->count - 1].rank; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%c%lld", i ? 'x' : ' ',
                                 (long long)plan->tensors[row->count - 1].dims[i]);
}

static uint64_t define(const void *context)
{
    const struct summary *plan = context;
    const struct row *row = row_of(plan->main);
    struct optrace_op_info info = OPTRACE_OP_INFO(NULL, row ? row->type : "cudnn");
    struct optrace_tensor tensors[TENSORS];
    char name[400], params[64];
    uint32_t op = 0;

    for (int32_t i = 0; row && i < row->count; i++) {
        const struct tensor *tensor = &plan->tensors[i];

        tensors[i] = (struct optrace_tensor){row->tensors[i], tensor->dims, (uint32_t)tensor->rank,
                                             dtype_of(tensor->type)};
    }
    put_name(plan, row, name, sizeof(name));
    snprintf(params, sizeof(params), "{\"operations\":%d}", plan->count);
    info.name = name;
    info.params = params;
    info.device = "cuda"; /* its own time is that of the launch */
    if (row) {
        info.inputs = tensors;
        info.input_count = (uint32_t)row->count - 1;
        info.outputs = &tensors[row->count - 1];
        info.output_count = 1;
    }
    if (!__atomic_load_n(&cupti_is_recording, __ATOMIC_RELAXED) && plan->flop > 0) {
        info.computation_flop = plan->flop;
        info.memory_bytes = traffic_of(plan);
    }
    found_say(FOUND_CUDNN);
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

/* Plans that were not seen as they were made, or are too many to keep. */
static uint64_t define_others(const void *context)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("(further plans of cuDNN)", "cudnn");
    uint32_t op = 0;

    (void)context;
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

static struct optrace_span begin(const void *descriptor)
{
    struct summary plan = {.kind = KEY_PLAN};
    const struct thing *thing;
    uint32_t op = 0;

    recorder_lock(RECORDER_LOCK_CUDNN);
    thing = *place_of(descriptor);
    if (thing)
        plan = thing->summary;
    recorder_unlock(RECORDER_LOCK_CUDNN);
    if (plan.count > 0)
        op = (uint32_t)names_find(&plan, sizeof(plan), define, &plan);
    if (op == 0) {
        plan = (struct summary){.kind = KEY_PLAN};
        op = (uint32_t)names_find_always(&plan, sizeof(plan), define_others, NULL);
    }
    if (plan.flop > 0)
        cupti_work_now = (struct cupti_work){plan.flop, traffic_of(&plan)};
    return op ? op_begin(op) : (struct optrace_span){0, 0};
}

/* --- Calls --- */

#define FUNCTION(symbol) ((symbol##_type *)real_find(&symbol##_real, __builtin_return_address(0)))
#define REAL(symbol)                                                                               \
    OT_HOOK symbol##_type symbol;                                                                  \
    static struct real symbol##_real = {#symbol, (void (*)(void))symbol, {NULL}};

typedef int cudnnBackendCreateDescriptor_type(int, void **);
REAL(cudnnBackendCreateDescriptor)
int cudnnBackendCreateDescriptor(int type, void **descriptor)
{
    const int status = FUNCTION(cudnnBackendCreateDescriptor)(type, descriptor);

    if (status == 0 && descriptor && is_noted())
        note(*descriptor, type);
    return status;
}

typedef int cudnnBackendDestroyDescriptor_type(void *);
REAL(cudnnBackendDestroyDescriptor)
int cudnnBackendDestroyDescriptor(void *descriptor)
{
    if (descriptor && is_noted())
        forget(descriptor);
    return FUNCTION(cudnnBackendDestroyDescriptor)(descriptor);
}

typedef int cudnnBackendSetAttribute_type(void *, int, int, int64_t, const void *);
REAL(cudnnBackendSetAttribute)
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                             const void *values)
{
    const int status = FUNCTION(cudnnBackendSetAttribute)(descriptor, name, type, count, values);

    if (status == 0 && is_noted())
        set_attribute(descriptor, name, type, count, values);
    return status;
}

typedef int cudnnBackendGetAttribute_type(void *, int, int, int64_t, int64_t *, void *);
REAL(cudnnBackendGetAttribute)
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted, int64_t *count,
                             void *values)
{
    const int status =
        FUNCTION(cudnnBackendGetAttribute)(descriptor, name, type, wanted, count, values);

    if (status == 0 && type == TYPE_DESCRIPTOR && values && is_noted())
        give_attribute(descriptor, count && *count < wanted ? *count : wanted, values);
    return status;
}

typedef int cudnnBackendExecute_type(void *, void *, void *);
REAL(cudnnBackendExecute)
int cudnnBackendExecute(void *handle, void *plan, void *variants)
{
    cudnnBackendExecute_type *const real = FUNCTION(cudnnBackendExecute);
    struct optrace_span span;
    int status;

    if (cupti_work_nesting > 0 || !is_noted() || !recorder_is_on())
        return real(handle, plan, variants);
    cupti_work_nesting = 1;
    span = begin(plan);
    status = real(handle, plan, variants);
    cupti_work_now = (struct cupti_work){0, 0};
    if (span.id)
        op_end(span);
    cupti_work_nesting = 0;
    return status;
}
