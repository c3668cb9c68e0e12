/* SPDX-License-Identifier: Apache-2.0 */
/* Writing log lines, each about a peer once. */
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/file.h"

enum { LINE_BYTES = 1024, RECENT_COUNT = 256 };

static const uint64_t REPEAT_NS = UINT64_C(10000000000);

/* A line about a peer that was written lately. */
struct recent {
    int64_t pid;
    uint64_t hash;
    uint64_t written_ns; /* CLOCK_MONOTONIC; 0: unused */
    uint64_t skipped;
};

static struct {
    pthread_mutex_t mutex;
    bool verbose;
    int fd;
    char *path;
    uint64_t lost_count; /* lines that could not be written */
    struct recent recent[RECENT_COUNT];
} the_log = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

void log_set_verbose(bool verbose)
{
    the_log.verbose = verbose;
}

int log_open(const char *path, struct diag *diag)
{
    int fd = file_open_own(path, O_WRONLY | O_CREAT | O_APPEND, 0600, diag);
    char *copy;

    if (fd < 0)
        return fd;
    copy = strdup(path);
    if (!copy) {
        close(fd);
        return diag_set(diag, -ENOMEM, "no memory");
    }
    pthread_mutex_lock(&the_log.mutex);
    if (the_log.path)
        close(the_log.fd);
    free(the_log.path);
    the_log.path = copy;
    the_log.fd = fd;
    pthread_mutex_unlock(&the_log.mutex);
    return 0;
}

bool log_has_file(void)
{
    return the_log.path != NULL;
}

void log_reopen(void)
{
    char *path = the_log.path ? strdup(the_log.path) : NULL;
    struct diag diag = {0};

    if (path && log_open(path, &diag) < 0)
        log_say("going on with the old log file: %s", diag.text);
    free(path);
}

/* The loop must not wait for whoever reads the log: a pipe that is full, a terminal that stands. */
static bool can_write(void)
{
    struct pollfd out = {.fd = the_log.fd, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT);
}

/* With the mutex held. */
static void write_line(const char *text, uint64_t skipped)
{
    char line[LINE_BYTES + 200];
    time_t now = time(NULL);
    struct tm local;
    int length;

    localtime_r(&now, &local);
    length = (int)strftime(line, sizeof(line), "%F %T optraced: ", &local);
    /* A peer's text must not make lines of its own, or drive the terminal. */
    length += (int)text_show(text, strlen(text), line + length, LINE_BYTES);
    if (skipped)
        length += snprintf(line + length, sizeof(line) - (size_t)length,
                           " (and %llu times more before)", (unsigned long long)skipped);
    if (the_log.lost_count)
        length += snprintf(line + length, sizeof(line) - (size_t)length,
                           " (%llu lines before this one could not be written)",
                           (unsigned long long)the_log.lost_count);
    line[length++] = '\n';
    if (can_write() && write(the_log.fd, line, (size_t)length) > 0)
        the_log.lost_count = 0;
    else
        the_log.lost_count++;
}

static void say(const char *format, va_list args)
{
    char text[LINE_BYTES];

    vsnprintf(text, sizeof(text), format, args);
    pthread_mutex_lock(&the_log.mutex);
    write_line(text, 0);
    pthread_mutex_unlock(&the_log.mutex);
}

void log_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

void log_detail(const char *format, ...)
{
    va_list args;

    if (!the_log.verbose)
        return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

/* Numbers do not count: offsets and ids would make each line a new one. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (; *text; text++)
        if (*text < '0' || *text > '9')
            hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

/* The entry of this peer and line, else the one that was written longest ago. */
static struct recent *find_recent(int64_t pid, uint64_t hash)
{
    struct recent *oldest = &the_log.recent[0];

    for (size_t i = 0; i < RECENT_COUNT; i++) {
        struct recent *entry = &the_log.recent[i];

        if (entry->written_ns && entry->pid == pid && entry->hash == hash)
            return entry;
        if (entry->written_ns < oldest->written_ns)
            oldest = entry;
    }
    *oldest = (struct recent){.pid = pid, .hash = hash};
    return oldest;
}

void log_peer(int64_t pid, const char *format, ...)
{
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    char text[LINE_BYTES];
    struct recent *entry;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&the_log.mutex);
    entry = find_recent(pid, hash_text(text));
    if (entry->written_ns && now_ns - entry->written_ns < REPEAT_NS) {
        entry->skipped++;
    } else {
        write_line(text, entry->skipped);
        entry->written_ns = now_ns;
        entry->skipped = 0;
    }
    pthread_mutex_unlock(&the_log.mutex);
}
