/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector comes to rest: no alarm rings at once without work having been done, all that was
 * put into rings is committed or counted, and a stop ends. By hand for what once went wrong, then
 * with worlds made at random.
 */
#include "daemon/collector.h"

#include <unistd.h>

#include "daemon/alarm.h"
#include "tests/support/check.h"
#include "tests/support/scripted.h"
#include "tests/support/turns.h"
#include "tests/support/world.h"

/* --- By hand --- */

/* The only ring of a program is half full and its thread ends: the last batch takes the ring along,
 * and nothing is left that could be committed soon. */
static void a_ring_goes_with_its_thread(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);

    world_put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 60);
    world_end_thread(&client->rings[0]);
    world_ring_alarm(&world);
    assert_int_equal(scripted_queued(), 1);
    world_ring_alarm(&world); /* looks at the ring once more while the batch is on its way */
    world_come_to_rest(&world);
    CHECK_U64(world.stored, 60);
    assert_int_equal(client->session->rings.count, 0);
    world_end(&world);
}

/* A thread that has recorded nothing since the last commit ends: nothing more will be committed for
 * its ring, which is given up all the same. */
static void an_idle_ring_goes_with_its_thread(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);

    world_put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
    world_come_to_rest(&world);
    assert_int_equal(client->session->rings.count, 1);
    world_end_thread(&client->rings[0]);
    world_come_to_rest(&world);
    assert_int_equal(client->session->rings.count, 0);
    world_end(&world);
}

/* Programs that fill their rings as fast as they are read do not keep the daemon from ending. */
static void a_stop_ends_while_rings_fill(void **state)
{
    struct world world;

    world_begin(&world, 1);
    world.scale = 4096;
    for (size_t i = 0; i < CLIENTS; i++) {
        world_join(&world, &world.clients[i]);
        world_new_ring(&world, &world.clients[i], 64 * world.scale);
        world_put(&world, &world.clients[i].rings[0], OT_RECORD_SPAN, 1, 64 * world.scale);
    }
    world_stop(&world);
    for (size_t i = 0; i < CLIENTS; i++)
        if (world.clients[i].session->rings.items[0]->committed < 64 * world.scale)
            fail_msg("client %zu: what was there at the stop is not committed", i);
    world_end(&world);
}

/* Three programs by rings and three by frames, all faster than a slow writer: each gets its part of
 * what is stored, whoever came first. */
static void all_get_their_turn(void **state)
{
    enum { BATCHES = 20, FRAME = 4096 };
    const uint64_t fair = BATCHES * BATCH_ROWS_FULL / CLIENTS;
    struct world world;

    world_begin(&world, 1);
    world.scale = 4096;
    for (size_t i = 0; i < CLIENTS; i++) {
        world_join(&world, &world.clients[i]);
        if (i % 2 == 0)
            world_new_ring(&world, &world.clients[i], 32 * world.scale << i / 2);
    }
    while (world.batches_written < BATCHES) {
        world_go_on_recording(&world);
        for (size_t i = 1; i < CLIENTS; i += 2)
            if (world.clients[i].inline_waits == 0) {
                world.clients[i].inline_waits = FRAME;
                world_put_inline(&world, &world.clients[i]);
            }
        if (scripted_queued() == WRITER_QUEUE_MAX && scripted_due_ns() > 0)
            world_write_oldest(&world, 0);
        else
            world_ring_alarm(&world);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (world.clients[i].session->event_count < fair / 2)
            fail_msg("client %zu got %llu of %llu", i,
                     (unsigned long long)world.clients[i].session->event_count,
                     (unsigned long long)fair);
    world_end(&world);
}

/* Whoever dies before its session is in the store leaves no trace, so that is not put off for long;
 * a crowd shares a commit. */
static void a_session_is_stored_soon(void **state)
{
    struct world world;
    uint64_t waited_ns = 0;

    world_begin(&world, 1);
    world_join(&world, &world.clients[0]);
    world_join(&world, &world.clients[1]);
    while (scripted_queued() == 0) {
        waited_ns += scripted_due_ns();
        world_ring_alarm(&world);
    }
    assert_in_range(waited_ns, 1, 30000000);
    CHECK_U64(scripted_queued(), 1);
    world_end(&world);
}

/* A definition may stand in frames that are not read for want of room: records that need it wait
 * for as long as that takes. */
static void records_wait_for_frames_that_wait(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);

    client->session->frames_wait = true;
    world_put(&world, &client->rings[0], OT_RECORD_SPAN, 2, 20);
    for (int i = 0; i < 10; i++) {
        world_ring_alarm(&world);
        scripted_pass(UINT64_C(1000000000));
    }
    CHECK_U64(client->session->rings.items[0]->read, 0);
    client->session->frames_wait = false;
    client->session->caught_up_ns = alarm_now_ns(CLOCK_MONOTONIC);
    world_define(&world, client, 2);
    world_come_to_rest(&world);
    CHECK_U64(client->session->lost_count, 0);
    CHECK_U64(world.stored, 20);
    world_end(&world);
}

