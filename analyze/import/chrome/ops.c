/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a Chrome trace, and what its events are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/flop.h"
#include "analyze/import/values.h"

/* --- Categories. --- */

struct kind_name {
    const char *category;
    enum chrome_kind kind;
};

/* Kineto's of today, then those of 2021. */
static const struct kind_name kind_names[] = {
    {"cpu_op", KIND_OP},
    {"user_annotation", KIND_LABEL},
    {"cuda_runtime", KIND_RUNTIME},
    {"kernel", KIND_KERNEL},
    {"gpu_memcpy", KIND_COPY},
    {"gpu_memset", KIND_MEMSET},
    {"cuda_sync", KIND_SYNC},
    {"gpu_user_annotation", KIND_DEVICE_LABEL},
    {"Trace", KIND_LABEL},
    {"Operator", KIND_OP},
    {"Runtime", KIND_RUNTIME},
    {"Kernel", KIND_KERNEL},
    {"Memcpy", KIND_COPY},
    {"Memset", KIND_MEMSET},
    /* Paddle's, as far as they are others. */
    {"CudaRuntime", KIND_RUNTIME},
    {"ProfileStep", KIND_LABEL},
    {"UserDefined", KIND_LABEL},
    {"PythonUserDefined", KIND_LABEL},
    {"Forward", KIND_LABEL},
    {"Backward", KIND_LABEL},
    {"Optimization", KIND_LABEL},
    {"OperatorInner", KIND_PHASE},
    {"python_function", KIND_PYTHON},
};

/* How long the name of a step is without its number; 0: it is none. */
static size_t step_length(struct json_slice name)
{
    if (name.length > 13 && memcmp(name.text, "ProfilerStep#", 13) == 0)
        return 13;
    return name.length > 12 && memcmp(name.text, "ProfileStep#", 12) == 0 ? 12 : 0;
}

bool chrome_is_step(const struct chrome_event *event)
{
    return step_length(event->name) != 0 || event->arg[ARG_STEP].kind != JSON_NONE;
}

/* Paddle writes how long it took behind each name: "matmul[1.234 ms]". */
static size_t length_without_time(struct json_slice name)
{
    const char *open = memrchr(name.text, '[', name.length);
    size_t at = open ? (size_t)(open - name.text) + 1 : 0, digits = at;
    struct json_slice unit;

    while (digits < name.length &&
           (name.text[digits] == '.' || (name.text[digits] >= '0' && name.text[digits] <= '9')))
        digits++;
    if (at < 2 || digits == at || digits == name.length || name.text[digits] != ' ')
        return name.length;
    unit = (struct json_slice){name.text + digits + 1, name.length - digits - 1, JSON_STRING};
    return json_is(unit, "ns]") || json_is(unit, "us]") || json_is(unit, "ms]") ||
                   json_is(unit, "s]")
               ? at - 1
               : name.length;
}

/* What an op goes by: steps without their number, and no time. */
static struct json_slice identity_name(struct json_slice name)
{
    size_t step = step_length(name);

    if (step)
        name.length = step;
    else if (name.length && name.text[name.length - 1] == ']')
        name.length = length_without_time(name);
    return name;
}

static bool begins_with(struct json_slice text, const char *word)
{
    size_t length = strlen(word);

    return text.length >= length && memcmp(text.text, word, length) == 0;
}

/* Kineto's spans and marks of its own recording, on a process that is none. */
bool chrome_is_of_profiler(const struct chrome_event *event)
{
    if (json_is(event->category, "Trace"))
        return json_is(event->process, "Spans") || json_is(event->process, "Traces");
    return !event->category.length && (begins_with(event->name, "Iteration Start: ") ||
                                       json_is(event->name, "Record Window End"));
}

