/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions in the words of cuDNN's graph interface: tensors, the convolution, what is added and
 * applied behind it, their graph; then engines that heuristics propose for it.
 */
#include "kernels/cuda/conv.h"

#include <stdio.h>

#include "kernels/cuda/library.h"

enum { RANK_MAX = KERNEL_SPATIAL + 2, OPERATIONS_MAX = 4 };

/* What a function answers, kept where it is the first that fails; that cuDNN does not do something is no
 * failure. */
static bool is_well(struct conv_library *library, int status, const char *function)
{
    bool is_refusal = status >= DNN_NOT_SUPPORTED && status < DNN_NOT_SUPPORTED_END;

    if (status != 0 && !is_refusal && library->problem[0] == '\0')
        snprintf(library->problem, sizeof(library->problem), "%s answers %s", function,
                 library->functions->cudnnGetErrorString(status));
    return status == 0;
}

void conv_descriptor_forget(struct conv_library *library, void *descriptor)
{
    if (descriptor)
        (void)library->functions->cudnnBackendDestroyDescriptor(descriptor);
}

static void *create(struct conv_library *library, enum dnn_kind kind)
{
    void *descriptor = NULL;

    if (is_well(library, library->functions->cudnnBackendCreateDescriptor((int)kind, &descriptor),
                "cudnnBackendCreateDescriptor()"))
        return descriptor;
    return NULL;
}

static bool set(struct conv_library *library, void *descriptor, enum dnn_attribute name,
                enum dnn_type type, int64_t count, const void *values)
{
    return is_well(library,
                   library->functions->cudnnBackendSetAttribute(descriptor, (int)name, (int)type,
                                                                count, values),
                   "cudnnBackendSetAttribute()");
}

static bool finalize(struct conv_library *library, void *descriptor)
{
    return is_well(library, library->functions->cudnnBackendFinalize(descriptor),
                   "cudnnBackendFinalize()");
}

/* --- Building --- */

/* After the first failure nothing is done any more. */
struct builder {
    struct conv_library *library;
    const struct conv_shape *shape;
    struct conv_graph *graph;
    int rank; /* spatial axes, as cuDNN sees them */
    bool is_well;
    void *operations[OPERATIONS_MAX];
    int operation_count;
    int64_t next_id; /* of tensors between operations */
};

static void *add(struct builder *b, enum dnn_kind kind)
{
    void *descriptor = b->is_well ? create(b->library, kind) : NULL;

    b->is_well = descriptor != NULL;
    if (descriptor)
        b->graph->descriptors[b->graph->count++] = descriptor;
    return descriptor;
}

static void tell(struct builder *b, void *descriptor, enum dnn_attribute name, enum dnn_type type,
                 int64_t count, const void *values)
{
    b->is_well = b->is_well && set(b->library, descriptor, name, type, count, values);
}

static void tell_number(struct builder *b, void *descriptor, enum dnn_attribute name,
                        enum dnn_type type, int number)
{
    tell(b, descriptor, name, type, 1, &number);
}

static void tell_float(struct builder *b, void *descriptor, enum dnn_attribute name, float number)
{
    tell(b, descriptor, name, DNN_TYPE_FLOAT, 1, &number);
}

static void tell_other(struct builder *b, void *descriptor, enum dnn_attribute name, void *other)
{
    tell(b, descriptor, name, DNN_TYPE_DESCRIPTOR, 1, (void *)&other);
}

static void end(struct builder *b, void *descriptor)
{
    b->is_well = b->is_well && finalize(b->library, descriptor);
}

/* Images of one row stand for such without. */
static int spatial_rank(const struct conv_shape *s)
{
    const bool has_depth = s->in[0] != 1 || s->out[0] != 1 || s->kernel[0] != 1 ||
                           s->pad_begin[0] != 0 || s->pad_end[0] != 0;

    return has_depth ? 3 : 2;
}

static int type_of(int32_t dtype)
{
    return dtype == KERNEL_F16 ? DNN_F16 : dtype == KERNEL_BF16 ? DNN_BF16 : DNN_F32;
}

/* What a tensor is, and where: alignment 0: it lies between operations, in float32. */
struct place {
    int64_t id;
    uint32_t alignment;
    int32_t dtype;
    bool is_channels_last;
};

static void set_strides(const int64_t *dims, int rank, bool is_channels_last, int64_t *out_strides)
{
    int64_t stride = is_channels_last ? dims[1] : 1;

    for (int i = rank - 1; i > 1; i--) {
        out_strides[i] = stride;
        stride *= dims[i];
    }
    out_strides[1] = is_channels_last ? 1 : stride;
    out_strides[0] = is_channels_last ? stride : stride * dims[1];
}

