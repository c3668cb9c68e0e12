/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a store that changed on the disk. SQLite knows no checksums: what is noticed is structure,
 * by whoever reads or writes that page. Nobody crashes or hangs, a report that meets damage says so,
 * and a daemon says at its start, in the answer to a flush, or by its log and exit status what it
 * could not store. */
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { EVENTS = 20000, ROUNDS = 12, FLIPS = 40, FIRST_BYTE = 4096, MORE = 1000 };

static uint64_t random_below(uint64_t *seed, uint64_t below)
{
    return (draw_u64(seed) >> 11) % below;
}

/* Returns the answer to FLUSH, 0: all is stored. */
static int record(const struct optraced *daemon, const char *program, unsigned count)
{
    struct raw_client client;
    int rc;

    raw_init(&client);
    client.program = program;
    raw_join(&client, daemon->socket);
    raw_define(&client);
    for (unsigned i = 0; i < count; i++) {
        const struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 100, i + 1);

        assert_true(raw_events(&client, &span, 1));
    }
    rc = raw_flush(&client);
    raw_bye(&client);
    raw_close(&client);
    return rc;
}

static void write_store(const struct optraced *daemon, const char *bytes, size_t size)
{
    static const char *const beside[] = {"-wal", "-shm"};
    FILE *file = fopen(daemon->store, "w");

    assert_non_null(file);
    assert_true(fwrite(bytes, 1, size, file) == size);
    assert_int_equal(fclose(file), 0);
    for (int i = 0; i < 2; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s%s", daemon->store, beside[i]);
        unlink(path);
    }
}

/* Every report ends by itself, and damage that it meets is one sentence with the status for it. */
static bool report_says_so(const struct optraced *daemon, const char *name)
{
    char *program = place_program("analyze/profile_analyze");
    const char *argv[] = {program, daemon->store, "--report", name, NULL};
    struct child_result result = child_run(argv, NULL);
    bool says_so = result.status == EXIT_INPUT;

    if (result.status != 0 && result.status != EXIT_NO && result.status != EXIT_INPUT)
        fail_msg("%s: status %d: %s", name, result.status, result.err);
    if (says_so)
        CHECK_CONTAINS(result.err, "is damaged");
    child_result_deinit(&result);
    free(program);
    return says_so;
}

/* Returns whether it noticed. */
static bool daemon_says_so(struct optraced *daemon)
{
    int flushed, status;

    optraced_spawn(daemon, NULL);
    if (!child_wait_text(&daemon->child, "ready: ", WAIT_MS)) {
        status = child_wait(&daemon->child, WAIT_MS);
        if (status != EXIT_INPUT)
            fail_msg("a start on a damaged store: status %d: %s", status, daemon->child.err);
        CHECK_CONTAINS(daemon->child.err, "is damaged");
        child_deinit(&daemon->child);
        return true;
    }
    flushed = record(daemon, "later", MORE);
    status = optraced_stop(daemon);
    if (flushed == 0 && status == 0) {
        CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM event WHERE lane_id ="
                                         " (SELECT max(lane_id) FROM lane)"),
                  MORE);
        return false;
    }
    assert_int_equal(status, EXIT_SYSTEM);
    return true;
}

static void damage_is_said_where_it_is_met(void **state)
{
    uint64_t seed = 88172645463325252;
    int by_reports = 0, by_daemons = 0;
    struct optraced daemon;
    size_t size;
    char *good, *bad;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    assert_int_equal(record(&daemon, "earlier", EVENTS), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    good = temp_read(daemon.store, &size);
    bad = malloc(size);
    for (int round = 0; round < ROUNDS; round++) {
        bool by_ops;

        memcpy(bad, good, size);
        for (int i = 0; i < FLIPS; i++)
            bad[FIRST_BYTE + random_below(&seed, size - FIRST_BYTE)] ^= 0xff;
        write_store(&daemon, bad, size);
        by_ops = report_says_so(&daemon, "ops");
        by_reports += report_says_so(&daemon, "events") || by_ops;
        by_daemons += daemon_says_so(&daemon);
    }
    print_message("noticed in %d rounds by reports, %d by daemons, of %d\n", by_reports, by_daemons,
                  ROUNDS);
    assert_true(by_reports > 0 && by_daemons > 0);
    write_store(&daemon, good, size);
    assert_false(report_says_so(&daemon, "ops"));
    assert_false(daemon_says_so(&daemon));
    free(bad);
    free(good);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_said_where_it_is_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
