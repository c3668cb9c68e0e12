/* SPDX-License-Identifier: Apache-2.0 */
/* Children, one per host, and a loop that talks to all of them. */
#include "client/cli/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "base/clock.h"
#include "base/exit_status.h"
#include "base/json.h"
#include "client/cli/follow.h"
#include "client/cli/show.h"
#include "client/cli/when.h"

enum { SSH_WORDS_MAX = 32, SSH_BYTES = 1024, OUTPUT_MAX = 16 << 20 };
#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

struct output {
    char *bytes; /* NUL-terminated */
    size_t length;
};

enum host_phase { HOST_COMING, HOST_READY, HOST_GOING, HOST_OVER };

struct host {
    char *name;
    enum host_phase phase;
    pid_t pid;      /* 0: none, or waited for */
    int in;         /* its stdin */
    int streams[2]; /* its stdout and stderr; -1 once they have ended */
    struct output output[2];
    size_t taken; /* of stdout: lines of the talk before "go" */
    unsigned pings;
    uint64_t asked_ns;
    int64_t offset_ns; /* its clock less ours */
    uint64_t error_ns; /* it may be off by that much */
    int status;        /* exit status */
    char trouble[80];  /* why it was given up */
};

struct hosts {
    ARRAY_OF(struct host) list;
};

/* --- Starting --- */

