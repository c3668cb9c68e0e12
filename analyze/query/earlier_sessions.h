/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Earlier sessions of a store that are like those of --compare's base: how much processes of this
 * program differ on this machine, without recording them anew.
 *
 * Like: the same host, CPU, program, command line (so the same options and number of threads),
 * client library, source and models (name, path, digest, bytes of weights), began before the last
 * of the base's sessions, ended, and is on neither side: what was recorded since may be of another
 * version.
 */
#ifndef OPTRACE_ANALYZE_QUERY_EARLIER_SESSIONS_H
#define OPTRACE_ANALYZE_QUERY_EARLIER_SESSIONS_H

#include <stdint.h>

#include "analyze/query/query.h"

/* More are not looked at: the newest count. */
#define EARLIER_SESSIONS_MAX 200

struct earlier_sessions {
    int64_t session_ids[EARLIER_SESSIONS_MAX]; /* the newest first */
    size_t count;
    double variation; /* of the median runs of these and of `like`: 1.4826 MAD / median,
                         which is the standard deviation where nothing stands out; NaN:
                         there is no earlier one */
};

/**
 * like     session ids of the base; when they are not like each other there is no earlier one
 * besides  ids of other sessions of this store that do not count; may be NULL
 *
 * Returns 0 or a negative errno with a sentence.
 */
int earlier_sessions_find(struct store *store, const int64_t *like, size_t like_count,
                          const int64_t *besides, size_t besides_count,
                          struct earlier_sessions *out_earlier, struct diag *diag);

#endif
