/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every report of the table: mistakes and empty answers are one sentence with its
 * exit status, and --strict tells what is missing. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <unistd.h>

#include "analyze/reports/report.h"
#include "base/text.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 8 };

struct fixture {
    char *dir, *program, *gpu_trace;
};

static void make_damaged(const struct fixture *fixture)
{
    char *path = temp_path(fixture->dir, "store.db");
    size_t size;
    char *bytes = temp_read(path, &size);

    memset(bytes + 32768, 0x55, size - 32768);
    free(temp_write(fixture->dir, "damaged.db", bytes, size));
    free(bytes);
    free(path);
}

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct store *store = NULL;
    struct diag diag = {0};
    char *path, *empty;

    fixture->dir = temp_create();
    fixture->program = place_program("analyze/profile_analyze");
    fixture->gpu_trace = place_source("tests/golden/analyze/gpu.json");
    path = temp_path(fixture->dir, "store.db");
    empty = temp_path(fixture->dir, "empty.db");
    small_store_make(path);
    CHECK_OK(store_open(empty, STORE_WRITE, &store, &diag));
    store_close(&store);
    make_damaged(fixture);
    free(path);
    free(empty);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    temp_destroy(&fixture->dir);
    free(fixture->program);
    free(fixture->gpu_trace);
    free(fixture);
    return 0;
}

/* A report that --report names, or the list: the other modes have tests of their own. */
static bool is_tested(const struct report_kind *kind)
{
    return report_takes_sessions(kind) && (!kind->mode || strcmp(kind->mode, "list") == 0);
}

/* Runs a report with up to two arguments more. */
static struct child_result run(const struct fixture *fixture, const struct report_kind *kind,
                               const char *source, const char *first, const char *second)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = fixture->dir};
    const char *argv[ARGUMENTS_MAX] = {fixture->program, source};
    size_t count = 2;

    if (kind->mode && strcmp(kind->mode, "export") == 0) {
        argv[count++] = "--export";
        argv[count++] = "csv"; /* one for all */
    } else if (kind->mode) {
        argv[count++] = "--list";
    } else {
        argv[count++] = "--report";
        argv[count++] = kind->name;
    }
    if (first)
        argv[count++] = first;
    if (second)
        argv[count++] = second;
    return child_run(argv, &options);
}

static void check_refusal(const struct fixture *fixture, const struct report_kind *kind,
                          const char *source, const char *first, const char *second, int status,
                          const char *sentence)
{
    struct child_result result = run(fixture, kind, source, first, second);
    size_t lines = 0;

    if (result.status != status)
        fail_msg("%s %s %s: status %d, not %d: %s", kind->name, source, first ? first : "",
                 result.status, status, result.err);
    CHECK_CONTAINS(result.err, sentence);
    assert_string_equal(result.out, "");
    for (const char *at = result.err; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, status == 2 ? 2 : 1); /* wrong use leads on to --help */
    child_result_deinit(&result);
}

static bool is_about_events(const struct report_kind *kind)
{
    return report_takes_events(kind) && is_tested(kind);
}

static void sources_without_an_answer(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        if (!is_tested(report_kinds[i]))
            continue;
        check_refusal(*state, report_kinds[i], "empty.db", NULL, NULL, 1, "holds no session yet");
        check_refusal(*state, report_kinds[i], "damaged.db", NULL, NULL, 3, "damaged.db");
        check_refusal(*state, report_kinds[i], "nowhere.db", NULL, NULL, 3, "nowhere.db");
        check_refusal(*state, report_kinds[i], "store.db", "--session", "99", 1,
                      "there is no session 99");
    }
}

static void choices_without_an_answer(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        if (!is_about_events(report_kinds[i]))
            continue;
        if (report_takes_filters(report_kinds[i]))
            check_refusal(*state, report_kinds[i], "store.db", "--type", "xyzzy", 1, "");
        check_refusal(*state, report_kinds[i], "store.db", "--runs", "90..", 1, "");
        check_refusal(*state, report_kinds[i], "store.db", "--time", "10h..", 1, "");
        check_refusal(*state, report_kinds[i], "store.db", "--runs", "3..1", 2, "no range of runs");
        check_refusal(*state, report_kinds[i], "store.db", "--opr-name", "a(", 2,
                      !report_takes_filters(report_kinds[i]) ? "--opr-name has no effect on"
                                                             : "no regular expression");
    }
}

static const cJSON *rows_of(const cJSON *answer, const char *table)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(answer, table),
                                            "rows");
}

