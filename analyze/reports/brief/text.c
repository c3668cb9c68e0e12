/* SPDX-License-Identifier: Apache-2.0 */
/* The first answer as text: the answer before the tables, one quantity in one unit, losses first.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/reports/brief/private.h"
#include "analyze/reports/dropped.h"
#include "base/text.h"
#include "schema/store/store.h"

enum { LABEL_COLUMN = 12, CURVE_COLUMNS = 20, NAME_COLUMNS = 36, TYPES_SHOWN = 4, NAMES_SHOWN = 5 };
enum { YEAR_2000 = 946684800 };

static const char *dot(const struct brief_text *text)
{
    return text->page.ascii ? " - " : " · ";
}

/* --- What ran. --- */

static const struct session_row *last_session(const struct brief *brief)
{
    const struct report *report = brief->report;

    return report_session(report, report->session_ids[report->session_count - 1]);
}

static const char *tool_of(const char *source)
{
    static const struct {
        const char *source, *tool;
    } tools[] = {
        {"chrome", "Chrome trace"},       {"onnxruntime", "ONNX Runtime"},
        {"nsys", "Nsight Systems"},       {"megengine", "MegEngine profile"},
        {"folded", "folded stacks"},      {"pytorch events", "PyTorch events"},
        {"load_and_run", "load_and_run"}, {"trtexec", "trtexec"},
    };

    for (size_t i = 0; source && i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (strcmp(source, tools[i].source) == 0)
            return tools[i].tool;
    }
    return source && strcmp(source, "live") != 0 ? source : NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* "22 Nov 2026 19:43"; of clocks that count from elsewhere "". */
static void describe_date(char *date, size_t bytes, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm local;

    date[0] = '\0';
    if (seconds > YEAR_2000 && localtime_r(&seconds, &local) &&
        !strftime(date, bytes, "%-d %b %Y %H:%M", &local))
        date[0] = '\0';
}

/* As many as fit, the first ones first; the first one is cut where it must be. */
static void put_pieces(struct brief_text *text, const char *const *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t left = text->page.width - brief_columns(&text->page);
        char *piece;

        if (!pieces[i] || !pieces[i][0])
            continue;
        piece = brief_shown(pieces[i]);
        if (piece && i && text_columns(piece, strlen(piece)) + 3 <= left) {
            brief_put(&text->page, "%s%s", dot(text), piece);
        } else if (piece && !i) {
            char *cut = brief_cut(piece, left, left / 2);

            brief_put(&text->page, "%s", cut ? cut : "");
            free(cut);
        }
        free(piece);
    }
    brief_end(&text->page);
}

/* What a GPU did is of the GPU; else the processor says how fast it was. */
static const char *machine_of(const struct brief *brief)
{
    const struct environment *environment = &brief->environment;
    const char *gpus = environment->facts[ENVIRONMENT_GPUS];

    return gpus && brief->has_side[OP_DEVICE] ? gpus : environment->facts[ENVIRONMENT_CPU];
}

static void print_subject(struct brief_text *text)
{
    const struct brief *brief = text->brief;
    const struct environment *environment = &brief->environment;
    const struct session_row *session = last_session(brief);
    const char *tool = tool_of(session->source), *model = environment->facts[ENVIRONMENT_MODEL];
    const char *program = environment->facts[ENVIRONMENT_PROGRAM];
    const char *lanes = environment->facts[ENVIRONMENT_LANES];
    const char *pieces[6] = {NULL};
    size_t count = 0;
    char date[64];

    describe_date(date, sizeof(date), session->start_ns);
    if (tool) /* of a file its name says more than what it calls its program */
        pieces[count++] = !brief->report->source->format ? (program ? program : tool)
                                                         : base_name(brief->report->source->name);
    if (model && !(tool && strcmp(model, pieces[0]) == 0))
        pieces[count++] = model;
    if (tool)
        pieces[count++] = tool;
    else if (program || !count)
        pieces[count++] = program ? base_name(program) : "a program without a name";
    pieces[count++] = date;
    if (brief->report->session_count == 1)
        pieces[count++] = lanes;
    pieces[count++] = machine_of(brief);
    put_pieces(text, pieces, count);
}

