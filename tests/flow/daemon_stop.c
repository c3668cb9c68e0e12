/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon still reads once it is told to end. */
#include <signal.h>

#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

/* What a client had sent before the signal is read, also when it has gone since. */
static void what_was_sent_is_stored(void **state)
{
    enum { FRAMES = 4, RECORDS = 500 }; /* fits into a socket that nobody reads */
    static struct ot_wire_record spans[RECORDS];
    struct raw_client client;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    for (uint64_t i = 0; i < RECORDS; i++)
        spans[i] = raw_span(1, 1, raw_hello(&client).ticks, 1, i);
    assert_int_equal(raw_flush(&client), 0);
    kill(daemon.child.pid, SIGSTOP);
    for (int i = 0; i < FRAMES; i++)
        assert_true(raw_events(&client, spans, RECORDS));
    raw_bye(&client);
    raw_close(&client);
    kill(daemon.child.pid, SIGTERM);
    kill(daemon.child.pid, SIGCONT);
    assert_int_equal(child_wait(&daemon.child, WAIT_MS), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), FRAMES * RECORDS);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'"), 1);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sent_is_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
