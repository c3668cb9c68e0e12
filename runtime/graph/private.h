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

struct name_slot {
    struct value *value; /* or NULL: empty */
    uint32_t hash;       /* of its name */
};

/** Values by name: open addressing, linear probing; a removed entry leaves a tombstone. */
struct graph_private {
    struct name_slot *slots;
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

/** Note that the node reads the value as its input i, for which it has a place. */
int value_add_consumer(struct value *value, struct node *node, uint32_t i);

/** Take out the entry at this place; the last one takes it. */
void value_remove_consumer(struct value *value, uint32_t place);

#endif
