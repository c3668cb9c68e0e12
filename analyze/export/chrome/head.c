/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before the events of a Chrome trace: the zero of its times, and whose they are. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/export/chrome/private.h"
#include "analyze/query/environment.h"
#include "base/text.h"

/* In the array form the zero of times has no other place than an event. */
static void write_base_event(struct chrome_writer *writer)
{
    chrome_begin(writer, "M");
    chrome_add(writer, ",\"name\":\"baseTimeNanoseconds\"");
    chrome_add_int(writer, "pid", chrome_pid(writer, writer->export->report->session_ids[0]));
    text_buffer_print(&writer->line, ",\"args\":{\"value\":%" PRId64 "}", writer->base_ns);
    chrome_end(writer);
}

/* As Kineto tells them; of several sessions no one could say whose these are. */
static int add_place(struct chrome_writer *writer, struct diag *diag)
{
    const struct report *report = writer->export->report;
    struct environment environment = {0};
    struct world_place place;
    const char *gpus;
    int rc = query_world_place(report->source->store, report->session_ids[0], &place, diag);

    if (rc == 0)
        rc = query_environment(report->source->store, report->session_ids, 1, &environment, diag);
    gpus = environment.facts[ENVIRONMENT_GPUS];
    if (rc == 0 && gpus) {
        chrome_add(writer, ",\"deviceProperties\":[{\"id\":0,\"name\":");
        chrome_add_text(&writer->line, gpus);
        chrome_add(writer, "}]");
    }
    if (rc == 0 && (place.rank != STORE_NULL || place.size != STORE_NULL)) {
        chrome_add(writer, ",\"distributedInfo\":{");
        if (place.rank != STORE_NULL)
            text_buffer_print(&writer->line, "\"rank\":%" PRId64, place.rank);
        if (place.size != STORE_NULL)
            text_buffer_print(&writer->line, "%s\"world_size\":%" PRId64,
                              place.rank != STORE_NULL ? "," : "", place.size);
        chrome_add(writer, "}");
    }
    environment_deinit(&environment);
    return rc;
}

int chrome_write_head(struct chrome_writer *writer, struct diag *diag)
{
    const struct export *export = writer->export;
    int rc = 0;

    if (export->taken_bytes)
        return 0;
    if (export->report->options->append) {
        fputs("[\n", export->stream);
        write_base_event(writer);
        return 0;
    }
    writer->line.length = 0;
    text_buffer_print(
        &writer->line,
        "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":%" PRId64
        ",\"otherData\":{\"tool\":\"optrace %s\"}",
        writer->base_ns, OPTRACE_VERSION);
    if (export->report->session_count == 1)
        rc = add_place(writer, diag);
    chrome_add(writer, ",\"traceEvents\":[\n");
    if (!writer->line.failed)
        fwrite(writer->line.text, 1, writer->line.length, export->stream);
    return rc;
}
