/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one module make a line. Which module a row is of stands in its op's call stack, where
 * PyTorch has a frame for each module, or in what TorchScript says; a row without either is of the
 * module of what it lies in. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/json/text.h"
#include "analyze/metrics/averages_rows.h"
#include "analyze/query/call_stack.h"
#include "analyze/query/lane_use.h"
#include "analyze/stats/groups.h"
#include "base/text_buffer.h"

static const char outside_name[] = "(outside of modules)";
static const char frame_prefix[] = "nn.Module: ";

enum { FRAMES_MAX = 512 };
#define OUTSIDE  (UINT32_MAX - 1) /* of what has a stack without a module */
#define FROM_ROW (UINT32_MAX)     /* of what has no stack */

struct modules {
    const struct average_rows *rows;
    struct averages *out;
    struct place_map lines;        /* path to its line */
    ARRAY_OF(uint32_t) parents;    /* beside the lines: the module around, or OUTSIDE */
    ARRAY_OF(uint64_t) row_counts; /* the same: rows in it, also further inside */
    uint32_t outside;              /* line of what is in none; OUTSIDE: there is none yet */
    uint32_t *of_op;               /* beside the ops: line, OUTSIDE or FROM_ROW */
    uint32_t *inside;              /* beside the spans: the same, never FROM_ROW */
};

/* --- Lines. --- */

static int add_line(struct modules *modules, const char *name, uint32_t parent, uint32_t *out_line)
{
    const struct average_rows *rows = modules->rows;
    struct averages *averages = modules->out;
    const struct average_line line = {
        .name = query_keep(&averages->texts, name),
        .side = OP_HOST,
        .recording_ns = rows->recording_ns ? 0 : NAN,
        .device_ns = rows->has_device ? 0 : NAN,
        .self_device_ns = rows->has_device ? 0 : NAN,
        .cpu_bytes = rows->has_memory[OP_HOST] ? 0 : NAN,
        .self_cpu_bytes = rows->has_memory[OP_HOST] ? 0 : NAN,
        .device_bytes = rows->has_memory[OP_DEVICE] ? 0 : NAN,
        .self_device_bytes = rows->has_memory[OP_DEVICE] ? 0 : NAN,
        .computation_flop = NAN,
    };

    *out_line = (uint32_t)averages->lines.count;
    if (averages->texts.failed || array_push(&averages->lines, line) < 0 ||
        array_push(&modules->parents, parent) < 0 || array_push(&modules->row_counts, 0) < 0)
        return -ENOMEM;
    return 0;
}

/* The line of a path such as "Net_0/Linear_1", made with those around it when it is new. */
static int find_line(struct modules *modules, const char *path, size_t length, uint32_t *out_line)
{
    struct place_key key = {0};
    const char *last = memrchr(path, '/', length);
    uint32_t parent = OUTSIDE;
    char *name;
    int rc = 0;

    place_key_add(&key, path, length);
    *out_line = place_map_find(&modules->lines, key);
    if (*out_line != PLACE_NONE)
        return 0;
    if (last)
        rc = find_line(modules, path, (size_t)(last - path), &parent);
    name = rc == 0 ? strndup(path, length) : NULL;
    if (!name)
        return -ENOMEM;
    rc = add_line(modules, name, parent, out_line);
    if (rc == 0)
        rc = place_map_set(&modules->lines, key, *out_line);
    free(name);
    return rc;
}

/* --- Which module an op is of. --- */

static bool is_module(const char *name, size_t length)
{
    const size_t prefix = sizeof(frame_prefix) - 1;

    return length > prefix && memcmp(name, frame_prefix, prefix) == 0;
}

/* Adds to a path, with its own slashes out of the way. */
static void add_part(struct text_buffer *path, const char *name, size_t length)
{
    if (path->length)
        text_buffer_add(path, "/", 1);
    for (size_t i = 0; i < length; i++)
        text_buffer_add(path, name[i] == '/' ? "|" : name + i, 1);
}

/* The modules among the frames of a stack, the outermost first. */
static void path_of_stack(const char *stack, struct text_buffer *path)
{
    const size_t prefix = sizeof(frame_prefix) - 1;
    const char *frames[FRAMES_MAX];
    size_t lengths[FRAMES_MAX], count = 0;

    while (count < FRAMES_MAX && call_stack_next(&stack, &frames[count], &lengths[count]))
        count += is_module(frames[count], lengths[count]);
    while (count-- > 0)
        add_part(path, frames[count] + prefix, lengths[count] - prefix);
}

/* "TOP(Net).conv(Conv2d)" of TorchScript. */
static void path_of_script(const char *params, struct text_buffer *path)
{
    struct json_slice slice = json_member(json_value(params, strlen(params)), "module");
    char *text = slice.kind == JSON_STRING ? json_take_text(slice) : NULL;

    for (char *part = text, *rest; part && *part; part = rest) {
        rest = part + strcspn(part, ".");
        add_part(path, part, (size_t)(rest - part));
        rest += *rest == '.';
    }
    free(text);
}