static size_t place_of(const struct brief *brief)
{
    size_t place = 0;

    while (brief->report->sessions->rows.items[place].session_id != brief->report->session_ids[0])
        place++;
    return place + 1;
}

/* Behind what stands in the line, or whole in the next one. */
static void add_piece(struct brief_text *text, const char *piece)
{
    struct brief_page *page = &text->page;
    char *shown = brief_shown(piece);
    size_t columns = shown ? text_columns(shown, strlen(shown)) : 0, used = brief_columns(page);

    page->line.failed |= !shown;
    if (used && used + strlen(" - ") + columns > page->width) {
        brief_end(page);
        used = 0;
    }
    if (columns > page->width)
        brief_wrap(page, 0, piece);
    else if (shown)
        brief_put(page, "%s%s", used ? dot(text) : "", shown);
    free(shown);
}

/* By the number that --session takes. Of a file with one session that says nothing. */
static void describe_sessions(const struct brief *brief, char *text, size_t bytes)
{
    const struct report *report = brief->report;
    size_t all = report->sessions->rows.count;
    long long id = report->session_ids[0];
    char store[208];

    snprintf(store, sizeof(store), "%.200s", base_name(report->source->name));
    text[0] = '\0';
    if (report->session_count > 1)
        snprintf(text, bytes, "%zu of %zu sessions in %s", report->session_count, all, store);
    else if ((size_t)id == place_of(brief) && (all > 1 || !report->source->format))
        snprintf(text, bytes, "session %lld of %zu in %s", id, all, store);
    else if (all > 1 || !report->source->format)
        snprintf(text, bytes, "session %lld, 1 of %zu in %s", id, all, store);
}

static void print_counts(struct brief_text *text)
{
    const struct brief *brief = text->brief;
    const struct basis *basis = &brief->ops.basis;
    const struct session_row *session = last_session(brief);
    size_t ended = brief->runs.count;
    struct loss_sum losses = query_sum_losses(basis);
    char piece[512], *number = text->number[0];

    if (!ended && !brief->counted.count)
        snprintf(piece, sizeof(piece), "no runs%s",
                 session->is_from_outside ? " (optrace run --runs-by makes some)" : "");
    else
        snprintf(piece, sizeof(piece), "%s run%s",
                 brief_count(number, sizeof(text->number[0]), (double)ended),
                 ended == 1 ? "" : "s");
    if (basis->warmups_skipped)
        snprintf(piece + strlen(piece), sizeof(piece) - strlen(piece),
                 " after %" PRIu64 " warm-up%s", basis->warmups_skipped,
                 basis->warmups_skipped == 1 ? "" : "s");
    if (basis->runs_without_ops)
        snprintf(piece + strlen(piece), sizeof(piece) - strlen(piece),
                 ", %" PRIu64 " of them with their ops", basis->runs_with_ops);
    add_piece(text, piece);
    describe_sessions(brief, piece, sizeof(piece));
    if (piece[0])
        add_piece(text, piece);
    if (session->is_running && !session->is_abandoned)
        add_piece(text, "still running");
    if (!losses.count && !losses.unknown && !brief->report->source->format)
        add_piece(text, "no event lost");
    if (brief_columns(&text->page))
        brief_end(&text->page);
}

/* --- What is missing. --- */

static void print_losses(struct brief_text *text)
{
    const struct basis *basis = &text->brief->ops.basis;
    struct loss_sum losses = query_sum_losses(basis);
    const char *reason = NULL;
    int64_t most = 0;
    char line[600], when[64];

    for (size_t i = 0; i < basis->losses.count; i++) {
        const struct loss_row *loss = &basis->losses.items[i];

        if (loss->lost_count != STORE_NULL && loss->lost_count > most) {
            most = loss->lost_count;
            reason = loss->reason;
        }
    }
    if (losses.count) {
        snprintf(line, sizeof(line), "LOST: %s event%s (%s%.100s); no number below has them.",
                 brief_count(text->number[0], sizeof(text->number[0]), (double)losses.count),
                 losses.count == 1 ? "" : "s", basis->losses.count > 1 ? "mostly " : "",
                 reason ? reason : "for an unknown reason");
        brief_wrap(&text->page, 0, line);
    }
    if (losses.unknown) {
        describe_date(when, sizeof(when), losses.unknown_since_ns);
        snprintf(line, sizeof(line),
                 "LOST: an unknown number of events since %s: no daemon was "
                 "there for the rest.",
                 when[0] ? when : "the start");
        brief_wrap(&text->page, 0, line);
    }
}

