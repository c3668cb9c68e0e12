/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of levels and runs. */
#include "tests/support/noise_sessions.h"

#include <math.h>

#include "analyze/stats/random.h"

const struct noise noise_kinds[NOISE_KINDS] = {
    {.name = "quiet", .process = 0.004, .op = 0.006, .run = 0.01},
    {.name = "between processes", .process = 0.02, .op = 0.02, .run = 0.01},
    {.name = "drift", .process = 0.004, .op = 0.006, .drift = 0.1, .run = 0.01},
    {.name = "heavy tails", .process = 0.01, .op = 0.01, .is_heavy = true, .run = 0.02},
    {.name = "two modes",
     .process = 0.004,
     .op = 0.006,
     .modes = 0.3,
     .mode_step = 0.08,
     .run = 0.01},
    {.name = "runs that resemble each other",
     .process = 0.004,
     .op = 0.006,
     .run = 0.03,
     .correlation = 0.95},
    {.name = "disturbed runs", .process = 0.004, .op = 0.006, .run = 0.01, .disturbed_runs = 0.2},
    {.name = "disturbed sessions",
     .process = 0.004,
     .op = 0.006,
     .run = 0.01,
     .disturbed_session = 0.1},
    {.name = "all of it",
     .process = 0.01,
     .op = 0.01,
     .is_heavy = true,
     .modes = 0.1,
     .mode_step = 0.06,
     .drift = 0.03,
     .run = 0.02,
     .correlation = 0.8,
     .disturbed_runs = 0.1,
     .disturbed_session = 0.05},
    {.name = "neighbours alike", .process = 0.01, .op = 0.015, .neighbours = 0.6, .run = 0.01},
    {.name = "spells", .process = 0.004, .op = 0.006, .run = 0.01, .spell = 0.03},
    {.name = "busy machine",
     .process = 0.02,
     .op = 0.03,
     .is_heavy = true,
     .neighbours = 0.5,
     .run = 0.03,
     .disturbed_runs = 0.1,
     .spell = 0.02},
    {.name = "modes and spells",
     .process = 0.004,
     .op = 0.006,
     .modes = 0.05,
     .mode_step = 0.1,
     .run = 0.01,
     .spell = 0.02},
};

/* Standard normal (Box, Muller, 1958). */
static double draw_normal(uint64_t *seed)
{
    double radius = sqrt(-2 * log(1 - random_unit(seed)));

    return radius * cos(6.283185307179586 * random_unit(seed));
}

/* Of standard deviation 1. */
static double draw_level(const struct noise *noise, uint64_t *seed)
{
    double squares = 0, normal = draw_normal(seed);

    if (!noise->is_heavy)
        return normal;
    for (int i = 0; i < 3; i++) {
        double one = draw_normal(seed);

        squares += one * one / 3;
    }
    return normal / sqrt(squares) / sqrt(3);
}

double noise_op_ns(const struct noise_program *program, size_t op)
{
    (void)program;
    return 2e6 * pow(0.85, (double)op);
}

/* The next level of a row whose neighbours are alike. */
static double next_level(const struct noise *noise, double *last, uint64_t *seed)
{
    *last = noise->neighbours * *last +
            sqrt(1 - noise->neighbours * noise->neighbours) * draw_level(noise, seed);
    return *last;
}

/* What a process makes of an op, for all of its runs. */
static double draw_op(const struct noise *noise, double level, double *last, uint64_t *seed)
{
    double own = noise->op * next_level(noise, last, seed);

    own += random_unit(seed) < noise->modes ? noise->mode_step : 0;
    return exp(level + own);
}

void noise_next_session(struct noise_program *program, size_t nth, const double *slower,
                        double *out_ns)
{
    const struct noise *noise = program->noise;
    uint64_t *seed = &program->seed;
    double level = noise->process * next_level(noise, &program->level, seed);
    double run_level = draw_normal(seed);

    if (noise->spell > 0)
        program->is_in_spell = random_unit(seed) < (program->is_in_spell ? 2.0 / 3 : noise->spell);
    level += program->is_in_spell ? 0.1 + 0.3 * random_unit(seed) : 0;
    level += noise->drift * (double)nth / (double)program->session_count;
    level += random_unit(seed) < noise->disturbed_session ? 0.5 * random_unit(seed) : 0;
    for (size_t op = 0; op < program->op_count; op++) /* the first run holds the level for now */
        out_ns[op] = noise_op_ns(program, op) *
                     draw_op(noise, level, &program->op_level[op % NOISE_OPS_MAX], seed) *
                     (slower ? slower[op] : 1);
    for (size_t run = program->run_count; run-- > 0;) {
        double disturbed = random_unit(seed) < noise->disturbed_runs ? random_unit(seed) : 0;
        double *row = out_ns + run * program->op_count;

        run_level = noise->correlation * run_level +
                    sqrt(1 - noise->correlation * noise->correlation) * draw_normal(seed);
        for (size_t op = 0; op < program->op_count; op++)
            row[op] = out_ns[op] * (1 + noise->run * (run_level + draw_normal(seed)) / sqrt(2)) *
                      (1 + disturbed * random_unit(seed));
    }
}
