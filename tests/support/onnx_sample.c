/* SPDX-License-Identifier: Apache-2.0 */
/* A small sound ONNX model as a protobuf message. */
#include "tests/support/onnx_sample.h"

#include <stdlib.h>

static void init_node(struct onnx_sample *s, int i, char *op_type, char *name)
{
    Onnx__NodeProto *node = &s->nodes[i];

    onnx__node_proto__init(node);
    node->op_type = op_type;
    node->name = name;
    node->input = s->names[i];
    node->output = s->names[i] + 4;
    node->n_output = 1;
    node->attribute = s->attribute_list;
    s->node_list[i] = node;
}

static void init_nodes(struct onnx_sample *s)
{
    init_node(s, 0, "Add", "sum");
    s->names[0][0] = "x";
    s->names[0][1] = "w";
    s->names[0][4] = "s";
    s->nodes[0].n_input = 2;
    init_node(s, 1, "Relu", "act");
    s->names[1][0] = "s";
    s->names[1][4] = "y";
    s->nodes[1].n_input = 1;
    onnx__attribute_proto__init(&s->attribute);
    s->attribute.name = "note";
    s->attribute_list[0] = &s->attribute;
}

static void init_weight(struct onnx_sample *s)
{
    onnx__tensor_proto__init(&s->weight);
    s->weight.name = "w";
    s->weight.has_data_type = 1;
    s->weight.data_type = 1;
    s->weight.dims = s->weight_dims;
    s->weight.n_dims = 2;
    s->weight_dims[0] = 2;
    s->weight_dims[1] = 3;
    s->weight.float_data = s->weight_data;
    s->weight.n_float_data = 6;
    for (int i = 0; i < 6; i++)
        s->weight_data[i] = (float)i;
    s->weight.external_data = s->external_list;
    for (int i = 0; i < 3; i++) {
        onnx__string_string_entry_proto__init(&s->external[i]);
        s->external_list[i] = &s->external[i];
    }
    s->initialisers[0] = &s->weight;
}

/* Input and output share their type. */
static void init_ends(struct onnx_sample *s)
{
    onnx__type_proto__init(&s->type);
    onnx__type_proto__tensor__init(&s->tensor_type);
    onnx__tensor_shape_proto__init(&s->shape);
    s->type.tensor_type = &s->tensor_type;
    s->tensor_type.has_elem_type = 1;
    s->tensor_type.elem_type = 1;
    s->tensor_type.shape = &s->shape;
    s->shape.dim = s->dim_list;
    s->shape.n_dim = 2;
    for (int i = 0; i < ONNX_SAMPLE_ROOM; i++) {
        onnx__tensor_shape_proto__dimension__init(&s->dims[i]);
        s->dims[i].has_dim_value = 1;
        s->dims[i].dim_value = 2 + i;
        s->dim_list[i] = &s->dims[i];
    }
    s->dim_list[ONNX_SAMPLE_ROOM] = &s->dims[0];
    onnx__value_info_proto__init(&s->input);
    onnx__value_info_proto__init(&s->output);
    s->input.name = "x";
    s->output.name = "y";
    s->input.type = s->output.type = &s->type;
    s->inputs[0] = &s->input;
    s->outputs[0] = &s->output;
}

void onnx_sample_init(struct onnx_sample *s)
{
    *s = (struct onnx_sample){0};
    onnx__model_proto__init(&s->model);
    onnx__graph_proto__init(&s->graph);
    onnx__operator_set_id_proto__init(&s->opset);
    init_nodes(s);
    init_weight(s);
    init_ends(s);
    s->opset.has_version = 1;
    s->opset.version = 13;
    s->opsets[0] = &s->opset;
    s->model.has_ir_version = 1;
    s->model.ir_version = 8;
    s->model.producer_name = "test";
    s->model.opset_import = s->opsets;
    s->model.n_opset_import = 1;
    s->model.graph = &s->graph;
    s->graph.name = "main";
    s->graph.node = s->node_list;
    s->graph.n_node = ONNX_SAMPLE_NODES;
    s->graph.initializer = s->initialisers;
    s->graph.n_initializer = 1;
    s->graph.input = s->inputs;
    s->graph.n_input = 1;
    s->graph.output = s->outputs;
    s->graph.n_output = 1;
}

static void init_condition(struct onnx_control_sample *c)
{
    onnx__value_info_proto__init(&c->condition);
    onnx__type_proto__init(&c->type);
    onnx__type_proto__tensor__init(&c->tensor_type);
    onnx__tensor_shape_proto__init(&c->shape);
    c->condition.name = "c";
    c->condition.type = &c->type;
    c->type.tensor_type = &c->tensor_type;
    c->tensor_type.has_elem_type = 1;
    c->tensor_type.elem_type = 9;
    c->tensor_type.shape = &c->shape;
}

void onnx_control_sample_init(struct onnx_control_sample *c)
{
    struct onnx_sample *s = &c->outer;
    size_t size;

    onnx_sample_init(s);
    onnx_sample_init(&c->inner);
    c->inner.graph.n_input = c->inner.graph.n_initializer = 0; /* x and w are the outer one's */
    size = onnx__graph_proto__pack(&c->inner.graph, c->branch);
    s->attribute.name = "then_branch";
    s->attribute.has_type = s->attribute.has_g = 1;
    s->attribute.type = 5;
    s->attribute.g = (ProtobufCBinaryData){size, c->branch};
    c->other = s->attribute;
    c->other.name = "else_branch";
    s->attribute_list[1] = &c->other;
    s->node_list[0] = &s->nodes[1];
    s->graph.n_node = 1;
    s->nodes[1].op_type = "If";
    s->nodes[1].n_attribute = 2;
    s->names[1][0] = "c";
    init_condition(c);
    s->inputs[1] = &c->condition;
    s->graph.n_input = 2;
}

uint8_t *onnx_sample_pack(const struct onnx_sample *s, size_t *out_size)
{
    uint8_t *bytes = malloc(onnx__model_proto__get_packed_size(&s->model) + 1);

    if (bytes)
        *out_size = onnx__model_proto__pack(&s->model, bytes);
    return bytes;
}
