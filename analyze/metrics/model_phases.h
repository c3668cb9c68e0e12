/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the steps of a training or inference loop go, by the labels that PyTorch and Paddle put
 * around their phases: ProfilerStep, DataLoader, Forward, Backward, Optimization. Pure.
 */
#ifndef OPTRACE_ANALYZE_METRICS_MODEL_PHASES_H
#define OPTRACE_ANALYZE_METRICS_MODEL_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/query/cover.h"

enum model_phase {
    MODEL_STEP,
    MODEL_DATA_LOADER,
    MODEL_FORWARD,
    MODEL_BACKWARD,
    MODEL_OPTIMIZATION,
    MODEL_OTHERS, /* of the steps, what is in no phase; without steps empty */
    MODEL_PHASES
};
extern const char *const model_phase_names[];

/* Labels of one phase; one inside another of the same phase is part of it. */
struct model_phase_times {
    uint64_t calls;
    double total_ns, min_ns, max_ns; /* sum and single ones */
    double union_ns;                 /* of all threads */
    double device_ns; /* sum of what was launched in it, or in its time, on devices */
};

struct model_phases {
    struct model_phase_times phases[MODEL_PHASES];
    bool has_steps, has_phases; /* some of MODEL_STEP; of the others */
};

/** Look at the labels on threads that are shown, also those that are in several parts (enum span_frame). Returns 0 or -ENOMEM. */
int model_phases_find(const struct spans_answer *spans, struct model_phases *out_phases);

/** Whether a session whose ops are those of `spans` has labels for a phase. */
bool model_phases_has_any(const struct spans_answer *spans, const struct query_cover *cover);

/** Add those of another part of the spans (query_span_parts()). */
void model_phases_add(struct model_phases *into, const struct model_phases *part);

/** The phase that a label of this name is for, or MODEL_PHASES. Outside of its file, for tests. */
enum model_phase model_phase_of(const char *label);

#endif