static void *add_tensor(struct builder *b, const struct place *place, int64_t outer,
                        int64_t channels, const int64_t *spatial)
{
    int64_t dims[RANK_MAX] = {outer, channels}, strides[RANK_MAX], bytes = place->alignment;
    int rank = b->rank + 2;
    const bool is_virtual = place->alignment == 0;
    void *tensor = add(b, DNN_TENSOR);

    for (int i = 0; i < b->rank; i++)
        dims[2 + i] = spatial ? spatial[KERNEL_SPATIAL - b->rank + i] : 1;
    set_strides(dims, rank, place->is_channels_last, strides);
    if (is_virtual)
        bytes = sizeof(float);
    tell_number(b, tensor, DNN_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE,
                is_virtual ? DNN_F32 : type_of(place->dtype));
    tell(b, tensor, DNN_TENSOR_DIMS, DNN_TYPE_INT64, rank, dims);
    tell(b, tensor, DNN_TENSOR_STRIDES, DNN_TYPE_INT64, rank, strides);
    tell(b, tensor, DNN_TENSOR_ID, DNN_TYPE_INT64, 1, &place->id);
    tell(b, tensor, DNN_TENSOR_ALIGNMENT, DNN_TYPE_INT64, 1, &bytes);
    tell(b, tensor, DNN_TENSOR_IS_VIRTUAL, DNN_TYPE_BOOL, 1, &is_virtual);
    end(b, tensor);
    return tensor;
}

/* What is computed, of whole size: y, what is added to it, or what comes in between. */
static void *add_result(struct builder *b, int64_t id, uint32_t alignment, int32_t dtype)
{
    const struct conv_shape *s = b->shape;
    const struct place place = {id, alignment, dtype, s->channels_last != 0};

    return s->is_transposed ? add_tensor(b, &place, s->batch, s->channels, s->in)
                            : add_tensor(b, &place, s->batch, s->filters, s->out);
}

static void *add_window(struct builder *b)
{
    const struct conv_shape *s = b->shape;
    const int first = KERNEL_SPATIAL - b->rank;
    const int64_t rank = b->rank;
    void *window = add(b, DNN_CONVOLUTION);

    tell_number(b, window, DNN_CONVOLUTION_PRECISION, DNN_TYPE_DATA_TYPE, DNN_F32);
    tell_number(b, window, DNN_CONVOLUTION_MODE, DNN_TYPE_CONVOLUTION_MODE, DNN_CROSS_CORRELATION);
    tell(b, window, DNN_CONVOLUTION_RANK, DNN_TYPE_INT64, 1, &rank);
    tell(b, window, DNN_CONVOLUTION_PADS_BEGIN, DNN_TYPE_INT64, rank, s->pad_begin + first);
    tell(b, window, DNN_CONVOLUTION_PADS_END, DNN_TYPE_INT64, rank, s->pad_end + first);
    tell(b, window, DNN_CONVOLUTION_STRIDES, DNN_TYPE_INT64, rank, s->stride + first);
    tell(b, window, DNN_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, rank, s->dilation + first);
    end(b, window);
    return window;
}

/* beta  what is in y counts so often */
static void add_convolution(struct builder *b, void *y, float beta)
{
    const struct conv_shape *s = b->shape;
    const bool is_back = s->is_transposed != 0;
    const struct place x_place = {CONV_X, s->x_alignment, s->dtype, s->channels_last != 0};
    const struct place w_place = {CONV_W, s->w_alignment, s->dtype, s->w_channels_last != 0};
    void *window = add_window(b);
    void *x = is_back ? add_tensor(b, &x_place, s->batch, s->filters, s->out)
                      : add_tensor(b, &x_place, s->batch, s->channels, s->in);
    void *w = add_tensor(b, &w_place, s->filters, s->channels / s->groups, s->kernel);
    void *operation = add(b, is_back ? DNN_BACKWARD_DATA : DNN_FORWARD);

    tell_float(b, operation, is_back ? DNN_BACKWARD_ALPHA : DNN_FORWARD_ALPHA, 1.0f);
    tell_float(b, operation, is_back ? DNN_BACKWARD_BETA : DNN_FORWARD_BETA, beta);
    tell_other(b, operation, is_back ? DNN_BACKWARD_CONVOLUTION : DNN_FORWARD_CONVOLUTION, window);
    tell_other(b, operation, is_back ? DNN_BACKWARD_W : DNN_FORWARD_W, w);
    tell_other(b, operation, is_back ? DNN_BACKWARD_DY : DNN_FORWARD_X, x);
    tell_other(b, operation, is_back ? DNN_BACKWARD_DX : DNN_FORWARD_Y, y);
    end(b, operation);
    b->operations[b->operation_count++] = operation;
}

