/* SPDX-License-Identifier: Apache-2.0 */
/* Timing runs of a model: one thread, or several that each load it. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/text.h"
#include "runtime/exec/layout_format.h"
#include "runtime/graph/run_limits.h"
#include "runtime/graph/text.h"
#include "runtime/modes/mem_info.h"
#include "runtime/modes/model_info.h"
#include "runtime/modes/profile.h"
#include "runtime/modes/tell.h"
#include "runtime/ops/extern_library.h"
#include "runtime/passes/pass.h"
#include "runtime/run.h"

/* One thread's work. */
struct worker {
    const struct run_config *config;
    uint32_t number;
    FILE *out; /* where its lines go; NULL for none */
    struct report *report;
    struct session *session;
    struct trace *trace;
    struct profile *profile;
    struct run_tools tools;
    bool has_computed; /* a run */
    struct diag diag;
    int result;
};

static int note_inputs(struct worker *worker)
{
    const struct graph *graph = worker->session->graph;
    struct report *report = worker->report;

    report->inputs = calloc(graph->input_count + 1, sizeof(*report->inputs));
    if (!report->inputs)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const struct value *value = graph->inputs[i];

        report->inputs[i] = (struct report_input){
            .name = strdup(value->name),
            .dtype = value->dtype,
            .shape = value->shape,
            .is_made_up = !input_find(graph, worker->config->inputs, i),
        };
        if (!report->inputs[i].name)
            return -ENOMEM;
        report->input_count++;
    }
    return 0;
}

static int note_session(struct worker *worker)
{
    struct session *session = worker->session;
    struct report *report = worker->report;
    uint64_t *const bytes[] = {[EXEC_MEMORY_INPUTS] = &report->input_bytes,
                               [EXEC_MEMORY_ARENA] = &report->arena_bytes,
                               [EXEC_MEMORY_WEIGHTS] = &report->weight_bytes,
                               [EXEC_MEMORY_DEVICE] = &report->device_bytes};

    report->load_ns = session->load_ns;
    report->prepare_ns = session->prepare_ns;
    report->source_node_count = session->source_node_count;
    report->step_count = exec_step_count(session->exec);
    report->threads = exec_threads(session->exec);
    for (uint32_t i = 0; i < exec_chunk_count(session->exec); i++)
        *bytes[exec_chunk(session->exec, i)->what] += exec_chunk(session->exec, i)->bytes;
    for (uint32_t i = 0; i < session->graph->value_count; i++) {
        const struct value *value = session->graph->values[i];

        if (value->data)
            report->weight_bytes += (uint64_t)shape_bytes(&value->shape, value->dtype);
    }
    return note_inputs(worker);
}

/* On stderr, once: what a reader of the figures must know. */
static void tell_inputs(const struct worker *worker)
{
    const char *notice = worker->session->graph->notice;
    char text[SHAPE_TEXT_BYTES];

    if (notice)
        text_print(stderr, "load_and_run: %s\n", notice);
    for (uint32_t i = 0; i < worker->report->input_count; i++) {
        const struct report_input *input = &worker->report->inputs[i];

        if (input->is_made_up)
            text_print(stderr,
                       "load_and_run: input '%s' (%s %s) has no data, using random numbers (seed "
                       "%" PRIu64 ")\n",
                       input->name, dtype_name(input->dtype), shape_text(&input->shape, text),
                       worker->config->seed);
    }
}

static void tell_steps(const struct worker *worker)
{
    const struct exec *exec = worker->session->exec;
    const struct report *report = worker->report;
    char weights[AMOUNT_BYTES], arena[AMOUNT_BYTES];

    text_print(stderr,
               "load_and_run: %u nodes in the model, %u after optimisation, %u steps; %s weights, "
               "%s activations; %u threads\n",
               report->source_node_count, worker->session->graph->node_count, report->step_count,
               amount_format_bytes(weights, sizeof(weights), (double)report->weight_bytes),
               amount_format_bytes(arena, sizeof(arena), (double)report->arena_bytes),
               report->threads);
    for (uint32_t i = 0; i < exec_step_count(exec); i++) {
        const struct exec_step *step = exec_step(exec, i);

        text_print(stderr, "load_and_run: step %u: %s (%s) by %s, %zu bytes of scratch\n", i,
                   step->name, step->type, step->implementation, step->workspace_bytes);
    }
}

