/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome traces into tables: what profilers of GPUs write beside kernels and launches. */
#include "analyze/import_chrome.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

static struct store *import(const char *text)
{
    struct import_options options = {0};
    struct json_stream *stream;
    struct diag diag = {0};
    struct store *store;

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(json_stream_open_memory("t.json", text, strlen(text), &stream, &diag));
    CHECK_OK(import_chrome(stream, "t.json", store, &options, &diag));
    json_stream_close(&stream);
    return store;
}

/* A stream that waits for an event carries the number of the call that recorded it; a host that
 * waits, and a stream that waits for what nobody recorded, that of their own call. */
static const char waits[] =
    "[{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":0,\"tid\":20,"
    " \"ts\":15,\"dur\":2,\"args\":{\"cuda_sync_kind\":\"Stream Wait Event\",\"stream\":20,"
    " \"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":12,\"wait_on_cuda_event_id\":1,"
    " \"correlation\":13,\"device\":0}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":0,\"tid\":20,"
    " \"ts\":25,\"dur\":2,\"args\":{\"wait_on_stream\":-1,"
    " \"wait_on_cuda_event_record_corr_id\":-1,\"correlation\":14,\"device\":0}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Event Sync\",\"pid\":0,\"tid\":-1,"
    " \"ts\":35,\"dur\":2,\"args\":{\"wait_on_stream\":7,"
    " \"wait_on_cuda_event_record_corr_id\":12,\"correlation\":15,\"device\":0}}]";

static void keeps_what_streams_wait_for(void **state)
{
    struct store *store = import(waits);

    rows_check(store,
               "SELECT o.name, type, device, params, correlation FROM event JOIN op o USING (op_id)"
               " ORDER BY start_ns",
               "Stream Wait Event|phase|cuda:0|{\"wait_on_stream\": 7}|12;"
               "Stream Wait Event|phase|cuda:0|{\"wait_on_stream\": -1}|14;"
               "Event Sync|phase|cuda:0|{\"wait_on_stream\": 7}|15");
    rows_check(store, "SELECT note FROM session",
               "t.json: 3 events of a Chrome trace; left out: wait_on_cuda_event_id (1)");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_streams_wait_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