static void *add_pointwise(struct builder *b, int mode)
{
    void *function = add(b, DNN_POINTWISE);

    tell_number(b, function, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, mode);
    tell_number(b, function, DNN_POINTWISE_PRECISION, DNN_TYPE_DATA_TYPE, DNN_F32);
    return function;
}

/* y = function(x, other); other may be NULL. */
static void add_apply(struct builder *b, void *function, void *x, void *other, void *y)
{
    void *operation;

    end(b, function);
    operation = add(b, DNN_APPLY);
    tell_other(b, operation, DNN_APPLY_POINTWISE, function);
    tell_other(b, operation, DNN_APPLY_X, x);
    if (other)
        tell_other(b, operation, DNN_APPLY_B, other);
    tell_other(b, operation, DNN_APPLY_Y, y);
    end(b, operation);
    b->operations[b->operation_count++] = operation;
}

static void *add_activation(struct builder *b)
{
    const struct conv_shape *s = b->shape;
    void *function;

    switch (s->activation) {
    case KERNEL_SIGMOID:
        return add_pointwise(b, DNN_SIGMOID);
    case KERNEL_TANH:
        return add_pointwise(b, DNN_TANH);
    default:
        function = add_pointwise(b, DNN_RELU);
    }
    if (s->activation == KERNEL_LEAKY_RELU)
        tell_float(b, function, DNN_POINTWISE_SLOPE, s->a);
    if (s->activation == KERNEL_CLIP) {
        tell_float(b, function, DNN_POINTWISE_LOWER, s->a);
        tell_float(b, function, DNN_POINTWISE_UPPER, s->b);
    }
    return function;
}

/* The tensor that the next operation makes: y, where `left` is how many are still to come. */
static void *next_result(struct builder *b, int left)
{
    return left == 0 ? add_result(b, CONV_Y, b->shape->y_alignment, b->shape->y_type)
                     : add_result(b, b->next_id++, 0, KERNEL_F32);
}

/* The order is that of cuDNN's own engines for this. */
static void add_operations(struct builder *b, bool has_end)
{
    const struct conv_shape *s = b->shape;
    const bool has_residual = has_end && s->residual == RESIDUAL_OTHER;
    const bool has_bias = has_end && s->bias_alignment > 0;
    const bool has_activation = has_end && s->activation != KERNEL_IDENTITY;
    int left = has_residual + has_bias + has_activation;
    void *now = next_result(b, left);

    add_convolution(b, now, s->residual == RESIDUAL_Y ? 1.0f : 0.0f);
    if (has_residual) {
        void *residual = add_result(b, CONV_RESIDUAL, s->residual_alignment, s->residual_type);
        void *sum = next_result(b, --left);

        add_apply(b, add_pointwise(b, DNN_ADD), now, residual, sum);
        now = sum;
    }
    if (has_bias) {
        const struct place place = {CONV_BIAS, s->bias_alignment, s->bias_type,
                                    s->channels_last != 0};
        void *bias = add_tensor(b, &place, 1, s->is_transposed ? s->channels : s->filters, NULL);
        void *sum = next_result(b, --left);

        add_apply(b, add_pointwise(b, DNN_ADD), now, bias, sum);
        now = sum;
    }
    if (has_activation)
        add_apply(b, add_activation(b), now, NULL, next_result(b, --left));
}

bool conv_has_end(const struct conv_shape *s)
{
    return s->residual == RESIDUAL_OTHER || s->bias_alignment > 0 ||
           s->activation != KERNEL_IDENTITY;
}

void conv_graph_make(struct conv_library *library, const struct conv_shape *shape, bool has_end,
                     struct conv_graph *out_graph)
{
    struct builder b = {.library = library,
                        .shape = shape,
                        .graph = out_graph,
                        .rank = spatial_rank(shape),
                        .is_well = true,
                        .next_id = CONV_BETWEEN};
    void *graph;

    *out_graph = (struct conv_graph){.count = 0};
    add_operations(&b, has_end);
    graph = add(&b, DNN_GRAPH);
    if (library->handle)
        tell(&b, graph, DNN_GRAPH_HANDLE, DNN_TYPE_HANDLE, 1, (void *)&library->handle);
    tell(&b, graph, DNN_GRAPH_OPERATIONS, DNN_TYPE_DESCRIPTOR, b.operation_count,
         (void *)b.operations);
    end(&b, graph);
    out_graph->graph = b.is_well ? graph : NULL;
}

