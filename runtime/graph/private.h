/* SPDX-License-Identifier: Apache-2.0 */
/* What graph.c, destroy.c, edit.c and attribute.c share; nobody else includes it. */
#ifndef OPTRACE_RUNTIME_GRAPH_PRIVATE_H
#define OPTRACE_RUNTIME_GRAPH_PRIVATE_H

#include "base/array.h"
#include "runtime/graph/graph.h"

/** A part of a file. */
struct graph_map {
    void *address;
    size_t bytes;
};

/** Values by name: open addressing, linear probing; a removed entry leaves a tombstone. */
struct graph_private {
    struct value **slots;
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t used_count; /* values and tombstones */
    uint32_t next_value_id;
    uint32_t next_node_id;
    uint32_t value_room;
    uint32_t node_room;
    ARRAY_OF(struct graph_map) maps;
};

void attribute_clear(struct attribute *attribute);

/** Frees everything the node owns, and the node. Its edges must be gone. */
void node_free(struct node *node);
void value_free(struct value *value);

/** Forget the name of a value that is about to be freed. */
void graph_forget_name(struct graph *graph, const struct value *value);

int value_add_consumer(struct value *value, struct node *node);
void value_remove_consumer(struct value *value, const struct node *node);

#endif
