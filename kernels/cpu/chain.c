/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of element-wise operations: a block of elements goes through all steps before the next one
 * does. Each step is one compiled loop; nothing is generated. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/functions.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    BLOCK = 1024,    /* elements: a few buffers of that fit the first cache */
    GRAIN = 1 << 15, /* elements times steps that are worth a second thread */
    OPERANDS = KERNEL_CHAIN_INPUTS + KERNEL_CHAIN_STEPS,
    NO_BUFFER = -1,
};

enum form { BOTH, LEFT_FIXED, RIGHT_FIXED, FORMS };

/* Exponents that are not left to pow(). */
enum power { SQUARE, CUBE, ROOT, POWERS };

typedef void map_loop(float *y, const float *x, int64_t count, float a, float b);
typedef void zip_loop(float *y, const float *a, const float *b, int64_t count);
typedef void power_loop(float *y, const float *x, int64_t count);
typedef void fill_loop(float *y, float x, int64_t count);
typedef void load_loop(float *y, const void *x, int64_t stride, int64_t count);

/* The loops of one instruction set; NULL: another kernel of it does it. */
struct loops {
    map_loop *map[MAP_COUNT];
    zip_loop *zip[ZIP_COUNT][FORMS];
    power_loop *power[POWERS];
    fill_loop *fill;
    load_loop *load[KERNEL_DTYPES];
    map_fn *other_map; /* one operand without a loop here */
    zip_fn *other;     /* two */
};

enum source {
    SOURCE_DENSE,  /* lies as y does */
    SOURCE_FIXED,  /* one number */
    SOURCE_SPREAD, /* broadcast into a buffer, block by block */
    SOURCE_REPEAT, /* the same for all blocks: broadcast into a buffer once */
};

/* A chain, prepared for walking over blocks. */
struct walk {
    const struct kernel_chain *chain;
    const struct loops *loops;
    float *y;
    const void *const *inputs;
    int64_t count, block; /* elements; of a block: at most BLOCK */
    int rank; /* axes that all inputs can join are joined, those of one element are left out */
    int64_t dims[KERNEL_MAX_RANK];
    int64_t strides[KERNEL_CHAIN_INPUTS][KERNEL_MAX_RANK];
    struct kernel_chain_pad pad; /* joined as the rest is */
    enum source sources[KERNEL_CHAIN_INPUTS];
    int buffers[OPERANDS]; /* where the operand is while a block is at work, or NO_BUFFER */
};

/* --- Preparation. --- */

static bool can_join(const struct walk *walk, int axis)
{
    const struct kernel_chain *chain = walk->chain;

    if (walk->rank == 0 || (chain->is_padded && chain->pad.dims[axis] != chain->dims[axis]))
        return false;
    for (int i = 0; i < chain->inputs; i++)
        if (walk->strides[i][walk->rank - 1] != chain->strides[i][axis] * chain->dims[axis])
            return false;
    return true;
}

static void join_axes(struct walk *walk)
{
    const struct kernel_chain *chain = walk->chain;

    walk->count = 1;
    for (int axis = 0; axis < chain->rank; axis++) {
        int at;

        walk->count *= chain->dims[axis];
        if (chain->dims[axis] == 1 && (!chain->is_padded || chain->pad.dims[axis] == 1))
            continue;
        if (can_join(walk, axis)) {
            at = walk->rank - 1;
            walk->dims[at] *= chain->dims[axis];
            walk->pad.dims[at] *= chain->dims[axis];
            walk->pad.begin[at] *= chain->dims[axis];
        } else {
            at = walk->rank++;
            walk->dims[at] = chain->dims[axis];
            walk->pad.dims[at] = chain->pad.dims[axis];
            walk->pad.begin[at] = chain->pad.begin[axis];
        }
        for (int i = 0; i < chain->inputs; i++)
            walk->strides[i][at] = chain->strides[i][axis];
    }
    if (walk->rank == 0) { /* one element */
        walk->rank = 1;
        walk->dims[0] = walk->pad.dims[0] = 1;
    }
}

static bool is_plain(const struct kernel_chain *chain, int input)
{
    return input != 0 || (chain->type == KERNEL_F32 && !chain->is_padded);
}

static enum source source_of(const struct walk *walk, int input)
{
    bool is_dense = true, is_fixed = true;
    int64_t dense = 1;

