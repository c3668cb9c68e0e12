/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cuDNN's graph interface that is used, by own declarations: no toolkit's header is
 * needed. The numbers are those of its version 9.
 */
#ifndef OPTRACE_KERNELS_CUDA_CUDNN_H
#define OPTRACE_KERNELS_CUDA_CUDNN_H

#include <stddef.h>
#include <stdint.h>

enum {
    DNN_NOT_SUPPORTED = 3000, /* of what its functions answer: to below 4000; 0 is success */
    DNN_NOT_SUPPORTED_END = 4000,
    DNN_F32 = 0, /* types of numbers */
    DNN_F16 = 2,
    DNN_BF16 = 9,
    DNN_CROSS_CORRELATION = 1, /* as ONNX has convolutions */
    DNN_ADD = 0,               /* functions of each element */
    DNN_RELU = 100,
    DNN_TANH = 101,
    DNN_SIGMOID = 102,
    DNN_MODE_FALLBACK = 2, /* heuristics */
    DNN_MODE_A = 3,
    DNN_NOTE_TENSOR_CORE = 0, /* what an engine says of its numbers */
    DNN_NOTE_ROUNDS_INPUTS = 1,
    DNN_NOTE_ROUNDS_SUMS = 2,
    DNN_NOTE_FFT = 3,
    DNN_NOTE_WINOGRAD_6 = 7,
    DNN_NOTE_WINOGRAD_13 = 8,
    DNN_NOTES_MAX = 32,
    DNN_KNOBS_MAX = 64,
};

/* Kinds of descriptors. */
enum dnn_kind {
    DNN_POINTWISE = 0,
    DNN_CONVOLUTION = 1,
    DNN_ENGINE = 2,
    DNN_CONFIGURATION = 3,
    DNN_HEURISTICS = 4,
    DNN_PLAN = 5,
    DNN_KNOB = 7, /* a number by which an engine is set */
    DNN_FORWARD = 10,
    DNN_BACKWARD_DATA = 12,
    DNN_APPLY = 13, /* a DNN_POINTWISE to tensors */
    DNN_GRAPH = 15,
    DNN_PACK = 16,
    DNN_TENSOR = 17,
};

/* Types of attributes. */
enum dnn_type {
    DNN_TYPE_HANDLE = 0,
    DNN_TYPE_DATA_TYPE = 1,
    DNN_TYPE_BOOL = 2,
    DNN_TYPE_INT64 = 3,
    DNN_TYPE_FLOAT = 4,
    DNN_TYPE_DOUBLE = 5,
    DNN_TYPE_POINTER = 6,
    DNN_TYPE_CONVOLUTION_MODE = 7,
    DNN_TYPE_HEURISTICS_MODE = 8,
    DNN_TYPE_KNOB = 9,
    DNN_TYPE_NOTE = 11,
    DNN_TYPE_POINTWISE_MODE = 14,
    DNN_TYPE_DESCRIPTOR = 15,
};

/* Attributes, by the kind that has them. */
enum dnn_attribute {
    DNN_POINTWISE_MODE = 0,
    DNN_POINTWISE_PRECISION = 1,
    DNN_POINTWISE_LOWER = 3, /* of DNN_RELU: what lies below is lower + slope * (x - lower) */
    DNN_POINTWISE_UPPER = 4,
    DNN_POINTWISE_SLOPE = 5,
    DNN_CONVOLUTION_PRECISION = 100,
    DNN_CONVOLUTION_MODE = 101,
    DNN_CONVOLUTION_DILATIONS = 102,
    DNN_CONVOLUTION_STRIDES = 103,
    DNN_CONVOLUTION_PADS_END = 104,
    DNN_CONVOLUTION_PADS_BEGIN = 105,
    DNN_CONVOLUTION_RANK = 106,
    DNN_HEURISTICS_MODE = 200,
    DNN_HEURISTICS_GRAPH = 201,
    DNN_HEURISTICS_RESULTS = 202,
    DNN_HEURISTICS_DEVICE = 204,
    DNN_CONFIGURATION_ENGINE = 300,
    DNN_CONFIGURATION_KNOBS = 302,
    DNN_PLAN_HANDLE = 400,
    DNN_PLAN_CONFIGURATION = 401,
    DNN_PLAN_WORKSPACE = 402,
    DNN_PLAN_DEVICE = 407,
    DNN_KNOB_TYPE = 600,
    DNN_KNOB_VALUE = 601,
    DNN_FORWARD_ALPHA = 700,
    DNN_FORWARD_BETA = 701,
    DNN_FORWARD_CONVOLUTION = 702,
    DNN_FORWARD_W = 703,
    DNN_FORWARD_X = 704,
    DNN_FORWARD_Y = 705,
    DNN_BACKWARD_ALPHA = 706,
    DNN_BACKWARD_BETA = 707,
    DNN_BACKWARD_CONVOLUTION = 708,
    DNN_BACKWARD_W = 709,
    DNN_BACKWARD_DX = 710,
    DNN_BACKWARD_DY = 711,
    DNN_APPLY_POINTWISE = 750,
    DNN_APPLY_X = 751,
    DNN_APPLY_B = 752,
    DNN_APPLY_Y = 753,
    DNN_GRAPH_HANDLE = 800,
    DNN_GRAPH_OPERATIONS = 801,
    DNN_TENSOR_ALIGNMENT = 900,
    DNN_TENSOR_DATA_TYPE = 901,
    DNN_TENSOR_DIMS = 902,
    DNN_TENSOR_STRIDES = 903,
    DNN_TENSOR_ID = 906,
    DNN_TENSOR_IS_VIRTUAL = 907, /* it is never in memory */
    DNN_PACK_IDS = 1000,
    DNN_PACK_POINTERS = 1001,
    DNN_PACK_WORKSPACE = 1003,
    DNN_ENGINE_NUMBER = 1301,
    DNN_ENGINE_NOTES = 1303,
};

/* Those that answer a status. */
#define DNN_FUNCTIONS(F)                                                                           \
    F(cudnnCreate, (void **out_handle))                                                            \
    F(cudnnDestroy, (void *handle))                                                                \
    F(cudnnSetStream, (void *handle, void *stream))                                                \
    F(cudnnBackendCreateDescriptor, (int kind, void **out_descriptor))                             \
    F(cudnnBackendDestroyDescriptor, (void *descriptor))                                           \
    F(cudnnBackendSetAttribute,                                                                    \
      (void *descriptor, int name, int type, int64_t count, const void *values))                   \
    F(cudnnBackendGetAttribute,                                                                    \
      (void *descriptor, int name, int type, int64_t wanted, int64_t *out_count, void *values))    \
    F(cudnnBackendFinalize, (void *descriptor))                                                    \
    F(cudnnBackendExecute, (void *handle, void *plan, void *pack))

/** The functions of libcudnn. */
struct dnn_library {
    void *library;
    size_t (*cudnnGetVersion)(void);
    const char *(*cudnnGetErrorString)(int status);
#define DNN_MEMBER(name, arguments) int(*name) arguments;
    DNN_FUNCTIONS(DNN_MEMBER)
#undef DNN_MEMBER
};

/**
 * Opened once for the process, and never closed.
 *
 * out_text  why not, on failure
 *
 * Returns NULL when it is not there, or lacks a function that is used. Any thread.
 */
const struct dnn_library *dnn_library_open(char *out_text, size_t bytes);

#endif