void conv_graph_forget(struct conv_library *library, struct conv_graph *graph)
{
    while (graph->count > 0)
        conv_descriptor_forget(library, graph->descriptors[--graph->count]);
    graph->graph = NULL;
}

/* --- Engines --- */

enum conv_rounding conv_rounding_of(const struct conv_shape *shape, bool allows_tf32)
{
    if (shape->dtype != KERNEL_F32)
        return CONV_ROUNDS_ONLY_HALF;
    return allows_tf32 ? CONV_ROUNDS_TF32 : CONV_ROUNDS_NOTHING;
}

static bool get(struct conv_library *library, void *descriptor, enum dnn_attribute name,
                enum dnn_type type, int64_t wanted, int64_t *out_count, void *values)
{
    return is_well(library,
                   library->functions->cudnnBackendGetAttribute(descriptor, (int)name, (int)type,
                                                                wanted, out_count, values),
                   "cudnnBackendGetAttribute()");
}

/* cuDNN fills descriptors that it is given. */
static int fill_configurations(struct conv_library *library, void *heuristics, int wanted,
                               void **out_configurations)
{
    int64_t count = 0;
    int made = 0;

    while (made < wanted && (out_configurations[made] = create(library, DNN_CONFIGURATION)))
        made++;
    if (made < wanted || !get(library, heuristics, DNN_HEURISTICS_RESULTS, DNN_TYPE_DESCRIPTOR,
                              wanted, &count, (void *)out_configurations))
        count = 0;
    while (made > count)
        conv_descriptor_forget(library, out_configurations[--made]);
    return made;
}

int conv_graph_ask(struct conv_library *library, const struct conv_graph *graph, int mode,
                   int wanted, void **out_configurations)
{
    void *heuristics = create(library, DNN_HEURISTICS);
    int count = 0;

    if (heuristics &&
        set(library, heuristics, DNN_HEURISTICS_GRAPH, DNN_TYPE_DESCRIPTOR, 1,
            (const void *)&graph->graph) &&
        set(library, heuristics, DNN_HEURISTICS_MODE, DNN_TYPE_HEURISTICS_MODE, 1, &mode) &&
        (!library->device || set(library, heuristics, DNN_HEURISTICS_DEVICE, DNN_TYPE_DESCRIPTOR, 1,
                                 (void *)&library->device)) &&
        finalize(library, heuristics))
        count = fill_configurations(library, heuristics, wanted, out_configurations);
    conv_descriptor_forget(library, heuristics);
    return count;
}

/* Numbers as they are, and sums in float32: nothing rounds float32 but, where that is allowed, tensor
 * cores, which take half precision as it is. Transforms of large tiles and Fourier's make larger
 * errors than the contracts allow. */
static bool is_exact(const int *notes, int64_t count, enum conv_rounding allowed)
{
    for (int64_t i = 0; i < count; i++)
        if (notes[i] == DNN_NOTE_ROUNDS_SUMS || notes[i] == DNN_NOTE_FFT ||
            notes[i] == DNN_NOTE_WINOGRAD_6 || notes[i] == DNN_NOTE_WINOGRAD_13 ||
            (allowed == CONV_ROUNDS_NOTHING && notes[i] == DNN_NOTE_TENSOR_CORE) ||
            (allowed != CONV_ROUNDS_TF32 && notes[i] == DNN_NOTE_ROUNDS_INPUTS))
            return false;
    return true;
}

static bool look_at_engine(struct conv_library *library, struct conv_candidate *candidate,
                           enum conv_rounding allowed)
{
    int notes[DNN_NOTES_MAX];
    int64_t count = 0, one = 0;

    candidate->engine = create(library, DNN_ENGINE);
    return candidate->engine &&
           get(library, candidate->configuration, DNN_CONFIGURATION_ENGINE, DNN_TYPE_DESCRIPTOR, 1,
               &one, (void *)&candidate->engine) &&
           get(library, candidate->engine, DNN_ENGINE_NUMBER, DNN_TYPE_INT64, 1, &one,
               &candidate->engine_number) &&
           get(library, candidate->engine, DNN_ENGINE_NOTES, DNN_TYPE_NOTE, DNN_NOTES_MAX, &count,
               notes) &&
           count <= DNN_NOTES_MAX && is_exact(notes, count, allowed);
}

