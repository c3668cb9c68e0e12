/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of reading a Chrome trace: fields, lanes and ops, events. */
#ifndef OPTRACE_ANALYZE_IMPORT_CHROME_PRIVATE_H
#define OPTRACE_ANALYZE_IMPORT_CHROME_PRIVATE_H

#include "analyze/import_chrome.h"
#include "analyze/json_text.h"

/* --- import_chrome_fields.c --- */

/* The values of `args` that mean something here; JSON_NONE: absent. */
enum chrome_arg {
    ARG_CORRELATION,
    ARG_DEVICE,
    ARG_BYTES,
    ARG_DIMS,
    ARG_TYPES,
    ARG_STRIDES,
    ARG_CONCRETE,
    ARG_STACK,
    ARG_MODULE,
    ARG_GRID,
    ARG_BLOCK,
    ARG_REGISTERS,
    ARG_SHARED,
    ARG_COLLECTIVE,
    ARG_ELEMENT_TYPE,
    ARG_IN_ELEMENTS,
    ARG_OUT_ELEMENTS,
    ARG_GROUP_SIZE,
    ARG_ADDRESS,
    ARG_MEMORY_BYTES,
    ARG_DEVICE_TYPE,
    ARG_DEVICE_ID,
    ARG_NAME,
    CHROME_ARGS
};

struct chrome_event {
    struct json_slice name, category, phase, time, duration, process, thread, id, args;
    struct json_slice arg[CHROME_ARGS];
};

/** Returns 0 or -EUCLEAN with *out_problem and its place in the text. */
int chrome_read_event(struct json_slice text, struct chrome_event *out_event,
                      const char **out_problem, const char **out_place);

/* --- import_chrome_ops.c --- */

/* What the categories of the different writers mean. */
enum chrome_kind {
    KIND_OP,
    KIND_LABEL,
    KIND_RUNTIME,
    KIND_KERNEL,
    KIND_COPY,
    KIND_MEMSET,
    KIND_SYNC,
    KIND_DEVICE_LABEL,
    KIND_OTHER,
    KIND_MARK,
    KIND_COUNTER,
};

struct chrome_open {
    uint32_t op;
    int64_t start_ns;
};

struct chrome_lane {
    ARRAY_OF(struct chrome_open) open; /* B without E so far */
};

struct chrome {
    struct importer importer;
    struct json_stream *stream;
    struct place_map lanes;
    ARRAY_OF(struct chrome_lane) lane_states; /* beside importer.lanes */
    char *program, *gpu;
    int64_t pid;
    int64_t offset_ns;
    bool has_fractions; /* some time is not a whole number of microseconds */
    uint64_t event_count, clipped_count, bad_count, unknown_count, unmatched_count;
};

enum chrome_kind chrome_kind_of(const struct chrome_event *event);
static inline bool chrome_is_device(enum chrome_kind kind)
{
    return kind == KIND_KERNEL || kind == KIND_COPY || kind == KIND_MEMSET || kind == KIND_SYNC ||
           kind == KIND_DEVICE_LABEL;
}

/** The lane that an event names, made when it is new. */
int chrome_lane(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_lane,
                struct diag *diag);

/** The lane that stands for the memory of a device. */
int chrome_memory_lane(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_lane,
                       struct diag *diag);

/** The event is one of a device's: its lane becomes one of a device. */
int chrome_mark_device(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                       struct diag *diag);

/** The op of an event; `suffix`, which may be NULL, is added to its name. */
int chrome_op(struct chrome *chrome, const struct chrome_event *event, enum chrome_kind kind,
              uint32_t lane, const char *suffix, uint32_t *out_op, struct diag *diag);

/** True for a step of PyTorch's profiler, which is a run. */
bool chrome_is_step(const struct chrome_event *event);

#endif
