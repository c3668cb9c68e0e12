/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from ticks to time: adding one per CLOCK frame, finding the one that a tick belongs to. */
#include "daemon/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "schema/wire.h"

static const double RATE_MIN = 1e9 / 1e11; /* ns per tick: no counter runs faster than 100 GHz */
static const double RATE_MAX = 1e9 / 1e6;  /* nor, to be of use, slower than 1 MHz */

static const double SECOND_NS = 1e9;
static const double BASE_AGE_NS = 10e9;      /* long enough for a rate of 1e-8 */
static const double BASE_AGE_MIN_NS = 0.1e9; /* too short for any rate */
static const double RATE_TOLERANCE = 0.05;   /* a client's first guess may be this bad */
static const double SLOPE_TOLERANCE = 0.01;  /* a duration is wrong by this at most, when the
                                                clock was set */
static const double ERROR_TOLERANCE_NS = 500;

static const uint64_t REALTIME_NS_MIN = UINT64_C(946684800000000000);  /* the year 2000 */
static const uint64_t REALTIME_NS_MAX = UINT64_C(7258118400000000000); /* the year 2200 */
static const double PAST_NS = 30 * 86400e9; /* a span may have begun a month before HELLO */
static const double FUTURE_NS = 60e9;

static bool is_realtime(uint64_t ns)
{
    return ns >= REALTIME_NS_MIN && ns <= REALTIME_NS_MAX;
}

int tick_clock_init(struct tick_clock *clock, uint32_t kind, uint64_t ticks_per_s,
                    const struct ot_clock_triple *triple, uint64_t now_ns, struct diag *diag)
{
    double rate = kind == OT_CLOCK_MONOTONIC ? 1 : SECOND_NS / (double)ticks_per_s;

    if (!(rate >= RATE_MIN && rate <= RATE_MAX))
        return diag_set(diag, -EPROTO, "a clock of %llu ticks per second",
                        (unsigned long long)ticks_per_s);
    if (!is_realtime(triple->realtime_ns))
        return diag_set(diag, -EPROTO, "a clock that says %llu ns since 1970",
                        (unsigned long long)triple->realtime_ns);
    if (triple->ticks > OT_WIRE_TIME_MAX / 2)
        return diag_set(diag, -EPROTO, "a clock that stands at %llu ticks",
                        (unsigned long long)triple->ticks);
    memset(clock, 0, sizeof(*clock));
    clock->kind = kind;
    clock->rate = rate;
    clock->heard_ns = now_ns;
    clock->latest = clock->base = clock->between = *triple;
    clock->knots[0] = (struct tick_knot){triple->ticks, (int64_t)triple->realtime_ns, rate, false};
    clock->knot_count = 1;
    tick_clock_set_now(clock, now_ns);
    return 0;
}

void tick_clock_set_now(struct tick_clock *clock, uint64_t now_ns)
{
    double past = PAST_NS / clock->rate;
    double ahead = ((double)(now_ns - clock->heard_ns) + FUTURE_NS) / clock->rate;
    uint64_t first = clock->knots[0].ticks;

    clock->ticks_min = (double)first > past ? first - (uint64_t)past : 0;
    clock->ticks_max = clock->latest.ticks + (uint64_t)ahead;
    if (clock->ticks_max > OT_WIRE_TIME_MAX)
        clock->ticks_max = OT_WIRE_TIME_MAX;
}

/* Value of line `index` at `ticks`, which may lie before its start or beyond its end. */
static int64_t line_ns(const struct tick_clock *clock, uint32_t index, uint64_t ticks)
{
    const struct tick_knot *knot = &clock->knots[index];

    return knot->ns + (int64_t)((double)(int64_t)(ticks - knot->ticks) * knot->slope);
}

