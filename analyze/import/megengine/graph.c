/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a MegEngine profile, entry by entry: what rows need of it goes to the spool. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/megengine/private.h"
#include "base/dtype.h"

/* --- Records. --- */

static int record_bytes(struct megengine *megengine, const void *bytes, size_t size,
                        struct diag *diag)
{
    if (array_reserve(&megengine->record, megengine->record.count + size) < 0)
        return megengine_no_memory(diag);
    if (size)
        memcpy(megengine->record.items + megengine->record.count, bytes, size);
    megengine->record.count += size;
    return 0;
}

static int record_number(struct megengine *megengine, uint32_t number, struct diag *diag)
{
    return record_bytes(megengine, &number, sizeof(number), diag);
}

/* A value as it is spelled; of length 0: none. */
static int record_value(struct megengine *megengine, struct json_slice value, struct diag *diag)
{
    size_t quotes = value.kind == JSON_STRING;
    size_t length = value.kind == JSON_NONE ? 0 : value.length + 2 * quotes;
    int rc = record_number(megengine, (uint32_t)length, diag);

    return rc < 0 || !length ? rc : record_bytes(megengine, value.text - quotes, length, diag);
}

static int record_end(struct megengine *megengine, struct spool *spool, uint64_t *out_offset,
                      struct diag *diag)
{
    int rc = spool_add(spool, megengine->record.items, megengine->record.count, out_offset, diag);

    megengine->record.count = 0;
    return rc;
}

/* --- Variables and chunks by their ids. --- */

static int variable_place(struct megengine *megengine, struct json_slice id, uint32_t *out_place,
                          struct diag *diag)
{
    struct megengine_variable variable = {SPOOL_NONE, PLACE_NONE, PLACE_NONE, PLACE_NONE,
                                          PLACE_NONE};

    if (text_ids_place(&megengine->variable_ids, id.text, id.length, out_place) < 0 ||
        (*out_place == megengine->variables.count &&
         array_push(&megengine->variables, variable) < 0))
        return megengine_no_memory(diag);
    return 0;
}

static int chunk_place(struct megengine *megengine, struct json_slice id, uint32_t *out_place,
                       struct diag *diag)
{
    struct megengine_chunk chunk = {STORE_NULL, PLACE_NONE, false, false};

    if (text_ids_place(&megengine->chunk_ids, id.text, id.length, out_place) < 0 ||
        (*out_place == megengine->chunks.count && array_push(&megengine->chunks, chunk) < 0))
        return megengine_no_memory(diag);
    return 0;
}

/* --- Entries. --- */

struct field {
    const char *name;
    size_t length;
    struct json_slice *value;
};
#define FIELD(name, value)                                                                         \
    {                                                                                              \
        name, sizeof(name) - 1, &(value)                                                           \
    }
#define NO_FIELD                                                                                   \
    {                                                                                              \
        NULL, 0, NULL                                                                              \
    }

/* Fills the fields that an object has. -EUCLEAN with a sentence where it is malformed. */
static int read_fields(struct megengine *megengine, const struct json_item *item,
                       struct json_slice object, const struct field *fields, struct diag *diag)
{
    struct json_walk walk = json_walk_over(object);
    struct json_slice key, value;
    int rc;

    if (object.kind != JSON_OBJECT)
        return 0;
    while ((rc = json_walk_next(&walk, &key, &value)) == 1) {
        for (const struct field *field = fields; field->name; field++) {
            if (key.length == field->length && memcmp(key.text, field->name, key.length) == 0)
                *field->value = value;
        }
    }
    return rc == 0 ? 0
                   : json_stream_damage(megengine->stream,
                                        item->offset + (uint64_t)(walk.at - item->text),
                                        walk.problem, diag);
}

static struct json_slice id_of(const struct json_item *item)
{
    return (struct json_slice){item->key, strlen(item->key), JSON_STRING};
}

/* Returns 1 when an entry can be used; 0 where it is left out. */
static int check_entry(struct megengine *megengine, const struct json_item *item, bool is_there,
                       struct diag *diag)
{
    if (item->text[0] != '{')
        return megengine_bad(megengine, item->offset, diag, "%s.%.40s is not an object", item->path,
                             item->key);
    if (is_there)
        return megengine_bad(megengine, item->offset, diag, "%s has \"%.40s\" twice", item->path,
                             item->key);
    return 1;
}

