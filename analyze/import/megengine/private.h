/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of reading a MegEngine profile: what operators and variables are, spans, our own
 * additions. */
#ifndef OPTRACE_ANALYZE_IMPORT_MEGENGINE_PRIVATE_H
#define OPTRACE_ANALYZE_IMPORT_MEGENGINE_PRIVATE_H

#include "analyze/containers/spool.h"
#include "analyze/containers/text_ids.h"
#include "analyze/import/megengine/megengine.h"
#include "analyze/import/values.h"

#define SPOOL_NONE UINT64_MAX

/* Values that a record of cost_spool has, and those of "extra" that one of op_spool has. */
enum { MEGENGINE_COSTS = 6, MEGENGINE_EXTRAS = 5 };

enum megengine_op_state {
    OP_UNKNOWN,        /* only named by others */
    OP_HAS_HOST_SPANS, /* and its entry has not come yet */
    OP_HAS_DEVICE_SPANS,
    OP_DEFINED
};

struct megengine_op {
    uint64_t record : 62; /* in op_spool once it is defined; else the offset of its first span */
    uint64_t state : 2;   /* enum megengine_op_state */
    uint64_t cost;        /* in cost_spool, or SPOOL_NONE */
};

struct megengine_variable {
    uint64_t record;   /* in variable_spool, or SPOOL_NONE: only named by others */
    uint32_t producer; /* place of its op, or PLACE_NONE */
    uint32_t chunk;    /* place, or PLACE_NONE */
    uint32_t dtype;    /* place, or PLACE_NONE */
    uint32_t owned;    /* the first chunk that was made for it, or PLACE_NONE */
};

struct megengine_chunk {
    int64_t size_bytes; /* or STORE_NULL */
    uint32_t next;      /* chunk of the same owner, or PLACE_NONE */
    bool is_defined, has_owner;
};

struct megengine_run {
    int64_t start_ns, end_ns; /* after the host's zero */
    bool is_warmup, has_spans;
};

/* "optrace": what our load_and_run adds. */
struct megengine_additions {
    bool is_there;
    char *tool, *path, *name, *producer; /* NULL: not said */
    int64_t zero_unix_ns;                /* of the host's times */
    int64_t device_offset_ns;            /* from device to host times */
    ARRAY_OF(struct megengine_run) runs;
    uint64_t silent_runs; /* whose spans were not written */
};

struct megengine {
    struct importer importer;
    struct json_stream *stream;
    bool is_lenient;
    struct text_ids op_ids, variable_ids, chunk_ids, dtype_ids;
    ARRAY_OF(struct megengine_op) ops; /* beside the ids */
    ARRAY_OF(struct megengine_variable) variables;
    ARRAY_OF(struct megengine_chunk) chunks;
    ARRAY_OF(uint32_t) sequence; /* ops in the order of execution */
    struct spool op_spool, variable_spool, cost_spool;
    ARRAY_OF(char) record;  /* that is being made */
    struct place_map lanes; /* side and name to place */
    struct megengine_additions additions;
    uint64_t bad_count;
};

int megengine_no_memory(struct diag *diag);

/**
 * An entry is not as it should be: "PATH: ENTRY TEXT, at byte OFFSET".
 *
 * Returns -EUCLEAN; with is_lenient 0 after having counted it, for the caller to leave it out.
 */
__attribute__((format(printf, 4, 5))) int megengine_bad(struct megengine *megengine,
                                                        uint64_t offset, struct diag *diag,
                                                        const char *format, ...);

/** The text of a value that can be an id: a string, or a bare number, which older writers used. */
bool megengine_is_id(struct json_slice value);

/** The op of an id, mentioned here for the first time perhaps. */
int megengine_op_place(struct megengine *megengine, struct json_slice id, uint32_t *out_op,
                       struct diag *diag);

/* --- graph.c --- */

/** Entries of graph_exec.operator, .var, .mem_chunk, .comp_seq and profiler.opr_footprint. */
int megengine_read_operator(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag);
int megengine_read_variable(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag);
int megengine_read_chunk(struct megengine *megengine, const struct json_item *item,
                         struct diag *diag);
int megengine_read_sequence(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag);
int megengine_read_op_cost(struct megengine *megengine, const struct json_item *item,
                           struct diag *diag);

/* --- rows.c --- */

/** Writes all ops, in the order of execution, then chunks and variables. */
int megengine_put_graph(struct megengine *megengine, struct diag *diag);

/* --- spans.c --- */

/** An entry of profiler.host or .device. */
int megengine_read_spans(struct megengine *megengine, const struct json_item *item, bool is_device,
                         struct diag *diag);

/** One execution of an op; times as in the document, kern_ns may be STORE_NULL. */
struct megengine_times {
    int64_t start_ns, kern_ns, end_ns;
};
/** The op has spans, so that it must be defined somewhere. */
void megengine_note_spans(struct megengine *megengine, uint32_t op, bool is_device,
                          uint64_t offset);
int megengine_add_span(struct megengine *megengine, uint32_t op, struct json_slice lane,
                       bool is_device, const struct megengine_times *times, struct diag *diag);

/** Puts host and device times beside each other, and the run around them. */
int megengine_place_spans(struct megengine *megengine, struct diag *diag);

/* --- additions.c --- */

/** A member of "optrace", or an element of one of its arrays. */
int megengine_read_addition(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag);

/** Where the profile says which it was; before its ops are put. */
int megengine_put_model(struct megengine *megengine, struct diag *diag);

/** Instead of megengine_place_spans() where the profile says when all was. */
int megengine_place_runs(struct megengine *megengine, struct diag *diag);
void megengine_drop_additions(struct megengine *megengine);

#endif