/* Nodes of the optimised graph with something fused into them. */
static uint32_t count_fused(const struct graph *graph, bool with_residual)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct fused *fused = &graph->nodes[i]->fused;

        count += with_residual ? fused->residual_input >= 0 : fused->activation != ACTIVATION_NONE;
    }
    return count;
}

static uint32_t count_of_library(const struct graph *graph)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->node_count; i++)
        count += extern_op_is(graph->nodes[i]);
    return count;
}

static uint32_t count_of_batch(const struct graph *graph, int64_t batch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->input_count; i++)
        count += graph->inputs[i]->shape.rank > 0 && graph->inputs[i]->shape.dims[0] == batch;
    return count;
}

/* Operators that the plan in the model's metadata names. */
static uint32_t count_told_layouts(const struct graph *graph)
{
    uint8_t *formats = calloc((size_t)graph->node_count + 1, sizeof(*formats));
    struct diag nothing = {0};
    uint32_t count = 0;

    if (formats && format_parse(graph->layouts, graph, formats, &nothing) == 0)
        for (uint32_t i = 0; i < graph->node_count; i++)
            count += formats[i] != FORMAT_BY_RULE;
    free(formats);
    return count;
}

static void tell_effect(bool is_wanted, const char *option, uint32_t count, const char *effect)
{
    if (is_wanted)
        text_print(stderr, "load_and_run: --%s: %u operators %s\n", option, count, effect);
}

/* How many of the model's operators are in fused ones of this type, and how many those are. */
static void tell_merged(const struct worker *worker, bool is_wanted, const char *option,
                        const char *op_type, const char *what)
{
    const struct graph *graph = worker->session->graph;
    uint32_t merged = 0, parts = 0;
    char effect[100];

    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (strcmp(graph->nodes[i]->op_type, op_type) != 0)
            continue;
        merged++;
        parts += graph->nodes[i]->origin_count;
    }
    snprintf(effect, sizeof(effect), "are computed together, in %u %s", merged, what);
    tell_effect(is_wanted, option, parts, effect);
}

/* How many operators make what the size of a tensor depends on. */
static uint32_t count_deciding(const struct graph *graph)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct value *out = node_output(graph->nodes[n], 0);

        count += out && out->decides_sizes && out->dtype == DTYPE_F32;
    }
    return count;
}

/* What a processor does with numbers of this type. */
static const char *half_means(enum dtype dtype)
{
    if (dtype == DTYPE_BF16)
        return kernel_multiplies_bf16()
                   ? "convolutions and products by the processor's products of "
                     "bfloat16, others after converting them by shifts"
                   : "after converting them by shifts";
    return kernel_best_level() >= KERNEL_LEVEL_AVX2 ? "after converting them by F16C instructions"
                                                    : "after converting them by software";
}

/* How many operators have a tensor of this type, and how it is converted. */
static void tell_half(const struct worker *worker)
{
    const struct graph *graph = worker->session->graph;
    enum dtype dtype = worker->config->passes.half;
    bool is_on_device = exec_device_facts(worker->session->exec).description != NULL;
    uint32_t deciding = count_deciding(graph);

    if (dtype == DTYPE_NONE)
        return;
    text_print(stderr, "load_and_run: --%s: %u operators read or write tensors stored in %s",
               dtype == DTYPE_BF16 ? "bf16" : "fp16", pass_half_count(graph, dtype),
               dtype_name(dtype));
    text_print(stderr, "%s%s\n", is_on_device ? "" : "; all compute in float32, ",
               is_on_device ? "" : half_means(dtype));
    if (deciding > 0)
        text_print(
            stderr,
            "load_and_run: --%s: %u operators stay in float32, as sizes of tensors depend on "
            "what they compute\n",
            dtype == DTYPE_BF16 ? "bf16" : "fp16", deciding);
}

