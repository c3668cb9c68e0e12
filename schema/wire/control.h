/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of versions 1.1 to 1.3 by which recording is commanded and asked about: schedules
 * for clients, and the visits of controllers such as the `optrace` command. Part of
 * schema/wire/wire.h, which includes this file; schema/wire/wire.md has it in prose.
 *
 * Call order of a controller: VISIT, (WELCOME), then ASK or SELECT ... SELECT SCHEDULE as often as
 * it likes, each answered by frames that end in an ANSWER.
 */
#ifndef OPTRACE_SCHEMA_WIRE_CONTROL_H
#define OPTRACE_SCHEMA_WIRE_CONTROL_H

#include "schema/wire/wire.h"

/* What a controller may make the daemon hold, and what the daemon tells of what it knows. */
enum {
    OT_WIRE_SELECTS_MAX = 64,         /* SELECT frames before one SCHEDULE */
    OT_WIRE_COMMANDS_MAX = 64,        /* commands that also hold for clients to come */
    OT_WIRE_REFUSALS_MAX = 32,        /* refusals that the daemon remembers */
    OT_WIRE_PAGE_SESSIONS = 128,      /* SESSION frames of one answer */
    OT_WIRE_PAGE_BYTES = 32 << 10,    /* it has no further SESSION once it is so long */
    OT_WIRE_REMARK_BYTES_MAX = 256,   /* a name or a reason in an answer */
    OT_WIRE_SUMMARY_BYTES_MAX = 1024, /* a path or a command line in an answer */
    OT_WIRE_VISIT_SECONDS = 60,       /* a controller that says nothing is cut off after this */
    OT_WIRE_SAVE_SECONDS = 600,       /* and one that has a copy of sessions */
};

/** No part of a plan is longer: runs, or ns (2.2 years). Sums of them do not overflow. */
#define OT_WIRE_PLAN_LENGTH_MAX (UINT64_C(1) << 56)

enum ot_wire_plan_unit {
    OT_UNIT_RUNS = 0, /* lengths count runs */
    OT_UNIT_NS = 1,   /* lengths are ns since start_ns */
};

enum ot_wire_plan_state {
    OT_PLAN_FREE = 0,   /* no schedule: the level alone rules */
    OT_PLAN_EARLY = 1,  /* start_ns is to come; until then all stays as it was */
    OT_PLAN_SKIP = 2,   /* in skip_first: nothing is recorded */
    OT_PLAN_WAIT = 3,   /* nothing is recorded */
    OT_PLAN_WARMUP = 4, /* recorded, runs are marked as warm-up */
    OT_PLAN_ACTIVE = 5, /* recorded */
    OT_PLAN_DONE = 6,   /* all cycles are over, or end_ns is: nothing is recorded */
};

/* When to record. With `active` 0 there is no schedule: `level` holds from start_ns to end_ns. */
struct ot_wire_plan {
    uint64_t command_id; /* the daemon's, growing; 0: the program's own plan */
    uint64_t start_ns;   /* CLOCK_REALTIME; not before this. 0: at once */
    uint64_t end_ns;     /* CLOCK_REALTIME; nothing is recorded from then on. 0: never */
    uint64_t skip_first; /* once, before the first cycle */
    uint64_t wait;       /* the three parts of a cycle */
    uint64_t warmup;
    uint64_t active;
    uint64_t repeat;   /* cycles; 0: for ever */
    uint64_t position; /* from the client: runs begun, or ns passed, under it */
    uint32_t level;    /* enum ot_wire_level, while it records */
    uint32_t unit;     /* enum ot_wire_plan_unit */
    uint32_t state;    /* from the client: enum ot_wire_plan_state */
    uint32_t reserved;
};

struct ot_wire_schedule {
    struct ot_wire_header header;
    struct ot_wire_plan plan;
};

struct ot_wire_visit {
    struct ot_wire_header header;
    uint32_t magic; /* OT_WIRE_MAGIC */
    uint16_t version_major;
    uint16_t version_minor;
    uint64_t features; /* enum ot_wire_feature */
};

