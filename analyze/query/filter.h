/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops and lanes a report shows. All conditions hold together; a {0} filter lets everything
 * through. Which conditions there are is the table filters.def. */
#ifndef OPTRACE_ANALYZE_QUERY_FILTER_H
#define OPTRACE_ANALYZE_QUERY_FILTER_H

#include <stdbool.h>

#include "analyze/query/query.h"
#include "base/array.h"

enum filter_id {
#define FILTER(id, ...) FILTER_##id,
#include "analyze/query/filters.def"
#undef FILTER
    FILTERS
};

/* What a filter looks at. */
enum filter_subject {
    FILTER_OF_OPS,    /* the op itself */
    FILTER_OF_LABELS, /* labels around a span, or around its launch: the op of each */
    FILTER_OF_LANES,  /* the lane that a span is on, with its op */
};

/* What was asked for by one of them. */
struct filter_value {
    const char *const *words; /* several of a LIST; borrowed */
    size_t count;             /* 0: it lets everything through */
    void *made;               /* by make(), where the filter has it */
};

struct filter;

struct filter_kind {
    const char *option; /* its name, without dashes */
    enum filter_subject subject;

    /** Read the word, into *out_made. Returns 0 or a negative errno with a sentence. NULL: any
     *  word will do. */
    int (*make)(const char *word, void **out_made, struct diag *diag);
    void (*destroy)(void *made); /* accepts NULL */

    /** lane: NULL unless it is about lanes. May set filter->gave_up. */
    bool (*passes)(struct filter *filter, const struct filter_value *value, const struct op_row *op,
                   const struct lane_row *lane);

    /* For --explain, of ops and lanes: the condition on a row of every_span, with {words}: a list
     * of what was given; {length}: of the first word, one added. NULL: SQL has no words for it, the
     * ids of the ops or lanes that pass() stand there. */
    const char *sql;
};

extern const struct filter_kind filter_kinds[FILTERS];

struct filter {
    struct filter_value given[FILTERS]; /* set by filter_set() */
    double min_ns, max_ns;              /* bounds on an op's self time, inclusive, where has_... */
    bool has_min, has_max;
    bool has_op_ids;          /* set by filter_set_ops() */
    ARRAY_OF(int64_t) op_ids; /* ascending */
    const char *gave_up; /* the option whose pattern took too many steps on some name, or NULL */
};

/**
 * Only what passes this one, too. A regular expression is one of PCRE2, UTF-8, and matches from a
 * name's start on, as Python's re.match does it: `conv` lets "conv1" through but not "my_conv";
 * `.*conv` both.
 *
 * words  borrowed until filter_deinit(); of a filter that takes no list the first counts
 *        What was set of it before is let go of, but for a failure
 *
 * Returns 0, or a negative errno with the sentence, of -EINVAL what is wrong with the words; of a
 * regular expression with the offset in it.
 */
int filter_set(struct filter *filter, enum filter_id id, const char *const *words, size_t count,
               struct diag *diag);

/** Only these ops from now on, whatever else is asked of them. The ids are copied. Returns 0 or
 *  -ENOMEM. */
int filter_set_ops(struct filter *filter, const int64_t *op_ids, size_t count);

/** Whether anything is asked about this. */
bool filter_is_of(const struct filter *filter, enum filter_subject subject);

/** Likewise, what SQL has no words for. */
bool filter_wants_ids(const struct filter *filter, enum filter_subject subject);

/** time_ns: the op's self time, NaN when it is not known. Labels, lanes and devices are not looked
 *  at. */
bool filter_passes(struct filter *filter, const struct op_row *op, double time_ns);

/** Whether a time is within the bounds: one that is not known (NaN) is within none. */
bool filter_is_within(const struct filter *filter, double time_ns);

/** filter_passes() without the bounds on time. */
bool filter_passes_op(struct filter *filter, const struct op_row *op);

/** Whether a label passes, by its op. */
bool filter_passes_label(struct filter *filter, const struct op_row *label);

/** Whether spans of this op on this lane pass as to their device and their lane. */
bool filter_passes_lane(struct filter *filter, const struct lane_row *lane,
                        const struct op_row *op);

/** Whether ids pass what SQL has no words for; lane NULL: those of ops. */
bool filter_passes_id(struct filter *filter, const struct op_row *op, const struct lane_row *lane);

/** Whether the answer depends on single spans: on labels, lanes or devices. */
bool filter_needs_spans(const struct filter *filter);

/** What to say where it gave up. Returns -EINVAL. */
int filter_complain(const struct filter *filter, struct diag *diag);

/** Frees what was made of words, and the ids. */
void filter_deinit(struct filter *filter);

#endif
