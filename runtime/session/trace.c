/* SPDX-License-Identifier: Apache-2.0 */
/* What load_and_run records through liboptrace. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "client/optrace.h"
#include "runtime/exec/op_cost.h"
#include "runtime/ops/control.h"
#include "runtime/session/step_json.h"
#include "runtime/session/trace.h"
#include "runtime/session/trace_memory.h"
#include "runtime/session/trace_streams.h"

enum phase { PHASE_PREPARE, PHASE_INFER, PHASE_COMPUTE, PHASES, PHASE_NONE = PHASES };

static const char *const phase_names[PHASES] = {
    [PHASE_PREPARE] = "prepare_data", [PHASE_INFER] = "infer_shape", [PHASE_COMPUTE] = "compute"};

/* The ops of a step and of its phases; 0 for phases that it never has. */
struct step_ops {
    uint32_t op;
    uint32_t phases[PHASES];
};

/* The ops of a model's steps. Sessions of one process that run the same steps share them. */
struct op_set {
    struct op_set *next;
    uint64_t signature; /* of all that is said about the steps */
    uint32_t model;
    struct step_ops ops[]; /* by step, then by inner step */
};

static struct {
    pthread_mutex_t lock;
    struct op_set *first;
} sets = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* An inner step's event, and the phase that it is in. */
struct inner_event {
    struct optrace_event event;
    enum phase phase;
    uint64_t phase_start;
    struct optrace_counter_values begun;
};

/* When the step that a thread is at began; 0: that was not seen. */
struct step_moments {
    uint64_t start, kern;
};

/* A step costs little time, and what it works on pushes all else out of the caches: what is touched
 * for each is as few lines of memory as can be. */
struct trace {
    struct session *session;
    enum trace_detail detail; /* TRACE_DEFAULT: no phases */
    const struct op_set *set;
    uint32_t lane;  /* of the queue */
    uint32_t arena; /* who takes the arena */
    struct trace_streams streams;
    struct optrace_run run;
    /* The correlation of the launch of all steps; 0: each is handed over alone. */
    uint32_t launched;
    bool is_open;        /* its memory was told */
    bool clock_is_ticks; /* ot_clock_ticks() and optrace_ticks() are the same clock */

    /* By step: the number of the run that it was handed over in, and 1; 0: that was not seen. The
     * dispatching thread writes before it hands the step to the queue, which orders the two. */
    uint64_t *handed;
    struct inner_event *inner;            /* by inner step: the worker's */
    struct optrace_counter_values *begun; /* by step, of the worker; NULL: nothing is counted */

    _Alignas(64) struct step_moments host;   /* the dispatching thread's */
    _Alignas(64) struct step_moments device; /* the worker's */
};

/* The process's recording. */
static struct {
    pthread_mutex_t lock;
    struct trace_config config;
    bool is_wanted, has_begun;
    int result; /* of beginning */
    struct diag diag;
} recording = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What of a list can be read here. */
static int look_at_counters(const struct trace_config *config, struct diag *diag)
{
    char text[512];
    unsigned missing;
    int count = optrace_counters_status(&missing, text, sizeof(text));
    struct diag warning = {0};

    if (count > 0 && missing == 0)
        return 0;
    if (count > 0) {
        diag_set(&warning, 0, "CPU counters: %s", text);
        config->warn(&warning);
        return 0;
    }
    optrace_stop();
    return diag_set(diag, -ENODATA, "none of the CPU counters can be read: %s",
                    text[0] != '\0' ? text : "OPTRACE_DISABLE is set, or the list is empty");
}

static int connect_now(const struct trace_config *config, struct diag *diag)
{
    struct optrace_config client = {.program = "load_and_run",
                                    .required = config->required || config->counters,
                                    .counters = config->counters};
    char text[300];
    int rc = optrace_start(&client);

    if (rc == 0)
        return config->counters ? look_at_counters(config, diag) : 0;
    /* A wrong setting is a mistake even where a daemon is not needed. */
    if (!client.required && rc != -EINVAL)
        return 0;
    optrace_status(text, sizeof(text));
    return diag_set(diag, rc, "%s", text);
}