/* Its frames were behind, and the last of them end it: what they bring is read all the same. */
static void what_last_frames_bring_is_read(void **state)
{
    for (int is_stopping = 0; is_stopping < 2; is_stopping++) {
        struct world world;
        struct client *client = world_begin_with_ring(&world);

        world_put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
        client->brings = 20;
        if (is_stopping)
            world_stop(&world);
        else
            world_come_to_rest(&world);
        CHECK_U64(world.stored,
                  is_stopping ? 64 + 20 : 5 + 20); /* world_stop() fills the first ring */
        world_end(&world);
    }
}

/* A client that is told so moves what it has in its rings to another session. Until the end is
 * committed, that is on its way to the store. */
static void an_end_is_told_when_it_is_committed(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);

    world_put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
    world_bye(&world, client);
    assert_int_equal(world_say_hello(&world, client), OT_WELCOME_BUSY);
    while (scripted_queued() == 0)
        scripted_ring();
    CHECK_U64(scripted_batch()->ends.count, 1);
    CHECK_U64(client->rings[0].memory->tail, 0);
    assert_int_equal(world_say_hello(&world, client), OT_WELCOME_BUSY);
    world_write_oldest(&world, 0);
    CHECK_U64(client->rings[0].memory->tail, 5);
    /* The store here is empty: to it, this is a new one. */
    assert_int_equal(world_say_hello(&world, client), OT_WELCOME_OK);
    world_come_to_rest(&world);
    world_end(&world);
}

/* A program that has lost its connection records on, also with what it has defined since. It comes
 * back with the definitions, or is given up. */
static void records_wait_for_a_program_that_comes_back(void **state)
{
    for (int comes_back = 0; comes_back < 2; comes_back++) {
        struct world world;
        struct client *client = world_begin_with_ring(&world);
        const struct session *session = client->session;

        world_leave(&world, client);
        world_put(&world, &client->rings[0], OT_RECORD_SPAN, 2, 20);
        for (int i = 0; i < 5; i++)
            world_ring_alarm(&world);
        CHECK_U64(session->rings.items[0]->read, 0);
        if (comes_back) {
            scripted_pass(UINT64_C(4000000000));
            world_join(&world, client);
            world_define(&world, client, 2);
        }
        world_come_to_rest(&world);
        if (comes_back)
            CHECK_U64(session->lost_count, 0);
        CHECK_U64(world.stored, world.put);
        world_end(&world);
    }
}

/* A thread lost records after its others were read, and has ended. Its ring says so, and goes only
 * when the store says so, too. */
static void a_ring_stays_until_its_losses_are_committed(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);

    world_put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
    world_come_to_rest(&world);
    client->rings[0].memory->gaps[0].lost_count = 7;
    world.put += 7;
    world_end_thread(&client->rings[0]);
    while (scripted_queued() == 0)
        world_ring_alarm(&world);
    for (int i = 0; i < 3; i++) { /* looks at the ring while the batch is on its way */
        world_ring_alarm(&world);
        assert_int_equal(client->session->rings.count, 1);
    }
    world_come_to_rest(&world);
    CHECK_U64(world.stored, world.put);
    assert_int_equal(client->session->rings.count, 0);
    world_end(&world);
}

