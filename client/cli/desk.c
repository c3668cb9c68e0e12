/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a controller, and the daemon's answers. */
#include "client/cli/desk.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/greet.h"

enum { MS_PER_S = 1000 };
#define NS_PER_MS UINT64_C(1000000)

void desk_close(struct desk *desk)
{
    if (desk->fd >= 0)
        close(desk->fd);
    desk->fd = -1;
    ot_link_close(&desk->link);
}

/* Why the daemon closed the connection. */
static int explain_bye(const struct desk *desk, const uint8_t *frame, size_t length,
                       struct diag *diag)
{
    struct ot_wire_bye_view bye;

    if (ot_wire_decode_bye(frame, length, &bye, NULL) < 0)
        return diag_set(diag, -EPROTO, "what listens on %s is no optrace daemon", desk->path);
    if (bye.fixed.reason == OT_BYE_SHUTDOWN)
        return diag_set(diag, -ECONNRESET, "the daemon on %s is ending", desk->path);
    if (memmem(bye.text.bytes, bye.text.length, "not HELLO", 9))
        return diag_set(diag, -EPROTO,
                        "the daemon on %s is of a version that cannot be asked; restart it",
                        desk->path);
    return diag_set(diag, -EPROTO, "the daemon on %s closed the connection: %.*s", desk->path,
                    (int)bye.text.length, bye.text.bytes);
}

/* Read what is there, and a file descriptor that comes with it. */
static int fill(struct desk *desk)
{
    struct ot_link *link = &desk->link;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    const struct cmsghdr *head;
    ssize_t got;

    memmove(link->input, link->input + link->input_taken, link->input_length - link->input_taken);
    link->input_length -= link->input_taken;
    link->input_taken = 0;
    part.iov_base = link->input + link->input_length;
    part.iov_len = sizeof(link->input) - link->input_length;
    do
        got = recvmsg(link->fd.number, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got < 0 ? -errno : -ECONNRESET;
    link->input_length += (size_t)got;
    head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        if (desk->fd >= 0)
            close(desk->fd);
        memcpy(&desk->fd, CMSG_DATA(head), sizeof(desk->fd));
    }
    return 0;
}

/* As ot_link_receive(), which takes no file descriptors. */
static int receive_frame(struct desk *desk, const uint8_t **out_frame)
{
    const struct ot_link *link = &desk->link;

    for (;;) {
        const size_t have = link->input_length - link->input_taken;
        struct ot_wire_header header;
        const int length = ot_wire_peek(link->input + link->input_taken, have, &header, NULL);
        int rc;

        if (length < 0 || length > OT_LINK_INPUT_BYTES)
            return -EPROTO;
        if (have >= (size_t)length)
            return ot_link_receive(&desk->link, out_frame);
        rc = fill(desk);
        if (rc < 0)
            return rc;
    }
}

/* The next frame of one of the types that are wanted; others of a newer version are skipped.
 * Returns its length. */
static int receive(struct desk *desk, const uint8_t **out_frame, uint16_t *out_type,
                   struct diag *diag)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + DESK_SECONDS * MS_PER_S * NS_PER_MS;

    for (;;) {
        uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
        struct ot_wire_header header;
        int length = receive_frame(desk, out_frame);

        if (length >= 0) {
            memcpy(&header, *out_frame, sizeof(header));
            *out_type = header.type;
            if (header.type == OT_FRAME_BYE)
                return explain_bye(desk, *out_frame, (size_t)length, diag);
            return length;
        }
        if (length == -ECONNRESET)
            return diag_set(diag, -EACCES,
                            "the daemon on %s closes the connection: only its user, root and the "
                            "group that it was given may connect",
                            desk->path);
        if (length != -EAGAIN)
            return diag_set(diag, length, "what listens on %s is no optrace daemon", desk->path);
        if (now_ns >= deadline_ns)
            return diag_set(diag, -ETIMEDOUT, "the daemon on %s did not answer within %d s",
                            desk->path, DESK_SECONDS);
        ot_link_wait(&desk->link, POLLIN, (uint32_t)((deadline_ns - now_ns) / NS_PER_MS) + 1);
    }
}

static int send_frame(struct desk *desk, const void *frame, size_t length, struct diag *diag)
{
    int rc = ot_link_send(&desk->link, frame, length, -1);
    const uint8_t *answer;
    uint16_t type;

    if (rc == 0)
        return 0;
    /* It may have said why. */
    if (rc == -EPIPE || rc == -ECONNRESET)
        return receive(desk, &answer, &type, diag) < 0
                   ? -EPROTO
                   : diag_set(diag, -EPROTO, "the daemon on %s is gone", desk->path);
    return diag_set(diag, rc, "%s: %s", desk->path, strerror(-rc));
}

