/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcudnn.so.9 over the emulated device, as far as the graph interface goes: convolutions there and
 * back, with sums and activations behind. It refuses what the real one refuses: attributes of another
 * type, descriptors that are not final, sizes that do not fit together, tensors between operations
 * that are in memory or not of float32, a workspace that is too small, is not there or is another stream's, memory of
 * less alignment than was said; and memory that is read behind a convolution and written by it.
 *
 * Engines: 0 needs no workspace; 1 leaves half of each sum there before it adds the rest; 2 needs a
 * little, does nothing behind a convolution, and no pads that differ; 3 says that it rounds to TF32, and
 * does; 4 is proposed, and never built; 5 says that it goes by Fourier's transform; 6 is 0 by tensor cores,
 * and says so. Kernels are called cudnn_0 and so on, on channels-last images cudnn_0_nhwc.
 *
 * Of half precision, as of float32, x, w and y have one type, sums and activations are computed in
 * float32, and so have a bias and a residual of the plan: others are proposed nothing, and engine 3 then
 * rounds nothing.
 *
 * Environment:
 *   CUDNN_DOUBLE_TILES     "3,7": a knob of each of them, in this order; 0. They come the other way round each
 *                          time that they are asked for
 *   CUDNN_DOUBLE_ENGINES   "1,0,2": which its heuristics propose, in this order; "4,3,5,1,0,2"
 *   CUDNN_DOUBLE_FALLBACK  likewise, of the mode that is asked last; "0"
 *   CUDNN_DOUBLE_FUSES     "none": a convolution is all that it computes
 * CUDA_DOUBLE_FAIL and CUDA_DOUBLE_KERNELS as for the device; what is not given back is counted there.
 */
#include "kernels/cuda/cudnn.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/cudnn/graph.h"
#include "tests/support/cuda/workspace.h"

enum {
    NOT_INITIALIZED = 1001,
    BAD_PARAM = 2000,
    NOT_FINALIZED = 2004,
    SHAPE_MISMATCH = 2008,
    ATTRIBUTE_TYPE = 2010,
    GRAPH_PATTERN = 3001,
    INTERNAL = 4000,
    EXECUTION_FAILED = 5000,
    MAGIC = 0x63756e39,
    SMALL_WORKSPACE = 1024,
    ENGINES = 7,
    TILE_KNOB = 2,
    STAGES_KNOB = 14,
    VALUES_MAX = 8,
    ATTRIBUTES_MAX = 10,
};

/* tests/support/cuda/emulated/libcuda.cc */
int cuDoubleBefore(const char *function);
void cuDoubleCount(const char *what, int change);
int cuDoubleIsDevice(const void *memory, size_t bytes);
int cuDoubleIsReadable(const void *memory);
int cuDoubleWork(void *stream, const char *name, void (*work)(const void *), const void *argument,
                 size_t bytes);

size_t cudnnGetVersion(void);
const char *cudnnGetErrorString(int status);
#define DECLARE(name, arguments) int name arguments;
DNN_FUNCTIONS(DECLARE)
#undef DECLARE

struct handle {
    int magic;
    void *stream;
};

union value {
    int64_t whole;
    int number;
    float real;
    bool flag;
    void *pointer;
};

struct attribute {
    int name, type;
    int64_t count;
    union value values[VALUES_MAX];
};

struct descriptor {
    int magic, kind, count, engine, tile, knob;
    bool is_final;
    struct attribute attributes[ATTRIBUTES_MAX];
    struct graph_problem problem; /* of a graph, and of all that stand for it */
};

