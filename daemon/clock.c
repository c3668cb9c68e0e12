/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from ticks to time: adding one per CLOCK frame, finding the one that a tick belongs to. */
#include "daemon/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/memory.h"
#include "schema/wire/wire.h"

static const double RATE_MIN = 1e9 / 1e11; /* ns per tick: no counter runs faster than 100 GHz */
static const double RATE_MAX = 1e9 / 1e6;  /* nor, to be of use, slower than 1 MHz */

static const double SECOND_NS = 1e9;
static const double BASE_AGE_NS = 10e9;      /* long enough for a rate of 1e-8 */
static const double BASE_AGE_MIN_NS = 0.1e9; /* too short for any rate */
static const double RATE_TOLERANCE = 0.05;   /* a client's first guess may be this bad */
static const double SLOPE_TOLERANCE = 0.01;  /* a duration is wrong by this at most, when the
                                                clock was set */
static const double ERROR_TOLERANCE_NS = 500;
static const uint64_t UPDATE_NS_MIN = 1000000; /* more often is of no use */

static const uint64_t REALTIME_NS_MIN = UINT64_C(946684800000000000);  /* the year 2000 */
static const uint64_t REALTIME_NS_MAX = UINT64_C(7258118400000000000); /* the year 2200 */
static const double PAST_NS = 30 * 86400e9; /* a span may have begun a month before HELLO */
static const double FUTURE_NS = 60e9;

static const double JUMP_NS = 10e6;         /* a smaller one is taken for drift */
static const double JUMP_TOLERANCE = 0.001; /* of the time between, once the rate is known */
static const double JUMP_FUTURE_NS = 0.1e9; /* of FUTURE_NS, while both sides of a jump may come */
static const double JUMP_PAST_NS = 60e9;    /* before a jump, for how long */
static const uint64_t JUMP_AGE_NS = UINT64_C(60000000000); /* after it, for how long */

static bool is_realtime(uint64_t ns)
{
    return ns >= REALTIME_NS_MIN && ns <= REALTIME_NS_MAX;
}

int tick_clock_init(struct tick_clock *clock, uint32_t kind, uint64_t ticks_per_s,
                    const struct ot_clock_triple *triple, uint64_t now_ns, struct diag *diag)
{
    double rate = kind == OT_CLOCK_MONOTONIC ? 1 : SECOND_NS / (double)ticks_per_s;
    struct tick_knot first = {triple->ticks, (int64_t)triple->realtime_ns, rate};

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
    memory_must(array_push(&clock->knots, first));
    tick_clock_set_now(clock, now_ns);
    return 0;
}

void tick_clock_deinit(struct tick_clock *clock)
{
    array_deinit(&clock->knots);
    array_deinit(&clock->past.knots);
}

void tick_clock_set_now(struct tick_clock *clock, uint64_t now_ns)
{
    double past = PAST_NS / clock->rate;
    /* The loop's time may lie before the moment at which the clock was heard. */
    uint64_t since_ns = now_ns > clock->heard_ns ? now_ns - clock->heard_ns : 0;
    const bool is_mixed = clock->past.until_ns > 0 && now_ns < clock->past.until_ns;
    double ahead = ((double)since_ns + (is_mixed ? JUMP_FUTURE_NS : FUTURE_NS)) / clock->rate;
    uint64_t first = clock->knots.items[0].ticks;

    if (!is_mixed)
        clock->past.until_ns = 0;
    clock->ticks_min = (double)first > past ? first - (uint64_t)past : 0;
    if (clock->ticks_min < clock->first_ticks)
        clock->ticks_min = clock->first_ticks;
    clock->ticks_max = clock->latest.ticks + (uint64_t)ahead;
    if (clock->ticks_max > OT_WIRE_TIME_MAX)
        clock->ticks_max = OT_WIRE_TIME_MAX;
}