/* A ring that is handed over once more was read to its end. */
static void losses_of_a_ring_that_comes_again_count_once(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);

    client->rings[0].memory->gaps[0].lost_count = 7;
    world.put += 7;
    world_end_thread(&client->rings[0]);
    world_come_to_rest(&world);
    assert_int_equal(client->session->rings.count, 0);
    world_send_ring(&world, client, 0);
    world_come_to_rest(&world);
    CHECK_U64(world.stored, world.put);
    assert_int_equal(client->session->rings.count, 0);
    world_end(&world);
}

/* Those who ask for what they recorded to be stored ask for what they lost, too. */
static void a_flush_covers_losses(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);
    const struct session *session = client->session;

    world_new_ring(&world, client, 8192);
    world_new_ring(&world, client, 64);
    world_put(&world, &client->rings[1], OT_RECORD_SPAN, 1, 10);
    for (int i = 0; i < 3; i++)
        client->rings[i].memory->gaps[0].lost_count = 7;
    world.put += 3 * 7;
    session_mark_rings(client->session);
    world_put(&world, &client->rings[1], OT_RECORD_SPAN, 1, 8000); /* more than one turn */
    collector_read_rings(world.collector, client->session);
    assert_true(session->rings.items[1]->read > 10);
    assert_false(session_is_read_to_mark(session));
    for (int i = 0; i < 10 && !session_is_read_to_mark(session); i++)
        world_ring_alarm(&world);
    assert_true(session_is_read_to_mark(session));
    CHECK_U64(session->lost_count, 3 * 7);
    world_come_to_rest(&world);
    CHECK_U64(world.stored, world.put);
    world_end(&world);
}

/* A session may be taken up by another process, after an exec, while rows that tell of the one
 * before are on their way. The writer reads them at any time, so they are not changed any more. */
static void rows_on_their_way_stay_as_they_are(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world);
    const struct store_cursor *row;
    char *before;

    world_put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
    while (scripted_queued() == 0)
        world_ring_alarm(&world);
    row = &scripted_batch()->cursors.items[scripted_batch()->cursors.count - 1];
    CHECK_U64(row->ring_id, 0);
    before = strdup(row->process);
    world_leave(&world, client);
    client->pid = 1;
    world_join(&world, client);
    assert_string_not_equal(client->session->process, before);
    assert_string_equal(row->process, before);
    free(before);
    world_end(&world);
}

/* While the store fails, and dead programs have left more than may wait for it: what is counted in
 * their rings is lost no less than what lies there. */
static void rings_given_up_are_counted_with_their_losses(void **state)
{
    struct world world;
    struct client *client = world_begin_with_ring(&world), *last = &world.clients[3];

    for (size_t i = 1; i < 4; i++) {
        world_join(&world, &world.clients[i]);
        for (size_t k = 0; k < RINGS; k++) /* hardly a page of each is ever touched */
            world_new_ring(&world, &world.clients[i], OT_WIRE_RING_RECORDS_MAX / 2);
    }
    scripted_fail(-ENOSPC);
    while (collector_room(world.collector)) {
        client->inline_waits = 1000;
        world_put_inline(&world, client);
    }
    world_put(&world, &last->rings[0], OT_RECORD_SPAN, 1, 5);
    last->rings[0].memory->gaps[0].lost_count = 7;
    world.put += 7;
    for (size_t i = 1; i < 4; i++)
        world_bye(&world, &world.clients[i]);
    while (!collector_sessions(world.collector)->is_ended) /* the last one comes first */
        scripted_ring();
    scripted_fail(0);
    world_come_to_rest(&world);
    CHECK_U64(world.stored, world.put);
    world_end(&world);
}

/* --- At random --- */

