/* SPDX-License-Identifier: Apache-2.0 */
/* Frames by hand. */
#include "tests/support/raw_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/wait.h"

void raw_init(struct raw_client *client)
{
    memset(client, 0, sizeof(*client));
    client->fd = -1;
    if (getrandom(client->uuid, sizeof(client->uuid), 0) != sizeof(client->uuid))
        fail_msg("getrandom");
}

void raw_close(struct raw_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

bool raw_connect(struct raw_client *client, const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    raw_close(client);
    strncpy(address.sun_path, socket_path, sizeof(address.sun_path) - 1);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client->fd >= 0);
    return connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

struct ot_wire_hello raw_hello(const struct raw_client *client)
{
    struct ot_wire_hello hello = {.magic = OT_WIRE_MAGIC,
                                  .version_major = OT_WIRE_VERSION_MAJOR,
                                  .version_minor = OT_WIRE_VERSION_MINOR,
                                  .features = OT_FEATURE_RINGS,
                                  .pid = (uint32_t)getpid(),
                                  .clock_kind = OT_CLOCK_MONOTONIC,
                                  .ticks_per_s = 1000000000,
                                  .connection = client->connection};

    memcpy(hello.uuid, client->uuid, sizeof(hello.uuid));
    hello.ticks = hello.monotonic_ns = ot_clock_ns(CLOCK_MONOTONIC);
    hello.realtime_ns = ot_clock_ns(CLOCK_REALTIME);
    return hello;
}

void raw_send_hello(struct raw_client *client, const struct ot_wire_hello *hello)
{
    const char *program = client->program ? client->program : "raw";
    const struct ot_wire_hello_texts texts = {.program = {program, (uint32_t)strlen(program)},
                                              .command = {"raw test", 8}};
    uint8_t frame[256];
    int length = ot_wire_encode_hello(hello, &texts, frame, sizeof(frame));

    assert_true(length > 0);
    raw_send(client, frame, (size_t)length);
}

struct ot_wire_welcome raw_join(struct raw_client *client, const char *socket_path)
{
    struct ot_wire_hello hello = raw_hello(client);
    struct ot_wire_welcome_view welcome;
    struct diag diag = {0};
    uint8_t frame[4096];
    size_t length;

    assert_true(raw_connect(client, socket_path));
    client->connection++;
    raw_send_hello(client, &hello);
    length = raw_receive(client, frame, sizeof(frame));
    if (ot_wire_decode_welcome(frame, length, &welcome, &diag) < 0)
        fail_msg("no WELCOME: %s", diag.text);
    assert_int_equal(welcome.fixed.status, OT_WELCOME_OK);
    client->sequence = welcome.fixed.inline_committed;
    client->next_string = 1;
    return welcome.fixed;
}

bool raw_send_fds(struct raw_client *client, const void *bytes, size_t length, const int *fds,
                  size_t fd_count)
{
    union {
        char bytes[CMSG_SPACE(64 * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    assert_true(fd_count <= 64);
    if (fd_count > 0) {
        struct cmsghdr *header = &control.align;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
    }
    while (part.iov_len > 0) {
        sent = sendmsg(client->fd, &message, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        part.iov_base = (char *)part.iov_base + sent;
        part.iov_len -= (size_t)sent;
        message.msg_control = NULL;
        message.msg_controllen = 0;
    }
    return true;
}

bool raw_send(struct raw_client *client, const void *bytes, size_t length)
{
    return raw_send_fds(client, bytes, length, NULL, 0);
}

/* Reads exactly `length` bytes; false at the end of the connection. */
static bool receive_all(struct raw_client *client, void *out, size_t length)
{
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};
    char *at = out;

    while (length > 0) {
        ssize_t count;

        if (poll(&wait, 1, (int)WAIT_MS) != 1)
            fail_msg("the daemon says nothing");
        count = recv(client->fd, at, length, 0);
        if (count <= 0)
            return false;
        at += count;
        length -= (size_t)count;
    }
    return true;
}

size_t raw_receive(struct raw_client *client, void *out_frame, size_t capacity)
{
    struct ot_wire_header header;

    if (!receive_all(client, &header, sizeof(header)))
        return 0;
    assert_true(header.length <= capacity);
    memcpy(out_frame, &header, sizeof(header));
    if (!receive_all(client, (char *)out_frame + sizeof(header), header.length - sizeof(header)))
        return 0;
    return header.length;
}

bool raw_receive_bye(struct raw_client *client, char *out_text, size_t text_bytes)
{
    static uint8_t frame[OT_WIRE_FRAME_BYTES_MAX];
    struct ot_wire_bye_view bye;
    bool has_bye = false;
    size_t length;

    while ((length = raw_receive(client, frame, sizeof(frame))) > 0) {
        struct diag diag = {0};

        if (ot_wire_decode_bye(frame, length, &bye, &diag) < 0)
            continue;
        snprintf(out_text, text_bytes, "%.*s", (int)bye.text.length, bye.text.bytes);
        has_bye = true;
    }
    return has_bye;
}

uint32_t raw_string(struct raw_client *client, const char *text)
{
    size_t capacity = strlen(text) + 64;
    uint8_t *frame = malloc(capacity);
    int length;

    assert_non_null(frame);
    length = ot_wire_encode_string(client->next_string,
                                   (struct ot_text){.bytes = text, .length = strlen(text)}, frame,
                                   capacity);
    assert_true(length > 0);
    raw_send(client, frame, (size_t)length);
    free(frame);
    return client->next_string++;
}

void raw_lane(struct raw_client *client, uint32_t lane_id, const char *name)
{
    struct ot_wire_lane lane = {.header = ot_wire_header(OT_FRAME_LANE, sizeof(lane)),
                                .lane_id = lane_id,
                                .kind = OT_LANE_THREAD,
                                .name = raw_string(client, name)};

    raw_send(client, &lane, sizeof(lane));
}

void raw_op(struct raw_client *client, uint32_t op_id, const char *name, const char *type)
{
    struct ot_wire_op op = {.op_id = op_id,
                            .name = raw_string(client, name),
                            .type = raw_string(client, type),
                            .computation_flop = -1,
                            .memory_bytes = -1,
                            .workspace_bytes = -1};
    uint8_t frame[256];
    int length = ot_wire_encode_op(&op, NULL, NULL, frame, sizeof(frame));

    assert_true(length > 0);
    raw_send(client, frame, (size_t)length);
}

void raw_define(struct raw_client *client)
{
    raw_lane(client, 1, "main");
    raw_op(client, 1, "conv1", "Conv");
}

struct ot_wire_record raw_span(uint32_t op_id, uint32_t lane_id, uint64_t start_ns, uint64_t dur_ns,
                               uint64_t correlation)
{
    return (struct ot_wire_record){.kind = OT_RECORD_SPAN,
                                   .op_id = op_id,
                                   .lane_id = lane_id,
                                   .start_ticks = start_ns,
                                   .end_ticks = start_ns + dur_ns,
                                   .correlation = correlation};
}

bool raw_events(struct raw_client *client, const struct ot_wire_record *records, uint32_t count)
{
    size_t capacity = sizeof(struct ot_wire_events) + count * sizeof(*records);
    uint8_t *frame = malloc(capacity);
    int length;
    bool is_sent;

    assert_non_null(frame);
    length = ot_wire_encode_events(client->sequence, records, count, frame, capacity);
    assert_true(length > 0);
    is_sent = raw_send(client, frame, (size_t)length);
    client->sequence += count;
    free(frame);
    return is_sent;
}

int raw_flush(struct raw_client *client)
{
    struct ot_wire_flush flush = {.header = ot_wire_header(OT_FRAME_FLUSH, sizeof(flush)),
                                  .token = ++client->token};
    struct ot_wire_flushed flushed;
    struct diag diag = {0};
    uint8_t frame[4096];
    size_t length;

    if (!raw_send(client, &flush, sizeof(flush)))
        return -EPIPE;
    while ((length = raw_receive(client, frame, sizeof(frame))) > 0)
        if (ot_wire_decode_flushed(frame, length, &flushed, &diag) == 0 &&
            flushed.token == client->token)
            return flushed.status;
    return -EPIPE;
}

bool raw_bye(struct raw_client *client)
{
    struct ot_wire_bye bye = {.header = ot_wire_header(OT_FRAME_BYE, sizeof(bye))};

    return raw_send(client, &bye, sizeof(bye));
}

/* --- Rings --- */

void raw_ring_create(struct raw_ring *ring, const struct raw_client *client, uint32_t ring_id,
                     uint32_t lane_id, uint64_t record_count)
{
    size_t size = OT_RING_RECORDS_OFFSET + record_count * sizeof(struct ot_wire_record);
    void *memory;

    memset(ring, 0, sizeof(*ring));
    ring->frame =
        (struct ot_wire_ring){.header = ot_wire_header(OT_FRAME_RING, sizeof(ring->frame)),
                              .ring_id = ring_id,
                              .lane_id = lane_id,
                              .record_count = record_count,
                              .memory_bytes = size};
    ring->fd = memfd_create("raw ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(ring->fd >= 0);
    assert_int_equal(ftruncate(ring->fd, (off_t)size), 0);
    assert_int_equal(fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    assert_true(memory != MAP_FAILED);
    ring->memory = memory;
    ring->memory->header = (struct ot_ring_header){.magic = OT_RING_MAGIC,
                                                   .version = OT_RING_VERSION,
                                                   .record_bytes = sizeof(struct ot_wire_record),
                                                   .depth_max = OT_RING_DEPTH_MAX,
                                                   .record_count = record_count,
                                                   .ring_id = ring_id,
                                                   .lane_id = lane_id};
    memcpy(ring->memory->header.uuid, client->uuid, sizeof(client->uuid));
}

void raw_ring_destroy(struct raw_ring *ring)
{
    munmap(ring->memory, ring->frame.memory_bytes);
    close(ring->fd);
    ring->memory = NULL;
}

bool raw_ring_send(struct raw_client *client, const struct raw_ring *ring)
{
    return raw_send_fds(client, &ring->frame, sizeof(ring->frame), &ring->fd, 1);
}

static void store_state(struct raw_ring *ring)
{
    __atomic_store_n(&ring->memory->state, ot_ring_state(ring->head, ring->depth),
                     __ATOMIC_RELEASE);
}

bool raw_ring_put(struct raw_ring *ring, const struct ot_wire_record *record)
{
    uint64_t tail = __atomic_load_n(&ring->memory->tail, __ATOMIC_ACQUIRE);

    if (ring->head - tail >= ring->frame.record_count)
        return false;
    ring->memory->records[ring->head % ring->frame.record_count] = *record;
    ring->head++;
    store_state(ring);
    return true;
}

void raw_ring_open(struct raw_ring *ring, const struct ot_wire_record *record)
{
    ring->memory->open[ring->depth++] = *record;
    store_state(ring);
}