int trace_begin(struct diag *diag)
{
    int rc;

    pthread_mutex_lock(&recording.lock);
    if (recording.is_wanted && !recording.has_begun)
        recording.result = connect_now(&recording.config, &recording.diag);
    recording.has_begun = true;
    rc = recording.result;
    pthread_mutex_unlock(&recording.lock);
    return rc < 0 ? diag_set(diag, rc, "%s", recording.diag.text) : rc;
}

bool trace_is_refused(void)
{
    return recording.result < 0;
}

/* Whether somebody listens at a place, without a word: it makes no session. */
static bool is_listening(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool is_there;
    int fd;

    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    is_there =
        fd >= 0 && connect(fd, (const struct sockaddr *)&address, (socklen_t)sizeof(address)) == 0;
    if (fd >= 0)
        close(fd);
    return is_there;
}

/* Where optrace_config.socket_path says that it is looked for. */
static bool has_daemon(void)
{
    const char *named = secure_getenv("OPTRACE_SOCKET"), *folder = secure_getenv("XDG_RUNTIME_DIR");
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = "";

    if (named && named[0] != '\0')
        return is_listening(named);
    if (folder)
        snprintf(path, sizeof(path), "%s/optrace/collector.sock", folder);
    return is_listening(path) || is_listening("/run/optrace/collector.sock");
}

int trace_start(const struct trace_config *config, struct diag *diag)
{
    recording.config = *config;
    recording.is_wanted = true;
    if ((!config->required && !config->counters) || has_daemon())
        return 0;
    return trace_begin(diag);
}

int trace_check_counters(const char *list, struct diag *diag)
{
    char text[256];

    if (optrace_counters_check(list, text, sizeof(text)) == 0)
        return 0;
    return diag_set(diag, -EINVAL, "--counters: %s", text);
}

void trace_status(char *out_text, size_t bytes)
{
    optrace_status(out_text, bytes);
}

void trace_value(const char *name, double value)
{
    optrace_counter(optrace_name(OPTRACE_COUNTER, name), value);
}

void trace_stop(void)
{
    optrace_stop();
    while (sets.first) {
        struct op_set *next = sets.first->next;

        free(sets.first);
        sets.first = next;
    }
}

/* Definitions */

enum { TENSORS_MAX = 256 }; /* inputs and outputs of an op together; more are left out */

static uint32_t fill_tensors(const struct value *const *values, uint32_t count,
                             struct optrace_tensor *out_tensors, uint32_t room)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < count && used < room; i++) {
        if (!values[i] || !shape_is_known(&values[i]->shape))
            continue;
        out_tensors[used++] = (struct optrace_tensor){.name = values[i]->name,
                                                      .dims = values[i]->shape.dims,
                                                      .rank = (uint32_t)values[i]->shape.rank,
                                                      .dtype = values[i]->dtype};
    }
    return used;
}