    if (!is_plain(walk->chain, input))
        return SOURCE_SPREAD;
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        is_dense = is_dense && walk->strides[input][axis] == dense;
        is_fixed = is_fixed && walk->strides[input][axis] == 0;
        dense *= walk->dims[axis];
    }
    return is_dense ? SOURCE_DENSE : is_fixed ? SOURCE_FIXED : SOURCE_SPREAD;
}

/* After how many elements of the result a broadcast input begins again. */
static int64_t period_of(const struct walk *walk, int input)
{
    int64_t period = 1;
    int outer = 0;

    while (outer < walk->rank && walk->strides[input][outer] == 0)
        outer++;
    for (int axis = outer; axis < walk->rank; axis++)
        period *= walk->dims[axis];
    return period;
}

/* A block holds whole periods of the inputs that begin again often enough. Periods are products of
 * the last dims, so that the longest is a multiple of the others. */
static void choose_block(struct walk *walk)
{
    int64_t longest = 1;

    for (int i = 0; i < walk->chain->inputs; i++) {
        int64_t period = period_of(walk, i);

        if (walk->sources[i] != SOURCE_SPREAD || period > BLOCK || !is_plain(walk->chain, i))
            continue;
        walk->sources[i] = SOURCE_REPEAT;
        longest = period > longest ? period : longest;
    }
    walk->block = BLOCK / longest * longest;
}

static bool is_fixed(const struct walk *walk, int operand)
{
    return operand < KERNEL_CHAIN_RESULT && walk->sources[operand] == SOURCE_FIXED;
}

/* A loop takes one number beside a block, nowhere else. */
static void spread_lonely_numbers(struct walk *walk)
{
    const struct kernel_chain *chain = walk->chain;

    for (int s = 0; s < chain->steps; s++) {
        const struct kernel_chain_step *step = &chain->step[s];
        bool left = is_fixed(walk, step->operands[0]);
        bool right = step->has_two && is_fixed(walk, step->operands[1]);
        bool takes_one = step->has_two && (step->zip == ZIP_POW                ? !left && right
                                           : walk->loops->zip[step->zip][BOTH] ? !(left && right)
                                                                               : false);

        for (int k = 0; k < 1 + step->has_two; k++)
            if (!takes_one && is_fixed(walk, step->operands[k]))
                walk->sources[step->operands[k]] = SOURCE_SPREAD;
    }
}

/* Spread inputs keep a buffer; a result takes one that nobody reads any more. */
static void assign_buffers(struct walk *walk)
{
    const struct kernel_chain *chain = walk->chain;
    int last_use[OPERANDS], free_buffers[OPERANDS], free_count = 0, used = 0;

    for (int i = 0; i < chain->inputs; i++)
        walk->buffers[i] = walk->sources[i] >= SOURCE_SPREAD ? used++ : NO_BUFFER;
    for (int s = 0; s < chain->steps; s++)
        for (int k = 0; k < 1 + chain->step[s].has_two; k++)
            last_use[chain->step[s].operands[k]] = s;
    for (int s = 0; s < chain->steps; s++) {
        const int *operands = chain->step[s].operands;

        for (int k = 0; k < 1 + chain->step[s].has_two; k++)
            if (operands[k] >= KERNEL_CHAIN_RESULT && last_use[operands[k]] == s &&
                (k == 0 || operands[0] != operands[1]))
                free_buffers[free_count++] = walk->buffers[operands[k]];
        walk->buffers[KERNEL_CHAIN_RESULT + s] = free_count ? free_buffers[--free_count] : used++;
    }
    if (chain->steps > 0)
        walk->buffers[KERNEL_CHAIN_RESULT + chain->steps - 1] = NO_BUFFER; /* y */
}

static bool prepare(struct walk *walk)
{
    join_axes(walk);
    if (walk->count == 0)
        return false;
    for (int i = 0; i < walk->chain->inputs; i++)
        walk->sources[i] = source_of(walk, i);
    spread_lonely_numbers(walk);
    choose_block(walk);
    assign_buffers(walk);
    return true;
}

/* --- One block. --- */

