/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all importers share: lanes and ops by number, spans in the order that a store wants, runs,
 * and one transaction. An importer knows a format and hands in what it finds, in any order:
 *
 *     importer_begin(&importer, store, "chrome", diag)
 *     importer_lane(), importer_op(), importer_span(), importer_run(), ...
 *     importer_finish(&importer, &session, diag)    one session is in the store
 *     importer_deinit(&importer)                    without finish: the store is as it was
 *
 * What is worked out here, because it needs all rows: the run that a span belongs to (of a device
 * span, the run that its launch is in), the innermost op of a memory event, spans tied by a flow,
 * and which span is inside of which when times are rounded.
 * Times may be relative until importer_finish() is told what to add.
 *
 * Functions return 0 or a negative errno with a sentence. Texts are borrowed for the call. One
 * thread.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_IMPORTER_H
#define OPTRACE_ANALYZE_IMPORT_IMPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/containers/number_map.h"
#include "analyze/containers/place_map.h"
#include "analyze/containers/row_sorter.h"
#include "base/array.h"
#include "base/diag.h"
#include "schema/store/store.h"

/** What the sentences about files that are none of these say is supported. */
extern const char import_supported[];

#define IMPORT_NONE UINT32_MAX

/* A session's note begins with the name of its file, of which at most so many bytes. */
#define IMPORT_NAME_MAX 400

struct import_options {
    bool lenient;      /* keep what could be read of a damaged file */
    int64_t sample_ns; /* of folded stacks: what one of their counts stands for; 0: not known */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes); /* NULL: none */
    void *progress_context;
    size_t width; /* columns of the lines that say what was imported; 0: any */
};

/* Stands in the note of a session whose file was read only in part; what decides is its
 * damage_count. */
#define IMPORT_DAMAGE    "the rest is lost"
#define IMPORT_MALFORMED "malformed"

struct importer_lane {
    char *name, *device; /* NULL: not known; device NULL: of the host */
    int64_t native_id;   /* or STORE_NULL */
    bool is_device;
    bool is_queue;     /* of a device: worked off by the host, no stream */
    int64_t offset_ns; /* added to all its times at last, for lanes with a zero of their own */
    /* set here */
    bool is_used;           /* some row is on it; others are not written */
    int64_t min_ns, max_ns; /* of its rows; max < min: none */
};

/* Times beyond this, about 126 years, are damage: is_import_time(). */
#define IMPORT_TIME_MAX INT64_C(4000000000000000000)

struct importer_run {
    int64_t start_ns, end_ns; /* end_ns INT64_MAX: it never ended */
    uint32_t lane;
    bool is_warmup;
    bool without_ops; /* they were left out on purpose */
};

struct importer_loss {
    uint32_t lane; /* IMPORT_NONE: not known */
    char *reason;
    int64_t lost_count, start_ns, end_ns; /* times: or STORE_NULL */
};

struct importer {
    struct store *store;
    const char *source;
    struct store_ids first; /* ids in use before */
    ARRAY_OF(struct importer_lane) lanes;
    ARRAY_OF(struct importer_run) runs;
    ARRAY_OF(struct importer_loss) losses;
    uint32_t op_count;
    struct place_map ops;       /* identity of an op to its place */
    struct number_map launches; /* correlation to its place in launch_ns */
    ARRAY_OF(int64_t) launch_ns;
    struct number_map sized_launches; /* correlation to its place in launch_bytes */
    ARRAY_OF(int64_t) launch_bytes;
    struct row_sorter sorter;
    int64_t model_id;     /* of the runs and ops; STORE_NULL: none was put */
    bool is_one_run;      /* input: all rows belong to the one run that there is */
    bool has_correlation; /* some device span has one: flows are not needed */
    int64_t rounding_ns;  /* input: spans of the host may stick out of those around them by this, as
                             their times are rounded; they are cut */
    bool in_transaction;  /* that began here; false within one of the caller's */
    uint64_t digest;      /* of all rows, whatever their order */
    const uint32_t *row_ops; /* input: of each row, by its number, the op it has after all, or
                                IMPORT_NONE; NULL: all have those they came with */
    uint64_t span_count, memory_count, counter_count;
};

