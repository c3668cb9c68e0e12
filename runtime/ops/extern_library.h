/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of operators (copr.h): loading them, and finding the operator of a node.
 *
 * Order: extern_library_open() before any model is loaded; then extern_op_find() by whoever infers
 * shapes or binds nodes, on any thread; extern_library_close() when no node of any model is used
 * any more.
 * The state is the process's: the interface hands none to what a library calls.
 */
#ifndef OPTRACE_RUNTIME_OPS_EXTERN_LIBRARY_H
#define OPTRACE_RUNTIME_OPS_EXTERN_LIBRARY_H

#include <stdbool.h>

#include "base/diag.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/copr.h"

/** The name of the function that registers, where nothing else is said. */
#define EXTERN_LIBRARY_INIT_INTERFACE "mgb_c_opr_init"

/**
 * Load a library and let it register its operators.
 *
 * out_extras  bits, 1 << k for each of extern_library_extras[k] that the library has
 *
 * Returns 0; -ENOENT when it cannot be loaded, -EINVAL when it has no such function or registers
 * nothing, -EPROTO when it asks for another version of the interface.
 */
int extern_library_open(const char *path, const char *interface, uint32_t *out_extras,
                        struct diag *diag);

/** Functions for memory of a device that a library may have. */
enum { EXTERN_LIBRARY_EXTRAS = 3 };
extern const char *const extern_library_extras[EXTERN_LIBRARY_EXTRAS];

/** Releases all descriptors, unloads. Without a library: nothing. */
void extern_library_close(void);

/** Whether the node is of the domain of such operators. */
bool extern_op_is(const struct node *node);

/**
 * The descriptor of a node, made on the first call; valid until extern_library_close().
 *
 * Returns 0; -ENOTSUP when no loader has the node's type; -EINVAL when the loader refuses its data
 * or makes an unfit descriptor. diag has what is wrong, without the node's name.
 */
int extern_op_find(const struct node *node, const struct copr_desc **out_desc, struct diag *diag);

/**
 * Shapes and dtypes of the outputs of a node with these inputs.
 *
 * inputs   one for each of the node's
 * outputs  room for desc->output_count
 *
 * Returns 0; -ENOTSUP for inputs that the interface cannot name; -EINVAL when the library gives no
 * shape or dtype; -ENOMEM. diag as in extern_op_find().
 */
int extern_op_infer(const struct copr_desc *desc, const struct tensor_view *inputs,
                    uint32_t input_count, struct copr_layout *outputs, struct diag *diag);

/** What the interface says of a tensor. Only what extern_op_infer() accepted. */
struct copr_layout extern_op_layout(const struct tensor_view *view);

enum dtype extern_op_dtype(uint32_t dtype);

#endif
