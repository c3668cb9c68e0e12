/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What viewers ask of traces. Chrome's: spans of a row nest and come in the order of their starts,
 * every flow has one beginning and one end, each inside a span of its row, every row has a name.
 * speedscope's: times never go back, openings and closings balance like brackets. Of a store with
 * all that is odd, and of real traces.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/odd_store.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *work_dir;

static int start(void **state)
{
    char *store;

    work_dir = temp_create();
    store = temp_path(work_dir, "store.db");
    odd_store_make(store);
    free(store);
    return 0;
}

static int stop(void **state)
{
    temp_destroy(&work_dir);
    return 0;
}

static cJSON *export_json(const char *path, const char *kind, bool all_sessions)
{
    const struct child_options options = {.directory = work_dir};
    char *program = place_program("analyze/profile_analyze");
    const char *argv[] = {program,
                          path,
                          "--export",
                          kind,
                          all_sessions ? "--session" : NULL,
                          all_sessions ? "all" : NULL,
                          NULL};
    struct child_result result = child_run(argv, &options);
    cJSON *json;

    if (result.status != 0)
        fail_msg("%s: status %d: %s", path, result.status, result.err);
    json = cJSON_ParseWithLength(result.out, result.out_bytes);
    if (!json)
        fail_msg("%s: no JSON near %.60s", path, cJSON_GetErrorPtr());
    child_result_deinit(&result);
    free(program);
    return json;
}

/* --- Chrome. --- */

/* Times in ns, which the file has with three decimals of microseconds. */
struct event {
    char phase;
    double pid, tid, id;
    long long start_ns, end_ns;
    bool has_name; /* of its row; of metadata: it names the row */
    size_t place;  /* in the file */
};

struct events ARRAY_FIELDS(struct event);

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static struct events read_events(const cJSON *trace)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(trace, "traceEvents"), *item;
    struct events events = {0};

    assert_true(cJSON_IsArray(list));
    cJSON_ArrayForEach(item, list)
    {
        const char *phase = cJSON_GetStringValue(cJSON_GetObjectItem(item, "ph"));
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(item, "name"));
        struct event event = {
            .phase = phase[0],
            .pid = number(item, "pid"),
            .tid = number(item, "tid"),
            .id = number(item, "id"),
            .has_name = phase[0] == 'M' && strcmp(name, "thread_name") == 0,
            .place = events.count,
        };

        assert_non_null(name);
        assert_false(isnan(event.pid));
        if (phase[0] != 'M') {
            event.start_ns = llround(number(item, "ts") * 1000);
            event.end_ns = event.start_ns;
            /* A double holds them exactly. */
            CHECK_NEAR(number(item, "ts") * 1000, (double)event.start_ns, 0.25);
        }
        if (phase[0] == 'X')
            event.end_ns += llround(number(item, "dur") * 1000);
        CHECK_OK(array_push(&events, event));
    }
    return events;
}

static int compare_rows(const void *a, const void *b)
{
    const struct event *left = a, *right = b;

    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

static bool is_same_row(const struct event *a, const struct event *b)
{
    return a->pid == b->pid && a->tid == b->tid;
}

/* Events of one row, in the order of the file. */
static void check_row(const char *path, const struct event *events, size_t count)
{
    ARRAY_OF(long long) open = {0};
    long long last_ns = 0;
    bool has_name = false;

    for (size_t i = 0; i < count; i++) {
        has_name |= events[i].has_name;
        if (events[i].phase != 'X')
            continue;
        if (events[i].start_ns < last_ns)
            fail_msg("%s: event %zu starts before the one before it", path, events[i].place);
        last_ns = events[i].start_ns;
        while (open.count && open.items[open.count - 1] <= events[i].start_ns)
            open.count--;
        if (open.count && open.items[open.count - 1] < events[i].end_ns)
            fail_msg("%s: event %zu sticks out of the one around it", path, events[i].place);
        CHECK_OK(array_push(&open, events[i].end_ns));
    }
    if (!has_name)
        fail_msg("%s: row %.0f of process %.0f has no name", path, events[0].tid, events[0].pid);
    array_deinit(&open);
}

/* Whether some span of the row is open at a flow's end. */
static bool is_inside(const struct event *events, size_t count, const struct event *flow)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].phase == 'X' && events[i].start_ns <= flow->start_ns &&
            events[i].end_ns >= flow->start_ns)
            return true;
    }
    return false;
}

static int compare_ids(const void *a, const void *b)
{
    const struct event *left = a, *right = b;

    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return (left->phase < right->phase) - (left->phase > right->phase); /* s before f */
}