int64_t tick_clock_past_ns(const struct tick_clock *clock, uint64_t ticks)
{
    uint32_t low = 0, high = clock->knot_count - 1;
    int64_t ns;

    while (low < high) { /* the last line that starts at or before `ticks`, else the first */
        uint32_t middle = (low + high + 1) / 2;

        if (clock->knots[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    ns = line_ns(clock, low, ticks);
    if (low + 1 < clock->knot_count && ns > clock->knots[low + 1].ns)
        ns = clock->knots[low + 1].ns; /* a chord of thin_knots() may round up */
    return ns;
}

/* Make room: every second line of the older half goes, its neighbour becomes the chord over both.
 * That moves what was converted long ago by the bend between the two lines, nanoseconds in
 * practice. Jumps stay. */
static void thin_knots(struct tick_clock *clock)
{
    uint32_t half = clock->knot_count / 2, kept = 1;

    for (uint32_t i = 1; i < clock->knot_count; i++) {
        const struct tick_knot *next = &clock->knots[i + 1];
        struct tick_knot *before = &clock->knots[kept - 1];

        if (i < half && i % 2 == 1 && !clock->knots[i].jump && !next->jump)
            before->slope =
                (double)(next->ns - before->ns) / (double)(int64_t)(next->ticks - before->ticks);
        else
            clock->knots[kept++] = clock->knots[i];
    }
    if (kept == clock->knot_count) { /* nothing but jumps: forget the oldest */
        kept--;
        memmove(clock->knots, clock->knots + 1, kept * sizeof(clock->knots[0]));
    }
    clock->knot_count = kept;
}

static void add_knot(struct tick_clock *clock, struct tick_knot knot)
{
    struct tick_knot *last = &clock->knots[clock->knot_count - 1];

    if (last->ticks == knot.ticks) {
        knot.jump |= last->jump;
        *last = knot;
        return;
    }
    if (clock->knot_count == TICK_CLOCK_KNOTS_MAX)
        thin_knots(clock);
    clock->knots[clock->knot_count++] = knot;
}

/* While the machine is suspended, the counter may go on and CLOCK_MONOTONIC stands. */
static bool has_slept(const struct tick_clock *clock, const struct ot_clock_triple *triple)
{
    double elapsed_ns = (double)(int64_t)(triple->realtime_ns - clock->latest.realtime_ns);
    double rate = elapsed_ns / (double)(triple->ticks - clock->latest.ticks);

    return fabs(rate / clock->rate - 1) <= RATE_TOLERANCE;
}

/* Rate of the true clock, from the base to `triple`. Returns false when it is implausible. */
static bool measure_rate(struct tick_clock *clock, const struct ot_clock_triple *triple)
{
    double elapsed_ns = (double)(triple->monotonic_ns - clock->base.monotonic_ns);
    double rate = elapsed_ns / (double)(triple->ticks - clock->base.ticks);

    if (fabs(rate / clock->rate - 1) > RATE_TOLERANCE) {
        if (!has_slept(clock, triple))
            return false;
        clock->base = clock->between = *triple;
        return true;
    }
    if (clock->kind == OT_CLOCK_MONOTONIC || elapsed_ns < BASE_AGE_MIN_NS)
        return true; /* two readings close together say little */
    clock->rate = rate;
    if ((double)(triple->monotonic_ns - clock->between.monotonic_ns) > BASE_AGE_NS) {
        clock->base = clock->between;
        clock->between = *triple;
    }
    return true;
}

bool tick_clock_update(struct tick_clock *clock, const struct ot_clock_triple *triple,
                       uint64_t now_ns)
{
    struct tick_knot *last = &clock->knots[clock->knot_count - 1];
    struct tick_knot knot = {.ticks = triple->ticks};
    double error_ns, slope_limit;

    tick_clock_set_now(clock, now_ns);
    if (triple->ticks <= clock->latest.ticks || triple->ticks > clock->ticks_max ||
        triple->monotonic_ns <= clock->latest.monotonic_ns || !is_realtime(triple->realtime_ns) ||
        !measure_rate(clock, triple))
        return false;
    clock->latest = *triple;
    clock->heard_ns = now_ns;
    if (knot.ticks < clock->converted)
        knot.ticks = clock->converted;
    if (knot.ticks < last->ticks)
        knot.ticks = last->ticks;
    knot.ns = line_ns(clock, clock->knot_count - 1, knot.ticks);
    error_ns = (double)((int64_t)triple->realtime_ns - knot.ns) +
               (double)(knot.ticks - triple->ticks) * clock->rate;
    if (fabs(error_ns) < ERROR_TOLERANCE_NS &&
        fabs(error_ns + (clock->rate - last->slope) / clock->rate * SECOND_NS) <
            2 * ERROR_TOLERANCE_NS)
        return true; /* the line that stands is good enough */
    if (error_ns > SECOND_NS) {
        knot.jump = true;
        knot.ns += (int64_t)error_ns;
        error_ns = 0;
    }
    slope_limit = clock->rate * SLOPE_TOLERANCE;
    knot.slope =
        clock->rate + fmax(-slope_limit, fmin(slope_limit, error_ns / SECOND_NS * clock->rate));
    add_knot(clock, knot);
    return true;
}

/* --- Saved state: a header, three triples, the last lines. Only the same machine reads it. --- */

struct saved_header {
    uint32_t version;
    uint32_t kind;
    uint32_t knot_count;
    uint32_t reserved;
    double rate;
    uint64_t converted;
};

struct saved_knot {
    uint64_t ticks;
    int64_t ns;
    double slope;
    uint64_t jump;
};

static_assert(sizeof(struct saved_header) + 3 * sizeof(struct ot_clock_triple) +
                      TICK_CLOCK_KNOTS_SAVED * sizeof(struct saved_knot) ==
                  TICK_CLOCK_SAVED_BYTES,
              "saved state");

size_t tick_clock_save(const struct tick_clock *clock, uint8_t out[TICK_CLOCK_SAVED_BYTES])
{
    const struct ot_clock_triple triples[3] = {clock->latest, clock->base, clock->between};
    struct saved_header header = {.version = 1,
                                  .kind = clock->kind,
                                  .rate = clock->rate,
                                  .converted = clock->converted,
                                  .knot_count = clock->knot_count};
    uint8_t *at = out;

    if (header.knot_count > TICK_CLOCK_KNOTS_SAVED)
        header.knot_count = TICK_CLOCK_KNOTS_SAVED;
    memcpy(at, &header, sizeof(header));
    at += sizeof(header);
    memcpy(at, triples, sizeof(triples));
    at += sizeof(triples);
    for (uint32_t i = clock->knot_count - header.knot_count; i < clock->knot_count; i++) {
        const struct tick_knot *knot = &clock->knots[i];
        struct saved_knot saved = {knot->ticks, knot->ns, knot->slope, knot->jump};

        memcpy(at, &saved, sizeof(saved));
        at += sizeof(saved);
    }
    return (size_t)(at - out);
}

/* Times run forwards, slopes are those of a clock. */
static bool knot_is_sound(const struct tick_clock *clock, uint32_t index)
{
    const struct tick_knot *knot = &clock->knots[index];

    if (!(knot->slope >= RATE_MIN / 2 && knot->slope <= RATE_MAX * 2) ||
        knot->ticks > OT_WIRE_TIME_MAX || knot->ns < 0)
        return false;
    return index == 0 || (knot[-1].ticks < knot->ticks && knot[-1].ns <= knot->ns);
}

int tick_clock_restore(struct tick_clock *clock, const void *bytes, size_t length, uint64_t now_ns)
{
    const uint8_t *at = bytes;
    struct ot_clock_triple triples[3];
    struct saved_header header;

    if (length < sizeof(header) + sizeof(triples))
        return -EINVAL;
    memcpy(&header, at, sizeof(header));
    at += sizeof(header);
    memcpy(triples, at, sizeof(triples));
    at += sizeof(triples);
    if (header.version != 1 || header.knot_count < 1 ||
        header.knot_count > TICK_CLOCK_KNOTS_SAVED || header.kind > OT_CLOCK_TSC ||
        !(header.rate >= RATE_MIN && header.rate <= RATE_MAX) ||
        header.converted > OT_WIRE_TIME_MAX ||
        length != sizeof(header) + sizeof(triples) + header.knot_count * sizeof(struct saved_knot))
        return -EINVAL;
    memset(clock, 0, sizeof(*clock));
    clock->kind = header.kind;
    clock->rate = header.rate;
    clock->converted = header.converted;
    clock->latest = triples[0];
    clock->base = triples[1];
    clock->between = triples[2];
    clock->heard_ns = now_ns;
    clock->knot_count = header.knot_count;
    for (uint32_t i = 0; i < header.knot_count; i++) {
        struct saved_knot saved;

        memcpy(&saved, at, sizeof(saved));
        at += sizeof(saved);
        clock->knots[i] = (struct tick_knot){saved.ticks, saved.ns, saved.slope, saved.jump != 0};
        if (!knot_is_sound(clock, i))
            return -EINVAL;
    }
    tick_clock_set_now(clock, now_ns);
    return 0;
}
