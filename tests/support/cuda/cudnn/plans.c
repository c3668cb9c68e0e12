/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudnn_plans FILE [nhwc]: what NVIDIA's cuDNN proposes for convolutions like those of the tests, on the device
 * whose properties FILE has; no GPU is needed. A line for each: its name, whether what comes behind it is
 * a part of the graph, its numbers, and the engine with its workspace and whether its knobs can be read, or "none". Numbers: f32, tf32 (which
 * is allowed), f16 and bf16; f16_bias has a bias of float32, f16_wide a result of float32, too. With "nhwc"
 * behind FILE of channels-last images and weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/conv.h"

enum { PROPOSALS = 16, DEVICE = 38, DEVICE_JSON = 2702, TYPE_CHAR = 24 };

/* Sizes, 0 standing for those that a line leaves out: rank 2 but where a depth is given. */
static const struct row {
    const char *name;
    int64_t batch, channels, filters, groups, depth, size, kernel, stride, dilation, begin, end;
    int activation, has_bias, residual, is_transposed;
} rows[] = {
    {"plain", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_IDENTITY, 0, 0, 0},
    {"bias", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_IDENTITY, 1, 0, 0},
    {"relu", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_RELU, 0, 0, 0},
    {"bias_relu", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_RELU, 1, 0, 0},
    {"bias_relu_1x1", 8, 256, 64, 1, 0, 56, 1, 1, 1, 0, 0, KERNEL_RELU, 1, 0, 0},
    {"first", 1, 3, 64, 1, 0, 224, 7, 2, 1, 3, 3, KERNEL_RELU, 1, 0, 0},
    {"residual", 1, 64, 256, 1, 0, 56, 1, 1, 1, 0, 0, KERNEL_RELU, 1, RESIDUAL_OTHER, 0},
    {"in_place", 1, 64, 256, 1, 0, 56, 1, 1, 1, 0, 0, KERNEL_RELU, 1, RESIDUAL_Y, 0},
    {"clip", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_CLIP, 1, 0, 0},
    {"leaky", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_LEAKY_RELU, 1, 0, 0},
    {"sigmoid", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_SIGMOID, 1, 0, 0},
    {"tanh", 1, 64, 64, 1, 0, 56, 3, 1, 1, 1, 1, KERNEL_TANH, 1, 0, 0},
    {"dilated", 1, 64, 64, 1, 0, 56, 3, 1, 2, 2, 2, KERNEL_IDENTITY, 1, 0, 0},
    {"grouped", 1, 64, 64, 4, 0, 56, 3, 1, 1, 1, 1, KERNEL_RELU, 1, 0, 0},
    {"depthwise", 1, 64, 64, 64, 0, 56, 3, 1, 1, 1, 1, KERNEL_CLIP, 1, 0, 0},
    {"odd", 2, 5, 7, 1, 0, 9, 3, 2, 1, 1, 1, KERNEL_RELU, 1, 0, 0},
    {"asymmetric", 1, 64, 64, 1, 0, 56, 3, 2, 1, 0, 1, KERNEL_RELU, 1, 0, 0},
    {"cube", 1, 16, 32, 1, 8, 28, 3, 1, 1, 1, 1, KERNEL_RELU, 1, 0, 0},
    {"transposed", 1, 32, 64, 1, 0, 56, 2, 2, 1, 0, 0, KERNEL_IDENTITY, 1, 0, 1},
};

static const struct numbers {
    const char *name;
    int32_t dtype, bias_type, y_type;
    bool allows_tf32;
} all_numbers[] = {
    {"f32", KERNEL_F32, KERNEL_F32, KERNEL_F32, false},
    {"tf32", KERNEL_F32, KERNEL_F32, KERNEL_F32, true},
    {"f16", KERNEL_F16, KERNEL_F16, KERNEL_F16, false},
    {"bf16", KERNEL_BF16, KERNEL_BF16, KERNEL_BF16, false},
    {"f16_bias", KERNEL_F16, KERNEL_F32, KERNEL_F16, false},
    {"f16_wide", KERNEL_F16, KERNEL_F32, KERNEL_F32, false},
};

static bool is_channels_last;

