/* SPDX-License-Identifier: Apache-2.0 */
/* Who launched whom is by run, or session, and number: where these grow with time, parts can be cut between
 * two launches. */
#ifndef OPTRACE_ANALYZE_QUERY_LAUNCH_KEY_H
#define OPTRACE_ANALYZE_QUERY_LAUNCH_KEY_H

#include "analyze/query/spans.h"

struct launch_key {
    int64_t group, correlation;
};
enum { KEYS_OF_RUNS, KEYS_OF_SESSIONS, KEY_KINDS };

/** Of a span that has a number. Returns its kind. */
static inline int launch_key_of(const struct spans_answer *answer, const struct span *span,
                                struct launch_key *out_key)
{
    if (span->run != SPAN_NONE) {
        *out_key = (struct launch_key){span->run, span->correlation};
        return KEYS_OF_RUNS;
    }
    *out_key = (struct launch_key){answer->lanes.items[span->lane].session_id, span->correlation};
    return KEYS_OF_SESSIONS;
}

static inline int launch_key_compare(const struct launch_key *a, const struct launch_key *b)
{
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

#endif
