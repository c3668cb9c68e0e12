/* SPDX-License-Identifier: Apache-2.0 */
/* In which surroundings sessions were recorded, as far as it is stored. */
#ifndef OPTRACE_ANALYZE_QUERY_ENVIRONMENT_H
#define OPTRACE_ANALYZE_QUERY_ENVIRONMENT_H

#include "analyze/query/query.h"

enum environment_fact {
    ENVIRONMENT_HOST,
    ENVIRONMENT_CPU,
    ENVIRONMENT_CPU_COUNT,
    ENVIRONMENT_GOVERNOR,
    ENVIRONMENT_MEMORY,
    ENVIRONMENT_GPUS,
    ENVIRONMENT_DRIVER,
    ENVIRONMENT_KERNEL,
    ENVIRONMENT_PROGRAM,
    ENVIRONMENT_COMMAND,
    ENVIRONMENT_LIBRARY,
    ENVIRONMENT_SOURCE, /* live, or the tool whose file it was */
    ENVIRONMENT_MODEL,
    ENVIRONMENT_DIGEST,
    ENVIRONMENT_PARAMETERS, /* bytes of the model's weights */
    ENVIRONMENT_DEVICES,
    ENVIRONMENT_LANES, /* threads, streams and queues with events: "1 thread, 1 queue" */
    ENVIRONMENT_FACTS
};

/* How a fact is called: in JSON, and by people. */
struct environment_name {
    const char *name, *title;
    bool is_bytes;
};
extern const struct environment_name environment_names[ENVIRONMENT_FACTS];

struct environment {
    const char *facts[ENVIRONMENT_FACTS]; /* different values of several sessions with a comma
                                             between; NULL: not known */
    struct query_texts texts;
};

/** Of these sessions together. environment_deinit() after success and failure. */
int query_environment(struct store *store, const int64_t *session_ids, size_t session_count,
                      struct environment *out_environment, struct diag *diag);
void environment_deinit(struct environment *environment);

/* Which of how many processes a session is, as in torch.distributed; STORE_NULL: not known. */
struct world_place {
    int64_t rank, size;
};

/** Returns 0 or a negative errno with a sentence. */
int query_world_place(struct store *store, int64_t session_id, struct world_place *out_place,
                      struct diag *diag);

#endif