static size_t check_flows(const char *path, struct events *flows)
{
    if (flows->count)
        qsort(flows->items, flows->count, sizeof(*flows->items), compare_ids);
    CHECK_U64(flows->count % 2, 0);
    for (size_t i = 0; i < flows->count; i += 2) {
        const struct event *begin = &flows->items[i], *end = begin + 1;

        if (begin->phase != 's' || end->phase != 'f' || begin->id != end->id ||
            (i && begin[-1].id == begin->id))
            fail_msg("%s: flow %.0f has not one beginning and one end", path, begin->id);
    }
    return flows->count / 2;
}

/* Returns how many flows there are. */
static size_t check_chrome(const char *path, bool all_sessions)
{
    cJSON *trace = export_json(path, "chrome", all_sessions);
    struct events events = read_events(trace), flows = {0};
    size_t count;

    qsort(events.items, events.count, sizeof(*events.items), compare_rows);
    for (size_t i = 0; i < events.count; i += count) {
        count = 1;
        while (i + count < events.count && is_same_row(&events.items[i], &events.items[i + count]))
            count++;
        if (isnan(events.items[i].tid))
            continue; /* of a process */
        check_row(path, &events.items[i], count);
        for (size_t k = i; k < i + count; k++) {
            if (events.items[k].phase != 's' && events.items[k].phase != 'f')
                continue;
            CHECK_OK(array_push(&flows, events.items[k]));
            /* Looking through all of a row is slow: every hundredth has to do. */
            if (flows.count % 100 == 1 && !is_inside(&events.items[i], count, &events.items[k]))
                fail_msg("%s: an end of flow %.0f is in no span", path, events.items[k].id);
        }
    }
    count = check_flows(path, &flows);
    array_deinit(&flows);
    array_deinit(&events);
    cJSON_Delete(trace);
    return count;
}

/* --- speedscope. --- */

static size_t check_profile(const char *path, const cJSON *profile, int frame_count)
{
    double at = number(profile, "startValue"), end = number(profile, "endValue");
    const cJSON *events = cJSON_GetObjectItem(profile, "events"), *event;
    ARRAY_OF(double) open = {0};
    size_t count = 0;

    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(profile, "type")), "evented");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(profile, "unit")), "nanoseconds");
    assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(profile, "name")));
    cJSON_ArrayForEach(event, events)
    {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItem(event, "type"));
        double frame = number(event, "frame");

        if (!(number(event, "at") >= at) || !(frame >= 0 && frame < frame_count))
            fail_msg("%s: event %zu at %.0f of frame %.0f", path, count, number(event, "at"),
                     frame);
        at = number(event, "at");
        if (type[0] == 'O')
            CHECK_OK(array_push(&open, frame));
        else if (!open.count || open.items[--open.count] != frame)
            fail_msg("%s: event %zu closes what is not open", path, count);
        count++;
    }
    CHECK_U64(open.count, 0);
    assert_true(at <= end);
    array_deinit(&open);
    return count / 2;
}

/* Returns how many spans there are. */
static size_t check_speedscope(const char *path, bool all_sessions)
{
    cJSON *file = export_json(path, "speedscope", all_sessions);
    const cJSON *frames = cJSON_GetObjectItem(cJSON_GetObjectItem(file, "shared"), "frames");
    const cJSON *profile, *frame;
    size_t count = 0;

    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(file, "$schema")),
                        "https://www.speedscope.app/file-format-schema.json");
    cJSON_ArrayForEach(frame, frames)
    {
        assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(frame, "name")));
    }
    cJSON_ArrayForEach(profile, cJSON_GetObjectItem(file, "profiles"))
    {
        count += check_profile(path, profile, cJSON_GetArraySize(frames));
    }
    cJSON_Delete(file);
    return count;
}

/* --- What of. --- */

struct source {
    const char *path;
    size_t flows, spans;
};

/* Without the span of the recording itself. */
static const struct source sources[] = {
    {"traces/kineto-gpu/a100_alexnet_train.json.gz", 139, 867},
    {"traces/kineto-gpu/a100_resnet_nccl_rank.json.gz", 3774, 26932},
    {"traces/onnxruntime/light_resnet50_cpu_1thread_3runs.json", 0, 185},
    {"traces/nsys-sqlite/h100_2gpu_train_a.sqlite", 5634, 32249},
    {"traces/pytorch/cnn_inference_cpu.json", 0, 433},
};

static void odd_traces_are_valid(void **state)
{
    CHECK_U64(check_chrome("store.db", true), 3 + 6);
    CHECK_U64(check_speedscope("store.db", true), 7 + 16 + 5);
}

static void real_traces_are_valid(void **state)
{
    size_t seen = 0;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        char *path = place_shared(sources[i].path);

        if (!path)
            continue;
        seen++;
        CHECK_U64(check_chrome(path, false), sources[i].flows);
        CHECK_U64(check_speedscope(path, false), sources[i].spans);
        free(path);
    }
    if (!seen)
        CHECK_SKIP("the shared traces are not there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_traces_are_valid),
        cmocka_unit_test(real_traces_are_valid),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