/* `count` elements of an input from element `at` on. */
static void spread_run(const struct walk *walk, int input, float *y, int64_t at, int64_t count)
{
    enum kernel_dtype type = input == 0 ? walk->chain->type : KERNEL_F32;
    int64_t stride = walk->strides[input][walk->rank - 1],
            bytes = (int64_t)kernel_dtype_bytes(type);
    const char *x = (const char *)walk->inputs[input] + at * bytes;

    if (type == KERNEL_F32 && stride == 1)
        memcpy(y, x, (size_t)count * sizeof(*y));
    else if (type == KERNEL_F32 && stride == 0)
        walk->loops->fill(y, *(const float *)x, count);
    else if (walk->loops->load[type])
        walk->loops->load[type](y, x, stride, count);
    else if (stride == 1)
        cast_ref(y, KERNEL_F32, x, type, (size_t)count);
    else
        for (int64_t i = 0; i < count; i++)
            cast_ref(y + i, KERNEL_F32, x + i * stride * bytes, type, 1);
}

/* The same for a run that may begin before and end behind what there is of input 0: `from` is where
 * on the inner axis, `at` is element 0 of that axis. */
static void spread_padded(const struct walk *walk, float *y, int64_t at, int64_t from,
                          int64_t count, bool is_inside)
{
    int inner = walk->rank - 1;
    int64_t begin = walk->pad.begin[inner], end = begin + walk->pad.dims[inner];
    int64_t first = begin < from ? from : begin, last = end < from + count ? end : from + count;

    if (!is_inside || first >= last) {
        walk->loops->fill(y, walk->chain->pad.value, count);
        return;
    }
    walk->loops->fill(y, walk->chain->pad.value, first - from);
    spread_run(walk, 0, y + (first - from), at + (first - begin) * walk->strides[0][inner],
               last - first);
    walk->loops->fill(y + (last - from), walk->chain->pad.value, from + count - last);
}

/* Where in input 0 the row at these coordinates begins; false: it is all padding. */
static bool padded_row(const struct walk *walk, const int64_t *at, int64_t *out_offset)
{
    *out_offset = 0;
    for (int axis = 0; axis < walk->rank - 1; axis++) {
        int64_t c = at[axis] - walk->pad.begin[axis];

        if (c < 0 || c >= walk->pad.dims[axis])
            return false;
        *out_offset += c * walk->strides[0][axis];
    }
    return true;
}

/* Elements [begin, begin + count) of the result's, of an input that is broadcast. */
static void spread(const struct walk *walk, int input, float *y, int64_t begin, int64_t count)
{
    const int64_t *strides = walk->strides[input];
    bool is_padded = input == 0 && walk->chain->is_padded;
    int64_t at[KERNEL_MAX_RANK], offset = 0, rest = begin, row;
    int inner = walk->rank - 1;

    for (int axis = inner; axis >= 0; axis--) {
        at[axis] = rest % walk->dims[axis];
        rest /= walk->dims[axis];
        offset += at[axis] * strides[axis];
    }
    while (count > 0) {
        int64_t run = walk->dims[inner] - at[inner] < count ? walk->dims[inner] - at[inner] : count;

        if (is_padded) {
            bool is_inside = padded_row(walk, at, &row);

            spread_padded(walk, y, row, at[inner], run, is_inside);
        } else {
            spread_run(walk, input, y, offset, run);
        }
        y += run;
        count -= run;
        at[inner] += run;
        offset += run * strides[inner];
        for (int axis = inner; axis > 0 && at[axis] == walk->dims[axis]; axis--) {
            offset += strides[axis - 1] - at[axis] * strides[axis];
            at[axis] = 0;
            at[axis - 1]++;
        }
    }
}

/* One exponent for all of a block. */
static void run_power(const struct loops *loops, float *y, const float *a, const float *b,
                      int64_t count)
{
    struct kernel_zip_args args = {ZIP_POW, KERNEL_F32, KERNEL_F32, KERNEL_F32,
                                   1,       {count},    {1},        {0}};

    if (*b == 2.0f)
        loops->power[SQUARE](y, a, count);
    else if (*b == 3.0f)
        loops->power[CUBE](y, a, count);
    else if (*b == 0.5f)
        loops->power[ROOT](y, a, count);
    else
        loops->other(y, a, b, &args);
}

