/* SPDX-License-Identifier: Apache-2.0 */
/* Models of the small library in place of OpenVINO. */
#ifndef OPTRACE_TESTS_SUPPORT_FAKE_OPENVINO_H
#define OPTRACE_TESTS_SUPPORT_FAKE_OPENVINO_H

#include <stddef.h>

struct fake_node {
    const char *name;
    const char *shapes[3]; /* two inputs, NULL where there is none, and the output */
};

struct fake_model {
    const struct fake_node *nodes;
    size_t count;
    int is_refused; /* its C interface returns this */
};

/** What create_infer_request() is asked of; a CompiledModel begins with a pointer. */
void *fake_openvino_create(void *result, const struct fake_model *const *compiled) __asm__(
    "_ZN2ov13CompiledModel20create_infer_requestEv");

/** Nodes that nobody has dropped. */
extern __attribute__((visibility("default"))) int fake_openvino_nodes;

#endif
