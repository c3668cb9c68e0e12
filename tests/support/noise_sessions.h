/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of a made-up program as machines give them, session by session: processes that differ by
 * where their memory lies, a machine that drifts or wanders, runs that resemble those before them,
 * runs and whole sessions that something else disturbed, spells in which it disturbs one session
 * after the other. The same seed gives the same times.
 */
#ifndef OPTRACE_TESTS_SUPPORT_NOISE_SESSIONS_H
#define OPTRACE_TESTS_SUPPORT_NOISE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOISE_OPS_MAX = 64 };

/* Shares of an op's time, 0.01 is 1 %; chances in [0, 1]. */
struct noise {
    const char *name;
    double process;           /* standard deviation of a process's level, of all its ops alike */
    double op;                /* the same of each op of a process by itself */
    bool is_heavy;            /* both with the tails of Student's t, 3 degrees of freedom */
    double modes;             /* chance that an op of a process is in its slow mode ... */
    double mode_step;         /* ... which takes so much longer */
    double drift;             /* of all ops, from the first session recorded to the last */
    double run;               /* standard deviation of an op's runs in a process */
    double correlation;       /* of a run's level with that of the run before */
    double disturbed_runs;    /* chance of a run ... */
    double disturbed_session; /* ... and of a session that takes up to half as long again */
    double neighbours; /* correlation of a session's level, and of its ops', with those of the
                                 session before: as of a machine whose speed wanders */
    double spell;      /* chance that a spell of disturbed sessions begins, of three on average */
};

struct noise_program {
    const struct noise *noise;
    size_t op_count, run_count;
    size_t session_count; /* of the whole recording: what drift is over */
    uint64_t seed;        /* goes on from session to session, as what follows does */
    double level, op_level[NOISE_OPS_MAX];
    bool is_in_spell;
};

/** Median time of an op on a quiet machine, in ns: large ones first, op 0 has a fifth of the run.
 */
double noise_op_ns(const struct noise_program *program, size_t op);

/** Times of the next session, which is the `nth` of the recording from 0.
 *
 *  slower   beside ops: factors, or NULL
 *  out_ns   out_ns[run * op_count + op]
 */
void noise_next_session(struct noise_program *program, size_t nth, const double *slower,
                        double *out_ns);

/** From quiet to everything at once. */
#define NOISE_KINDS 13
extern const struct noise noise_kinds[NOISE_KINDS];

#endif
