/* SPDX-License-Identifier: Apache-2.0 */
/* Labels by the phase that they are for. */
#include "analyze/metrics/model_phases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/containers/interval_list.h"

const char *const model_phase_names[] = {
    [MODEL_STEP] = "ProfilerStep",         [MODEL_DATA_LOADER] = "DataLoader",
    [MODEL_FORWARD] = "Forward",           [MODEL_BACKWARD] = "Backward",
    [MODEL_OPTIMIZATION] = "Optimization", [MODEL_OTHERS] = "Others",
};

static bool holds(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (; *text; text++) {
        if (strncasecmp(text, word, length) == 0)
            return true;
    }
    return false;
}

enum model_phase model_phase_of(const char *label)
{
    static const struct {
        const char *word;
        enum model_phase phase;
    } words[] = {
        {"ProfilerStep", MODEL_STEP},         {"ProfileStep", MODEL_STEP},
        {"DataLoader", MODEL_DATA_LOADER},    {"Optimizer.", MODEL_OPTIMIZATION},
        {"Optimization", MODEL_OPTIMIZATION}, {"backward", MODEL_BACKWARD},
        {"forward", MODEL_FORWARD},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (holds(label, words[i].word))
            return words[i].phase;
    }
    return MODEL_PHASES;
}

struct finding {
    const struct spans_answer *spans;
    struct model_phases *out;
    uint8_t *phase_of; /* by host span: the innermost phase that is no step, or MODEL_PHASES */
    bool *in_step;     /* by host span */
    struct interval_array lists[MODEL_PHASES];
};

/* One that is in several parts counts in the first of them, and takes time in each. */
static int add_label(struct finding *finding, const struct span *span, enum model_phase phase)
{
    struct model_phase_times *times = &finding->out->phases[phase];
    const struct span_time time = span_time_of_part(finding->spans, span);
    const struct interval here = {time.start_ns, time.end_ns};
    double dur_ns = (double)span->dur_ns;

    if (span->frame == SPAN_FRAME_AGAIN)
        return array_push(&finding->lists[phase], here);
    times->min_ns = times->calls ? fmin(times->min_ns, dur_ns) : dur_ns;
    times->max_ns = fmax(times->max_ns, dur_ns);
    times->total_ns += dur_ns;
    times->calls++;
    return array_push(&finding->lists[phase], here);
}

static int find_labels(struct finding *finding)
{
    const struct spans_answer *spans = finding->spans;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        enum model_phase phase = MODEL_PHASES, outer = MODEL_PHASES;
        bool in_step = false;

        if (span->parent != SPAN_NONE) {
            outer = (enum model_phase)finding->phase_of[span->parent];
            in_step = finding->in_step[span->parent];
        }
        if (spans->op_kinds[span->op] == SPAN_LABEL && span->is_shown &&
            !span_is_device(spans, span))
            phase = model_phase_of(spans->ops.items[span->op].name);
        if (phase != MODEL_PHASES && phase != outer && !(phase == MODEL_STEP && in_step))
            rc = add_label(finding, span, phase);
        finding->in_step[i] = in_step || phase == MODEL_STEP;
        finding->phase_of[i] =
            (uint8_t)(phase == MODEL_PHASES || phase == MODEL_STEP ? outer : phase);
    }
    return rc;
}

/* The phase in which work was launched: by the labels around the launch, or, where other threads
 * launch what a label asks for (autograd's), by the time of the launch. */
static enum model_phase launch_phase(const struct finding *finding, uint32_t launch)
{
    int64_t start_ns = finding->spans->spans.items[launch].start_ns;

    if (finding->phase_of[launch] != MODEL_PHASES)
        return (enum model_phase)finding->phase_of[launch];
    for (int i = MODEL_STEP + 1; i < MODEL_OTHERS; i++) {
        if (interval_list_has(&finding->lists[i], start_ns))
            return (enum model_phase)i;
    }
    return MODEL_OTHERS;
}

