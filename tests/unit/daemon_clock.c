/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks to nanoseconds: exact where it can be, monotonic always, unmoved by nonsense. */
#include "daemon/clock.h"

#include <math.h>

#include "schema/wire/wire.h"
#include "tests/support/check.h"

static const uint64_t HZ = 2400000000;
static const uint64_t REAL_NS = UINT64_C(1700000000000000000);
static const uint64_t SECOND_NS = 1000000000;

/* A machine: its counter, its clocks, and how far CLOCK_REALTIME was set off. */
struct machine {
    double ticks_per_ns;
    double now_ns; /* since HELLO */
    int64_t set_ns;
};

static struct ot_clock_triple triple_of(const struct machine *machine)
{
    return (struct ot_clock_triple){
        .ticks = 1000000000000 + (uint64_t)(machine->now_ns * machine->ticks_per_ns),
        .monotonic_ns = 50 * SECOND_NS + (uint64_t)machine->now_ns,
        .realtime_ns = REAL_NS + (uint64_t)machine->now_ns + (uint64_t)machine->set_ns,
    };
}

static uint64_t ticks_at(const struct machine *machine, double ns)
{
    struct machine then = *machine;

    then.now_ns = ns;
    return triple_of(&then).ticks;
}

static void start(struct tick_clock *clock, const struct machine *machine, uint64_t hz)
{
    struct ot_clock_triple triple = triple_of(machine);
    struct diag diag = {0};

    if (tick_clock_init(clock, OT_CLOCK_TSC, hz, &triple, 0, &diag) < 0)
        fail_msg("%s", diag.text);
}

static bool tell(struct tick_clock *clock, struct machine *machine, double ns)
{
    struct ot_clock_triple triple;

    machine->now_ns = ns;
    triple = triple_of(machine);
    return tick_clock_update(clock, &triple, (uint64_t)ns) == TICK_TAKEN;
}

static void a_good_first_guess_converts_exactly(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};

    start(&clock, &machine, HZ);
    for (double ns = 0; ns < 1e9; ns += 12345678)
        CHECK_NEAR((double)(tick_clock_ns(&clock, ticks_at(&machine, ns)) - (int64_t)REAL_NS), ns,
                   2);
    tick_clock_deinit(&clock);
}

static void times_before_hello_are_converted(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};

    start(&clock, &machine, HZ);
    CHECK_NEAR((double)(tick_clock_ns(&clock, triple_of(&machine).ticks - 2400) - (int64_t)REAL_NS),
               -1000, 1);
    tick_clock_deinit(&clock);
}

static void monotonic_ticks_are_nanoseconds(void **state)
{
    struct ot_clock_triple triple = {.ticks = 777, .monotonic_ns = 777, .realtime_ns = REAL_NS};
    struct diag diag = {0};
    struct tick_clock clock = {0};

    CHECK_OK(tick_clock_init(&clock, OT_CLOCK_MONOTONIC, 0, &triple, 0, &diag));
    CHECK_U64((uint64_t)tick_clock_ns(&clock, 1777), REAL_NS + 1000);
    triple = (struct ot_clock_triple){SECOND_NS, SECOND_NS, REAL_NS + SECOND_NS - 777};
    assert_int_equal(tick_clock_update(&clock, &triple, SECOND_NS), TICK_TAKEN);
    CHECK_U64((uint64_t)tick_clock_ns(&clock, 2 * SECOND_NS), REAL_NS + 2 * SECOND_NS - 777);
    tick_clock_deinit(&clock);
}

static void a_bad_first_guess_is_mended_within_seconds(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4 * 1.003}; /* the guess is 0.3 % off */
    struct tick_clock clock = {0};

    start(&clock, &machine, HZ);
    for (int second = 1; second <= 5; second++)
        assert_true(tell(&clock, &machine, second * 1e9));
    CHECK_NEAR((double)(tick_clock_ns(&clock, ticks_at(&machine, 5.5e9)) - (int64_t)REAL_NS), 5.5e9,
               10000);
    tick_clock_deinit(&clock);
}

/* Random spans inside spans, converted in the order of their ends, while the clock is pushed about:
 * what contains another one in ticks does so in ns, and nothing that was converted changes. */