/* What was written, without the end of its line, or NULL; the caller frees it. */
static char *take_line(struct json_writer *json)
{
    char *text = json_finish(json) == 0 ? json_take(json, NULL) : NULL;

    json_deinit(json);
    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

/* The op's parameters as JSON, or NULL; the caller frees it. */
static char *make_params(const struct exec_step *step)
{
    struct json_writer json;

    json_init_memory(&json);
    step_json_params(step, &json);
    return take_line(&json);
}

static uint32_t define_step(const struct exec_step *step, const char *id, uint32_t model)
{
    struct optrace_op_info info = OPTRACE_OP_INFO(step->name, step->type);
    struct optrace_tensor inputs[TENSORS_MAX / 2], outputs[TENSORS_MAX / 2];
    struct op_cost cost = op_cost_of(step);
    char *params = make_params(step);
    uint32_t op = 0;

    info.node_id = id;
    info.device = step->device;
    info.params = params;
    info.model = model;
    info.inputs = inputs;
    info.input_count = fill_tensors(step->inputs, step->input_count, inputs, TENSORS_MAX / 2);
    info.outputs = outputs;
    info.output_count = fill_tensors(step->outputs, step->output_count, outputs, TENSORS_MAX / 2);
    info.origins = (const char *const *)step->node->origins;
    info.origin_count = step->node->origin_count;
    info.computation_flop = cost.computation;
    info.memory_bytes = cost.memory_bytes;
    info.workspace_bytes = (int64_t)step->workspace_bytes;
    (void)optrace_op_define(&info, &op); /* op 0 is not recorded, and that is all */
    free(params);
    return op;
}

/* What a step of the execution spends its time on: a reorder prepares the data of the node that
 * needs it; what an If or a Loop does is what its inner steps do. */
static enum phase phase_of(const struct exec_step *step)
{
    if (strcmp(step->type, "Reorder") == 0 || strncmp(step->type, "CopyTo", 6) == 0)
        return PHASE_PREPARE;
    return control_is(step->node) ? PHASE_NONE : PHASE_COMPUTE;
}

/* "conv1/compute", of the node "conv1" */
static uint32_t define_phase(const struct exec_step *step, const char *id, uint32_t model,
                             enum phase phase)
{
    struct optrace_op_info info = OPTRACE_OP_INFO(NULL, "phase");
    char *name;
    uint32_t op = 0;

    if (asprintf(&name, "%s/%s", step->name, phase_names[phase]) < 0)
        return 0;
    info.name = name;
    info.node_id = id;
    info.device = step->device;
    info.model = model;
    (void)optrace_op_define(&info, &op);
    free(name);
    return op;
}

static void define_ops(const struct exec_step *step, const char *id, uint32_t model,
                       enum trace_detail detail, struct step_ops *out_ops)
{
    *out_ops = (struct step_ops){.op = define_step(step, id, model)};
    for (enum phase phase = 0; detail != TRACE_DEFAULT && phase < PHASES; phase++) {
        bool has_it = step->is_inner ? phase != PHASE_COMPUTE || phase_of(step) == phase
                                     : phase_of(step) == phase;

        if (has_it)
            out_ops->phases[phase] = detail == TRACE_ALL
                                         ? define_phase(step, id, model, phase)
                                         : optrace_name(OPTRACE_PHASE, phase_names[phase]);
    }
}

static uint32_t define_model(const struct session *session)
{
    const struct graph *graph = session->graph;
    struct optrace_model_info info = {
        .name = graph->name[0] != '\0' ? graph->name : graph->path,
        .path = graph->path,
        .format = "onnx",
        .producer = graph->producer_name[0] != '\0' ? graph->producer_name : NULL,
        .parameter_bytes = session->parameter_bytes,
    };
    uint32_t model = 0;

    (void)optrace_model_define(&info, &model);
    return model;
}

static uint64_t hash(uint64_t state, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        state = (state ^ ((const uint8_t *)bytes)[i]) * 1099511628211u; /* FNV-1a */
    return state;
}

static uint64_t sign_values(uint64_t state, const struct value *const *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i])
            state = hash(state, values[i]->shape.dims,
                         (size_t)values[i]->shape.rank * sizeof(values[i]->shape.dims[0]));
    }
    return state;
}

/* The same model with the same input shapes gives the same steps, and nothing else does. */
static uint64_t sign(const struct session *session)
{
    const char *path = session->graph->path;
    uint64_t state = hash(14695981039346656037u, path, strlen(path));

    for (uint32_t i = 0; i < exec_step_count(session->exec); i++) {
        const struct exec_step *step = exec_step(session->exec, i);

        state = hash(state, step->name, strlen(step->name) + 1);
        state = hash(state, step->implementation, strlen(step->implementation) + 1);
        state = sign_values(state, step->inputs, step->input_count);
        state = sign_values(state, step->outputs, step->output_count);
    }
    return state;
}

static struct op_set *define(const struct session *session, uint64_t signature, uint32_t model,
                             enum trace_detail detail)
{
    const struct exec *exec = session->exec;
    uint32_t count = exec_step_count(exec), inner = exec_inner_count(exec);
    struct op_set *set = malloc(sizeof(*set) + ((size_t)count + inner) * sizeof(set->ops[0]));
    char id[32];

    if (!set)
        return NULL;
    *set = (struct op_set){.signature = signature,
                           .model = model != 0 ? model : define_model(session)};
    for (uint32_t i = 0; i < count; i++) {
        snprintf(id, sizeof(id), "%u", exec_step(exec, i)->node->id);
        define_ops(exec_step(exec, i), id, set->model, detail, &set->ops[i]);
    }
    for (uint32_t i = 0; i < inner; i++) {
        snprintf(id, sizeof(id), "%u.%u", exec_step(exec, exec_inner_holder(exec, i))->node->id, i);
        define_ops(exec_inner(exec, i), id, set->model, detail, &set->ops[count + i]);
    }
    return set;
}

