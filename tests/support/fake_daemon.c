/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon for tests: one thread, poll(). */
#include "tests/support/fake_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/wait.h"

enum { FDS_MAX = 64, LOOK_MS = 2 };

struct fake_connection {
    int fd;
    bool is_welcome;
    uint8_t uuid[16];
    uint8_t *bytes;
    size_t have;
    int fds[FDS_MAX]; /* descriptors that came, for RING frames */
    size_t fd_count;
};

static void breach(struct fake_daemon *daemon, const char *what)
{
    if (!daemon->broken[0])
        snprintf(daemon->broken, sizeof(daemon->broken), "%s", what);
}

static void close_connection(struct fake_daemon *daemon, struct fake_connection **slot)
{
    struct fake_connection *connection = *slot;

    close(connection->fd);
    for (size_t i = 0; i < connection->fd_count; i++)
        close(connection->fds[i]);
    free(connection->bytes);
    free(connection);
    *slot = NULL;
}

static void send_all(const struct fake_connection *connection, const void *bytes, size_t length)
{
    /* A client that is gone will be noticed when its end is read. */
    if (send(connection->fd, bytes, length, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
        errno != ECONNRESET)
        fail_msg("send: %s", strerror(errno));
}

static void welcome(struct fake_daemon *daemon, struct fake_connection *connection)
{
    const struct fake_daemon_options *options = &daemon->options;
    struct ot_wire_welcome fixed = {
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = options->is_of_1_0 ? 0 : OT_WIRE_VERSION_MINOR,
        .status = options->status,
        .features =
            (OT_FEATURE_RINGS | OT_FEATURE_CONTROL | OT_FEATURE_SCHEDULE) & ~options->no_features,
        .session_id = daemon->counts[FAKE_HELLOS] + 1,
        .level = options->level_off ? OT_LEVEL_OFF
                 : options->level   ? options->level
                                    : OT_LEVEL_ON,
    };
    uint8_t frame[256];
    struct ot_text text = {options->status ? "no room today" : "", options->status ? 13 : 0};
    int length = ot_wire_encode_welcome(&fixed, text, frame, sizeof(frame));

    if (options->is_garbled)
        memset(frame, 0x41, sizeof(frame));
    if (!options->is_mute)
        send_all(connection, frame, (size_t)length);
    connection->is_welcome = true;
}

static void take_ring(struct fake_daemon *daemon, struct fake_connection *connection,
                      const struct ot_wire_ring *frame)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    struct fake_ring *ring = NULL;
    struct stat status;
    int fd;

    if (connection->fd_count == 0) {
        breach(daemon, "RING without a descriptor");
        return;
    }
    fd = connection->fds[0];
    memmove(connection->fds, connection->fds + 1, --connection->fd_count * sizeof(int));
    if (fstat(fd, &status) < 0 || (uint64_t)status.st_size != frame->memory_bytes ||
        (fcntl(fd, F_GET_SEALS) & seals) != seals)
        breach(daemon, "a ring's memory is not as announced");
    for (uint32_t i = 0; i < daemon->ring_count; i++) {
        if (daemon->rings[i].frame.ring_id == frame->ring_id &&
            memcmp(daemon->rings[i].uuid, connection->uuid, sizeof(connection->uuid)) == 0)
            ring = &daemon->rings[i];
    }
    if (!ring && daemon->ring_count == FAKE_RINGS_MAX)
        breach(daemon, "more rings than the test allows for");
    if (!ring && daemon->ring_count < FAKE_RINGS_MAX) {
        ring = &daemon->rings[daemon->ring_count++];
        ring->frame = *frame;
        memcpy(ring->uuid, connection->uuid, sizeof(ring->uuid));
        ring->memory = mmap(NULL, frame->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ring->read = __atomic_load_n(&ring->memory->tail, __ATOMIC_ACQUIRE);
        if (ot_ring_check_header(&ring->memory->header, frame, connection->uuid,
                                 frame->memory_bytes, NULL) < 0)
            breach(daemon, "a ring's header is not as announced");
        if (frame->lane_id >= FAKE_DEFINITIONS_MAX || !daemon->lanes[frame->lane_id].lane_id)
            breach(daemon, "a ring of a lane that is not defined");
    }
    close(fd);
}

static void keep_record(struct fake_daemon *daemon, uint32_t ring_id,
                        const struct ot_wire_record *record)
{
    if (daemon->record_count == daemon->record_capacity) {
        daemon->record_capacity = daemon->record_capacity ? daemon->record_capacity * 2 : 1024;
        daemon->records =
            realloc(daemon->records, daemon->record_capacity * sizeof(*daemon->records));
    }
    daemon->records[daemon->record_count++] = (struct fake_record){ring_id, *record};
    daemon->counts[FAKE_RECORDS]++;
    if (ot_wire_check_record(record) != 0)
        breach(daemon, "a record that makes no sense");
}

/* The same goes for lanes. */
static bool is_lane_known(const struct fake_daemon *daemon, const struct ot_wire_record *record)
{
    return record->lane_id < FAKE_DEFINITIONS_MAX && daemon->lanes[record->lane_id].lane_id;
}

/* An op may be defined a moment after its record is seen, when the socket was full. */
static bool is_op_known(const struct fake_daemon *daemon, const struct ot_wire_record *record)
{
    return record->kind == OT_RECORD_RUN || record->op_id == 0 ||
           (record->op_id < FAKE_DEFINITIONS_MAX && daemon->ops[record->op_id].op_id != 0);
}

/* What the library says of itself, once for each session: tests look at what they recorded. */
static bool is_own(const struct fake_daemon *daemon, uint32_t op_id)
{
    const char *name = daemon->texts[daemon->ops[op_id % FAKE_DEFINITIONS_MAX].name];

    return name && strncmp(name, "recording.", strlen("recording.")) == 0;
}

static void keep_own(struct fake_daemon *daemon, const struct ot_wire_record *record)
{
    const size_t most = sizeof(daemon->own_values) / sizeof(daemon->own_values[0]);

    if (daemon->own_count < most)
        memcpy(&daemon->own_values[daemon->own_count], &record->bytes, sizeof(double));
    daemon->own_count++;
}

static void drain(struct fake_daemon *daemon)
{
    for (uint32_t i = 0; i < daemon->ring_count; i++) {
        struct fake_ring *ring = &daemon->rings[i];
        const uint64_t state = __atomic_load_n(&ring->memory->state, __ATOMIC_ACQUIRE);
        const uint64_t head = ot_ring_head(state);

        if (ring->is_left)
            continue;
        if (head - ring->read > ring->frame.record_count ||
            ot_ring_depth(state) > OT_RING_DEPTH_MAX) {
            breach(daemon, "a ring's state is impossible");
            ring->read = head;
        }
        while (ring->read < head) {
            const struct ot_wire_record *record =
                &ring->memory->records[ring->read & (ring->frame.record_count - 1)];

            if (!is_op_known(daemon, record) || !is_lane_known(daemon, record))
                break;
            if (record->kind == OT_RECORD_COUNTER && is_own(daemon, record->op_id))
                keep_own(daemon, record);
            else
                keep_record(daemon, ring->frame.ring_id, record);
            ring->read++;
        }
        __atomic_store_n(&ring->memory->tail, ring->read, __ATOMIC_RELEASE);
    }
}

/* What comes into its rings afterwards, nobody reads. */
static void take_bye(struct fake_daemon *daemon, const struct fake_connection *connection)
{
    drain(daemon);
    for (uint32_t i = 0; i < daemon->ring_count; i++)
        if (memcmp(daemon->rings[i].uuid, connection->uuid, sizeof(connection->uuid)) == 0)
            daemon->rings[i].is_left = true;
}

static void take_text(struct fake_daemon *daemon, const struct ot_wire_string_view *string)
{
    const uint32_t id = string->fixed.string_id;

    if (id >= FAKE_TEXTS_MAX) {
        breach(daemon, "more texts than the test allows for");
        return;
    }
    free(daemon->texts[id]);
    daemon->texts[id] = strndup(string->text.length ? string->text.bytes : "", string->text.length);
}

static bool is_text(const struct fake_daemon *daemon, uint32_t id)
{
    return id == 0 || (id < FAKE_TEXTS_MAX && daemon->texts[id]);
}

static void take_op(struct fake_daemon *daemon, const uint8_t *frame, size_t length)
{
    struct ot_wire_op_view op;

    if (ot_wire_decode_op(frame, length, &op, NULL) < 0 || op.fixed.op_id >= FAKE_DEFINITIONS_MAX ||
        !is_text(daemon, op.fixed.name) || !is_text(daemon, op.fixed.type)) {
        breach(daemon, "an op that makes no sense");
        return;
    }
    daemon->ops[op.fixed.op_id] = op.fixed;
    daemon->op_bytes[op.fixed.op_id] = length;
}

static void take_hello(struct fake_daemon *daemon, struct fake_connection *connection,
                       const uint8_t *frame, size_t length)
{
    struct ot_wire_hello_view hello;

    if (connection->is_welcome || ot_wire_decode_hello(frame, length, &hello, NULL) < 0) {
        breach(daemon, "a HELLO that makes no sense");
        return;
    }
    daemon->hello = hello.fixed;
    daemon->start_ns = hello.more.start_ns;
    memcpy(connection->uuid, hello.fixed.uuid, sizeof(connection->uuid));
    snprintf(daemon->program, sizeof(daemon->program), "%.*s", (int)hello.texts.program.length,
             hello.texts.program.bytes);
    welcome(daemon, connection);
}

static void answer_flush(struct fake_daemon *daemon, const struct fake_connection *connection,
                         const struct ot_wire_flush *flush)
{
    struct ot_wire_flushed frame = {
        .header = ot_wire_header(OT_FRAME_FLUSHED, sizeof(frame)),
        .token = flush->token,
    };
    struct ot_wire_flushed first = frame;

    if (daemon->options.is_idle)
        return;
    if (daemon->options.pairs_flushes && daemon->waiting_flush == 0) {
        daemon->waiting_flush = flush->token;
        return;
    }
    drain(daemon);
    if (daemon->waiting_flush != 0) {
        first.token = daemon->waiting_flush;
        first.status = -EIO;
        send_all(connection, &first, sizeof(first));
        daemon->waiting_flush = 0;
    }
    send_all(connection, &frame, sizeof(frame));
}

static void take_definition(struct fake_daemon *daemon, uint16_t type, const uint8_t *frame,
                            size_t length)
{
    struct ot_wire_string_view string;
    struct ot_wire_model model;
    struct ot_wire_lane lane;

    if (type == OT_FRAME_STRING && ot_wire_decode_string(frame, length, &string, NULL) == 0) {
        take_text(daemon, &string);
    } else if (type == OT_FRAME_MODEL && ot_wire_decode_model(frame, length, &model, NULL) == 0) {
        if (model.model_id < FAKE_DEFINITIONS_MAX && is_text(daemon, model.name))
            daemon->models[model.model_id] = model;
    } else if (type == OT_FRAME_LANE && ot_wire_decode_lane(frame, length, &lane, NULL) == 0) {
        if (lane.lane_id < FAKE_DEFINITIONS_MAX && is_text(daemon, lane.name))
            daemon->lanes[lane.lane_id] = lane;
    } else if (type == OT_FRAME_OP) {
        take_op(daemon, frame, length);
    } else {
        breach(daemon, "a definition that makes no sense");
    }
}

static void take_other(struct fake_daemon *daemon, struct fake_connection *connection,
                       uint16_t type, const uint8_t *frame, size_t length)
{
    struct ot_wire_ring ring;
    struct ot_wire_flush flush;
    struct ot_wire_schedule schedule;
    struct ot_wire_gap gap;

    if (type == OT_FRAME_RING && ot_wire_decode_ring(frame, length, &ring, NULL) == 0)
        take_ring(daemon, connection, &ring);
    else if (type == OT_FRAME_FLUSH && ot_wire_decode_flush(frame, length, &flush, NULL) == 0)
        answer_flush(daemon, connection, &flush);
    else if (type == OT_FRAME_GAP && ot_wire_decode_gap(frame, length, &gap, NULL) == 0)
        daemon->gaps[daemon->counts[FAKE_GAPS] % FAKE_GAPS_MAX] = gap;
    else if (type == OT_FRAME_SCHEDULE &&
             ot_wire_decode_schedule(frame, length, &schedule, NULL) == 0)
        daemon->schedule = schedule.plan;
    else if (type == OT_FRAME_BYE)
        take_bye(daemon, connection);
    else if (type != OT_FRAME_CLOCK && type != OT_FRAME_DOORBELL)
        breach(daemon, "a frame that makes no sense");
}

static void take_frame(struct fake_daemon *daemon, struct fake_connection *connection,
                       const uint8_t *frame, size_t length)
{
    static const int counts[] = {
        [OT_FRAME_HELLO] = FAKE_HELLOS,  [OT_FRAME_STRING] = FAKE_STRINGS,
        [OT_FRAME_MODEL] = FAKE_MODELS,  [OT_FRAME_OP] = FAKE_OPS,
        [OT_FRAME_LANE] = FAKE_LANES,    [OT_FRAME_RING] = FAKE_RINGS,
        [OT_FRAME_CLOCK] = FAKE_CLOCKS,  [OT_FRAME_DOORBELL] = FAKE_DOORBELLS,
        [OT_FRAME_FLUSH] = FAKE_FLUSHES, [OT_FRAME_GAP] = FAKE_GAPS,
        [OT_FRAME_BYE] = FAKE_BYES,      [OT_FRAME_SCHEDULE] = FAKE_SCHEDULES,
    };
    struct ot_wire_header header;

    memcpy(&header, frame, sizeof(header));
    if (!ot_wire_client_sends(header.type) || header.type > OT_FRAME_SCHEDULE) {
        breach(daemon, "a frame that no client sends");
        return;
    }
    if (header.type == OT_FRAME_HELLO)
        take_hello(daemon, connection, frame, length);
    else if (!connection->is_welcome)
        breach(daemon, "something before HELLO");
    else if (header.type >= OT_FRAME_STRING && header.type <= OT_FRAME_LANE)
        take_definition(daemon, header.type, frame, length);
    else
        take_other(daemon, connection, header.type, frame, length);
    daemon->counts[counts[header.type]]++;
}

static void take_descriptors(struct fake_connection *connection, struct msghdr *message)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; i < count && connection->fd_count < FDS_MAX; i++)
            memcpy(&connection->fds[connection->fd_count++], CMSG_DATA(head) + i * sizeof(int),
                   sizeof(int));
    }
}