static const struct {
    int kind, name, type, count; /* count 0: several */
} known[] = {
    {DNN_POINTWISE, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, 1},
    {DNN_POINTWISE, DNN_POINTWISE_PRECISION, DNN_TYPE_DATA_TYPE, 1},
    {DNN_POINTWISE, DNN_POINTWISE_LOWER, DNN_TYPE_FLOAT, 1},
    {DNN_POINTWISE, DNN_POINTWISE_UPPER, DNN_TYPE_FLOAT, 1},
    {DNN_POINTWISE, DNN_POINTWISE_SLOPE, DNN_TYPE_FLOAT, 1},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_PRECISION, DNN_TYPE_DATA_TYPE, 1},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_MODE, DNN_TYPE_CONVOLUTION_MODE, 1},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_RANK, DNN_TYPE_INT64, 1},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 0},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_STRIDES, DNN_TYPE_INT64, 0},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_PADS_BEGIN, DNN_TYPE_INT64, 0},
    {DNN_CONVOLUTION, DNN_CONVOLUTION_PADS_END, DNN_TYPE_INT64, 0},
    {DNN_HEURISTICS, DNN_HEURISTICS_MODE, DNN_TYPE_HEURISTICS_MODE, 1},
    {DNN_HEURISTICS, DNN_HEURISTICS_GRAPH, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_PLAN, DNN_PLAN_HANDLE, DNN_TYPE_HANDLE, 1},
    {DNN_PLAN, DNN_PLAN_CONFIGURATION, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_FORWARD, DNN_FORWARD_ALPHA, DNN_TYPE_FLOAT, 1},
    {DNN_FORWARD, DNN_FORWARD_BETA, DNN_TYPE_FLOAT, 1},
    {DNN_FORWARD, DNN_FORWARD_CONVOLUTION, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_FORWARD, DNN_FORWARD_W, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_FORWARD, DNN_FORWARD_X, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_FORWARD, DNN_FORWARD_Y, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_BACKWARD_DATA, DNN_BACKWARD_ALPHA, DNN_TYPE_FLOAT, 1},
    {DNN_BACKWARD_DATA, DNN_BACKWARD_BETA, DNN_TYPE_FLOAT, 1},
    {DNN_BACKWARD_DATA, DNN_BACKWARD_CONVOLUTION, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_BACKWARD_DATA, DNN_BACKWARD_W, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_BACKWARD_DATA, DNN_BACKWARD_DX, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_BACKWARD_DATA, DNN_BACKWARD_DY, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_APPLY, DNN_APPLY_POINTWISE, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_APPLY, DNN_APPLY_X, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_APPLY, DNN_APPLY_B, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_APPLY, DNN_APPLY_Y, DNN_TYPE_DESCRIPTOR, 1},
    {DNN_GRAPH, DNN_GRAPH_HANDLE, DNN_TYPE_HANDLE, 1},
    {DNN_GRAPH, DNN_GRAPH_OPERATIONS, DNN_TYPE_DESCRIPTOR, 0},
    {DNN_PACK, DNN_PACK_IDS, DNN_TYPE_INT64, 0},
    {DNN_PACK, DNN_PACK_POINTERS, DNN_TYPE_POINTER, 0},
    {DNN_PACK, DNN_PACK_WORKSPACE, DNN_TYPE_POINTER, 1},
    {DNN_TENSOR, DNN_TENSOR_ALIGNMENT, DNN_TYPE_INT64, 1},
    {DNN_TENSOR, DNN_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1},
    {DNN_TENSOR, DNN_TENSOR_DIMS, DNN_TYPE_INT64, 0},
    {DNN_TENSOR, DNN_TENSOR_STRIDES, DNN_TYPE_INT64, 0},
    {DNN_TENSOR, DNN_TENSOR_ID, DNN_TYPE_INT64, 1},
    {DNN_TENSOR, DNN_TENSOR_IS_VIRTUAL, DNN_TYPE_BOOL, 1},
};

size_t cudnnGetVersion(void)
{
    return 92801;
}

