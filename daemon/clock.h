/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a session's ticks to nanoseconds of CLOCK_REALTIME.
 *
 * The conversion is a chain of straight lines, each starting where the one before it has arrived.
 * Each CLOCK frame may add a line whose slope leads to the true time within about a second. What
 * was converted once is never converted otherwise later, and time never runs backwards: what
 * contains another span in ticks contains it in nanoseconds. Only an error of more than a second
 * forwards (somebody set the clock) makes it jump; a clock that was set back is followed at 1 %.
 *
 * The counter itself may jump: a virtual machine moves to another host, or sleeps and begins anew,
 * or goes on at another rate. Then a CLOCK frame contradicts what was heard before, and the next
 * one bears it out. From there on the conversion begins anew, at the first of the two; what was
 * recorded before the jump and comes within a minute is converted as before, and what cannot be
 * told to lie on either side is refused. Jumps of less than 10 ms in a second are followed as
 * drift.
 *
 * One thread. Nothing here reads a clock or fails on what a peer sends: nonsense is refused or
 * ignored.
 */
#ifndef OPTRACE_DAEMON_CLOCK_H
#define OPTRACE_DAEMON_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/diag.h"

enum {
    TICK_CLOCK_KNOTS_MAX = 8192, /* lines kept for starts in the past: hours, usually days */
    TICK_CLOCK_KNOTS_SAVED = 32, /* of them, in the store */
};

/* A line: from `ticks` on, ns + (t - ticks) * slope. */
struct tick_knot {
    uint64_t ticks;
    int64_t ns;
    double slope; /* ns per tick */
};

/* Before the counter jumped. */
struct tick_past {
    ARRAY_OF(struct tick_knot) knots;
    uint64_t ticks_min, ticks_max;
    uint64_t until_ns; /* the daemon's CLOCK_BOOTTIME: nothing of then comes any more; 0: none */
};

/* What tick_clock_update() made of a triple. */
enum tick_update {
    TICK_IGNORED = 0, /* too soon, from the future, or a rate that nothing has */
    TICK_TAKEN,
    TICK_SUSPECT, /* it contradicts what was heard so far; the next one decides */
    TICK_JUMPED,  /* it bears out the suspect: the counter has jumped */
};

struct tick_clock {
    uint32_t kind;      /* enum ot_wire_clock_kind */
    double rate;        /* ns per tick of the true clock, best estimate */
    uint64_t converted; /* the latest ticks that were converted */
    uint64_t ticks_min; /* outside of these two, ticks are nonsense */
    uint64_t ticks_max;
    uint64_t heard_ns;              /* the daemon's CLOCK_BOOTTIME at the latest triple */
    struct ot_clock_triple latest;  /* the latest triple */
    struct ot_clock_triple base;    /* an older one, to measure the rate against */
    struct ot_clock_triple between; /* the next base */
    ARRAY_OF(struct tick_knot) knots;
    bool has_suspect;
    struct ot_clock_triple suspect; /* the latest triple that contradicts `latest` */
    double suspect_rate;            /* as far as it is known */
    uint64_t suspect_ns;            /* the daemon's CLOCK_BOOTTIME when it was heard */
    uint64_t first_ticks;           /* the counter has jumped, to here or beyond; 0: never */
    int64_t jump_ns;                /* how far, the latest time */
    uint64_t jump_count;
    struct tick_past past;
};

/**
 * Start with the triple of HELLO.
 *
 * kind         enum ot_wire_clock_kind
 * ticks_per_s  what the client thinks, or for OT_CLOCK_TSC what the daemon measured; ignored for
 *              OT_CLOCK_MONOTONIC
 * now_ns       the daemon's CLOCK_BOOTTIME, here and below
 *
 * Returns 0; then tick_clock_deinit() is due. -EPROTO with the reason: a rate or a time that no
 * machine has.
 */
int tick_clock_init(struct tick_clock *clock, uint32_t kind, uint64_t ticks_per_s,
                    const struct ot_clock_triple *triple, uint64_t now_ns, struct diag *diag);