enum ot_wire_select_kind {
    OT_SELECT_PID = 1,     /* the process of this id, as the daemon sees it */
    OT_SELECT_SESSION = 2, /* the session of this number */
    OT_SELECT_PROGRAM = 3, /* programs of this name, also those to come */
};

struct ot_wire_select {
    struct ot_wire_header header;
    uint32_t kind; /* enum ot_wire_select_kind */
    uint32_t text_bytes;
    uint64_t number; /* pid or session; then the name */
};

struct ot_wire_ask {
    struct ot_wire_header header;
    uint64_t first_session; /* 0: begin with STATUS and REFUSAL; else next_session of an ANSWER */
};

struct ot_wire_status {
    struct ot_wire_header header;
    uint64_t now_ns;     /* CLOCK_REALTIME, here and below */
    uint64_t started_ns; /* since when the daemon runs */
    uint64_t store_bytes;
    uint64_t refusal_count; /* since it started */
    uint32_t pid;
    uint32_t uid;
    uint32_t level;         /* of clients that connect now and that no command is about by name */
    uint32_t session_count; /* that the controller may see */
    uint16_t version_bytes; /* then the texts, in this order, then zeros */
    uint16_t host_bytes;
    uint16_t store_path_bytes;
    uint16_t hidden_count; /* sessions of other users, which are not shown; 65535: or more */
};

enum ot_wire_session_flag {
    OT_SESSION_CONNECTED = 1u << 0, /* else its connection broke, and may come back */
    OT_SESSION_CONTROL = 1u << 1,   /* obeys levels */
    OT_SESSION_SCHEDULE = 1u << 2,  /* obeys schedules */
    OT_SESSION_OBEYS = 1u << 3,     /* has taken up what was commanded, if anything */
};

struct ot_wire_session {
    struct ot_wire_header header;
    uint64_t session_id;
    uint64_t started_ns;
    uint64_t event_count; /* records taken since the daemon started */
    uint64_t lost_count;  /* records lost since then */
    uint64_t open_count;  /* spans begun and not ended */
    uint32_t pid;         /* as the kernel says */
    uint32_t uid;
    uint32_t level; /* what it records now */
    uint32_t flags; /* enum ot_wire_session_flag */
    struct ot_wire_plan plan;
    uint16_t program_bytes; /* then the texts, in this order, then zeros */
    uint16_t command_bytes;
    uint32_t reserved;
};

struct ot_wire_refusal {
    struct ot_wire_header header;
    uint64_t time_ns;
    uint32_t pid;
    uint32_t uid;
    uint32_t text_bytes; /* why; then zeros */
    uint32_t reserved;
};

enum ot_wire_answer_status {
    OT_ANSWER_OK = 0,
    OT_ANSWER_NOBODY = 1, /* no session matches; nothing has changed */
    OT_ANSWER_FULL = 2,   /* too many commands for clients to come; nothing has changed */
    OT_ANSWER_DENIED = 3, /* sessions of other users are chosen; nothing has changed */
};

struct ot_wire_answer {
    struct ot_wire_header header;
    uint64_t command_id;   /* of the SCHEDULE; 0 after ASK */
    uint64_t next_session; /* more to ASK for; 0: that was all */
    uint32_t status;       /* enum ot_wire_answer_status */
    uint32_t taken_count;  /* sessions that the command is for: their numbers follow as u64, */
    uint32_t unable_count; /* and then of those which match and cannot obey it */
    uint32_t reserved;
};

/* Since 1.2. */
struct ot_wire_health {
    struct ot_wire_header header;
    uint64_t longest_pause_ns;    /* the daemon's loop did not come round for so long, at most */
    uint64_t longest_pause_at_ns; /* CLOCK_REALTIME when that ended; 0: nothing measured yet */
    uint64_t writer_ns;           /* the writer is at one try to commit since; 0: it waits */
    uint64_t watchdog_ns;         /* the service manager restarts it after so long; 0: never */
};

