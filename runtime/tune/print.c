/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: what was chosen and what it is expected to gain, and how far timing is. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "runtime/tune/private.h"

void tune_progress(struct tune_job *job, uint64_t done, uint64_t total)
{
    const struct tune_options *options = &job->tuning->options;

    job->progress.out = options->out;
    job->progress.is_shown = options->out && options->shows_progress;
    progress_share(&job->progress, "timing kernels", done, total);
    if (done >= total)
        progress_end(&job->progress);
}

static const char *options_name(const struct tune_options *options)
{
    if (options->run != TUNE_NOTHING)
        return options->run == TUNE_FAST ? "--fast-run" : "--full-run";
    if (options->policy_path)
        return "--fast-run-algo-policy";
    if (options->batch_equal)
        return "--binary-equal-between-batch";
    return options->reproducible ? "--reproducible" : "--workspace-limit";
}

static void print_candidate(const struct candidate *candidate, bool is_default, bool is_chosen,
                            FILE *out)
{
    text_print(out, "load_and_run:     %s", candidate->version.name);
    if (candidate->time_ns > 0)
        text_print(out, ", %.3f ms%s", (double)candidate->time_ns * 1e-6,
                   candidate->is_slow ? ", given up" : "");
    else if (candidate->is_refused)
        fputs(", cannot be used", out);
    if (candidate->verdict == POLICY_DIFFERS)
        fputs(", differs from the reference", out);
    if (candidate->has_workspace)
        fprintf(out, ", %zu bytes of scratch", candidate->workspace_bytes);
    text_print(out, "%s%s\n", is_default ? ", default" : "", is_chosen ? ", taken" : "");
}

/* What the options other than timing cost: the best there is against what may be taken. */
static void print_cost(const struct tune_op *op, FILE *out)
{
    const struct candidate *best = NULL, *chosen = &op->candidates[op->chosen];

    for (int i = 0; i < op->count; i++)
        if (op->candidates[i].time_ns > 0 && (!best || op->candidates[i].time_ns < best->time_ns))
            best = &op->candidates[i];
    if (best && chosen->time_ns > best->time_ns &&
        (double)chosen->time_ns * 0.97 > (double)best->time_ns)
        text_print(out, "load_and_run:     the options cost it %.3f ms: %s is outside of them\n",
                   (double)(chosen->time_ns - best->time_ns) * 1e-6, best->version.name);
}

static void print_op(const struct tune_job *job, const struct tune_op *op)
{
    const struct exec_step *info = &job->steps[op->first_step].info;
    FILE *out = job->tuning->options.out;

    text_print(out, "load_and_run:   %s (%s)", info->name, info->type);
    if (op->step_count > 1)
        fprintf(out, " and %" PRIu32 " more of its shape", op->step_count - 1);
    text_print(out, "%s:\n", op->is_timed ? "" : op->is_known ? ", known" : ", not timed");
    for (int i = 0; i < op->count; i++)
        print_candidate(&op->candidates[i], i == op->by_default, i == op->chosen, out);
    print_cost(op, out);
}

void tune_print_wrong(const struct tune_job *job, const struct tune_op *op, int candidate)
{
    const struct tune_options *options = &job->tuning->options;
    const struct exec_step *info = &job->steps[op->first_step].info;

    if (options->out)
        text_print(options->out,
                   "load_and_run: %s: %s is not taken for \"%s\" (%s): its output differs from the "
                   "reference's\n",
                   options->policy_path, op->candidates[candidate].version.name, info->name,
                   info->type);
}

/* What the summary counts. */
struct sums {
    uint32_t changed, all; /* steps */
    uint32_t timed, known; /* shapes */
    uint32_t wrong;        /* kernels of shapes */
    double before, after;  /* ns */
};

static void add_op(const struct tune_op *op, struct sums *sums)
{
    const struct candidate *chosen = &op->candidates[op->chosen];
    const struct candidate *usual = op->by_default >= 0 ? &op->candidates[op->by_default] : NULL;

    sums->all += op->step_count;
    sums->changed += op->changed_count;
    sums->timed += op->is_timed;
    sums->known += op->is_known;
    for (int i = 0; i < op->count; i++)
        sums->wrong += op->candidates[i].verdict == POLICY_DIFFERS;
    if (!usual || usual->time_ns == 0 || chosen->time_ns == 0)
        return;
    sums->before += (double)usual->time_ns * op->step_count;
    sums->after += (double)usual->time_ns * (op->step_count - op->changed_count) +
                   (double)chosen->time_ns * op->changed_count;
}

void tune_print(const struct tune_job *job)
{
    const struct tune_options *options = &job->tuning->options;
    struct sums sums = {0};

    for (size_t i = 0; i < job->ops.count; i++)
        if (job->ops.items[i].count > 1 || job->ops.items[i].changed_count > 0)
            add_op(&job->ops.items[i], &sums);
    text_print(options->out,
               "load_and_run: %s: %" PRIu32 " of %" PRIu32 " operators with a choice take another "
               "kernel than by default",
               options_name(options), sums.changed, sums.all);
    if (sums.before > 0)
        fprintf(options->out, ": %.3f ms expected in place of %.3f ms", sums.after * 1e-6,
                sums.before * 1e-6);
    fprintf(options->out, "; %" PRIu32 " shapes timed", sums.timed);
    if (sums.timed > 0)
        fprintf(options->out, " in %.1f s", (double)job->timing_ns * 1e-9);
    fprintf(options->out, ", %" PRIu32 " known", sums.known);
    if (sums.wrong > 0)
        text_print(options->out,
                   ", %" PRIu32 " kernel%s turned down whose output differs from the reference's",
                   sums.wrong, sums.wrong == 1 ? "" : "s");
    fputc('\n', options->out);
    for (size_t i = 0; options->is_verbose && i < job->ops.count; i++)
        if (job->ops.items[i].count > 1)
            print_op(job, &job->ops.items[i]);
}
