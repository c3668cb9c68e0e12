/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing kernels: which steps have a choice, what is known of it, what the options allow. */
#include "runtime/tune/tune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/ops/control.h"
#include "runtime/ops/extern_library.h"
#include "runtime/tune/private.h"

/* A kernel takes the default's place when it saves this share of its time or more: less is noise.
 */
static const double worth = 0.03;

/* Creation */

static int read_policy(struct tuning *tuning, struct diag *diag)
{
    int rc = policy_open(&tuning->policy, tuning->options.policy_path,
                         tuning->options.run != TUNE_NOTHING, diag);

    tuning->is_missing = rc > 0;
    return rc < 0 ? rc : 0;
}

/* Which steps have a choice */

static int no_memory(struct tune_job *job)
{
    return diag_set(job->diag, -ENOMEM, "out of memory");
}

static bool has_limits(const struct tune_options *options)
{
    return options->reproducible || options->batch_equal || options->workspace_limit != UINT64_MAX;
}

/* Reorders, bodies and what other libraries compute have none. What sizes were inferred from stays with
 * the kernel that computed it then, unless that may lie beyond a limit. */
static bool may_choose(const struct tune_job *job, const struct bound_step *step)
{
    const struct node *node = step->info.node;

    return !step->value && !control_is(node) && !extern_op_is(node) &&
           (has_limits(&job->tuning->options) || !node_decides_sizes(node)) &&
           step->info.output_count > 0 && step->info.outputs[0];
}

/* One row alone is computed row by row anyway, and has no batch to depend on unless that is asked.
 */
static bool is_same_as_another(const struct tune_job *job, const struct tune_op *op,
                               const struct call_version *version)
{
    const struct shape *y = &op->subject.outputs[0].shape;

    return version->is_row_by_row && !job->tuning->options.batch_equal && y->rank > 1 &&
           y->dims[y->rank - 2] == 1;
}

static void take_candidates(const struct tune_job *job, struct tune_op *op,
                            const struct call_versions *versions)
{
    for (int i = 0; i < versions->count; i++)
        if (!is_same_as_another(job, op, &versions->items[i]))
            op->candidates[op->count++] = (struct candidate){.version = versions->items[i]};
    for (int i = 0; i < op->count; i++)
        if (strcmp(op->candidates[i].version.name, job->steps[op->first_step].call.version) == 0)
            op->by_default = i;
}

/* What there is, best first. Where batches must not matter, they must not for that order either. */
static int list_candidates(struct tune_job *job, struct tune_op *op)
{
    struct subject one = {0};
    const struct subject *subject = &op->subject;
    struct call_versions versions;
    int rc = 0;

    if (job->tuning->options.batch_equal && op->subject.has_batch) {
        rc = subject_init(&one, job, &job->steps[op->first_step], 1, &job->quiet);
        subject = &one;
    }
    /* With another batch there may be nothing to choose from, which is no reason to fail. */
    if (rc == 0 && call_list_versions(&subject->request, subject->is_plan, &versions) == 0)
        take_candidates(job, op, &versions);
    subject_deinit(&one);
    return rc;
}

/* The op of a step, new or the one with its key. */
static int add_step(struct tune_job *job, uint32_t index)
{
    const struct tune_options *options = &job->tuning->options;
    const struct bound_step *step = &job->steps[index];
    int64_t batch = options->shared_batch > 0 ? options->shared_batch : job->batch;
    struct tune_op op = {.first_step = index, .step_count = 1, .by_default = -1};
    int rc = subject_init(&op.subject, job, step, batch, &job->quiet);

    op.key = rc == 0 ? tune_key(&op.subject, options->shared_batch > 0) : NULL;
    if (!op.key)
        goto fail;
    for (size_t i = 0; i < job->ops.count; i++) {
        if (strcmp(job->ops.items[i].key, op.key) == 0) {
            job->step_ops[index] = (uint32_t)i;
            job->ops.items[i].step_count++;
            free(op.key);
            subject_deinit(&op.subject);
            return 0;
        }
    }
    op.is_scaled = op.subject.has_batch && batch != job->batch;
    if (list_candidates(job, &op) < 0 || array_push(&job->ops, op) < 0)
        goto fail;
    job->step_ops[index] = (uint32_t)job->ops.count - 1;
    return 0;
fail:
    free(op.key);
    subject_deinit(&op.subject);
    return no_memory(job);
}