/* Since 1.3. */
struct ot_wire_usage {
    struct ot_wire_header header;
    uint64_t budget_bytes;  /* of the store; 0: none */
    uint64_t room_bytes;    /* until the oldest events go; UINT64_MAX: not known */
    uint64_t growth_bytes;  /* how much larger the store became in ... */
    uint64_t growth_ns;     /* ... this time; 0: not known yet */
    uint64_t cpu_ns;        /* of the daemon's threads in ... */
    uint64_t cpu_window_ns; /* ... this time; 0: not known yet */
};

struct ot_wire_pace {
    struct ot_wire_header header;
    uint64_t session_id;  /* of the SESSION before it */
    uint64_t window_ns;   /* what is counted below is of the last so many ns; 0: not known yet */
    uint64_t event_count; /* records taken */
    uint64_t run_count;   /* runs among them */
    uint64_t run_p50_ns;  /* median of the last runs that are no warm-ups */
    uint32_t run_sample_count; /* so many of them; 0: there was none */
    uint32_t reserved;
};

struct ot_wire_save {
    struct ot_wire_header header;
    uint64_t since_ns; /* CLOCK_REALTIME: not the sessions that ended before; 0: all */
};

enum ot_wire_save_state {
    OT_SAVE_DONE = 0,     /* the copy's file descriptor comes with the frame */
    OT_SAVE_UNDERWAY = 1, /* more frames come */
    OT_SAVE_FAILED = 2,   /* the text says why */
};

struct ot_wire_saved {
    struct ot_wire_header header;
    uint64_t bytes;         /* of the copy, so far */
    uint32_t session_count; /* in it, when it is done */
    uint32_t state;         /* enum ot_wire_save_state */
    int32_t error;          /* negative errno when it failed, else 0 */
    uint32_t text_bytes;    /* why; then zeros */
};

static_assert(sizeof(struct ot_wire_plan) == 88, "plan");
static_assert(sizeof(struct ot_wire_health) == 40, "health");
static_assert(sizeof(struct ot_wire_usage) == 56, "usage");
static_assert(sizeof(struct ot_wire_pace) == 56, "pace");

/** The header of a SCHEDULE goes with it. */
static inline struct ot_wire_schedule ot_wire_schedule(const struct ot_wire_plan *plan)
{
    return (struct ot_wire_schedule){
        .header = {.length = sizeof(struct ot_wire_schedule), .type = OT_FRAME_SCHEDULE},
        .plan = *plan};
}

/** Whether a plan has a schedule. */
static inline bool ot_plan_has_schedule(const struct ot_wire_plan *plan)
{
    return plan->active > 0;
}

/** Where a position in a plan lies. */
struct ot_plan_place {
    uint32_t state; /* FREE, SKIP, WAIT, WARMUP, ACTIVE or DONE */
    uint32_t reserved;
    uint64_t cycle; /* from 0 */
    uint64_t left;  /* positions from this one on that are in the same state; UINT64_MAX: all */
};

/** What to do at `position`, counted from 0: the run of that number, or that many ns after the
 *  start. Times of start and end are the caller's business. */
struct ot_plan_place ot_plan_at(const struct ot_wire_plan *plan, uint64_t position);

/** Whether a plan in this state records. */
static inline bool ot_plan_records(uint32_t state)
{
    return state == OT_PLAN_FREE || state == OT_PLAN_WARMUP || state == OT_PLAN_ACTIVE;
}

/** Names for people: "free", "early", "skip", "wait", "warm-up", "active", "done". */
const char *ot_plan_state_name(uint32_t state);

/** Names of levels: "off", "on", "detail". */
const char *ot_wire_level_name(uint32_t level);

/* --- Encoders and decoders: as those of schema/wire/wire.h --- */

struct ot_wire_status_texts {
    struct ot_text version;
    struct ot_text host;
    struct ot_text store_path;
};