/* All sessions of the process are recorded in the same detail. */
static const struct op_set *find_or_define(const struct session *session, enum trace_detail detail)
{
    uint64_t signature = sign(session);
    struct op_set *set;

    pthread_mutex_lock(&sets.lock);
    for (set = sets.first; set && set->signature != signature;)
        set = set->next;
    if (!set) {
        /* One process runs one model file. */
        set = define(session, signature, sets.first ? sets.first->model : 0, detail);
        if (set) {
            set->next = sets.first;
            sets.first = set;
        }
    }
    pthread_mutex_unlock(&sets.lock);
    return set;
}

/* Recording */

/* The moment in liboptrace's unit: the same ticks on a CPU whose counter is fit for it. */
static uint64_t moment_ticks(const struct trace *trace, uint64_t ticks)
{
    return trace->clock_is_ticks ? ticks : optrace_ticks();
}

/* A part of what `whole` is about; before that is recorded, as an inner span is. */
static void record_phase(const struct optrace_event *whole, uint32_t op, uint64_t start,
                         uint64_t end)
{
    struct optrace_event event = {
        .op = op, .lane = whole->lane, .run = whole->run, .start = start, .end = end};

    if (op != 0 && start != 0)
        (void)optrace_record(&event);
}

/* The kernel of a step is one phase as a whole, seen at the moments that its event has anyway. */
static void record_kernel(const struct step_ops *ops, const struct optrace_event *event)
{
    for (enum phase phase = 0; phase < PHASES; phase++)
        record_phase(event, ops->phases[phase], event->kern, event->end);
}

/* CPU counters are read on the thread that runs the step, at the moments that its event has. */
static void end_counters(struct optrace_event *event, const struct optrace_counter_values *begun,
                         uint64_t ticks)
{
    struct optrace_counter_values ended;

    event->end = ticks;
    if (event->start != 0 && optrace_counters_read(&ended) == 0)
        (void)optrace_counters_record(event, begun, &ended);
}

/* Of a step that is under way; 0: not known. */
static uint32_t run_of(const struct trace *trace, uint32_t step)
{
    return trace->handed[step] == 0 ? 0 : (uint32_t)(trace->handed[step] - 1);
}

static void end_host(struct trace *trace, uint32_t step, uint64_t ticks)
{
    const struct optrace_event event = {
        .op = trace->set->ops[step].op,
        .start = trace->host.start,
        .kern = trace->host.kern,
        .end = ticks,
        .correlation = step + 1, /* unique in its run is enough, and short in the store */
    };

    if (event.start != 0 && event.kern != 0)
        (void)optrace_record(&event);
}

static void end_device(struct trace *trace, uint32_t step, uint64_t ticks)
{
    const struct step_ops *ops = &trace->set->ops[step];
    const struct exec_step *at = exec_step(trace->session->exec, step);
    struct optrace_event event = {
        .op = ops->op,
        .lane = at->on_device ? trace->streams.lanes[at->stream] : trace->lane,
        .run = run_of(trace, step),
        .start = trace->device.start,
        .kern = trace->device.kern,
        .end = ticks,
        .correlation = trace->launched != 0 ? trace->launched : step + 1,
    };

    if (trace->handed[step] == 0 || event.start == 0 || event.kern == 0)
        return;
    if (trace->begun)
        end_counters(&event, &trace->begun[step], ticks);
    if (trace->detail != TRACE_DEFAULT)
        record_kernel(ops, &event);
    (void)optrace_record(&event);
}

/* While nothing is recorded: a step of which only the end will be seen is none. */
static void forget(struct trace *trace, enum exec_moment moment, uint32_t step)
{
    if (moment == EXEC_HOST_START)
        trace->host = (struct step_moments){0, 0};
    else if (moment == EXEC_HOST_KERN)
        trace->handed[step] = trace->host.kern = 0;
    else if (moment == EXEC_DEVICE_START)
        trace->device = (struct step_moments){0, 0};
    else if (moment == EXEC_DEVICE_KERN)
        trace->device.kern = 0;
}

