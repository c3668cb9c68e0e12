/* SPDX-License-Identifier: Apache-2.0 */
/* --verify: run ONNX test data sets and compare the outputs. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/graph/compare.h"
#include "runtime/modes/tell.h"
#include "runtime/modes/verify.h"
#include "runtime/modes/verify_print.h"
#include "runtime/exec/backend.h"
#include "runtime/modes/verify_tolerance.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/tensor.h"
#include "runtime/session/session.h"

/* One data set at work. */
struct data_set {
    const struct verify_config *config;
    const char *folder;
    struct verify_tolerance tolerance; /* widened once the session is prepared */
    struct verify_tolerance told;      /* with the result: the widest of those that were used */
    struct session *session;
    struct session *kept; /* of the set before, for a set that it fits */
    struct input_list inputs;
    struct verify_printer *printer;
    uint32_t thread; /* number of the one that it runs on */
    bool is_first;   /* of all: effects of options are told */
    struct diag *diag;
};

/* "FOLDER/input_3.pb"; the caller frees it. */
static char *file_path(const char *folder, const char *role, uint32_t index)
{
    char *path;

    return asprintf(&path, "%s/%s_%u.pb", folder, role, index) < 0 ? NULL : path;
}

static bool has_file(const char *folder, const char *role, uint32_t index)
{
    char *path = file_path(folder, role, index);
    bool there = path && access(path, F_OK) == 0;

    free(path);
    return there;
}

/* As many files as the model has inputs (or outputs), no fewer and no more. */
static int check_count(const struct data_set *set, const char *role, uint32_t wanted)
{
    uint32_t count = 0;

    while (has_file(set->folder, role, count))
        count++;
    if (count != wanted)
        return diag_set(set->diag, -EINVAL, "'%s' holds %u %s files for a model with %u %ss",
                        set->folder, count, role, wanted, role);
    return 0;
}

static int load_file(const struct data_set *set, const char *role, uint32_t index,
                     struct tensor_view *out_view)
{
    char *path = file_path(set->folder, role, index);
    int rc = !path ? -ENOMEM : onnx_tensor_load(path, out_view, NULL, set->diag);

    free(path);
    return rc;
}

/* The tensors of one file. */
static int load_port(const struct data_set *set, const char *role, uint32_t index,
                     const struct port *port, struct onnx_parts *out_parts)
{
    char *path;
    int rc;

    *out_parts = (struct onnx_parts){0};
    if (port->is_sequence || port->is_optional) {
        path = file_path(set->folder, role, index);
        rc = !path ? -ENOMEM
                   : onnx_parts_load(path, port->is_sequence, port->is_optional, out_parts,
                                     set->diag);
        free(path);
        return rc;
    }
    out_parts->items = calloc(1, sizeof(*out_parts->items));
    if (!out_parts->items)
        return -ENOMEM;
    rc = load_file(set, role, index, &out_parts->items[0]);
    out_parts->count = rc == 0;
    if (rc < 0)
        onnx_parts_deinit(out_parts);
    return rc;
}

/* What the file has, for the model that is being loaded. */
static int count_parts(void *user, uint32_t index, const char *name, struct port *port,
                       struct diag *diag)
{
    struct onnx_parts parts;
    int rc = load_port(user, "input", index, port, &parts);

    if (rc < 0)
        return rc;
    port->count = (uint32_t)parts.count;
    port->is_empty = parts.is_empty;
    onnx_parts_deinit(&parts);
    return 0;
}

static const struct port tensor_port = {.count = 1};

/* A file for each port, or for each value where there are none. */
static uint32_t port_count(const struct port_list *list, uint32_t value_count)
{
    return list->count > 0 ? list->count : value_count;
}

static const struct port *port_at(const struct port_list *list, uint32_t index)
{
    return list->count > 0 ? &list->items[index] : &tensor_port;
}

/* What decides how many tensors a sequence has, and branches: numbers and truths, each in a file of its own. One that cannot be
 * read is told when it is loaded. */
