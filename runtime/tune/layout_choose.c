/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of layouts: the graph as the search wants it, what the rules would do, what is said. */
#include "runtime/tune/layout_choose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/exec/backend.h"
#include "runtime/graph/fused_ops.h"
#include "runtime/tune/layout_private.h"

/* Another choice than the rules' is taken when it saves this share of their time: less is noise. */
static const double worth = 0.03;

/* The graph in the search's words; the lists of all nodes lie in one piece of memory. */
struct model {
    struct search search;
    struct search_value *values;
    struct search_node *nodes;
    uint32_t *lists;
    bool *follows;
};

static void free_model(struct model *model)
{
    free(model->values);
    free(model->nodes);
    free(model->lists);
    free(model->follows);
}

/* A tensor that can lie in memory in two ways. */
static uint32_t number_of(const struct layout_job *job, const struct value *value)
{
    return value && job->value_trials[value->index] != SEARCH_NONE ? value->index : SEARCH_NONE;
}

/* What is channels-last need not move for this. */
static bool takes_channels_last(const struct node *node)
{
    struct layout layout = layout_channels_last(node->inputs[0]->shape.rank), shown;

    return !call_is_view(node) ||
           layout_reshape(&node->inputs[0]->shape, &layout, &node->outputs[0]->shape, &shown);
}

static void set_node(const struct layout_job *job, const struct node *node,
                     struct search_node *out_node, bool *follows)
{
    uint32_t trial_index = job->node_trials[node->index];
    bool is_through = layout_passes_through(node) && node_input(node, 0);

    out_node->can[0] = true;
    if (trial_index != SEARCH_NONE) {
        const struct layout_trial *trial = &job->trials.items[trial_index];
        struct layout *inputs = trial->subjects[1].input_layouts;

        out_node->can[1] = true;
        for (int i = 0; i < SEARCH_LAYOUTS; i++)
            out_node->cost[i] = (double)trial->times_ns[i];
        for (uint32_t i = 0; i < node->input_count; i++)
            follows[i] =
                node->inputs[i] && !layout_is_row_major(&inputs[i], &node->inputs[i]->shape);
    } else if (is_through) {
        out_node->can[1] = takes_channels_last(node);
        follows[0] = true;
    }
}

static int make_model(const struct layout_job *job, struct model *model)
{
    const struct graph *graph = job->graph;
    size_t total = 1;
    uint32_t *list;
    bool *follows;

    for (uint32_t i = 0; i < graph->node_count; i++)
        total += graph->nodes[i]->input_count + graph->nodes[i]->output_count;
    model->values = calloc((size_t)graph->value_count + 1, sizeof(*model->values));
    model->nodes = calloc((size_t)graph->node_count + 1, sizeof(*model->nodes));
    model->lists = list = calloc(total, sizeof(*model->lists));
    model->follows = follows = calloc(total, sizeof(*model->follows));
    if (!model->values || !model->nodes || !model->lists || !model->follows)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        uint32_t trial = job->value_trials[i];

        model->values[i].is_output = value->is_output && value->producer;
        for (int k = 0; trial != SEARCH_NONE && k < SEARCH_LAYOUTS; k++)
            model->values[i].move[k][1 - k] = (double)job->trials.items[trial].times_ns[k];
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        struct search_node *out = &model->nodes[i];

        *out = (struct search_node){.reads = list,
                                    .follows = follows,
                                    .read_count = node->input_count,
                                    .makes = list + node->input_count,
                                    .make_count = node->output_count};
        set_node(job, node, out, follows);
        for (uint32_t k = 0; k < node->input_count; k++)
            *list++ = number_of(job, node->inputs[k]);
        for (uint32_t k = 0; k < node->output_count; k++)
            *list++ = number_of(job, node->outputs[k]);
        follows += node->input_count;
    }
    model->search =
        (struct search){model->values, graph->value_count, model->nodes, graph->node_count};
    return 0;
}

/* What computes something else is not chosen. Returns whether the rules would have. */
static bool drop_wrong(const struct layout_job *job, const struct model *model,
                       const uint8_t *rules)
{
    bool has_any = false;

    for (uint32_t i = 0; i < job->graph->node_count; i++) {
        uint32_t trial = job->node_trials[i];

        for (int k = 0; trial != SEARCH_NONE && k < SEARCH_LAYOUTS; k++)
            model->nodes[i].can[k] = job->trials.items[trial].can[k];
        has_any = has_any || !model->nodes[i].can[rules[i]];
    }
    return has_any;
}

