/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of what operators read and make. */
#include "runtime/modes/io_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "runtime/graph/element.h"
#include "runtime/graph/text.h"
#include "runtime/graph/texts.h"

enum { SHOWN = 5, FILE_DIMS = 7 };

/* --- Text. --- */

/* As MegEngine writes types. */
static const char *type_text(enum dtype dtype)
{
    static const char *const names[] = {
        [DTYPE_F32] = "Float32",
        [DTYPE_U8] = "Uint8",
        [DTYPE_I8] = "Int8",
        [DTYPE_U16] = "Uint16",
        [DTYPE_I16] = "Int16",
        [DTYPE_I32] = "Int32",
        [DTYPE_I64] = "Int64",
        [DTYPE_STRING] = "String",
        [DTYPE_BOOL] = "Bool",
        [DTYPE_F16] = "Float16",
        [DTYPE_F64] = "Float64",
        [DTYPE_U32] = "Uint32",
        [DTYPE_U64] = "Uint64",
        [DTYPE_BF16] = "BFloat16",
        [DTYPE_U4] = "Uint4",
        [DTYPE_I4] = "Int4",
        [DTYPE_U2] = "Uint2",
        [DTYPE_I2] = "Int2",
        [DTYPE_F8E4M3FN] = "Float8E4M3FN",
        [DTYPE_F8E4M3FNUZ] = "Float8E4M3FNUZ",
        [DTYPE_F8E5M2] = "Float8E5M2",
        [DTYPE_F8E5M2FNUZ] = "Float8E5M2FNUZ",
        [DTYPE_F4E2M1] = "Float4E2M1",
        [DTYPE_F8E8M0] = "Float8E8M0",
    };

    return (size_t)dtype < sizeof(names) / sizeof(names[0]) && names[dtype] ? names[dtype]
                                                                            : "Unknown";
}

/* A tensor that is dumped. */
struct shown {
    const struct value *value;
    struct layout layout; /* on the device */
    struct tensor_view view;
    const char *owner, *type; /* what made it */
    const struct node *node;  /* NULL: no operator */
    const char *inputs;       /* lines */
};

static void write_layout(const struct shown *shown, FILE *out)
{
    const struct shape *shape = &shown->value->shape;
    int64_t strides[SHAPE_MAX_RANK];

    layout_strides(&shown->layout, shape, strides);
    fputc('{', out);
    for (int i = 0; i < shape->rank; i++)
        text_print(out, "%s%" PRId64 "(%" PRId64 ")", i > 0 ? "," : "", shape->dims[i], strides[i]);
    text_print(out, " %s}", type_text(shown->value->dtype));
}

static void write_values(const struct tensor_view *tensor, FILE *out)
{
    int64_t count = shape_elements(&tensor->shape);

    fputc('[', out);
    for (int64_t i = 0; i < count && i < SHOWN; i++) {
        fputs(i > 0 ? ", " : "", out);
        graph_text_element(tensor, i, 4, out);
    }
    fputs(count > SHOWN ? ", ...]" : "]", out);
}

static void write_statistics(const struct tensor_view *tensor, FILE *out)
{
    int64_t all = shape_elements(&tensor->shape), count = 0;
    long double min = INFINITY, max = -INFINITY, sum = 0, squares = 0, mean, deviations = 0;

    if (tensor->dtype == DTYPE_STRING)
        return;
    for (int64_t i = 0; i < all; i++) {
        long double x = element_get(tensor->data, tensor->dtype, i);

        if (isnan(x))
            continue;
        count++;
        min = fminl(min, x);
        max = fmaxl(max, x);
        sum += x;
        squares += x * x;
    }
    if (count == 0) {
        fprintf(out, "nan=%" PRId64, all);
        return;
    }
    mean = sum / (long double)count;
    for (int64_t i = 0; i < all; i++) {
        long double x = element_get(tensor->data, tensor->dtype, i);

        deviations += isnan(x) ? 0 : (x - mean) * (x - mean);
    }
    fprintf(out, "min=%.3Lg max=%.3Lg mean=%.3Lg l2=%.3Lg", min, max, mean,
            sqrtl(squares / (long double)count));
    if (count > 1)
        fprintf(out, " sd=%.3Lg", sqrtl(deviations / (long double)(count - 1)));
    else
        fputs(" sd=N/A", out);
    if (count < all)
        fprintf(out, " nan=%" PRId64, all - count);
}