struct import_span {
    uint32_t lane, op;
    int64_t start_ns;
    int64_t dur_ns;      /* STORE_NULL: never ended */
    int64_t kern_ns;     /* after the start, or STORE_NULL */
    int64_t correlation; /* or STORE_NULL */
    int64_t bytes;       /* or STORE_NULL */
    int64_t external;    /* number of the op around a launch, also on what was launched, or 0: it is
                            the correlation where there are no launches; spans with it have no kern */
    size_t depth;        /* spans around it, where a reader knows; it decides between spans of equal
                            times, of which else the one that is added later is the inner one */
};

/** A span from start to start + dur is within what the importer takes; dur STORE_NULL is allowed.
 */
static inline bool is_import_time(int64_t start_ns, int64_t dur_ns)
{
    return start_ns >= -IMPORT_TIME_MAX && start_ns <= IMPORT_TIME_MAX &&
           (dur_ns == STORE_NULL ||
            (dur_ns >= 0 && dur_ns <= IMPORT_TIME_MAX && start_ns + dur_ns <= IMPORT_TIME_MAX));
}

/** Begins a transaction unless the caller's is open already, which then is the caller's to end. */
int importer_begin(struct importer *importer, struct store *store, const char *source,
                   struct diag *diag);

/** A new lane. Its fields may be changed until importer_finish() through importer->lanes.items,
 *  the texts being replaced with importer_set_text(). */
int importer_lane(struct importer *importer, const struct importer_lane *lane, uint32_t *out_lane,
                  struct diag *diag);
int importer_set_text(char **text, const char *value, struct diag *diag);

/** The op of an identity, or IMPORT_NONE: it must then be put. */
uint32_t importer_find_op(const struct importer *importer, struct place_key identity);

/** A new op. Of `row` ids, session, model and client_op are filled in here. */
int importer_put_op(struct importer *importer, struct place_key identity, struct store_op *row,
                    uint32_t *out_op, struct diag *diag);

/** The number of a new op whose row comes later, by importer_put_op_at(). */
int importer_name_op(struct importer *importer, struct place_key identity, uint32_t *out_op,
                     struct diag *diag);

/** The same for an importer that numbers its ops itself, 0, 1, 2, ..., and may put them after their
 *  spans; row->client_op is then its own, too. */
int importer_put_op_at(struct importer *importer, uint32_t op, struct store_op *row,
                       struct diag *diag);

/** The model that was run, at most one; of `row` ids and session are filled in here. */
int importer_put_model(struct importer *importer, struct store_model *row, struct diag *diag);

/** Its times must be is_import_time(). The same holds for all times below. */
int importer_span(struct importer *importer, const struct import_span *span, struct diag *diag);

struct import_memory {
    uint32_t lane;   /* the thread that did it */
    uint32_t device; /* the lane that stands for the memory of a device; else the same as `lane` */
    uint32_t op;     /* IMPORT_NONE: the innermost span that is open on `lane` at that time */
    int64_t time_ns;
    int64_t address, bytes; /* or STORE_NULL */
};
int importer_memory(struct importer *importer, const struct import_memory *memory,
                    struct diag *diag);
int importer_counter(struct importer *importer, uint32_t lane, uint32_t op, int64_t time_ns,
                     double value, struct diag *diag);

/** The bytes of what a call copied, for the device span of that correlation, unless that has some.
 */
int importer_launch_bytes(struct importer *importer, int64_t correlation, int64_t bytes,
                          struct diag *diag);

/** One end of a tie between a launch and what it launched: gives the innermost span that is open on
 *  the lane at that time this correlation, unless it has one. */
int importer_flow(struct importer *importer, uint32_t lane, int64_t time_ns, int64_t correlation,
                  struct diag *diag);

/** An execution of the model. */
int importer_run(struct importer *importer, const struct importer_run *run, struct diag *diag);

/** Events that the source lost. Takes ownership of loss->reason, also after a failure. */
int importer_loss(struct importer *importer, const struct importer_loss *loss, struct diag *diag);

/**
 * Write everything and commit.
 *
 * session    of its fields id, uuid, times, clock and source are filled in here
 * offset_ns  is added to all times, at most IMPORT_TIME_MAX and not below 0; times that are still
 *            before 1970 are moved up to it together
 */
int importer_finish(struct importer *importer, struct store_session *session, int64_t offset_ns,
                    struct diag *diag);

void importer_deinit(struct importer *importer);

#endif
