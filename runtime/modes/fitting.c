/* SPDX-License-Identifier: Apache-2.0 */
/* --fitting: which options make a model run fastest here. */
#include "runtime/modes/fitting.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/graph/compare.h"
#include "runtime/graph/element.h"
#include "runtime/session/samples.h"
#include "runtime/session/session.h"

enum { WARMUPS = 3, RUNS = 10, ROUNDS = 3 };

#define BUDGET_NS ((uint64_t)10 * 1000 * 1000 * 1000)
#define GAIN_MIN  0.02 /* less is noise */

/* A choice that a candidate makes: one truth value of its setup. */
struct choice {
    const char *name;
    size_t place; /* in struct fitting_setup */
};

#define CHOICE(name, field)                                                                        \
    {                                                                                              \
        name, offsetof(struct fitting_setup, field)                                                \
    }

enum { IS_INLINE, IS_RECORDED, IS_LAVISH, FIRST_SINGLE };

static const struct choice choices[] = {
    [IS_INLINE] = CHOICE("cpu-default", exec.is_inline),
    [IS_RECORDED] = CHOICE("record-comp-seq", exec.is_recorded),
    [IS_LAVISH] = CHOICE("disable-mem-opt", exec.is_lavish),
    [FIRST_SINGLE] = CHOICE("no-enable-jit", passes.no_jit),
    CHOICE("no-enable-fuse-conv-bias-with-z", passes.no_z),
    CHOICE("no-enable-fuse-conv-bias-nonlinearity", passes.no_nonlinearity),
    CHOICE("no-optimize-for-inference", passes.no_inference),
};
enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

/* The first stage, as sets of choices. */
static const unsigned sets[] = {
    1u << IS_INLINE,
    1u << IS_RECORDED,
    1u << IS_INLINE | 1u << IS_RECORDED,
    1u << IS_LAVISH,
};
enum { SETS = sizeof(sets) / sizeof(sets[0]) };

struct fitting {
    const struct fitting_config *config;
    unsigned allowed; /* choices that may be made */
    struct session *best;
    unsigned made;               /* choices of the best one */
    struct tensor_view *outputs; /* of the model as it was given */
    uint32_t output_count;
};

static bool *place_of(struct fitting_setup *setup, int choice)
{
    return (bool *)((char *)setup + choices[choice].place);
}

static struct fitting_setup setup_of(const struct fitting *fitting, unsigned made)
{
    struct fitting_setup setup = fitting->config->base;

    for (int i = 0; i < CHOICES; i++)
        if (made & 1u << i)
            *place_of(&setup, i) = true;
    return setup;
}

/* " --record-comp-seq ...", or one in a line. */
static void print_options(const struct fitting *fitting, unsigned made, bool is_list, FILE *out)
{
    for (int i = 0; i < CHOICES; i++) {
        if (!(made & 1u << i))
            continue;
        fputs(is_list ? "--" : " --", out);
        if (i == IS_INLINE)
            text_put(fitting->config->inline_option, out);
        else
            text_put(choices[i].name, out);
        fputs(is_list ? "\n" : "", out);
    }
}

/* Outputs */

static void free_outputs(struct fitting *fitting)
{
    for (uint32_t i = 0; fitting->outputs && i < fitting->output_count; i++)
        free(fitting->outputs[i].data);
    free(fitting->outputs);
}

static int keep_outputs(struct fitting *fitting, const struct session *session)
{
    fitting->output_count = session->graph->output_count;
    fitting->outputs = calloc((size_t)fitting->output_count + 1, sizeof(*fitting->outputs));
    for (uint32_t i = 0; fitting->outputs && i < fitting->output_count; i++) {
        struct tensor_view view;
        size_t bytes;
        int rc = exec_output(session->exec, i, &view);

        if (rc < 0)
            return rc;
        bytes = (size_t)shape_bytes(&view.shape, view.dtype);
        fitting->outputs[i] = view;
        fitting->outputs[i].data = graph_alloc_data(bytes);
        if (!fitting->outputs[i].data)
            return -ENOMEM;
        memcpy(fitting->outputs[i].data, view.data, bytes);
    }
    return fitting->outputs ? 0 : -ENOMEM;
}