/* What torch.distributed names as "gloo:all_reduce", by backend and operation. */
static bool is_collective(const struct chrome_event *event)
{
    static const char *const backends[] = {
        "gloo:", "nccl:", "mpi:", "ucc:", "rccl:", "hccl:", "xccl:", "mccl:"};

    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (begins_with(event->name, backends[i]))
            return true;
    }
    return false;
}

enum chrome_kind chrome_kind_of(const struct chrome_event *event)
{
    for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++) {
        if (json_is(event->category, kind_names[i].category)) {
            enum chrome_kind kind = kind_names[i].kind;

            if (kind == KIND_LABEL && is_collective(event))
                return KIND_COLLECTIVE;
            return kind == KIND_OP && chrome_is_step(event) ? KIND_LABEL : kind;
        }
    }
    /* XLA's has none: steps, its operators, functions of Python ("$file.py:12 name"). */
    if (!event->category.length && event->arg[ARG_STEP].kind != JSON_NONE)
        return KIND_LABEL;
    if (!event->category.length && event->arg[ARG_HLO_OP].kind != JSON_NONE)
        return KIND_XLA;
    if (!event->category.length && event->name.length > 1 && event->name.text[0] == '$' &&
        json_is(event->phase, "X"))
        return KIND_PYTHON;
    /* The profiler before Kineto had no categories. */
    if (!event->category.length && json_is(event->process, "CPU functions"))
        return KIND_OP;
    if (!event->category.length && json_is(event->process, "CUDA functions"))
        return KIND_KERNEL;
    return KIND_OTHER;
}

static const char *type_of(enum chrome_kind kind)
{
    static const char *const types[] = {
        [KIND_OP] = "cpu_op",
        [KIND_LABEL] = "label",
        [KIND_RUNTIME] = "cuda_runtime",
        [KIND_COPY] = "copy",
        [KIND_MEMSET] = "memset",
        [KIND_DEVICE_LABEL] = "label",
        [KIND_SYNC] = "phase",
        [KIND_KERNEL] = "kernel",
        [KIND_MARK] = "mark",
        [KIND_COLLECTIVE] = "collective",
        [KIND_OTHER] = "span",
        [KIND_COUNTER] = "counter",
        [KIND_PHASE] = "phase",
        [KIND_PYTHON] = "python_function",
        [KIND_XLA] = "xla_op",
    };

    return types[kind];
}

/* --- Ops. --- */

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the trace");
}

/* Shapes or dtypes of inputs; Paddle's are lists by the name of the input: {"X":[[1,3]],"Y":[[3]]}.
 */
static char *inputs_text(struct json_slice inputs, bool are_dtypes)
{
    struct json_walk walk = json_walk_over(inputs);
    struct json_slice key, list, item;
    struct json_writer json;

    if (inputs.kind != JSON_OBJECT)
        return are_dtypes ? import_dtypes_text(inputs) : import_shapes_text(inputs);
    json_init_memory(&json);
    json_begin_array(&json);
    while (json_walk_next(&walk, &key, &list) == 1) {
        struct json_walk items = json_walk_over(list);

        while (json_walk_next(&items, &key, &item) == 1) {
            if (are_dtypes)
                import_write_dtype(&json, item);
            else
                import_write_shapes(&json, item);
        }
    }
    json_end_array(&json);
    return import_take(&json);
}

/* Frames parted by ';', the nearest first; PyTorch ends the last one so, too. NULL: none. */
static char *stack_text(struct json_slice stack)
{
    char *text = stack.kind == JSON_STRING ? json_take_text(stack) : NULL;
    size_t length = text ? strlen(text) : 0;

    while (length && text[length - 1] == ';')
        text[--length] = '\0';
    if (length)
        return text;
    free(text);
    return NULL;
}

static char *source_text(struct json_slice stack)
{
    char *text = stack_text(stack);

    if (!text)
        return NULL;
    text[strcspn(text, ";")] = '\0';
    import_place_of_frame(text);
    return text;
}

