/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input is a file that is said to be a MegEngine profile. What the importer
 * accepts is reported on in every format; what it refuses must leave the store as it was.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/megengine/megengine.h"
#include "analyze/reports/report.h"
#include "tests/fuzz/accepted.h"
#include "tests/fuzz/kept_store.h"

extern const struct import_format import_megengine_format;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int64_t count_sessions(struct store *store)
{
    sqlite3_stmt *statement = NULL;
    int64_t count;

    require(sqlite3_prepare_v2(store_handle(store), "SELECT count(*) FROM session", -1, &statement,
                               NULL) == SQLITE_OK &&
            sqlite3_step(statement) == SQLITE_ROW);
    count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

static void report_on(struct store *store, enum out_format format, FILE *nowhere)
{
    const struct source source = {
        .format = &import_megengine_format, .name = "fuzz", .store = store};
    const int64_t session_id = 1;
    struct analyze_options options = analyze_options_default();
    struct report_verdict verdict = {0};
    struct session_rows sessions;
    struct report report = {.options = &options,
                            .source = &source,
                            .sessions = &sessions,
                            .session_ids = &session_id,
                            .session_count = 1,
                            .verdict = &verdict};
    const struct out_options out_options = {
        .format = format, .report = "ops", .stream = nowhere, .side = nowhere};
    struct diag diag = {0};

    options.report = "ops";
    options.top = 0;
    options.show_host = true;
    options.copy_time = true;
    options.order_by = "in_shapes";
    options.filters[FILTER_INPUT_DTYPE].items[0] = format == OUT_FORMAT_WIKI ? "f32" : NULL;
    report.kind = report_kind_of(&options, &diag);
    require(report.kind != NULL);
    require(query_sessions(store, &sessions, &diag) == 0);
    require(out_open(&out_options, &report.out) == 0);
    require(report.kind->run(&report, &diag) >= 0);
    require(out_close(&report.out, &diag) == 0);
    session_rows_deinit(&sessions);
}

static int import(const uint8_t *data, size_t size, struct store *store)
{
    struct import_options options = {.lenient = size && data[size - 1] == '\n'};
    struct json_stream *stream = NULL;
    struct diag diag = {0};
    int rc;

    require(json_stream_open_memory("input", data, size, &stream, &diag) == 0);
    rc = import_megengine(stream, "fuzz", store, &options, NULL, &diag);
    require(rc == 0 || diag.text[0] != '\0');
    json_stream_close(&stream);
    return rc;
}

/* Tried in a store that lasts; what can be read goes into one of its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store = kept_store_begin();
    struct diag diag = {0};
    int rc = import(data, size, store);
    FILE *nowhere;

    kept_store_forget(store);
    require(count_sessions(store) == 0);
    fuzz_accepted(rc == 0);
    if (rc < 0)
        return 0;
    store = NULL;
    nowhere = fopen("/dev/null", "w");
    require(nowhere && store_open("", STORE_MEMORY, &store, &diag) == 0);
    require(import(data, size, store) == 0);
    require(count_sessions(store) == 1);
    for (int format = OUT_FORMAT_TABLE; format <= OUT_FORMAT_WIKI; format++)
        report_on(store, (enum out_format)format, nowhere);
    store_close(&store);
    fclose(nowhere);
    return 0;
}