/* On how many operators each option took effect. */
static void tell_effects(const struct worker *worker)
{
    char text[AMOUNT_BYTES];
    const struct run_config *config = worker->config;
    const struct exec *exec = worker->session->exec;
    const struct graph *graph = worker->session->graph;
    uint32_t weights = 0;

    for (uint32_t i = 0; i < exec_chunk_count(exec); i++)
        weights += exec_chunk(exec, i)->what == EXEC_MEMORY_WEIGHTS;
    run_tell_device(exec, config->exec.streams);
    tell_effect(config->effects.inference, "optimize-for-inference",
                worker->session->source_node_count - graph->node_count,
                "of the model were folded into others or are not needed");
    tell_effect(config->effects.nonlinearity, "enable-fuse-conv-bias-nonlinearity",
                count_fused(graph, false), "compute their activation, too");
    tell_effect(config->effects.z, "enable-fuse-conv-bias-with-z", count_fused(graph, true),
                "add a residual, too");
    tell_half(worker);
    tell_merged(worker, config->effects.preprocess, "enable-fuse-preprocess", PREPROCESS_OP_TYPE,
                "passes over inputs");
    tell_merged(worker, config->effects.jit, "enable-jit", CHAIN_OP_TYPE,
                "chains (no code is generated)");
    tell_effect(config->effects.weights, "weight-preprocess", weights,
                "have their weights laid out before the first run");
    tell_effect(config->effects.shapes, "const-shape", graph->node_count,
                "have shapes that were inferred once and for all");
    if (graph->layouts && !layout_chooser_is_asked(config->exec.layouts, graph))
        fprintf(stderr,
                "load_and_run: %u operators compute in the layout that the model's metadata says\n",
                count_told_layouts(graph));
    tell_effect(config->effects.library, "c-opr-lib", count_of_library(graph),
                "are computed by the library");
    if (config->exec.is_recorded)
        run_tell_recorded(exec, config->frees_graph, run_tools_go_stepwise(&config->tools));
    if (config->effects.sharing)
        run_tell_sharing(graph);
    if (config->batch_size > 0)
        fprintf(stderr,
                "load_and_run: --batch-size: the first dimension of %u inputs is %" PRId64 "\n",
                count_of_batch(graph, config->batch_size), config->batch_size);
    if (config->fake_first)
        text_print(
            stderr,
            "load_and_run: --fake-first: the first run hands over %u operators, computes none "
            "and touches %s\n",
            exec_step_count(exec),
            amount_format_bytes(text, sizeof(text), (double)exec_touched_bytes(exec)));
    if (config->exec.is_lavish)
        text_print(
            stderr,
            "load_and_run: --disable-mem-opt: %u tensors and scratches share no memory, %s\n",
            exec_block_count(exec),
            amount_format_bytes(text, sizeof(text), (double)exec_arena_bytes(exec)));
}

static void show_info(struct worker *worker)
{
    struct session *session = worker->session;

    if (worker->out) {
        model_info_write(session->graph, worker->out);
        fputs("\nbefore optimisation:\n", worker->out);
        text_put_page(session->text_before, worker->out);
        fputs("\nafter optimisation:\n", worker->out);
        text_put_page(session->text_after, worker->out);
        fputc('\n', worker->out);
        return;
    }
    worker->report->text_before = session->text_before;
    worker->report->text_after = session->text_after;
    session->text_before = NULL; /* ownership moved to the report */
    session->text_after = NULL;
}

/* A run that computes, with all that looks at it. */
static int compute(struct worker *worker, bool is_warmup, struct session_times *out_times)
{
    int rc = 0;

    if (worker->profile)
        rc = profile_run_begin(worker->profile, is_warmup);
    if (rc == 0)
        rc = worker->tools.is_active ? run_tools_run(&worker->tools, out_times, &worker->diag)
                                     : session_run(worker->session, out_times, &worker->diag);
    if (rc == 0)
        rc = run_tools_finish(&worker->tools, worker->session, &worker->diag);
    if (rc == 0 && worker->profile)
        rc = profile_run_end(worker->profile, out_times);
    return rc;
}