/* Returns false at the end of the stream. */
static bool read_connection(struct fake_daemon *daemon, struct fake_connection *connection)
{
    char control[CMSG_SPACE(sizeof(int) * 8)];
    struct iovec part = {connection->bytes + connection->have,
                         OT_WIRE_FRAME_BYTES_MAX - connection->have};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(connection->fd, &message, MSG_CMSG_CLOEXEC);
    size_t at = 0;

    if (got <= 0)
        return false;
    take_descriptors(connection, &message);
    connection->have += (size_t)got;
    while (at < connection->have) {
        struct ot_wire_header header;
        int length = ot_wire_peek(connection->bytes + at, connection->have - at, &header, NULL);

        if (length < 0) {
            breach(daemon, "what came is no frame");
            return false;
        }
        if ((size_t)length > connection->have - at)
            break;
        take_frame(daemon, connection, connection->bytes + at, (size_t)length);
        at += (size_t)length;
    }
    connection->have -= at;
    memmove(connection->bytes, connection->bytes + at, connection->have);
    return true;
}

static void accept_one(struct fake_daemon *daemon)
{
    int fd = accept4(daemon->listen_fd, NULL, NULL, SOCK_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < FAKE_CONNECTIONS_MAX; i++) {
        struct fake_connection *connection;

        if (daemon->connections[i])
            continue;
        connection = calloc(1, sizeof(*connection));
        connection->bytes = malloc(OT_WIRE_FRAME_BYTES_MAX);
        connection->fd = fd;
        daemon->connections[i] = connection;
        return;
    }
    if (fd >= 0)
        close(fd);
}