/* Steps are one op, so that a long trace has no op for each of them. */
static char *name_text(const struct chrome_event *event, const char *suffix)
{
    char *name = json_take_text(identity_name(event->name)), *both;

    if (name && step_length(event->name))
        name[strlen(name) - 1] = '*';

    if (!name || !suffix)
        return name;
    if (asprintf(&both, "%s %s", name, suffix) < 0)
        both = NULL;
    free(name);
    return both;
}

/* Ops and labels have call stacks, functions of Python are what these are made of. */
static int put_row(struct chrome *chrome, struct place_key identity,
                   const struct chrome_event *event, enum chrome_kind kind, struct store_op *row,
                   uint32_t *out_op, struct diag *diag)
{
    bool is_call = kind == KIND_OP || kind == KIND_LABEL;
    char *stack = is_call ? stack_text(event->arg[ARG_STACK]) : NULL;
    char *source = is_call ? NULL : source_text(event->arg[ARG_STACK]);
    int rc;

    row->source = source;
    rc = is_call || kind == KIND_PYTHON
             ? chrome_stacks_add(&chrome->stacks, &chrome->importer, identity, row, stack,
                                 kind == KIND_PYTHON, out_op, diag)
             : importer_put_op(&chrome->importer, identity, row, out_op, diag);
    free(stack);
    free(source);
    return rc;
}

static int put_op(struct chrome *chrome, struct place_key identity,
                  const struct chrome_event *event, enum chrome_kind kind, uint32_t lane,
                  const char *suffix, uint32_t *out_op, struct diag *diag)
{
    bool is_call = kind == KIND_OP || kind == KIND_LABEL;
    char *name = name_text(event, suffix), *shapes = inputs_text(event->arg[ARG_DIMS], false);
    char *dtypes = inputs_text(event->arg[ARG_TYPES], true),
         *parameters = chrome_params_text(event, !is_call);
    char *category =
        kind == KIND_OTHER && event->category.length ? json_take_text(event->category) : NULL;
    struct store_op row = {
        .model_id = STORE_NULL,
        .name = name,
        .type = category ? category : type_of(kind),
        .device = chrome->importer.lanes.items[lane].device,
        .input_shapes = shapes,
        .input_dtypes = dtypes,
        .params = parameters,
        .computation_flop = name && kind == KIND_OP
                                ? import_flop(name, event->arg[ARG_DIMS], (struct json_slice){0},
                                              event->arg[ARG_CONCRETE])
                                : STORE_NULL,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };
    int rc = name ? put_row(chrome, identity, event, kind, &row, out_op, diag) : no_memory(diag);

    free(name);
    free(shapes);
    free(dtypes);
    free(parameters);
    free(category);
    return rc;
}

int chrome_op(struct chrome *chrome, const struct chrome_event *event, enum chrome_kind kind,
              uint32_t lane, const char *suffix, uint32_t *out_op, struct diag *diag)
{
    const char *device = chrome->importer.lanes.items[lane].device;
    struct place_key identity = {.low = (uint64_t)kind};
    struct json_slice name = identity_name(event->name);

    if (chrome_is_own(event))
        return chrome_own_op(chrome, event, out_op, diag);
    place_key_add(&identity, name.text, name.length);
    if (kind == KIND_OTHER)
        place_key_add(&identity, event->category.text, event->category.length);
    if (device)
        place_key_add(&identity, device, strlen(device));
    if (suffix)
        place_key_add(&identity, suffix, strlen(suffix));
    for (int i = ARG_DIMS; i <= ARG_HLO_MODULE; i++) {
        if (event->arg[i].kind != JSON_NONE) {
            place_key_add(&identity, &i, sizeof(i));
            place_key_add(&identity, event->arg[i].text, event->arg[i].length);
        }
    }
    *out_op = importer_find_op(&chrome->importer, identity);
    if (*out_op != PLACE_NONE)
        return 0;
    return put_op(chrome, identity, event, kind, lane, suffix, out_op, diag);
}