/* Sums are taken in another order where more or less is fused: near the largest of a tensor's
 * numbers small ones lose digits. */
static struct tolerance tolerance_for(const struct tensor_view *expected)
{
    int64_t count = shape_elements(&expected->shape);
    double largest = 0;

    for (int64_t i = 0; element_is_float(expected->dtype) && i < count; i++)
        largest = fmax(largest, fabs((double)element_get(expected->data, expected->dtype, i)));
    return (struct tolerance){.rtol = 1e-3, .atol = isfinite(largest) ? 1e-5 * largest : 0};
}

static int check_outputs(const struct fitting *fitting, const struct session *session,
                         struct diag *diag)
{
    for (uint32_t i = 0; i < fitting->output_count; i++) {
        const struct tensor_view *expected = &fitting->outputs[i];
        struct tolerance tolerance = tolerance_for(expected);
        struct comparison comparison;
        struct tensor_view got;
        int rc = exec_output(session->exec, i, &got);

        if (rc < 0)
            return rc;
        comparison = compare_tensors(&got, expected, &tolerance);
        if (!comparison_passed(&comparison))
            return diag_set(diag, -EBADE, "its output '%.100s' differs in %" PRId64 " elements",
                            session->graph->outputs[i]->name, comparison.mismatches);
    }
    return 0;
}

/* Times */

struct figures {
    double mean_ms, median_ms;
};

/* is_bound: more than the budget is an error; else it ends the runs. */
static int time_runs(struct session *session, int warmups, bool is_bound,
                     struct figures *out_figures, struct diag *diag)
{
    double values[RUNS];
    struct samples samples = {.values = values};
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);

    for (int i = 0; i < warmups + RUNS; i++) {
        bool is_over = ot_clock_ns(CLOCK_MONOTONIC) - start_ns > BUDGET_NS;
        struct session_times times;
        int rc;

        if (is_over && is_bound)
            return diag_set(diag, -ETIME, "it takes more than ten seconds");
        if (is_over && samples.count > 0)
            break;
        rc = session_run(session, &times, diag);
        if (rc < 0)
            return rc;
        if (i >= warmups || is_over)
            values[samples.count++] = (double)times.e2e_ns * 1e-6;
    }
    samples_sort(&samples);
    *out_figures = (struct figures){samples_mean(&samples), samples_percentile(&samples, 50)};
    return 0;
}

static int open_session(const struct fitting *fitting, unsigned made, struct session **out_session,
                        struct diag *diag)
{
    const struct fitting_config *config = fitting->config;
    struct fitting_setup setup = setup_of(fitting, made);
    struct session_config session_config = {
        .inputs = config->inputs, .seed = config->seed, .exec = setup.exec, .passes = setup.passes};
    struct session *session = NULL;
    int rc = session_load(config->path, setup.shares, false, config->inputs, &session, diag);

    if (rc == 0)
        rc = session_prepare(session, &session_config, diag);
    if (rc < 0)
        session_destroy(&session);
    *out_session = session;
    return rc;
}

static void tell(const struct fitting *fitting, unsigned made, double mean_ms)
{
    fputs("load_and_run: profile option:", stderr);
    print_options(fitting, made, false, stderr);
    text_print(stderr, "%s avg_time=%.3f ms\n", made == 0 ? " as given" : "", mean_ms);
}