/** Frees the lines. A zeroed one is allowed. */
void tick_clock_deinit(struct tick_clock *clock);

/** Take a CLOCK frame. */
enum tick_update tick_clock_update(struct tick_clock *clock, const struct ot_clock_triple *triple,
                                   uint64_t now_ns);

/** Set the range of ticks that are plausible at `now_ns`: up to a minute ahead of the client's
 *  clock, to tolerate CLOCK frames that were on their way for long. Call it before a batch of
 *  conversions. */
void tick_clock_set_now(struct tick_clock *clock, uint64_t now_ns);

static inline bool tick_clock_is_plausible(const struct tick_clock *clock, uint64_t ticks)
{
    return ticks >= clock->ticks_min && ticks <= clock->ticks_max;
}

/** For ticks that are not plausible: whether they are of before a jump, and when that was. */
bool tick_clock_before_jump_ns(const struct tick_clock *clock, uint64_t ticks, int64_t *out_ns);

/** Whether ticks that are not plausible may be so because the counter jumped. */
static inline bool tick_clock_is_in_doubt(const struct tick_clock *clock)
{
    return clock->has_suspect || clock->first_ticks > 0;
}

/** Used by tick_clock_look_ns() for ticks before the last line, where there are others. */
int64_t tick_clock_past_ns(const struct tick_clock *clock, uint64_t ticks);

/** Convert, without note that these ticks were converted: call tick_clock_note() with the latest of
 * a record. ticks must be plausible. */
static inline int64_t tick_clock_look_ns(const struct tick_clock *clock, uint64_t ticks)
{
    const struct tick_knot *knot = &clock->knots.items[clock->knots.count - 1];

    if (ticks < knot->ticks && clock->knots.count > 1)
        return tick_clock_past_ns(clock, ticks);
    return knot->ns + (int64_t)((double)(int64_t)(ticks - knot->ticks) * knot->slope);
}

/* What nearly all ticks are converted by: the last line, from min to max. */
struct tick_line {
    uint64_t min, max, ticks;
    int64_t ns;
    double slope;
};

static inline struct tick_line tick_clock_last_line(const struct tick_clock *clock)
{
    const struct tick_knot *knot = &clock->knots.items[clock->knots.count - 1];
    const bool has_others = clock->knots.count > 1 && knot->ticks > clock->ticks_min;

    return (struct tick_line){has_others ? knot->ticks : clock->ticks_min, clock->ticks_max,
                              knot->ticks, knot->ns, knot->slope};
}

/** As tick_clock_look_ns() while the clock is as it was, for ticks from min to max. */
static inline int64_t tick_line_ns(const struct tick_line *line, uint64_t ticks)
{
    return line->ns + (int64_t)((double)(int64_t)(ticks - line->ticks) * line->slope);
}

/** All that was converted so far is not later than these ticks, or than others that were noted: a
 *  new line starts behind them. */
static inline void tick_clock_note(struct tick_clock *clock, uint64_t ticks)
{
    if (ticks > clock->converted)
        clock->converted = ticks;
}

/** Convert and note; ticks must be plausible. */
static inline int64_t tick_clock_ns(struct tick_clock *clock, uint64_t ticks)
{
    tick_clock_note(clock, ticks);
    return tick_clock_look_ns(clock, ticks);
}

/* The state that a restarted daemon goes on with, for ingest_cursor.clock. */
enum { TICK_CLOCK_SAVED_BYTES = 32 + 3 * 24 + TICK_CLOCK_KNOTS_SAVED * 24 };

/** Write the state. Returns its length, at most TICK_CLOCK_SAVED_BYTES. */
size_t tick_clock_save(const struct tick_clock *clock, uint8_t out[TICK_CLOCK_SAVED_BYTES]);

/** Restore a state that tick_clock_save() wrote, into a zeroed clock. Returns 0, or -EINVAL when it
 *  is not one; give it up with tick_clock_deinit() then too. */
int tick_clock_restore(struct tick_clock *clock, const void *bytes, size_t length, uint64_t now_ns);

#endif