/* What the daemon answers to VISIT. */
static int take_welcome(struct desk *desk, struct diag *diag)
{
    struct ot_wire_welcome_view welcome;
    const uint8_t *frame;
    uint16_t type;
    int rc = receive(desk, &frame, &type, diag);

    if (rc >= 0)
        rc = ot_wire_decode_welcome(frame, (size_t)rc, &welcome, diag);
    if (rc == 0 && welcome.fixed.status != OT_WELCOME_OK)
        rc = diag_set(diag, welcome.fixed.status == OT_WELCOME_DENIED ? -EACCES : -EUSERS,
                      "the daemon on %s refuses: %.*s", desk->path, (int)welcome.text.length,
                      welcome.text.bytes);
    if (rc == 0)
        desk->minor = welcome.fixed.version_minor;
    return rc;
}

static int say_visit(struct desk *desk, struct diag *diag)
{
    const struct ot_wire_visit visit = {
        .header = ot_wire_header(OT_FRAME_VISIT, sizeof(visit)),
        .magic = OT_WIRE_MAGIC,
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = OT_WIRE_VERSION_MINOR,
        .features = OT_FEATURE_VISIT | OT_FEATURE_SCHEDULE,
    };
    int rc = ot_link_send(&desk->link, &visit, sizeof(visit), -1);

    /* Whoever is not let in may be told so before. */
    if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET)
        return take_welcome(desk, diag);
    return diag_set(diag, rc, "%s: %s", desk->path, strerror(-rc));
}

/* The socket's mode keeps this user out. */
static int explain_denied(const struct desk *desk, struct diag *diag)
{
    const struct group *group;
    struct stat info;

    if (stat(desk->path, &info) < 0 || !(info.st_mode & S_IWGRP))
        return diag_set(diag, -EACCES, "the daemon on %s belongs to another user", desk->path);
    group = getgrgid(info.st_gid);
    return diag_set(diag, -EACCES,
                    "user %u may not visit the daemon on %s: ask for membership of group %s",
                    (unsigned)geteuid(), desk->path, group ? group->gr_name : "of the socket");
}

int desk_open(struct desk *desk, const char *socket, struct diag *diag)
{
    const char *wanted = socket ? socket : secure_getenv("OPTRACE_SOCKET");
    int rc;

    desk->link.fd = OT_FD_NONE;
    desk->fd = -1;
    if (wanted && strlen(wanted) >= sizeof(desk->path))
        return diag_set(diag, -ENAMETOOLONG, "the path of the socket is too long: %.60s...",
                        wanted);
    rc = ot_greet_path(wanted ? wanted : "", desk->path);
    if (rc < 0)
        return diag_set(diag, rc, "the path of the socket is too long");
    rc = ot_link_open(&desk->link, desk->path);
    if (rc == -ENOENT || rc == -ECONNREFUSED)
        return diag_set(diag, -ENOENT, "no daemon listens on %s; start optraced", desk->path);
    if (rc == -EACCES)
        return explain_denied(desk, diag);
    if (rc < 0)
        return diag_set(diag, rc, "cannot connect to %s: %s", desk->path, strerror(-rc));
    rc = say_visit(desk, diag);
    if (rc < 0)
        desk_close(desk);
    return rc;
}

/* --- ASK --- */

/* A copy that can be shown on a terminal. */
static char *take_text(struct ot_text text)
{
    char *copy = malloc(text.length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text.bytes ? text.bytes : "", text.length);
    copy[text.length] = 0;
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
            copy[i] = '?';
    }
    return copy;
}

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "out of memory");
}

static int take_status(struct desk_picture *picture, const uint8_t *frame, size_t length,
                       struct diag *diag)
{
    struct ot_wire_status_view view;
    int rc = ot_wire_decode_status(frame, length, &view, diag);

    if (rc < 0)
        return rc;
    if (picture->version)
        return diag_set(diag, -EPROTO, "STATUS for the second time");
    picture->status = view.fixed;
    picture->version = take_text(view.texts.version);
    picture->host = take_text(view.texts.host);
    picture->store_path = take_text(view.texts.store_path);
    return picture->version && picture->host && picture->store_path ? 0 : no_memory(diag);
}

static int take_session(struct desk_picture *picture, const uint8_t *frame, size_t length,
                        struct diag *diag)
{
    struct ot_wire_session_view view;
    struct desk_session session;
    int rc = ot_wire_decode_session(frame, length, &view, diag);