static void print_ends(struct brief_text *text)
{
    const struct brief *brief = text->brief;
    const struct basis *basis = &brief->ops.basis;
    const struct session_row *session = last_session(brief);
    const struct unfinished_row *first =
        basis->unfinished.count ? &basis->unfinished.items[0] : NULL;
    bool has_died = session->end_reason && strcmp(session->end_reason, "died") == 0;
    char line[REPORT_DROPPED_BYTES + 16], dropped[REPORT_DROPPED_BYTES];

    if (first && !(session->is_running && !session->is_abandoned))
        snprintf(line, sizeof(line), "%s in %.200s (%.60s)%s; it is in no number below.",
                 has_died ? "DIED" : "NOT ENDED", first->op ? first->op : "an op",
                 first->type ? first->type : "?", basis->unfinished_count > 1 ? " and others" : "");
    else if (has_died)
        snprintf(line, sizeof(line), "DIED: the program did not end as it should.");
    else if (session->end_reason && strcmp(session->end_reason, "cut off") == 0)
        snprintf(line, sizeof(line), "CUT OFF: %.300s",
                 session->note ? session->note : "the daemon ended the recording.");
    else if (session->is_abandoned)
        snprintf(line, sizeof(line), "NOT ENDED: nobody writes to this session any more.");
    else
        line[0] = '\0';
    if (line[0])
        brief_wrap(&text->page, 0, line);
    if (basis->bad_count) {
        snprintf(line, sizeof(line),
                 "DAMAGED: %s event%s left out whose op or times make no sense.",
                 brief_count(text->number[0], sizeof(text->number[0]), (double)basis->bad_count),
                 basis->bad_count == 1 ? " is" : "s are");
        brief_wrap(&text->page, 0, line);
    }
    if (basis->dropped.count) {
        report_describe_dropped(dropped, sizeof(dropped), brief->report, basis);
        snprintf(line, sizeof(line), "DROPPED: %s", dropped);
        brief_wrap(&text->page, 0, line);
    }
}

/* --- How long, how evenly. --- */

static void put_label(struct brief_text *text, const char *label)
{
    brief_put(&text->page, "  %s", label);
    brief_pad(&text->page, LABEL_COLUMN);
}

/* The slowest run of each of some equal parts. */
static void put_curve(struct brief_text *text)
{
    const struct brief_runs *runs = &text->brief->runs;
    size_t columns = runs->count < CURVE_COLUMNS ? runs->count : CURVE_COLUMNS;
    double high = fmax(runs->max_ns, runs->min_ns * BRIEF_SLOW);

    for (size_t i = 0; i < columns; i++) {
        size_t first = i * runs->count / columns, end = (i + 1) * runs->count / columns;
        double most = runs->ns[first];

        for (size_t k = first; k < end; k++)
            most = fmax(most, runs->ns[k]);
        brief_put(&text->page, "%s", brief_bar(most, runs->min_ns, high, text->page.ascii));
    }
}

static void describe_evenness(const struct brief_runs *runs, char *word, size_t bytes)
{
    if (spread_drifts(&runs->spread, ADVICE_DRIFT))
        snprintf(word, bytes, "%s, %+.0f %%",
                 runs->spread.drift > 0 ? "getting slower" : "getting faster",
                 runs->spread.drift * 100);
    else if (runs->spread.variation > ADVICE_VARIATION && runs->outlier_count &&
             runs->outlier_count <= runs->count / 10)
        snprintf(word, bytes, "steady but for %zu", runs->outlier_count);
    else if (runs->spread.variation > ADVICE_VARIATION)
        snprintf(word, bytes, "varies by %.0f %%", runs->spread.variation * 100);
    else
        snprintf(word, bytes, "%s",
                 runs->spread.variation > SPREAD_NOISY_VARIATION ? "fairly steady" : "steady");
}