static void act_connected(struct world *world, struct client *client)
{
    struct raw_ring *ring = client->ring_count > 0
                                ? &client->rings[world_draw(world, (uint32_t)client->ring_count)]
                                : NULL;
    const uint32_t what = world_draw(world, 100);

    if (what < 10)
        world_new_ring(world, client, (UINT64_C(64) << world_draw(world, 4)) * world->scale);
    else if (what < 50 && ring && !ring->memory->closed)
        world_put(world, ring, world_draw(world, 40) ? OT_RECORD_SPAN : 99,
                  world_draw(world, 40) ? 1 : 2, world_draw(world, 100) * world->scale);
    else if (what < 55 && ring)
        world_end_thread(ring);
    else if (what < 75) {
        client->inline_waits += world_draw(world, 100);
        world_put_inline(world, client);
    } else if (what < 85) {
        collector_read_rings(world->collector, client->session);
        if (client->session)
            collector_flush(world->collector, (struct producer *)client, 1, false);
    } else if (what < 88)
        world_bye(world, client);
    else if (what < 92)
        world_leave(world, client);
    else if (what < 95)
        world_define(world, client, 2);
    else if (what < 96 && ring) {
        ring->head += 2 * ring->frame.record_count; /* impossible */
        world->is_unsound = true;
        world_put(world, ring, OT_RECORD_SPAN, 1, 1);
        ring->memory->state = ot_ring_state(ring->head, 0);
    }
}

static void act(struct world *world)
{
    struct client *client = &world->clients[world_draw(world, CLIENTS)];

    if (client->session) {
        act_connected(world, client);
    } else if (client->is_over) {
        world_drop_client(client);
    } else if (client->process[1] >= 0 && world_draw(world, 4) == 0) {
        close(client->process[1]); /* its process has died */
        client->process[1] = -1;
        client->is_over = true;
    } else {
        world_join(world, client);
    }
}

static void let_the_writer_work(struct world *world, uint32_t slowness)
{
    if (scripted_queued() == 0)
        return;
    if (world_draw(world, 60) == 0)
        scripted_fail(-ENOSPC);
    else if (world_draw(world, slowness) == 0)
        world_write_oldest(world, 0);
}

static void live(uint32_t seed)
{
    struct world world;
    uint32_t slowness;

    world_begin(&world, seed);
    world.scale = world_draw(&world, 6) ? 1 : 256;
    slowness = 1 + world_draw(&world, 40);
    for (int step = 0; step < 500 && !world.is_stopped; step++) {
        act(&world);
        let_the_writer_work(&world, slowness);
        if (world_draw(&world, 3) == 0)
            scripted_pass((uint64_t)world_draw(&world, 400) * 1000000);
        if (world_draw(&world, 2) == 0 && scripted_due_ns() < UINT64_MAX)
            world_ring_alarm(&world);
        if (world_draw(&world, 1500) == 0)
            world_stop(&world);
    }
    if (!world.is_stopped) {
        world_come_to_rest(&world);
        if (!world.is_unsound)
            CHECK_U64(world.stored, world.put);
    }
    world_end(&world);
}

static void worlds_at_random_come_to_rest(void **state)
{
    const char *one = getenv("OPTRACE_PROGRESS_SEED"), *some = getenv("OPTRACE_PROGRESS_WORLDS");
    const uint32_t count = some ? (uint32_t)atol(some) : turns_rounds(150);
    const uint32_t first = one ? 0 : (uint32_t)turns_seed();

    for (uint32_t i = 0; !one && i < count; i++) {
        fprintf(stderr, "\rworld %u", first + i); /* the last one when it fails */
        live(first + i);
    }
    if (one)
        live((uint32_t)strtoul(one, NULL, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_goes_with_its_thread),
        cmocka_unit_test(an_idle_ring_goes_with_its_thread),
        cmocka_unit_test(a_stop_ends_while_rings_fill),
        cmocka_unit_test(all_get_their_turn),
        cmocka_unit_test(a_session_is_stored_soon),
        cmocka_unit_test(records_wait_for_frames_that_wait),
        cmocka_unit_test(what_last_frames_bring_is_read),
        cmocka_unit_test(an_end_is_told_when_it_is_committed),
        cmocka_unit_test(records_wait_for_a_program_that_comes_back),
        cmocka_unit_test(a_ring_stays_until_its_losses_are_committed),
        cmocka_unit_test(losses_of_a_ring_that_comes_again_count_once),
        cmocka_unit_test(a_flush_covers_losses),
        cmocka_unit_test(rows_on_their_way_stay_as_they_are),
        cmocka_unit_test(rings_given_up_are_counted_with_their_losses),
        cmocka_unit_test(worlds_at_random_come_to_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