static void containment_survives_everything(void **state)
{
    enum { SPANS = 20000 };
    struct machine machine = {.ticks_per_ns = 2.4};
    static struct {
        uint64_t ticks;
        int64_t ns;
    } seen[SPANS];
    struct tick_clock clock = {0};
    double ns = 0;

    srand(7);
    start(&clock, &machine, HZ * 1001 / 1000);
    for (int i = 0; i < SPANS; i++) {
        ns += rand() % 2000000;
        if (rand() % 500 == 0)
            machine.set_ns += (int64_t)(rand() % 3000) * 1000000 - 1000000000;
        if (rand() % 50 == 0)
            tell(&clock, &machine, ns);
        tick_clock_set_now(&clock, (uint64_t)ns);
        seen[i].ticks = ticks_at(&machine, ns);
        seen[i].ns = tick_clock_ns(&clock, seen[i].ticks);
        if (i > 0 && seen[i].ns < seen[i - 1].ns)
            fail_msg("time ran back at %d: %lld after %lld", i, (long long)seen[i].ns,
                     (long long)seen[i - 1].ns);
    }
    for (int i = 0; i < SPANS; i++)
        CHECK_U64((uint64_t)tick_clock_ns(&clock, seen[i].ticks), (uint64_t)seen[i].ns);
    tick_clock_deinit(&clock);
}

static void a_clock_that_was_set_forwards_jumps(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};
    int64_t before;

    start(&clock, &machine, HZ);
    tell(&clock, &machine, 1e9);
    before = tick_clock_ns(&clock, ticks_at(&machine, 1.5e9));
    machine.set_ns = 3600 * (int64_t)SECOND_NS;
    tell(&clock, &machine, 2e9);
    CHECK_U64((uint64_t)tick_clock_ns(&clock, ticks_at(&machine, 1.5e9)), (uint64_t)before);
    CHECK_NEAR((double)(tick_clock_ns(&clock, ticks_at(&machine, 2.5e9)) - (int64_t)REAL_NS),
               3602.5e9, 1e6);
    tick_clock_deinit(&clock);
}

static void a_clock_that_was_set_back_is_followed_slowly(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};
    int64_t first, second;

    start(&clock, &machine, HZ);
    machine.set_ns = -3600 * (int64_t)SECOND_NS;
    tell(&clock, &machine, 1e9);
    first = tick_clock_ns(&clock, ticks_at(&machine, 2e9));
    second = tick_clock_ns(&clock, ticks_at(&machine, 3e9));
    CHECK_NEAR((double)(second - first), 0.99e9, 1e6);
    tick_clock_deinit(&clock);
}

static void a_suspended_machine_wakes_up(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct ot_clock_triple triple;
    struct tick_clock clock = {0};

    start(&clock, &machine, HZ);
    tell(&clock, &machine, 1e9);
    machine.now_ns = 3600e9; /* the counter and CLOCK_REALTIME went on, CLOCK_MONOTONIC did not */
    triple = triple_of(&machine);
    triple.monotonic_ns = 51 * SECOND_NS + SECOND_NS / 2;
    assert_int_equal(tick_clock_update(&clock, &triple, (uint64_t)3600e9), TICK_TAKEN);
    CHECK_NEAR((double)(tick_clock_ns(&clock, ticks_at(&machine, 3601e9)) - (int64_t)REAL_NS),
               3601e9, 1e6);
    tick_clock_deinit(&clock);
}

static void hostile_clocks_are_refused(void **state)
{
    struct ot_clock_triple triple = {.ticks = 1, .monotonic_ns = 1, .realtime_ns = REAL_NS};
    struct ot_clock_triple late = {.ticks = UINT64_MAX / 2, .realtime_ns = REAL_NS};
    struct ot_clock_triple no_date = {.ticks = 1, .monotonic_ns = 1, .realtime_ns = 12};
    const uint64_t rates[] = {0, 1, 999999, UINT64_C(100000000001), UINT64_MAX};
    struct tick_clock clock = {0};

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct diag diag = {0};

        assert_int_equal(tick_clock_init(&clock, OT_CLOCK_TSC, rates[i], &triple, 0, &diag),
                         -EPROTO);
        CHECK_CONTAINS(diag.text, "a clock");
    }
    assert_int_equal(tick_clock_init(&clock, OT_CLOCK_TSC, HZ, &late, 0, NULL), -EPROTO);
    assert_int_equal(tick_clock_init(&clock, OT_CLOCK_TSC, HZ, &no_date, 0, NULL), -EPROTO);
    tick_clock_deinit(&clock);
}