static void observe(void *user, enum exec_moment moment, uint32_t step, uint64_t ticks)
{
    struct trace *trace = user;

    if (optrace_level() == OPTRACE_OFF) {
        forget(trace, moment, step);
        return;
    }
    ticks = moment_ticks(trace, ticks);
    switch (moment) {
    case EXEC_HOST_START:
        trace->host = (struct step_moments){.start = ticks};
        break;
    case EXEC_HOST_KERN:
        trace->host.kern = ticks;
        trace->launched = 0;
        trace->handed[step] = (uint64_t)trace->run.number + 1;
        break;
    case EXEC_HOST_END:
        end_host(trace, step, ticks);
        break;
    case EXEC_DEVICE_START:
        trace->device = (struct step_moments){.start = ticks};
        if (trace->begun)
            (void)optrace_counters_read(&trace->begun[step]);
        break;
    case EXEC_DEVICE_KERN:
        trace->device.kern = ticks;
        break;
    case EXEC_DEVICE_END:
        end_device(trace, step, ticks);
        break;
    }
}

/* All steps as one. */
static void observe_launch(void *user, uint64_t start, uint64_t end)
{
    struct trace *trace = user;
    const bool is_off = optrace_level() == OPTRACE_OFF;

    for (uint32_t i = 0; i < exec_step_count(trace->session->exec); i++)
        trace->handed[i] = is_off ? 0 : (uint64_t)trace->run.number + 1;
    if (!is_off)
        trace->launched = trace_streams_launch(&trace->streams, moment_ticks(trace, start),
                                               moment_ticks(trace, end));
}

/* Within a graph these are the device's, of a run whose launch was seen. */
static bool is_seen(const struct trace *trace, uint32_t step)
{
    return optrace_level() != OPTRACE_OFF &&
           (trace->streams.launch == 0 || trace->handed[step] != 0);
}

static void observe_mark(void *user, uint32_t step, uint64_t start, uint64_t end)
{
    const struct trace *trace = user;

    if (!is_seen(trace, step))
        return;
    if (trace->streams.device_record == 0)
        trace_streams_mark(&trace->streams, step, moment_ticks(trace, start),
                           moment_ticks(trace, end));
    else
        trace_streams_mark_device(&trace->streams, exec_step(trace->session->exec, step), step,
                                  run_of(trace, step), moment_ticks(trace, end));
}

static void observe_wait(void *user, uint32_t step, uint32_t awaited, uint64_t ticks)
{
    const struct trace *trace = user;
    const struct exec *exec = trace->session->exec;

    if (is_seen(trace, step))
        trace_streams_wait(
            &trace->streams, exec_step(exec, step), exec_step(exec, awaited), awaited,
            trace->streams.launch != 0 ? run_of(trace, step) : (uint32_t)trace->run.number,
            moment_ticks(trace, ticks));
}

/* The phase that an inner step is in ends, and another begins. */
static void go_on(const struct trace *trace, uint32_t inner, enum phase next, uint64_t ticks)
{
    const struct step_ops *ops = &trace->set->ops[exec_step_count(trace->session->exec) + inner];
    struct inner_event *at = &trace->inner[inner];

    if (at->phase != PHASE_NONE)
        record_phase(&at->event, ops->phases[at->phase], at->phase_start, ticks);
    at->phase = next;
    at->phase_start = ticks;
}

static void end_inner(struct inner_event *at, uint64_t ticks)
{
    at->event.end = ticks;
    if (at->event.start != 0)
        (void)optrace_record(&at->event);
    at->event.start = 0;
}

/* Steps inside of one that is running: spans of the queue's lane, within the holder's. The holder's
 * alone is tied to what launched it. */
static void observe_inner(void *user, enum call_moment moment, uint32_t inner, uint64_t ticks)
{
    struct trace *trace = user;
    struct inner_event *at = &trace->inner[inner];

    if (optrace_level() == OPTRACE_OFF)
        return;
    ticks = moment_ticks(trace, ticks);
    switch (moment) {
    case CALL_START:
        at->event.start = at->event.kern = ticks;
        at->event.run = run_of(trace, exec_inner_holder(trace->session->exec, inner));
        at->phase = PHASE_NONE;
        if (trace->begun)
            (void)optrace_counters_read(&at->begun);
        go_on(trace, inner, PHASE_INFER, ticks);
        break;
    case CALL_PREPARE:
        go_on(trace, inner, PHASE_PREPARE, ticks);
        break;
    case CALL_KERN:
        at->event.kern = ticks;
        go_on(trace, inner, PHASE_COMPUTE, ticks);
        break;
    case CALL_END:
        if (trace->begun)
            end_counters(&at->event, &at->begun, ticks);
        if (trace->detail != TRACE_DEFAULT)
            go_on(trace, inner, PHASE_NONE, ticks);
        end_inner(at, ticks);
        break;
    }
}