static int list_ops(struct tune_job *job)
{
    int rc = 0;

    job->step_ops = calloc((size_t)job->step_count + 1, sizeof(*job->step_ops));
    if (!job->step_ops)
        return no_memory(job);
    for (uint32_t i = 0; rc == 0 && i < job->step_count; i++) {
        job->step_ops[i] = PLAN_NONE;
        if (may_choose(job, &job->steps[i]))
            rc = add_step(job, i);
    }
    return rc;
}

/* What is known of it */

static bool is_wanted(const struct tune_job *job, const struct candidate *candidate)
{
    return !candidate->version.is_reference || job->tuning->options.run == TUNE_FULL;
}

/* Verdicts of others count for nothing. */
static enum policy_verdict verdict_of(const struct tune_job *job, const struct policy_entry *entry,
                                      const struct policy_time *time)
{
    uint64_t mark = tune_mark(entry->machine, entry->key, job->batch, time->name, time->verdict);

    return mark == time->mark ? time->verdict : POLICY_NOT_COMPARED;
}

/* Takes an entry over; false where it lacks a kernel that is to be timed. */
static bool take_entry(const struct tune_job *job, struct tune_op *op,
                       const struct policy_entry *entry)
{
    bool is_whole = true;

    for (int i = 0; i < op->count; i++) {
        struct candidate *candidate = &op->candidates[i];

        for (int k = 0; k < entry->count; k++) {
            if (strcmp(entry->times[k].name, candidate->version.name) != 0)
                continue;
            candidate->time_ns = entry->times[k].time_ns;
            candidate->workspace_bytes = entry->times[k].workspace_bytes;
            candidate->has_workspace = true;
            candidate->verdict = verdict_of(job, entry, &entry->times[k]);
        }
        is_whole = is_whole && (candidate->time_ns > 0 || (i > 0 && !is_wanted(job, candidate)));
    }
    return is_whole;
}

static void forget_times(struct tune_op *op)
{
    for (int i = 0; i < op->count; i++)
        op->candidates[i] = (struct candidate){.version = op->candidates[i].version};
}

static bool look_up(struct tune_job *job, const char *machine)
{
    bool has_work = false;

    for (size_t i = 0; i < job->ops.count; i++) {
        struct tune_op *op = &job->ops.items[i];
        const struct policy_entry *entry =
            op->count > 1 ? policy_find(&job->tuning->policy, machine, op->key) : NULL;

        if (op->count < 2)
            continue;
        op->is_known = entry && take_entry(job, op, entry);
        op->is_timed = !op->is_known && job->tuning->options.run != TUNE_NOTHING;
        /* Times of different days do not compare. */
        if (op->is_timed)
            forget_times(op);
        has_work = has_work || op->is_timed;
    }
    return has_work;
}

/* The fastest first, as who reads the file wants them. */
static int compare_times(const void *a, const void *b)
{
    const struct policy_time *left = a, *right = b;

    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int keep(struct tune_job *job, const char *machine)
{
    struct tuning *tuning = job->tuning;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->ops.count; i++) {
        const struct tune_op *op = &job->ops.items[i];
        struct policy_time times[POLICY_TIMES_MAX] = {0};
        int count = 0;

        for (int k = 0; (op->is_timed || op->is_compared) && k < op->count; k++) {
            const struct candidate *candidate = &op->candidates[k];
            struct policy_time *time = &times[count];

            if (candidate->time_ns == 0 || count == POLICY_TIMES_MAX)
                continue;
            *time = (struct policy_time){.time_ns = candidate->time_ns,
                                         .workspace_bytes = candidate->workspace_bytes,
                                         .verdict = candidate->verdict};
            if (time->verdict != POLICY_NOT_COMPARED)
                time->mark =
                    tune_mark(machine, op->key, job->batch, candidate->version.name, time->verdict);
            memcpy(time->name, candidate->version.name, sizeof(time->name));
            count++;
        }
        qsort(times, (size_t)count, sizeof(*times), compare_times);
        if (count > 0)
            rc = policy_put(&tuning->policy, machine, op->key, times, count);
    }
    if (rc < 0)
        return rc == -ENOSPC ? diag_set(job->diag, rc, "there is no room for more times of kernels")
                             : no_memory(job);
    if (!tuning->options.policy_path)
        return 0;
    tuning->is_missing = false;
    return policy_save(&tuning->policy, tuning->options.policy_path, job->diag);
}