/* The lines below "deps:", kept until the step has run. */
static int gather_inputs(struct io_dump *dump, const struct program *program, uint32_t step)
{
    const struct exec *exec = program->exec;
    size_t bytes;
    FILE *out;
    int rc = 0;

    free(dump->inputs);
    dump->inputs = NULL;
    out = open_memstream(&dump->inputs, &bytes);
    if (!out)
        return -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < exec_step(exec, step)->input_count; i++) {
        struct exec_operand operand;
        struct tensor_view view;

        if (!exec_step_input(exec, step, i, &operand))
            continue;
        rc = steps_copy(exec, &operand, &view);
        if (rc < 0)
            break;
        fprintf(out, "  [i%u]var%u: ", i, operand.value->id);
        write_values(&view, out);
        fputs(" s\n", out);
        free(view.data);
    }
    return fclose(out) == 0 ? rc : -ENOMEM;
}

static void write_block(const struct shown *shown, FILE *out)
{
    text_print(out, "var%u produced: name=%s layout=", shown->value->id, shown->value->name);
    write_layout(shown, out);
    text_print(out, " owner_opr=%s{%s}", shown->owner, shown->type);
    if (shown->node)
        fprintf(out, " opr%u", shown->node->id);
    fputs("\n deps:\n", out);
    text_put_page(shown->inputs, out);
    fputs(" val: ", out);
    write_values(&shown->view, out);
    write_statistics(&shown->view, out);
    fputs(" s\n", out);
}

/* --- Binary. --- */

static uint32_t type_code(enum dtype dtype)
{
    static const uint32_t codes[] = {
        [DTYPE_F32] = 0,         [DTYPE_U8] = 1,       [DTYPE_I8] = 2,       [DTYPE_U16] = 13,
        [DTYPE_I16] = 3,         [DTYPE_I32] = 4,      [DTYPE_I64] = 200002, [DTYPE_BOOL] = 12,
        [DTYPE_F16] = 9,         [DTYPE_F64] = 200001, [DTYPE_U32] = 200003, [DTYPE_U64] = 200004,
        [DTYPE_STRING] = 200008, [DTYPE_BF16] = 11,
    };

    /* MegEngine has no others, and none this high. */
    return (size_t)dtype < sizeof(codes) / sizeof(codes[0]) ? codes[dtype]
                                                            : 200000 + (uint32_t)dtype;
}

/* Of a text its length, u32, and its bytes. */
static bool write_elements(const struct tensor_view *view, FILE *out)
{
    const int64_t *numbers = view->data;
    size_t bytes = (size_t)shape_bytes(&view->shape, view->dtype);

    if (view->dtype != DTYPE_STRING)
        return fwrite(view->data, 1, bytes, out) == bytes;
    for (int64_t i = 0; i < shape_elements(&view->shape); i++) {
        size_t length;
        const char *text = texts_get(numbers[i], &length);
        uint32_t head = (uint32_t)length;

        if (fwrite(&head, sizeof(head), 1, out) != 1 || fwrite(text, 1, head, out) != head)
            return false;
    }
    return true;
}