    if (rc < 0)
        return rc;
    session = (struct desk_session){.fixed = view.fixed,
                                    .program = take_text(view.texts.program),
                                    .command = take_text(view.texts.command)};
    if (session.program && session.command && array_push(&picture->sessions, session) == 0)
        return 0;
    free(session.program);
    free(session.command);
    return no_memory(diag);
}

/* Of the session before it, as the contract says; of another one it says nothing. */
static int take_pace(struct desk_picture *picture, const uint8_t *frame, size_t length,
                     struct diag *diag)
{
    struct ot_wire_pace pace;
    const size_t count = picture->sessions.count;
    int rc = ot_wire_decode_pace(frame, length, &pace, diag);

    if (rc == 0 && count > 0 &&
        picture->sessions.items[count - 1].fixed.session_id == pace.session_id)
        picture->sessions.items[count - 1].pace = pace;
    return rc;
}

static int take_refusal(struct desk_picture *picture, const uint8_t *frame, size_t length,
                        struct diag *diag)
{
    struct ot_wire_refusal_view view;
    struct desk_refusal refusal;
    int rc = ot_wire_decode_refusal(frame, length, &view, diag);

    if (rc < 0)
        return rc;
    refusal = (struct desk_refusal){.fixed = view.fixed, .text = take_text(view.text)};
    if (refusal.text && array_push(&picture->refusals, refusal) == 0)
        return 0;
    free(refusal.text);
    return no_memory(diag);
}

/* One page: all up to ANSWER. */
static int take_page(struct desk *desk, struct desk_picture *picture, uint64_t *out_next,
                     struct diag *diag)
{
    struct ot_wire_answer_view answer;

    for (;;) {
        const uint8_t *frame;
        uint16_t type;
        int length = receive(desk, &frame, &type, diag);
        int rc = 0;

        if (length < 0)
            return length;
        if (type == OT_FRAME_STATUS)
            rc = take_status(picture, frame, (size_t)length, diag);
        else if (type == OT_FRAME_HEALTH)
            rc = ot_wire_decode_health(frame, (size_t)length, &picture->health, diag);
        else if (type == OT_FRAME_USAGE)
            rc = ot_wire_decode_usage(frame, (size_t)length, &picture->usage, diag);
        else if (type == OT_FRAME_PACE)
            rc = take_pace(picture, frame, (size_t)length, diag);
        else if (type == OT_FRAME_SESSION)
            rc = take_session(picture, frame, (size_t)length, diag);
        else if (type == OT_FRAME_REFUSAL)
            rc = take_refusal(picture, frame, (size_t)length, diag);
        if (rc < 0)
            return rc;
        if (type != OT_FRAME_ANSWER)
            continue;
        rc = ot_wire_decode_answer(frame, (size_t)length, &answer, diag);
        if (rc == 0)
            *out_next = answer.fixed.next_session;
        return rc;
    }
}

int desk_ask(struct desk *desk, struct desk_picture *out_picture, struct diag *diag)
{
    struct ot_wire_ask ask = {.header = ot_wire_header(OT_FRAME_ASK, sizeof(ask))};
    uint64_t next = 0;
    int rc;

    do {
        ask.first_session = next;
        rc = send_frame(desk, &ask, sizeof(ask), diag);
        if (rc == 0)
            rc = take_page(desk, out_picture, &next, diag);
        if (rc == 0 && next && next <= ask.first_session)
            rc = diag_set(diag, -EPROTO, "the daemon's list of sessions does not end");
    } while (rc == 0 && next);
    if (rc == 0 && !out_picture->version)
        rc = diag_set(diag, -EPROTO, "the daemon does not tell about itself");
    return rc;
}

void desk_picture_deinit(struct desk_picture *picture)
{
    for (size_t i = 0; i < picture->sessions.count; i++) {
        free(picture->sessions.items[i].program);
        free(picture->sessions.items[i].command);
    }
    for (size_t i = 0; i < picture->refusals.count; i++)
        free(picture->refusals.items[i].text);
    array_deinit(&picture->sessions);
    array_deinit(&picture->refusals);
    free(picture->version);
    free(picture->host);
    free(picture->store_path);
    memset(picture, 0, sizeof(*picture));
}

const struct desk_session *desk_find(const struct desk_picture *picture, uint64_t session_id)
{
    for (size_t i = 0; i < picture->sessions.count; i++) {
        if (picture->sessions.items[i].fixed.session_id == session_id)
            return &picture->sessions.items[i];
    }
    return NULL;
}

/* --- Commands --- */