/* What was timed is compared, so that the file says of all of it whether it may be taken. */
static int compare_timed(struct tune_job *job)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->ops.count; i++) {
        struct tune_op *op = &job->ops.items[i];
        bool is_asked[CALL_VERSIONS_MAX] = {false};

        for (int k = 0; k < op->count; k++)
            is_asked[k] = op->candidates[k].time_ns > 0 && !op->candidates[k].is_slow;
        if (op->is_timed)
            rc = tune_compare(job, op, is_asked);
    }
    job->timing_ns += ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    return rc < 0 ? no_memory(job) : 0;
}

/* What the options allow */

/* How far choosing has come down. */
enum resort {
    RESORT_NONE,
    RESORT_REFERENCE, /* plain loops are slow, and still better than to refuse a model for what its
                         options ask */
    RESORT_DEFAULT,   /* what computes the step anyway, where no kernel agrees with its reference */
};

/* Whether a kernel that is about to be taken computes what it should. What a step calls without any
 * option does not win anything unless something is timed. */
static int is_right(struct tune_job *job, struct tune_op *op, int i, enum resort resort)
{
    struct candidate *candidate = &op->candidates[i];
    bool is_asked[CALL_VERSIONS_MAX] = {false};
    bool is_default = i == op->by_default;

    if (op->count < 2 ||
        (is_default && (resort == RESORT_DEFAULT || (candidate->verdict == POLICY_NOT_COMPARED &&
                                                     job->tuning->options.run == TUNE_NOTHING))))
        return 1;
    if (candidate->verdict == POLICY_NOT_COMPARED) {
        is_asked[i] = true;
        if (tune_compare(job, op, is_asked) < 0)
            return no_memory(job);
        if (candidate->verdict == POLICY_DIFFERS && op->is_known)
            tune_print_wrong(job, op, i);
    }
    return candidate->verdict == POLICY_AGREES;
}

/* Finds out how much scratch a candidate needs, at the graph's own batch. */
static int measure_workspace(struct tune_job *job, struct tune_op *op, struct candidate *candidate)
{
    struct subject subject = {0};
    struct diag nothing = {0};
    struct call call = {0};
    int rc;

    if (candidate->has_workspace && !op->is_scaled)
        return 0;
    rc = subject_init(&subject, job, &job->steps[op->first_step], job->batch, &nothing);
    if (rc < 0)
        no_memory(job);
    else if (call_bind_version(&subject.request, subject.is_plan, &candidate->version, &call) < 0)
        candidate->is_refused = true;
    candidate->workspace_bytes = call.workspace_bytes;
    candidate->has_workspace = true;
    call_deinit(&call);
    subject_deinit(&subject);
    return rc;
}

/* Returns 1 when the candidate is within the options, 0 when it is not. */
static int is_allowed(struct tune_job *job, struct tune_op *op, int i, enum resort resort)
{
    const struct tune_options *options = &job->tuning->options;
    struct candidate *candidate = &op->candidates[i];
    int rc;

    if (candidate->is_refused || (i > 0 && resort == RESORT_NONE && !is_wanted(job, candidate)) ||
        ((options->reproducible || options->batch_equal) && !candidate->version.is_reproducible))
        return 0;
    if (options->workspace_limit != UINT64_MAX) {
        rc = measure_workspace(job, op, candidate);
        if (rc < 0 || candidate->is_refused)
            return rc;
        if (candidate->workspace_bytes > options->workspace_limit)
            return 0;
    }
    if (options->batch_equal) {
        rc = tune_prove(job, op, &candidate->version);
        if (rc <= 0)
            return rc < 0 ? no_memory(job) : 0;
    }
    return is_right(job, op, i, resort);
}

