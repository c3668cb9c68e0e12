/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's key_averages: spans of one name together, with their own and their total time on the
 * host and on the device, and what they took and gave back of memory. Pure.
 *
 * Rules, which are PyTorch's:
 * - A row is what ran on a host lane (ops, labels, calls of a runtime) or on a device lane.
 * Python's functions, phases and marks are none; nor are labels on a lane that holds nothing else
 * and is no thread or stream with a number, which frame a trace.
 * - The parent of a row is the innermost other row of its lane that encloses it and ends after its
 *   start. An only child of its parent's name is one with it.
 * - Python's functions take from the row directly around them, time and memory, and give it to
 *   nobody: what a label's lines of Python take is not the label's own.
 * - Own host time is the duration without that of the children, also where these overlap and take
 *   longer than it: such rows are counted in `negative_count`.
 * - What runs on a device belongs to the innermost op that its launch is in, also when a label
 *   lies between, and not to the call of the runtime that launched it; without an op, to the label
 *   or the call. Durations are summed even where they overlap.
 * - Memory belongs to the innermost span of the op that the event names, at its time.
 */
#ifndef OPTRACE_ANALYZE_METRICS_AVERAGES_H
#define OPTRACE_ANALYZE_METRICS_AVERAGES_H

#include "analyze/query/recording_overhead.h"
#include "analyze/query/spans.h"

/* Lines have the same name; and what is asked for here. By module, lines are modules: self values
 * are those of the rows in it and in no module inside, totals those of all rows in it; what runs on
 * devices counts where it was launched; `calls` is 0 where they are not known. */
struct averages_options {
    bool by_module; /* and nothing else */
    bool by_shape;
    int64_t frame_count;                    /* > 0: as many nearest frames of the call stack, too */
    bool runs_only;                         /* memory events outside of runs do not count */
    const struct recording_overhead *costs; /* of recording; NULL: not known */
};

/* NaN: it cannot be told, as nothing of the kind was recorded. */
struct average_line {
    const char *name;
    const char *input_shapes; /* JSON; only when grouped by shape */
    const char *stack;        /* JSON list of frames; only when grouped by stack */
    enum op_side side;
    bool is_label;
    uint64_t calls;
    double cpu_ns, self_cpu_ns; /* NaN on a device */
    double recording_ns; /* of self_cpu_ns, what recording took: within its spans, and around those
                            directly inside; NaN: not known */
    double device_ns, self_device_ns; /* NaN where no device took part */
    double cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes; /* signed */
    double computation_flop;
};

struct averages {
    ARRAY_OF(struct average_line) lines; /* in the order in which they are first seen */
    struct query_texts texts;
    double self_cpu_ns;    /* of all rows, also those not shown; NaN: there are none */
    double self_device_ns; /* of what ran on devices, labels aside */
    bool has_device;       /* some row ran on one */
    size_t module_count;   /* by module: of lines that are modules with some op */
    uint64_t negative_count;
    uint64_t unsized_count; /* memory given back whose size is not known: not in any sum */
};

/** Of spans that are all there, for tests; those whose is_shown is not set make no line. Returns 0 or
 *  -ENOMEM; give *out_averages to averages_deinit() after either. Lines borrow texts of `spans`. */
int averages_make(const struct spans_answer *spans, const struct memory_row_array *memory,
                  const struct averages_options *options, struct averages *out_averages);
void averages_deinit(struct averages *averages);

/** The same of spans in parts (query_span_parts()): begin, which forgets what *out was, fill memory,
 *  add each part, finish. They return 0 or -ENOMEM, averages_add() also SPAN_PARTS_WHOLE;
 *  averages_parts_destroy() after any. */
struct averages_parts;
int averages_begin(const struct averages_options *options, struct averages_parts **out_parts);
/** Empty, to be filled before the first part. */
struct memory_row_array *averages_memory(struct averages_parts *parts);
int averages_add(struct averages_parts *parts, const struct spans_answer *spans);
void averages_finish(struct averages_parts *parts, struct averages *out_averages);
void averages_parts_destroy(struct averages_parts **parts);

#endif
