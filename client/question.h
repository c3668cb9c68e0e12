/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the daemon whether what it was sent so far is in the store: a FLUSH among those of
 * optrace_flush(). A daemon that dies takes with it what it had not stored, and what was told to it
 * alone, not left in a ring, must be told to the next one.
 *
 * All zero is a question that was not asked. All of it needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_QUESTION_H
#define OPTRACE_CLIENT_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "client/session.h"

struct ot_question {
    struct ot_flush flush;
    bool is_asked;
    uint32_t link;     /* number of the connection that it was asked on */
    uint64_t retry_ns; /* CLOCK_MONOTONIC: not again before; the store could not be written */
};

enum ot_answer {
    OT_ANSWER_NONE,   /* it was not asked, or there will be no answer: ask again */
    OT_ANSWER_WAITS,  /* none yet */
    OT_ANSWER_STORED, /* all that was sent before it is in the store */
};

/** Ask. May be put off for a while, `is_asked` says so. Needs a connection and that nothing is
 *  asked now. Returns 0 or as ot_link_send(). */
int ot_question_ask(struct ot_question *question);

/** What became of it. But for WAITS, it is no longer asked afterwards. */
enum ot_answer ot_question_hear(struct ot_question *question);

/** Forget that it was asked. */
void ot_question_drop(struct ot_question *question);

#endif
