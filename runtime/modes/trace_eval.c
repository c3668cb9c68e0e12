/* SPDX-License-Identifier: Apache-2.0 */
/* Running step by step, and telling what came out. */
#include "runtime/modes/trace_eval.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/element.h"
#include "runtime/graph/text.h"

enum { ENDS = 5, SHORT = 10 };

int trace_eval_parse(const char *text, const char *what, struct diag *diag)
{
    if (text[0] >= '0' && text[0] < '0' + TRACE_EVAL_LEVELS && text[1] == '\0')
        return text[0] - '0';
    return diag_set(diag, -EINVAL, "%s is a level from 0 to %d, not \"%s\"", what,
                    TRACE_EVAL_LEVELS - 1, text);
}

/* --- What kinds of numbers. --- */

enum kind { KIND_NORMAL, KIND_SUBNORMAL, KIND_ZERO, KIND_INF, KIND_NAN, KINDS };

static const char *const kind_names[KINDS] = {"normal", "subnormal", "zero", "inf", "nan"};

/* Below this a number of the type is subnormal. */
static long double smallest_normal(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16:
        return 0x1p-14L;
    case DTYPE_F32:
    case DTYPE_BF16:
        return 0x1p-126L;
    case DTYPE_F64:
        return 0x1p-1022L;
    default:
        return 0;
    }
}

static enum kind kind_of(long double number, enum dtype dtype)
{
    if (isnan(number))
        return KIND_NAN;
    if (isinf(number))
        return KIND_INF;
    if (number == 0)
        return KIND_ZERO;
    return fabsl(number) < smallest_normal(dtype) ? KIND_SUBNORMAL : KIND_NORMAL;
}

struct statistics {
    int64_t counts[KINDS];
    int64_t finite_count;
    long double min, max, sum, squares;
};

static struct statistics gather(const struct tensor_view *tensor)
{
    int64_t count = shape_elements(&tensor->shape);
    struct statistics s = {.min = INFINITY, .max = -INFINITY};

    for (int64_t i = 0; i < count; i++) {
        long double number = element_get(tensor->data, tensor->dtype, i);
        enum kind kind = kind_of(number, tensor->dtype);

        s.counts[kind]++;
        if (kind == KIND_INF || kind == KIND_NAN)
            continue;
        s.finite_count++;
        s.min = fminl(s.min, number);
        s.max = fmaxl(s.max, number);
        s.sum += number;
        s.squares += number * number;
    }
    return s;
}

/* --- Printing. --- */

static void print_element(const struct tensor_view *tensor, int64_t i, FILE *out)
{
    graph_text_element(tensor, i, element_is_float(tensor->dtype) ? 6 : 20, out);
}

static void print_elements(const struct tensor_view *tensor, bool all, FILE *out)
{
    int64_t count = shape_elements(&tensor->shape);
    bool is_cut = !all && count > SHORT;

    fputs("Output: ", out);
    for (int64_t i = 0; i < count; i++) {
        if (is_cut && i == ENDS) {
            fputs(", ...", out);
            i = count - ENDS;
        }
        fputs(i > 0 ? ", " : "", out);
        print_element(tensor, i, out);
    }
    fputc('\n', out);
}

static void print_statistics(const struct tensor_view *tensor, FILE *out)
{
    struct statistics s = gather(tensor);
    int64_t others = s.counts[KIND_INF] + s.counts[KIND_NAN];
    long double mean, variance;
    bool has_any = false;

    if (shape_elements(&tensor->shape) == 0) {
        fputs("Output is empty\n", out);
        return;
    }
    if (tensor->dtype == DTYPE_STRING) {
        fputs("Output has texts\n", out);
        print_elements(tensor, false, out);
        return;
    }
    fputs("Output has ", out);
    for (int i = 0; i < KINDS; i++) {
        if (s.counts[i] > 0)
            text_print(out, "%s%s", has_any ? ", " : "", kind_names[i]);
        has_any = has_any || s.counts[i] > 0;
    }
    fputc('\n', out);
    print_elements(tensor, false, out);
    if (s.finite_count == 0)
        return;
    mean = s.sum / (long double)s.finite_count;
    variance = s.squares / (long double)s.finite_count - mean * mean;
    fprintf(out, "Min value: %.6Lg, Max value: %.6Lg, Mean: %.6Lg, StdDev: %.6Lg", s.min, s.max,
            mean, sqrtl(variance > 0 ? variance : 0));
    if (others > 0)
        fprintf(out, " of %" PRId64 " finite of %" PRId64 " elements", s.finite_count,
                s.finite_count + others);
    fputc('\n', out);
}

static int before(void *user, const struct program *program, uint32_t instruction,
                  struct diag *diag)
{
    const struct trace_eval *trace = user;

    fputs("Run instruction: ", trace->out);
    program_write_instruction(program, instruction, trace->out);
    fputc('\n', trace->out);
    return 0;
}

static int after(void *user, const struct program *program, uint32_t instruction,
                 const struct exec_step_times *times, struct diag *diag)
{
    const struct trace_eval *trace = user;
    uint32_t step = program->instructions.items[instruction].step;

    fprintf(trace->out, "Time: %.6gms, %.6gms\n", (double)times->host_ns * 1e-6,
            (double)times->e2e_ns * 1e-6);
    for (uint32_t i = 0; trace->level >= TRACE_EVAL_VALUES; i++) {
        struct exec_operand operand;
        struct tensor_view view;

        if (i >= exec_step(program->exec, step)->output_count)
            break;
        if (!exec_step_output(program->exec, step, i, &operand))
            continue;
        if (steps_copy(program->exec, &operand, &view) < 0)
            return diag_set(diag, -ENOMEM, "no memory to show what \"%s\" made",
                            exec_step(program->exec, step)->name);
        print_statistics(&view, trace->out);
        if (trace->level == TRACE_EVAL_ALL)
            print_elements(&view, true, trace->out);
        free(view.data);
    }
    return 0;
}

struct step_tool trace_eval_tool(struct trace_eval *trace)
{
    return (struct step_tool){.user = trace, .before = before, .after = after};
}
