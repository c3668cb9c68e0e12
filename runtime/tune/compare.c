/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tuning: whether kernels compute what the reference does.
 *
 * Where the reference has computed a part only, kernels that agree there must agree with one
 * another everywhere: they are of different making and do not err in the same places. Where one
 * does not, or there is no second one, the reference computes all.
 */
#include <errno.h>
#include <stdlib.h>

#include "runtime/tune/private.h"

struct bench {
    struct tune_job *job;
    struct tune_op *op;
    const bool *is_asked;
    struct tune_truth truth;
    void **outputs, **first; /* of the kernel at work; of the first that agreed, NULL: none yet */
    int agreed;
};

/* Whether all that somebody reads is the same. */
static bool is_same(const struct bench *bench)
{
    const struct subject *subject = &bench->truth.subject;
    const struct node *node = subject->request.node;

    for (uint32_t i = 0; i < node->output_count; i++) {
        struct tensor_view first, other;

        if (subject->outputs[i].dtype == DTYPE_NONE || !call_is_read(node, i))
            continue;
        first = other = subject->outputs[i];
        first.data = bench->first[i];
        other.data = bench->outputs[i];
        if (!compare_agree(&other, &first, &bench->truth.tolerances[i]))
            return false;
    }
    return true;
}

/* Returns 1 when it agrees, 0 when it does not, -ENOMEM. */
static int judge(struct bench *bench, struct candidate *candidate)
{
    const struct subject *subject = &bench->truth.subject;
    struct call call = {0};
    int rc = call_bind_version(&subject->request, subject->is_plan, &candidate->version, &call);

    if (rc == 0)
        rc = tune_truth_run(&bench->truth, &call, bench->outputs);
    call_deinit(&call);
    if (rc < 0) {
        candidate->is_refused = rc != -ENOMEM;
        return rc == -ENOMEM ? rc : 0;
    }
    rc = tune_truth_agrees(&bench->truth, bench->outputs);
    if (rc <= 0 || bench->truth.cut_count == 0)
        return rc;
    if (bench->first)
        return is_same(bench);
    bench->first = bench->outputs;
    bench->outputs = tune_truth_outputs(&bench->truth);
    return bench->outputs ? 1 : -ENOMEM;
}

/* Returns 1 when a part of the truth is not enough. */
static int judge_all(struct bench *bench)
{
    struct tune_op *op = bench->op;

    for (int i = 0; i < op->count; i++) {
        struct candidate *candidate = &op->candidates[i];
        int rc;

        if (!bench->is_asked[i] || candidate->is_refused)
            continue;
        rc = judge(bench, candidate);
        if (rc < 0)
            return rc;
        if (candidate->is_refused)
            continue;
        if (rc == 0 && bench->truth.cut_count > 0)
            return 1;
        candidate->verdict = rc > 0 ? POLICY_AGREES : POLICY_DIFFERS;
        bench->agreed += rc;
    }
    return bench->truth.cut_count > 0 && bench->agreed < 2;
}

static int run(struct bench *bench, bool is_whole)
{
    struct tune_truth *truth = &bench->truth;
    int rc = tune_truth_init(truth, bench->job, bench->op, is_whole, &bench->job->quiet);

    bench->agreed = 0;
    if (rc == 0) {
        bench->outputs = tune_truth_outputs(truth);
        rc = bench->outputs ? judge_all(bench) : -ENOMEM;
    }
    tune_truth_free_outputs(truth, &bench->outputs);
    tune_truth_free_outputs(truth, &bench->first);
    tune_truth_deinit(truth);
    return rc;
}

int tune_compare(struct tune_job *job, struct tune_op *op, const bool *is_asked)
{
    bool asked[CALL_VERSIONS_MAX];
    struct bench bench = {.job = job, .op = op, .is_asked = asked};
    int count = 0, rc;

    for (int i = 0; i < op->count; i++) {
        asked[i] = is_asked[i];
        count += asked[i];
    }
    /* A second one, in case that it takes one. */
    for (int i = 0; i < op->count && count == 1; i++) {
        if (asked[i] || op->candidates[i].is_refused || op->candidates[i].version.is_reference)
            continue;
        asked[i] = true;
        count++;
    }
    rc = run(&bench, false);
    if (rc == 1)
        rc = run(&bench, true);
    op->is_compared = true;
    return rc == -ENOMEM ? rc : 0;
}