static void fill(const struct row *row, const struct numbers *numbers, struct conv_shape *shape)
{
    memset(shape, 0, sizeof(*shape));
    shape->batch = row->batch;
    shape->channels = row->channels;
    shape->filters = row->filters;
    shape->groups = row->groups;
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        const int is_used = i > 0 || row->depth > 0;

        shape->in[i] = i > 0 ? row->size : is_used ? row->depth : 1;
        shape->kernel[i] = is_used ? row->kernel : 1;
        shape->stride[i] = is_used ? row->stride : 1;
        shape->dilation[i] = is_used ? row->dilation : 1;
        shape->pad_begin[i] = is_used ? row->begin : 0;
        shape->pad_end[i] = is_used ? row->end : 0;
        shape->out[i] = (shape->in[i] + shape->pad_begin[i] + shape->pad_end[i] -
                         shape->dilation[i] * (shape->kernel[i] - 1) - 1) /
                            shape->stride[i] +
                        1;
    }
    shape->x_alignment = shape->w_alignment = shape->y_alignment = 16;
    shape->bias_alignment = row->has_bias ? 16 : 0;
    shape->residual = row->residual;
    shape->residual_alignment = row->residual == RESIDUAL_OTHER ? 16 : 0;
    shape->activation = row->activation;
    shape->a = row->activation == KERNEL_LEAKY_RELU ? 0.125f : 0.0f;
    shape->b = 6.0f;
    shape->is_transposed = row->is_transposed;
    shape->dtype = shape->residual_type = numbers->dtype;
    shape->bias_type = numbers->bias_type;
    shape->y_type = numbers->y_type;
    shape->channels_last = shape->w_channels_last = is_channels_last;
}

static int first_of(struct conv_library *library, const struct conv_graph *graph, int mode,
                    enum conv_rounding allowed, struct conv_candidate *out_candidate)
{
    void *configurations[PROPOSALS];
    int count = conv_graph_ask(library, graph, mode, PROPOSALS, configurations), found = 0;

    for (int i = 0; i < count; i++) {
        if (found)
            conv_descriptor_forget(library, configurations[i]);
        else
            found = conv_candidate_make(library, configurations[i], allowed, out_candidate);
    }
    return found;
}

static void show(struct conv_library *library, const struct row *row, bool has_end,
                 const struct numbers *numbers)
{
    static const int modes[] = {DNN_MODE_A, DNN_MODE_FALLBACK};
    struct conv_candidate candidate = {.configuration = NULL};
    struct conv_shape shape;
    struct conv_graph graph;
    uint64_t key;
    int found = 0;

    fill(row, numbers, &shape);
    library->problem[0] = '\0';
    conv_graph_make(library, &shape, has_end, &graph);
    printf("%-14s %-8s %-9s ", row->name, has_end ? "with_end" : "alone", numbers->name);
    for (int i = 0; i < 2 && graph.graph && !found; i++)
        found = first_of(library, &graph, modes[i], conv_rounding_of(&shape, numbers->allows_tf32),
                         &candidate);
    if (found)
        printf("cudnn:%lld %lld %s", (long long)candidate.engine_number,
               (long long)candidate.workspace_bytes,
               conv_candidate_key(library, &candidate, &key) ? "key" : "no key");
    else
        printf("%s", graph.graph ? "none" : "no graph");
    printf("%s%s\n", library->problem[0] ? "  " : "", library->problem);
    conv_candidate_forget(library, &candidate);
    conv_graph_forget(library, &graph);
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);

    if (!file || !text || fread(text, 1, (1 << 16) - 1, file) == 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    struct conv_library library = {.handle = NULL};
    char *properties = argc >= 2 ? read_all(argv[1]) : NULL;
    int status;

    is_channels_last = argc > 2;
    library.functions = dnn_library_open(library.problem, sizeof(library.problem));
    if (!properties || !library.functions) {
        fprintf(stderr, "%s\n", properties ? library.problem : "usage: cudnn_plans FILE [nhwc]");
        return 1;
    }
    status = library.functions->cudnnBackendCreateDescriptor(DEVICE, &library.device);
    if (status == 0)
        status = library.functions->cudnnBackendSetAttribute(
            library.device, DEVICE_JSON, TYPE_CHAR, (int64_t)strlen(properties) + 1, properties);
    if (status == 0)
        status = library.functions->cudnnBackendFinalize(library.device);
    if (status != 0) {
        fprintf(stderr, "the device: %s\n", library.functions->cudnnGetErrorString(status));
        return 1;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t k = 0; k < 2 * sizeof(all_numbers) / sizeof(all_numbers[0]); k++)
            show(&library, &rows[i], k % 2 != 0, &all_numbers[k / 2]);
    (void)library.functions->cudnnBackendDestroyDescriptor(library.device);
    free(properties);
    return 0;
}
