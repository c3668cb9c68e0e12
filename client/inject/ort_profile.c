/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the file is an event; times are whole microseconds. */
#include "client/inject/ort_profile.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/inject/found.h"
#include "client/inject/nodes.h"
#include "client/inject/ort_node.h"
#include "client/inject/recorder.h"

enum {
    RUNS_MAX = 1 << 20,   /* ONNX Runtime keeps a million events */
    CHUNK_RECORDS = 8192, /* then the daemon is waited for: rings have room for more */
    FLUSH_MS = 2000,
    SLACK_NS = 2000,     /* what is cut off times */
    SEARCHED_MAX = 4096, /* runs, one after the other for a node */
    VALUE_BYTES = 4096
};

#define NUMBER_MAX INT64_C(1000000000000000) /* us: thirty years */

struct ort_profile_run {
    uint32_t number, lane, tid;
    int64_t begin_ns, end_ns;
};

bool ort_profile_is_wanted(void)
{
    return nodes_every() == 1;
}

struct ort_profile *ort_profile_create(uint32_t model)
{
    const char *place = secure_getenv("TMPDIR");
    struct ort_profile *made = calloc(1, sizeof(*made));
    int length;

    if (!made)
        return NULL;
    length = snprintf(made->prefix, sizeof(made->prefix), "%s/optrace-ort.XXXXXX",
                      place && place[0] == '/' ? place : "/tmp");
    if (length < 0 || (size_t)length + 8 > sizeof(made->prefix) || !mkdtemp(made->prefix)) {
        free(made);
        return NULL;
    }
    strcat(made->prefix, "/nodes");
    made->model = model;
    made->forks = recorder_forks;
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

void ort_profile_begin(struct ort_profile *profile, int64_t start_ns)
{
    profile->start_ns = start_ns;
}

int64_t ort_profile_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void ort_profile_run(struct ort_profile *profile, uint32_t number, int64_t begin_ns, int64_t end_ns)
{
    const struct ort_profile_run run = {number, recorder.thread_lane(),
                                        (uint32_t)syscall(SYS_gettid), begin_ns, end_ns};

    pthread_mutex_lock(&profile->lock);
    if (profile->run_count == profile->run_capacity && profile->run_capacity < RUNS_MAX) {
        const size_t capacity = profile->run_capacity ? profile->run_capacity * 2 : 256;
        void *larger = realloc(profile->runs, capacity * sizeof(run));

        if (larger) {
            profile->runs = larger;
            profile->run_capacity = capacity;
        }
    }
    if (profile->run_count < profile->run_capacity)
        profile->runs[profile->run_count++] = run;
    pthread_mutex_unlock(&profile->lock);
}

/* --- Reading --- */

/* What stands behind "KEY" and a colon; NULL: nothing. */
static const char *find_value(const char *line, const char *key)
{
    char wanted[40];
    const char *at;

    snprintf(wanted, sizeof(wanted), "\"%s\"", key);
    at = strstr(line, wanted);
    if (!at)
        return NULL;
    at += strlen(wanted);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    return at + 1 + strspn(at + 1, " ");
}

/* A string without its quotes, or a list with its brackets; NULL where there is none. */
static const char *copy_value(const char *line, const char *key, char out[VALUE_BYTES])
{
    const char *at = find_value(line, key);
    size_t length = 0;
    int depth = 0;

    if (!at || (*at != '"' && *at != '['))
        return NULL;
    if (*at == '"') {
        for (at++; *at && *at != '"' && length < VALUE_BYTES - 1; at++) {
            at += *at == '\\' && at[1];
            out[length++] = *at;
        }
    } else {
        do {
            depth += (*at == '[') - (*at == ']');
            if (*at != ' ')
                out[length++] = *at;
        } while (*at++ && depth > 0 && length < VALUE_BYTES - 1);
    }
    out[length] = '\0';
    return out;
}

/* -1: there is none, or none that a time could be. */
static int64_t number_of(const char *line, const char *key)
{
    const char *at = find_value(line, key);
    const long long number = at ? strtoll(at, NULL, 10) : -1;

    return number < 0 || number > NUMBER_MAX ? -1 : number;
}

static int by_thread(const void *a, const void *b)
{
    const struct ort_profile_run *left = a, *right = b;

    if (left->tid != right->tid)
        return left->tid > right->tid ? 1 : -1;
    return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

/* How many runs stand before what begins later on a thread, or is another thread's. */
static size_t count_before(const struct ort_profile *profile, uint32_t tid, int64_t ns)
{
    size_t low = 0, high = profile->run_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct ort_profile_run *run = &profile->runs[middle];

        if (run->tid < tid || (run->tid == tid && run->begin_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The run that a node is of: on its thread, else, as where nodes run beside each other, the only one
 * at that time. NULL: it is not known. */
static const struct ort_profile_run *find_run(const struct ort_profile *profile, uint32_t tid,
                                              int64_t begin_ns)
{
    const struct ort_profile_run *only = NULL;
    size_t before = count_before(profile, tid, begin_ns), count = 0;

    if (before < profile->run_count && profile->runs[before].tid == tid &&
        profile->runs[before].begin_ns <= begin_ns + SLACK_NS &&
        (before == 0 || profile->runs[before - 1].tid != tid ||
         profile->runs[before - 1].end_ns < begin_ns))
        return &profile
                    ->runs[before]; /* it began in the microsecond that the node's time is cut to */
    if (before > 0 && profile->runs[before - 1].tid == tid &&
        profile->runs[before - 1].end_ns + SLACK_NS >= begin_ns)
        return &profile->runs[before - 1];
    for (size_t i = 0; i < profile->run_count && profile->run_count <= SEARCHED_MAX; i++) {
        const struct ort_profile_run *run = &profile->runs[i];

        if (run->begin_ns > begin_ns + SLACK_NS || run->end_ns + SLACK_NS < begin_ns)
            continue;
        only = run;
        count++;
    }
    return count == 1 ? only : NULL;
}

/* A record was made; the line is of no node; it is of one that no run has, or whose times make no
 * sense. */
enum answer { RECORDED, NO_NODE, NO_RUN };

static enum answer record_line(const struct ort_profile *profile, char *line)
{
    static const char suffix[] = "_kernel_time";
    char name[VALUE_BYTES], texts[8][VALUE_BYTES], *arguments;
    const int64_t begin_ns = profile->start_ns + number_of(line, "ts") * 1000;
    const int64_t length_ns = number_of(line, "dur") * 1000;
    const struct ort_profile_run *run;
    struct optrace_event span = {.kind = OPTRACE_KIND_SPAN, .flags = OPTRACE_EVENT_REALTIME};
    struct ort_node node = {.model = profile->model};
    size_t length;

    if (!copy_value(line, "cat", name) || strcmp(name, "Node") != 0 ||
        !copy_value(line, "name", name))
        return NO_NODE;
    length = strlen(name);
    arguments = strstr(line, "\"args\"");
    if (!arguments || length < sizeof(suffix) ||
        strcmp(name + length + 1 - sizeof(suffix), suffix) != 0)
        return NO_NODE;
    name[length + 1 - sizeof(suffix)] = '\0';
    run = find_run(profile, (uint32_t)number_of(line, "tid"), begin_ns);
    if (!run || length_ns < 0 || begin_ns < profile->start_ns)
        return NO_RUN;
    node.name = name;
    node.type = copy_value(arguments, "op_name", texts[0]);
    node.index = copy_value(arguments, "node_index", texts[1]);
    node.provider = copy_value(arguments, "provider", texts[2]);
    node.inputs = copy_value(arguments, "input_type_shape", texts[3]);
    node.outputs = copy_value(arguments, "output_type_shape", texts[4]);
    node.sizes[0] = copy_value(arguments, "activation_size", texts[5]);
    node.sizes[1] = copy_value(arguments, "parameter_size", texts[6]);
    node.sizes[2] = copy_value(arguments, "output_size", texts[7]);
    span.op = ort_node_op(&node);
    span.run = run->number;
    span.lane = run->lane;
    span.start = (uint64_t)(begin_ns > run->begin_ns ? begin_ns : run->begin_ns);
    span.end = (uint64_t)(begin_ns + length_ns);
    if (span.end > (uint64_t)run->end_ns)
        span.end = (uint64_t)run->end_ns;
    if (span.end < span.start)
        span.end = span.start;
    return span.op && recorder.record(&span) == 0 ? RECORDED : NO_RUN;
}

static void read_file(const struct ort_profile *profile, const char *path)
{
    FILE *file = fopen(path, "re");
    size_t room = 0, counts[3] = {0};
    char *line = NULL, text[100];

    if (!file)
        return;
    while (getline(&line, &room, file) > 0) {
        const enum answer answer = record_line(profile, line);

        if (++counts[answer] % CHUNK_RECORDS == 0 && answer == RECORDED)
            recorder.flush(FLUSH_MS);
    }
    if (counts[NO_RUN] > 0) {
        snprintf(text, sizeof(text),
                 "%zu nodes of ONNX Runtime's profile are in no run that was "
                 "recorded",
                 counts[NO_RUN]);
        recorder.mark(recorder.name(OPTRACE_MARK, text));
    }
    free(line);
    fclose(file);
}

void ort_profile_finish(struct ort_profile **profile)
{
    struct ort_profile *of = *profile;
    char folder[sizeof(of->prefix)], path[PATH_MAX];
    struct dirent *entry;
    DIR *files;

    if (!of)
        return;
    *profile = NULL;
    snprintf(folder, sizeof(folder), "%s", of->prefix);
    *strrchr(folder, '/') = '\0';
    qsort(of->runs, of->run_count, sizeof(of->runs[0]), by_thread);
    files = of->forks == recorder_forks ? opendir(folder) : NULL;
    while (files && (entry = readdir(files))) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (of->start_ns > 0)
            read_file(of, path);
        unlink(path);
    }
    if (files) {
        closedir(files);
        rmdir(folder);
    }
    pthread_mutex_destroy(&of->lock);
    free(of->runs);
    free(of);
}
