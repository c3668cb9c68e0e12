/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of layouts: whether what computes an operator in one computes it right there. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/tune/layout_private.h"

/* An operator in both layouts. */
struct pair {
    struct tune_truth truths[SEARCH_LAYOUTS];
    void **outputs[SEARCH_LAYOUTS];
    bool is_right[SEARCH_LAYOUTS];
};

static void deinit_pair(struct pair *pair)
{
    for (int i = 0; i < SEARCH_LAYOUTS; i++) {
        tune_truth_free_outputs(&pair->truths[i], &pair->outputs[i]);
        tune_truth_deinit(&pair->truths[i]);
    }
}

static int judge(struct pair *pair, struct layout_trial *trial, int layout, bool is_whole)
{
    struct tune_truth *truth = &pair->truths[layout];
    int rc;

    *truth = (struct tune_truth){.subject = trial->subjects[layout], .borrows_subject = true};
    rc = tune_truth_compute(truth, is_whole);
    if (rc < 0)
        return rc;
    pair->outputs[layout] = tune_truth_outputs(truth);
    if (!pair->outputs[layout])
        return -ENOMEM;
    rc = tune_truth_run(truth, &trial->calls[layout], pair->outputs[layout]);
    if (rc == 0)
        rc = tune_truth_agrees(truth, pair->outputs[layout]);
    pair->is_right[layout] = rc > 0;
    return rc == -ENOMEM ? rc : 0;
}

/* Whether both make the same of output 0, the only one whose layouts differ. Returns 0 or 1,
 * -ENOMEM. */
static int is_same(const struct pair *pair)
{
    struct tensor_view views[SEARCH_LAYOUTS];
    int rc = 0;

    for (int i = 0; i < SEARCH_LAYOUTS; i++) {
        const struct subject *subject = &pair->truths[i].subject;
        struct layout plain = layout_row_major(subject->outputs[0].shape.rank);
        struct tensor_view made = subject->outputs[0];

        made.data = pair->outputs[i][0];
        views[i] = made;
        views[i].data = tune_move(&made, &subject->output_layouts[0], &plain);
        rc = views[i].data ? rc : -ENOMEM;
    }
    if (rc == 0)
        rc = compare_agree(&views[1], &views[0], &pair->truths[0].tolerances[0]);
    for (int i = 0; i < SEARCH_LAYOUTS; i++)
        free(views[i].data);
    return rc;
}

/* Returns 1 when a part of the truth is not enough. */
static int check(struct layout_trial *trial, struct pair *pair, bool is_whole)
{
    bool is_part, are_right;
    int rc = 0;

    for (int i = 0; rc == 0 && i < SEARCH_LAYOUTS; i++)
        rc = judge(pair, trial, i, is_whole);
    if (rc < 0)
        return rc;
    is_part = pair->truths[0].cut_count > 0;
    are_right = pair->is_right[0] && pair->is_right[1];
    if (is_part && are_right) {
        rc = is_same(pair);
        return rc < 0 ? rc : !rc;
    }
    return is_part;
}

/* -ENOMEM. What the reference cannot compute stays as it is. */
static int check_trial(struct layout_job *job, struct layout_trial *trial)
{
    struct pair pair = {0};
    int rc = check(trial, &pair, false);

    if (rc == 1) {
        deinit_pair(&pair);
        pair = (struct pair){0};
        rc = check(trial, &pair, true);
    }
    deinit_pair(&pair);
    if (rc < 0)
        return rc == -ENOMEM ? rc : 0;
    for (int i = 0; i < SEARCH_LAYOUTS; i++) {
        job->wrong_count += !pair.is_right[i];
        trial->can[i] = pair.is_right[i] || (!pair.is_right[0] && !pair.is_right[1]);
    }
    return 0;
}

int layout_check(struct layout_job *job)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->trials.count; i++)
        if (job->trials.items[i].subjects[0].request.node)
            rc = check_trial(job, &job->trials.items[i]);
    job->timing_ns += ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    return rc < 0 ? diag_set(job->diag, rc, "out of memory") : 0;
}
