/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector comes to rest: no alarm rings at once without work having been done, all that was
 * put into rings is committed or counted, and a stop ends. By hand for what once went wrong, then
 * with worlds made at random.
 */
#include "daemon/collector.h"

#include <fcntl.h>
#include <unistd.h>

#include "daemon/alarm.h"
#include "daemon/define.h"
#include "daemon/ingest.h"
#include "tests/support/check.h"
#include "tests/support/raw_client.h"
#include "tests/support/scripted.h"
#include "tests/support/temp.h"

enum { CLIENTS = 6, RINGS = 3, SHORT_MS = 10, LONG_MS = 100 };

/* Longer than anything that the collector waits for. */
static const uint64_t REST_NS = UINT64_C(6000000000);

struct client {
    struct raw_client raw;
    struct raw_ring rings[RINGS];
    size_t ring_count;
    struct session *session; /* while connected */
    bool is_over;
    bool has_second_op;
    int process[2];        /* a pipe in place of a pidfd */
    uint32_t inline_waits; /* records of an EVENTS frame that found no room */
    uint32_t brings; /* records in a ring whose frame, with a BYE behind it, is not read yet */
    uint64_t put, answered; /* records, also those that found no room; FLUSHED */
};

struct world {
    char *dir, *path;
    struct store *store;
    struct collector *collector;
    struct client clients[CLIENTS];
    bool is_stopped, is_empty;
    bool is_unsound;      /* a ring was spoilt, or batches were given up: counts do not add up */
    uint64_t put, stored; /* records; rows and losses that were committed */
    uint64_t batches_written; /* for the fingerprint */
    uint64_t answers;
    uint32_t seed;
    unsigned idle_count; /* alarms at once that did nothing, since something was done */
    uint64_t scale;      /* how large its rings are */
};

/* --- What the collector calls --- */

static void on_flushed(void *context, struct producer *producer, uint64_t token, bool is_durable,
                       int status)
{
    struct world *world = context;

    ((struct client *)producer)->answered++;
    world->answers++;
}

static void on_nonsense(void *context, struct producer *producer, const char *text)
{
    struct client *client = (struct client *)producer;
    struct world *world = context;

    collector_forget(world->collector, producer);
    collector_end(world->collector, client->session, "cut off", text);
    client->session = NULL;
    client->is_over = true;
}

static void put_inline(struct world *world, struct client *client)
{
    const struct ot_wire_record record = {.kind = OT_RECORD_SPAN,
                                          .flags = OT_RECORD_REALTIME,
                                          .op_id = 1,
                                          .lane_id = 1,
                                          .start_ticks = 1,
                                          .end_ticks = 2};
    struct batch *batch = collector_turn(world->collector);
    struct ingest ingest;

    if (!batch)
        return; /* on_turn() comes back to it */
    ingest_init(&ingest, client->session, batch, false);
    world->put += client->inline_waits;
    for (; client->inline_waits > 0; client->inline_waits--)
        ingest_records(&ingest, &record, 1);
}

static void on_room(void *context)
{
}

static void bring_ring(struct world *world, struct client *client);

static bool on_turn(void *context, struct producer *producer)
{
    struct client *client = (struct client *)producer;

    if (client->brings > 0) {
        bring_ring(context, client);
        return false;
    }
    if (client->inline_waits > 0)
        put_inline(context, client);
    return client->inline_waits > 0;
}

static void on_empty(void *context)
{
    struct world *world = context;

    world->is_empty = true;
}

/* --- The world --- */

static uint32_t draw(struct world *world, uint32_t below)
{
    world->seed = world->seed * 1664525 + 1013904223;
    return (world->seed >> 8) % below;
}

static void begin(struct world *world, uint32_t seed)
{
    const struct collector_events events = {world,   on_flushed, on_nonsense,
                                            on_room, on_turn,    on_empty};
    struct collector_store store = {0};
    struct diag diag = {0};
    uv_loop_t *no_loop = NULL;

    *world = (struct world){.seed = seed, .scale = 1};
    scripted_begin();
    world->dir = temp_create();
    world->path = temp_path(world->dir, "o.db");
    CHECK_OK(store_open(world->path, STORE_WRITE, &world->store, &diag));
    store.store = world->store;
    store.path = world->path;
    CHECK_OK(collector_create(no_loop, &store, &events, &world->collector, &diag));
    for (size_t i = 0; i < CLIENTS; i++)
        world->clients[i].process[0] = world->clients[i].process[1] = -1;
    scripted_ring(); /* looks for sessions of earlier daemons */
}