/* One word for the shell at the other end. */
static void put_quoted(FILE *out, const char *word)
{
    fputs(" '", out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

static char *make_command(const struct hosts_job *job)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        return NULL;
    text_print(out, "%s --follow", job->command->name);
    for (size_t i = 0; i < job->words.count; i++)
        put_quoted(out, job->words.items[i]);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Splits $OPTRACE_SSH at blanks; host, command and NULL follow. */
static void make_argv(char place[SSH_BYTES], char *host, char *command,
                      char *argv[SSH_WORDS_MAX + 3])
{
    const char *ssh = getenv("OPTRACE_SSH");
    size_t count = 0;
    char *rest, *word;

    snprintf(place, SSH_BYTES, "%s", ssh && ssh[0] ? ssh : "ssh");
    for (word = strtok_r(place, " \t", &rest); word && count < SSH_WORDS_MAX;
         word = strtok_r(NULL, " \t", &rest))
        argv[count++] = word;
    argv[count++] = host;
    argv[count++] = command;
    argv[count] = NULL;
}

static void give_up(struct host *host, const char *why)
{
    snprintf(host->trouble, sizeof(host->trouble), "%s", why);
    host->phase = HOST_OVER;
    host->status = EXIT_SYSTEM;
    if (host->pid > 0)
        kill(host->pid, SIGTERM);
}

static void be_child(const int in[2], const int out[2], const int err[2], char **argv)
{
    signal(SIGPIPE, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(argv[0], argv);
    text_print(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void start_host(struct host *host, char *command)
{
    char place[SSH_BYTES], *argv[SSH_WORDS_MAX + 3];
    int in[2], out[2], err[2];

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
        give_up(host, strerror(errno)); /* what is open is closed when we end, in a moment */
        return;
    }
    make_argv(place, host->name, command, argv);
    host->pid = fork();
    if (host->pid == 0)
        be_child(in, out, err, argv);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    host->in = in[1];
    host->streams[0] = out[0];
    host->streams[1] = err[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    if (host->pid < 0)
        give_up(host, strerror(errno));
}

/* --- Talking --- */

static void say(struct host *host, const char *line)
{
    if (write(host->in, line, strlen(line)) < 0) /* a line fits any pipe */
        return;                                  /* its end is noticed where its output ends */
}

static void ask_time(struct host *host)
{
    host->asked_ns = ot_clock_ns(CLOCK_REALTIME);
    say(host, FOLLOW_TIME "\n");
}

static void take_time(struct host *host, uint64_t theirs_ns)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    const uint64_t error_ns = (now_ns - host->asked_ns + 1) / 2;

    if (host->pings == 0 || error_ns < host->error_ns) {
        host->error_ns = error_ns;
        host->offset_ns = (int64_t)(theirs_ns - (host->asked_ns + error_ns));
    }
    if (++host->pings < HOSTS_PINGS)
        ask_time(host);
    else
        host->phase = HOST_READY;
}

static void take_line(struct host *host, const char *line)
{
    if (strcmp(line, FOLLOW_READY) == 0)
        ask_time(host);
    else if (strncmp(line, FOLLOW_TIME " ", strlen(FOLLOW_TIME) + 1) == 0)
        take_time(host, strtoull(line + strlen(FOLLOW_TIME) + 1, NULL, 10));
    /* Others are what the shell there says to everybody. */
}

static void take_lines(struct host *host)
{
    struct output *output = &host->output[0];
    char *end;

    while (host->phase == HOST_COMING && output->length > host->taken &&
           (end = memchr(output->bytes + host->taken, '\n', output->length - host->taken))) {
        char *line = output->bytes + host->taken;

        *end = 0;
        host->taken = (size_t)(end + 1 - output->bytes);
        take_line(host, line);
    }
}

/* Reads what is there; false at the end of the stream. */
static bool read_stream(int fd, struct output *output)
{
    char buffer[4096], *grown;
    ssize_t got = read(fd, buffer, sizeof(buffer));

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0 || output->length + (size_t)got > OUTPUT_MAX)
        return false;
    grown = realloc(output->bytes, output->length + (size_t)got + 1);
    if (!grown)
        return false;
    memcpy(grown + output->length, buffer, (size_t)got);
    output->bytes = grown;
    output->length += (size_t)got;
    output->bytes[output->length] = 0;
    return true;
}

static void wait_for_end(struct host *host)
{
    int status;

    if (host->pid <= 0)
        return;
    while (waitpid(host->pid, &status, 0) < 0 && errno == EINTR)
        ;
    host->pid = 0;
    if (host->phase != HOST_OVER)
        host->status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SYSTEM;
    host->phase = HOST_OVER;
}

static bool is_talking(const struct host *host)
{
    return host->streams[0] >= 0 || host->streams[1] >= 0;
}

static void read_host(struct host *host)
{
    for (int s = 0; s < 2; s++) {
        if (host->streams[s] < 0 || read_stream(host->streams[s], &host->output[s]))
            continue;
        close(host->streams[s]);
        host->streams[s] = -1;
    }
    take_lines(host);
    if (!is_talking(host))
        wait_for_end(host);
}

/* Waits for output of any host, for a while. */
static void wait_for_output(struct hosts *hosts, uint64_t deadline_ns)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct pollfd fds[2 * HOSTS_MAX];
    nfds_t count = 0;

    for (size_t i = 0; i < hosts->list.count; i++) {
        for (int s = 0; s < 2; s++) {
            if (hosts->list.items[i].phase != HOST_OVER && hosts->list.items[i].streams[s] >= 0)
                fds[count++] =
                    (struct pollfd){.fd = hosts->list.items[i].streams[s], .events = POLLIN};
        }
    }
    poll(fds, count, now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0);
}

/* Goes on until no host is in the phase any more. */
static void leave_phase(struct hosts *hosts, enum host_phase phase)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + HOSTS_SECONDS * NS_PER_S;
    bool is_left = false;
    char why[64];

    while (!is_left) {
        const bool is_late = ot_clock_ns(CLOCK_MONOTONIC) >= deadline_ns;

        is_left = true;
        for (size_t i = 0; i < hosts->list.count; i++) {
            struct host *host = &hosts->list.items[i];

            if (host->phase != HOST_OVER)
                read_host(host);
            if (host->phase == phase && is_late) {
                snprintf(why, sizeof(why), "it did not answer within %d s", HOSTS_SECONDS);
                give_up(host, why);
            }
            is_left = is_left && host->phase != phase;
        }
        if (!is_left)
            wait_for_output(hosts, deadline_ns);
    }
}

/* The common time; `line` is what the hosts are told. */
static void tell_to_go(struct hosts *hosts, const struct hosts_job *job)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    uint64_t at_ns = now_ns + HOSTS_LEAD_SECONDS * NS_PER_S;
    char line[80] = FOLLOW_GO "\n", text[SHOW_CELL_BYTES];

    if (job->has_time) {
        if (job->at)
            when_parse(job->at, now_ns, &at_ns);
        snprintf(line, sizeof(line), FOLLOW_GO " @%" PRIu64 ".%09" PRIu64 "\n", at_ns / NS_PER_S,
                 at_ns % NS_PER_S);
        text_print(stdout, "all hosts at %s.%03" PRIu64 ", @%" PRIu64 ".%09" PRIu64 "\n",
                   show_time(at_ns, text), at_ns % NS_PER_S / NS_PER_MS, at_ns / NS_PER_S,
                   at_ns % NS_PER_S);
        fflush(stdout);
    }
    for (size_t i = 0; i < hosts->list.count; i++) {
        struct host *host = &hosts->list.items[i];

        if (host->phase != HOST_READY)
            continue;
        say(host, line);
        host->phase = HOST_GOING;
    }
}

/* --- What they said --- */

