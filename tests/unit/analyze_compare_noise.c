/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on recordings as machines give them: how often an unchanged program is called changed,
 * how surely one op that got 5 % slower is found. Seeds are fixed, so that the counts are the same
 * each time; OPTRACE_TEST_ALL=1 takes more pairs of an unchanged program, OPTRACE_COMPARE_PAIRS=N
 * N pairs of each kind, and the counts are printed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/comparison.h"
#include "tests/support/check.h"
#include "tests/support/noise_sessions.h"
#include "tests/support/turns.h"

enum { OPS = 30, RUNS = 9, SESSIONS_MAX = 256, SLOW_OP = 12 };
#define FOUND 0.95 /* of the pairs, at least */

static const struct comparison_options options = {
    .gates = {.alpha = 0.01, .threshold = 0.03}, .min_ns = NAN, .max_ns = NAN};

static unsigned pairs_of_environment(unsigned usual)
{
    const char *text = getenv("OPTRACE_COMPARE_PAIRS");

    return text ? (unsigned)strtoul(text, NULL, 10) : usual;
}

/* Sessions as run_samples_take() gives them. */
struct side {
    struct run_samples samples;
    struct op_row rows[OPS];
    char names[OPS][16];
};

static void begin_side(struct side *side, size_t sessions)
{
    memset(side, 0, sizeof(*side));
    side->samples.has_runs = true;
    side->samples.units_are_sessions = sessions > 1;
    side->samples.unit_count = sessions > 1 ? sessions : RUNS;
    side->samples.op_ns = calloc(OPS * sessions * RUNS, sizeof(double));
    assert_non_null(side->samples.op_ns);
    for (size_t op = 0; op < OPS; op++) {
        struct sampled_op sampled = {.row = &side->rows[op], .calls = 1};

        snprintf(side->names[op], sizeof(side->names[op]), "op%zu", op);
        side->rows[op] = (struct op_row){.name = side->names[op], .type = "Conv"};
        CHECK_OK(array_push(&side->samples.ops, sampled));
    }
}

static void add_session(struct side *side, struct noise_program *program, size_t nth,
                        size_t sessions, uint32_t number, const double *slower)
{
    double ns[RUNS * OPS];

    noise_next_session(program, nth, slower, ns);
    for (size_t run = 0; run < RUNS; run++) {
        struct sampled_run sampled = {.session = number, .row = SPAN_NONE, .run_ns = 20000};

        for (size_t op = 0; op < OPS; op++) {
            side->samples.op_ns[op * sessions * RUNS + number * RUNS + run] = ns[run * OPS + op];
            sampled.run_ns += ns[run * OPS + op];
        }
        CHECK_OK(array_push(&side->samples.runs, sampled));
    }
}

/* The sides in turn, as scripts/ab records them. `earlier`: sessions of the base before. */
static void compare(struct noise_program *program, size_t earlier, size_t base, size_t new,
                    const double *slower, struct comparison *out_comparison,
                    struct side sides[ALIGN_SIDES])
{
    uint32_t done[ALIGN_SIDES] = {0};
    bool named[SESSIONS_MAX];
    size_t in_time[SESSIONS_MAX];
    struct comparison_options chosen = options;

    program->session_count = earlier + base + new;
    begin_side(&sides[ALIGN_BASE], earlier + base);
    begin_side(&sides[ALIGN_NEW], new);
    for (size_t i = 0; i < earlier + base; i++)
        named[i] = i >= earlier;
    chosen.base_is_named = earlier ? named : NULL;
    chosen.in_time = earlier ? in_time : NULL; /* as compare_sides_read() has it */
    for (size_t i = 0; i < program->session_count; i++) {
        size_t left = earlier + base - done[ALIGN_BASE];
        bool is_new = i >= earlier && done[ALIGN_NEW] < new && (i % 2 || !left);

        add_session(&sides[is_new], program, i, is_new ? new : earlier + base, done[is_new],
                    is_new ? slower : NULL);
        in_time[i] = (is_new ? earlier + base : 0) + done[is_new];
        done[is_new]++;
    }
    CHECK_OK(
        comparison_make((const struct run_samples *const[]){&sides[0].samples, &sides[1].samples},
                        &chosen, out_comparison));
}

