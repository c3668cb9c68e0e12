/* SPDX-License-Identifier: Apache-2.0 */
/* A program that puts all that the wire has into a small store, beside one that records as programs
 * do: file and log stay within the budget, and nothing of the other's latest is lost. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

enum {
    MIB = 1 << 20,
    BUDGET = 16 * MIB,
    TURNS = 600,
    TEXT_BYTES = 60000,
    EVENTS = 800,
    RING = 1 << 14,
    POLITE_EVENTS = 100, /* per turn */
};

static uint64_t seed = DRAW_SEED;

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)(draw_u64(&seed) >> 32) % bound;
}

struct hostile {
    struct raw_client client;
    uint32_t ops, lanes;
    uint64_t runs;
};

static void hostile_join(struct hostile *hostile, const struct optraced *daemon)
{
    *hostile = (struct hostile){0};
    raw_init(&hostile->client);
    raw_join(&hostile->client, daemon->socket);
    raw_lane(&hostile->client, ++hostile->lanes, "first");
    raw_op(&hostile->client, ++hostile->ops, "first", "Conv");
}

/* A text of any length up to the wire's bound, tiny ones as often as huge ones. */
static const char *random_text(void)
{
    static char text[TEXT_BYTES + 1];
    uint32_t length = 1 + random_below(random_below(2) ? 20 : TEXT_BYTES);

    memset(text, 'a' + (int)random_below(26), length);
    text[length] = '\0';
    return text;
}

/* Many ops for one text: what the wire says once, the store would say for each. */
static void put_ops(struct hostile *hostile)
{
    uint32_t text = raw_string(&hostile->client, random_text()), count = random_below(200);

    for (uint32_t i = 0; i < count; i++) {
        struct ot_wire_op op = {.op_id = ++hostile->ops,
                                .name = text,
                                .type = text,
                                .node_id = text,
                                .device = text,
                                .params = text,
                                .source = text,
                                .computation_flop = -1,
                                .memory_bytes = -1,
                                .workspace_bytes = -1};
        uint8_t frame[256];
        int length = ot_wire_encode_op(&op, NULL, NULL, frame, sizeof(frame));

        assert_true(length > 0);
        raw_send(&hostile->client, frame, (size_t)length);
    }
}

static void put_records(struct hostile *hostile, uint8_t kind)
{
    static struct ot_wire_record records[EVENTS];
    uint32_t count = 1 + random_below(EVENTS);

    for (uint32_t i = 0; i < count; i++) {
        uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

        records[i] = raw_span(1 + random_below(hostile->ops), 1 + random_below(hostile->lanes),
                              now_ns, 1 + random_below(1 << random_below(30)), 0);
        records[i].kind = kind;
        if (kind == OT_RECORD_RUN) {
            records[i].op_id = 0;
            records[i].run = ++hostile->runs;
        } else if (kind != OT_RECORD_SPAN) {
            records[i].end_ticks = records[i].kern_ticks = 0;
            records[i].bytes = 1 + random_below(1000);
        }
    }
    raw_events(&hostile->client, records, count);
}

static void hostile_turn(struct hostile *hostile, const struct optraced *daemon)
{
    switch (random_below(10)) {
    case 0:
    case 1:
        put_ops(hostile);
        break;
    case 2:
        if (hostile->lanes < OT_WIRE_LANES_MAX)
            raw_lane(&hostile->client, ++hostile->lanes, random_text());
        break;
    case 3:
    case 4:
        put_records(hostile, OT_RECORD_RUN);
        break;
    case 5:
        put_records(hostile, OT_RECORD_ALLOC);
        break;
    case 6:
        if (random_below(4) == 0) {
            raw_bye(&hostile->client);
            raw_close(&hostile->client);
            hostile_join(hostile, daemon);
        }
        break;
    default:
        put_records(hostile, OT_RECORD_SPAN);
    }
}

static int64_t size_of(const struct optraced *daemon, const char *suffix)
{
    char path[4096];
    struct stat status;

    snprintf(path, sizeof(path), "%s%s", daemon->store, suffix);
    return stat(path, &status) < 0 ? 0 : (int64_t)status.st_size;
}

static void check_size(const struct optraced *daemon, int turn)
{
    const int64_t file = size_of(daemon, ""), log = size_of(daemon, "-wal");

    if (file <= 0 || file + log > BUDGET)
        fail_msg("after turn %d the file has %lld bytes and its log %lld, %lld above the budget",
                 turn, (long long)file, (long long)log, (long long)(file + log - BUDGET));
}

struct polite {
    struct raw_client client;
    struct raw_ring ring;
    uint64_t count;
};

static void polite_join(struct polite *polite, const struct optraced *daemon)
{
    *polite = (struct polite){0};
    raw_init(&polite->client);
    raw_join(&polite->client, daemon->socket);
    raw_lane(&polite->client, 1, "polite");
    raw_op(&polite->client, 1, "polite_op", "Conv");
    raw_ring_create(&polite->ring, &polite->client, 1, 1, RING);
    assert_true(raw_ring_send(&polite->client, &polite->ring));
    assert_int_equal(raw_flush(&polite->client), 0);
}

