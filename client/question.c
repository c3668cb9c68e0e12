/* SPDX-License-Identifier: Apache-2.0 */
/* A FLUSH whose answer nobody waits for. */
#include "client/question.h"

enum { TROUBLE_MS = 100 };

int ot_question_ask(struct ot_question *question)
{
    struct ot_session *session = &ot_session;
    struct ot_wire_flush frame = {
        .header = ot_wire_header(OT_FRAME_FLUSH, sizeof(frame)),
        .token = session->flush_token + 1,
    };
    int rc;

    frame.header.flags = session->frame_flags;

    if (ot_clock_ns(CLOCK_MONOTONIC) < question->retry_ns)
        return 0;
    rc = ot_link_send(&session->link, &frame, sizeof(frame), -1);
    if (rc < 0)
        return rc;
    question->flush = (struct ot_flush){.next = session->flushes, .token = ++session->flush_token};
    session->flushes = &question->flush;
    question->is_asked = true;
    question->link = session->link_number;
    return 0;
}

enum ot_answer ot_question_hear(struct ot_question *question)
{
    const struct ot_flush *flush = &question->flush;

    if (!question->is_asked)
        return OT_ANSWER_NONE;
    if (!flush->is_answered && question->link == ot_session.link_number)
        return OT_ANSWER_WAITS;
    ot_question_drop(question);
    if (flush->is_answered && flush->status == 0)
        return OT_ANSWER_STORED;
    if (flush->is_answered) /* it answers such a FLUSH at once */
        question->retry_ns = ot_clock_ns(CLOCK_MONOTONIC) + TROUBLE_MS * UINT64_C(1000000);
    return OT_ANSWER_NONE;
}

void ot_question_drop(struct ot_question *question)
{
    struct ot_flush **at = &ot_session.flushes;

    while (*at && *at != &question->flush)
        at = &(*at)->next;
    if (*at)
        *at = question->flush.next;
    question->is_asked = false;
}