static void print_run(struct brief_text *text)
{
    const struct brief_runs *runs = &text->brief->runs;
    struct brief_unit unit = brief_time_unit(runs->p50_ns, text->page.ascii);
    char word[64];

    put_label(text, "a run");
    if (runs->count == 1) {
        brief_put(&text->page, "%s",
                  brief_time(text->number[0], 32, runs->p50_ns, text->page.ascii));
        brief_end(&text->page);
        return;
    }
    brief_put(&text->page, "%s %s P50   %s P99   ",
              brief_number(text->number[0], 32, runs->p50_ns / unit.factor), unit.name,
              brief_number(text->number[1], 32, runs->p99_ns / unit.factor));
    put_curve(text);
    describe_evenness(runs, word, sizeof(word));
    if (runs->count > 4)
        brief_put(&text->page, "   %s", word);
    brief_end(&text->page);
}

/* Of a profile that tells one time for each op, and no time of the run. */
static void print_sums(struct brief_text *text)
{
    static const char *const on[OP_SIDES] = {" on the host", " on the device"};
    const struct brief *brief = text->brief;
    bool is_first = true;

    put_label(text, "a run");
    for (int side = OP_SIDES - 1; side >= 0; side--) {
        if (!brief->has_side[side])
            continue;
        brief_put(&text->page, "%s%s%s", is_first ? "" : ", ",
                  brief_time(text->number[0], 32, brief->own_ns[side], text->page.ascii), on[side]);
        is_first = false;
    }
    brief_put(&text->page, ": the sum of its operators");
    brief_end(&text->page);
}

static void print_span(struct brief_text *text)
{
    const struct basis *basis = &text->brief->ops.basis;
    double wall_ns = fmax(isnan(basis->wall_ns[OP_HOST]) ? 0 : basis->wall_ns[OP_HOST],
                          isnan(basis->wall_ns[OP_DEVICE]) ? 0 : basis->wall_ns[OP_DEVICE]);

    put_label(text, "time");
    brief_put(&text->page, "%s from the first op to the last",
              brief_time(text->number[0], 32, wall_ns, text->page.ascii));
    brief_end(&text->page);
}

static void print_coverage(struct brief_text *text)
{
    static const char *const on[OP_SIDES] = {" on the host", " on the device"};
    const struct brief *brief = text->brief;
    bool both = brief->has_side[OP_HOST] && brief->has_side[OP_DEVICE];
    bool is_first = true;

    if (brief->ops.basis.is_flat)
        return;
    for (int side = OP_SIDES - 1; side >= 0; side--) {
        double share = brief->covered[side];

        if (!brief->has_side[side] || isnan(share))
            continue;
        if (is_first)
            put_label(text, "ops");
        brief_put(&text->page, "%s%s%.1f %%%s%s", is_first ? "" : ", ",
                  brief->covered_is_exact ? "" : "at least ", share * 100, is_first ? " of it" : "",
                  both ? on[side] : "");
        is_first = false;
    }
    if (is_first)
        return;
    brief_put(&text->page, "%s", brief->covered_is_of_last_runs ? " (in the last runs)" : "");
    brief_end(&text->page);
}

