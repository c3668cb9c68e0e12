/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that break the contract in every way that came to mind, each a process of its own: each is
 * cut off with one logged line that says why, and is told so. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/flow/hostile_scene.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/wait.h"

/* --- Breaches. Each runs in a child of its own; `client` is connected, and has joined and
 * defined lane 1 and op 1 unless the case says otherwise. --- */

typedef void evil_fn(struct raw_client *client, const struct optraced *daemon);

struct evil {
    const char *name;
    evil_fn *run;
    bool is_stranger;   /* does not even say HELLO */
    const char *reason; /* part of the logged line, and of the BYE */
    bool is_deaf;       /* it does not read: BYE may not arrive */
};

static void send_frame(struct raw_client *client, uint16_t type, const void *rest, size_t length)
{
    static uint8_t frame[OT_WIRE_FRAME_BYTES_MAX];
    struct ot_wire_header header = {.length = (uint32_t)(sizeof(header) + length), .type = type};

    memcpy(frame, &header, sizeof(header));
    memcpy(frame + sizeof(header), rest, length);
    raw_send(client, frame, header.length);
}

static void random_bytes(struct raw_client *client, const struct optraced *daemon)
{
    uint64_t noise[64];

    srand((unsigned)getpid());
    for (size_t i = 0; i < 64; i++)
        noise[i] = ((uint64_t)rand() << 32 | (uint64_t)rand()) | 1; /* no length is odd */
    raw_send(client, noise, sizeof(noise));
}

static void length_of_zero(struct raw_client *client, const struct optraced *daemon)
{
    raw_send(client, &(uint64_t){0}, 8);
}

static void length_of_two_gigabytes(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_header header = {.length = 0x7ffffff8, .type = OT_FRAME_STRING};

    raw_send(client, &header, sizeof(header));
}

static void no_hello(struct raw_client *client, const struct optraced *daemon)
{
    raw_bye(client);
}

static void wrong_magic(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_hello hello = raw_hello(client);
    uint8_t frame[256];
    int length =
        ot_wire_encode_hello(&hello, &(struct ot_wire_hello_texts){{0}}, frame, sizeof(frame));

    frame[8] ^= 1;
    raw_send(client, frame, (size_t)length);
}

static void clock_of_no_machine(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_hello hello = raw_hello(client);

    hello.clock_kind = OT_CLOCK_TSC;
    hello.ticks_per_s = 3;
    raw_send_hello(client, &hello);
}

static void second_hello(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_hello hello = raw_hello(client);

    raw_send_hello(client, &hello);
}

static void daemons_frame(struct raw_client *client, const struct optraced *daemon)
{
    send_frame(client, OT_FRAME_FLUSHED, &(uint64_t[2]){0}, 16);
}

static void short_frame(struct raw_client *client, const struct optraced *daemon)
{
    send_frame(client, OT_FRAME_OP, &(uint64_t){1}, 8);
}

static void op_beyond_the_limit(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_op op = {.header = ot_wire_header(OT_FRAME_OP, sizeof(op)),
                            .op_id = OT_WIRE_OPS_MAX + 1,
                            .name = 1,
                            .type = 1};

    raw_send(client, &op, sizeof(op));
}

static void lane_without_number(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_lane lane = {.header = ot_wire_header(OT_FRAME_LANE, sizeof(lane)), .kind = 1};

    raw_send(client, &lane, sizeof(lane));
}

static void undefined_string(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_lane lane = {.header = ot_wire_header(OT_FRAME_LANE, sizeof(lane)),
                                .lane_id = 9,
                                .kind = 1,
                                .name = 1000000};

    raw_send(client, &lane, sizeof(lane));
}

static void string_with_two_texts(struct raw_client *client, const struct optraced *daemon)
{
    client->next_string = 1;
    raw_string(client, "something else");
}

static void string_that_is_no_text(struct raw_client *client, const struct optraced *daemon)
{
    raw_send(client, "\x18\0\0\0\4\0\0\0\x50\0\0\0\x4\0\0\0\xff\xfe\xfd\xfc\0\0\0\0", 24);
}

static void sixty_four_megabytes_of_text(struct raw_client *client, const struct optraced *daemon)
{
    char *text = malloc(OT_WIRE_TEXT_BYTES_MAX);

    memset(text, 'x', OT_WIRE_TEXT_BYTES_MAX - 1);
    text[OT_WIRE_TEXT_BYTES_MAX - 1] = 0;
    for (int i = 0; i < 1100; i++)
        raw_string(client, text);
    free(text);
}