static void hostile_updates_are_ignored(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct ot_clock_triple good, bad;
    struct tick_clock clock = {0};
    int64_t before;

    start(&clock, &machine, HZ);
    tell(&clock, &machine, 1e9);
    before = tick_clock_ns(&clock, ticks_at(&machine, 2e9));
    machine.now_ns = 2e9;
    good = triple_of(&machine);
    bad = good;
    bad.ticks = 5;
    assert_int_not_equal(tick_clock_update(&clock, &bad, 2 * SECOND_NS), TICK_TAKEN);
    bad = good;
    bad.ticks += HZ * 1000; /* the far future */
    assert_int_not_equal(tick_clock_update(&clock, &bad, 2 * SECOND_NS), TICK_TAKEN);
    bad = good;
    bad.monotonic_ns += 10 * SECOND_NS; /* another rate */
    bad.realtime_ns += 100 * SECOND_NS;
    assert_int_not_equal(tick_clock_update(&clock, &bad, 2 * SECOND_NS), TICK_TAKEN);
    bad = good;
    bad.monotonic_ns = 0;
    assert_int_not_equal(tick_clock_update(&clock, &bad, 2 * SECOND_NS), TICK_TAKEN);
    bad = good;
    bad.realtime_ns = UINT64_MAX / 2;
    assert_int_not_equal(tick_clock_update(&clock, &bad, 2 * SECOND_NS), TICK_TAKEN);
    CHECK_U64((uint64_t)tick_clock_ns(&clock, ticks_at(&machine, 2e9)), (uint64_t)before);
    assert_int_equal(tick_clock_update(&clock, &good, 2 * SECOND_NS), TICK_TAKEN);
    tick_clock_deinit(&clock);
}

static void random_updates_never_break_it(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};

    srand(3);
    start(&clock, &machine, HZ);
    for (int i = 0; i < 200000; i++) {
        struct ot_clock_triple triple = triple_of(&machine);
        uint64_t random = ((uint64_t)rand() << 32) ^ (uint64_t)rand();

        machine.now_ns += rand() % 100000000;
        triple.ticks ^= rand() % 3 ? 0 : random;
        triple.monotonic_ns ^= rand() % 3 ? 0 : random >> 3;
        triple.realtime_ns ^= rand() % 3 ? 0 : random >> (rand() % 40);
        tick_clock_update(&clock, &triple, (uint64_t)machine.now_ns);
        tick_clock_set_now(&clock, (uint64_t)machine.now_ns);
        if (tick_clock_is_plausible(&clock, random))
            tick_clock_ns(&clock, random);
    }
    assert_in_range(clock.knots.count, 1, TICK_CLOCK_KNOTS_MAX);
    for (size_t i = 1; i < clock.knots.count; i++) {
        assert_true(clock.knots.items[i - 1].ticks < clock.knots.items[i].ticks);
        assert_true(clock.knots.items[i - 1].ns <= clock.knots.items[i].ns);
    }
    tick_clock_deinit(&clock);
}

static void plausible_is_from_a_month_ago_to_a_minute_ahead(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};
    uint64_t now;

    machine.now_ns = 90 * 86400e9;
    now = triple_of(&machine).ticks;
    start(&clock, &machine, HZ);
    assert_true(tick_clock_is_plausible(&clock, now));
    assert_true(tick_clock_is_plausible(&clock, now + 59 * HZ));
    assert_false(tick_clock_is_plausible(&clock, now + 61 * HZ));
    assert_true(tick_clock_is_plausible(&clock, now - 29 * 86400 * HZ));
    assert_false(tick_clock_is_plausible(&clock, now - 31 * 86400 * HZ));
    assert_false(tick_clock_is_plausible(&clock, UINT64_MAX));
    tick_clock_set_now(&clock, 100 * SECOND_NS); /* time passes, no CLOCK comes */
    assert_true(tick_clock_is_plausible(&clock, now + 159 * HZ));
    tick_clock_deinit(&clock);
}

/* After so many lines that old ones had to go, long spans still contain what was converted early.
 */
