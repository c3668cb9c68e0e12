/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of reading a Chrome trace: fields, lanes and ops, spans, points, asynchronous spans. */
#ifndef OPTRACE_ANALYZE_IMPORT_CHROME_PRIVATE_H
#define OPTRACE_ANALYZE_IMPORT_CHROME_PRIVATE_H

#include "analyze/import/chrome/chrome.h"
#include "analyze/import/chrome/stacks.h"
#include "analyze/import/skipped.h"
#include "analyze/json/text.h"

/* --- fields.c --- */

/* The values of `args` that mean something here; JSON_NONE: absent. */
enum chrome_arg {
    ARG_CORRELATION,
    ARG_EXTERNAL,
    ARG_DEVICE,
    ARG_STREAM, /* the lane says it */
    ARG_BYTES,
    ARG_SYNC_KIND, /* the name says it */
    ARG_WAIT_RECORD,
    ARG_CALL_BYTES, /* of a call that copies */
    ARG_DIMS,       /* from here to ARG_HLO_MODULE: ops that differ in them are different ops */
    ARG_TYPES,
    ARG_STRIDES,
    ARG_CONCRETE,
    ARG_STACK,
    ARG_MODULE,
    ARG_GRID,
    ARG_BLOCK,
    ARG_REGISTERS,
    ARG_SHARED,
    ARG_BLOCKS_PER_SM,
    ARG_WARPS_PER_SM,
    ARG_OCCUPANCY,
    ARG_COLLECTIVE,
    ARG_ELEMENT_TYPE,
    ARG_IN_ELEMENTS,
    ARG_OUT_ELEMENTS,
    ARG_GROUP_SIZE,
    ARG_PROCESS_GROUP,
    ARG_WAIT_STREAM,
    ARG_PROCESS_GROUP_RANKS,
    ARG_HLO_OP,
    ARG_HLO_MODULE,
    ARG_STEP,
    ARG_SEQUENCE,
    ARG_FORWARD_THREAD,
    ARG_ADDRESS,
    ARG_MEMORY_BYTES,
    ARG_ALLOCATED,
    ARG_RESERVED,
    ARG_PLACE,
    ARG_DEVICE_TYPE,
    ARG_DEVICE_ID,
    ARG_NAME,
    /* our own: own.c */
    ARG_OWN_OP,
    ARG_OWNER,
    ARG_OUT_DIMS,
    ARG_OUT_TYPES,
    ARG_FLOP,
    ARG_OP_BYTES,
    ARG_NODE,
    ARG_OP_DEVICE,
    ARG_SOURCE,
    ARG_ORIGIN,
    ARG_PARAMS,
    ARG_RUN, /* the time says it */
    ARG_KERN,
    ARG_LANE,
    ARG_WARMUP,
    ARG_WITHOUT_OPS,
    ARG_LANE_PROCESS,
    ARG_LANE_THREAD,
    ARG_REASON,
    ARG_LOST,
    ARG_UNTIL,
    ARG_VALUE,
    ARG_LABELS, /* for viewers, as is the next */
    ARG_ORDER,
    CHROME_ARGS
};

struct chrome_event {
    struct json_slice name, category, phase, time, duration, process, thread, id, id2, scope, args;
    struct json_slice arg[CHROME_ARGS];
};

/** Counts in `skipped` what means nothing here. Returns 0 or -EUCLEAN with *out_problem and its
 *  place in the text. */
int chrome_read_event(struct json_slice text, struct chrome_event *out_event,
                      struct skipped *skipped, const char **out_problem, const char **out_place);

/* --- ops.c --- */

/* What the categories of the different writers mean. */
enum chrome_kind {
    KIND_OP,
    KIND_LABEL,
    KIND_COLLECTIVE,
    KIND_RUNTIME,
    KIND_KERNEL,
    KIND_COPY,
    KIND_MEMSET,
    KIND_SYNC,
    KIND_DEVICE_LABEL,
    KIND_PHASE,
    KIND_PYTHON,
    KIND_XLA,
    KIND_OTHER,
    KIND_MARK,
    KIND_COUNTER,
};

/* One end of a span that comes as two events, or a point of an asynchronous one. */
struct chrome_edge {
    int64_t time_ns;
    char phase;                           /* "B", "E", or one of an asynchronous span */
    uint32_t lane;                        /* of asynchronous ones that of their pool */
    uint32_t op;                          /* where it begins, or is a point */
    int64_t correlation, external, bytes; /* or STORE_NULL */
    struct place_key key;                 /* of asynchronous ones: their id */
};

struct chrome_lane {
    ARRAY_OF(struct chrome_edge) open; /* B without E so far */
    bool is_told;                      /* a trace of ours says what it is */
};

/* An id of asynchronous spans some of which are open. */
struct chrome_async {
    struct place_key key;
    uint32_t pool, lane;
    ARRAY_OF(struct chrome_edge) open;
};

/* The lanes of asynchronous spans of one category. */
struct chrome_pool {
    char *name;
    size_t lane_count;
    ARRAY_OF(uint32_t) idle;
};

struct chrome {
    struct importer importer;
    struct json_stream *stream;
    struct place_map lanes;
    ARRAY_OF(struct chrome_lane) lane_states; /* beside importer.lanes */
    ARRAY_OF(struct chrome_async) asyncs;
    ARRAY_OF(uint32_t) idle_asyncs; /* places of `asyncs` that may be used again */
    ARRAY_OF(struct chrome_pool) pools;
    struct place_map async_ids, pool_ids;
    struct row_sorter edges;
    struct chrome_stacks stacks;
    char *program, *gpu;
    int64_t pid;
    int64_t rank, rank_count; /* of a distributed run, or STORE_NULL */
    int64_t offset_ns;
    bool has_fractions; /* some start is not a whole number of microseconds */
    struct skipped skipped;
    uint64_t event_count, clipped_count, bad_count, unmatched_count, relation_count;
};

