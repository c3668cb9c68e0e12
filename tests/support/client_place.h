/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A started client and a fake daemon in a temporary folder, for tests of the client. As setup and
 * teardown of a case; what the daemon got is looked at by client_place_...(), each of which copies
 * under the daemon's lock.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CLIENT_PLACE_H
#define OPTRACE_TESTS_SUPPORT_CLIENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "client/optrace.h"
#include "schema/wire/wire.h"
#include "tests/support/fake_daemon.h"

enum {
    CLIENT_PLACE_RECORDS = 256, /* in each thread's ring */
    CLIENT_PLACE_OWN = 2, /* that the first ring of a session begins with: what recording costs;
                             the daemon counts them apart */
};

struct client_place {
    char *dir;
    char *socket; /* of the daemon */
    struct fake_daemon *daemon;
};

/** Folder, daemon and client. The state is a struct client_place. */
int client_place_setup(void **state);

/** Stop the client, wait for its BYE, end the daemon. */
int client_place_teardown(void **state);

/** Folder only: for cases that start by themselves, with client_place_start(). Their teardown is
 *  client_place_clear(). */
int client_place_make(void **state);
int client_place_clear(void **state);

/** optrace_start() on the place's socket, with small rings and the daemon required. */
int client_place_start(struct client_place *place);

/** Flush; fails the test unless the daemon has drained `want` records in all. */
void client_place_drain(struct client_place *place, size_t want);

/** Record number `index` of those drained. */
struct ot_wire_record client_place_record(struct client_place *place, size_t index);

/** Name and source of the op of record number `index`. Texts of the daemon; do not outlive it. */
const char *client_place_op_name(struct client_place *place, size_t index);
const char *client_place_op_source(struct client_place *place, size_t index);

/** Ring number `index` that was handed over, as the daemon has it mapped. Waits for it. */
const struct ot_ring *client_place_ring(struct client_place *place, uint32_t index);

/** While idle, the daemon does not drain and does not answer FLUSH. */
void client_place_set_idle(struct client_place *place, bool is_idle);

#endif