static void run_step(const struct walk *walk, const struct kernel_chain_step *step, float *y,
                     const float *a, const float *b, int64_t count)
{
    const struct loops *loops = walk->loops;

    if (step->has_two && loops->zip[step->zip][BOTH]) {
        enum form form = is_fixed(walk, step->operands[0])   ? LEFT_FIXED
                         : is_fixed(walk, step->operands[1]) ? RIGHT_FIXED
                                                             : BOTH;

        loops->zip[step->zip][form](y, a, b, count);
    } else if (step->has_two && step->zip == ZIP_POW && is_fixed(walk, step->operands[1])) {
        run_power(loops, y, a, b, count);
    } else if (step->has_two) {
        struct kernel_zip_args args = {step->zip, KERNEL_F32, KERNEL_F32, KERNEL_F32,
                                       1,         {count},    {1},        {1}};

        loops->other(y, a, b, &args);
    } else if (loops->map[step->map]) {
        loops->map[step->map](y, a, count, (float)step->a, (float)step->b);
    } else {
        struct kernel_map_args args = {step->map, KERNEL_F32, step->a, step->b};

        loops->other_map(y, a, (size_t)count, &args);
    }
}

static void run_block(const struct walk *walk, float (*buffers)[BLOCK], int64_t begin,
                      int64_t count, bool is_first)
{
    const struct kernel_chain *chain = walk->chain;
    const float *operands[OPERANDS];

    if (chain->steps == 0) {
        spread(walk, 0, walk->y + begin, begin, count);
        return;
    }
    for (int i = 0; i < chain->inputs; i++) {
        operands[i] = walk->inputs[i];
        if (walk->sources[i] == SOURCE_DENSE) {
            operands[i] += begin;
        } else if (walk->sources[i] != SOURCE_FIXED) {
            operands[i] = buffers[walk->buffers[i]];
            if (is_first || walk->sources[i] == SOURCE_SPREAD)
                spread(walk, i, buffers[walk->buffers[i]], begin, count);
        }
    }
    for (int s = 0; s < chain->steps; s++) {
        const struct kernel_chain_step *step = &chain->step[s];
        int buffer = walk->buffers[KERNEL_CHAIN_RESULT + s];
        float *y = buffer == NO_BUFFER ? walk->y + begin : buffers[buffer];

        run_step(walk, step, y, operands[step->operands[0]],
                 operands[step->operands[step->has_two ? 1 : 0]], count);
        operands[KERNEL_CHAIN_RESULT + s] = y;
    }
}

/* [begin, end) counts blocks. */
static void run_blocks(void *argument, int64_t begin, int64_t end)
{
    const struct walk *walk = argument;
    float buffers[OPERANDS][BLOCK] __attribute__((aligned(64)));

    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * walk->block, rest = walk->count - at;

        run_block(walk, buffers, at, rest < walk->block ? rest : walk->block, i == begin);
    }
}

static void run_chain(float *y, const void *const *inputs, const struct kernel_chain *chain,
                      const struct loops *loops)
{
    struct walk walk = {.chain = chain, .loops = loops, .y = y, .inputs = inputs};

    if (prepare(&walk))
        team_for((walk.count + walk.block - 1) / walk.block,
                 GRAIN / (BLOCK * (chain->steps + 1)) + 1, run_blocks, &walk);
}

/* --- The loops. --- */

ISA_BODY float zip_add(float a, float b)
{
    return a + b;
}

ISA_BODY float zip_sub(float a, float b)
{
    return a - b;
}

ISA_BODY float zip_mul(float a, float b)
{
    return a * b;
}

ISA_BODY float zip_div(float a, float b)
{
    return a / b;
}

ISA_BODY float zip_max(float a, float b)
{
    float larger = a > b ? a : b;

    return a != a ? a : larger;
}

ISA_BODY float zip_min(float a, float b)
{
    float smaller = a < b ? a : b;

    return a != a ? a : smaller;
}

ISA_BODY float zip_prelu(float a, float b)
{
    return a < 0.0f ? a * b : a;
}

#define ZIP_FUNCTIONS(X, isa)                                                                      \
    X(ADD, add, isa)                                                                               \
    X(SUB, sub, isa)                                                                               \
    X(MUL, mul, isa)                                                                               \
    X(DIV, div, isa)                                                                               \
    X(MAX, max, isa)                                                                               \
    X(MIN, min, isa)                                                                               \
    X(PRELU, prelu, isa)