static void old_lines_are_thinned_downwards(void **state)
{
    enum { SECONDS = 3 * TICK_CLOCK_KNOTS_MAX };
    struct machine machine = {.ticks_per_ns = 2.4};
    static int64_t seen[SECONDS];
    struct tick_clock clock = {0};
    int64_t last = 0;

    srand(5);
    start(&clock, &machine, HZ);
    for (int second = 1; second < SECONDS; second++) {
        machine.set_ns += rand() % 5000 - 2500; /* each adds a line */
        tell(&clock, &machine, second * 1e9);
        tick_clock_set_now(&clock, second * SECOND_NS);
        seen[second] = tick_clock_ns(&clock, ticks_at(&machine, second * 1e9));
    }
    assert_in_range(clock.knots.count, TICK_CLOCK_KNOTS_MAX / 2, TICK_CLOCK_KNOTS_MAX);
    for (int second = 1; second < SECONDS; second++) {
        int64_t ns = tick_clock_ns(&clock, ticks_at(&machine, second * 1e9));

        assert_true(ns <= seen[second]);
        assert_true(ns > last);
        CHECK_NEAR((double)ns, (double)seen[second], 1e6);
        last = ns;
    }
    tick_clock_deinit(&clock);
}

static void a_saved_clock_goes_on_alike(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4 * 1.0001};
    uint8_t saved[TICK_CLOCK_SAVED_BYTES];
    struct tick_clock clock = {0}, copy = {0};
    size_t length;

    start(&clock, &machine, HZ);
    for (int second = 1; second < 100; second++) {
        machine.set_ns += second % 2 ? 3000 : -2500;
        tell(&clock, &machine, second * 1e9);
        tick_clock_ns(&clock, ticks_at(&machine, second * 1e9 + 1e8));
    }
    length = tick_clock_save(&clock, saved);
    assert_true(length <= sizeof(saved));
    CHECK_OK(tick_clock_restore(&copy, saved, length, (uint64_t)99e9));
    for (double ns = 95e9; ns < 105e9; ns += 1e8) {
        if (ns >= 100e9) {
            tell(&clock, &machine, ns);
            tell(&copy, &machine, ns);
        }
        CHECK_U64((uint64_t)tick_clock_ns(&copy, ticks_at(&machine, ns)),
                  (uint64_t)tick_clock_ns(&clock, ticks_at(&machine, ns)));
    }
    tick_clock_deinit(&copy);
    tick_clock_deinit(&clock);
}

static void damaged_states_are_refused(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    uint8_t saved[TICK_CLOCK_SAVED_BYTES], damaged[TICK_CLOCK_SAVED_BYTES];
    struct tick_clock clock = {0}, copy = {0};
    size_t length;

    srand(11);
    start(&clock, &machine, HZ);
    machine.set_ns = 100000;
    tell(&clock, &machine, 1e9);
    length = tick_clock_save(&clock, saved);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(tick_clock_restore(&copy, saved, cut, 0), -EINVAL);
    for (int i = 0; i < 20000; i++) { /* refused, or harmless */
        memcpy(damaged, saved, length);
        damaged[(size_t)rand() % length] ^= (uint8_t)(1 + rand() % 255);
        copy = (struct tick_clock){0};
        if (tick_clock_restore(&copy, damaged, length, 0) == 0) {
            tell(&copy, &machine, 2e9);
            if (tick_clock_is_plausible(&copy, ticks_at(&machine, 2e9)))
                tick_clock_ns(&copy, ticks_at(&machine, 2e9));
        }
        tick_clock_deinit(&copy);
    }
    tick_clock_deinit(&clock);
}

/* A connection's time is taken before the clock that its session had is read from the store. */
static void time_before_the_last_word_opens_no_window(void **state)
{
    struct machine machine = {.ticks_per_ns = 2.4};
    struct tick_clock clock = {0};
    uint64_t ticks_max;

    start(&clock, &machine, HZ);
    assert_true(tell(&clock, &machine, 5e9));
    tick_clock_set_now(&clock, 5 * SECOND_NS);
    ticks_max = clock.ticks_max;
    tick_clock_set_now(&clock, 5 * SECOND_NS - 1);
    CHECK_U64(clock.ticks_max, ticks_max);
    tick_clock_deinit(&clock);
}

/* --- Counters that jump: a machine that moves to another host, sleeps, or is paused --- */

/* Where the counter stands: it may jump and change its rate. */
struct counter {
    double ticks, ticks_per_ns; /* since the latest change */
    double changed_ns;
};

