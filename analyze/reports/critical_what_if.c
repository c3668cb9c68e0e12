/* SPDX-License-Identifier: Apache-2.0 */
/* How long the run would take if some operators were faster. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/critical.h"

enum { HALVINGS = 40 };

#define SAME_NS 0.01 /* sums of doubles that differ by less are the same */

struct what_if {
    const struct critical_path *path;
    double *of_ops;  /* what the time of each op is multiplied with; 1: as it is */
    bool *matches;   /* ops that some pattern matches */
    double *changed; /* for each span: 0 where it is faster, else 1 */
    double *scale;   /* for each span */
    uint64_t calls;  /* of ops that match */
    double wall_ns, on_path_ns, predicted_ns, least_ns;
    double limit; /* factor from which another path takes over; NaN: none does, or not known */
};

/* Splits "REGEX=FACTOR" at its last "="; *out_regex is to be freed. */
static int parse(const char *text, char **out_regex, double *out_factor, struct diag *diag)
{
    const char *equals = strrchr(text, '=');
    char *end = NULL;

    *out_factor = equals && equals > text ? strtod(equals + 1, &end) : NAN;
    if (!end || end == equals + 1 || *end || !(*out_factor > 0))
        return diag_set(diag, -EINVAL,
                        "--what-if \"%s\": an expression, \"=\" and a factor above 0 are needed, "
                        "such as conv.*=2",
                        text);
    *out_regex = strndup(text, (size_t)(equals - text));
    return *out_regex ? 0 : diag_set(diag, -ENOMEM, "no memory for --what-if");
}

static int match(struct what_if *what_if, const char *text, struct diag *diag)
{
    const struct spans_answer *answer = what_if->path->answer;
    struct filter filter = {0};
    const char *word;
    char *regex = NULL;
    double factor;
    bool any = false;
    int rc = parse(text, &regex, &factor, diag);

    word = regex;
    if (rc == 0)
        rc = filter_set(&filter, FILTER_OPR_NAME, &word, 1, diag);
    for (size_t i = 0; i < answer->ops.count && rc == 0; i++) {
        if (!filter_passes_op(&filter, &answer->ops.items[i]))
            continue;
        any = true;
        if (!what_if->matches[i])
            what_if->of_ops[i] = 1 / factor;
        what_if->matches[i] = true;
    }
    if (rc == 0 && filter.gave_up)
        rc = diag_set(diag, -EINVAL, "--what-if \"%s\" takes too many steps on some name", regex);
    if (rc == 0 && !any) {
        diag_set(diag, 0, "no operator of the run matches --what-if \"%s\"", regex);
        rc = REPORT_NOTHING;
    }
    filter_deinit(&filter);
    free(regex);
    return rc;
}

static int match_all(struct what_if *what_if, const struct option_list *texts, struct diag *diag)
{
    const struct spans_answer *answer = what_if->path->answer;
    int rc = 0;

    for (size_t i = 0; i < answer->ops.count; i++)
        what_if->of_ops[i] = 1;
    for (size_t i = 0; i < texts->count && rc == 0; i++)
        rc = match(what_if, texts->items[i], diag);
    for (size_t i = 0; i < answer->spans.count; i++)
        what_if->calls += what_if->matches[answer->spans.items[i].op];
    return rc;
}

/* How long the run takes when all that matches takes this share of its time. */
static int predict_at(struct what_if *what_if, double share, double *out_ns)
{
    for (size_t i = 0; i < what_if->path->answer->spans.count; i++)
        what_if->scale[i] = what_if->changed[i] == 0 ? share : 1;
    return critical_path_predict(what_if->path, what_if->scale, out_ns);
}

/* While the path stays the same the gain grows with what is saved on it; a longest path is convex
 * in the share, so that there is one share below which another path takes over. */