/* The last of the lines that starts at or before `ticks`, else the first. */
static size_t find_line(const struct tick_knot *knots, size_t count, uint64_t ticks)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        size_t middle = (low + high + 1) / 2;

        if (knots[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Value of line `index` at `ticks`, which may lie before its start or beyond its end. */
static int64_t line_ns(const struct tick_clock *clock, size_t index, uint64_t ticks)
{
    const struct tick_knot *knot = &clock->knots.items[index];

    return knot->ns + (int64_t)((double)(int64_t)(ticks - knot->ticks) * knot->slope);
}

int64_t tick_clock_past_ns(const struct tick_clock *clock, uint64_t ticks)
{
    size_t low = find_line(clock->knots.items, clock->knots.count, ticks);
    int64_t ns = line_ns(clock, low, ticks);

    if (low + 1 < clock->knots.count && ns > clock->knots.items[low + 1].ns)
        ns = clock->knots.items[low + 1].ns; /* rounding */
    return ns;
}

bool tick_clock_before_jump_ns(const struct tick_clock *clock, uint64_t ticks, int64_t *out_ns)
{
    const struct tick_past *past = &clock->past;
    const struct tick_knot *knot;

    if (past->until_ns == 0 || ticks < past->ticks_min || ticks > past->ticks_max)
        return false;
    knot = &past->knots.items[find_line(past->knots.items, past->knots.count, ticks)];
    *out_ns = knot->ns + (int64_t)((double)(int64_t)(ticks - knot->ticks) * knot->slope);
    return true;
}

/* The slope of a line that replaces lines `index` and `index + 1`, and is nowhere above them: times
 * that are converted late, the starts of long spans, move back by nanoseconds and thus still
 * contain what was converted early. */
static double lower_slope(const struct tick_clock *clock, size_t index)
{
    const struct tick_knot *first = &clock->knots.items[index], *end = first + 2;
    int64_t end_ns = line_ns(clock, index + 1, end->ticks);
    double chord;

    if (end_ns > end->ns)
        end_ns = end->ns;
    chord = (double)(end_ns - 2 - first->ns) / (double)(int64_t)(end->ticks - first->ticks);
    return fmin(first->slope, chord);
}

/* Make room: every second line of the older half goes. */
static void thin_knots(struct tick_clock *clock)
{
    size_t half = clock->knots.count / 2, kept = 0;

    for (size_t i = 0; i < clock->knots.count; i++) {
        struct tick_knot knot = clock->knots.items[i];

        if (i + 2 < half && i % 2 == 0) {
            knot.slope = lower_slope(clock, i);
            i++;
        }
        clock->knots.items[kept++] = knot;
    }
    clock->knots.count = kept;
}

static void add_knot(struct tick_clock *clock, struct tick_knot knot)
{
    struct tick_knot *last = &clock->knots.items[clock->knots.count - 1];

    if (last->ticks == knot.ticks) {
        *last = knot;
        return;
    }
    if (clock->knots.count == TICK_CLOCK_KNOTS_MAX)
        thin_knots(clock);
    memory_must(array_push(&clock->knots, knot));
}

/* Rate of the true clock, from the base to `triple`; the machine did not sleep in between. */
static void measure_rate(struct tick_clock *clock, const struct ot_clock_triple *triple)
{
    double elapsed_ns = (double)(triple->monotonic_ns - clock->base.monotonic_ns);
    double rate = elapsed_ns / (double)(triple->ticks - clock->base.ticks);

    if (clock->kind == OT_CLOCK_MONOTONIC || elapsed_ns < BASE_AGE_MIN_NS ||
        fabs(rate / clock->rate - 1) > RATE_TOLERANCE)
        return; /* two readings close together say little */
    clock->rate = rate;
    if ((double)(triple->monotonic_ns - clock->between.monotonic_ns) > BASE_AGE_NS) {
        clock->base = clock->between;
        clock->between = *triple;
    }
}

/* --- Jumps of the counter --- */

static double between_ns(uint64_t first, uint64_t second)
{
    return (double)(int64_t)(second - first);
}

static bool is_near(double counted_ns, double elapsed_ns, double tolerance)
{
    return fabs(counted_ns - elapsed_ns) <= JUMP_NS + fabs(elapsed_ns) * tolerance;
}

enum steadiness { UNSTEADY, STEADY, SLEPT };

/* Whether the counter ran from one triple to the other at this rate, by one of the two clocks of
 * the kernel: CLOCK_MONOTONIC stands while the machine is suspended, CLOCK_REALTIME can be set. */
static enum steadiness look_at_pace(const struct ot_clock_triple *first,
                                    const struct ot_clock_triple *second, double rate,
                                    double tolerance)
{
    double counted_ns = between_ns(first->ticks, second->ticks) * rate;

    if (second->ticks <= first->ticks || second->monotonic_ns <= first->monotonic_ns)
        return UNSTEADY;
    if (is_near(counted_ns, between_ns(first->monotonic_ns, second->monotonic_ns), tolerance))
        return STEADY;
    return is_near(counted_ns, between_ns(first->realtime_ns, second->realtime_ns), tolerance)
               ? SLEPT
               : UNSTEADY;
}

/* The first guess of a rate may be bad. */
static double rate_tolerance(const struct tick_clock *clock)
{
    double known_ns = between_ns(clock->base.monotonic_ns, clock->latest.monotonic_ns);

    return clock->kind != OT_CLOCK_MONOTONIC && known_ns < SECOND_NS / 2 ? RATE_TOLERANCE
                                                                         : JUMP_TOLERANCE;
}

/* Begins anew at the suspect, at the true time: what was converted in doubt may lie behind it. */
static void jump(struct tick_clock *clock)
{
    const struct ot_clock_triple *from = &clock->latest, *to = &clock->suspect;
    double awake_ns = between_ns(from->monotonic_ns, to->monotonic_ns);
    double elapsed_ns =
        awake_ns > 0 ? awake_ns : fmax(between_ns(from->realtime_ns, to->realtime_ns), 0);
    double counted_ns = between_ns(from->ticks, to->ticks) * clock->rate;
    struct tick_knot first = {.ticks = to->ticks, .slope = clock->suspect_rate};
    double back = elapsed_ns / clock->suspect_rate;

    first.ns = (int64_t)to->realtime_ns;
    clock->jump_ns = (int64_t)(counted_ns - elapsed_ns);
    clock->jump_count++;
    array_deinit(&clock->past.knots);
    clock->past.knots.items = clock->knots.items;
    clock->past.knots.count = clock->knots.count;
    clock->past.knots.capacity = clock->knots.capacity;
    memset(&clock->knots, 0, sizeof(clock->knots));
    clock->past.ticks_max = from->ticks + (uint64_t)(elapsed_ns / clock->rate);
    clock->past.ticks_min = (double)from->ticks > JUMP_PAST_NS / clock->rate
                                ? from->ticks - (uint64_t)(JUMP_PAST_NS / clock->rate)
                                : 0;
    clock->past.until_ns = clock->heard_ns + JUMP_AGE_NS;
    clock->first_ticks = (double)to->ticks > back ? to->ticks - (uint64_t)back : 1;
    memory_must(array_push(&clock->knots, first));
    clock->rate = clock->suspect_rate;
    clock->converted = clock->first_ticks;
    clock->latest = clock->base = clock->between = *to;
    clock->has_suspect = false;
}

/* A triple that contradicts the latest one. */
static enum tick_update doubt(struct tick_clock *clock, const struct ot_clock_triple *triple,
                              uint64_t now_ns)
{
    const struct ot_clock_triple *suspect = &clock->suspect;
    const double since_ns = between_ns(clock->suspect_ns, now_ns) + FUTURE_NS;
    const bool is_due = between_ns(suspect->monotonic_ns, triple->monotonic_ns) <= since_ns;
    double rate = clock->rate;

    if (clock->has_suspect && is_due &&
        look_at_pace(suspect, triple, clock->suspect_rate, JUMP_TOLERANCE) != UNSTEADY) {
        clock->heard_ns = now_ns;
        jump(clock);
        return TICK_JUMPED;
    }
    /* The rate may be another one from now on: two triples tell it, a third bears it out. */
    if (clock->has_suspect && clock->kind != OT_CLOCK_MONOTONIC && triple->ticks > suspect->ticks &&
        triple->monotonic_ns > suspect->monotonic_ns)
        rate = between_ns(suspect->monotonic_ns, triple->monotonic_ns) /
               between_ns(suspect->ticks, triple->ticks);
    clock->suspect_rate = rate >= RATE_MIN && rate <= RATE_MAX ? rate : clock->rate;
    clock->suspect = *triple;
    clock->suspect_ns = now_ns;
    clock->has_suspect = true;
    return TICK_SUSPECT;
}

/* Follow the clock to a triple that agrees with what was heard. */
static void follow(struct tick_clock *clock, const struct ot_clock_triple *triple, uint64_t now_ns)
{
    struct tick_knot *last = &clock->knots.items[clock->knots.count - 1];
    struct tick_knot knot = {.ticks = triple->ticks};
    double error_ns, slope_limit;

    clock->latest = *triple;
    clock->heard_ns = now_ns;
    if (knot.ticks < clock->converted)
        knot.ticks = clock->converted;
    if (knot.ticks < last->ticks)
        knot.ticks = last->ticks;
    knot.ns = line_ns(clock, clock->knots.count - 1, knot.ticks);
    error_ns = (double)((int64_t)triple->realtime_ns - knot.ns) +
               (double)(knot.ticks - triple->ticks) * clock->rate;
    if (fabs(error_ns) < ERROR_TOLERANCE_NS &&
        fabs(error_ns + (clock->rate - last->slope) / clock->rate * SECOND_NS) <
            2 * ERROR_TOLERANCE_NS)
        return; /* the line that stands is good enough */
    if (error_ns > SECOND_NS) {
        knot.ns += (int64_t)error_ns;
        error_ns = 0;
    }
    slope_limit = clock->rate * SLOPE_TOLERANCE;
    knot.slope =
        clock->rate + fmax(-slope_limit, fmin(slope_limit, error_ns / SECOND_NS * clock->rate));
    add_knot(clock, knot);
}

static bool is_too_soon(const struct tick_clock *clock, const struct ot_clock_triple *triple)
{
    const struct ot_clock_triple *latest = &clock->latest;

    return triple->ticks >= latest->ticks && triple->monotonic_ns >= latest->monotonic_ns &&
           triple->monotonic_ns < latest->monotonic_ns + UPDATE_NS_MIN;
}

enum tick_update tick_clock_update(struct tick_clock *clock, const struct ot_clock_triple *triple,
                                   uint64_t now_ns)
{
    enum tick_update result = TICK_TAKEN;
    enum steadiness pace;

    tick_clock_set_now(clock, now_ns);
    if (!is_realtime(triple->realtime_ns) || triple->ticks > OT_WIRE_TIME_MAX / 2 ||
        is_too_soon(clock, triple))
        return TICK_IGNORED;
    pace = look_at_pace(&clock->latest, triple, clock->rate, rate_tolerance(clock));
    if (pace == UNSTEADY || triple->ticks > clock->ticks_max) {
        result = doubt(clock, triple, now_ns);
        if (result != TICK_JUMPED)
            return result;
    }
    clock->has_suspect = false;
    if (pace == SLEPT)
        clock->base = clock->between = *triple;
    else
        measure_rate(clock, triple);
    follow(clock, triple, now_ns);
    tick_clock_set_now(clock, now_ns);
    return result;
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

static_assert(sizeof(struct saved_header) + 3 * sizeof(struct ot_clock_triple) +
                      TICK_CLOCK_KNOTS_SAVED * sizeof(struct tick_knot) ==
                  TICK_CLOCK_SAVED_BYTES,
              "saved state");

size_t tick_clock_save(const struct tick_clock *clock, uint8_t out[TICK_CLOCK_SAVED_BYTES])
{
    const struct ot_clock_triple triples[3] = {clock->latest, clock->base, clock->between};
    struct saved_header header = {.version = 1,
                                  .kind = clock->kind,
                                  .rate = clock->rate,
                                  .converted = clock->converted,
                                  .knot_count = TICK_CLOCK_KNOTS_SAVED};
    uint8_t *at = out;

    if (clock->knots.count < header.knot_count)
        header.knot_count = (uint32_t)clock->knots.count;
    memcpy(at, &header, sizeof(header));
    at += sizeof(header);
    memcpy(at, triples, sizeof(triples));
    at += sizeof(triples);
    memcpy(at, clock->knots.items + clock->knots.count - header.knot_count,
           header.knot_count * sizeof(struct tick_knot));
    at += header.knot_count * sizeof(struct tick_knot);
    return (size_t)(at - out);
}

/* Times run forwards, slopes are those of a clock. */
static bool knot_is_sound(const struct tick_knot *knot, bool has_previous)
{
    if (!(knot->slope >= RATE_MIN / 2 && knot->slope <= RATE_MAX * 2) ||
        knot->ticks > OT_WIRE_TIME_MAX || !is_realtime((uint64_t)knot->ns))
        return false;
    return !has_previous || (knot[-1].ticks < knot->ticks && knot[-1].ns <= knot->ns);
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
        length != sizeof(header) + sizeof(triples) + header.knot_count * sizeof(struct tick_knot))
        return -EINVAL;
    clock->kind = header.kind;
    clock->rate = header.rate;
    clock->converted = header.converted;
    clock->latest = triples[0];
    clock->base = triples[1];
    clock->between = triples[2];
    clock->heard_ns = now_ns;
    for (uint32_t i = 0; i < header.knot_count; i++) {
        struct tick_knot knot;

        memcpy(&knot, at + i * sizeof(knot), sizeof(knot));
        memory_must(array_push(&clock->knots, knot));
        if (!knot_is_sound(&clock->knots.items[i], i > 0))
            return -EINVAL;
    }
    tick_clock_set_now(clock, now_ns);
    return 0;
}