static int learn_inputs(void *user, struct graph *graph)
{
    uint32_t files = port_count(&graph->input_ports, graph->input_count), place = 0;
    struct data_set set = *(const struct data_set *)user;
    struct diag ignored = {0};
    int rc = 0;

    set.diag = &ignored;
    for (uint32_t i = 0; rc == 0 && i < files; i++) {
        const struct port *port = port_at(&graph->input_ports, i);
        struct value *value = port->count > 0 ? graph->inputs[place] : NULL;
        struct tensor_view view;

        place += port->count;
        if (!value || port->is_sequence || port->is_optional || !value_may_decide(value) ||
            load_file(&set, "input", i, &view) < 0)
            continue;
        rc = value_learn(value, &view);
        free(view.data);
    }
    return rc;
}

static int load_inputs(struct data_set *set)
{
    const struct graph *graph = set->session->graph;
    uint32_t files = port_count(&graph->input_ports, graph->input_count), place = 0;
    int rc = check_count(set, "input", files);

    for (uint32_t i = 0; rc == 0 && i < files; i++) {
        const struct port *port = port_at(&graph->input_ports, i);
        struct onnx_parts parts;

        rc = load_port(set, "input", i, port, &parts);
        if (rc == 0 && (parts.count != port->count || parts.count > graph->input_count - place))
            rc = diag_set(set->diag, -EINVAL, "input_%u.pb of '%s' is not what it was", i,
                          set->folder);
        for (size_t k = 0; rc == 0 && k < parts.count; k++) {
            rc = input_append(&set->inputs, graph->inputs[place++]->name, &parts.items[k],
                              set->diag);
            parts.items[k].data = NULL; /* the list's, also after failure */
        }
        onnx_parts_deinit(&parts);
    }
    return rc;
}

/* Returns 1 when they agree, 0 when they do not. */
static int compare_output(struct data_set *set, uint32_t place, const struct tensor_view *expected)
{
    struct tolerance tolerance = verify_tolerance_of(&set->tolerance, expected);
    struct comparison comparison;
    struct tensor_view got;
    int rc = exec_output(set->session->exec, place, &got);

    if (rc < 0)
        return exec_tell_output(set->session->exec, place, rc, set->diag);
    comparison = compare_tensors(&got, expected, &tolerance);
    verify_print_output(set->printer, set->session->graph->outputs[place]->name, &got, expected,
                        &comparison);
    return comparison_passed(&comparison);
}

/* How many tensors there are, where there are others: shown as if that were a tensor of so many. */
static void tell_lengths(struct data_set *set, const struct port *port, size_t wanted)
{
    struct tensor_view got = {DTYPE_I64, {1, {port->count}}, NULL};
    struct tensor_view expected = {DTYPE_I64, {1, {(int64_t)wanted}}, NULL};
    struct tolerance tolerance = verify_tolerance_of(&set->tolerance, &expected);
    struct comparison comparison = compare_tensors(&got, &expected, &tolerance);

    verify_print_output(set->printer, port->name, &got, &expected, &comparison);
}

/* Returns 1 when all outputs agree, 0 when one does not. */
static int compare_outputs(struct data_set *set)
{
    const struct graph *graph = set->session->graph;
    uint32_t files = port_count(&graph->output_ports, graph->output_count), place = 0;
    int passed = 1;
    int rc = check_count(set, "output", files);

    for (uint32_t i = 0; rc >= 0 && i < files; i++) {
        const struct port *port = port_at(&graph->output_ports, i);
        struct onnx_parts parts;

        rc = load_port(set, "output", i, port, &parts);
        if (rc == 0 && parts.count != port->count) {
            tell_lengths(set, port, parts.count);
            passed = 0;
        }
        for (uint32_t k = 0; rc >= 0 && parts.count == port->count && k < port->count; k++) {
            rc = compare_output(set, place + k, &parts.items[k]);
            passed &= rc == 1;
        }
        place += port->count;
        onnx_parts_deinit(&parts);
    }
    return rc < 0 ? rc : passed;
}

static int run_checked(struct data_set *set)
{
    struct sanity *sanity = NULL;
    struct sanity_result result = {0};
    int rc = 0, check;

    if (sanity_is_due(set->config->sanity, set->session->graph))
        rc = sanity_create(set->session, &sanity, set->diag);
    if (rc == 0)
        rc = session_run(set->session, NULL, set->diag);
    if (!sanity)
        return rc;
    check = sanity_finish(&sanity, &result, set->diag);
    if (rc == 0 && check == 0 && set->is_first && set->thread == 0)
        run_tell_sanity(set->config->sanity, &result);
    return rc < 0 ? rc : check;
}