/* One text of 64 KiB, 4,096 times in one row. */
static void origins_of_a_quarter_gigabyte(struct raw_client *client, const struct optraced *daemon)
{
    static uint32_t origins[OT_WIRE_ORIGINS_MAX];
    static uint8_t frame[sizeof(struct ot_wire_op) + sizeof(origins)];
    char *text = calloc(1, OT_WIRE_TEXT_BYTES_MAX);
    struct ot_wire_op op = {.op_id = 2,
                            .computation_flop = -1,
                            .memory_bytes = -1,
                            .workspace_bytes = -1,
                            .origin_count = OT_WIRE_ORIGINS_MAX};
    int length;

    memset(text, 'x', OT_WIRE_TEXT_BYTES_MAX - 1);
    op.name = op.type = raw_string(client, text);
    for (size_t i = 0; i < OT_WIRE_ORIGINS_MAX; i++)
        origins[i] = op.name;
    length = ot_wire_encode_op(&op, NULL, origins, frame, sizeof(frame));
    assert_true(length > 0);
    raw_send(client, frame, (size_t)length);
    free(text);
}

static void flushes_without_end(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_flush flush = {.header = ot_wire_header(OT_FRAME_FLUSH, sizeof(flush))};

    for (int i = 0; i < 1000000 && raw_send(client, &flush, sizeof(flush)); i++)
        flush.token++;
}

static void send_visit(struct raw_client *client)
{
    const struct ot_wire_visit visit = {.header = ot_wire_header(OT_FRAME_VISIT, sizeof(visit)),
                                        .magic = OT_WIRE_MAGIC,
                                        .version_major = OT_WIRE_VERSION_MAJOR};

    raw_send(client, &visit, sizeof(visit));
}

static void visit_with_wrong_magic(struct raw_client *client, const struct optraced *daemon)
{
    send_frame(client, OT_FRAME_VISIT, &(uint64_t[2]){0x100000000}, 16);
}

static void second_visit(struct raw_client *client, const struct optraced *daemon)
{
    send_visit(client);
    send_visit(client);
}

static void visitor_that_records(struct raw_client *client, const struct optraced *daemon)
{
    send_visit(client);
    send_frame(client, OT_FRAME_EVENTS, &(uint64_t[2]){0}, 16);
}

static void visit_after_hello(struct raw_client *client, const struct optraced *daemon)
{
    send_visit(client);
}

static void client_that_asks(struct raw_client *client, const struct optraced *daemon)
{
    send_frame(client, OT_FRAME_ASK, &(uint64_t){0}, 8);
}

static void ask_from_no_session(struct raw_client *client, const struct optraced *daemon)
{
    send_visit(client);
    send_frame(client, OT_FRAME_ASK, &(uint64_t){UINT64_C(1) << 63}, 8);
}

static void questions_without_end(struct raw_client *client, const struct optraced *daemon)
{
    const struct ot_wire_ask ask = {.header = ot_wire_header(OT_FRAME_ASK, sizeof(ask))};

    send_visit(client);
    for (int i = 0; i < 1000000 && raw_send(client, &ask, sizeof(ask)); i++)
        ;
}

static void selects_without_end(struct raw_client *client, const struct optraced *daemon)
{
    const struct ot_wire_select select = {.header = ot_wire_header(OT_FRAME_SELECT, sizeof(select)),
                                          .kind = OT_SELECT_PID};

    send_visit(client);
    for (int i = 0; i <= OT_WIRE_SELECTS_MAX; i++)
        raw_send(client, &select, sizeof(select));
}

static void schedule_that_makes_no_sense(struct raw_client *client, const struct optraced *daemon)
{
    const struct ot_wire_schedule schedule =
        ot_wire_schedule(&(struct ot_wire_plan){.wait = 1, .level = OT_LEVEL_ON});

    send_visit(client);
    raw_send(client, &schedule, sizeof(schedule));
}

static void report_of_no_state(struct raw_client *client, const struct optraced *daemon)
{
    const struct ot_wire_schedule schedule =
        ot_wire_schedule(&(struct ot_wire_plan){.state = OT_PLAN_DONE + 1});

    raw_send(client, &schedule, sizeof(schedule));
}

