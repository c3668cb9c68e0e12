/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every exporter gets, and the table of exports that the command line and --help run on. An
 * export shows what was selected to another program: spans one by one, not sums, and everything of
 * a session unless --runs or --time choose some of it, warm-ups too.
 *
 * A new export is a file export_NAME.c that defines a `const struct export_kind`, and a line in
 * kinds.c.
 */
#ifndef OPTRACE_ANALYZE_EXPORT_EXPORT_H
#define OPTRACE_ANALYZE_EXPORT_EXPORT_H

#include "analyze/export/ordered.h"
#include "analyze/export/packed.h"
#include "analyze/export/stacks.h"
#include "analyze/reports/report.h"

/* What one execution weighs, where an export tells one number of each. */
enum export_weight {
    WEIGHT_TIME,   /* ns of its own on a host thread */
    WEIGHT_DEVICE, /* ns on a device */
    WEIGHT_CALLS,
    WEIGHT_BYTES, /* read and written by the op, or copied */
    WEIGHT_ALLOC, /* bytes of memory taken */
    WEIGHTS
};

/* How an export takes spans. */
enum export_order {
    EXPORT_LANES,  /* lane by lane: export->packed */
    EXPORT_STORE,  /* in the order of the store: export->ordered */
    EXPORT_STACKS, /* those with call stacks, by start: export->stacks */
};

struct export
{
    const struct export_kind *kind;
    const struct report *report;
    const struct spans_answer *spans; /* what there is beside finished spans, which are in: */
    const struct packed_spans *packed;
    const struct ordered_spans *ordered;
    const struct stack_lines *stacks;
    const struct memory_row_array *memory; /* those to be shown; places as in `spans` */
    const struct counter_row_array *counters;
    enum export_weight weight;
    FILE *stream;        /* to write to; NULL with makes_file */
    const char *path;    /* of the file to make, with makes_file; else NULL */
    int64_t taken_bytes; /* with --append: the size of what stands before, 0 for a new file */
    int64_t base_ns;     /* with --append to a file that is there: its zero; else STORE_NULL */
};

struct export_kind {
    const char *name;   /* of --export NAME */
    const char *about;  /* for --help: one or two sentences */
    const char *suffix; /* that files of it usually have */

    /** Writes it all. Returns 0, REPORT_NOTHING with the reason, or a negative errno with a
     *  sentence; errors of the stream may be left to the caller. */
    int (*run)(const struct export *export, struct diag *diag);

    unsigned weights; /* bits 1 << enum export_weight that --weight may name; the lowest is the
                         default. 0: no --weight */
    bool is_binary;   /* not for terminals */
    bool makes_file;  /* it makes the file itself: -o is needed */
    enum export_order order;
    bool can_append; /* --append works */
};

/** All of them, ending in NULL. Outside of its file, for tests. */
extern const struct export_kind *const export_kinds[];

/** The export that the options name, or NULL with a sentence that has the nearest name. */
const struct export_kind *export_kind_of(const char *name, struct diag *diag);

/** Which options go together with --export. Returns 0 or -EINVAL. */
int export_check_options(const struct analyze_options *options, struct diag *diag);

/** For --help: lines "NAME  what it writes". */
void export_print_kinds(FILE *lines);

/* --- What exporters share: shared.c --- */

/** A row of the report's sessions by id. */
const struct session_row *export_session(const struct export *export, int64_t session_id);

/** The file and line of "file:line", as a copy that the caller frees, and 0 where it has none.
 *  NULL where source is NULL or memory ran out. */
char *export_source(const char *source, int64_t *out_line);

/** Makes a text UTF-8: each byte that is not becomes '?'. */
void export_clean(char *text);

#endif