static int find_limit(struct what_if *what_if)
{
    double low = 0, high = 1, ns;
    int rc = predict_at(what_if, 0, &what_if->least_ns);

    if (rc < 0 || what_if->least_ns <= what_if->wall_ns - what_if->on_path_ns + SAME_NS)
        return rc;
    for (int i = 0; i < HALVINGS && rc == 0; i++) {
        double middle = (low + high) / 2;

        rc = predict_at(what_if, middle, &ns);
        if (ns <= what_if->wall_ns - what_if->on_path_ns * (1 - middle) + SAME_NS)
            high = middle;
        else
            low = middle;
    }
    what_if->limit = round(1000 / high) / 1000;
    return rc;
}

static int calculate(struct what_if *what_if)
{
    const struct critical_path *path = what_if->path;
    const struct spans_answer *answer = path->answer;
    double *scale;
    int rc;

    what_if->wall_ns = (double)(path->end_ns - path->start_ns);
    what_if->limit = NAN;
    what_if->scale = critical_path_scale(answer, what_if->of_ops);
    if (!what_if->scale)
        return -ENOMEM;
    rc = critical_path_predict(path, what_if->scale, &what_if->predicted_ns);
    for (size_t i = 0; i < answer->ops.count; i++)
        what_if->of_ops[i] = what_if->matches[i] ? 0 : 1;
    scale = critical_path_scale(answer, what_if->of_ops);
    what_if->changed = scale;
    if (!scale)
        return -ENOMEM;
    for (size_t i = 0; i < path->steps.count; i++) {
        const struct path_step *step = &path->steps.items[i];

        if ((step->kind == PATH_HOST || step->kind == PATH_DEVICE) && scale[step->span] == 0)
            what_if->on_path_ns += (double)(step->end_ns - step->start_ns);
    }
    return rc ? rc : find_limit(what_if);
}

static void emit(const struct report *report, const struct what_if *what_if)
{
    static const struct out_section section = {.name = "what_if", .title = "What if"};
    bool is_one = report->options->what_if.count == 1;
    double gain_ns = what_if->wall_ns - what_if->predicted_ns;
    double most_ns = what_if->wall_ns - what_if->least_ns;
    const struct out_fact facts[] = {
        {"wall_ns", "as it was (s)", out_number(OUT_NS, what_if->wall_ns)},
        {"predicted_ns", "predicted (s)", out_number(OUT_NS, what_if->predicted_ns)},
        {"gain_ns", "gain (s)", out_number(OUT_NS, gain_ns)},
        {"gain", "gain, of the wall time", out_number(OUT_SHARE, gain_ns / what_if->wall_ns)},
        {"most_ns", "gain if they took no time (s)", out_number(OUT_NS, most_ns)},
        {"on_path_ns", "of them on the path (s)", out_number(OUT_NS, what_if->on_path_ns)},
        {"call_count", "calls that match", out_integer(OUT_INT, (int64_t)what_if->calls)},
        {"limit_factor", "another path from factor",
         out_number(OUT_REAL, is_one ? what_if->limit : NAN)},
    };

    out_facts(report->out, &section, facts, sizeof(facts) / sizeof(facts[0]) - !is_one);
    out_note(report->out, OUT_NOTE_PLAIN,
             "The prediction keeps the gaps and what was waited for, and scales what matches with "
             "all that runs or is launched inside.");
    if (is_one && isnan(what_if->limit))
        out_note(report->out, OUT_NOTE_PLAIN, "No other path takes over, however fast they are.");
    else if (is_one)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "From a factor of %g on another path, with less of them on it, holds up the end.",
                 what_if->limit);
}

int critical_emit_what_if(const struct report *report, const struct critical_path *path,
                          struct diag *diag)
{
    size_t count = path->answer->ops.count + 1;
    struct what_if what_if = {.path = path,
                              .of_ops = malloc(count * sizeof(double)),
                              .matches = calloc(count, sizeof(bool))};
    int rc = what_if.of_ops && what_if.matches ? 0 : -ENOMEM;

    if (rc == 0)
        rc = match_all(&what_if, &report->options->what_if, diag);
    if (rc == 0)
        rc = calculate(&what_if);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for --what-if");
    if (rc == 0)
        emit(report, &what_if);
    free(what_if.of_ops);
    free(what_if.matches);
    free(what_if.changed);
    free(what_if.scale);
    return rc;
}