static int find_of_op(struct modules *modules, const char *params, uint32_t *out_line)
{
    char *stack = call_stack_of(params);
    struct text_buffer path = {0};
    int rc = 0;

    *out_line = stack ? OUTSIDE : FROM_ROW;
    if (stack)
        path_of_stack(stack, &path);
    if (!path.length && params && strstr(params, "\"module\""))
        path_of_script(params, &path);
    if (path.failed)
        rc = -ENOMEM;
    else if (path.length)
        rc = find_line(modules, path.text, path.length, out_line);
    text_buffer_deinit(&path);
    free(stack);
    return rc;
}

/* --- Rows. --- */

/* The module that a function of Python stands for, inside of another. */
static int enter_module(struct modules *modules, const char *name, uint32_t around,
                        uint32_t *out_line)
{
    const size_t prefix = sizeof(frame_prefix) - 1;
    struct text_buffer path = {0};
    int rc;

    if (around != OUTSIDE)
        text_buffer_print(&path, "%s", modules->out->lines.items[around].name);
    add_part(&path, name + prefix, strlen(name) - prefix);
    rc = path.failed ? -ENOMEM : find_line(modules, path.text, path.length, out_line);
    text_buffer_deinit(&path);
    if (rc == 0)
        modules->out->lines.items[*out_line].calls++;
    return rc;
}

/* Outer spans come first, so that what one lies in is known. */
static int find_inside(struct modules *modules)
{
    const struct spans_answer *spans = modules->rows->spans;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        const char *name = span_op(spans, span)->name;
        uint32_t around = span->parent == SPAN_NONE ? OUTSIDE : modules->inside[span->parent];
        uint32_t own = modules->of_op[span->op];

        modules->inside[i] = own == FROM_ROW ? around : own;
        if (span_is_python(spans, span)) {
            modules->inside[i] = around;
            if (is_module(name, strlen(name)))
                rc = enter_module(modules, name, around, &modules->inside[i]);
        }
    }
    return rc;
}

/* Self values to the line, all of them to those around it, too. */
static void add_row(struct modules *modules, size_t place, uint32_t number)
{
    const struct average_rows *rows = modules->rows;
    const struct average_cost *cost = &rows->costs[place];
    int64_t flop = rows->spans->ops.items[rows->spans->spans.items[place].op].computation_flop;
    struct average_line *line = &modules->out->lines.items[number];

    line->self_cpu_ns += (double)cost->self_cpu_ns;
    line->recording_ns += rows->recording_ns ? rows->recording_ns[place] : NAN;
    line->self_device_ns += (double)cost->self_device_ns;
    line->self_cpu_bytes += (double)cost->self_bytes[OP_HOST];
    line->self_device_bytes += (double)cost->self_bytes[OP_DEVICE];
    for (; number != OUTSIDE; number = modules->parents.items[number]) {
        line = &modules->out->lines.items[number];
        modules->row_counts.items[number]++;
        line->cpu_ns += (double)cost->self_cpu_ns;
        line->device_ns += (double)cost->self_device_ns;
        line->cpu_bytes += (double)cost->self_bytes[OP_HOST];
        line->device_bytes += (double)cost->self_bytes[OP_DEVICE];
        if (flop != STORE_NULL)
            line->computation_flop =
                (isnan(line->computation_flop) ? 0 : line->computation_flop) + (double)flop;
    }
}

static int add_rows(struct modules *modules)
{
    const struct average_rows *rows = modules->rows;
    const struct spans_answer *spans = rows->spans;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        uint32_t line = modules->inside[i];

        if (rows->row[i] != i || span_is_device(spans, &spans->spans.items[i]) ||
            !spans->spans.items[i].is_shown)
            continue;
        if (line == OUTSIDE && modules->outside == OUTSIDE)
            rc = add_line(modules, outside_name, OUTSIDE, &modules->outside);
        if (rc == 0)
            add_row(modules, i, line == OUTSIDE ? modules->outside : line);
    }
    return rc;
}

/* Leaves out modules in which nothing that is asked for ran. */
static void drop_empty(struct modules *modules)
{
    struct averages *out = modules->out;
    size_t kept = 0;

    for (size_t i = 0; i < out->lines.count; i++) {
        if (!modules->row_counts.items[i])
            continue;
        out->module_count += i != modules->outside;
        out->lines.items[kept++] = out->lines.items[i];
    }
    out->lines.count = kept;
}

int averages_by_module(const struct average_rows *rows, struct averages *out_averages)
{
    const struct spans_answer *spans = rows->spans;
    struct modules modules = {
        .rows = rows,
        .out = out_averages,
        .outside = OUTSIDE,
        .of_op = malloc((spans->ops.count + 1) * sizeof(*modules.of_op)),
        .inside = malloc((spans->spans.count + 1) * sizeof(*modules.inside)),
    };
    int rc = modules.of_op && modules.inside ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->ops.count && rc == 0; i++)
        rc = find_of_op(&modules, spans->ops.items[i].params, &modules.of_op[i]);
    if (rc == 0)
        rc = find_inside(&modules);
    if (rc == 0)
        rc = add_rows(&modules);
    if (rc == 0)
        drop_empty(&modules);
    place_map_deinit(&modules.lines);
    array_deinit(&modules.parents);
    array_deinit(&modules.row_counts);
    free(modules.of_op);
    free(modules.inside);
    return rc;
}