/* The ids of the variables that an op reads or writes, as they are spelled. */
static int record_ids(struct megengine *megengine, struct json_slice list, struct diag *diag)
{
    struct json_walk walk = json_walk_over(list);
    size_t count_at = megengine->record.count;
    struct json_slice key, value;
    uint32_t count = list.kind == JSON_ARRAY ? 0 : PLACE_NONE;
    int rc = record_number(megengine, count, diag);

    while (rc == 0 && list.kind == JSON_ARRAY && json_walk_next(&walk, &key, &value) == 1) {
        rc = record_value(megengine, value, diag);
        count++;
    }
    if (rc == 0)
        memcpy(megengine->record.items + count_at, &count, sizeof(count));
    return rc;
}

/* What our own profiles add to an operator. */
static int record_extra(struct megengine *megengine, const struct json_item *item,
                        struct json_slice extra, struct diag *diag)
{
    struct json_slice values[MEGENGINE_EXTRAS] = {{0}};
    const struct field fields[] = {FIELD("origins", values[0]),         FIELD("node_id", values[1]),
                                   FIELD("device", values[2]),          FIELD("params", values[3]),
                                   FIELD("workspace_bytes", values[4]), NO_FIELD};
    int rc = read_fields(megengine, item, extra, fields, diag);

    for (size_t i = 0; i < MEGENGINE_EXTRAS && rc == 0; i++)
        rc = record_value(megengine, values[i], diag);
    return rc;
}

int megengine_read_operator(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag)
{
    struct json_slice name = {0}, type = {0}, inputs = {0}, outputs = {0}, extra = {0};
    const struct field fields[] = {
        FIELD("name", name),      FIELD("type", type),   FIELD("input", inputs),
        FIELD("output", outputs), FIELD("extra", extra), NO_FIELD,
    };
    uint64_t offset = 0;
    uint32_t op;
    int rc = megengine_op_place(megengine, id_of(item), &op, diag);

    if (rc == 0)
        rc = check_entry(megengine, item, megengine->ops.items[op].state == OP_DEFINED, diag);
    if (rc <= 0)
        return rc;
    rc = read_fields(megengine, item, json_value(item->text, item->length), fields, diag);
    if (rc == 0)
        rc = record_value(megengine, name, diag);
    if (rc == 0)
        rc = record_value(megengine, type, diag);
    if (rc == 0)
        rc = record_extra(megengine, item, extra, diag);
    if (rc == 0)
        rc = record_ids(megengine, inputs, diag);
    if (rc == 0)
        rc = record_ids(megengine, outputs, diag);
    if (rc == 0)
        rc = record_end(megengine, &megengine->op_spool, &offset, diag);
    if (rc == 0) {
        megengine->ops.items[op].record = offset;
        megengine->ops.items[op].state = OP_DEFINED;
    }
    return rc;
}

static int dtype_place(struct megengine *megengine, struct json_slice dtype, uint32_t *out_place,
                       struct diag *diag)
{
    *out_place = PLACE_NONE;
    if (dtype.kind == JSON_STRING &&
        text_ids_place(&megengine->dtype_ids, dtype.text, dtype.length, out_place) < 0)
        return megengine_no_memory(diag);
    return 0;
}

