/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of --format html in a headless Chromium: no script fails, charts and timeline are drawn,
 * tables and buttons do what they say, names that are markup stay names, nothing is loaded.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/reports/report.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

#define HOSTILE "</script><img src=x onerror=\"document.title='owned'\">"
#define MS      INT64_C(1000000)

enum { BROWSER_MS = 240000, OPS = 6, FIRST_OP = 100 };

struct fixture {
    char *dir, *page;
};

/* --- A store with more to show, and a page of it. --- */

static void put_op(struct store *store, int64_t id, const char *name)
{
    const struct store_op row = {
        .op_id = id,
        .session_id = 2,
        .client_op = id,
        .model_id = STORE_NULL,
        .name = name,
        .type = id % 2 ? "Relu" : "Add",
        .computation_flop = 1000 * id,
        .memory_bytes = 4000,
        .workspace_bytes = STORE_NULL,
    };
    struct diag diag = {0};

    CHECK_OK(store_put_op(store, &row, &diag));
}

/* Ops op_0 ... and a hostile one, after what the small store has in runs 2 and 3; memory. */
static void add_more(struct store *store)
{
    static const int64_t ends[] = {49 * MS, 71 * MS};
    struct diag diag = {0};
    char name[16];

    CHECK_OK(store_begin(store, &diag));
    for (int64_t i = 0; i < OPS; i++) {
        snprintf(name, sizeof(name), "op_%d", (int)i);
        put_op(store, FIRST_OP + i, i == OPS - 1 ? HOSTILE : name);
    }
    for (int64_t run = 2; run <= 3; run++) {
        for (int64_t i = 0; i < OPS; i++) {
            int64_t at = SMALL_STORE_SECOND_NS + ends[run - 2] + i * MS / 10;
            const struct store_event event = {
                3, FIRST_OP + i, run, at, MS / 100 * (OPS - i), STORE_NULL, STORE_NULL, STORE_NULL};
            const struct store_memory_event memory = {
                2, FIRST_OP + i, run, at, 4096 * (i % 3), i < 3 ? 1000000 * (i + 1) : STORE_NULL};

            CHECK_OK(store_add_events(store, &event, 1, &diag));
            CHECK_OK(store_add_memory_events(store, &memory, 1, &diag));
        }
    }
    CHECK_OK(store_commit(store, &diag));
}

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char *program = place_program("analyze/profile_analyze"), *path;
    struct child_result result;
    struct store *store = NULL;
    struct diag diag = {0};

    fixture->dir = temp_create();
    path = temp_path(fixture->dir, "store.db");
    small_store_make(path);
    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    add_more(store);
    store_close(&store);
    fixture->page = temp_path(fixture->dir, "page.html");
    result =
        child_run((const char *[]){program, path, "--format", "html", "-o", fixture->page, NULL},
                  &(struct child_options){.directory = fixture->dir});
    if (result.status != 0)
        fail_msg("status %d, %s", result.status, result.err);
    child_result_deinit(&result);
    free(program);
    free(path);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    temp_destroy(&fixture->dir);
    free(fixture->page);
    free(fixture);
    return 0;
}

/* --- The browser. --- */

static bool is_on_path(const char *program)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t length = strcspn(path, ":");
        char *file;
        bool found;

        assert_true(asprintf(&file, "%.*s/%s", (int)length, path, program) >= 0);
        found = access(file, X_OK) == 0;
        free(file);
        if (found)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Lets the browser print the document as it is after its scripts have run; `dir` is a folder that
 * it may write to. */
static struct child_result open_in_browser(const char *dir, const char *url)
{
    char *data;
    struct child_result result;

    assert_true(asprintf(&data, "--user-data-dir=%s/profile", dir) >= 0);
    result =
        child_run((const char *[]){"chromium", "--headless", "--no-sandbox", "--disable-gpu",
                                   "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
                                   "--disable-background-networking", "--disable-component-update",
                                   "--disable-sync", "--allow-file-access-from-files",
                                   "--window-size=1400,1000", data, "--dump-dom", url, NULL},
                  &(struct child_options){.timeout_ms = BROWSER_MS});
    free(data);
    return result;
}