/* The first of them, where that is wanted. */
static int compute_checked(struct worker *worker, bool is_warmup, struct session_times *out_times)
{
    const struct run_config *config = worker->config;
    struct sanity *sanity = NULL;
    struct sanity_result result = {0};
    int rc = 0, check;

    if (!worker->has_computed && sanity_is_due(config->sanity, worker->session->graph))
        rc = sanity_create(worker->session, &sanity, &worker->diag);
    worker->has_computed = true;
    if (rc == 0)
        rc = compute(worker, is_warmup, out_times);
    if (!sanity)
        return rc;
    check = sanity_finish(&sanity, &result, &worker->diag);
    if (rc == 0 && check == 0 && worker->number == 0)
        run_tell_sanity(config->sanity, &result);
    return rc < 0 ? rc : check;
}

static int run_once(struct worker *worker, bool is_warmup, struct session_times *out_times)
{
    struct times_array *list = is_warmup ? &worker->report->warmups : &worker->report->runs;
    bool is_fake = worker->config->fake_first && worker->report->warmups.count == 0;
    int rc = limits_check_time(&worker->diag); /* of a model without steps, too */

    if (rc < 0)
        return rc;
    trace_run_begin(worker->trace, is_warmup);
    if (is_fake)
        session_run_fake(worker->session, out_times);
    else
        rc = compute_checked(worker, is_warmup, out_times);
    trace_run_end(worker->trace);
    return rc == 0 ? array_push(list, *out_times) : rc;
}

static int run_warmups(struct worker *worker)
{
    uint64_t mark = ot_clock_ns(CLOCK_MONOTONIC) - worker->session->prepare_ns;
    struct session_times times;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < worker->config->warmup_count; i++) {
        if (worker->out)
            report_prepared(worker->out, ot_clock_ns(CLOCK_MONOTONIC) - mark);
        rc = run_once(worker, true, &times);
        if (rc == 0 && worker->out)
            report_warmup(worker->out, i, &times);
        mark = ot_clock_ns(CLOCK_MONOTONIC);
    }
    return rc;
}

static int run_all(struct worker *worker)
{
    uint64_t count = worker->config->run_count;
    struct session_times times;
    int rc = run_warmups(worker);

    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = run_once(worker, false, &times);
        if (rc == 0 && worker->out)
            report_run(worker->out, i, count, &times);
    }
    if (rc == 0 && worker->out)
        rc = report_finished(worker->out, worker->report);
    return rc;
}

static int describe_graph(const struct graph *graph, struct exec *exec, FILE *out)
{
    graph_text_write(graph, out);
    return 0;
}

/* Whether something beside the runs looks at constants. */
static bool looks_at_constants(const struct run_config *config)
{
    const struct run_tools_config *tools = &config->tools;

    return config->model_info || config->mem_info_folder || config->profile_path ||
           config->frees_graph || tools->trace_eval != 0 || io_dump_is_wanted(&tools->dump) ||
           tools->range > 0 || tools->check_var_value;
}