/* The best that is left: the fastest, the default unless one is worth it, else the list's first. */
static int best_left(const struct tune_op *op, const bool *is_out)
{
    int best = -1;

    for (int i = 0; i < op->count; i++) {
        uint64_t time = op->candidates[i].time_ns;
        uint64_t best_time = best >= 0 ? op->candidates[best].time_ns : 0;

        if (is_out[i])
            continue;
        if (best < 0 || (time > 0 && best_time == 0) ||
            (time > 0 &&
             (double)time < (best == op->by_default ? 1.0 - worth : 1.0) * (double)best_time))
            best = i;
    }
    return best;
}

static int refuse_op(struct tune_job *job, const struct tune_op *op)
{
    const struct tune_options *options = &job->tuning->options;
    const struct exec_step *info = &job->steps[op->first_step].info;
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < op->count; i++)
        if (op->candidates[i].has_workspace && op->candidates[i].workspace_bytes < least)
            least = op->candidates[i].workspace_bytes;
    if (options->workspace_limit != UINT64_MAX && least != UINT64_MAX &&
        least > options->workspace_limit)
        return diag_set(job->diag, -ENOTSUP,
                        "--workspace-limit: node \"%s\" (%s) needs %" PRIu64
                        " bytes of scratch at least",
                        info->name, info->type, least);
    return diag_set(job->diag, -ENOTSUP, "node \"%s\" (%s) has no kernel within%s%s%s", info->name,
                    info->type, options->reproducible ? " --reproducible" : "",
                    options->batch_equal ? " --binary-equal-between-batch" : "",
                    options->workspace_limit != UINT64_MAX ? " --workspace-limit" : "");
}

/* Sets op->chosen. Returns 1 when there is one, 0 when none is within the options. */
static int choose_among(struct tune_job *job, struct tune_op *op, enum resort resort)
{
    bool is_out[CALL_VERSIONS_MAX] = {false};

    for (;;) {
        int best = best_left(op, is_out);
        int rc;

        if (best < 0)
            return 0;
        rc = is_allowed(job, op, best, resort);
        if (rc < 0)
            return rc;
        op->chosen = best;
        if (rc > 0)
            return 1;
        is_out[best] = true;
    }
}

static int choose(struct tune_job *job, struct tune_op *op)
{
    int rc = op->count > 0 ? choose_among(job, op, RESORT_NONE) : 1;

    if (rc == 0)
        rc = choose_among(job, op, RESORT_REFERENCE);
    if (rc == 0)
        rc = choose_among(job, op, RESORT_DEFAULT);
    if (rc == 0)
        return refuse_op(job, op);
    return rc < 0 ? rc : 0;
}

/* Limits bind steps without a choice, too. */
static int check_others(struct tune_job *job)
{
    const struct tune_options *options = &job->tuning->options;

    for (uint32_t i = 0; i < job->step_count; i++) {
        const struct bound_step *step = &job->steps[i];

        if ((options->reproducible || options->batch_equal) && step->info.node &&
            extern_op_is(step->info.node) && !step->value)
            return diag_set(job->diag, -ENOTSUP,
                            "node \"%s\" (%s): a library computes it, which does not declare "
                            "whether its results are the same each time",
                            step->info.name, step->info.type);
        if (step->call.workspace_bytes > options->workspace_limit)
            return diag_set(job->diag, -ENOTSUP,
                            "--workspace-limit: node \"%s\" (%s) needs %zu bytes of scratch",
                            step->info.name, step->info.type, step->call.workspace_bytes);
    }
    return 0;
}