struct world {
    struct counter counter;
    struct tick_clock clock;
    double now_ns,
        asleep_ns;         /* CLOCK_REALTIME's, and how much of it CLOCK_MONOTONIC has not seen */
    double doubt_ns;       /* how far times may be off that were recorded in doubt */
    unsigned doubt_clocks; /* CLOCK frames until there is none; 0: there is none */
    uint64_t jump_count;
    unsigned converted, lost, certain;
};

static uint64_t world_ticks(const struct world *world)
{
    return (uint64_t)(world->counter.ticks +
                      (world->now_ns - world->counter.changed_ns) * world->counter.ticks_per_ns);
}

static struct ot_clock_triple world_triple(const struct world *world)
{
    return (struct ot_clock_triple){
        .ticks = world_ticks(world),
        .monotonic_ns = 5 * SECOND_NS + (uint64_t)(world->now_ns - world->asleep_ns),
        .realtime_ns = REAL_NS + (uint64_t)world->now_ns,
    };
}

static void change_counter(struct world *world, double ticks, double ticks_per_ns)
{
    world->counter = (struct counter){ticks, ticks_per_ns, world->now_ns};
}

static double random_between(double low, double high)
{
    return low + (high - low) * rand() / RAND_MAX;
}

/* An event of now is converted, after its time or not at all. */
static void record(struct world *world, uint64_t ticks, double at_ns)
{
    int64_t ns;

    tick_clock_set_now(&world->clock, (uint64_t)world->now_ns);
    if (tick_clock_is_plausible(&world->clock, ticks)) {
        ns = tick_clock_ns(&world->clock, ticks);
    } else if (!tick_clock_before_jump_ns(&world->clock, ticks, &ns)) {
        if (world->doubt_clocks == 0)
            fail_msg("lost at %.3f s, and nothing had jumped", world->now_ns / 1e9);
        world->lost++;
        return;
    }
    world->converted++;
    world->certain += world->doubt_clocks == 0;
    if (world->doubt_clocks == 0)
        CHECK_NEAR((double)(ns - (int64_t)REAL_NS), at_ns, 20e6);
}

static void tell_world(struct world *world)
{
    const struct ot_clock_triple triple = world_triple(world);
    enum tick_update result = tick_clock_update(&world->clock, &triple, (uint64_t)world->now_ns);

    if (world->doubt_clocks == 0)
        assert_int_equal(result, TICK_TAKEN);
    else
        world->doubt_clocks--;
}

static void disturb(struct world *world)
{
    const double ticks = (double)world_ticks(world), rate = world->counter.ticks_per_ns;
    const double sizes_ns[] = {-3600e9, -90e9, -3e9,   -0.2e9,      0.2e9,
                               3e9,     90e9,  3600e9, 86400e9 * 90};
    const double size_ns = sizes_ns[(size_t)rand() % (sizeof(sizes_ns) / sizeof(sizes_ns[0]))];

    world->doubt_clocks = 2;
    world->jump_count++;
    switch (rand() % 4) {
    case 0: /* another host: another count */
        change_counter(world, fmax(ticks + size_ns * rate, 1e6), rate);
        break;
    case 1: /* another host: another rate */
        change_counter(world, ticks, rate * (rand() % 2 ? 1.2 : 0.8));
        world->doubt_clocks = 4;
        break;
    case 2: /* suspended, and the counter was, too, as CLOCK_MONOTONIC: no jump */
        world->jump_count--;
        world->now_ns += 600e9;
        world->asleep_ns += 600e9;
        change_counter(world, ticks, rate);
        break;
    default: /* suspended, and the counter began anew */
        world->now_ns += 600e9;
        world->asleep_ns += 600e9;
        change_counter(world, 1e6, rate);
    }
}

/* A history: CLOCK frames up to a second apart, now and then missing for a while, events in
 * between, and something that happens to the counter. No event is further off than 20 ms, but
 * between a jump and the second CLOCK after it: then by the jump, or it is lost. And the jump is
 * noticed. */