/* The document; the caller frees it. */
static char *browse(const struct fixture *fixture, const char *page)
{
    struct child_result result;
    char *url, *text;

    assert_true(asprintf(&url, "file://%s", page) >= 0);
    result = open_in_browser(fixture->dir, url);
    if (result.status != 0)
        fail_msg("chromium: status %d, %s", result.status, result.err);
    text = strdup(result.out);
    child_result_deinit(&result);
    free(url);
    return text;
}

/* Containers may forbid what a browser needs to start; that is no fault of the page. */
static bool browser_starts(void)
{
    char *dir = temp_create();
    struct child_result result = open_in_browser(dir, "data:text/html,<p>started</p>");
    bool starts = result.status == 0 && strstr(result.out, "<p>started</p>");

    child_result_deinit(&result);
    temp_destroy(&dir);
    return starts;
}

/* --- The cases. --- */

static void page_loads_nothing(void **state)
{
    static const char *const loaders[] = {"src=\"",  "<link",  "@import",        "url(",
                                          "<iframe", "fetch(", "XMLHttpRequest", "import("};
    struct fixture *fixture = *state;
    char *page = temp_read(fixture->page, NULL);

    for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
        if (strstr(page, loaders[i]))
            fail_msg("the page has %s", loaders[i]);
    }
    CHECK_CONTAINS(page, "default-src 'none'");
    CHECK_CONTAINS(page, "Permission is hereby granted");
    CHECK_LACKS(page, "<img");
    free(page);
}

static void page_opens_without_errors(void **state)
{
    struct fixture *fixture = *state;
    char *document = browse(fixture, fixture->page);
    char *body = strstr(document, "<body>");

    CHECK_CONTAINS(document, "data-errors=\"0\"");
    CHECK_CONTAINS(document, "data-state=\"ready\"");
    CHECK_CONTAINS(document,
                   "data-charts=\"7\""); /* types, timeline, memory, runs, ops, host's, roofline */
    CHECK_CONTAINS(document, "data-drawn=\"yes\"");
    CHECK_CONTAINS(document, "data-lanes=\"2\"");
    CHECK_CONTAINS(document, "store.db (page)</title>");
    assert_non_null(body);
    CHECK_LACKS(body, "<img");
    CHECK_CONTAINS(body, "&lt;/script&gt;&lt;img src=x onerror=");
    CHECK_CONTAINS(body, "42 events were lost");
    free(document);
}

/* The page with more at its end, as a file of this name. */
static char *make_changed(const struct fixture *fixture, char *page, const char *more,
                          const char *name)
{
    char *end = strstr(page, "</body>"), *all, *path;
    int size;

    assert_non_null(end);
    size = asprintf(&all, "%.*s%s%s", (int)(end - page), page, more, end);
    assert_true(size > 0);
    path = temp_write(fixture->dir, name, all, (size_t)size);
    free(all);
    return path;
}

/* If a name ever got into the markup, its scripts would still not run. */
static void policy_refuses_other_scripts(void **state)
{
    struct fixture *fixture = *state;
    char *page = temp_read(fixture->page, NULL);
    char *path = make_changed(fixture, page,
                              "<script>document.title = 'owned'</script>"
                              "<img src=\"data:,x\" onerror=\"document.title = 'owned'\">",
                              "refused.html");
    char *document = browse(fixture, path);

    CHECK_CONTAINS(document, "data-state=\"ready\"");
    CHECK_LACKS(document, "owned</title>");
    free(document);
    free(path);
    free(page);
}

/* The page with the probe, without its policy, which would refuse it. */
static char *make_probed(const struct fixture *fixture)
{
    char *page = temp_read(fixture->page, NULL);
    char *source = place_source("tests/flow/analyze_html_probe.js");
    char *probe = temp_read(source, NULL), *policy, *script, *path;

    policy = strstr(page, "http-equiv=\"Content-Security-Policy\"");
    assert_non_null(policy);
    memcpy(policy, "name", 4); /* no policy any more */
    memset(policy + 4, ' ', strlen("http-equiv") - 4);
    assert_true(asprintf(&script, "<script>%s</script>", probe) > 0);
    path = make_changed(fixture, page, script, "probed.html");
    free(page);
    free(source);
    free(probe);
    free(script);
    return path;
}