/* Each line behind the host's name. */
static void print_lines(FILE *out, const char *prefix, const char *name, const char *text)
{
    while (text && *text) {
        const size_t length = strcspn(text, "\n");

        if (length > 0)
            text_print(out, "%s%s: %.*s\n", prefix, name, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* A document as it stands; what must be written out in strings is written as JSON has it. */
static void print_document(const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");

        text_print(stdout, "%.*s", (int)length, text);
        text += length;
        if (*text == '\n') {
            putchar('\n');
            text++;
        }
    }
}

static const char *answer_of(const struct host *host)
{
    return host->output[0].length > host->taken ? host->output[0].bytes + host->taken : "";
}

static void print_clock(const struct host *host)
{
    char size[SHOW_CELL_BYTES], error[SHOW_CELL_BYTES];
    const uint64_t off_ns = (uint64_t)(host->offset_ns < 0 ? -host->offset_ns : host->offset_ns);

    text_print(stdout, "%s: clock %s %s ours, within %s\n", host->name, show_duration(off_ns, size),
               host->offset_ns < 0 ? "behind" : "ahead of", show_duration(host->error_ns, error));
}

static void print_host(const struct hosts_job *job, const struct host *host)
{
    char prefix[80];

    if (host->pings == HOSTS_PINGS)
        print_clock(host);
    print_lines(stdout, "", host->name, answer_of(host));
    fflush(stdout);
    if (host->status == 0)
        return;
    snprintf(prefix, sizeof(prefix), "%s: ", job->command->name);
    print_lines(stderr, prefix, host->name, host->output[1].bytes);
    if (host->trouble[0])
        print_lines(stderr, prefix, host->name, host->trouble);
    else if (host->output[1].length == 0)
        text_print(stderr, "%s%s: exit status %d, without a word\n", prefix, host->name,
                   host->status);
}

static void put_host(struct json_writer *json, const struct host *host)
{
    json_begin_object(json);
    json_key(json, "host");
    json_string(json, host->name);
    json_key(json, "exit_status");
    json_int(json, host->status);
    json_key(json, "clock_offset_ns");
    if (host->pings == HOSTS_PINGS)
        json_int(json, host->offset_ns);
    else
        json_null(json);
    json_key(json, "clock_error_ns");
    if (host->pings == HOSTS_PINGS)
        json_uint(json, host->error_ns);
    else
        json_null(json);
    json_key(json, "error");
    if (host->status != 0)
        json_string(json, host->trouble[0]        ? host->trouble
                          : host->output[1].bytes ? host->output[1].bytes
                                                  : "");
    else
        json_null(json);
}

/* One object per host, with what it answered as it stands. */
static void print_json(const struct hosts *hosts)
{
    puts("{\n\"format_version\": 1,\n\"hosts\": [");
    for (size_t i = 0; i < hosts->list.count; i++) {
        const struct host *host = &hosts->list.items[i];
        struct json_writer json;
        char *text;

        json_init_memory(&json);
        put_host(&json, host);
        json_end_object(&json);
        if (json_finish(&json) < 0)
            continue;
        text = json_take(&json, NULL);
        text[strcspn(text, "\n")] = 0;
        text[strlen(text) - 1] = 0; /* its last brace */
        text_put_page(text, stdout);
        fputs(", \"status\": ", stdout);
        print_document(host->status == 0 ? answer_of(host) : "null");
        fputs(i + 1 < hosts->list.count ? "},\n" : "}\n", stdout);
        free(text);
    }
    puts("]\n}");
}

/* --- All of it --- */

/* Cuts "a,b" into hosts. */
static int add_hosts(struct hosts *hosts, const char *text, struct diag *diag)
{
    while (*text) {
        const size_t length = strcspn(text, ",");
        struct host host = {.in = -1, .streams = {-1, -1}, .name = strndup(text, length)};

        /* ssh would take it for an option. */
        if (length == 0 || text[0] == '-') {
            diag_set(diag, -EINVAL, "--host takes names of hosts, not '%s'", text);
            free(host.name);
            return -EINVAL;
        }
        if (hosts->list.count == HOSTS_MAX || !host.name || array_push(&hosts->list, host) < 0) {
            diag_set(diag, -EINVAL, "--host: more than %d hosts", HOSTS_MAX);
            free(host.name);
            return -EINVAL;
        }
        text += length;
        text += *text == ',';
    }
    return 0;
}

static void deinit(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->list.count; i++) {
        struct host *host = &hosts->list.items[i];

        if (host->in >= 0)
            close(host->in);
        for (int s = 0; s < 2; s++) {
            if (host->streams[s] >= 0)
                close(host->streams[s]);
            free(host->output[s].bytes);
        }
        wait_for_end(host);
        free(host->name);
    }
    array_deinit(&hosts->list);
}

/* The greatest; what is none of ours, such as ssh's 255, is a failure of the system. */
static int worst_status(const struct hosts *hosts)
{
    int worst = EXIT_OK;

    for (size_t i = 0; i < hosts->list.count; i++) {
        const int status = hosts->list.items[i].status;
        const int known = status >= 0 && status <= EXIT_SYSTEM ? status : EXIT_SYSTEM;

        if (known > worst)
            worst = known;
    }
    return worst;
}

int hosts_run(const struct hosts_job *job)
{
    char *command = make_command(job);
    struct hosts hosts = {{0}};
    struct diag diag = {0};
    int status;

    for (size_t i = 0; i < job->hosts->count; i++) {
        if (!command || add_hosts(&hosts, job->hosts->items[i], &diag) < 0) {
            free(command);
            deinit(&hosts);
            return options_complain(job->command, &diag);
        }
    }
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < hosts.list.count; i++)
        start_host(&hosts.list.items[i], command);
    leave_phase(&hosts, HOST_COMING);
    tell_to_go(&hosts, job);
    leave_phase(&hosts, HOST_GOING);
    if (job->is_json)
        print_json(&hosts);
    for (size_t i = 0; !job->is_json && i < hosts.list.count; i++)
        print_host(job, &hosts.list.items[i]);
    status = worst_status(&hosts);
    deinit(&hosts);
    free(command);
    return status;
}