/* Behind what stands between them and the sentence so far. */
static void put_causes(struct brief_text *text, const char *before, struct text_buffer *line)
{
    const struct brief_slowest *slowest = &text->brief->slowest;
    const char *names[BRIEF_CAUSES];
    char *shown[BRIEF_CAUSES];

    for (size_t i = 0; i < slowest->cause_count; i++)
        names[i] = slowest->causes[i].name ? slowest->causes[i].name : "between ops";
    if (brief_fit_names(names, slowest->cause_count, NAME_COLUMNS, shown) < 0) {
        line->failed = true;
        return;
    }
    for (size_t i = 0; i < slowest->cause_count; i++) {
        const struct brief_cause *cause = &slowest->causes[i];

        text_buffer_print(line, "%s %s%s%s +%s", i ? "," : before, shown[i],
                          cause->where ? " " : "", cause->where ? cause->where : "",
                          brief_time(text->number[1], 32, cause->more_ns, text->page.ascii));
        free(shown[i]);
    }
}

static void print_slowest(struct brief_text *text)
{
    const struct brief_slowest *slowest = &text->brief->slowest;
    double p50_ns = text->brief->runs.p50_ns;
    struct text_buffer line = {0};

    if (!slowest->is_known || text->brief->runs.count < 3)
        return;
    put_label(text, "slowest");
    text_buffer_print(&line, "run %" PRId64 ", %s, ", slowest->run.run,
                      brief_time(text->number[0], 32, slowest->ns, text->page.ascii));
    if (!(slowest->ns > p50_ns * BRIEF_SLOW)) {
        text_buffer_print(&line, "%.1f %% above P50: nothing unusual",
                          p50_ns > 0 ? (slowest->ns / p50_ns - 1) * 100 : 0.0);
    } else {
        double told_ns = 0;

        for (size_t i = 0; i < slowest->cause_count; i++)
            told_ns += slowest->causes[i].more_ns;
        text_buffer_print(&line, "%.3g x P50%s", slowest->ns / p50_ns,
                          told_ns * 2 < slowest->ns - p50_ns && slowest->cause_count
                              ? ", spread over many: most"
                              : "");
        put_causes(text, told_ns * 2 < slowest->ns - p50_ns ? "" : ":", &line);
    }
    brief_wrap(&text->page, LABEL_COLUMN, text_buffer_text(&line));
    text->page.line.failed |= line.failed;
    text_buffer_deinit(&line);
}

/* --- What holds memory. --- */

enum { HOLDERS = 2 };
struct holder {
    const char *name;
    int64_t bytes;
};

static int compare_holders(const void *a, const void *b)
{
    const struct holder *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* The two that hold most at the peak of a pool, each name once. Returns how many, or -ENOMEM. */
static int find_holders(const struct memory_view *view, uint32_t pool, struct holder *out_holders)
{
    struct holder *all = malloc((view->lines.count + 1) * sizeof(*all));
    size_t count = 0, kept = 0;
    int found = 0;

    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < view->lines.count; i++) {
        const struct memory_line *line = &view->lines.items[i];

        if (line->pool == pool && line->peak_bytes > 0)
            all[count++] =
                (struct holder){line->name ? line->name : "what no op owns", line->peak_bytes};
    }
    qsort(all, count, sizeof(*all), compare_holders);
    for (size_t i = 0; i < count; i++) {
        if (kept && compare_holders(&all[kept - 1], &all[i]) == 0)
            all[kept - 1].bytes += all[i].bytes;
        else
            all[kept++] = all[i];
    }
    for (size_t i = 0; i < kept; i++) {
        int at = found;

        if (found == HOLDERS && all[i].bytes <= out_holders[HOLDERS - 1].bytes)
            continue;
        at = found < HOLDERS ? found++ : HOLDERS - 1;
        for (; at > 0 && out_holders[at - 1].bytes < all[i].bytes; at--)
            out_holders[at] = out_holders[at - 1];
        out_holders[at] = all[i];
    }
    free(all);
    return found;
}

static void put_holders(struct brief_text *text, uint32_t pool, struct text_buffer *line)
{
    const struct memory_view *view = &text->brief->advice.view;
    struct holder holders[HOLDERS];
    const char *names[HOLDERS], *before;
    char *shown[HOLDERS];
    int count = find_holders(view, pool, holders);
    int64_t held = 0;

    for (int i = 0; i < count; i++) {
        names[i] = holders[i].name;
        held += holders[i].bytes;
    }
    if (count < 0 || brief_fit_names(names, (size_t)count, NAME_COLUMNS, shown) < 0) {
        line->failed = true;
        return;
    }
    before = held * 2 > view->peaks[pool].bytes ? "; most of it " : "; the largest parts ";
    for (int i = 0; i < count; i++) {
        text_buffer_print(line, "%s%s (%s)", i ? " and " : before, shown[i],
                          brief_size(text->number[1], 32, (double)holders[i].bytes));
        free(shown[i]);
    }
}