/* A step gets the call that was chosen. What the batch of this graph cannot have keeps its own. */
static int rebind(struct tune_job *job, struct bound_step *step, struct tune_op *op)
{
    const struct call_version *version = &op->candidates[op->chosen].version;
    struct subject subject = {0};
    struct diag nothing = {0};
    struct call call = {0};
    int rc;

    if (strcmp(step->call.version, version->name) == 0)
        return 0;
    rc = subject_init(&subject, job, step, job->batch, &nothing);
    if (rc == 0)
        rc = call_bind_version(&subject.request, subject.is_plan, version, &call);
    subject_deinit(&subject);
    if (rc == 0) {
        /* The name may be a part of the call that goes. */
        op->changed_count += strcmp(step->info.implementation, call.version) != 0;
        call_deinit(&step->call);
        step->call = call;
        step->info.implementation = call.version;
        step->info.workspace_bytes = call.workspace_bytes;
    }
    return rc == -ENOMEM ? no_memory(job) : 0;
}

static int apply(struct tune_job *job)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->ops.count; i++)
        rc = choose(job, &job->ops.items[i]);
    for (uint32_t i = 0; rc == 0 && i < job->step_count; i++)
        if (job->step_ops[i] != PLAN_NONE && job->ops.items[job->step_ops[i]].count > 0)
            rc = rebind(job, &job->steps[i], &job->ops.items[job->step_ops[i]]);
    return rc == 0 ? check_others(job) : rc;
}

/* The batch is the leading dimension of the first input that has further ones. */
static int64_t batch_of(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i]->shape.rank > 1 && graph->inputs[i]->shape.dims[0] > 0)
            return graph->inputs[i]->shape.dims[0];
    return 1;
}

/* Who may write the file adds what was found about choices of others. */
static bool has_news(const struct tune_job *job)
{
    bool has_any = false;

    for (size_t i = 0; i < job->ops.count; i++)
        has_any = has_any || (job->ops.items[i].is_known && job->ops.items[i].is_compared);
    return has_any && job->tuning->options.run != TUNE_NOTHING;
}

static int run_job(struct tune_job *job)
{
    char machine[POLICY_LINE_BYTES];
    int rc = list_ops(job);

    if (rc < 0)
        return rc;
    tune_machine(machine);
    if (look_up(job, machine)) {
        rc = tune_time(job);
        if (rc == 0)
            rc = compare_timed(job);
        if (rc == 0)
            rc = keep(job, machine);
    }
    if (rc == 0)
        rc = apply(job);
    if (rc == 0 && (has_news(job) || job->tuning->is_missing))
        rc = keep(job, machine);
    if (rc == 0 && job->tuning->options.out)
        tune_print(job);
    return rc;
}

static int choose_kernels(struct kernel_chooser *chooser, const struct graph *graph,
                          struct bound_step *steps, uint32_t count, const struct layout *layouts,
                          struct diag *diag)
{
    struct tuning *tuning = (struct tuning *)chooser;
    struct tune_job job = {
        .tuning = tuning,
        .graph = graph,
        .steps = steps,
        .step_count = count,
        .layouts = layouts,
        .batch = batch_of(graph),
        .diag = diag,
    };
    int rc;

    pthread_mutex_lock(&tuning->lock);
    rc = run_job(&job);
    pthread_mutex_unlock(&tuning->lock);
    for (size_t i = 0; i < job.ops.count; i++) {
        free(job.ops.items[i].key);
        subject_deinit(&job.ops.items[i].subject);
    }
    array_deinit(&job.ops);
    free(job.step_ops);
    return rc;
}

int tuning_create(const struct tune_options *options, struct kernel_chooser **out_tuning,
                  struct diag *diag)
{
    struct tuning *tuning = calloc(1, sizeof(*tuning));
    int rc = 0;

    if (!tuning)
        return diag_set(diag, -ENOMEM, "out of memory");
    tuning->chooser.choose = choose_kernels;
    tuning->options = *options;
    pthread_mutex_init(&tuning->lock, NULL);
    if (options->policy_path)
        rc = read_policy(tuning, diag);
    *out_tuning = &tuning->chooser;
    if (rc < 0)
        tuning_destroy(out_tuning);
    return rc;
}

void tuning_destroy(struct kernel_chooser **tuning_ptr)
{
    struct tuning *tuning = (struct tuning *)*tuning_ptr;

    *tuning_ptr = NULL;
    if (!tuning)
        return;
    policy_deinit(&tuning->policy);
    pthread_mutex_destroy(&tuning->lock);
    free(tuning);
}
