/* SPDX-License-Identifier: Apache-2.0 */
/* The options that not every report honours, and who does. */
#include "analyze/reports/honoured.h"

#include <math.h>
#include <string.h>

#include "analyze/explain/sql/query.h"
#include "analyze/reports/report.h"

/* An option that not every report honours, and whether it was given. */
struct given_option {
    const char *name;
    bool given;
    bool (*is_common)(const struct report_kind *kind); /* honoured by all reports of some kind */
};

bool report_takes_sessions(const struct report_kind *kind)
{
    return kind->subject != REPORT_OF_STORE;
}

size_t report_filter_words(const struct analyze_options *options, enum filter_id id)
{
    const struct option_list *list = &options->filters[id];

    return list->count ? list->count : list->items[0] != NULL;
}

bool report_takes_events(const struct report_kind *kind)
{
    return kind->subject == REPORT_OF_OPS || kind->subject == REPORT_OF_RUNS;
}

bool report_takes_filters(const struct report_kind *kind)
{
    return kind->subject == REPORT_OF_OPS || kind->subject == REPORT_OF_SIDES ||
           kind->subject == REPORT_OF_HISTORY;
}

static bool takes_bounds(const struct report_kind *kind)
{
    return kind->subject == REPORT_OF_OPS && kind->values != REPORT_EACH_EVENT;
}

static bool counts_runs(const struct report_kind *kind)
{
    return report_takes_events(kind) && kind->values != REPORT_EACH_EVENT;
}

/* Of one run, unless totals are asked for. */
static bool has_means(const struct report_kind *kind)
{
    return report_takes_events(kind) && kind->values == REPORT_MEANS;
}

static bool has_columns(const struct report_kind *kind)
{
    return kind->lines.columns != NULL;
}

static bool has_sql(const struct report_kind *kind)
{
    return kind->name && explain_query_of(kind->name, "") != NULL; /* an import has none */
}

static bool takes(const struct report_kind *kind, const struct given_option *option)
{
    if (option->is_common && option->is_common(kind))
        return true;
    for (const char *const *name = kind->takes; name && *name; name++) {
        if (strcmp(*name, option->name) == 0)
            return true;
    }
    return false;
}

/* The first option given that the report has no use for, or NULL. */
const char *analyze_options_useless(const struct analyze_options *options,
                                    const struct report_kind *kind)
{
    const struct given_option all[] = {
        {"session", options->session != NULL, report_takes_sessions},
        {"program", options->program != NULL, report_takes_sessions},
        {"since", options->since != NULL, report_takes_sessions},
        {"runs", options->runs != NULL, report_takes_events},
        {"time", options->time != NULL, report_takes_events},
        {"warmup", options->warmup, counts_runs},
        {"total", options->total, has_means},
        {"exact", options->exact},
        {"min-time", !isnan(options->min_time_s), takes_bounds},
        {"max-time", !isnan(options->max_time_s), takes_bounds},
        {"peak-flops", !isnan(options->peak_flops)},
        {"peak-bandwidth", !isnan(options->peak_bandwidth)},
        {"top", options->top != TOP_OF_REPORT, has_columns},
        {"order-by", options->order_by != NULL, has_columns},
        {"explain", options->explain, has_sql},
        {"strict", options->strict, report_takes_events},
        {"model", options->model != NULL},
        {"threshold", options->threshold_percent != THRESHOLD_PERCENT},
        {"alpha", !isnan(options->alpha)},
        {"group-by", options->group_by != NULL},
        {"sort-by", options->sort_by != NULL},
        {"row-limit", options->row_limit != TOP_OF_REPORT},
        {"top-end-key", options->top_end_key != 0},
        {"aggregate", options->aggregate != CHOICE_NONE},
        {"aggregate-by", options->aggregate_by != CHOICE_NONE},
        {"show-host", options->show_host},
        {"print-only", options->print_only != CHOICE_NONE},
        {"copy-time", options->copy_time},
        {"dump-only-opr", options->dump_only_opr},
        {"detailed", options->detailed},
        {"detail", options->detail != CHOICE_NONE},
        {"per-thread", options->per_thread},
        {"sorted-by", options->sorted_by != CHOICE_NONE},
        {"state", options->state != CHOICE_NONE},
        {"batch", options->batch != BATCH_OF_MODEL},
        {"weight", options->weight != CHOICE_NONE},
        {"append", options->append != NULL},
        {"what-if", options->what_if.count > 0},
    };

    for (enum filter_id id = 0; id < FILTERS; id++) {
        if (report_filter_words(options, id) && !report_takes_filters(kind))
            return filter_kinds[id].option;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].given && !takes(kind, &all[i]))
            return all[i].name;
    }
    return NULL;
}

size_t analyze_options_modes(const struct analyze_options *options,
                             const char *out_names[ANALYZE_MODES_MAX])
{
    const struct {
        const char *name;
        bool given;
    } modes[] = {
        /* clang-format off */
        {"compare", options->compare != NULL},
        {"history", options->history},
        {"list", options->list},
        {"sql", options->sql != NULL},
        {"export", options->export != NULL},
        {"report", options->report != NULL},
        /* clang-format on */
    };
    size_t count = 0;

    _Static_assert(sizeof(modes) / sizeof(modes[0]) <= ANALYZE_MODES_MAX, "room for all");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (modes[i].given)
            out_names[count++] = modes[i].name;
    }
    return count;
}