static void ring_without_fd(struct raw_client *client, const struct optraced *daemon)
{
    struct raw_ring ring;

    raw_ring_create(&ring, client, 1, 1, 64);
    raw_send(client, &ring.frame, sizeof(ring.frame));
    raw_ring_destroy(&ring);
}

/* A RING frame of lane 1 with this file descriptor. */
static void send_as_ring(struct raw_client *client, int fd)
{
    struct ot_wire_ring frame = {.header = ot_wire_header(OT_FRAME_RING, sizeof(frame)),
                                 .ring_id = 1,
                                 .lane_id = 1,
                                 .record_count = 64,
                                 .memory_bytes = OT_RING_RECORDS_OFFSET + 64 * 64};

    raw_send_fds(client, &frame, sizeof(frame), &fd, 1);
    close(fd);
}

static void ring_of_dev_zero(struct raw_client *client, const struct optraced *daemon)
{
    send_as_ring(client, open("/dev/zero", O_RDWR));
}

static void ring_that_is_a_socket(struct raw_client *client, const struct optraced *daemon)
{
    send_as_ring(client, dup(client->fd));
}

static void ring_without_seals(struct raw_client *client, const struct optraced *daemon)
{
    int fd = memfd_create("evil", MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, OT_RING_RECORDS_OFFSET + 64 * 64), 0);
    send_as_ring(client, fd);
}

static void ring_too_small(struct raw_client *client, const struct optraced *daemon)
{
    int fd = memfd_create("evil", MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    send_as_ring(client, fd);
}

static void ring_that_cannot_be_written(struct raw_client *client, const struct optraced *daemon)
{
    int fd = memfd_create("evil", MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, OT_RING_RECORDS_OFFSET + 64 * 64), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    send_as_ring(client, fd);
}

static void ring_of_another_session(struct raw_client *client, const struct optraced *daemon)
{
    struct raw_ring ring;

    raw_ring_create(&ring, client, 1, 1, 64);
    ring.memory->header.uuid[3] ^= 1;
    raw_ring_send(client, &ring);
    raw_ring_destroy(&ring);
}

static void ring_of_no_lane(struct raw_client *client, const struct optraced *daemon)
{
    struct raw_ring ring;

    raw_ring_create(&ring, client, 1, 77, 64);
    raw_ring_send(client, &ring);
    raw_ring_destroy(&ring);
}

static void many_fds(struct raw_client *client, const struct optraced *daemon)
{
    struct raw_ring ring;
    int fds[40];

    raw_ring_create(&ring, client, 1, 1, 64);
    for (size_t i = 0; i < 40; i++)
        fds[i] = ring.fd;
    raw_send_fds(client, &ring.frame, sizeof(ring.frame), fds, 40);
    raw_ring_destroy(&ring);
}

static void fd_with_no_ring(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_doorbell bell = {.header = ot_wire_header(OT_FRAME_DOORBELL, sizeof(bell)),
                                    .ring_id = 1};

    raw_send_fds(client, &bell, sizeof(bell), &client->fd, 1);
}

/* A good ring whose state becomes this, once the daemon has read one record. */
static void spoil_state(struct raw_client *client, uint64_t state)
{
    struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, 1);
    struct raw_ring ring;

    raw_ring_create(&ring, client, 1, 1, 64);
    raw_ring_put(&ring, &span);
    raw_ring_send(client, &ring);
    assert_int_equal(raw_flush(client), 0);
    ring.memory->state = state;
    raw_ring_destroy(&ring);
}

static void head_that_goes_back(struct raw_client *client, const struct optraced *daemon)
{
    spoil_state(client, 0);
}

static void head_that_runs_ahead(struct raw_client *client, const struct optraced *daemon)
{
    spoil_state(client, 1000);
}

static void depth_without_end(struct raw_client *client, const struct optraced *daemon)
{
    spoil_state(client, ot_ring_state(1, 65535));
}