/* y may be an operand: `omp simd` says that the elements have nothing to do with each other. */
#define ZIP(kind, name, isa)                                                                       \
    ISA_TARGET_##isa static void name##_both_##isa(float *y, const float *a, const float *b,       \
                                                   int64_t count)                                  \
    {                                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = zip_##name(a[i], b[i]);     \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void name##_left_##isa(float *y, const float *a, const float *b,       \
                                                   int64_t count)                                  \
    {                                                                                              \
        float fixed = a[0];                                                                        \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = zip_##name(fixed, b[i]);    \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void name##_right_##isa(float *y, const float *a, const float *b,      \
                                                    int64_t count)                                 \
    {                                                                                              \
        float fixed = b[0];                                                                        \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = zip_##name(a[i], fixed);    \
    }

/* In f64, as pow() is. */
#define POWER(name, expression, isa)                                                               \
    ISA_TARGET_##isa static void name##_##isa(float *y, const float *x, int64_t count)             \
    {                                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                    \
        {                                                                                          \
            double a = x[i];                                                                       \
                                                                                                   \
            y[i] = (float)(expression);                                                            \
        }                                                                                          \
    }

#define MAP(kind, name, isa)                                                                       \
    ISA_TARGET_##isa static void name##_##isa(float *y, const float *x, int64_t count, float a,    \
                                              float b)                                             \
    {                                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = map_##name(x[i], a, b);     \
    }

#define ZIP_LOOPS(kind, name, isa)                                                                 \
    [ZIP_##kind] = {name##_both_##isa, name##_left_##isa, name##_right_##isa},
#define MAP_LOOP(kind, name, isa) [MAP_##kind] = name##_##isa,

#define LOAD_TYPES(X, isa)                                                                         \
    X(U8, uint8_t, isa)                                                                            \
    X(I8, int8_t, isa)                                                                             \
    X(U16, uint16_t, isa)                                                                          \
    X(I16, int16_t, isa)                                                                           \
    X(I32, int32_t, isa)                                                                           \
    X(F32, float, isa)                                                                             \
    X(F64, double, isa)

#define LOAD(kind, type, isa)                                                                      \
    ISA_TARGET_##isa static void load_##type##_##isa(float *y, const void *data, int64_t stride,   \
                                                     int64_t count)                                \
    {                                                                                              \
        const type *x = data;                                                                      \
                                                                                                   \
        if (stride == 1) {                                                                         \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (float)x[i];            \
        } else {                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (float)x[i * stride];                                                       \
        }                                                                                          \
    }
#define LOAD_LOOP(kind, type, isa) [KERNEL_##kind] = load_##type##_##isa,

#define CHAIN(isa)                                                                                 \
    ZIP_FUNCTIONS(ZIP, isa)                                                                        \
    POWER(square, a *a, isa)                                                                       \
    POWER(cube, a *a *a, isa)                                                                      \
    POWER(root, a == -(double)INFINITY ? -a : sqrt(a + 0.0), isa)                                  \
    MAP_FUNCTIONS(MAP, isa)                                                                        \
    LOAD_TYPES(LOAD, isa)                                                                          \
                                                                                                   \
    ISA_TARGET_##isa static void fill_##isa(float *y, float x, int64_t count)                      \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = x;                                                                              \
    }                                                                                              \
                                                                                                   \
    void chain_##isa(float *y, const void *const *inputs, const struct kernel_chain *chain)        \
    {                                                                                              \
        static const struct loops loops = {                                                        \
            .map = {MAP_FUNCTIONS(MAP_LOOP, isa)},                                                 \
            .zip = {ZIP_FUNCTIONS(ZIP_LOOPS, isa)},                                                \
            .power = {square_##isa, cube_##isa, root_##isa},                                       \
            .fill = fill_##isa,                                                                    \
            .load = {LOAD_TYPES(LOAD_LOOP, isa)},                                                  \
            .other_map = map_##isa,                                                                \
            .other = zip_##isa,                                                                    \
        };                                                                                         \
                                                                                                   \
        run_chain(y, inputs, chain, &loops);                                                       \
    }

ISA_VERSIONS(CHAIN)