/* --- ops.c --- */

enum chrome_kind chrome_kind_of(const struct chrome_event *event);
static inline bool chrome_is_device(enum chrome_kind kind)
{
    return kind == KIND_KERNEL || kind == KIND_COPY || kind == KIND_MEMSET || kind == KIND_SYNC ||
           kind == KIND_DEVICE_LABEL;
}

/** True for a span or a mark of the profiler's own recording, which is no work of the program. */
bool chrome_is_of_profiler(const struct chrome_event *event);

/** The op of an event; `suffix`, which may be NULL, is added to its name. */
int chrome_op(struct chrome *chrome, const struct chrome_event *event, enum chrome_kind kind,
              uint32_t lane, const char *suffix, uint32_t *out_op, struct diag *diag);

/** True for a step of PyTorch's profiler, of Paddle's, or of JAX's and TensorFlow's, which have
 *  args.step_num: it is a run. */
bool chrome_is_step(const struct chrome_event *event);

/* --- lanes.c --- */

/** A new lane. */
int chrome_make_lane(struct chrome *chrome, const struct importer_lane *lane, uint32_t *out_lane,
                     struct diag *diag);

/** The length of a thread's number or name without the "(Python)" or "(C++)" by which Paddle parts
 * one thread in two. */
size_t chrome_thread_length(const char *text, size_t length);

/** The lane that an event names, made when it is new. */
int chrome_lane(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_lane,
                struct diag *diag);

/** The lane that stands for the memory of a device; `thread` for that of the host. */
int chrome_memory_lane(struct chrome *chrome, const struct chrome_event *event, uint32_t thread,
                       uint32_t *out_lane, struct diag *diag);

/** The event is one of a device's: its lane becomes one of a device. */
int chrome_mark_device(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                       struct diag *diag);

/* --- params.c --- */

/** The args that are kept in `params`, or NULL. The caller frees it. */
char *chrome_params_text(const struct chrome_event *event, bool has_stack);

/* --- pair.c --- */

static inline bool chrome_is_async(char phase)
{
    return phase != 'B' && phase != 'E';
}

/** Until all events are read, since ends may stand before their beginnings. */
int chrome_keep_edge(struct chrome *chrome, const struct chrome_edge *edge, struct diag *diag);

/** An edge as it was kept. The sorter has them by time, then in the order of the file. */
struct chrome_edge chrome_edge_of(const struct import_row *row);

/** A span that began and ends now, as deep as that; end_ns STORE_NULL: never. */
int chrome_close_span(struct chrome *chrome, uint32_t lane, const struct chrome_edge *begin,
                      size_t depth, int64_t end_ns, struct diag *diag);

/* --- edges.c --- */

/** Makes spans of what was kept. */
int chrome_pair_edges(struct chrome *chrome, struct diag *diag);

/* --- points.c --- */

/** Memory, marks, counters, flows. */
int chrome_add_instant(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                       int64_t time_ns, struct diag *diag);
int chrome_add_counters(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                        int64_t time_ns, struct diag *diag);
int chrome_add_flow(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                    int64_t time_ns, struct diag *diag);

/* --- gpu.c --- */

/** Keeps the size that a call names for what it launched. */
int chrome_note_size(struct chrome *chrome, const struct chrome_event *event, struct diag *diag);

/** A kernel with what a device counted in it: a counter for each of its args. */
bool chrome_is_profiler_range(const struct chrome_event *event);
int chrome_add_profiler_range(struct chrome *chrome, const struct chrome_event *event,
                              uint32_t lane, int64_t time_ns, struct diag *diag);

/* --- own.c --- */

/** An event with args["optrace op"]. */
static inline bool chrome_is_own(const struct chrome_event *event)
{
    return event->arg[ARG_OWN_OP].kind == JSON_STRING;
}
/** One that stands for no event of the store: category "optrace...". */
static inline bool chrome_is_extra(const struct chrome_event *event)
{
    return event->category.length > 8 && memcmp(event->category.text, "optrace.", 8) == 0;
}

/** Its op, as it was. */
int chrome_own_op(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_op,
                  struct diag *diag);
uint32_t chrome_find_own_op(const struct chrome *chrome, const struct chrome_event *event);

/** A thread_name with args.optrace. */
int chrome_own_lane(struct chrome *chrome, const struct chrome_event *event, const char *name,
                    struct diag *diag);

/** A run, a loss, or what follows from other events. */
int chrome_add_own(struct chrome *chrome, const struct chrome_event *event, int64_t time_ns,
                   struct diag *diag);

/* --- async.c --- */

/** `phase` is one of "bneSTpFND". */
int chrome_add_async(struct chrome *chrome, const struct chrome_event *event, char phase,
                     int64_t time_ns, struct diag *diag);

/** The edges that it kept, in the order of time. */
int chrome_take_async(struct chrome *chrome, const struct chrome_edge *edge, struct diag *diag);

/** What began and did not end before the trace did. */
int chrome_close_asyncs(struct chrome *chrome, struct diag *diag);
void chrome_drop_asyncs(struct chrome *chrome);

#endif