/* The model as it was given. */
static int start(struct fitting *fitting, struct diag *diag)
{
    struct figures figures;
    int rc = open_session(fitting, 0, &fitting->best, diag);

    if (rc == 0)
        rc = time_runs(fitting->best, WARMUPS, false, &figures, diag);
    if (rc < 0)
        return rc;
    tell(fitting, 0, figures.mean_ms);
    if (keep_outputs(fitting, fitting->best) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the outputs");
    return 0;
}

/* Whether the same kernels run in the same order: then nothing but chance can tell them apart. */
static bool has_same_steps(const struct exec *a, const struct exec *b)
{
    if (exec_step_count(a) != exec_step_count(b))
        return false;
    for (uint32_t i = 0; i < exec_step_count(a); i++) {
        const struct exec_step *left = exec_step(a, i), *right = exec_step(b, i);

        if (strcmp(left->name, right->name) != 0 || strcmp(left->type, right->type) != 0 ||
            strcmp(left->implementation, right->implementation) != 0 ||
            left->node->fused.residual_input != right->node->fused.residual_input ||
            left->node->fused.activation != right->node->fused.activation)
            return false;
    }
    return true;
}

/* How the best one was made and how this one is differ in ways that are not seen in the steps. */
static bool is_told_apart(const struct fitting *fitting, unsigned made)
{
    unsigned handed_over = 1u << IS_INLINE | 1u << IS_RECORDED | 1u << IS_LAVISH;

    return ((made ^ fitting->made) & handed_over) != 0;
}

/* In each round the candidate runs, then the best so far. Returns 1 when it won all of them. */
static int play(struct fitting *fitting, struct session *session, double *out_mean_ms,
                struct diag *diag)
{
    struct figures figures, best;
    double sum_ms = 0;

    for (int round = 0; round < ROUNDS; round++) {
        int rc = time_runs(session, WARMUPS, true, &figures, diag);

        if (rc == 0 && round == 0)
            rc = check_outputs(fitting, session, diag);
        if (rc == 0)
            rc = time_runs(fitting->best, WARMUPS, false, &best, diag);
        if (rc < 0)
            return rc;
        sum_ms += figures.mean_ms;
        *out_mean_ms = sum_ms / (round + 1);
        if (figures.median_ms > best.median_ms * (1 - GAIN_MIN))
            return 0;
    }
    return 1;
}

/* Takes the place of the best one, or is dropped. */
static int hold_against_best(struct fitting *fitting, unsigned made, struct session **session,
                             struct diag *diag)
{
    struct session *loser = fitting->best;
    double mean_ms;
    int rc;

    if (!is_told_apart(fitting, made) && has_same_steps((*session)->exec, fitting->best->exec))
        return diag_set(diag, -EALREADY, "it changes nothing here");
    rc = play(fitting, *session, &mean_ms, diag);
    if (rc < 0)
        return rc;
    tell(fitting, made, mean_ms);
    if (rc == 0)
        return 0;
    fitting->best = *session;
    *session = loser;
    fitting->made = made;
    return 0;
}

static void try(struct fitting *fitting, unsigned made)
{
    struct session *session = NULL;
    struct diag diag = {0};
    int rc = open_session(fitting, made, &session, &diag);

    if (rc == 0)
        rc = hold_against_best(fitting, made, &session, &diag);
    if (rc < 0) {
        fputs("load_and_run: profile option:", stderr);
        print_options(fitting, made, false, stderr);
        text_print(stderr, " left out: %s\n", diag.text[0] != '\0' ? diag.text : strerror(-rc));
    }
    session_destroy(&session);
}

static void search(struct fitting *fitting)
{
    for (int i = 0; i < SETS; i++)
        if ((sets[i] & ~fitting->allowed) == 0)
            try(fitting, sets[i]);
    for (int i = FIRST_SINGLE; i < CHOICES; i++)
        if (fitting->allowed & 1u << i)
            try(fitting, fitting->made | 1u << i);
}

int fitting_run(const struct fitting_config *config, FILE *out, struct fitting_setup *out_best,
                struct diag *diag)
{
    struct fitting fitting = {.config = config};
    struct fitting_setup base = config->base;
    int rc;

    for (int i = 0; i < CHOICES; i++)
        if (!*place_of(&base, i) && config->may_try(config->user, choices[i].name))
            fitting.allowed |= 1u << i;
    rc = start(&fitting, diag);
    if (rc == 0)
        search(&fitting);
    if (rc == 0) {
        text_print(out, "the best options:%s\n", fitting.made == 0 ? " as given" : "");
        print_options(&fitting, fitting.made, true, out);
        *out_best = setup_of(&fitting, fitting.made);
    }
    session_destroy(&fitting.best);
    free_outputs(&fitting);
    return rc;
}
