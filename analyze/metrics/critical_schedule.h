/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a run would end if some of it took another time: the pieces of critical_path.h, part by part,
 * each in about seven bytes in an order in which it comes after those it depends on, to be scheduled
 * anew as often as is asked.
 *
 * critical_schedule_add() of each part, critical_schedule_end(), critical_schedule_predict(). {0} has no
 * pieces. Pure: no SQL.
 */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_SCHEDULE_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_SCHEDULE_H

#include "analyze/metrics/critical_path.h"
#include "base/progress.h"

/* An end that is kept until then for one part alone. */
struct recall {
    uint64_t number; /* of the piece, counted from 0; at the end the place in `saves` */
    uint64_t until;  /* the first piece of the part */
};

struct critical_schedule {
    ARRAY_OF(uint8_t) bytes; /* of parts: counts, pieces, which of them later parts can depend on */
    size_t most_places;      /* of one part, with what it can depend on of earlier ones */
    size_t most_kept;
    size_t kept_count;               /* what a part that comes now can depend on */
    uint64_t count;                  /* of pieces so far */
    ARRAY_OF(struct recall) recalls; /* by part */
    ARRAY_OF(uint64_t) saves;        /* the pieces that they are of, each once, in order */
    size_t saved_most;               /* of these so many have to be known at once */
    double wall_ns;                  /* of the run */
    double rest_ns;                  /* from the end of its last piece */
    uint32_t last;                   /* that piece among the kept ones, or SPAN_NONE */
};

/**
 * The next part.
 *
 * path  the pieces, with path->classes; those before path->first are kept_count as it is now, which were
 *       kept, in their order (of the first part none), and those that are recalled
 * kept  places in path->pieces that later parts can depend on
 *
 * Returns 0 or -ENOMEM.
 */
int critical_schedule_add(struct critical_schedule *schedule, const struct critical_path *path,
                          const uint32_t *kept, size_t kept_count);

/** After the last part. last: which of the kept pieces ended last, at end_ns, or SPAN_NONE. Returns 0 or
 *  -ENOMEM. */
int critical_schedule_end(struct critical_schedule *schedule, int64_t run_start_ns,
                          int64_t run_end_ns, uint32_t last, int64_t end_ns);

/* What the time of pieces is multiplied with, by class; >= 0, and 1 of class 0. */
struct critical_scales {
    const double *of_classes;
    double predicted_ns; /* how long the run takes then */
};

/**
 * Fills predicted_ns of each, which is the same as that of critical_path_predict(). Many together take
 * little more time than one.
 *
 * class_count  the classes of all pieces are below
 * progress     or NULL; it is not ended
 *
 * Returns 0 or -ENOMEM.
 */
int critical_schedule_predict(const struct critical_schedule *schedule, size_t class_count,
                              struct critical_scales *scales, size_t count,
                              struct progress *progress);

void critical_schedule_deinit(struct critical_schedule *schedule);

#endif
