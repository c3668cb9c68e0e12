/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the first answer: what to do, and what says more. */
#include <string.h>

#include "analyze/reports/brief/private.h"
#include "base/text.h"

enum { FINDINGS_SHOWN = 3, COMMAND_COLUMN = 5 };

static void print_finding(struct brief_text *text, size_t number, const char *sentence,
                          const char *command)
{
    brief_put(&text->page, "%zu  ", number);
    brief_wrap(&text->page, 3, sentence);
    brief_wrap(&text->page, COMMAND_COLUMN, command);
}

static size_t room_of(const struct brief_text *text)
{
    return text->page.width - COMMAND_COLUMN;
}

/* Whether the whole command that shows a finding fits a line. */
static bool fits(struct brief_text *text, const struct advice_finding *finding)
{
    struct text_buffer command = {0};
    const char *words;
    bool is_fit;

    report_advice_command(text->brief->report, finding, REPORT_COMMAND, &command);
    words = text_buffer_text(&command);
    is_fit = text_columns(words, strlen(words)) <= room_of(text);
    text->page.line.failed |= command.failed;
    text_buffer_deinit(&command);
    return is_fit;
}

/* As one line where that is possible: of what was found, of all ops. */
static void print_advice(struct brief_text *text, size_t number,
                         const struct advice_finding *finding, enum report_command_form form)
{
    enum { WHOLE, OF_ALL_OPS, UNORDERED };
    struct advice_finding shorter = *finding;
    bool is_shown = false;

    for (int way = WHOLE; way <= UNORDERED && !is_shown; way++) {
        struct text_buffer command = {0};
        const char *words;

        if (way == OF_ALL_OPS)
            shorter.op = shorter.type = shorter.device = NULL;
        if (way == UNORDERED)
            shorter.order_by = NULL;
        report_advice_command(text->brief->report, &shorter, form, &command);
        words = text_buffer_text(&command);
        is_shown = text_columns(words, strlen(words)) <= room_of(text) || way == UNORDERED;
        if (is_shown)
            print_finding(text, number, finding->text, words);
        text->page.line.failed |= command.failed;
        text_buffer_deinit(&command);
    }
}

/* What is missing stands on top already. */
static bool is_said(const struct advice_finding *finding)
{
    return strcmp(finding->rule, "events-lost") == 0 || strcmp(finding->rule, "unfinished") == 0;
}

void brief_print_findings(struct brief_text *text)
{
    const struct brief *brief = text->brief;
    const struct advice_findings *findings = &brief->advice.findings;
    enum report_command_form form = REPORT_COMMAND;
    bool asks_for_peaks = false;
    size_t shown = 0;

    /* All in one form: where a name is too long, what stands behind it is enough. */
    for (size_t i = 0; i < findings->count && shown < FINDINGS_SHOWN; i++) {
        if (is_said(&findings->items[i]))
            continue;
        shown++;
        form = fits(text, &findings->items[i]) ? form : REPORT_COMMAND_OPTIONS;
    }
    shown = 0;
    for (size_t i = 0; i < brief->names.count && !brief->knows_peaks; i++)
        asks_for_peaks |= brief->names.items[i].flop > 0;
    brief_end(&text->page);
    brief_put(&text->page, "findings%s",
              brief->advice.is_of_last_runs ? " (of the last runs)" : "");
    brief_end(&text->page);
    for (size_t i = 0; i < findings->count && shown < FINDINGS_SHOWN; i++) {
        if (!is_said(&findings->items[i]))
            print_advice(text, ++shown, &findings->items[i], form);
    }
    if (shown < FINDINGS_SHOWN && asks_for_peaks)
        print_finding(text, ++shown, "What this machine can do at best is not known.",
                      "load_and_run --calibrate");
    if (!shown) {
        brief_put(&text->page, "   none of the %zu rules of --report advice found anything",
                  advice_rule_count);
        brief_end(&text->page);
    }
}

void brief_print_more(struct brief_text *text)
{
    static const char end[] = "   all: --help reports";
    const struct brief *brief = text->brief;
    const struct {
        const char *report;
        bool is_useful;
    } reports[] = {
        {"ops", brief->has_events},
        {"runs", brief->runs.count > 1},
        {"memory", brief->has_memory},
        {"idle", brief->has_side[OP_DEVICE] && brief->has_side[OP_HOST]},
        {"types", brief->types.count > 1},
        {"advice", brief->advice.findings.count > 0},
    };
    const char *between = "more  --report ";

    brief_end(&text->page);
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        size_t wanted = brief_columns(&text->page) + strlen(between) + strlen(reports[i].report);

        if (!reports[i].is_useful || wanted + strlen(end) > text->page.width)
            continue;
        brief_put(&text->page, "%s%s", between, reports[i].report);
        between = " | ";
    }
    brief_put(&text->page, "%s", brief_columns(&text->page) ? end : "more: profile_analyze --list");
    brief_end(&text->page);
}
