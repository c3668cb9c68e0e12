/* SPDX-License-Identifier: Apache-2.0 */
/* How long the run would take if some operators were faster. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/critical.h"

enum {
    HALVINGS = 40,
    TOGETHER = 3, /* halvings, whose outcomes are all predicted together */
    NODES = 1 << TOGETHER,
};

#define SAME_NS 0.01 /* sums of doubles that differ by less are the same */

/* What is found out of a schedule. */
struct prediction {
    struct critical_what_if *what_if;
    struct progress *progress;
    double predicted_ns, least_ns;
    double limit; /* factor from which another path takes over; NaN: none does, or not known */
};

/* --- What matches. --- */

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

/* Ops that one pattern matches, of which those that others match are not asked again. */
static int match(struct critical_what_if *what_if, const char *text,
                 const struct spans_answer *answer, struct diag *diag)
{
    const uint32_t number = (uint32_t)what_if->times.count;
    struct filter filter = {0};
    const char *word;
    char *regex = NULL;
    double factor;
    bool any = false;
    int rc = parse(text, &regex, &factor, diag);

    word = regex;
    if (rc == 0)
        rc = filter_set(&filter, FILTER_OPR_NAME, &word, 1, diag);
    if (rc == 0)
        rc = array_push(&what_if->times, 1 / factor);
    for (size_t i = 0; i < answer->ops.count && rc == 0; i++) {
        if (!filter_passes_op(&filter, &answer->ops.items[i]))
            continue;
        any = true;
        if (!what_if->matches[i] && 1 / factor != 1)
            what_if->factors[i] = number;
        what_if->matches[i] = 1;
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

int critical_what_if_begin(struct critical_what_if *what_if, const struct option_list *patterns,
                           const struct spans_answer *spans)
{
    int rc = 0;

    critical_what_if_deinit(what_if);
    what_if->factors = calloc(spans->ops.count + 1, sizeof(*what_if->factors));
    what_if->matches = calloc(spans->ops.count + 1, sizeof(*what_if->matches));
    if (!what_if->factors || !what_if->matches || array_push(&what_if->times, 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < patterns->count && rc == 0; i++)
        rc = match(what_if, patterns->items[i], spans, &what_if->diag);
    what_if->rc = rc;
    return rc == -ENOMEM ? rc : 0;
}

uint32_t *critical_what_if_classes(struct critical_what_if *what_if,
                                   const struct spans_answer *part, int64_t until_ns)
{
    uint32_t *classes = critical_path_classes(part, what_if->factors);
    uint32_t *matches = critical_path_classes(part, what_if->matches);

    for (size_t i = 0; i < part->spans.count && classes && matches; i++) {
        const struct span *span = &part->spans.items[i];

        classes[i] = classes[i] * 2 + matches[i];
        what_if->calls += what_if->matches[span->op] && span->frame != SPAN_FRAME_AGAIN &&
                          span->start_ns <= until_ns;
    }
    if (!matches) {
        free(classes);
        classes = NULL;
    }
    free(matches);
    return classes;
}

void critical_what_if_step(struct critical_what_if *what_if, const struct critical_step *step)
{
    if ((step->kind == PATH_HOST || step->kind == PATH_DEVICE) && step->class % 2)
        what_if->on_path_ns += (double)(step->end_ns - step->start_ns);
}

void critical_what_if_deinit(struct critical_what_if *what_if)
{
    free(what_if->factors);
    free(what_if->matches);
    array_deinit(&what_if->times);
    critical_schedule_deinit(&what_if->schedule);
    *what_if = (struct critical_what_if){0};
}

/* --- What comes of it. --- */

/* By class: each with the factor of its pattern, if `shares` is NULL; else what matches with a share. */
static void fill_scales(const struct critical_what_if *what_if, const double *share, double *scales)
{
    for (size_t i = 0; i < what_if->times.count * 2; i++) {
        scales[i] = what_if->times.items[i / 2];
        if (share)
            scales[i] = i % 2 ? *share : 1;
    }
}

/* How long the run takes when all that matches takes one of these shares of its time; with the factors
 * first, where these are asked for. */
static int predict(struct prediction *prediction, const double *shares, size_t count,
                   double *out_ns)
{
    struct critical_what_if *what_if = prediction->what_if;
    const size_t class_count = what_if->times.count * 2;
    double *by_class = malloc((count * class_count + 1) * sizeof(*by_class));
    struct critical_scales scales[NODES];
    int rc = by_class ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++) {
        scales[i] = (struct critical_scales){.of_classes = by_class + i * class_count};
        fill_scales(what_if, shares[i] < 0 ? NULL : &shares[i], by_class + i * class_count);
    }
    if (rc == 0)
        rc = critical_schedule_predict(&what_if->schedule, class_count, scales, count,
                                       prediction->progress);
    for (size_t i = 0; i < count && rc == 0; i++)
        out_ns[i] = scales[i].predicted_ns;
    free(by_class);
    return rc;
}

/* Halves the shares from *low until *high so often: all that could come of it is predicted at once, the
 * shares of a tree, whose node n has 2 n below where another path takes over, and else 2 n + 1. */
static int halve(struct prediction *prediction, int halvings, double *low, double *high)
{
    const struct critical_what_if *what_if = prediction->what_if;
    double lows[2 * NODES], highs[2 * NODES], middles[NODES], ns[NODES];
    const size_t count = ((size_t)1 << halvings) - 1;
    size_t node = 1;
    int rc;

    lows[1] = *low;
    highs[1] = *high;
    for (size_t i = 1; i <= count; i++) {
        middles[i - 1] = lows[2 * i + 1] = highs[2 * i] = (lows[i] + highs[i]) / 2;
        lows[2 * i] = lows[i];
        highs[2 * i + 1] = highs[i];
    }
    rc = predict(prediction, middles, count, ns);
    while (rc == 0 && node <= count) {
        double most_ns = what_if->schedule.wall_ns - what_if->on_path_ns * (1 - middles[node - 1]);

        node = 2 * node + !(ns[node - 1] <= most_ns + SAME_NS);
    }
    if (rc == 0) {
        *low = lows[node];
        *high = highs[node];
    }
    return rc;
}

static double limit_of(double share)
{
    return round(1000 / share) / 1000;
}

/* While the path stays the same the gain grows with what is saved on it; a longest path is convex
 * in the share, so that there is one share below which another path takes over. Once what is shown of it
 * is the same at both ends, more halvings do not change it. */
static int find_limit(struct prediction *prediction)
{
    const struct critical_what_if *what_if = prediction->what_if;
    double low = 0, high = 1;
    int rc = 0;

    if (prediction->least_ns <= what_if->schedule.wall_ns - what_if->on_path_ns + SAME_NS)
        return 0;
    for (int i = 0; i < HALVINGS && rc == 0 && limit_of(low) != limit_of(high); i += TOGETHER)
        rc = halve(prediction, HALVINGS - i < TOGETHER ? HALVINGS - i : TOGETHER, &low, &high);
    prediction->limit = limit_of(high);
    return rc;
}

static int calculate(struct prediction *prediction, bool is_one)
{
    static const double shares[] = {-1, 0};
    double ns[2];
    int rc = predict(prediction, shares, 2, ns);

    if (rc < 0)
        return rc;
    prediction->predicted_ns = ns[0];
    prediction->least_ns = ns[1];
    return is_one ? find_limit(prediction) : 0;
}

static void emit(const struct report *report, const struct prediction *prediction)
{
    static const struct out_section section = {.name = "what_if", .title = "What if"};
    bool is_one = report->options->what_if.count == 1;
    const struct critical_what_if *what_if = prediction->what_if;
    double wall_ns = what_if->schedule.wall_ns;
    double gain_ns = wall_ns - prediction->predicted_ns;
    double most_ns = wall_ns - prediction->least_ns;
    const struct out_fact facts[] = {
        {"wall_ns", "as it was (s)", out_number(OUT_NS, wall_ns)},
        {"predicted_ns", "predicted (s)", out_number(OUT_NS, prediction->predicted_ns)},
        {"gain_ns", "gain (s)", out_number(OUT_NS, gain_ns)},
        {"gain", "gain, of the wall time", out_number(OUT_SHARE, gain_ns / wall_ns)},
        {"most_ns", "gain if they took no time (s)", out_number(OUT_NS, most_ns)},
        {"on_path_ns", "of them on the path (s)", out_number(OUT_NS, what_if->on_path_ns)},
        {"call_count", "calls that match", out_integer(OUT_INT, (int64_t)what_if->calls)},
        {"limit_factor", "another path from factor",
         out_number(OUT_REAL, is_one ? prediction->limit : NAN)},
    };

    out_facts(report->out, &section, facts, sizeof(facts) / sizeof(facts[0]) - !is_one);
    out_note(report->out, OUT_NOTE_PLAIN,
             "The prediction keeps the gaps and what was waited for, and scales what matches with "
             "all that runs or is launched inside.");
    if (is_one && isnan(prediction->limit))
        out_note(report->out, OUT_NOTE_PLAIN, "No other path takes over, however fast they are.");
    else if (is_one)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "From a factor of %g on another path, with less of them on it, holds up the end.",
                 prediction->limit);
}

int critical_what_if_emit(struct critical_what_if *what_if, const struct report *report,
                          struct diag *diag)
{
    struct prediction prediction = {.what_if = what_if, .progress = report->progress, .limit = NAN};
    int rc;

    if (what_if->rc != 0) {
        *diag = what_if->diag;
        return what_if->rc;
    }
    rc = calculate(&prediction, report->options->what_if.count == 1);
    progress_end(report->progress);
    if (rc < 0)
        return diag_set(diag, rc, "no memory for --what-if");
    emit(report, &prediction);
    return 0;
}