/* What an answer has of tables, an empty one has, too; but for what is missing in it. */
static void check_tables(const struct fixture *fixture, const struct report_kind *kind,
                         const char *source)
{
    struct child_result result = run(fixture, kind, source, "--format=json", NULL);
    cJSON *answer = cJSON_Parse(result.out);
    const cJSON *member;

    assert_non_null(answer);
    if (result.status == 0 && !cJSON_IsArray(rows_of(answer, kind->tables[0])))
        fail_msg("%s: an answer has no table %s", kind->name, kind->tables[0]);
    cJSON_ArrayForEach(member, answer)
    {
        size_t i = 0;

        if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(member, "rows")) ||
            strcmp(member->string, "losses") == 0 || strcmp(member->string, "unfinished") == 0)
            continue;
        while (kind->tables[i] && strcmp(kind->tables[i], member->string) != 0)
            i++;
        if (!kind->tables[i])
            fail_msg("%s: the table %s is not in an empty answer", kind->name, member->string);
    }
    cJSON_Delete(answer);
    child_result_deinit(&result);
}

/* JSON with the tables of the report, empty, and with the reason; checks that they are those of an
 * answer, where there is one. */
static void check_empty(const struct fixture *fixture, const struct report_kind *kind,
                        const char *source, const char *choice)
{
    struct child_result result = run(fixture, kind, source, "--format=json", choice);
    cJSON *answer = cJSON_Parse(result.out);
    const cJSON *notes = cJSON_GetObjectItem(answer, "notes");
    const cJSON *note = cJSON_GetArrayItem(notes, cJSON_GetArraySize(notes) - 1);

    if (result.status != 1 || !answer || !note)
        fail_msg("%s %s %s: status %d, %s%s", kind->name, source, choice ? choice : "",
                 result.status, result.out, result.err);
    CHECK_CONTAINS(result.err, cJSON_GetObjectItem(note, "text")->valuestring);
    assert_non_null(kind->tables[0]);
    for (size_t i = 0; kind->tables[i]; i++) {
        if (!cJSON_IsArray(rows_of(answer, kind->tables[i])) ||
            cJSON_GetArraySize(rows_of(answer, kind->tables[i])) != 0)
            fail_msg("%s: no empty table %s in %s", kind->name, kind->tables[i], result.out);
    }
    cJSON_Delete(answer);
    child_result_deinit(&result);
    check_tables(fixture, kind, "store.db");
    check_tables(fixture, kind, fixture->gpu_trace);
}

static void empty_answers_are_json(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];

        if (!is_tested(kind))
            continue;
        check_empty(*state, kind, "empty.db", NULL);
        check_empty(*state, kind, "store.db", "--session=99");
        if (is_about_events(kind) && report_takes_filters(kind))
            check_empty(*state, kind, "store.db", "--type=xyzzy");
    }
}

/* With -o, too: what stood there was another answer. */
static void empty_answers_go_to_files(void **state)
{
    const struct fixture *fixture = *state;
    struct child_result result;
    char *path = temp_path(fixture->dir, "answer.json"), *text;

    result = run(fixture, report_kinds[0], "store.db", "--type=xyzzy", "-oanswer.json");
    assert_int_equal(result.status, 1);
    assert_int_equal(access(path, F_OK), -1); /* a table has no form for nothing */
    child_result_deinit(&result);
    {
        const char *argv[] = {fixture->program, "store.db",      "--type=xyzzy",
                              "--format=json",  "-oanswer.json", NULL};
        const struct child_options options = {.directory = fixture->dir};

        result = child_run(argv, &options);
    }
    assert_int_equal(result.status, 1);
    assert_string_equal(result.out, "");
    text = temp_read(path, NULL);
    CHECK_CONTAINS(text, "\"rows\": []");
    free(text);
    free(path);
    child_result_deinit(&result);
}

static void unknown_columns_lead_to_the_nearest(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        char name[64], wanted[96];

        if (!kind->lines.columns || !is_tested(kind))
            continue;
        snprintf(name, sizeof(name), "%sx", kind->lines.columns[0].out.name);
        snprintf(wanted, sizeof(wanted), "did you mean %s?", kind->lines.columns[0].out.name);
        check_refusal(*state, kind, "store.db", "--order-by", name, 2, wanted);
    }
}

static void unknown_reports_lead_to_the_nearest(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        struct report_kind kind = *report_kinds[i];
        char name[64], wanted[96];

        if (kind.mode)
            continue;
        snprintf(name, sizeof(name), "%sx", kind.name);
        snprintf(wanted, sizeof(wanted), "did you mean %s?", kind.name);
        kind.name = name;
        check_refusal(*state, &kind, "store.db", NULL, NULL, 2, wanted);
    }
}

