/* SPDX-License-Identifier: Apache-2.0 */
/* Client and daemon in a temporary folder. */
#include "tests/support/client_place.h"

#include "tests/support/check.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

int client_place_make(void **state)
{
    struct client_place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    place->dir = temp_create();
    place->socket = temp_path(place->dir, "s");
    *state = place;
    return 0;
}

int client_place_start(struct client_place *place)
{
    const struct optrace_config config = {
        .socket_path = place->socket,
        .ring_records = CLIENT_PLACE_RECORDS,
        .connect_timeout_ms = WAIT_MS,
        .required = 1,
    };

    return optrace_start(&config);
}

int client_place_setup(void **state)
{
    struct client_place *place;

    client_place_make(state);
    place = *state;
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    return 0;
}

int client_place_clear(void **state)
{
    struct client_place *place = *state;

    fake_daemon_destroy(&place->daemon);
    free(place->socket);
    temp_destroy(&place->dir);
    free(place);
    return 0;
}

int client_place_teardown(void **state)
{
    struct client_place *place = *state;

    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    return client_place_clear(state);
}

void client_place_drain(struct client_place *place, size_t want)
{
    uint64_t count;

    CHECK_OK(optrace_flush(WAIT_MS));
    count = fake_daemon_count(place->daemon, FAKE_RECORDS);
    CHECK_U64(count, want);
}

struct ot_wire_record client_place_record(struct client_place *place, size_t index)
{
    struct ot_wire_record record;

    fake_daemon_lock(place->daemon);
    assert_true(index < place->daemon->record_count);
    record = place->daemon->records[index].record;
    fake_daemon_unlock(place->daemon);
    return record;
}

static const char *text_of(struct client_place *place, size_t offset, size_t index)
{
    const struct ot_wire_record record = client_place_record(place, index);
    const char *text;
    uint32_t id;

    fake_daemon_lock(place->daemon);
    memcpy(&id, (const char *)&place->daemon->ops[record.op_id] + offset, sizeof(id));
    text = place->daemon->texts[id];
    fake_daemon_unlock(place->daemon);
    return text ? text : "(none)";
}

const char *client_place_op_name(struct client_place *place, size_t index)
{
    return text_of(place, offsetof(struct ot_wire_op, name), index);
}

const char *client_place_op_source(struct client_place *place, size_t index)
{
    return text_of(place, offsetof(struct ot_wire_op, source), index);
}

const struct ot_ring *client_place_ring(struct client_place *place, uint32_t index)
{
    const struct ot_ring *ring;

    fake_daemon_wait(place->daemon, FAKE_RINGS, index + 1);
    fake_daemon_lock(place->daemon);
    ring = place->daemon->rings[index].memory;
    fake_daemon_unlock(place->daemon);
    return ring;
}

void client_place_set_idle(struct client_place *place, bool is_idle)
{
    fake_daemon_lock(place->daemon);
    place->daemon->options.is_idle = is_idle;
    fake_daemon_unlock(place->daemon);
}
