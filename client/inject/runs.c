/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops begin runs, a bit each, and the run that a thread is in by one of them. */
#include "client/inject/runs.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/stack.h"

enum { OPS_MAX = 1 << 20 }; /* as the client has it */

bool runs_follow_ops;

static regex_t expression;
static bool has_expression;
static uint64_t *starters;

static OT_TLS struct optrace_run mine;       /* number 0: none */
static OT_TLS struct optrace_span mine_span; /* of the op that began it */

static bool make_starters(void)
{
    if (!starters)
        starters = calloc(OPS_MAX / 64 + 1, sizeof(*starters));
    if (starters)
        __atomic_store_n(&runs_follow_ops, true, __ATOMIC_RELEASE);
    return starters != NULL;
}

void runs_open(void)
{
    const char *text = secure_getenv("OPTRACE_RUNS_BY");

    if (stack_is_kept)
        runs_follow_ops = true;
    if (!text || !text[0] || regcomp(&expression, text, REG_EXTENDED | REG_NOSUB) != 0)
        return;
    has_expression = make_starters();
}

static void put(uint32_t op)
{
    if (op > 0 && op <= OPS_MAX)
        __atomic_fetch_or(&starters[op / 64], UINT64_C(1) << op % 64, __ATOMIC_RELAXED);
}

void runs_note(uint32_t op, const char *name)
{
    if (has_expression && regexec(&expression, name, 0, NULL, 0) == 0)
        put(op);
}

void runs_always(uint32_t op)
{
    if (make_starters())
        put(op);
}

static bool begins_run(uint32_t op)
{
    return starters && op <= OPS_MAX &&
           __atomic_load_n(&starters[op / 64], __ATOMIC_RELAXED) >> op % 64 & 1;
}

/* The thread's run, whoever began it. */
static uint32_t current_run(void)
{
    const uint32_t number = recorder.run_set(0);

    if (number)
        recorder.run_set(number);
    return number;
}

struct optrace_span runs_begin(uint32_t op)
{
    struct optrace_span span;

    if (!begins_run(op) || current_run() != 0) {
        span = recorder.begin(op);
    } else {
        mine = recorder.run_begin(0, 0);
        span = recorder.begin(op);
        mine_span = span;
    }
    if (stack_is_kept && span.id)
        stack_push(span, op);
    return span;
}

void runs_end(struct optrace_span span)
{
    const struct optrace_run run = mine;

    if (stack_is_kept)
        stack_pop(span);
    recorder.end(span);
    if (run.number == 0 || span.start != mine_span.start || span.id != mine_span.id)
        return;
    mine.number = 0;
    recorder.run_end(run);
}