/* Forgets the client; its session lives on in the collector for as long as that wants it. */
static void drop_client(struct client *client)
{
    for (size_t i = 0; i < client->ring_count; i++)
        raw_ring_destroy(&client->rings[i]);
    if (client->process[1] >= 0)
        close(client->process[1]);
    *client = (struct client){.process = {-1, -1}};
}

/* A number that changes when anything was done. */
static uint64_t fingerprint(const struct world *world)
{
    const struct batch *open = collector_open_batch(world->collector);
    uint64_t sum = scripted_submit_count() + world->batches_written + world->answers;

    sum = sum * 1000003 + batch_row_count(open) + open->gaps.count + open->ends.count;
    for (size_t i = 0; i < open->gaps.count; i++)
        sum += (uint64_t)open->gaps.items[i].lost_count;
    for (const struct session *s = collector_sessions(world->collector); s; s = s->next) {
        sum = sum * 1000003 + s->event_count + s->lost_count + s->rings.count + s->is_ended;
        for (size_t i = 0; i < s->rings.count; i++)
            sum += s->rings.items[i]->read + s->rings.items[i]->is_broken;
    }
    return sum;
}

/* Rings the next alarm. One that rings at once must do something; that somebody else has done it
 * meanwhile excuses it once. */
static void ring_alarm(struct world *world)
{
    const uint64_t before = fingerprint(world), delay_ms = scripted_delay_ms();

    scripted_ring();
    if (world->is_empty || fingerprint(world) != before)
        world->idle_count = 0;
    else if (delay_ms < SHORT_MS && ++world->idle_count > 1)
        fail_msg("alarms of %d ms ring, and nothing is done", (int)delay_ms);
}

static void write_oldest(struct world *world, int status)
{
    const struct batch *batch = scripted_batch();

    if (status == 0) {
        world->stored += batch_row_count(batch);
        for (size_t i = 0; i < batch->gaps.count; i++)
            world->stored += (uint64_t)batch->gaps.items[i].lost_count;
    } else {
        world->is_unsound = true;
    }
    world->batches_written++;
    scripted_write(status);
}

static bool is_alive(const struct producer *producer)
{
    return false;
}

static void define(struct world *world, struct client *client, uint32_t op_id)
{
    const struct ot_wire_string_view text = {.fixed = {.string_id = 1, .text_bytes = 1},
                                             .text = {"x", 1}};
    const struct ot_wire_lane lane = {.lane_id = 1, .kind = OT_LANE_THREAD, .name = 1};
    const struct ot_wire_op_view op = {
        .fixed = {.op_id = op_id, .name = 1, .type = 1, .computation_flop = -1}};
    struct store_ids *ids = collector_ids(world->collector);
    struct batch *batch = collector_room(world->collector);
    struct diag diag = {0};

    if (!batch)
        return;
    CHECK_OK(define_string(client->session, &text, &diag));
    CHECK_OK(define_lane(client->session, &lane, ids, batch, &diag));
    CHECK_OK(define_op(client->session, &op, ids, batch, &diag));
    client->has_second_op |= op_id == 2;
}

static void send_ring(struct world *world, struct client *client, size_t index)
{
    struct diag diag = {0};

    CHECK_OK(session_add_ring(client->session, client->rings[index].fd, &client->rings[index].frame,
                              &diag));
    collector_read_rings(world->collector, client->session);
}

static enum ot_wire_welcome_status say_hello(struct world *world, struct client *client)
{
    struct session_peer peer = {.pid = getpid(),
                                .uid = getuid(),
                                .ticks_per_s = 1000000000,
                                .now_ns = alarm_now_ns(CLOCK_BOOTTIME)};
    struct ot_wire_hello_view hello = {.texts = {.program = {"raw", 3}}};
    enum ot_wire_welcome_status status;
    struct diag diag = {0};

    hello.fixed = raw_hello(&client->raw);
    CHECK_OK(collector_hello(world->collector, (struct producer *)client, &hello, &peer, is_alive,
                             &client->session, &status, &diag));
    return status;
}

