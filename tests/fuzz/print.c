/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the names of all that a recording has, told by any report, for a terminal of any
 * width. The first bytes choose report, format and width; the others, cut at each 0, are the names
 * of ops, lanes, labels, types, devices and of the program. What people see must be UTF-8 without
 * anything that would steer a terminal or turn the direction of writing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/chrome/chrome.h"
#include "analyze/reports/report.h"
#include "base/json.h"
#include "base/text.h"
#include "tests/fuzz/accepted.h"

extern const struct import_format import_chrome_format;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES_MAX = 24, WIDTH_MIN = 20, WIDTHS = 281, CHOICES = 4 };

struct names {
    char *text[NAMES_MAX];
    size_t count, next;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Names are UTF-8 when they come out of a store: what is not has been replaced on the way in. */
static void read_names(struct names *names, const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;

    while (at < end && names->count < NAMES_MAX) {
        const size_t length = strnlen(at, (size_t)(end - at));

        if (text_is_utf8(at, length))
            require((names->text[names->count++] = strndup(at, length)) != NULL);
        at += length + 1;
    }
    if (names->count == 0)
        require((names->text[names->count++] = strdup("x")) != NULL);
}

static const char *next_name(struct names *names)
{
    return names->text[names->next++ % names->count];
}

static void write_member(struct json_writer *json, const char *key, const char *value)
{
    json_key(json, key);
    json_string(json, value);
}

static void write_number(struct json_writer *json, const char *key, double value)
{
    json_key(json, key);
    json_double(json, value);
}

static void write_event(struct json_writer *json, struct names *names, const char *category,
                        unsigned i)
{
    json_begin_object(json);
    write_member(json, "ph", "X");
    write_member(json, "cat", category);
    write_member(json, "name", next_name(names));
    write_number(json, "pid", strcmp(category, "kernel") == 0 ? 0 : 100);
    write_number(json, "tid", strcmp(category, "kernel") == 0 ? 7 : 100 + i % 2);
    write_number(json, "ts", 1000 + 10.0 * i);
    write_number(json, "dur", 1 + i % 9);
    json_key(json, "args");
    json_begin_object(json);
    write_member(json, "Call stack", next_name(names));
    write_member(json, "Input type", next_name(names));
    write_number(json, "External id", i / 2 + 1);
    write_number(json, "correlation", i / 2 + 1);
    write_number(json, "device", 0);
    write_number(json, "stream", 7);
    json_end_object(json);
    json_end_object(json);
}

static void write_memory(struct json_writer *json, struct names *names, unsigned i)
{
    json_begin_object(json);
    write_member(json, "ph", "i");
    write_member(json, "s", "t");
    write_member(json, "name", "[memory]");
    write_number(json, "pid", 100);
    write_number(json, "tid", 100);
    write_number(json, "ts", 1001 + 10.0 * i);
    json_key(json, "args");
    json_begin_object(json);
    write_number(json, "Addr", 4096.0 * (i + 1));
    write_number(json, "Bytes", 1024.0 * (i + 1));
    write_number(json, "Device Type", 0);
    write_number(json, "Device Id", -1);
    json_end_object(json);
    json_end_object(json);
}

static void write_name_of(struct json_writer *json, const char *what, int tid, const char *name)
{
    json_begin_object(json);
    write_member(json, "ph", "M");
    write_member(json, "name", what);
    write_number(json, "pid", 100);
    write_number(json, "tid", tid);
    json_key(json, "args");
    json_begin_object(json);
    write_member(json, "name", name);
    json_end_object(json);
    json_end_object(json);
}

static char *write_trace(struct names *names)
{
    static const char *const categories[] = {"cpu_op", "user_annotation", "cuda_runtime",
                                             "kernel", "gpu_memcpy",      "python_function"};
    struct json_writer json;
    char *text;

    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "schemaVersion");
    json_double(&json, 1);
    write_member(&json, "traceName", next_name(names));
    json_key(&json, "traceEvents");
    json_begin_array(&json);
    write_name_of(&json, "process_name", 0, next_name(names));
    write_name_of(&json, "thread_name", 100, next_name(names));
    for (unsigned i = 0; i < 24; i++)
        write_event(&json, names, categories[i % (sizeof(categories) / sizeof(categories[0]))], i);
    for (unsigned i = 0; i < 4; i++)
        write_memory(&json, names, i);
    json_end_array(&json);
    json_end_object(&json);
    require(json_finish(&json) == 0);
    text = json_take(&json, NULL);
    require(text != NULL);
    return text;
}