static void end_sides(struct side sides[ALIGN_SIDES], struct comparison *comparison)
{
    comparison_deinit(comparison);
    for (int i = 0; i < ALIGN_SIDES; i++)
        run_samples_deinit(&sides[i].samples);
}

static bool is_change(const struct comparison_line *line)
{
    return line->result.verdict == COMPARE_SLOWER || line->result.verdict == COMPARE_FASTER;
}

/* What shows it and its verdict say the same. */
static void check_consistency(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->lines.count; i++) {
        const struct compare_result *result = &comparison->lines.items[i].result;

        if (result->verdict == COMPARE_SLOWER)
            assert_true(result->p50.difference_ns.low > 0 && result->p_corrected <= 0.01);
        if (result->verdict == COMPARE_FASTER)
            assert_true(result->p50.difference_ns.high < 0 && result->p_corrected <= 0.01);
        if (!isnan(result->change.low))
            assert_true(result->change.low <= result->ratio + 1e-12 &&
                        result->ratio <= result->change.high + 1e-12);
    }
}

/* How many pairs of the same program give any alarm. */
static unsigned count_alarms(const struct noise *noise, size_t earlier, size_t base, size_t new,
                             unsigned pairs, uint64_t seed)
{
    struct noise_program program = {
        .noise = noise, .op_count = OPS, .run_count = RUNS, .seed = seed};
    unsigned alarms = 0;

    for (unsigned pair = 0; pair < pairs; pair++) {
        struct side sides[ALIGN_SIDES];
        struct comparison comparison;
        bool is_alarm = false;

        compare(&program, earlier, base, new, NULL, &comparison, sides);
        check_consistency(&comparison);
        for (size_t i = 0; i < comparison.lines.count; i++)
            is_alarm |= is_change(&comparison.lines.items[i]);
        alarms += is_alarm;
        end_sides(sides, &comparison);
    }
    return alarms;
}

/* Sessions a side, and earlier ones of the base. */
static const size_t designs[][3] = {
    {0, 1, 1},   {199, 1, 1}, {98, 1, 1}, {12, 1, 2},  {199, 1, 2},
    {199, 1, 5}, {0, 5, 5},   {0, 6, 4},  {0, 10, 10}, {0, 20, 20},
};
enum { DESIGNS = sizeof(designs) / sizeof(designs[0]) };

static void an_unchanged_program_is_called_unchanged(void **state)
{
    unsigned pairs = pairs_of_environment(turns_all() ? 12 : 5), all = 0, alarms = 0;

    (void)state;
    for (size_t design = 0; design < DESIGNS; design++) {
        const size_t *sessions = designs[design];

        for (size_t kind = 0; kind < NOISE_KINDS; kind++) {
            unsigned found = count_alarms(&noise_kinds[kind], sessions[0], sessions[1], sessions[2],
                                          pairs, 1000 * design + kind);

            alarms += found;
            all += pairs;
            print_message("%zu+%zu against %zu sessions, %s: %u of %u pairs\n", sessions[0],
                          sessions[1], sessions[2], noise_kinds[kind].name, found, pairs);
            if (found > pairs / 100 + 3 * sqrt(pairs / 100.0) + 1)
                fail_msg("%zu and %zu sessions, %s: %u of %u pairs", sessions[1], sessions[2],
                         noise_kinds[kind].name, found, pairs);
        }
    }
    print_message("%u alarms in %u pairs\n", alarms, all);
    assert_true(alarms * 100 <= all);
}

