/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon and the good client of a scene. */
#include "tests/flow/hostile_scene.h"

#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/sanitizer.h"
#include "tests/support/wait.h"

static void *be_good(void *context)
{
    struct good *good = context;

    while (!__atomic_load_n(&good->ends, __ATOMIC_ACQUIRE)) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, 0);

        span.correlation = good->ring_count + 1;
        good->ring_count += raw_ring_put(&good->ring, &span);
        if (good->ring_count % 16 == 0) {
            span.lane_id = 2;
            span.correlation = good->inline_count + 1;
            raw_events(&good->client, &span, 1);
            __atomic_store_n(&good->inline_count, good->inline_count + 1, __ATOMIC_RELEASE);
        }
        usleep(100);
    }
    return NULL;
}

static bool has_begun(void *context)
{
    struct good *good = context;

    return __atomic_load_n(&good->inline_count, __ATOMIC_ACQUIRE) > 0;
}

void good_start(struct good *good, const struct optraced *daemon, const char *prefix)
{
    char name[64];

    memset(good, 0, sizeof(*good));
    raw_init(&good->client);
    raw_join(&good->client, daemon->socket);
    snprintf(name, sizeof(name), "%s-ring", prefix);
    raw_lane(&good->client, 1, name);
    snprintf(name, sizeof(name), "%s-inline", prefix);
    raw_lane(&good->client, 2, name);
    raw_op(&good->client, 1, "conv", "Conv");
    raw_ring_create(&good->ring, &good->client, 1, 1, 1 << 16);
    assert_true(raw_ring_send(&good->client, &good->ring));
    assert_int_equal(pthread_create(&good->thread, NULL, be_good, good), 0);
    assert_true(wait_until(has_begun, good, WAIT_MS));
}

/* Compares a count of the store with what was recorded. LANE in the query stands for the lane. */
static void check_count(const struct optraced *daemon, const char *what, const char *prefix,
                        const char *lane, uint64_t wanted)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "SELECT %s FROM event JOIN lane USING (lane_id) WHERE name = '%s-%s'", what, prefix,
             lane);
    CHECK_U64(optraced_query(daemon, sql), wanted);
}

void good_end(struct good *good, const struct optraced *daemon, const char *prefix)
{
    char sql[300];

    __atomic_store_n(&good->ends, true, __ATOMIC_RELEASE);
    pthread_join(good->thread, NULL);
    assert_int_equal(raw_flush(&good->client), 0);
    check_count(daemon, "count(*)", prefix, "ring", good->ring_count);
    check_count(daemon, "count(DISTINCT correlation)", prefix, "ring", good->ring_count);
    check_count(daemon, "count(*)", prefix, "inline", good->inline_count);
    check_count(daemon, "count(DISTINCT correlation)", prefix, "inline", good->inline_count);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM gap JOIN lane USING (session_id) WHERE name = '%s-ring'",
             prefix);
    CHECK_U64(optraced_query(daemon, sql), 0);
    raw_bye(&good->client);
    raw_close(&good->client);
    raw_ring_destroy(&good->ring);
}

static int64_t anonymous_kib(pid_t pid)
{
    char path[64], text[4096] = "";
    const char *at;
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = 0;
    at = strstr(text, "RssAnon:");
    assert_non_null(at);
    return strtoll(at + 8, NULL, 10);
}

/* What the daemon itself may take: batches on their way, and what the limits allow. Sanitizers keep
 * freed memory and shadow it. */
void scene_check_memory(const struct scene *scene)
{
#if HAS_ADDRESS_SANITIZER
    const int64_t limit_kib = 2 << 20;
#else
    const int64_t limit_kib = (OT_WIRE_ALL_DEFINITIONS_MAX >> 10) + (128 << 10);
#endif

    assert_in_range(anonymous_kib(scene->daemon.child.pid), 1, limit_kib);
}

int scene_begin(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    optraced_init(&scene->daemon);
    optraced_start(&scene->daemon, NULL);
    good_start(&scene->good, &scene->daemon, "good");
    *state = scene;
    return 0;
}

int scene_end(void **state)
{
    struct scene *scene = *state;

    scene_check_memory(scene);
    good_end(&scene->good, &scene->daemon, "good");
    assert_int_equal(optraced_stop(&scene->daemon), 0);
    optraced_deinit(&scene->daemon);
    free(scene);
    return 0;
}