static void print_pool(struct brief_text *text, uint32_t pool, bool is_alone, bool is_first)
{
    const struct memory_view *view = &text->brief->advice.view;
    const char *device = view->blocks.pools.items[pool].device;
    const char *op = memory_view_peak_op(view, pool);
    struct text_buffer line = {0};
    char *shown;

    put_label(text, is_first ? "memory" : "");
    text_buffer_print(&line, "%s at the peak",
                      brief_size(text->number[0], 32, (double)view->peaks[pool].bytes));
    if (!is_alone || device)
        text_buffer_print(&line, " of %s", device ? device : "the host");
    if (op && brief_fit_names(&op, 1, NAME_COLUMNS, &shown) == 0) {
        text_buffer_print(&line, ", in %s", shown);
        free(shown);
    }
    put_holders(text, pool, &line);
    brief_wrap(&text->page, LABEL_COLUMN, text_buffer_text(&line));
    text->page.line.failed |= line.failed;
    text_buffer_deinit(&line);
}

static void print_memory(struct brief_text *text)
{
    const struct memory_view *view = &text->brief->advice.view;
    uint32_t shown[2];
    size_t count = 0, pools = text->brief->has_memory ? view->blocks.pools.count : 0, all = 0;

    for (uint32_t i = 0; i < pools; i++) {
        size_t at;

        if (!view->is_shown[i] || view->peaks[i].bytes <= 0)
            continue;
        all++;
        if (count == 2 && view->peaks[i].bytes <= view->peaks[shown[1]].bytes)
            continue;
        at = count < 2 ? count++ : 1;
        for (; at > 0 && view->peaks[shown[at - 1]].bytes < view->peaks[i].bytes; at--)
            shown[at] = shown[at - 1];
        shown[at] = i;
    }
    for (size_t i = 0; i < count; i++)
        print_pool(text, shown[i], all == 1, i == 0);
    if (!count && text->brief->has_memory && view->plans.count) {
        put_label(text, "memory");
        brief_put(&text->page, "%s planned in %" PRIu64 " chunk%s",
                  brief_size(text->number[0], 32, (double)view->plans.items[0].chunk_bytes),
                  view->plans.items[0].chunk_count,
                  view->plans.items[0].chunk_count == 1 ? "" : "s");
        brief_end(&text->page);
    }
}

void brief_print(const struct brief *brief, size_t width, bool ascii, struct text_buffer *out)
{
    struct brief_text text = {.brief = brief, .page = {.out = out, .width = width, .ascii = ascii}};
    int rc = 0;

    print_losses(&text);
    print_ends(&text);
    print_subject(&text);
    print_counts(&text);
    brief_end(&text.page);
    if (brief->ops.basis.is_flat && brief->has_events)
        print_sums(&text);
    else if (brief->runs.count)
        print_run(&text);
    else if (brief->has_events)
        print_span(&text);
    if (brief->has_events)
        print_coverage(&text);
    print_memory(&text);
    print_slowest(&text);
    if (!brief->has_events) {
        put_label(&text, "ops");
        brief_put(&text.page, "none was recorded");
        brief_end(&text.page);
    }
    if (brief->types.count > 1)
        rc = brief_print_rows(&text, "by type", &brief->types, TYPES_SHOWN, true);
    if (rc == 0 && brief->names.count)
        rc = brief_print_rows(&text, "dearest ops", &brief->names, NAMES_SHOWN, false);
    if (brief->has_events)
        brief_print_findings(&text);
    brief_print_more(&text);
    out->failed |= rc < 0 || text.page.line.failed;
    text_buffer_deinit(&text.page.line);
}