static int write_file(const char *path, const struct shown *shown, struct diag *diag)
{
    const struct tensor_view *view = &shown->view;
    uint32_t head[3 + FILE_DIMS] = {[1] = type_code(view->dtype), [2] = FILE_DIMS};
    const struct value *value = shown->value;
    const struct shape *shape = &view->shape;
    char name[512];
    FILE *out;
    bool is_written;

    if (shape->rank > FILE_DIMS)
        return diag_set(diag, -ENOTSUP, "\"%s\" has %d dimensions; a dump holds at most %d",
                        value->name, shape->rank, FILE_DIMS);
    head[0] = (uint32_t)snprintf(name, sizeof(name),
                                 "var={id:%u, name:%.160s, ndim:%d, owner:%.160s{%.60s}}",
                                 value->id, value->name, shape->rank, shown->owner, shown->type);
    for (int i = 0; i < shape->rank; i++)
        head[3 + i] = (uint32_t)shape->dims[i];
    out = fopen(path, "wb");
    if (!out)
        return diag_set(diag, -errno, "cannot write %s: %s", path, strerror(errno));
    is_written = fwrite(head, sizeof(head), 1, out) == 1 &&
                 fwrite(name, 1, head[0], out) == head[0] && write_elements(view, out);
    if (fclose(out) != 0 || !is_written)
        return diag_set(diag, -EIO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

/* The variable's own file. */
static int write_own_file(const struct io_dump *dump, const struct shown *shown, struct diag *diag)
{
    char path[4096];

    if (!dump->folder)
        return 0;
    snprintf(path, sizeof(path), "%s/%06x", dump->folder, shown->value->id);
    return write_file(path, shown, diag);
}

/* --- The tool. --- */

static int before(void *user, const struct program *program, uint32_t instruction,
                  struct diag *diag)
{
    struct io_dump *dump = user;
    uint32_t step = program->instructions.items[instruction].step;

    if (!dump->text || !program->instructions.items[instruction].node)
        return 0;
    if (gather_inputs(dump, program, step) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the dump");
    return 0;
}

static int after(void *user, const struct program *program, uint32_t instruction,
                 const struct exec_step_times *times, struct diag *diag)
{
    struct io_dump *dump = user;
    const struct instruction *at = &program->instructions.items[instruction];
    const struct exec_step *step = exec_step(program->exec, at->step);
    int rc = 0;

    /* A copy in another layout is the same variable. */
    if (!at->node)
        return 0;
    for (uint32_t i = 0; rc == 0 && i < step->output_count; i++) {
        struct shown shown = {
            .owner = step->name, .type = step->type, .node = step->node, .inputs = dump->inputs};
        struct exec_operand operand;

        if (!exec_step_output(program->exec, at->step, i, &operand))
            continue;
        if (steps_copy(program->exec, &operand, &shown.view) < 0)
            return diag_set(diag, -ENOMEM, "no memory for the dump");
        shown.value = operand.value;
        shown.layout = operand.layout;
        if (dump->text)
            write_block(&shown, dump->text);
        rc = write_own_file(dump, &shown, diag);
        free(shown.view.data);
    }
    return rc;
}

/* Whether a step makes it, and it has been dumped. */
static bool is_made(const struct program *program, const struct value *value)
{
    struct exec_operand operand;

    for (uint32_t i = 0; i < exec_step_count(program->exec); i++)
        for (uint32_t k = 0; k < exec_step(program->exec, i)->output_count; k++)
            if (exec_step_output(program->exec, i, k, &operand) && operand.value == value)
                return true;
    return false;
}

/* An output after a run. */
static int show_output(const struct graph *graph, const struct exec *exec, uint32_t output,
                       struct shown *out_shown, struct diag *diag)
{
    const struct value *value = graph->outputs[output];
    const struct node *node = value->producer;
    int rc;

    *out_shown = (struct shown){
        .value = value,
        .layout = layout_row_major(value->shape.rank),
        .owner = node ? node->name : value->name,
        .type = node              ? node->op_type
                : value->is_input ? "Input"
                                  : "Constant",
        .node = node,
        .inputs = "",
    };
    rc = exec_output(exec, output, &out_shown->view);
    if (rc < 0)
        return exec_tell_output(exec, output, rc, diag);
    if (!out_shown->view.data)
        return diag_set(diag, -EINVAL, "the content of \"%s\" is not there any more", value->name);
    return 0;
}

/* An output that is a constant, an input, or another view of something: that has its elements. */
static int dump_unmade(struct io_dump *dump, const struct shown *output, struct diag *diag)
{
    struct shown shown = *output;
    char *inputs = NULL;
    size_t bytes;
    FILE *out = NULL;
    int rc = 0;

    if (dump->text && shown.node) {
        out = open_memstream(&inputs, &bytes);
        if (!out)
            return diag_set(diag, -ENOMEM, "no memory for the dump");
        fprintf(out, "  [i0]var%u: ", shown.node->inputs[0]->id);
        write_values(&shown.view, out);
        fputs(" s\n", out);
        if (fclose(out) != 0)
            rc = diag_set(diag, -ENOMEM, "no memory for the dump");
        shown.inputs = inputs;
    }
    if (rc == 0 && dump->text)
        write_block(&shown, dump->text);
    if (rc == 0)
        rc = write_own_file(dump, &shown, diag);
    free(inputs);
    return rc;
}

static int end(void *user, const struct program *program, struct diag *diag)
{
    struct io_dump *dump = user;
    struct shown shown;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < program->graph->output_count; i++) {
        if (is_made(program, program->graph->outputs[i]))
            continue;
        rc = show_output(program->graph, program->exec, i, &shown, diag);
        if (rc == 0)
            rc = dump_unmade(dump, &shown, diag);
    }
    return rc;
}

int io_dump_outputs(struct io_dump *dump, const struct graph *graph, const struct exec *exec,
                    struct diag *diag)
{
    char path[4096];
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && dump->out_folder && i < graph->output_count; i++) {
        struct shown shown;

        rc = show_output(graph, exec, i, &shown, diag);
        snprintf(path, sizeof(path), "%s/run%" PRIu64 "-var%u", dump->out_folder, dump->run,
                 graph->outputs[i]->id);
        if (rc == 0)
            rc = write_file(path, &shown, diag);
    }
    dump->run++;
    return rc;
}

struct step_tool io_dump_tool(struct io_dump *dump)
{
    return (struct step_tool){.user = dump, .before = before, .after = after, .end = end};
}

bool io_dump_looks_inside(const struct io_dump_config *config)
{
    return config->path || config->stream || config->folder;
}

bool io_dump_is_wanted(const struct io_dump_config *config)
{
    return io_dump_looks_inside(config) || config->out_folder;
}

static int check_folder(const char *path, struct diag *diag)
{
    struct stat status;

    if (!path)
        return 0;
    if (stat(path, &status) < 0)
        return diag_set(diag, -errno, "cannot dump into %s: %s; make the folder first", path,
                        strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return diag_set(diag, -ENOTDIR, "cannot dump into %s: it is no folder", path);
    return 0;
}

int io_dump_open(struct io_dump *dump, const struct io_dump_config *config, struct diag *diag)
{
    int rc = check_folder(config->folder, diag);

    *dump = (struct io_dump){
        .text = config->stream, .folder = config->folder, .out_folder = config->out_folder};
    if (rc == 0)
        rc = check_folder(config->out_folder, diag);
    if (rc < 0 || !config->path)
        return rc;
    dump->text = fopen(config->path, "w");
    dump->owns_text = true;
    return dump->text
               ? 0
               : diag_set(diag, -errno, "cannot write %s: %s", config->path, strerror(errno));
}

int io_dump_close(struct io_dump *dump, struct diag *diag)
{
    int rc = 0;

    if (dump->text && dump->owns_text) {
        bool failed = ferror(dump->text) != 0;

        if (fclose(dump->text) != 0 || failed)
            rc = diag_set(diag, -EIO, "the dump could not be written: %s", strerror(errno));
    }
    free(dump->inputs);
    *dump = (struct io_dump){0};
    return rc;
}