/* What would steer a terminal, or turn the direction in which it writes. */
static bool is_harmful(uint32_t code)
{
    return (code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
           code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

static void check_harmless(const char *text, size_t size)
{
    size_t length;

    for (size_t at = 0; at < size; at += length) {
        uint32_t code;

        length = text_decode(text + at, size - at, &code);
        require(length > 0 && !is_harmful(code));
    }
}

static void print(struct store *store, const struct report_kind *kind, const uint8_t *choices)
{
    static const enum out_format formats[] = {
        OUT_FORMAT_TABLE, OUT_FORMAT_TABLE, OUT_FORMAT_TABLE, OUT_FORMAT_MARKDOWN,
        OUT_FORMAT_CSV,   OUT_FORMAT_WIKI,  OUT_FORMAT_JSON,  OUT_FORMAT_HTML};
    const struct source source = {.format = &import_chrome_format, .name = "fuzz", .store = store};
    const int64_t session_id = 1;
    struct analyze_options options = analyze_options_default();
    struct report_verdict verdict = {0};
    struct session_rows sessions;
    struct report report = {.kind = kind,
                            .kinds = report_kinds,
                            .options = &options,
                            .source = &source,
                            .sessions = &sessions,
                            .session_ids = &session_id,
                            .session_count = 1,
                            .verdict = &verdict};
    char *text, *side_text;
    size_t size, side_size;
    FILE *stream = open_memstream(&text, &size), *side = open_memstream(&side_text, &side_size);
    struct out_options out_options = {.format = formats[choices[1] % 8],
                                      .report = kind->name,
                                      .subject = "fuzz",
                                      .ascii = choices[1] & 8,
                                      .width =
                                          WIDTH_MIN + (choices[1] >> 4 | choices[2] << 4) % WIDTHS,
                                      .stream = stream,
                                      .side = side};
    struct diag diag = {0};

    options.top = 0;
    options.show_host = true;
    require(query_sessions(store, &sessions, &diag) == 0);
    require(out_open(&out_options, &report.out) == 0);
    kind->run(&report, &diag); /* not every report has something to say of this recording */
    require(out_close(&report.out, &diag) == 0);
    session_rows_deinit(&sessions);
    fclose(stream);
    fclose(side);
    fuzz_accepted(size > 0);
    if (out_options.format == OUT_FORMAT_TABLE || out_options.format == OUT_FORMAT_MARKDOWN ||
        out_options.format == OUT_FORMAT_WIKI)
        check_harmless(text, size);
    check_harmless(side_text, side_size);
    free(text);
    free(side_text);
}

static const struct report_kind *choose_report(uint8_t number)
{
    const struct report_kind *chosen[64];
    size_t count = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        if (!report_kinds[i]->mode && report_kinds[i]->output != REPORT_WRITES && count < 64)
            chosen[count++] = report_kinds[i];
    }
    return chosen[number % count];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct import_options options = {0};
    struct json_stream *stream = NULL;
    struct store *store = NULL;
    struct names names = {0};
    struct diag diag = {0};
    char *trace;

    if (size < CHOICES)
        return 0;
    read_names(&names, data + CHOICES, size - CHOICES);
    names.next = data[3];
    trace = write_trace(&names);
    require(store_open("", STORE_MEMORY, &store, &diag) == 0);
    require(json_stream_open_memory("names", (const uint8_t *)trace, strlen(trace), &stream,
                                    &diag) == 0);
    if (import_chrome(stream, "names", store, &options, &diag) == 0)
        print(store, choose_report(data[0]), data);
    json_stream_close(&stream);
    store_close(&store);
    for (size_t i = 0; i < names.count; i++)
        free(names.text[i]);
    free(trace);
    return 0;
}