static int run_once(struct data_set *set)
{
    struct trace *trace = NULL;
    int rc = 0;

    if (set->config->trace)
        rc = trace_open(set->session, set->thread, set->config->trace_detail, &trace, set->diag);
    if (rc == 0) {
        trace_run_begin(trace, false);
        rc = run_checked(set);
        trace_run_end(trace);
    }
    if (rc == 0 && set->thread == 0)
        run_tell_resized(set->session->exec);
    trace_close(&trace);
    return rc;
}

static bool has_library_steps(const struct exec *exec)
{
    struct exec_device_facts facts = exec_device_facts(exec);

    return facts.products.steps.by_library + facts.convolutions.steps.by_library > 0;
}

/* Whether the session of the set before runs this one. What is wrong with it is told by a session of its own. */
static bool reuse_session(struct data_set *set, const struct session_config *config)
{
    struct data_set trial = *set;
    struct session_config with_trial = *config;
    struct diag ignored = {0};
    bool fits;

    if (!set->kept)
        return false;
    trial.session = set->kept;
    trial.diag = &ignored;
    with_trial.inputs = &trial.inputs;
    fits =
        load_inputs(&trial) == 0 && session_set_inputs(trial.session, &with_trial, &ignored) == 1;
    input_list_deinit(&trial.inputs);
    if (fits)
        set->session = set->kept;
    else
        session_destroy(&set->kept);
    set->kept = NULL;
    return fits;
}

static int make_session(struct data_set *set, const struct session_config *session_config)
{
    const struct verify_config *config = set->config;
    struct model_sequences sequences = {set, count_parts, learn_inputs};
    struct model_loading loading = {config->shares, config->passes.half != DTYPE_NONE, &sequences};
    int rc = session_load_with(config->model_path, &loading, &set->session, set->diag);

    if (rc == 0)
        rc = load_inputs(set);
    return rc < 0 ? rc : session_prepare(set->session, session_config, set->diag);
}

/* On whichever thread; the outputs are in the session afterwards. */
static int run_session(struct data_set *set)
{
    const struct verify_config *config = set->config;
    const struct device_choice *choice = config->exec.choice;
    struct session_config session_config = {
        .inputs = &set->inputs, .exec = config->exec, .passes = config->passes};
    bool tells = set->is_first && set->thread == 0;
    int rc = reuse_session(set, &session_config) ? 0 : make_session(set, &session_config);

    if (rc < 0)
        return rc;
    verify_tolerance_widen(
        &set->tolerance,
        pass_has_half(set->session->graph, config->passes.half) ? config->passes.half : DTYPE_NONE,
        config->exec.kernels || config->exec.layouts || choice->times);
    if (choice->allows_tf32 && has_library_steps(set->session->exec))
        verify_tolerance_allow_tf32(&set->tolerance);
    if (tells)
        run_tell_device(set->session->exec, config->exec.streams);
    if (tells && config->exec.is_recorded)
        run_tell_recorded(set->session->exec, config->frees_graph, false);
    if (tells && config->shares)
        run_tell_sharing(set->session->graph);
    if (config->frees_graph)
        run_free_graph(set->session, tells);
    return run_once(set);
}

/* One thread of several. */
struct runner {
    struct data_set set;
    struct diag diag;
    pthread_t thread;
    int result;
};

static void *run_runner(void *argument)
{
    struct runner *runner = argument;
    char name[16];

    snprintf(name, sizeof(name), "run %u", runner->set.thread);
    pthread_setname_np(pthread_self(), name);
    runner->result = run_session(&runner->set);
    return NULL;
}

/* As an entry of its own where there are several. */
static int compare_runner(struct runner *runner, const char *name)
{
    struct data_set *set = &runner->set;
    char *label = NULL;
    int rc;

    if (set->config->thread_count > 1 && asprintf(&label, "%s, thread %u", name, set->thread) < 0)
        return -ENOMEM;
    verify_print_set(set->printer, label ? label : name);
    rc = compare_outputs(set);
    verify_print_set_end(set->printer);
    free(label);
    return rc;
}