static int send_select(struct desk *desk, const struct desk_select *select, struct diag *diag)
{
    const struct ot_wire_select fixed = {.kind = select->kind, .number = select->number};
    const struct ot_text name = {select->program, select->program ? strlen(select->program) : 0};
    char frame[sizeof(fixed) + OT_WIRE_REMARK_BYTES_MAX + 8];
    int length = ot_wire_encode_select(&fixed, name, frame, sizeof(frame));

    if (length < 0)
        return diag_set(diag, -EINVAL, "'%.40s' is not the name of a program",
                        select->program ? select->program : "");
    return send_frame(desk, frame, (size_t)length, diag);
}

static int take_answer(struct desk_answer *answer, const uint8_t *frame, size_t length,
                       struct diag *diag)
{
    struct ot_wire_answer_view view;
    int rc = ot_wire_decode_answer(frame, length, &view, diag);

    if (rc < 0)
        return rc;
    answer->status = view.fixed.status;
    answer->command_id = view.fixed.command_id;
    for (uint32_t i = 0; rc == 0 && i < view.fixed.taken_count; i++)
        rc = array_push(&answer->taken, ot_wire_answer_id(&view, i));
    for (uint32_t i = 0; rc == 0 && i < view.fixed.unable_count; i++)
        rc = array_push(&answer->unable, ot_wire_answer_id(&view, view.fixed.taken_count + i));
    return rc < 0 ? no_memory(diag) : 0;
}

int desk_command(struct desk *desk, const struct desk_select *selects, size_t select_count,
                 const struct ot_wire_plan *plan, struct desk_answer *out_answer, struct diag *diag)
{
    const struct ot_wire_schedule schedule = ot_wire_schedule(plan);
    const uint8_t *frame;
    uint16_t type;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < select_count; i++)
        rc = send_select(desk, &selects[i], diag);
    if (rc == 0)
        rc = send_frame(desk, &schedule, sizeof(schedule), diag);
    while (rc == 0) {
        rc = receive(desk, &frame, &type, diag);
        if (rc > 0 && type == OT_FRAME_ANSWER)
            return take_answer(out_answer, frame, (size_t)rc, diag);
        rc = rc < 0 ? rc : 0;
    }
    return rc;
}

void desk_answer_deinit(struct desk_answer *answer)
{
    array_deinit(&answer->taken);
    array_deinit(&answer->unable);
}

/* --- SAVE --- */

/* A frame of the answer. Returns 1 when more come. */
static int take_saved(struct desk *desk, const uint8_t *frame, size_t length,
                      struct desk_copy *copy, struct diag *diag)
{
    struct ot_wire_saved_view view;
    int rc = ot_wire_decode_saved(frame, length, &view, diag);

    if (rc < 0)
        return rc;
    copy->bytes = view.fixed.bytes;
    if (view.fixed.state == OT_SAVE_UNDERWAY)
        return 1;
    if (view.fixed.state == OT_SAVE_FAILED)
        return diag_set(diag, view.fixed.error < 0 ? view.fixed.error : -EIO, "%.*s",
                        (int)view.text.length, view.text.bytes);
    if (desk->fd < 0)
        return diag_set(diag, -EPROTO, "the daemon on %s sends no file", desk->path);
    copy->session_count = view.fixed.session_count;
    copy->fd = desk->fd;
    desk->fd = -1;
    return 0;
}

int desk_save(struct desk *desk, const struct desk_select *selects, size_t select_count,
              uint64_t since_ns, void (*say)(void *context, uint64_t bytes), void *context,
              struct desk_copy *out_copy, struct diag *diag)
{
    const struct ot_wire_save save = {.header = ot_wire_header(OT_FRAME_SAVE, sizeof(save)),
                                      .since_ns = since_ns};
    struct desk_copy copy = {.fd = -1};
    int rc = 0;

    if (desk->minor < 2)
        return diag_set(diag, -EPROTO,
                        "the daemon on %s is of a version that saves nothing; restart it",
                        desk->path);
    for (size_t i = 0; rc == 0 && i < select_count; i++)
        rc = send_select(desk, &selects[i], diag);
    if (rc == 0)
        rc = send_frame(desk, &save, sizeof(save), diag);
    if (rc < 0)
        return rc;
    do {
        const uint8_t *frame;
        uint16_t type;

        rc = receive(desk, &frame, &type, diag);
        if (rc >= 0)
            rc = type == OT_FRAME_SAVED ? take_saved(desk, frame, (size_t)rc, &copy, diag) : 1;
        if (rc == 1)
            say(context, copy.bytes);
    } while (rc == 1);
    if (rc == 0)
        *out_copy = copy;
    return rc;
}