struct ot_wire_session_texts {
    struct ot_text program;
    struct ot_text command;
};

struct ot_wire_select_view {
    struct ot_wire_select fixed;
    struct ot_text text;
};

struct ot_wire_status_view {
    struct ot_wire_status fixed;
    struct ot_wire_status_texts texts;
};

struct ot_wire_session_view {
    struct ot_wire_session fixed;
    struct ot_wire_session_texts texts;
};

struct ot_wire_refusal_view {
    struct ot_wire_refusal fixed;
    struct ot_text text;
};

struct ot_wire_answer_view {
    struct ot_wire_answer fixed;
    const uint8_t *ids; /* for ot_wire_answer_id() */
};

struct ot_wire_saved_view {
    struct ot_wire_saved fixed;
    struct ot_text text;
};

int ot_wire_encode_select(const struct ot_wire_select *select, struct ot_text text, void *out,
                          size_t capacity);
int ot_wire_encode_status(const struct ot_wire_status *status,
                          const struct ot_wire_status_texts *texts, void *out, size_t capacity);
int ot_wire_encode_session(const struct ot_wire_session *session,
                           const struct ot_wire_session_texts *texts, void *out, size_t capacity);
int ot_wire_encode_refusal(const struct ot_wire_refusal *refusal, struct ot_text text, void *out,
                           size_t capacity);

/** ids  answer->taken_count + answer->unable_count of them */
int ot_wire_encode_answer(const struct ot_wire_answer *answer, const uint64_t *ids, void *out,
                          size_t capacity);

int ot_wire_encode_saved(const struct ot_wire_saved *saved, struct ot_text text, void *out,
                         size_t capacity);
int ot_wire_decode_save(const void *frame, size_t length, struct ot_wire_save *out_save,
                        struct diag *diag);
int ot_wire_decode_saved(const void *frame, size_t length, struct ot_wire_saved_view *out_saved,
                         struct diag *diag);
int ot_wire_decode_schedule(const void *frame, size_t length, struct ot_wire_schedule *out_schedule,
                            struct diag *diag);

/** Returns -EPROTONOSUPPORT when it is a VISIT of another major version. */
int ot_wire_decode_visit(const void *frame, size_t length, struct ot_wire_visit *out_visit,
                         struct diag *diag);
int ot_wire_decode_select(const void *frame, size_t length, struct ot_wire_select_view *out_select,
                          struct diag *diag);
int ot_wire_decode_ask(const void *frame, size_t length, struct ot_wire_ask *out_ask,
                       struct diag *diag);
int ot_wire_decode_status(const void *frame, size_t length, struct ot_wire_status_view *out_status,
                          struct diag *diag);
int ot_wire_decode_session(const void *frame, size_t length,
                           struct ot_wire_session_view *out_session, struct diag *diag);
int ot_wire_decode_refusal(const void *frame, size_t length,
                           struct ot_wire_refusal_view *out_refusal, struct diag *diag);
int ot_wire_decode_answer(const void *frame, size_t length, struct ot_wire_answer_view *out_answer,
                          struct diag *diag);

int ot_wire_decode_usage(const void *frame, size_t length, struct ot_wire_usage *out_usage,
                         struct diag *diag);
int ot_wire_decode_pace(const void *frame, size_t length, struct ot_wire_pace *out_pace,
                        struct diag *diag);
int ot_wire_decode_health(const void *frame, size_t length, struct ot_wire_health *out_health,
                          struct diag *diag);

/** Number `index` of those that follow an ANSWER: first the taken, then the unable ones. */
static inline uint64_t ot_wire_answer_id(const struct ot_wire_answer_view *answer, uint32_t index)
{
    uint64_t id;

    memcpy(&id, answer->ids + (size_t)index * sizeof(id), sizeof(id));
    return id;
}

/** Check a plan that came some other way than in a frame. For tests. */
int ot_plan_check(const struct ot_wire_plan *plan, struct diag *diag);

#endif
