/* SPDX-License-Identifier: Apache-2.0 */
/* HELLO and what it takes to fill it. */
#include "client/greet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/secret.h"
#include "client/optrace.h"
#include "client/session.h"

#define SYSTEM_SOCKET "/run/optrace/collector.sock"
#define LIBRARY_NAME  "liboptrace " OPTRACE_VERSION

enum { COMMAND_BYTES = 4096, HELLO_BYTES = sizeof(struct ot_wire_hello) + COMMAND_BYTES + 1024 };

int ot_greet_path(const char *wanted, char out_path[OT_LINK_PATH_BYTES])
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    int length;

    if (wanted[0]) {
        memcpy(out_path, wanted, strlen(wanted) + 1);
        return 0;
    }
    if (runtime && runtime[0] == '/') {
        length = snprintf(out_path, OT_LINK_PATH_BYTES, "%s/optrace/collector.sock", runtime);
        if (length >= OT_LINK_PATH_BYTES)
            return -ENAMETOOLONG;
        if (access(out_path, F_OK) == 0 || access(SYSTEM_SOCKET, F_OK) < 0)
            return 0;
    }
    memcpy(out_path, SYSTEM_SOCKET, sizeof(SYSTEM_SOCKET));
    return 0;
}

void ot_greet_program(char *out_name, size_t bytes)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    const char *name = program_invocation_short_name;

    if (length > 0) {
        const char *slash;

        path[length] = 0;
        slash = strrchr(path, '/');
        name = slash ? slash + 1 : path;
    }
    snprintf(out_name, bytes, "%s", name);
}

/* Behind the last whole word: half a secret is not known for one. */
static ssize_t cut_behind_word(const char *text, ssize_t length)
{
    while (length > 0 && (unsigned char)text[length - 1] > ' ')
        length--;
    return length;
}

/* The arguments joined by spaces, well-formed, what looks like a secret masked; cut when they are
 * long. */
static size_t read_command(char out_text[COMMAND_BYTES])
{
    int fd;
    ssize_t length;

    if (ot_session.settings.hides_command)
        return 0;
    fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    length = read(fd, out_text, COMMAND_BYTES);
    close(fd);
    if (length == COMMAND_BYTES)
        length = cut_behind_word(out_text, length);
    if (length <= 0)
        return 0;
    if (out_text[length - 1] == 0)
        length--;
    length = (ssize_t)ot_secret_mask(out_text, (size_t)length, true);
    for (ssize_t i = 0; i < length; i++) {
        if (out_text[i] == 0)
            out_text[i] = ' ';
    }
    return ot_wire_clean_text(out_text, (size_t)length, out_text, (size_t)length);
}

int ot_greet_hello(struct ot_session *session)
{
    const struct ot_clock_triple triple = ot_ticks_triple();
    const bool is_tsc = ot_tick_clock == OT_TICKS_TSC;
    struct ot_wire_hello hello = {
        .magic = OT_WIRE_MAGIC,
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = OT_WIRE_VERSION_MINOR,
        .features = OT_FEATURE_RINGS | OT_FEATURE_CONTROL | OT_FEATURE_SCHEDULE |
                    (optrace_level() != OPTRACE_OFF ? OT_FEATURE_RECORDS : 0),
        .pid = (uint32_t)getpid(),
        .clock_kind = is_tsc ? OT_CLOCK_TSC : OT_CLOCK_MONOTONIC,
        .ticks_per_s = session->ticks_per_s,
        .ticks = triple.ticks,
        .monotonic_ns = triple.monotonic_ns,
        .realtime_ns = triple.realtime_ns,
        .connection = session->hello_count,
    };
    char program[sizeof(session->settings.program)];
    char command[COMMAND_BYTES];
    char host[256] = "";
    char frame[HELLO_BYTES];
    struct ot_wire_hello_more more;
    struct ot_wire_hello_texts texts = {.library = {LIBRARY_NAME, sizeof(LIBRARY_NAME) - 1}};
    int length;

    memcpy(hello.uuid, session->uuid, sizeof(hello.uuid));
    texts.program.bytes = program;
    texts.program.length = ot_wire_clean_text(
        session->settings.program, strlen(session->settings.program), program, sizeof(program));
    texts.command = (struct ot_text){command, read_command(command)};
    gethostname(host, sizeof(host) - 1);
    texts.host = (struct ot_text){host, ot_wire_clean_text(host, strlen(host), host, sizeof(host))};
    if (session->hello_ns == 0)
        session->hello_ns = triple.realtime_ns;
    more.start_ns = session->hello_ns;
    length = ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame));
    if (length > 0)
        length = ot_wire_append_hello(&more, frame, (size_t)length, sizeof(frame));
    if (length < 0)
        return length;
    return ot_link_send(&session->link, frame, (size_t)length, -1);
}
