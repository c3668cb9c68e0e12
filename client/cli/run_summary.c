/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, events, losses, cost: one query, by profile_analyze, which reads stores. */
#include "client/cli/run_summary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/text.h"
#include "client/cli/run_sources.h"
#include "client/cli/show.h"
#include "client/cli/siblings.h"

enum { ANSWER_BYTES = 65536 };

struct numbers {
    uint64_t sessions, events, lost;
    unsigned unknown; /* sessions that lost they know not how much */
    double cost_ns, wall_ns;
};

static const char query_format[] =
    "WITH s AS (SELECT * FROM v_session WHERE source = 'live' AND start_ns >= %" PRIu64 "),"
    " c AS (SELECT l.session_id, min(n.value) AS span_ns FROM counter n"
    "  JOIN lane l ON l.lane_id = n.lane_id JOIN op o ON o.op_id = n.op_id"
    "  WHERE l.session_id IN (SELECT session_id FROM s) AND o.name = 'recording.span_ns'"
    "  GROUP BY l.session_id)"
    " SELECT count(*) AS sessions, coalesce(sum(event_count), 0) AS events,"
    "  coalesce(sum(lost_count), 0) AS lost, coalesce(sum(lost_unknown_since_ns IS NOT NULL), 0)"
    "  AS unknown, coalesce(sum(event_count * span_ns), -1) AS cost,"
    "  coalesce(sum(wall_ns), 0) AS wall FROM s LEFT JOIN c USING (session_id)";

static _Noreturn void ask(const char *store, const char *query, int out_fd)
{
    char path[PATH_MAX];
    const char *const arguments[] = {"profile_analyze", store, "--format", "csv",
                                     "--sql",           query, NULL};
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

    dup2(out_fd, STDOUT_FILENO);
    if (nothing >= 0)
        dup2(nothing, STDERR_FILENO);
    siblings_find("profile_analyze", "../../analyze", path);
    execvp(path, (char *const *)arguments);
    _exit(127);
}

/* The answer's text; false when there is none. */
static bool query_store(const char *store, const char *query, char answer[ANSWER_BYTES])
{
    size_t length = 0;
    int ends[2], status;
    ssize_t got = 1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        ask(store, query, ends[1]);
    close(ends[1]);
    while (pid > 0 && got > 0 && length < ANSWER_BYTES - 1) {
        got = read(ends[0], answer + length, ANSWER_BYTES - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(ends[0]);
    answer[length] = '\0';
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool read_numbers(const struct run_summary *summary, struct numbers *out_numbers)
{
    char query[sizeof(query_format) + 32], answer[ANSWER_BYTES];
    const char *line;

    snprintf(query, sizeof(query), query_format, summary->since_ns);
    if (!query_store(summary->store, query, answer))
        return false;
    line = strchr(answer, '\n');
    return line && sscanf(line + 1, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%u,%lf,%lf",
                          &out_numbers->sessions, &out_numbers->events, &out_numbers->lost,
                          &out_numbers->unknown, &out_numbers->cost_ns, &out_numbers->wall_ns) == 6;
}

/* What was found in whom, what was not though asked for, and what another tool has. */
static void print_sources(const struct run_summary *summary)
{
    char *query = run_sources_query(summary), *text = NULL;
    char answer[ANSWER_BYTES];

    if (query && query_store(summary->store, query, answer))
        text = run_sources_text(answer);
    if (text && text[0])
        text_print(stderr, "optrace: %s%s%s\n", text,
                   summary->taken ? "; recorded by another tool, or by none: " : "",
                   summary->taken ? summary->taken : "");
    else if (summary->taken)
        text_print(stderr, "optrace: recorded by another tool, or by none: %s\n", summary->taken);
    free(text);
    free(query);
}

static void print_cost(const struct numbers *numbers)
{
    char cost[SHOW_CELL_BYTES], wall[SHOW_CELL_BYTES];

    if (numbers->cost_ns < 0 || numbers->wall_ns <= 0)
        return;
    text_print(stderr, "optrace: recording took about %s of %s (%.2g %%)\n",
               show_duration((uint64_t)numbers->cost_ns, cost),
               show_duration((uint64_t)numbers->wall_ns, wall),
               100 * numbers->cost_ns / numbers->wall_ns);
}

static void print_nothing(const struct run_summary *summary)
{
    char held[100];

    run_sources_held(summary, held, sizeof(held));
    if (summary->taken)
        text_print(stderr, "optrace: recorded by another tool, or by none: %s\n", summary->taken);
    if (summary->closed)
        text_print(stderr, "optrace: nothing was recorded: %s %s, into which no library gets\n",
                   summary->program, summary->closed);
    else if (held[0])
        text_print(stderr,
                   "optrace: nothing was recorded: %s has %s in itself (static), where no hook "
                   "gets in between\n",
                   summary->program, held);
    else
        text_print(stderr, "optrace: nothing was recorded: no process of it calls liboptrace or "
                           "what --sources names\n");
}

void run_summary_print(const struct run_summary *summary)
{
    struct numbers numbers;

    if (!read_numbers(summary, &numbers)) {
        text_print(stderr, "optrace: profile_analyze cannot read %s\n", summary->store);
        return;
    }
    if (numbers.sessions == 0) {
        print_nothing(summary);
        return;
    }
    text_print(stderr, "optrace: %" PRIu64 " session%s, %" PRIu64 " event%s, ", numbers.sessions,
               numbers.sessions == 1 ? "" : "s", numbers.events, numbers.events == 1 ? "" : "s");
    if (numbers.lost > 0 || numbers.unknown == 0)
        text_print(stderr, numbers.lost ? "%" PRIu64 " lost" : "none lost", numbers.lost);
    if (numbers.unknown > 0)
        text_print(stderr, "%san unknown number lost", numbers.lost ? " and " : "");
    text_print(stderr, ", in %s\n", summary->store);
    print_sources(summary);
    if (summary->left_count > 0)
        text_print(stderr, "optrace: %u program%s still recording there\n", summary->left_count,
                   summary->left_count == 1 ? " is" : "s are");
    else
        print_cost(&numbers);
    text_print(stderr, "optrace: see it with: profile_analyze%s%s\n",
               summary->is_default ? "" : " ", summary->is_default ? "" : summary->store);
}