/* One round; the lock is held but while it waits. */
static void look(struct fake_daemon *daemon)
{
    struct pollfd entries[FAKE_CONNECTIONS_MAX + 2];
    char byte;

    entries[0] = (struct pollfd){.fd = daemon->listen_fd, .events = POLLIN};
    entries[1] = (struct pollfd){.fd = daemon->wake_fds[0], .events = POLLIN};
    for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++) {
        const struct fake_connection *connection = daemon->connections[i];

        entries[i + 2] = (struct pollfd){
            .fd = connection && !daemon->options.is_deaf ? connection->fd : -1, .events = POLLIN};
    }
    fake_daemon_unlock(daemon);
    poll(entries, FAKE_CONNECTIONS_MAX + 2, LOOK_MS);
    fake_daemon_lock(daemon);
    if (entries[1].revents && read(daemon->wake_fds[0], &byte, 1) < 0)
        fail_msg("read: %s", strerror(errno));
    if (entries[0].revents)
        accept_one(daemon);
    for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++) {
        if (!entries[i + 2].revents || !daemon->connections[i] ||
            daemon->connections[i]->fd != entries[i + 2].fd)
            continue;
        if (!read_connection(daemon, daemon->connections[i])) {
            daemon->counts[FAKE_CLOSES]++;
            close_connection(daemon, &daemon->connections[i]);
        }
    }
    if (!daemon->options.is_idle)
        drain(daemon);
}