static const struct evil evils[] = {
    {"random bytes", random_bytes, true, "length"},
    {"length 0", length_of_zero, true, "length"},
    {"length 2^31", length_of_two_gigabytes, true, "length"},
    {"no hello", no_hello, true, "not HELLO"},
    {"wrong magic", wrong_magic, true, "magic"},
    {"clock", clock_of_no_machine, true, "ticks per second"},
    {"second hello", second_hello, false, "second time"},
    {"daemon's frame", daemons_frame, false, "only the daemon sends"},
    {"short frame", short_frame, false, "too few"},
    {"op id", op_beyond_the_limit, false, "op_id"},
    {"lane id", lane_without_number, false, "lane_id"},
    {"undefined string", undefined_string, false, "not defined"},
    {"two texts", string_with_two_texts, false, "another text"},
    {"no text", string_that_is_no_text, false, "UTF-8"},
    {"much text", sixty_four_megabytes_of_text, false, "bytes of texts"},
    {"origins", origins_of_a_quarter_gigabyte, false, "together"},
    {"flushes", flushes_without_end, false, "answers", true},
    {"visit's magic", visit_with_wrong_magic, true, "magic"},
    {"second visit", second_visit, true, "second time"},
    {"recording visitor", visitor_that_records, true, "a controller does not send"},
    {"visit after hello", visit_after_hello, false, "only a controller sends"},
    {"asking client", client_that_asks, false, "only a controller sends"},
    {"ask", ask_from_no_session, true, "first_session"},
    {"questions", questions_without_end, true, "answers", true},
    {"selects", selects_without_end, true, "more than 64"},
    {"schedule", schedule_that_makes_no_sense, true, "without active runs"},
    {"report", report_of_no_state, false, "state"},
    {"no fd", ring_without_fd, false, "without a file descriptor"},
    {"/dev/zero", ring_of_dev_zero, false, "not a memfd"},
    {"socket", ring_that_is_a_socket, false, "not a memfd"},
    {"no seals", ring_without_seals, false, "not sealed"},
    {"small ring", ring_too_small, false, "4096 bytes"},
    {"read-only ring", ring_that_cannot_be_written, false, "RING"},
    {"other session", ring_of_another_session, false, "another session"},
    {"no lane", ring_of_no_lane, false, "lane 77"},
    {"many fds", many_fds, false, "file descriptors"},
    {"stray fd", fd_with_no_ring, false, "without RING"},
    {"head back", head_that_goes_back, false, "went back"},
    {"head ahead", head_that_runs_ahead, false, "holds 64 records"},
    {"depth", depth_without_end, false, "65535 spans"},
};
enum { EVIL_COUNT = sizeof(evils) / sizeof(evils[0]) };

static uint64_t count_strangers(void)
{
    uint64_t count = 0;

    for (size_t i = 0; i < EVIL_COUNT; i++)
        count += evils[i].is_stranger;
    return count;
}

struct evil_context {
    const struct evil *evil;
    const struct optraced *daemon;
};

/* Does it, and waits to be told why it is cut off. */
static int do_evil(void *context)
{
    const struct evil_context *evil = context;
    struct raw_client client;
    char text[500] = "";

    signal(SIGPIPE, SIG_IGN);
    raw_init(&client);
    if (evil->evil->is_stranger) {
        raw_connect(&client, evil->daemon->socket);
    } else {
        raw_join(&client, evil->daemon->socket);
        raw_define(&client);
    }
    evil->evil->run(&client, evil->daemon);
    raw_receive_bye(&client, text, sizeof(text));
    fprintf(stderr, "%s", text);
    raw_close(&client);
    return 0;
}

static void run_evil(const struct evil *evil, struct optraced *daemon)
{
    struct evil_context context = {evil, daemon};
    struct child child;
    char line[96];

    child_start_function(&child, do_evil, &context);
    snprintf(line, sizeof(line), "cut off pid %d of user %d: ", (int)child.pid, (int)getuid());
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("%s: %s, and the daemon says %s", evil->name, child.err, daemon->child.err);
    if (!evil->is_deaf && !strstr(child.err, evil->reason))
        fail_msg("%s: BYE says \"%s\", not \"%s\"", evil->name, child.err, evil->reason);
    optraced_expect_log(daemon, line, 1);
    if (!strstr(strstr(daemon->child.err, line), evil->reason))
        fail_msg("%s: not logged with \"%s\": %s", evil->name, evil->reason, daemon->child.err);
    child_deinit(&child);
}

