/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of writing a Chrome trace: ops as text, names and numbers of rows, events. */
#ifndef OPTRACE_ANALYZE_EXPORT_CHROME_PRIVATE_H
#define OPTRACE_ANALYZE_EXPORT_CHROME_PRIVATE_H

#include <string.h>

#include "analyze/export/export.h"
#include "base/text_buffer.h"

/* What all events of an op have in common. */
struct chrome_text {
    char *head;   /* "name":"conv1","cat":"Conv" */
    char *args;   /* members of "args": first which op it is */
    bool is_told; /* as an owner of memory */
};

/* A lane's process, thread and names. */
struct chrome_place {
    int64_t pid, tid; /* of its first row */
};

struct chrome_writer {
    const struct export *export;
    const struct spans_answer *spans;
    struct chrome_text *ops;     /* beside spans->ops */
    struct chrome_place *places; /* beside spans->lanes */
    int64_t *pids;               /* beside the report's session_ids */
    int64_t base_ns;             /* of all times */
    int64_t first_id;            /* of launches: above all that the file may hold */
    struct text_buffer line;
    bool has_events;
};

/* --- ops.c --- */

/** Fills writer->ops. Returns 0 or -ENOMEM. */
int chrome_make_ops(struct chrome_writer *writer);
void chrome_drop_ops(struct chrome_writer *writer);

/** Text in quotes, escaped, at the end of a buffer. */
void chrome_add_text(struct text_buffer *buffer, const char *text);

/* --- lanes.c --- */

/** Fills writer->pids and ->places. Returns 0 or -ENOMEM. */
int chrome_make_places(struct chrome_writer *writer);

/** Process and thread names, in the order in which viewers should show them. */
void chrome_write_names(struct chrome_writer *writer);

/** The number of a session's process. */
int64_t chrome_pid(const struct chrome_writer *writer, int64_t session_id);

/** The thread number of another row of a lane, or of the row for runs (lane NULL). */
int64_t chrome_row_tid(const struct lane_row *lane, const struct chrome_place *place, uint32_t row);

/** Number of the runs' rows: for each of spans->runs that is selected; the caller frees it. */
uint32_t *chrome_run_rows(const struct spans_answer *spans, int64_t session_id,
                          uint32_t *out_count);

/* --- head.c --- */

/** What stands before the first event, unless the file has events already. Returns 0 or a negative
 *  errno with a sentence. */
int chrome_write_head(struct chrome_writer *writer, struct diag *diag);

/* --- points.c --- */

/** Memory, counters, losses. Returns 0 or -ENOMEM. */
int chrome_write_points(struct chrome_writer *writer);

/* --- put.c --- */

/** Begin an event in writer->line: everything but what follows is given. */
void chrome_begin(struct chrome_writer *writer, const char *phase);
/** A number; ns as microseconds. */
void chrome_add_number(struct chrome_writer *writer, int64_t value);
void chrome_add_us(struct chrome_writer *writer, int64_t ns);

/* Inline, as the length of a constant is one. */
static inline void chrome_add(struct chrome_writer *writer, const char *text)
{
    text_buffer_add(&writer->line, text, strlen(text));
}

static inline void chrome_add_name(struct chrome_writer *writer, const char *name)
{
    chrome_add(writer, ",\"");
    chrome_add(writer, name);
    chrome_add(writer, "\":");
}

static inline void chrome_add_int(struct chrome_writer *writer, const char *name, int64_t value)
{
    chrome_add_name(writer, name);
    chrome_add_number(writer, value);
}

static inline void chrome_add_duration(struct chrome_writer *writer, const char *name, int64_t ns)
{
    chrome_add_name(writer, name);
    chrome_add_us(writer, ns);
}

/** A time in microseconds, from the zero of the file. */
static inline void chrome_add_time(struct chrome_writer *writer, const char *name, int64_t time_ns)
{
    /* Times of a damaged store may be anything. */
    chrome_add_duration(writer, name, (int64_t)((uint64_t)time_ns - (uint64_t)writer->base_ns));
}

/** End it and write it. */
void chrome_end(struct chrome_writer *writer);

#endif
