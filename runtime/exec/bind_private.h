/* SPDX-License-Identifier: Apache-2.0 */
/* What bind.c, bind_form.c and bind_node.c share: the state while a graph is being bound. */
#ifndef OPTRACE_RUNTIME_EXEC_BIND_PRIVATE_H
#define OPTRACE_RUNTIME_EXEC_BIND_PRIVATE_H

#include "base/array.h"
#include "runtime/exec/bind.h"
#include "runtime/graph/layout.h"

/** A value in one layout. A value has several where its readers want different ones. */
struct form {
    struct layout layout;
    uint32_t buffer;
    uint32_t next; /* the value's next form, PLAN_NONE at the end */
};

struct binding {
    const struct graph *graph;
    struct graph *frees_packed; /* the same, where constants may be freed, or NULL */
    struct kernel_table kernels;
    const struct device_backend *backend; /* NULL: the CPU alone */
    struct kernel_table device_kernels;
    const uint8_t *formats; /* by node: enum format that was chosen, or NULL */
    struct diag *diag;
    uint32_t *value_forms; /* first form by value->index, PLAN_NONE until there is one */
    uint32_t *last_use;    /* by value->index: the last node (by index) that reads it; PLAN_NONE for
                              outputs, which the caller reads */
    ARRAY_OF(struct form) forms;
    ARRAY_OF(struct bound_step) steps;
    ARRAY_OF(struct plan_buffer) buffers;
    ARRAY_OF(void *) memory;         /* by buffer */
    ARRAY_OF(struct layout) layouts; /* by buffer: of what lies there */
    ARRAY_OF(struct bound_turned) turned;
};

int binding_no_memory(struct binding *binding);

struct tensor_view binding_view(const struct value *value);
size_t binding_bytes(const struct value *value);

/* bind_form.c */

/** A new buffer for something in this layout; `memory` where it is external. */
int binding_add_buffer(struct binding *binding, const struct plan_buffer *buffer,
                       const struct layout *layout, void *memory, uint32_t *out_buffer);

/** Let `value` have a further form. */
int binding_add_form(struct binding *binding, const struct value *value,
                     const struct layout *layout, uint32_t buffer);

/** A form with a new buffer for what a node makes. */
int binding_make_form(struct binding *binding, const struct value *value,
                      const struct layout *layout, uint32_t *out_buffer);

/** The form of `value` that has this layout, or NULL. Valid until the next form is added. */
const struct form *binding_find_form(const struct binding *binding, const struct value *value,
                                     const struct layout *layout);

/** The form that was made first. */
const struct form *binding_first_form(const struct binding *binding, const struct value *value);

/** The buffer of `value` in this layout; adds a Reorder step where there is none yet. `node` is who
 *  needs it. */
int binding_get_form(struct binding *binding, const struct node *node, const struct value *value,
                     const struct layout *layout, uint32_t *out_buffer);

/** A Reorder step that copies `value` into a buffer of its own, which no value's form is. */
int binding_copy_form(struct binding *binding, const struct node *node, const struct value *value,
                      const struct layout *layout, uint32_t *out_buffer);

/** Whether nobody reads this memory after `node`, so that a step of it may write over it. */
bool binding_ends_at(const struct binding *binding, const struct node *node, uint32_t buffer);

/** What a view shows in the end; the buffer itself when it is none. */
uint32_t binding_root(const struct binding *binding, uint32_t buffer);

/** Whether both are, or are views of, the same memory. */
bool binding_is_same(const struct binding *binding, uint32_t a, uint32_t b);

/* Takes step->call also after failure. */
int binding_add_step(struct binding *binding, struct bound_step *step);

/* bind_bytes.c */

/** Whether all that read a value are quantised convolutions that take it channels-last. */
bool binding_takes_last(const struct binding *binding, const struct value *value);

/** Layouts of a node between quantised images, by input and of output 0; those of others stay as they are. */
void binding_choose_bytes(const struct binding *binding, const struct node *node,
                          struct layout *inputs, struct layout *y);

/* bind_node.c */

int binding_bind_node(struct binding *binding, const struct node *node);

/** Free the constants of a step whose kernel reads its own copies, where that is wanted. */
void binding_free_packed(struct binding *binding, const struct bound_step *step);

#endif