/* Whatever a report shows of a session with losses and a death, --strict shows it too and says
 * no. */
static void strict_tells_what_is_missing(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        struct child_result plain, strict;

        if (!is_about_events(kind))
            continue;
        plain = run(*state, kind, "store.db", NULL, NULL);
        strict = run(*state, kind, "store.db", "--strict", NULL);
        assert_string_equal(strict.out, plain.out);
        assert_int_equal(strict.status, 1);
        if (plain.status == 0)
            CHECK_CONTAINS(strict.err, "(--strict): 42 events were lost, 1 span never ended");
        child_result_deinit(&plain);
        child_result_deinit(&strict);
    }
}

static void strict_lets_the_whole_truth_pass(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        struct child_result plain, strict;

        if (!is_about_events(kind))
            continue;
        plain = run(*state, kind, "store.db", "--session=1", NULL);
        strict = run(*state, kind, "store.db", "--session=1", "--strict");
        assert_int_equal(strict.status, plain.status);
        assert_string_equal(strict.err, plain.err);
        child_result_deinit(&plain);
        child_result_deinit(&strict);
    }
}

/* A trace that somebody cut tells nothing of how its program ended; a session that says so does. */
static void only_the_dead_have_died(void **state)
{
    static const char trace[] =
        "[{\"ph\":\"X\",\"name\":\"whole\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":"
        "3},"
        "{\"ph\":\"B\",\"name\":\"half\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":5}]";
    const struct fixture *fixture = *state;
    const struct report_kind ops = {.name = "ops"};
    struct child_result cut, died;

    free(temp_write(fixture->dir, "cut.json", trace, sizeof(trace) - 1));
    cut = run(fixture, &ops, "cut.json", "--notes", NULL);
    died = run(fixture, &ops, "store.db", "--notes", NULL);
    CHECK_CONTAINS(cut.out, "half (cpu_op) on 1/1 never ended; it is in no number above.");
    CHECK_CONTAINS(died.out, "never ended: the program died in it; it is in no number above.");
    child_result_deinit(&cut);
    child_result_deinit(&died);
}

/* Counts lines, none of which takes more than 80 columns. */
static size_t count_lines(const char *what, const char *text)
{
    size_t lines = 0;

    for (; *text; lines++) {
        size_t length = strcspn(text, "\n");

        if (text_columns(text, length) > 80)
            fail_msg("%s: %.*s", what, (int)length, text);
        text += length + (text[length] == '\n');
    }
    return lines;
}

static struct child_result help_on(const struct fixture *fixture, const char *word)
{
    const char *argv[] = {fixture->program, "--help", word, NULL};
    struct child_result result = child_run(argv, NULL);

    if (result.status != 0)
        fail_msg("--help %s: %s", word ? word : "", result.err);
    return result;
}

static void help_fits_a_screen(void **state)
{
    struct child_result first = help_on(*state, NULL), reports = help_on(*state, "reports"),
                        options = help_on(*state, "options"), columns = help_on(*state, "columns");

    assert_in_range(count_lines("--help", first.out), 24, 40);
    for (size_t i = 0; report_kinds[i]; i++) {
        char head[80];

        if (report_kinds[i]->mode)
            continue;
        snprintf(head, sizeof(head), "\n  %s ", report_kinds[i]->name);
        CHECK_CONTAINS(reports.out, head);
        if (report_kinds[i]->lines.column_count)
            CHECK_CONTAINS(columns.out, head);
    }
    child_result_deinit(&columns);
    CHECK_CONTAINS(options.out, "--order-by [+]COLUMN");
    CHECK_CONTAINS(options.out, "Exit status:");
    child_result_deinit(&first);
    child_result_deinit(&reports);
    child_result_deinit(&options);
    first = help_on(*state, "--order-by");
    assert_memory_equal(first.out, "      --order-by [+]COLUMN ", 27);
    child_result_deinit(&first);
}

/* Options that the index of the pages has. */
static bool is_of_all_reports(const char *option)
{
    static const char *const names[] = {"top", "order-by", "min-time", "max-time"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], option) == 0)
            return true;
    }
    return false;
}

