/* SPDX-License-Identifier: Apache-2.0 */
/* A small sound ONNX model as a protobuf message, to be spoilt by tests and fed to fuzzers:
 * y = Relu(Add(x, w)), x and w float32 {2,3}. No cmocka. */
#ifndef OPTRACE_TESTS_SUPPORT_ONNX_SAMPLE_H
#define OPTRACE_TESTS_SUPPORT_ONNX_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/onnx/onnx.pb-c.h"

enum { ONNX_SAMPLE_NODES = 2, ONNX_SAMPLE_ROOM = 8 };

/** The messages of the model, all in one place. The pointers among them make it unfit for copying:
 *  fill it where it stays. Lists have room for ONNX_SAMPLE_ROOM entries. */
struct onnx_sample {
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset;
    Onnx__OperatorSetIdProto *opsets[ONNX_SAMPLE_ROOM];
    Onnx__NodeProto nodes[ONNX_SAMPLE_NODES];
    Onnx__NodeProto *node_list[ONNX_SAMPLE_ROOM];
    char *names[ONNX_SAMPLE_NODES][ONNX_SAMPLE_ROOM];
    Onnx__AttributeProto attribute;
    Onnx__AttributeProto *attribute_list[ONNX_SAMPLE_ROOM];
    Onnx__TensorProto weight;
    Onnx__TensorProto *initialisers[ONNX_SAMPLE_ROOM];
    Onnx__StringStringEntryProto external[3];
    Onnx__StringStringEntryProto *external_list[ONNX_SAMPLE_ROOM];
    int64_t weight_dims[ONNX_SAMPLE_ROOM + 2];
    float weight_data[6];
    Onnx__ValueInfoProto input, output;
    Onnx__ValueInfoProto *inputs[ONNX_SAMPLE_ROOM], *outputs[ONNX_SAMPLE_ROOM];
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor_type;
    Onnx__TensorShapeProto shape;
    Onnx__TensorShapeProto__Dimension dims[ONNX_SAMPLE_ROOM];
    Onnx__TensorShapeProto__Dimension *dim_list[ONNX_SAMPLE_ROOM + 2];
};

void onnx_sample_init(struct onnx_sample *sample);

/** y = If(c) of two branches that both are the sample's graph; c is an input, or none were left of
 *  the If. Like a sample unfit for copying. */
struct onnx_control_sample {
    struct onnx_sample outer, inner;
    Onnx__AttributeProto other;
    Onnx__ValueInfoProto condition;
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor_type;
    Onnx__TensorShapeProto shape;
    uint8_t branch[1000];
};

void onnx_control_sample_init(struct onnx_control_sample *sample);

/** The bytes of the model; the caller frees them. NULL without memory. */
uint8_t *onnx_sample_pack(const struct onnx_sample *sample, size_t *out_size);

#endif