static void polite_turn(struct polite *polite)
{
    for (int i = 0; i < POLITE_EVENTS; i++) {
        struct ot_wire_record span =
            raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, polite->count + 1);

        while (!raw_ring_put(&polite->ring, &span))
            usleep(100); /* full: the daemon is at it */
        polite->count++;
    }
    assert_int_equal(raw_flush(&polite->client), 0);
}

/* All of the polite program's is there or was the oldest of all; its latest is there. */
static void check_polite(const struct polite *polite, const struct optraced *daemon)
{
    CHECK_U64(optraced_query(daemon, "SELECT (SELECT count(*) FROM event e JOIN op USING (op_id)"
                                     " WHERE name = 'polite_op') + (SELECT"
                                     " ifnull(sum(event_count), 0) FROM dropped WHERE session_id ="
                                     " (SELECT session_id FROM op WHERE name = 'polite_op'))"),
              polite->count);
    CHECK_U64(optraced_query(daemon, "SELECT max(correlation) FROM event JOIN op USING (op_id)"
                                     " WHERE name = 'polite_op'"),
              polite->count);
    assert_true(optraced_query(daemon, "SELECT count(*) FROM event JOIN op USING (op_id) WHERE"
                                       " name = 'polite_op'") >= 10 * POLITE_EVENTS);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM gap WHERE session_id = (SELECT"
                                     " session_id FROM op WHERE name = 'polite_op')"),
              0);
}

/* Defines ops with a text of 10 kB each until the log has said so often that one is not stored.
 * Returns how many are. */
static int64_t define_until_refused(struct hostile *hostile, struct optraced *daemon,
                                    unsigned refusals)
{
    char name[10001];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    while (optraced_count_log(daemon, "more than its share of the store") < refusals) {
        raw_op(&hostile->client, ++hostile->ops, name, "T");
        assert_int_equal(raw_flush(&hostile->client), 0);
    }
    return optraced_query(daemon, "SELECT count(*) FROM op");
}

/* What is recorded of an op beyond the share is counted as lost. Sessions that ended may have gone
 * with what they lost: of a new one. */
static void check_refused(struct hostile *hostile, struct optraced *daemon)
{
    unsigned refusals = optraced_count_log(daemon, "more than its share of the store");
    struct ot_wire_record span;

    assert_true(refusals > 0);
    raw_close(&hostile->client);
    hostile_join(hostile, daemon);
    define_until_refused(hostile, daemon, refusals + 1);
    span = raw_span(hostile->ops, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, 0);
    raw_events(&hostile->client, &span, 1);
    assert_int_equal(raw_flush(&hostile->client), 0);
    CHECK_U64(optraced_query(daemon, "SELECT sum(lost_count) FROM gap WHERE reason = 'definitions'"
                                     " AND session_id = (SELECT max(session_id) FROM session)"),
              1);
    raw_bye(&hostile->client);
}

static void a_hostile_program_has_its_share(void **state)
{
    static const char *const arguments[] = {"--store-budget", "16MiB", NULL};
    struct hostile hostile;
    struct polite polite;
    struct optraced daemon;
    char *integrity;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    polite_join(&polite, &daemon);
    hostile_join(&hostile, &daemon);
    for (int turn = 0; turn < TURNS; turn++) {
        hostile_turn(&hostile, &daemon);
        polite_turn(&polite);
        check_size(&daemon, turn);
    }
    raw_bye(&hostile.client);
    check_polite(&polite, &daemon);
    check_size(&daemon, TURNS);
    check_refused(&hostile, &daemon);
    check_size(&daemon, TURNS);
    integrity = optraced_query_text(&daemon, "PRAGMA integrity_check");
    assert_string_equal(integrity, "ok");
    free(integrity);
    raw_bye(&polite.client);
    raw_close(&polite.client);
    raw_close(&hostile.client);
    raw_ring_destroy(&polite.ring);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The next daemon counts what is in the store. */
static void a_share_outlives_the_daemon(void **state)
{
    static const char *const arguments[] = {"--store-budget", "16MiB", NULL};
    struct hostile hostile;
    struct optraced daemon;
    int64_t count;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    hostile_join(&hostile, &daemon);
    count = define_until_refused(&hostile, &daemon, 1);
    assert_in_range(count, 50, 200);
    optraced_kill(&daemon);
    raw_close(&hostile.client);
    optraced_start(&daemon, arguments);
    raw_join(&hostile.client, daemon.socket);
    CHECK_U64(define_until_refused(&hostile, &daemon, 1), count);
    raw_bye(&hostile.client);
    raw_close(&hostile.client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hostile_program_has_its_share),
        cmocka_unit_test(a_share_outlives_the_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