static int run_threads(struct runner *runners, uint32_t count)
{
    uint32_t started = 0;
    int rc = 0;

    while (rc == 0 && started < count) {
        rc = -pthread_create(&runners[started].thread, NULL, run_runner, &runners[started]);
        started += rc == 0;
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(runners[i].thread, NULL);
    return rc;
}

/* Returns 1 when all threads' outputs agree, 0 when some do not. */
static int verify_set(struct data_set *set, const char *name)
{
    uint32_t count = set->config->thread_count > 1 ? set->config->thread_count : 1;
    struct runner *runners = calloc(count, sizeof(*runners));
    int passed = 1, rc = runners ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        runners[i].set = *set;
        runners[i].set.thread = i;
        runners[i].set.diag = &runners[i].diag;
    }
    if (rc == 0 && count == 1)
        runners[0].result = run_session(&runners[0].set);
    else if (rc == 0)
        rc = run_threads(runners, count);
    for (uint32_t i = 0; rc >= 0 && i < count; i++) {
        rc = runners[i].result;
        if (rc == 0)
            rc = compare_runner(&runners[i], name);
        if (runners[i].set.tolerance.atol_share >= set->told.atol_share)
            set->told = runners[i].set.tolerance;
        passed &= rc == 1;
        if (rc < 0 && runners[i].diag.text[0] != '\0')
            diag_set(set->diag, rc, "%s", runners[i].diag.text);
    }
    /* A session is run by the thread that made it, and what was freed of its graph is not asked again. */
    if (runners)
        set->kept = NULL; /* the first runner's, if there was one */
    if (rc >= 0 && count == 1 && !set->config->frees_graph) {
        set->kept = runners[0].set.session;
        runners[0].set.session = NULL;
    }
    for (uint32_t i = 0; runners && i < count; i++) {
        session_destroy(&runners[i].set.session);
        input_list_deinit(&runners[i].set.inputs);
    }
    free(runners);
    set->is_first = false;
    if (rc == -EAGAIN)
        return diag_set(set->diag, rc, "cannot start %u threads", count);
    return rc == -ENOMEM ? diag_set(set->diag, rc, "out of memory") : rc < 0 ? rc : passed;
}

static int is_data_set(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_data_set_", 14) == 0;
}

/* Runs one set. *all_passed turns false with the first difference. */
static int run_set(struct data_set *set, const char *folder, const char *name, bool *all_passed)
{
    int rc;

    set->folder = folder;
    rc = verify_set(set, name);
    *all_passed &= rc == 1;
    return rc;
}

static int run_sets(struct data_set *set, struct dirent **entries, int count, bool *all_passed)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < count; i++) {
        char *path;

        if (asprintf(&path, "%s/%s", set->config->folder, entries[i]->d_name) < 0)
            return diag_set(set->diag, -ENOMEM, "out of memory");
        rc = run_set(set, path, entries[i]->d_name, all_passed);
        free(path);
    }
    return rc;
}

static int run_folder(struct data_set *set, bool *all_passed)
{
    const char *folder = set->config->folder;
    struct dirent **entries;
    int count, rc;

    if (has_file(folder, "output", 0))
        return run_set(set, folder, folder, all_passed);
    count = scandir(folder, &entries, is_data_set, versionsort);
    if (count < 0)
        return diag_set(set->diag, -errno, "cannot read '%s': %s", folder, strerror(errno));
    if (count == 0)
        rc = diag_set(set->diag, -ENOENT, "'%s' holds neither output_0.pb nor a test_data_set_0",
                      folder);
    else
        rc = run_sets(set, entries, count, all_passed);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return rc;
}

int verify(const struct verify_config *config, FILE *out, struct diag *diag)
{
    struct verify_printer printer;
    struct data_set set = {.config = config, .printer = &printer, .is_first = true, .diag = diag};
    bool all_passed = true;
    int rc = verify_tolerance_read(config, &set.tolerance, diag);

    if (rc < 0)
        return rc;
    set.told = set.tolerance;
    verify_print_begin(&printer, out, config->json);
    rc = run_folder(&set, &all_passed);
    session_destroy(&set.kept);
    /* A document that broke off is not shown: the sentence on stderr is the answer. */
    if (rc >= 0 && verify_print_end(&printer, all_passed, &set.told) < 0)
        rc = diag_set(diag, -EIO, "cannot write the result");
    verify_print_deinit(&printer);
    return rc < 0 ? rc : all_passed;
}