static void reader_finds_the_way(void **state)
{
    static const char *const expected[] = {
        "drawn=7",
        "ops.at_first=conv1,relu1,op_0,op_1,op_2,op_3,op_4,&lt;/script",
        "ops.by_name=&lt;/script",
        "ops.by_time=conv1,relu1,op_0,op_1,op_2,op_3,op_4,&lt;/script",
        "ops.sorted=ascending",
        "ops.filtered=op_3,op_1\n",
        "ops.counted=2 of 8 rows",
        "timeline.runs=2\n",
        "timeline.lanes=main,worker",
        ("timeline.details=conv1 (Conv) · 6 ms from 1 ms on · started 1 ms after its launch by "
         "conv1"),
        "timeline.zoom=0.60",
        "timeline.zoomed=1.20",
        "timeline.fit=1.00",
        "timeline.other=run 3, the slowest: 12.000 ms",
        "theme=dark",
        "drawn_again=7",
        "paper=light",
        "errors=0",
    };
    struct fixture *fixture = *state;
    char *path = make_probed(fixture);
    char *document = browse(fixture, path), *probe;

    probe = strstr(document, "<pre id=\"probe\">");
    if (!probe)
        fail_msg("the probe did not run: %.300s", strstr(document, "<html"));
    CHECK_LACKS(probe, "failed=");
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        CHECK_CONTAINS(probe, expected[i]);
    free(document);
    free(path);
}

/* Adds the page of a report to `frames`, unless the store has nothing for it. */
static void add_frame(const struct fixture *fixture, const char *report, FILE *frames)
{
    char *program = place_program("analyze/profile_analyze");
    char *store = temp_path(fixture->dir, "store.db"), *page;
    struct child_result result;

    assert_true(asprintf(&page, "%s/report_%s.html", fixture->dir, report) > 0);
    result = child_run(
        (const char *[]){program, store, "--report", report, "--format", "html", "-o", page, NULL},
        NULL);
    if (result.status != 0 && result.status != 1)
        fail_msg("%s: status %d, %s", report, result.status, result.err);
    if (result.status == 0)
        fprintf(frames, "<iframe id=\"%s\" src=\"file://%s\"></iframe>\n", report, page);
    child_result_deinit(&result);
    free(program);
    free(store);
    free(page);
}

static void every_report_opens(void **state)
{
    static const char collect[] =
        "<script>addEventListener('load', () => {\n"
        "for (const frame of document.querySelectorAll('iframe')) {\n"
        "const found = frame.contentDocument.documentElement.dataset;\n"
        "document.body.append(`${frame.id}: ${found.state}, ${found.errors} errors;`); }\n"
        "});</script>";
    struct fixture *fixture = *state;
    char *text = NULL, *path, *document, expected[64];
    size_t size;
    FILE *frames = open_memstream(&text, &size);
    size_t count = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        if (!report_kinds[i]->mode)
            add_frame(fixture, report_kinds[i]->name, frames);
    }
    fputs(collect, frames);
    fclose(frames);
    path = temp_write(fixture->dir, "frames.html", text, size);
    document = browse(fixture, path);
    for (size_t i = 0; report_kinds[i]; i++) {
        snprintf(expected, sizeof(expected), "<iframe id=\"%s\"", report_kinds[i]->name);
        if (!strstr(document, expected))
            continue;
        snprintf(expected, sizeof(expected), "%s: ready, 0 errors;", report_kinds[i]->name);
        CHECK_CONTAINS(document, expected);
        count++;
    }
    if (count < 10)
        fail_msg("only %zu reports found something", count);
    free(document);
    free(path);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_loads_nothing),           cmocka_unit_test(page_opens_without_errors),
        cmocka_unit_test(policy_refuses_other_scripts), cmocka_unit_test(reader_finds_the_way),
        cmocka_unit_test(every_report_opens),
    };

    if (!is_on_path("chromium"))
        return CHECK_SKIP_ALL("chromium is not installed");
    if (!browser_starts())
        return CHECK_SKIP_ALL("chromium is installed but does not start here");
    return cmocka_run_group_tests(tests, start, stop);
}