static unsigned count_found(const struct noise *noise, size_t earlier, size_t base, size_t new,
                            unsigned pairs, uint64_t seed, unsigned *out_others)
{
    struct noise_program program = {
        .noise = noise, .op_count = OPS, .run_count = RUNS, .seed = seed};
    unsigned found = 0;
    double slower[OPS];

    *out_others = 0;
    for (size_t op = 0; op < OPS; op++)
        slower[op] = op == SLOW_OP ? 1.05 : 1;
    for (unsigned pair = 0; pair < pairs; pair++) {
        struct side sides[ALIGN_SIDES];
        struct comparison comparison;

        compare(&program, earlier, base, new, slower, &comparison, sides);
        check_consistency(&comparison);
        for (size_t i = 0; i < comparison.lines.count; i++) {
            const struct comparison_line *line = &comparison.lines.items[i];

            if (strcmp(line->name, "op12") == 0)
                found += line->result.verdict == COMPARE_SLOWER;
            else
                *out_others += is_change(line);
        }
        end_sides(sides, &comparison);
    }
    return found;
}

static void five_percent_of_one_op_are_found(void **state)
{
    static const struct {
        size_t kind, earlier, base, new;
    } cases[] = {
        {0, 0, 5, 5},   {0, 199, 1, 1}, {0, 0, 10, 10}, {1, 0, 20, 20},
        {2, 0, 10, 10}, {3, 0, 20, 20}, {5, 0, 10, 10}, {6, 0, 5, 5},
        {7, 0, 10, 10}, {8, 0, 20, 20}, {0, 199, 1, 2},
    };
    unsigned pairs = pairs_of_environment(12);
    struct noise_program program = {.noise = &noise_kinds[0], .op_count = OPS};
    double all = 0, others_all = 0;

    (void)state;
    for (size_t op = 0; op < OPS; op++)
        all += noise_op_ns(&program, op);
    CHECK_NEAR(noise_op_ns(&program, SLOW_OP) / all, 0.02, 0.006); /* of a run */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned others, found = count_found(&noise_kinds[cases[i].kind], cases[i].earlier,
                                             cases[i].base, cases[i].new, pairs, 77 + i, &others);

        others_all += others;
        print_message("%zu+%zu against %zu sessions, %s: %u of %u found, %u others\n",
                      cases[i].earlier, cases[i].base, cases[i].new,
                      noise_kinds[cases[i].kind].name, found, pairs, others);
        if (found < FOUND * pairs - 1)
            fail_msg("%s: only %u of %u", noise_kinds[cases[i].kind].name, found, pairs);
    }
    print_message("%g others\n", others_all);
}

/* Most of its runs waited for something else: no matter of a program of which one process is known.
 */
static void one_disturbed_process_is_no_change(void **state)
{
    enum { EARLIER = 120, SLOW_RUNS = 6 };
    struct noise_program program = {
        .noise = &noise_kinds[0], .op_count = OPS, .run_count = RUNS, .seed = 5};
    struct comparison_options chosen = options;
    struct side sides[ALIGN_SIDES];
    struct comparison comparison;
    size_t in_time[EARLIER + 1];

    (void)state;
    program.session_count = EARLIER + 1;
    begin_side(&sides[ALIGN_BASE], EARLIER);
    begin_side(&sides[ALIGN_NEW], 1);
    for (uint32_t i = 0; i <= EARLIER; i++) {
        add_session(&sides[i == EARLIER], &program, i, i == EARLIER ? 1 : EARLIER,
                    i == EARLIER ? 0 : i, NULL);
        in_time[i] = i;
    }
    for (size_t run = 0; run < SLOW_RUNS; run++)
        sides[ALIGN_NEW].samples.runs.items[run].run_ns *= 2; /* between ops */
    chosen.in_time = in_time;
    CHECK_OK(
        comparison_make((const struct run_samples *const[]){&sides[0].samples, &sides[1].samples},
                        &chosen, &comparison));
    assert_true(comparison.outlying_count[ALIGN_NEW] >= SLOW_RUNS);
    assert_true(comparison.lines.items[0].result.ratio > 0.9); /* shown is what it took */
    for (size_t i = 0; i < comparison.lines.count; i++)
        assert_int_equal(comparison.lines.items[i].result.verdict, COMPARE_NO_CHANGE);
    end_sides(sides, &comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_program_is_called_unchanged),
        cmocka_unit_test(five_percent_of_one_op_are_found),
        cmocka_unit_test(one_disturbed_process_is_no_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