/* Its page in docs/reports, in 80 columns, with all columns and options that the report has. */
static void help_on_a_report_is_its_page(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        struct child_result result = help_on(*state, kind->name);
        char head[80];

        snprintf(head, sizeof(head), "%s\n\n", kind->name);
        assert_memory_equal(result.out, head, strlen(head));
        CHECK_CONTAINS(result.out, "\n$ profile_analyze ");
        CHECK_CONTAINS(result.out, "\nOptions\n");
        CHECK_CONTAINS(result.out, "\nJSON\n");
        count_lines(kind->name, result.out);
        for (size_t k = 0; k < kind->lines.column_count; k++)
            CHECK_CONTAINS(result.out, kind->lines.columns[k].out.name);
        for (const char *const *option = kind->takes; option && *option; option++) {
            if (is_of_all_reports(*option))
                continue;
            snprintf(head, sizeof(head), "--%s", *option);
            if (!strstr(result.out, head))
                fail_msg("docs/reports/%s.md does not name --%s", kind->name, *option);
        }
        child_result_deinit(&result);
    }
}

static bool is_a_report(const char *name, size_t length)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        if (strlen(report_kinds[i]->name) == length &&
            strncmp(report_kinds[i]->name, name, length) == 0)
            return true;
    }
    return false;
}

static void each_page_is_of_a_report(void **state)
{
    char *path = place_source("docs/reports");
    DIR *folder = opendir(path);
    size_t pages = 0, kinds = 0;

    (void)state;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const size_t length = strlen(entry->d_name);

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "README.md") == 0)
            continue;
        if (length < 4 || strcmp(entry->d_name + length - 3, ".md") != 0 ||
            !is_a_report(entry->d_name, length - 3))
            fail_msg("docs/reports/%s is of no report", entry->d_name);
        pages++;
    }
    while (report_kinds[kinds])
        kinds++;
    assert_int_equal(pages, kinds);
    closedir(folder);
    free(path);
}

/* Lines below the last table. */
static size_t count_notes(const char *text)
{
    const char *last = text;
    size_t count = 0;

    for (const char *at = text; (at = strchr(at, '\n'));) {
        at++;
        if (strncmp(at, "╘", strlen("╘")) == 0 || strncmp(at, "---", 3) == 0)
            last = at;
    }
    for (last = strchr(last, '\n'); last && last[1]; last = strchr(last + 1, '\n'))
        count += last[1] != '\n';
    return count;
}

static void few_notes_stand_below_tables(void **state)
{
    size_t shortened = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        struct child_result few, all;

        if (!is_about_events(kind) || kind->output == REPORT_WRITES)
            continue;
        few = run(*state, kind, "store.db", NULL, NULL);
        all = run(*state, kind, "store.db", "--notes", NULL);
        assert_int_equal(few.status, all.status);
        if (strstr(few.out, "\n╘") && count_notes(few.out) > 3)
            fail_msg("%s: %zu notes in:\n%s", kind->name, count_notes(few.out), few.out);
        if (strlen(all.out) > strlen(few.out)) {
            CHECK_CONTAINS(few.out, " more note");
            CHECK_CONTAINS(few.out, "42 events were lost"); /* which matters most */
            CHECK_CONTAINS(all.out, "Session 2 of load_and_run");
            shortened++;
        }
        child_result_deinit(&few);
        child_result_deinit(&all);
    }
    assert_true(shortened > 5);
}

/* A column may be called without its unit, and without what is before it where that is clear. */
static void columns_are_called_alike(void **state)
{
    size_t found = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        bool has = false;

        for (size_t k = 0; k < kind->lines.column_count; k++)
            has |= !kind->mode && strstr(kind->lines.columns[k].out.name, "p99_ns");
        if (!has)
            continue;
        found++;
        CHECK_OK(lines_check_order(kind->lines.columns, kind->lines.column_count, "p99", NULL));
        CHECK_OK(lines_check_order(kind->lines.columns, kind->lines.column_count, "+P99_ns", NULL));
    }
    assert_true(found >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_without_an_answer),
        cmocka_unit_test(help_fits_a_screen),
        cmocka_unit_test(help_on_a_report_is_its_page),
        cmocka_unit_test(each_page_is_of_a_report),
        cmocka_unit_test(columns_are_called_alike),
        cmocka_unit_test(few_notes_stand_below_tables),
        cmocka_unit_test(choices_without_an_answer),
        cmocka_unit_test(empty_answers_are_json),
        cmocka_unit_test(empty_answers_go_to_files),
        cmocka_unit_test(unknown_columns_lead_to_the_nearest),
        cmocka_unit_test(unknown_reports_lead_to_the_nearest),
        cmocka_unit_test(strict_tells_what_is_missing),
        cmocka_unit_test(strict_lets_the_whole_truth_pass),
        cmocka_unit_test(only_the_dead_have_died),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