static void live_through(unsigned seed)
{
    struct world world = {.counter = {.ticks = 5e12, .ticks_per_ns = 2.4}};
    struct ot_clock_triple triple = world_triple(&world);
    unsigned quiet = 0;

    srand(seed);
    CHECK_OK(tick_clock_init(&world.clock, OT_CLOCK_TSC, HZ, &triple, 0, NULL));
    for (int i = 0; i < 400; i++) {
        const double pause_ns = rand() % 50 ? random_between(0.3e9, 1e9) : 20e9;
        const double until_ns = world.now_ns + pause_ns;
        const double disturb_ns =
            quiet++ > 70 && i < 390 && world.doubt_clocks == 0 && rand() % 10 == 0
                ? until_ns - pause_ns / 2
                : 0;

        while (world.now_ns < until_ns) {
            const double event_ns = world.now_ns;
            const uint64_t ticks = world_ticks(&world);

            if (disturb_ns > 0 && world.now_ns >= disturb_ns && quiet > 0) {
                disturb(&world);
                quiet = 0;
                break;
            }
            world.now_ns += random_between(0, 0.1e9); /* until the ring is read */
            record(&world, ticks, event_ns);
        }
        tell_world(&world);
    }
    CHECK_U64(world.clock.jump_count, world.jump_count);
    assert_true(world.certain > 1000);
    tick_clock_deinit(&world.clock);
}

static void random_histories_are_converted_within_bounds(void **state)
{
    for (unsigned seed = 1; seed <= 300; seed++)
        live_through(seed);
}

/* What was recorded before a jump and is read after it still finds its time; what began before it
 * and ended after it has both. */
static void both_sides_of_a_jump_are_converted(void **state)
{
    struct world world = {.counter = {.ticks = 5e12, .ticks_per_ns = 2.4}};
    struct ot_clock_triple triple = world_triple(&world);
    uint64_t before, between, after;
    int64_t ns;

    CHECK_OK(tick_clock_init(&world.clock, OT_CLOCK_TSC, HZ, &triple, 0, NULL));
    for (world.now_ns = 1e9; world.now_ns < 5e9; world.now_ns += 1e9)
        tell_world(&world);
    before = world_ticks(&world);
    between = before + 1800 * HZ; /* the counter never stood there */
    world.doubt_clocks = 2;
    change_counter(&world, (double)before + 3600.0 * (double)HZ, 2.4);
    world.now_ns += 0.1e9;
    after = world_ticks(&world);
    for (; world.doubt_clocks > 0; world.now_ns += 1e9)
        tell_world(&world);
    tick_clock_set_now(&world.clock, (uint64_t)world.now_ns);
    CHECK_U64(world.clock.jump_count, 1);
    CHECK_NEAR((double)world.clock.jump_ns, 3600e9, 20e6);
    assert_false(tick_clock_is_plausible(&world.clock, before));
    assert_true(tick_clock_before_jump_ns(&world.clock, before, &ns));
    CHECK_NEAR((double)(ns - (int64_t)REAL_NS), 5e9, 20e6);
    assert_true(tick_clock_is_plausible(&world.clock, after));
    CHECK_NEAR((double)(tick_clock_ns(&world.clock, after) - (int64_t)REAL_NS), 5.1e9, 20e6);
    assert_false(tick_clock_is_plausible(&world.clock, between));
    assert_false(tick_clock_before_jump_ns(&world.clock, between, &ns));
    tick_clock_set_now(&world.clock, (uint64_t)world.now_ns + 120 * SECOND_NS);
    assert_false(tick_clock_before_jump_ns(&world.clock, before, &ns));
    tick_clock_deinit(&world.clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_first_guess_converts_exactly),
        cmocka_unit_test(times_before_hello_are_converted),
        cmocka_unit_test(monotonic_ticks_are_nanoseconds),
        cmocka_unit_test(a_bad_first_guess_is_mended_within_seconds),
        cmocka_unit_test(containment_survives_everything),
        cmocka_unit_test(a_clock_that_was_set_forwards_jumps),
        cmocka_unit_test(a_clock_that_was_set_back_is_followed_slowly),
        cmocka_unit_test(a_suspended_machine_wakes_up),
        cmocka_unit_test(hostile_clocks_are_refused),
        cmocka_unit_test(hostile_updates_are_ignored),
        cmocka_unit_test(random_updates_never_break_it),
        cmocka_unit_test(plausible_is_from_a_month_ago_to_a_minute_ahead),
        cmocka_unit_test(old_lines_are_thinned_downwards),
        cmocka_unit_test(a_saved_clock_goes_on_alike),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(time_before_the_last_word_opens_no_window),
        cmocka_unit_test(both_sides_of_a_jump_are_converted),
        cmocka_unit_test(random_histories_are_converted_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