/* HELLO, for the first time or again, and all that follows it. */
static void join(struct world *world, struct client *client)
{
    if (!collector_room(world->collector))
        return;
    if (client->process[1] < 0) {
        raw_init(&client->raw);
        assert_int_equal(pipe2(client->process, O_CLOEXEC), 0);
    }
    if (say_hello(world, client) != OT_WELCOME_OK) {
        client->is_over = true;
        return;
    }
    close(client->session->process_fd);
    client->session->process_fd = dup(client->process[0]);
    define(world, client, 1);
    for (size_t i = 0; client->session && i < client->ring_count; i++)
        if (id_table_get(&client->session->lanes, 1) && !client->rings[i].memory->closed)
            send_ring(world, client, i);
}

static void new_ring(struct world *world, struct client *client, uint64_t record_count)
{
    struct raw_ring *ring = &client->rings[client->ring_count];

    if (client->ring_count == RINGS || !id_table_get(&client->session->lanes, 1))
        return;
    raw_ring_create(ring, &client->raw, (uint32_t)client->ring_count + 1, 1, record_count);
    send_ring(world, client, client->ring_count++);
}

/* A world in which the first client has a ring of 64 records. Returns that client. */
static struct client *begin_with_ring(struct world *world)
{
    begin(world, 1);
    join(world, &world->clients[0]);
    new_ring(world, &world->clients[0], 64);
    return &world->clients[0];
}

static void put(struct world *world, struct raw_ring *ring, uint32_t kind, uint32_t op_id,
                uint64_t count)
{
    const struct ot_wire_record record = {.kind = (uint16_t)kind,
                                          .flags = OT_RECORD_REALTIME,
                                          .op_id = op_id,
                                          .lane_id = 1,
                                          .run = kind == OT_RECORD_RUN,
                                          .start_ticks = 1,
                                          .end_ticks = 2};

    for (uint64_t i = 0; i < count; i++)
        if (!raw_ring_put(ring, &record))
            ring->memory->gaps[0].lost_count++;
    world->put += count;
}

static void end_thread(struct raw_ring *ring)
{
    __atomic_store_n(&ring->memory->closed, 1, __ATOMIC_RELEASE);
}

static void bye(struct world *world, struct client *client)
{
    collector_forget(world->collector, (struct producer *)client);
    collector_end(world->collector, client->session, "done", NULL);
    client->session = NULL;
    client->is_over = true;
}

/* RING and BYE, which were read in one go. */
static void bring_ring(struct world *world, struct client *client)
{
    struct raw_ring *ring = &client->rings[client->ring_count++];
    struct diag diag = {0};

    raw_ring_create(ring, &client->raw, (uint32_t)client->ring_count, 1, 64);
    put(world, ring, OT_RECORD_SPAN, 1, client->brings);
    client->brings = 0;
    CHECK_OK(session_add_ring(client->session, ring->fd, &ring->frame, &diag));
    bye(world, client);
}

static void leave(struct world *world, struct client *client)
{
    collector_forget(world->collector, (struct producer *)client);
    collector_leave(world->collector, client->session);
    client->session = NULL;
}

/* Lets everything go its way until nothing is done any more; then no alarm may be short. */
static void come_to_rest(struct world *world)
{
    uint64_t last = fingerprint(world), since_ns = alarm_now_ns(CLOCK_MONOTONIC);

    while (alarm_now_ns(CLOCK_MONOTONIC) - since_ns < REST_NS && !world->is_empty) {
        uint64_t now;

        if (scripted_queued() > 0)
            write_oldest(world, 0);
        else if (scripted_due_ns() < UINT64_MAX)
            ring_alarm(world);
        else
            return;
        now = fingerprint(world);
        if (now != last)
            since_ns = alarm_now_ns(CLOCK_MONOTONIC);
        last = now;
    }
    for (int i = 0; i < 10 && !world->is_empty && scripted_due_ns() < UINT64_MAX; i++) {
        if (scripted_delay_ms() < LONG_MS)
            fail_msg("nothing is to be done, and the next alarm rings after %d ms",
                     (int)scripted_delay_ms());
        ring_alarm(world);
    }
}

/* Programs do not know that the daemon is about to end. */
static void go_on_recording(struct world *world)
{
    const struct ot_wire_record record = {.kind = OT_RECORD_SPAN,
                                          .flags = OT_RECORD_REALTIME,
                                          .op_id = 1,
                                          .lane_id = 1,
                                          .start_ticks = 1,
                                          .end_ticks = 2};

    for (size_t i = 0; i < CLIENTS; i++)
        for (size_t k = 0; k < world->clients[i].ring_count; k++)
            while (raw_ring_put(&world->clients[i].rings[k], &record))
                ;
}