/* What exec/bind_node.c does by itself: convolutions want channels-last, what comes after them
 * takes what it gets. */
static void follow_rules(const struct layout_job *job, const struct model *model, uint8_t *layouts)
{
    const struct graph *graph = job->graph;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool is_preprocess = !job->backend && strcmp(node->op_type, PREPROCESS_OP_TYPE) == 0;
        uint32_t trial = job->node_trials[i];

        layouts[i] = 0;
        if (!model->nodes[i].can[1])
            continue;
        if ((trial != SEARCH_NONE && job->trials.items[trial].subjects[0].is_plan) || is_preprocess)
            layouts[i] = 1;
        for (uint32_t k = 0; k < node->input_count && layouts[i] == 0; k++) {
            const struct value *x = node->inputs[k];

            if (x && x->producer && model->nodes[i].follows[k] && x->producer->outputs[0] == x &&
                layouts[x->producer->index] == 1)
                layouts[i] = 1;
            if (call_layout_need(node) != LAYOUT_ANY)
                break;
        }
    }
}

static const char *option_of(const struct layout_choice *choice)
{
    return choice->option ? choice->option : "--layout-transform";
}

static void print(const struct layout_choice *choice, const struct layout_job *job,
                  const uint8_t *formats, double before, double after, bool is_exact)
{
    const struct graph *graph = job->graph;
    /* On a device it is said of all, because the next operator follows. */
    const enum format by_rule = job->backend ? FORMAT_ROW_MAJOR : FORMAT_BY_RULE;
    uint32_t both = 0, other = 0, shapes = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        both += job->node_trials[i] != SEARCH_NONE;
        other += formats[i] != FORMAT_BY_RULE && formats[i] != by_rule;
    }
    for (size_t i = 0; i < job->trials.count; i++)
        shapes += job->trials.items[i].subjects[0].request.node != NULL;
    text_print(
        choice->out,
        "load_and_run: %s: %" PRIu32 " of %" PRIu32
        " operators that know two layouts compute in another than by rule: %.3f ms expected in "
        "place of %.3f ms; %" PRIu32 " shapes timed in %.1f s%s",
        option_of(choice), other, both, after * 1e-6, before * 1e-6, shapes,
        (double)job->timing_ns * 1e-9,
        is_exact ? "" : "; there may be a better choice, the search was cut");
    if (job->recalled > 0)
        text_print(choice->out, ", %" PRIu32 " of them and of moves before", job->recalled);
    if (job->wrong_count > 0)
        text_print(choice->out,
                   ", %" PRIu32 " kernel%s turned down whose output differs from the reference's",
                   job->wrong_count, job->wrong_count == 1 ? "" : "s");
    fputc('\n', choice->out);
    for (uint32_t i = 0; choice->is_verbose && i < graph->node_count; i++) {
        const struct layout_trial *trial;

        if (job->node_trials[i] == SEARCH_NONE)
            continue;
        trial = &job->trials.items[job->node_trials[i]];
        text_print(
            choice->out,
            "load_and_run:   %s (%s): row-major %.3f ms by %s, channels-last %.3f ms by %s%s%s\n",
            graph->nodes[i]->name, graph->nodes[i]->op_type, (double)trial->times_ns[0] * 1e-6,
            trial->calls[0].version, (double)trial->times_ns[1] * 1e-6, trial->calls[1].version,
            formats[i] != FORMAT_BY_RULE ? ", now " : "", format_name((enum format)formats[i]));
    }
}

static int search_best(const struct layout_choice *choice, struct layout_job *job,
                       uint8_t *out_formats)
{
    uint32_t count = job->graph->node_count;
    uint8_t *rules = calloc((size_t)count + 1, 1), *best = calloc((size_t)count + 1, 1);
    struct model model = {0};
    double before = 0.0, after = 0.0;
    bool is_exact = true, is_forced = false;
    int rc = rules && best ? make_model(job, &model) : -ENOMEM;

    if (rc == 0) {
        follow_rules(job, &model, rules);
        rc = search_cost(&model.search, rules, &before);
    }
    if (rc == 0) {
        is_forced = drop_wrong(job, &model, rules);
        rc = search_layouts(&model.search, best, &after, &is_exact);
    }
    if (rc == 0) {
        bool is_worth = is_forced || after < (1.0 - worth) * before;
        bool has_any = false;

        for (uint32_t i = 0; i < count; i++) {
            out_formats[i] = is_worth && job->node_trials[i] != SEARCH_NONE &&
                                     (best[i] != rules[i] || job->backend)
                                 ? layout_format_of(best[i])
                                 : FORMAT_BY_RULE;
            has_any = has_any || (out_formats[i] != FORMAT_BY_RULE && best[i] != rules[i]);
        }
        if (choice->out)
            print(choice, job, out_formats, before, has_any ? after : before, is_exact);
    }
    free_model(&model);
    free(rules);
    free(best);
    return rc < 0 ? diag_set(job->diag, rc, "out of memory") : 0;
}