static void each_breach_is_cut_off_once(void **state)
{
    struct scene *scene = *state;

    for (size_t i = 0; i < EVIL_COUNT; i++)
        run_evil(&evils[i], &scene->daemon);
    optraced_wait_for(&scene->daemon,
                      "SELECT count(*) FROM session WHERE end_ns IS NULL AND end_reason IS NULL",
                      1);
    CHECK_U64(optraced_query(&scene->daemon, "SELECT count(*) FROM session WHERE end_reason ="
                                             " 'cut off' AND length(note) > 5"),
              EVIL_COUNT - count_strangers()); /* those who never joined are no sessions */
    /* What they sent before stays. */
    CHECK_U64(optraced_query(&scene->daemon, "SELECT count(*) FROM event JOIN lane USING (lane_id)"
                                             " WHERE lane.name = 'main'"),
              3);
}

/* --- A frame that never ends --- */

static int send_half_a_frame(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_header header = {.length = 512, .type = OT_FRAME_STRING};
    struct raw_client client;

    raw_init(&client);
    raw_join(&client, daemon->socket);
    raw_send(&client, &header, sizeof(header));
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    while (raw_receive(&client, &header, sizeof(header)) > 0)
        ;
    raw_close(&client);
    return 0;
}

static void truncated_frames_are_logged_once(void **state)
{
    struct scene *scene = *state;
    struct child child;
    char line[96];

    child_start_function(&child, send_half_a_frame, &scene->daemon);
    snprintf(line, sizeof(line), "pid %d of user %d left in the middle of a frame", (int)child.pid,
             (int)getuid());
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    optraced_expect_log(&scene->daemon, line, 1);
    child_deinit(&child);
}

/* --- A ring whose memory changes under the reader --- */

static void *scribble(void *context)
{
    struct raw_ring *ring = context;
    uint64_t *words = (uint64_t *)ring->memory;
    size_t count = ring->frame.memory_bytes / sizeof(*words);
    uint64_t random = DRAW_SEED + (uint64_t)getpid();
    uint64_t end_ns = ot_clock_ns(CLOCK_MONOTONIC) + 50000000;

    while (ot_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        for (int i = 0; i < 1000; i++) {
            draw_u64(&random);
            __atomic_store_n(&words[random % count], random, __ATOMIC_RELAXED);
            if (i % 4 == 0) /* now and then a head that looks sound */
                __atomic_store_n(&ring->memory->state, ot_ring_state(random % 128, random % 100),
                                 __ATOMIC_RELAXED);
            if (i % 2 == 0) { /* and records that nearly are */
                struct ot_wire_record *record = &ring->memory->records[random % 64];

                record->kind = (uint16_t)(random % 8);
                record->op_id = record->lane_id = 1;
            }
        }
    }
    return NULL;
}

static int scribble_in_rings(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_doorbell bell = {.header = ot_wire_header(OT_FRAME_DOORBELL, sizeof(bell)),
                                    .ring_id = 1};
    struct raw_client client;
    struct raw_ring ring;
    pthread_t thread;

    signal(SIGPIPE, SIG_IGN);
    raw_init(&client);
    raw_join(&client, daemon->socket);
    raw_lane(&client, 1, "evil");
    raw_op(&client, 1, "evil", "Conv");
    raw_ring_create(&ring, &client, 1, 1, 64);
    raw_ring_send(&client, &ring);
    assert_int_equal(pthread_create(&thread, NULL, scribble, &ring), 0);
    while (raw_send(&client, &bell, sizeof(bell)))
        usleep(100);
    pthread_join(thread, NULL);
    raw_ring_destroy(&ring);
    raw_close(&client);
    return 0;
}

static void memory_that_changes_while_it_is_read(void **state)
{
    struct scene *scene = *state;

    for (int round = 0; round < 20; round++) {
        struct child child;
        char line[96];

        child_start_function(&child, scribble_in_rings, &scene->daemon);
        snprintf(line, sizeof(line), "pid %d of user %d: ", (int)child.pid, (int)getuid());
        assert_int_equal(child_wait(&child, WAIT_MS), 0);
        optraced_expect_log(&scene->daemon, line, 1);
        child_deinit(&child);
    }
    CHECK_U64(optraced_query(&scene->daemon, "SELECT count(*) FROM event WHERE dur_ns < 0 OR"
                                             " kern_ns < 0 OR kern_ns > dur_ns OR start_ns < 0"),
              0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_breach_is_cut_off_once, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(truncated_frames_are_logged_once, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(memory_that_changes_while_it_is_read, scene_begin,
                                        scene_end),
    };

    signal(SIGPIPE, SIG_IGN);
    return AT_ONCE_RUN(tests, 3);
}