static int work(struct worker *worker)
{
    const struct run_config *config = worker->config;
    struct session_config session_config = {.inputs = config->inputs,
                                            .seed = config->seed,
                                            .exec = config->exec,
                                            .passes = config->passes,
                                            .copy_to_host = config->copy_to_host,
                                            .frees_packed = !looks_at_constants(config),
                                            .describe = config->model_info ? describe_graph : NULL};
    bool defers = config->passes.half != DTYPE_NONE && !config->model_info;
    int rc = session_load(config->path, config->effects.sharing, defers, config->inputs,
                          &worker->session, &worker->diag);

    if (rc == 0)
        rc = session_prepare(worker->session, &session_config, &worker->diag);
    if (rc == 0)
        rc = note_session(worker);
    if (rc < 0)
        return rc;
    if (worker->number == 0)
        tell_inputs(worker);
    if (worker->number == 0)
        tell_effects(worker);
    if (worker->number == 0 && config->verbose)
        tell_steps(worker);
    if (worker->number == 0 && config->model_info)
        show_info(worker);
    if (worker->number == 0 && config->mem_info_folder)
        rc = mem_info_write(worker->session, config->mem_info_folder, worker->out, &worker->diag);
    if (rc < 0)
        return rc;
    if (worker->out)
        report_loaded(worker->out, worker->report);
    if (config->profile_path)
        rc = profile_create(worker->session, &worker->profile, &worker->diag);
    if (rc == 0)
        rc = run_tools_init(&worker->tools, &config->tools, worker->session,
                            worker->out ? worker->out : stderr, &worker->diag);
    /* The last that can go wrong before it runs, for then there is a session. */
    if (rc == 0 && config->trace)
        rc = trace_open(worker->session, worker->number, config->trace_detail, &worker->trace,
                        &worker->diag);
    if (rc == 0 && config->frees_graph)
        run_free_graph(worker->session, worker->number == 0);
    if (rc == 0)
        rc = run_all(worker);
    if (rc == 0 && worker->profile)
        rc = profile_write(worker->profile, config->profile_device, config->profile_path,
                           &worker->diag);
    if (rc == 0 && worker->number == 0)
        run_tell_times(worker->session->exec);
    if (rc == 0 && worker->number == 0)
        run_tell_resized(worker->session->exec);
    return rc;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    char name[16];
    int rc;

    if (worker->config->thread_count > 1) { /* the only one is the program's own thread */
        snprintf(name, sizeof(name), "run %u", worker->number);
        pthread_setname_np(pthread_self(), name);
    }
    worker->result = work(worker);
    rc = run_tools_deinit(&worker->tools, &worker->diag);
    worker->result = worker->result < 0 ? worker->result : rc;
    if (worker->result == -ENOMEM)
        diag_set(&worker->diag, -ENOMEM, "out of memory");
    trace_close(&worker->trace);
    /* The execution ends first: it holds an observer that points to the profile. */
    session_destroy(&worker->session);
    profile_destroy(&worker->profile);
    return NULL;
}

/* Several threads print into memory, which is shown thread by thread. */
struct page {
    char *text;
    size_t size;
};

static int start_workers(const struct run_config *config, struct worker *workers,
                         struct page *pages, pthread_t *threads)
{
    uint32_t started = 0;
    int rc = 0;

    for (; started < config->thread_count && rc == 0; started++) {
        struct worker *worker = &workers[started];

        if (!config->json) {
            worker->out = open_memstream(&pages[started].text, &pages[started].size);
            if (!worker->out) {
                rc = -ENOMEM;
                break;
            }
        }
        rc = -pthread_create(&threads[started], NULL, run_worker, worker);
        if (rc < 0)
            break;
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return rc;
}

static void show_pages(const struct run_config *config, const struct worker *workers,
                       struct page *pages)
{
    for (uint32_t i = 0; i < config->thread_count; i++) {
        if (!workers[i].out)
            continue;
        fclose(workers[i].out);
        if (pages[i].size > 0) {
            printf("thread %u:\n", i);
            text_put_page(pages[i].text, stdout);
        }
        free(pages[i].text);
    }
}

static int run_threads(const struct run_config *config, struct worker *workers, struct diag *diag)
{
    struct page *pages = calloc(config->thread_count, sizeof(*pages));
    pthread_t *threads = calloc(config->thread_count, sizeof(*threads));
    int rc = -ENOMEM;

    if (pages && threads) {
        rc = start_workers(config, workers, pages, threads);
        show_pages(config, workers, pages);
    }
    free(pages);
    free(threads);
    return rc < 0 ? diag_set(diag, rc, "cannot start %u threads: %s", config->thread_count,
                             strerror(-rc))
                  : 0;
}

int run_model(const struct run_config *config, struct report *out_reports, struct diag *diag)
{
    struct worker *workers = calloc(config->thread_count, sizeof(*workers));
    int rc = 0;

    if (!workers)
        return diag_set(diag, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < config->thread_count; i++) {
        workers[i] = (struct worker){.config = config, .number = i, .report = &out_reports[i]};
        out_reports[i] = (struct report){0};
    }
    if (config->thread_count == 1) {
        workers[0].out = config->json ? NULL : stdout;
        run_worker(&workers[0]);
    } else {
        rc = run_threads(config, workers, diag);
    }
    for (uint32_t i = 0; rc == 0 && i < config->thread_count; i++) {
        rc = workers[i].result;
        if (rc < 0)
            diag_set(diag, rc, "%s", workers[i].diag.text);
    }
    free(workers);
    return rc;
}