/* What times on a device depend on, beside what is timed. */
static int write_conditions(const struct device_choice *given, char *out, size_t size)
{
    if (given && given->workspace_limit != UINT64_MAX)
        return snprintf(out, size, "%s within %" PRIu64 " bytes",
                        given->allows_tf32 ? " by TF32" : "", given->workspace_limit);
    return snprintf(out, size, "%s", given && given->allows_tf32 ? " by TF32" : "");
}

static int tell_by_rule(const struct layout_choice *choice, const char *why)
{
    if (choice->out)
        text_print(choice->out, "load_and_run: %s: all images are row-major: %s\n",
                   option_of(choice), why);
    return 0;
}

static int choose_by_time(struct layout_choice *choice, struct layout_job *job,
                          uint8_t *out_formats)
{
    char conditions[64];
    int rc;

    (void)write_conditions(choice->on_device, conditions, sizeof(conditions));
    job->conditions = conditions;
    job->memory = choice->on_device ? choice->on_device->memory : NULL;
    job->only_recalls = choice->only_recalls;
    rc = layout_time(job);
    if (rc == 0 && !job->backend)
        rc = layout_check(job);
    if (rc == -ENOSPC && choice->chooser.yields)
        rc = tell_by_rule(choice, "the device has no room to time them");
    else if (rc == 0 && job->unknown > 0)
        rc = tell_by_rule(choice, "the policy has not all of their times");
    else if (rc == 0 && (job->has_conv || !choice->chooser.yields))
        rc = search_best(choice, job, out_formats);
    layout_time_deinit(job);
    return rc;
}

static int choose_all(const struct layout_choice *choice, const struct layout_job *job,
                      uint8_t *out_formats)
{
    const struct graph *graph = job->graph;
    const enum format format =
        choice->wish == LAYOUT_NHWC ? FORMAT_CHANNELS_LAST : FORMAT_ROW_MAJOR;
    uint32_t count = 0, all = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        struct layout *layouts, y;

        if (node->domain[0] != '\0' || strcmp(node->op_type, "Conv") != 0)
            continue;
        layouts = calloc((size_t)node->input_count + 1, sizeof(*layouts));
        if (!layouts)
            return diag_set(job->diag, -ENOMEM, "out of memory");
        all++;
        if (job->backend ? format_device_layouts(node, format, layouts, &y)
                         : format_layouts(node, format, true, layouts, &y)) {
            out_formats[i] = (uint8_t)format;
            count++;
        }
        free(layouts);
    }
    if (choice->out)
        text_print(choice->out,
                   "load_and_run: %s: %" PRIu32 " of %" PRIu32 " convolutions are to compute on %s "
                   "images\n",
                   option_of(choice), count, all, format_name(format));
    return 0;
}

static int choose(struct layout_choice *choice, struct layout_job *job, uint8_t *out_formats)
{
    const struct graph *graph = job->graph;
    struct diag *diag = job->diag;
    int rc;

    if (choice->text)
        return format_parse(choice->text, graph, out_formats, diag);
    rc = choice->wish == LAYOUT_BY_TIME ? choose_by_time(choice, job, out_formats)
                                        : choose_all(choice, job, out_formats);
    if (rc < 0)
        return rc;
    choice->text = format_text(graph, out_formats);
    return choice->text ? 0 : diag_set(diag, -ENOMEM, "out of memory");
}

static int choose_once(struct layout_chooser *chooser, const struct graph *graph,
                       const struct device_backend *backend, struct device *device,
                       uint8_t *out_formats, struct diag *diag)
{
    struct layout_choice *choice = (struct layout_choice *)chooser;
    struct layout_job job = {.graph = graph, .backend = backend, .device = device, .diag = diag};
    int rc;

    pthread_mutex_lock(&choice->lock);
    rc = choose(choice, &job, out_formats);
    pthread_mutex_unlock(&choice->lock);
    return rc;
}

struct layout_chooser *layout_chooser(struct layout_choice *choice)
{
    choice->chooser.choose = choose_once;
    return &choice->chooser;
}
