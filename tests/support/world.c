/* SPDX-License-Identifier: Apache-2.0 */
/* A collector, programs that record to it, and time that passes when the test says so. */
#include "tests/support/world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/alarm.h"
#include "daemon/define.h"
#include "daemon/ingest.h"
#include "tests/support/check.h"
#include "tests/support/scripted.h"
#include "tests/support/temp.h"

enum { SHORT_MS = 10, LONG_MS = 100 };

/* Longer than anything that the collector waits for. */
static const uint64_t REST_NS = UINT64_C(6000000000);

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

static void on_replaced(void *context, struct producer *producer)
{
    struct world *world = context;

    collector_forget(world->collector, producer);
}

void world_put_inline(struct world *world, struct client *client)
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
        world_put_inline(context, client);
    return client->inline_waits > 0;
}

static void on_empty(void *context)
{
    struct world *world = context;

    world->is_empty = true;
}

/* --- The world --- */

uint32_t world_draw(struct world *world, uint32_t below)
{
    world->seed = world->seed * 1664525 + 1013904223;
    return (world->seed >> 8) % below;
}

void world_begin(struct world *world, uint32_t seed)
{
    const struct collector_events events = {world,   on_flushed, on_nonsense, on_replaced,
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

void world_drop_client(struct client *client)
{
    for (size_t i = 0; i < client->ring_count; i++)
        raw_ring_destroy(&client->rings[i]);
    for (int i = 0; i < 2; i++)
        if (client->process[i] >= 0)
            close(client->process[i]);
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

void world_ring_alarm(struct world *world)
{
    const uint64_t before = fingerprint(world), delay_ms = scripted_delay_ms();

    scripted_ring();
    /* One that rang late shows that the collector does not spin, whatever came before and behind it. */
    if (world->is_empty || fingerprint(world) != before || delay_ms >= SHORT_MS)
        world->idle_count = 0;
    else if (++world->idle_count > 1)
        fail_msg("alarms of %d ms ring, and nothing is done", (int)delay_ms);
}

void world_write_oldest(struct world *world, int status)
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
    world->idle_count =
        0; /* an alarm is for what a writer that works again takes, and it may fail again before */
    scripted_write(status);
}

static bool is_alive(const struct producer *producer)
{
    return false;
}

void world_define(struct world *world, struct client *client, uint32_t op_id)
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

void world_send_ring(struct world *world, struct client *client, size_t index)
{
    struct diag diag = {0};

    CHECK_OK(session_add_ring(client->session, client->rings[index].fd, &client->rings[index].frame,
                              &diag));
    collector_read_rings(world->collector, client->session);
}

enum ot_wire_welcome_status world_say_hello(struct world *world, struct client *client)
{
    struct session_peer peer = {.pid = client->pid ? client->pid : getpid(),
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

/* The client's session was over, and it has another: a daemon would have told it so, and it would have made new
 * rings, which the scripted store does not know of. */
static void drop_old_rings(struct client *client)
{
    const int64_t session_id = client->session->session_id;

    for (; client->session_id != session_id && client->ring_count > 0; client->ring_count--)
        raw_ring_destroy(&client->rings[client->ring_count - 1]);
    client->session_id = session_id;
}

void world_join(struct world *world, struct client *client)
{
    if (!collector_room(world->collector))
        return;
    if (client->process[1] < 0) {
        raw_init(&client->raw);
        assert_int_equal(pipe2(client->process, O_CLOEXEC), 0);
    }
    if (world_say_hello(world, client) != OT_WELCOME_OK) {
        client->is_over = true;
        return;
    }
    drop_old_rings(client);
    close(client->session->process_fd);
    client->session->process_fd = dup(client->process[0]);
    world_define(world, client, 1);
    for (size_t i = 0; client->session && i < client->ring_count; i++)
        if (id_table_get(&client->session->lanes, 1) && !client->rings[i].memory->closed)
            world_send_ring(world, client, i);
}

void world_new_ring(struct world *world, struct client *client, uint64_t record_count)
{
    struct raw_ring *ring = &client->rings[client->ring_count];

    if (client->ring_count == RINGS || !id_table_get(&client->session->lanes, 1))
        return;
    raw_ring_create(ring, &client->raw, (uint32_t)client->ring_count + 1, 1, record_count);
    world_send_ring(world, client, client->ring_count++);
}

struct client *world_begin_with_ring(struct world *world)
{
    world_begin(world, 1);
    world_join(world, &world->clients[0]);
    world_new_ring(world, &world->clients[0], 64);
    return &world->clients[0];
}

void world_put(struct world *world, struct raw_ring *ring, uint32_t kind, uint32_t op_id,
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

void world_end_thread(struct raw_ring *ring)
{
    __atomic_store_n(&ring->memory->closed, 1, __ATOMIC_RELEASE);
}

void world_bye(struct world *world, struct client *client)
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
    world_put(world, ring, OT_RECORD_SPAN, 1, client->brings);
    client->brings = 0;
    CHECK_OK(session_add_ring(client->session, ring->fd, &ring->frame, &diag));
    world_bye(world, client);
}

void world_leave(struct world *world, struct client *client)
{
    collector_forget(world->collector, (struct producer *)client);
    collector_leave(world->collector, client->session);
    client->session = NULL;
}

void world_come_to_rest(struct world *world)
{
    uint64_t last = fingerprint(world), since_ns = alarm_now_ns(CLOCK_MONOTONIC);

    while (alarm_now_ns(CLOCK_MONOTONIC) - since_ns < REST_NS && !world->is_empty) {
        uint64_t now;

        if (scripted_queued() > 0)
            world_write_oldest(world, 0);
        else if (scripted_due_ns() < UINT64_MAX)
            world_ring_alarm(world);
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
        world_ring_alarm(world);
    }
}

void world_go_on_recording(struct world *world)
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

void world_stop(struct world *world)
{
    world->is_stopped = true;
    collector_stop(world->collector);
    for (int i = 0; !world->is_empty; i++) {
        if (i > 20000)
            fail_msg("the collector does not stop");
        world_go_on_recording(world);
        if (scripted_queued() > 0 && world_draw(world, 3) == 0)
            world_write_oldest(world, scripted_gives_up() && world_draw(world, 2) ? -ENOSPC : 0);
        else if (scripted_due_ns() < UINT64_MAX)
            world_ring_alarm(world);
        else if (scripted_queued() > 0)
            world_write_oldest(world, 0);
        else
            fail_msg("the collector waits for nothing");
    }
}

void world_end(struct world *world)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (world->clients[i].session)
            world_leave(world, &world->clients[i]);
    if (!world->is_empty || !world->is_stopped) {
        world->is_empty = false;
        world_stop(world);
    }
    collector_destroy(&world->collector);
    for (size_t i = 0; i < CLIENTS; i++)
        world_drop_client(&world->clients[i]);
    store_close(&world->store);
    temp_destroy(&world->dir);
    free(world->path);
}