static void *run(void *context)
{
    struct fake_daemon *daemon = context;

    fake_daemon_lock(daemon);
    while (!daemon->is_ending)
        look(daemon);
    fake_daemon_unlock(daemon);
    return NULL;
}

struct fake_daemon *fake_daemon_create(const char *path, const struct fake_daemon_options *options)
{
    struct fake_daemon *daemon = calloc(1, sizeof(*daemon));
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_non_null(daemon);
    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    daemon->path = strdup(path);
    if (options)
        daemon->options = *options;
    pthread_mutex_init(&daemon->lock, NULL);
    CHECK_OK(pipe2(daemon->wake_fds, O_CLOEXEC));
    daemon->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(daemon->listen_fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(daemon->listen_fd, 64) < 0)
        fail_msg("%s: %s", path, strerror(errno));
    CHECK_OK(pthread_create(&daemon->thread, NULL, run, daemon));
    return daemon;
}

void fake_daemon_destroy(struct fake_daemon **slot)
{
    struct fake_daemon *daemon = *slot;
    char broken[sizeof(daemon->broken)];

    if (!daemon)
        return;
    fake_daemon_lock(daemon);
    daemon->is_ending = true;
    fake_daemon_unlock(daemon);
    fake_daemon_wake(daemon);
    pthread_join(daemon->thread, NULL);
    unlink(daemon->path);
    close(daemon->listen_fd);
    fake_daemon_hang_up(daemon);
    close(daemon->wake_fds[0]);
    close(daemon->wake_fds[1]);
    for (uint32_t i = 0; i < daemon->ring_count; i++)
        munmap(daemon->rings[i].memory, daemon->rings[i].frame.memory_bytes);
    for (size_t i = 0; i < FAKE_TEXTS_MAX; i++)
        free(daemon->texts[i]);
    memcpy(broken, daemon->broken, sizeof(broken));
    pthread_mutex_destroy(&daemon->lock);
    free(daemon->records);
    free(daemon->path);
    free(daemon);
    *slot = NULL;
    if (broken[0])
        fail_msg("the client broke the contract: %s", broken);
}