int megengine_read_variable(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag)
{
    struct json_slice name = {0}, plan = {0}, chunk = {0}, offset_bytes = {0}, layout = {0};
    struct json_slice dtype = {0}, shape = {0};
    const struct field fields[] = {FIELD("name", name), FIELD("mem_plan", plan), NO_FIELD};
    const struct field plan_fields[] = {FIELD("mem_chunk_id", chunk),
                                        FIELD("offset_byte", offset_bytes), FIELD("layout", layout),
                                        NO_FIELD};
    const struct field layout_fields[] = {FIELD("dtype", dtype), FIELD("shape", shape), NO_FIELD};
    uint32_t place, chunk_at = PLACE_NONE, dtype_at = PLACE_NONE;
    struct megengine_variable *variable;
    uint64_t offset = 0;
    int rc = variable_place(megengine, id_of(item), &place, diag);

    if (rc == 0)
        rc = check_entry(megengine, item, megengine->variables.items[place].record != SPOOL_NONE,
                         diag);
    if (rc <= 0)
        return rc;
    rc = read_fields(megengine, item, json_value(item->text, item->length), fields, diag);
    if (rc == 0)
        rc = read_fields(megengine, item, plan, plan_fields, diag);
    if (rc == 0)
        rc = read_fields(megengine, item, layout, layout_fields, diag);
    if (rc == 0 && megengine_is_id(chunk))
        rc = chunk_place(megengine, chunk, &chunk_at, diag);
    if (rc == 0)
        rc = dtype_place(megengine, dtype, &dtype_at, diag);
    if (rc == 0)
        rc = record_value(megengine, name, diag);
    if (rc == 0)
        rc = record_value(megengine, shape, diag);
    if (rc == 0)
        rc = record_value(megengine, offset_bytes, diag);
    if (rc == 0)
        rc = record_end(megengine, &megengine->variable_spool, &offset, diag);
    if (rc < 0)
        return rc;
    variable = &megengine->variables.items[place];
    variable->record = offset;
    variable->chunk = chunk_at;
    variable->dtype = dtype_at;
    return 0;
}

int megengine_read_chunk(struct megengine *megengine, const struct json_item *item,
                         struct diag *diag)
{
    struct json_slice size = {0}, owner = {0};
    const struct field fields[] = {FIELD("size", size), FIELD("owner_var", owner), NO_FIELD};
    struct megengine_chunk *chunk;
    uint32_t place, variable = PLACE_NONE;
    int rc = chunk_place(megengine, id_of(item), &place, diag);

    if (rc == 0)
        rc = check_entry(megengine, item, megengine->chunks.items[place].is_defined, diag);
    if (rc <= 0)
        return rc;
    rc = read_fields(megengine, item, json_value(item->text, item->length), fields, diag);
    if (rc == 0 && megengine_is_id(owner))
        rc = variable_place(megengine, owner, &variable, diag);
    if (rc < 0)
        return rc;
    chunk = &megengine->chunks.items[place];
    chunk->is_defined = true;
    chunk->size_bytes = import_count(size);
    if (variable != PLACE_NONE) {
        chunk->has_owner = true;
        chunk->next = megengine->variables.items[variable].owned;
        megengine->variables.items[variable].owned = place;
    }
    return 0;
}

int megengine_read_sequence(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag)
{
    struct json_slice id = json_value(item->text, item->length);
    uint32_t op;
    int rc = 0;

    if (megengine_is_id(id)) {
        rc = megengine_op_place(megengine, id, &op, diag);
        if (rc == 0 && array_push(&megengine->sequence, op) < 0)
            rc = megengine_no_memory(diag);
    }
    return rc;
}

int megengine_read_op_cost(struct megengine *megengine, const struct json_item *item,
                           struct diag *diag)
{
    struct json_slice values[MEGENGINE_COSTS] = {{0}};
    const struct field fields[] = {FIELD("in_shapes", values[0]),
                                   FIELD("out_shapes", values[1]),
                                   FIELD("param", values[2]),
                                   FIELD("in_layouts", values[3]),
                                   FIELD("computation", values[4]),
                                   FIELD("memory", values[5]),
                                   NO_FIELD};
    uint64_t offset = 0;
    uint32_t op;
    int rc = megengine_op_place(megengine, id_of(item), &op, diag);

    if (rc == 0)
        rc = check_entry(megengine, item, megengine->ops.items[op].cost != SPOOL_NONE, diag);
    if (rc <= 0)
        return rc;
    rc = read_fields(megengine, item, json_value(item->text, item->length), fields, diag);
    for (size_t i = 0; i < MEGENGINE_COSTS && rc == 0; i++)
        rc = record_value(megengine, values[i], diag);
    if (rc == 0)
        rc = record_end(megengine, &megengine->cost_spool, &offset, diag);
    if (rc == 0)
        megengine->ops.items[op].cost = offset;
    return rc;
}
