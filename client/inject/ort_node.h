/* SPDX-License-Identifier: Apache-2.0 */
/* An op of what ONNX Runtime tells of a node that has run. Inside client/inject only. Any thread. */
#ifndef OPTRACE_CLIENT_INJECT_ORT_NODE_H
#define OPTRACE_CLIENT_INJECT_ORT_NODE_H

#include <stdint.h>

/* Texts are those of its profiles; NULL: not told. */
struct ort_node {
    uint32_t model;
    const char *name, *type, *index, *provider;
    const char *inputs, *outputs; /* [{"float":[1,3,224,224]},{"float":[64,3,7,7]}] */
    const char *sizes[3];         /* bytes of activations, parameters and outputs */
};

/** Its op; 0 when it cannot be defined. */
uint32_t ort_node_op(const struct ort_node *node);

#endif