/* Stops the collector, which must end whatever the store does. */
static void stop(struct world *world)
{
    world->is_stopped = true;
    collector_stop(world->collector);
    for (int i = 0; !world->is_empty; i++) {
        if (i > 20000)
            fail_msg("the collector does not stop");
        go_on_recording(world);
        if (scripted_queued() > 0 && draw(world, 3) == 0)
            write_oldest(world, scripted_gives_up() && draw(world, 2) ? -ENOSPC : 0);
        else if (scripted_due_ns() < UINT64_MAX)
            ring_alarm(world);
        else if (scripted_queued() > 0)
            write_oldest(world, 0);
        else
            fail_msg("the collector waits for nothing");
    }
}

static void end(struct world *world)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (world->clients[i].session)
            leave(world, &world->clients[i]);
    if (!world->is_empty || !world->is_stopped) {
        world->is_empty = false;
        stop(world);
    }
    collector_destroy(&world->collector);
    for (size_t i = 0; i < CLIENTS; i++)
        drop_client(&world->clients[i]);
    store_close(&world->store);
    temp_destroy(&world->dir);
    free(world->path);
}

/* --- By hand --- */

/* The only ring of a program is half full and its thread ends: the last batch takes the ring along,
 * and nothing is left that could be committed soon. */
static void a_ring_goes_with_its_thread(void **state)
{
    struct world world;
    struct client *client = begin_with_ring(&world);

    put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 60);
    end_thread(&client->rings[0]);
    ring_alarm(&world);
    assert_int_equal(scripted_queued(), 1);
    ring_alarm(&world); /* looks at the ring once more while the batch is on its way */
    come_to_rest(&world);
    CHECK_U64(world.stored, 60);
    assert_int_equal(client->session->rings.count, 0);
    end(&world);
}

/* A thread that has recorded nothing since the last commit ends: nothing more will be committed for
 * its ring, which is given up all the same. */
static void an_idle_ring_goes_with_its_thread(void **state)
{
    struct world world;
    struct client *client = begin_with_ring(&world);

    put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
    come_to_rest(&world);
    assert_int_equal(client->session->rings.count, 1);
    end_thread(&client->rings[0]);
    come_to_rest(&world);
    assert_int_equal(client->session->rings.count, 0);
    end(&world);
}

/* Programs that fill their rings as fast as they are read do not keep the daemon from ending. */
static void a_stop_ends_while_rings_fill(void **state)
{
    struct world world;

    begin(&world, 1);
    world.scale = 4096;
    for (size_t i = 0; i < CLIENTS; i++) {
        join(&world, &world.clients[i]);
        new_ring(&world, &world.clients[i], 64 * world.scale);
        put(&world, &world.clients[i].rings[0], OT_RECORD_SPAN, 1, 64 * world.scale);
    }
    stop(&world);
    for (size_t i = 0; i < CLIENTS; i++)
        if (world.clients[i].session->rings.items[0]->committed < 64 * world.scale)
            fail_msg("client %zu: what was there at the stop is not committed", i);
    end(&world);
}

/* Three programs by rings and three by frames, all faster than a slow writer: each gets its part of
 * what is stored, whoever came first. */