static void add_device_time(struct finding *finding)
{
    const struct spans_answer *spans = finding->spans;
    struct model_phase_times *phases = finding->out->phases;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        enum model_phase phase;
        bool in_step;

        if (!span->is_shown || !span_is_device(spans, span) || span->launch == SPAN_NONE ||
            spans->op_kinds[span->op] != SPAN_OP)
            continue;
        phase = launch_phase(finding, span->launch);
        in_step = interval_list_has(&finding->lists[MODEL_STEP],
                                    spans->spans.items[span->launch].start_ns);
        if (phase != MODEL_OTHERS || in_step)
            phases[phase].device_ns += (double)span->dur_ns;
        if (in_step)
            phases[MODEL_STEP].device_ns += (double)span->dur_ns;
    }
}

static int measure_unions(struct finding *finding)
{
    struct model_phase_times *phases = finding->out->phases;
    struct interval_array inner = {0};
    int rc = 0;

    for (int i = 0; i < MODEL_PHASES && rc == 0; i++) {
        interval_list_join(&finding->lists[i]);
        phases[i].union_ns = interval_list_length(&finding->lists[i]);
        if (i != MODEL_STEP)
            rc = interval_list_unite(&inner, &finding->lists[i]);
    }
    phases[MODEL_OTHERS].union_ns =
        phases[MODEL_STEP].union_ns - interval_list_common(&finding->lists[MODEL_STEP], &inner);
    phases[MODEL_OTHERS].total_ns = phases[MODEL_OTHERS].union_ns;
    array_deinit(&inner);
    return rc;
}

int model_phases_find(const struct spans_answer *spans, struct model_phases *out_phases)
{
    size_t count = spans->spans.count ? spans->spans.count : 1;
    struct finding finding = {
        .spans = spans,
        .out = out_phases,
        .phase_of = malloc(count),
        .in_step = calloc(count, sizeof(*finding.in_step)),
    };
    int rc = finding.phase_of && finding.in_step ? 0 : -ENOMEM;

    *out_phases = (struct model_phases){0};
    if (rc == 0)
        rc = find_labels(&finding);
    if (rc == 0)
        rc = measure_unions(&finding);
    if (rc == 0)
        add_device_time(&finding);
    out_phases->has_steps = out_phases->phases[MODEL_STEP].calls > 0;
    for (int i = MODEL_STEP + 1; i < MODEL_OTHERS; i++)
        out_phases->has_phases |= out_phases->phases[i].calls > 0;
    for (int i = 0; i < MODEL_PHASES; i++)
        array_deinit(&finding.lists[i]);
    free(finding.phase_of);
    free(finding.in_step);
    return rc;
}

bool model_phases_has_any(const struct spans_answer *spans, const struct query_cover *cover)
{
    for (size_t i = 0; i < cover->ops.count; i++) {
        const struct query_cover_op *op = &cover->ops.items[i];

        if (op->side == OP_HOST && spans->op_kinds[op->op] == SPAN_LABEL &&
            model_phase_of(spans->ops.items[op->op].name) != MODEL_PHASES)
            return true;
    }
    return false;
}

void model_phases_add(struct model_phases *into, const struct model_phases *part)
{
    for (int i = 0; i < MODEL_PHASES; i++) {
        struct model_phase_times *sum = &into->phases[i];
        const struct model_phase_times *times = &part->phases[i];

        if (times->calls && (!sum->calls || times->min_ns < sum->min_ns))
            sum->min_ns = times->min_ns;
        sum->max_ns = fmax(sum->max_ns, times->max_ns);
        sum->calls += times->calls;
        sum->total_ns += times->total_ns;
        sum->union_ns += times->union_ns;
        sum->device_ns += times->device_ns;
    }
    into->has_steps |= part->has_steps;
    into->has_phases |= part->has_phases;
}