/* Life */

static uint32_t define_lane(uint32_t number)
{
    char name[32] = "cpu queue";
    struct optrace_lane_info info = {
        .name = name, .device = "cpu:0", .kind = OPTRACE_LANE_QUEUE, .native_id = number};
    uint32_t lane = 0;

    if (number > 0)
        snprintf(name, sizeof(name), "cpu queue %u", number);
    (void)optrace_lane_define(&info, &lane);
    return lane;
}

/* Where the command line leaves it open the daemon has a say. */
static enum trace_detail choose_detail(enum trace_detail detail)
{
    return detail == TRACE_DEFAULT && optrace_level() == OPTRACE_DETAIL ? TRACE_OP : detail;
}

/* Outside of any run, on the calling thread. */
static void record_load(const struct session *session)
{
    struct optrace_event event = {
        .flags = OPTRACE_EVENT_REALTIME,
        .op = optrace_name(OPTRACE_PHASE, phase_names[PHASE_INFER]),
        .start = session->infer_start_ns,
        .end = session->infer_end_ns,
    };

    (void)optrace_record(&event);
}

int trace_open(struct session *session, uint32_t number, enum trace_detail detail,
               struct trace **out_trace, struct diag *diag)
{
    int rc = trace_begin(diag);
    struct trace *trace = rc == 0 ? aligned_alloc(_Alignof(struct trace), sizeof(*trace)) : NULL;
    struct exec_observer observer = {.user = trace,
                                     .moment = observe,
                                     .inner = observe_inner,
                                     .launch = observe_launch,
                                     .mark = observe_mark,
                                     .wait = observe_wait};
    uint32_t count = exec_step_count(session->exec), inner = exec_inner_count(session->exec);

    if (rc < 0)
        return rc;
    if (!trace)
        return diag_set(diag, -ENOMEM, "no memory for recording");
    *trace = (struct trace){.session = session};
    trace->detail = choose_detail(detail);
    observer.wants_phases = trace->detail != TRACE_DEFAULT;
    trace->clock_is_ticks = ot_clock_ticks_are_invariant();
    trace->handed = calloc((size_t)count + 1, sizeof(*trace->handed));
    trace->inner = calloc((size_t)inner + 1, sizeof(*trace->inner));
    if (optrace_counters_status(NULL, NULL, 0) > 0)
        trace->begun = calloc(count + 1, sizeof(*trace->begun));
    trace->set = find_or_define(session, trace->detail);
    if (!trace->handed || !trace->inner || !trace->set ||
        exec_add_observer(session->exec, &observer) < 0) {
        trace_close(&trace);
        return diag_set(diag, -ENOMEM, "no memory for recording");
    }
    trace->lane = define_lane(number);
    trace_streams_define(&trace->streams, session->exec, number);
    for (uint32_t i = 0; i < inner; i++) {
        trace->inner[i].event.op = trace->set->ops[count + i].op;
        trace->inner[i].event.lane = trace->lane;
    }
    if (trace->detail != TRACE_DEFAULT)
        record_load(session);
    trace->arena = trace_memory_arena(session);
    trace_memory_tell(session, trace->arena, optrace_alloc);
    trace->is_open = true;
    *out_trace = trace;
    return 0;
}

void trace_close(struct trace **trace_ptr)
{
    struct trace *trace = *trace_ptr;

    *trace_ptr = NULL;
    if (!trace)
        return;
    if (trace->is_open)
        trace_memory_tell(trace->session, trace->arena, optrace_free);
    exec_remove_observer(trace->session->exec, &(struct exec_observer){.user = trace});
    trace_streams_close(&trace->streams, trace->session->exec);
    free(trace->handed);
    free(trace->inner);
    free(trace->begun);
    free(trace);
}

void trace_run_begin(struct trace *trace, bool is_warmup)
{
    if (trace)
        trace->run = optrace_run_begin(trace->set->model, is_warmup ? OPTRACE_WARMUP : 0);
}

void trace_run_end(struct trace *trace)
{
    if (trace)
        optrace_run_end(trace->run);
}