struct count_wait {
    struct fake_daemon *daemon;
    enum fake_count what;
    uint64_t want;
};

static bool has_count(void *context)
{
    const struct count_wait *wait = context;

    return fake_daemon_count(wait->daemon, wait->what) >= wait->want;
}

void fake_daemon_wait(struct fake_daemon *daemon, enum fake_count what, uint64_t want)
{
    struct count_wait wait = {daemon, what, want};

    if (!wait_until(has_count, &wait, WAIT_MS))
        fail_msg("count %d is %llu, not %llu", (int)what,
                 (unsigned long long)fake_daemon_count(daemon, what), (unsigned long long)want);
}

uint64_t fake_daemon_count(struct fake_daemon *daemon, enum fake_count what)
{
    uint64_t count;

    fake_daemon_lock(daemon);
    count = daemon->counts[what];
    fake_daemon_unlock(daemon);
    return count;
}

void fake_daemon_lock(struct fake_daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
}

void fake_daemon_unlock(struct fake_daemon *daemon)
{
    pthread_mutex_unlock(&daemon->lock);
}

void fake_daemon_wake(struct fake_daemon *daemon)
{
    if (write(daemon->wake_fds[1], "", 1) != 1)
        fail_msg("write: %s", strerror(errno));
}

void fake_daemon_send(struct fake_daemon *daemon, const void *frame, size_t length)
{
    fake_daemon_lock(daemon);
    for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++) {
        if (daemon->connections[i])
            send_all(daemon->connections[i], frame, length);
    }
    fake_daemon_unlock(daemon);
}

void fake_daemon_hang_up(struct fake_daemon *daemon)
{
    fake_daemon_lock(daemon);
    for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++) {
        if (daemon->connections[i])
            close_connection(daemon, &daemon->connections[i]);
    }
    fake_daemon_unlock(daemon);
}