const char *cudnnGetErrorString(int status)
{
    switch (status) {
    case NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case BAD_PARAM:
    case NOT_FINALIZED:
    case SHAPE_MISMATCH:
    case ATTRIBUTE_TYPE:
        return "CUDNN_STATUS_BAD_PARAM";
    case 3005:
        return "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER";
    case EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
        return status >= 3000 && status < 4000 ? "CUDNN_STATUS_NOT_SUPPORTED"
                                               : "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

/* --- Handles and descriptors --- */

int cudnnCreate(void **out_handle)
{
    int status = cuDoubleBefore(__func__);
    struct handle *handle;

    if (status != 0)
        return status;
    handle = calloc(1, sizeof(*handle));
    handle->magic = MAGIC;
    *out_handle = handle;
    cuDoubleCount("cudnn handles", 1);
    return 0;
}

int cudnnDestroy(void *handle)
{
    free(handle);
    cuDoubleCount("cudnn handles", -1);
    return 0;
}

int cudnnSetStream(void *handle, void *stream)
{
    int status = cuDoubleBefore(__func__);

    if (status == 0)
        ((struct handle *)handle)->stream = stream;
    return status;
}

int cudnnBackendCreateDescriptor(int kind, void **out_descriptor)
{
    int status = cuDoubleBefore(__func__);
    struct descriptor *made;

    if (status != 0)
        return status;
    made = calloc(1, sizeof(*made));
    made->magic = MAGIC;
    made->kind = kind;
    *out_descriptor = made;
    cuDoubleCount("cudnn descriptors", 1);
    return 0;
}

int cudnnBackendDestroyDescriptor(void *descriptor)
{
    struct descriptor *gone = descriptor;

    if (gone->magic != MAGIC)
        return BAD_PARAM;
    gone->magic = 0;
    free(gone);
    cuDoubleCount("cudnn descriptors", -1);
    return 0;
}

static size_t bytes_of(int type)
{
    switch (type) {
    case DNN_TYPE_BOOL:
        return sizeof(bool);
    case DNN_TYPE_INT64:
        return sizeof(int64_t);
    case DNN_TYPE_HANDLE:
    case DNN_TYPE_POINTER:
    case DNN_TYPE_DESCRIPTOR:
        return sizeof(void *);
    default:
        return sizeof(int);
    }
}

/* Others that it is made of have to be final. */
static bool are_final(const struct attribute *attribute)
{
    for (int64_t i = 0; attribute->type == DNN_TYPE_DESCRIPTOR && i < attribute->count; i++) {
        const struct descriptor *other = attribute->values[i].pointer;

        if (other->magic != MAGIC || !other->is_final)
            return false;
    }
    return true;
}

int cudnnBackendSetAttribute(void *object, int name, int type, int64_t count, const void *values)
{
    struct descriptor *d = object;
    struct attribute attribute = {name, type, count, {{0}}};
    size_t i = 0;
    int status = cuDoubleBefore(__func__);

    if (status != 0)
        return status;
    while (i < sizeof(known) / sizeof(known[0]) &&
           (known[i].kind != d->kind || known[i].name != name))
        i++;
    if (d->magic != MAGIC || d->is_final || i == sizeof(known) / sizeof(known[0]) || count < 1 ||
        count > VALUES_MAX || (known[i].count == 1 && count != 1) || d->count == ATTRIBUTES_MAX)
        return BAD_PARAM;
    if (known[i].type != type)
        return ATTRIBUTE_TYPE;
    for (int64_t k = 0; k < count; k++)
        memcpy(&attribute.values[k], (const char *)values + (size_t)k * bytes_of(type),
               bytes_of(type));
    if (!are_final(&attribute))
        return NOT_FINALIZED;
    d->attributes[d->count++] = attribute;
    return 0;
}

static const struct attribute *find(const struct descriptor *d, int name)
{
    for (int i = 0; i < d->count; i++)
        if (d->attributes[i].name == name)
            return &d->attributes[i];
    return NULL;
}

static const struct descriptor *other_of(const struct descriptor *d, int name)
{
    const struct attribute *attribute = find(d, name);

    return attribute ? attribute->values[0].pointer : NULL;
}

static float real_of(const struct descriptor *d, int name, float otherwise)
{
    const struct attribute *attribute = find(d, name);

    return attribute ? attribute->values[0].real : otherwise;
}

/* --- Graphs --- */

static bool is_known_type(int type)
{
    return type == DNN_F32 || type == DNN_F16 || type == DNN_BF16;
}

static bool read_tensor(const struct descriptor *d, struct graph_tensor *out_tensor)
{
    const struct attribute *dims = d ? find(d, DNN_TENSOR_DIMS) : NULL;
    const struct attribute *strides = d ? find(d, DNN_TENSOR_STRIDES) : NULL;
    const struct attribute *id = d ? find(d, DNN_TENSOR_ID) : NULL;
    const struct attribute *type = d ? find(d, DNN_TENSOR_DATA_TYPE) : NULL;
    const struct attribute *alignment = d ? find(d, DNN_TENSOR_ALIGNMENT) : NULL;
    const struct attribute *is_virtual = d ? find(d, DNN_TENSOR_IS_VIRTUAL) : NULL;

    if (!dims || !strides || !id || !type || !alignment || !is_virtual || d->kind != DNN_TENSOR ||
        dims->count != strides->count || dims->count > GRAPH_RANK_MAX || dims->count < 4 ||
        !is_known_type(type->values[0].number) || id->values[0].whole == 0 ||
        (is_virtual->values[0].flag && type->values[0].number != DNN_F32) ||
        alignment->values[0].whole < (type->values[0].number == DNN_F32 ? 4 : 2))
        return false;
    *out_tensor = (struct graph_tensor){.id = id->values[0].whole,
                                        .rank = dims->count,
                                        .alignment = alignment->values[0].whole,
                                        .type = type->values[0].number,
                                        .is_virtual = is_virtual->values[0].flag};
    for (int64_t i = 0; i < dims->count; i++) {
        out_tensor->dims[i] = dims->values[i].whole;
        out_tensor->strides[i] = strides->values[i].whole;
        if (out_tensor->dims[i] < 1)
            return false;
    }
    return true;
}

static bool read_numbers(const struct descriptor *d, int name, int64_t rank, int64_t *out_numbers)
{
    const struct attribute *attribute = find(d, name);

    if (!attribute || attribute->count != rank)
        return false;
    for (int64_t i = 0; i < rank; i++)
        out_numbers[i] = attribute->values[i].whole;
    return true;
}

static bool read_convolution(const struct descriptor *d, struct graph_problem *p)
{
    const bool is_back = d->kind == DNN_BACKWARD_DATA;
    const struct descriptor *window =
        other_of(d, is_back ? DNN_BACKWARD_CONVOLUTION : DNN_FORWARD_CONVOLUTION);
    const struct attribute *rank = window ? find(window, DNN_CONVOLUTION_RANK) : NULL;
    const struct attribute *mode = window ? find(window, DNN_CONVOLUTION_MODE) : NULL;

    if ((d->kind != DNN_FORWARD && !is_back) || !rank || !mode ||
        mode->values[0].number != DNN_CROSS_CORRELATION)
        return false;
    p->is_back = is_back;
    p->alpha = real_of(d, is_back ? DNN_BACKWARD_ALPHA : DNN_FORWARD_ALPHA, 0.0f);
    p->beta = real_of(d, is_back ? DNN_BACKWARD_BETA : DNN_FORWARD_BETA, 1.0f);
    return read_tensor(other_of(d, is_back ? DNN_BACKWARD_DX : DNN_FORWARD_X), &p->x) &&
           read_tensor(other_of(d, is_back ? DNN_BACKWARD_W : DNN_FORWARD_W), &p->w) &&
           read_tensor(other_of(d, is_back ? DNN_BACKWARD_DY : DNN_FORWARD_Y), &p->y) &&
           p->x.rank == rank->values[0].whole + 2 &&
           read_numbers(window, DNN_CONVOLUTION_PADS_BEGIN, p->x.rank - 2, p->pad_begin) &&
           read_numbers(window, DNN_CONVOLUTION_PADS_END, p->x.rank - 2, p->pad_end) &&
           read_numbers(window, DNN_CONVOLUTION_STRIDES, p->x.rank - 2, p->stride) &&
           read_numbers(window, DNN_CONVOLUTION_DILATIONS, p->x.rank - 2, p->dilation);
}

static bool is_spread(const struct graph_tensor *tensor, const struct graph_tensor *to)
{
    for (int64_t i = 0; i < to->rank; i++)
        if (tensor->rank != to->rank || (tensor->dims[i] != 1 && tensor->dims[i] != to->dims[i]))
            return false;
    return true;
}

/* A step takes what the one before made, and that is nowhere in memory. */
static bool read_step(const struct descriptor *d, struct graph_problem *p)
{
    const struct descriptor *function = other_of(d, DNN_APPLY_POINTWISE);
    const struct attribute *mode = function ? find(function, DNN_POINTWISE_MODE) : NULL;
    struct graph_step *step = &p->steps[p->step_count];
    struct graph_tensor x, y;
    const bool is_sum = mode && mode->values[0].number == DNN_ADD;

    if (d->kind != DNN_APPLY || !mode || p->step_count == GRAPH_STEPS_MAX ||
        !read_tensor(other_of(d, DNN_APPLY_X), &x) || !read_tensor(other_of(d, DNN_APPLY_Y), &y) ||
        x.id != p->result.id || !x.is_virtual || !is_spread(&p->result, &y) ||
        is_sum != read_tensor(other_of(d, DNN_APPLY_B), &step->other) ||
        (is_sum && !is_spread(&step->other, &y)))
        return false;
    step->mode = mode->values[0].number;
    step->lower = real_of(function, DNN_POINTWISE_LOWER, 0.0f);
    step->upper = real_of(function, DNN_POINTWISE_UPPER, FLT_MAX);
    step->slope = real_of(function, DNN_POINTWISE_SLOPE, 0.0f);
    p->step_count++;
    p->result = y;
    return true;
}

static int read_graph(const struct descriptor *d, struct graph_problem *p)
{
    const struct attribute *operations = find(d, DNN_GRAPH_OPERATIONS);

    if (!operations || !read_convolution(operations->values[0].pointer, p))
        return BAD_PARAM;
    p->result = p->is_back ? p->x : p->y;
    for (int64_t i = 1; i < operations->count; i++)
        if (!read_step(operations->values[i].pointer, p))
            return BAD_PARAM;
    if (p->beta != 0.0f && operations->count > 1) /* what is nowhere cannot be added to */
        return BAD_PARAM;
    return p->result.is_virtual || !graph_fits(p) ? SHAPE_MISMATCH : 0;
}

/* --- Engines --- */

static int64_t workspace_of(int engine, const struct graph_problem *p)
{
    return engine == 1   ? graph_count(p) * (int64_t)sizeof(double)
           : engine == 2 ? SMALL_WORKSPACE
                         : 0;
}

static bool can(int engine, const struct graph_problem *p)
{
    for (int64_t i = 0; engine == 2 && i < p->x.rank - 2; i++)
        if (p->pad_begin[i] != p->pad_end[i])
            return false;
    return engine != 4 && (engine != 2 || p->step_count == 0);
}

/* All that is in memory. */
static bool has_one_type(const struct graph_problem *p)
{
    bool is_one = (p->is_back ? p->y : p->x).type == p->w.type && p->w.type == p->result.type;

    for (int i = 0; i < p->step_count; i++)
        is_one = is_one && (p->steps[i].other.id == 0 || p->steps[i].other.type == p->w.type);
    return is_one;
}

static int finalize_heuristics(struct descriptor *d)
{
    const struct descriptor *graph = other_of(d, DNN_HEURISTICS_GRAPH);
    const char *fuses = getenv("CUDNN_DOUBLE_FUSES");

    if (!graph || graph->kind != DNN_GRAPH || !find(d, DNN_HEURISTICS_MODE))
        return BAD_PARAM;
    if (fuses && strcmp(fuses, "none") == 0 && graph->problem.step_count > 0)
        return GRAPH_PATTERN;
    if (!has_one_type(&graph->problem))
        return DNN_NOT_SUPPORTED;
    d->problem = graph->problem;
    return 0;
}

static int finalize_plan(struct descriptor *d)
{
    const struct descriptor *configuration = other_of(d, DNN_PLAN_CONFIGURATION);

    if (!configuration || configuration->kind != DNN_CONFIGURATION || !find(d, DNN_PLAN_HANDLE))
        return BAD_PARAM;
    d->problem = configuration->problem;
    d->engine = configuration->engine;
    return can(d->engine, &d->problem) ? 0 : DNN_NOT_SUPPORTED;
}

int cudnnBackendFinalize(void *object)
{
    struct descriptor *d = object;
    int status = cuDoubleBefore(__func__);

    if (status != 0)
        return status;
    if (d->magic != MAGIC || d->is_final)
        return BAD_PARAM;
    status = d->kind == DNN_GRAPH        ? read_graph(d, &d->problem)
             : d->kind == DNN_HEURISTICS ? finalize_heuristics(d)
             : d->kind == DNN_PLAN       ? finalize_plan(d)
                                         : 0;
    d->is_final = status == 0;
    return status;
}

/* Of a list with commas. */
static int number_at(const char *list, int place)
{
    for (; list && place > 0; place--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    return list ? atoi(list) : 0;
}

/* An engine has two: its tile, and one that is always 4. */
static int give_knobs(const struct descriptor *d, int64_t wanted, int64_t *out_count, void **knobs)
{
    static int asked;
    const int first = asked++ % 2;

    *out_count = 2;
    for (int64_t i = 0; i < 2 && i < wanted; i++) {
        struct descriptor *knob = knobs[i];

        if (knob->kind != DNN_KNOB)
            return BAD_PARAM;
        knob->knob = (int)(i + first) % 2;
        knob->tile = knob->knob == 0 ? d->tile : 4;
        knob->is_final = true;
    }
    return 0;
}

static int propose(const struct descriptor *heuristics, int64_t wanted, int64_t *out_count,
                   void **configurations)
{
    const bool is_last =
        find(heuristics, DNN_HEURISTICS_MODE)->values[0].number == DNN_MODE_FALLBACK;
    const char *order = getenv(is_last ? "CUDNN_DOUBLE_FALLBACK" : "CUDNN_DOUBLE_ENGINES");

    const char *tiles = is_last ? NULL : getenv("CUDNN_DOUBLE_TILES");
    int places = 0;

    *out_count = 0;
    for (order = order     ? order
                 : is_last ? "0"
                           : "4,3,5,1,0,2";
         *order && *out_count < wanted; order++) {
        struct descriptor *configuration = configurations[*out_count];
        int engine = *order - '0', place = places;

        places += engine >= 0 && engine < ENGINES;
        if (engine < 0 || engine >= ENGINES)
            continue;
        if (configuration->kind != DNN_CONFIGURATION)
            return BAD_PARAM;
        configuration->problem = heuristics->problem;
        configuration->engine = engine;
        configuration->tile = tiles ? number_at(tiles, place) : 0;
        configuration->is_final = true;
        ++*out_count;
    }
    return 0;
}

static int give_notes(int engine, int64_t wanted, int64_t *out_count, int *notes)
{
    static const struct {
        int count, notes[2];
    } all[ENGINES] = {{0, {0}},
                      {0, {0}},
                      {0, {0}},
                      {2, {DNN_NOTE_TENSOR_CORE, DNN_NOTE_ROUNDS_INPUTS}},
                      {0, {0}},
                      {1, {DNN_NOTE_FFT}},
                      {1, {DNN_NOTE_TENSOR_CORE}}};

    *out_count = all[engine].count;
    for (int i = 0; i < all[engine].count && i < wanted; i++)
        notes[i] = all[engine].notes[i];
    return 0;
}

int cudnnBackendGetAttribute(void *object, int name, int type, int64_t wanted, int64_t *out_count,
                             void *values)
{
    const struct descriptor *d = object;
    struct descriptor *engine;
    int status = cuDoubleBefore(__func__);

    if (status != 0)
        return status;
    if (d->magic != MAGIC || !d->is_final || wanted < (name == DNN_CONFIGURATION_KNOBS ? 0 : 1))
        return NOT_FINALIZED;
    *out_count = 1;
    if (d->kind == DNN_CONFIGURATION && name == DNN_CONFIGURATION_KNOBS &&
        type == DNN_TYPE_DESCRIPTOR)
        return give_knobs(d, wanted, out_count, values);
    if (d->kind == DNN_KNOB && name == DNN_KNOB_TYPE && type == DNN_TYPE_KNOB) {
        *(int *)values = d->knob == 0 ? TILE_KNOB : STAGES_KNOB;
        return 0;
    }
    if (d->kind == DNN_HEURISTICS && name == DNN_HEURISTICS_RESULTS && type == DNN_TYPE_DESCRIPTOR)
        return propose(d, wanted, out_count, values);
    if (d->kind == DNN_CONFIGURATION && name == DNN_CONFIGURATION_ENGINE &&
        type == DNN_TYPE_DESCRIPTOR) {
        engine = *(struct descriptor **)values;
        engine->engine = d->engine;
        engine->is_final = true;
        return 0;
    }
    if (d->kind == DNN_ENGINE && name == DNN_ENGINE_NOTES && type == DNN_TYPE_NOTE)
        return give_notes(d->engine, wanted, out_count, values);
    if (type != DNN_TYPE_INT64)
        return ATTRIBUTE_TYPE;
    if (d->kind == DNN_ENGINE && name == DNN_ENGINE_NUMBER)
        *(int64_t *)values = d->engine;
    else if (d->kind == DNN_KNOB && name == DNN_KNOB_VALUE)
        *(int64_t *)values = d->tile;
    else if (d->kind == DNN_PLAN && name == DNN_PLAN_WORKSPACE)
        *(int64_t *)values = workspace_of(d->engine, &d->problem);
    else
        return BAD_PARAM;
    return 0;
}

/* --- Running --- */

/* NULL: it is not in the pack, or not as it was said. */
static void *place_of(const struct descriptor *pack, const struct graph_tensor *tensor)
{
    const struct attribute *ids = find(pack, DNN_PACK_IDS);
    const struct attribute *pointers = find(pack, DNN_PACK_POINTERS);

    if (!ids || !pointers || ids->count != pointers->count || tensor->is_virtual)
        return NULL;
    for (int64_t i = 0; i < ids->count; i++) {
        void *place = pointers->values[i].pointer;

        if (ids->values[i].whole == tensor->id)
            return (uintptr_t)place % (uintptr_t)tensor->alignment == 0 && cuDoubleIsReadable(place)
                       ? place
                       : NULL;
    }
    return NULL;
}

static bool fill_work(const struct descriptor *plan, const struct descriptor *pack,
                      struct graph_work *work)
{
    const struct graph_problem *p = &plan->problem;

    memset(work, 0, sizeof(*work));
    work->problem = *p;
    work->is_tf32 = plan->engine == 3 && p->w.type == DNN_F32;
    work->from = place_of(pack, p->is_back ? &p->y : &p->x);
    work->w = place_of(pack, &p->w);
    work->to = place_of(pack, &p->result);
    for (int i = 0; i < p->step_count; i++) {
        if (p->steps[i].other.id == 0)
            continue;
        work->others[i] = place_of(pack, &p->steps[i].other);
        if (!work->others[i] || work->others[i] == work->to)
            return false;
    }
    return work->from && work->w && work->to;
}

struct cleared {
    void *memory;
    size_t bytes;
};

static void spoil(const void *argument)
{
    const struct cleared *cleared = argument;

    memset(cleared->memory, 0xdd, cleared->bytes);
}

static int hand_over(struct graph_work *work, int engine, void *workspace, size_t bytes,
                     void *stream)
{
    static const char *const names[ENGINES] = {"cudnn_0", "cudnn_1", "cudnn_2", "cudnn_3",
                                               "cudnn_4", "cudnn_5", "cudnn_6"};
    static const char *const last_names[ENGINES] = {"cudnn_0_nhwc", "cudnn_1_nhwc", "cudnn_2_nhwc",
                                                    "cudnn_3_nhwc", "cudnn_4_nhwc", "cudnn_5_nhwc",
                                                    "cudnn_6_nhwc"};
    const struct graph_tensor *x = &work->problem.x;
    const char *name = x->dims[1] > 1 && x->strides[1] == 1 ? last_names[engine] : names[engine];
    const struct cleared cleared = {workspace, bytes};
    int error = 0;

    if (bytes > 0)
        error = cuDoubleWork(stream, "cudnn_spoil", spoil, &cleared, sizeof(cleared));
    if (engine == 1 && error == 0) {
        work->partial = workspace;
        error = cuDoubleWork(stream, name, graph_compute, work, sizeof(*work));
        work->is_second = true;
    }
    if (error == 0)
        error = cuDoubleWork(stream, name, graph_compute, work, sizeof(*work));
    return error == 0 ? 0 : EXECUTION_FAILED;
}

int cudnnBackendExecute(void *object, void *plan_object, void *pack_object)
{
    const struct handle *handle = object;
    const struct descriptor *plan = plan_object, *pack = pack_object;
    const struct attribute *workspace;
    size_t bytes;
    struct graph_work work;
    int status = cuDoubleBefore(__func__);

    if (status != 0)
        return status;
    if (handle->magic != MAGIC || plan->magic != MAGIC || pack->magic != MAGIC ||
        plan->kind != DNN_PLAN || pack->kind != DNN_PACK || !plan->is_final || !pack->is_final ||
        !fill_work(plan, pack, &work))
        return BAD_PARAM;
    workspace = find(pack, DNN_PACK_WORKSPACE);
    bytes = (size_t)workspace_of(plan->engine, &plan->problem);
    if (bytes > 0 && (!workspace || !cuDoubleIsDevice(workspace->values[0].pointer, bytes) ||
                      (uintptr_t)workspace->values[0].pointer % 16 != 0 ||
                      !workspace_is_own(workspace->values[0].pointer, handle->stream)))
        return BAD_PARAM;
    return hand_over(&work, plan->engine, workspace ? workspace->values[0].pointer : NULL, bytes,
                     handle->stream);
}