static void all_get_their_turn(void **state)
{
    enum { BATCHES = 20, FRAME = 4096 };
    const uint64_t fair = BATCHES * BATCH_ROWS_FULL / CLIENTS;
    struct world world;

    begin(&world, 1);
    world.scale = 4096;
    for (size_t i = 0; i < CLIENTS; i++) {
        join(&world, &world.clients[i]);
        if (i % 2 == 0)
            new_ring(&world, &world.clients[i], 32 * world.scale << i / 2);
    }
    while (world.batches_written < BATCHES) {
        go_on_recording(&world);
        for (size_t i = 1; i < CLIENTS; i += 2)
            if (world.clients[i].inline_waits == 0) {
                world.clients[i].inline_waits = FRAME;
                put_inline(&world, &world.clients[i]);
            }
        if (scripted_queued() == WRITER_QUEUE_MAX && scripted_due_ns() > 0)
            write_oldest(&world, 0);
        else
            ring_alarm(&world);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (world.clients[i].session->event_count < fair / 2)
            fail_msg("client %zu got %llu of %llu", i,
                     (unsigned long long)world.clients[i].session->event_count,
                     (unsigned long long)fair);
    end(&world);
}

/* Whoever dies before its session is in the store leaves no trace, so that is not put off for long;
 * a crowd shares a commit. */
static void a_session_is_stored_soon(void **state)
{
    struct world world;
    uint64_t waited_ns = 0;

    begin(&world, 1);
    join(&world, &world.clients[0]);
    join(&world, &world.clients[1]);
    while (scripted_queued() == 0) {
        waited_ns += scripted_due_ns();
        ring_alarm(&world);
    }
    assert_in_range(waited_ns, 1, 30000000);
    CHECK_U64(scripted_queued(), 1);
    end(&world);
}

/* A definition may stand in frames that are not read for want of room: records that need it wait
 * for as long as that takes. */
static void records_wait_for_frames_that_wait(void **state)
{
    struct world world;
    struct client *client = begin_with_ring(&world);

    client->session->frames_wait = true;
    put(&world, &client->rings[0], OT_RECORD_SPAN, 2, 20);
    for (int i = 0; i < 10; i++) {
        ring_alarm(&world);
        scripted_pass(UINT64_C(1000000000));
    }
    CHECK_U64(client->session->rings.items[0]->read, 0);
    client->session->frames_wait = false;
    client->session->caught_up_ns = alarm_now_ns(CLOCK_MONOTONIC);
    define(&world, client, 2);
    come_to_rest(&world);
    CHECK_U64(client->session->lost_count, 0);
    CHECK_U64(world.stored, 20);
    end(&world);
}

/* Its frames were behind, and the last of them end it: what they bring is read all the same. */
static void what_last_frames_bring_is_read(void **state)
{
    for (int is_stopping = 0; is_stopping < 2; is_stopping++) {
        struct world world;
        struct client *client = begin_with_ring(&world);

        put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
        client->brings = 20;
        if (is_stopping)
            stop(&world);
        else
            come_to_rest(&world);
        CHECK_U64(world.stored, is_stopping ? 64 + 20 : 5 + 20); /* stop() fills the first ring */
        end(&world);
    }
}

/* A client that is told so moves what it has in its rings to another session. Until the end is
 * committed, that is on its way to the store. */
static void an_end_is_told_when_it_is_committed(void **state)
{
    struct world world;
    struct client *client = begin_with_ring(&world);

    put(&world, &client->rings[0], OT_RECORD_SPAN, 1, 5);
    bye(&world, client);
    assert_int_equal(say_hello(&world, client), OT_WELCOME_BUSY);
    while (scripted_queued() == 0)
        scripted_ring();
    CHECK_U64(scripted_batch()->ends.count, 1);
    CHECK_U64(client->rings[0].memory->tail, 0);
    assert_int_equal(say_hello(&world, client), OT_WELCOME_BUSY);
    write_oldest(&world, 0);
    CHECK_U64(client->rings[0].memory->tail, 5);
    /* The store here is empty: to it, this is a new one. */
    assert_int_equal(say_hello(&world, client), OT_WELCOME_OK);
    come_to_rest(&world);
    end(&world);
}

/* A program that has lost its connection records on, also with what it has defined since. It comes
 * back with the definitions, or is given up. */
static void records_wait_for_a_program_that_comes_back(void **state)
{
    for (int comes_back = 0; comes_back < 2; comes_back++) {
        struct world world;
        struct client *client = begin_with_ring(&world);
        const struct session *session = client->session;

        leave(&world, client);
        put(&world, &client->rings[0], OT_RECORD_SPAN, 2, 20);
        for (int i = 0; i < 5; i++)
            ring_alarm(&world);
        CHECK_U64(session->rings.items[0]->read, 0);
        if (comes_back) {
            scripted_pass(UINT64_C(4000000000));
            join(&world, client);
            define(&world, client, 2);
        }
        come_to_rest(&world);
        if (comes_back)
            CHECK_U64(session->lost_count, 0);
        CHECK_U64(world.stored, world.put);
        end(&world);
    }
}

/* While the store fails, and dead programs have left more than may wait for it: what is counted in
 * their rings is lost no less than what lies there. */
static void rings_given_up_are_counted_with_their_losses(void **state)
{
    struct world world;
    struct client *client = begin_with_ring(&world), *last = &world.clients[3];

    for (size_t i = 1; i < 4; i++) {
        join(&world, &world.clients[i]);
        for (size_t k = 0; k < RINGS; k++) /* hardly a page of each is ever touched */
            new_ring(&world, &world.clients[i], OT_WIRE_RING_RECORDS_MAX / 2);
    }
    scripted_fail(-ENOSPC);
    while (collector_room(world.collector)) {
        client->inline_waits = 1000;
        put_inline(&world, client);
    }
    put(&world, &last->rings[0], OT_RECORD_SPAN, 1, 5);
    last->rings[0].memory->gaps[0].lost_count = 7;
    world.put += 7;
    for (size_t i = 1; i < 4; i++)
        bye(&world, &world.clients[i]);
    while (!collector_sessions(world.collector)->is_ended) /* the last one comes first */
        scripted_ring();
    scripted_fail(0);
    come_to_rest(&world);
    CHECK_U64(world.stored, world.put);
    end(&world);
}

/* --- At random --- */

static void act_connected(struct world *world, struct client *client)
{
    struct raw_ring *ring =
        client->ring_count > 0 ? &client->rings[draw(world, (uint32_t)client->ring_count)] : NULL;
    const uint32_t what = draw(world, 100);

    if (what < 10)
        new_ring(world, client, (UINT64_C(64) << draw(world, 4)) * world->scale);
    else if (what < 50 && ring && !ring->memory->closed)
        put(world, ring, draw(world, 40) ? OT_RECORD_SPAN : 99, draw(world, 40) ? 1 : 2,
            draw(world, 100) * world->scale);
    else if (what < 55 && ring)
        end_thread(ring);
    else if (what < 75) {
        client->inline_waits += draw(world, 100);
        put_inline(world, client);
    } else if (what < 85) {
        collector_read_rings(world->collector, client->session);
        if (client->session)
            collector_flush(world->collector, (struct producer *)client, 1, false);
    } else if (what < 88)
        bye(world, client);
    else if (what < 92)
        leave(world, client);
    else if (what < 95)
        define(world, client, 2);
    else if (what < 96 && ring) {
        ring->head += 2 * ring->frame.record_count; /* impossible */
        world->is_unsound = true;
        put(world, ring, OT_RECORD_SPAN, 1, 1);
        ring->memory->state = ot_ring_state(ring->head, 0);
    }
}

static void act(struct world *world)
{
    struct client *client = &world->clients[draw(world, CLIENTS)];

    if (client->session) {
        act_connected(world, client);
    } else if (client->is_over) {
        drop_client(client);
    } else if (client->process[1] >= 0 && draw(world, 4) == 0) {
        close(client->process[1]); /* its process has died */
        client->process[1] = -1;
        client->is_over = true;
    } else {
        join(world, client);
    }
}

static void let_the_writer_work(struct world *world, uint32_t slowness)
{
    if (scripted_queued() == 0)
        return;
    if (draw(world, 60) == 0)
        scripted_fail(-ENOSPC);
    else if (draw(world, slowness) == 0)
        write_oldest(world, 0);
}

static void live(uint32_t seed)
{
    struct world world;
    uint32_t slowness;

    begin(&world, seed);
    world.scale = draw(&world, 6) ? 1 : 256;
    slowness = 1 + draw(&world, 40);
    for (int step = 0; step < 500 && !world.is_stopped; step++) {
        act(&world);
        let_the_writer_work(&world, slowness);
        if (draw(&world, 3) == 0)
            scripted_pass((uint64_t)draw(&world, 400) * 1000000);
        if (draw(&world, 2) == 0 && scripted_due_ns() < UINT64_MAX)
            ring_alarm(&world);
        if (draw(&world, 1500) == 0)
            stop(&world);
    }
    if (!world.is_stopped) {
        come_to_rest(&world);
        if (!world.is_unsound)
            CHECK_U64(world.stored, world.put);
    }
    end(&world);
}

static void worlds_at_random_come_to_rest(void **state)
{
    const char *one = getenv("OPTRACE_PROGRESS_SEED"), *count = getenv("OPTRACE_PROGRESS_WORLDS");

    for (uint32_t seed = 1; !one && seed <= (count ? (uint32_t)atol(count) : 150); seed++) {
        fprintf(stderr, "\rworld %u", seed); /* the last one when it fails */
        live(seed);
    }
    if (one)
        live((uint32_t)atol(one));
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
        cmocka_unit_test(rings_given_up_are_counted_with_their_losses),
        cmocka_unit_test(worlds_at_random_come_to_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