static bool add_knob(struct conv_library *library, void *knob, uint64_t *key)
{
    int64_t value = 0, one = 0;
    int type = 0;

    if (!get(library, knob, DNN_KNOB_TYPE, DNN_TYPE_KNOB, 1, &one, &type) ||
        !get(library, knob, DNN_KNOB_VALUE, DNN_TYPE_INT64, 1, &one, &value))
        return false;
    *key += cuda_key_of(cuda_key_of(CUDA_KEY_BEGIN, (uint64_t)type), (uint64_t)value);
    return true;
}

/* In whichever order they come. */
bool conv_candidate_key(struct conv_library *library, const struct conv_candidate *candidate,
                        uint64_t *out_key)
{
    void *knobs[DNN_KNOBS_MAX];
    int64_t count = 0, given = 0, made = 0;
    bool is_well = get(library, candidate->configuration, DNN_CONFIGURATION_KNOBS,
                       DNN_TYPE_DESCRIPTOR, 0, &count, NULL) &&
                   count <= DNN_KNOBS_MAX;

    *out_key = CUDA_KEY_BEGIN;
    while (is_well && made < count) {
        knobs[made] = create(library, DNN_KNOB);
        is_well = knobs[made] != NULL;
        made += is_well;
    }
    if (is_well && count > 0)
        is_well = get(library, candidate->configuration, DNN_CONFIGURATION_KNOBS,
                      DNN_TYPE_DESCRIPTOR, count, &given, (void *)knobs) &&
                  given == count;
    for (int64_t i = 0; is_well && i < count; i++)
        is_well = add_knob(library, knobs[i], out_key);
    while (made > 0)
        conv_descriptor_forget(library, knobs[--made]);
    return is_well;
}

static bool build(struct conv_library *library, struct conv_candidate *candidate)
{
    int64_t one = 0;

    candidate->execution = create(library, DNN_PLAN);
    return candidate->execution &&
           (!library->handle || set(library, candidate->execution, DNN_PLAN_HANDLE, DNN_TYPE_HANDLE,
                                    1, (void *)&library->handle)) &&
           set(library, candidate->execution, DNN_PLAN_CONFIGURATION, DNN_TYPE_DESCRIPTOR, 1,
               (void *)&candidate->configuration) &&
           (!library->device || set(library, candidate->execution, DNN_PLAN_DEVICE,
                                    DNN_TYPE_DESCRIPTOR, 1, (void *)&library->device)) &&
           finalize(library, candidate->execution) &&
           get(library, candidate->execution, DNN_PLAN_WORKSPACE, DNN_TYPE_INT64, 1, &one,
               &candidate->workspace_bytes) &&
           candidate->workspace_bytes >= 0;
}

bool conv_candidate_make(struct conv_library *library, void *configuration,
                         enum conv_rounding allowed, struct conv_candidate *out_candidate)
{
    struct conv_candidate candidate = {.configuration = configuration};

    if (look_at_engine(library, &candidate, allowed) && build(library, &candidate)) {
        *out_candidate = candidate;
        return true;
    }
    conv_candidate_forget(library, &candidate);
    return false;
}

void conv_candidate_forget(struct conv_library *library, struct conv_candidate *candidate)
{
    conv_descriptor_forget(library, candidate->execution);
    conv_descriptor_forget(library, candidate->engine);
    conv_descriptor_forget(library, candidate->configuration);
    *candidate = (struct conv_candidate){.configuration = NULL};
}

/* --- Memory --- */

void *conv_pack_make(struct conv_library *library, const struct conv_run *run, bool has_end,
                     void *workspace)
{
    int64_t ids[CONV_TENSORS_MAX] = {CONV_X, CONV_W, CONV_Y}, count = 3;
    const void *pointers[CONV_TENSORS_MAX] = {run->x, run->w, run->y};
    void *pack = create(library, DNN_PACK);

    if (has_end && run->bias) {
        ids[count] = CONV_BIAS;
        pointers[count++] = run->bias;
    }
    if (has_end && run->residual) {
        ids[count] = CONV_RESIDUAL;
        pointers[count++] = run->residual;
    }
    if (pack && set(library, pack, DNN_PACK_IDS, DNN_TYPE_INT64, count, ids) &&
        set(library, pack, DNN_PACK_POINTERS, DNN_TYPE_POINTER, count, (const void *)pointers) &&
        set(library, pack, DNN_PACK_WORKSPACE, DNN_TYPE_POINTER, 1, (void *)&workspace) &&
        finalize(library, pack))
        return pack;
    conv_descriptor_forget(library, pack);
    return NULL;
}
