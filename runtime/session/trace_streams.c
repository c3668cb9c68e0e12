/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of streams, and their waits. */
#include "runtime/session/trace_streams.h"

#include <stdio.h>
#include <string.h>

#include "client/optrace.h"

static uint32_t define_lane(uint32_t number, const char *device)
{
    char name[32] = "cuda stream";
    struct optrace_lane_info info = {
        .name = name, .device = device, .kind = OPTRACE_LANE_STREAM, .native_id = number};
    uint32_t lane = 0;

    if (number > 0)
        snprintf(name, sizeof(name), "cuda stream %u", number);
    (void)optrace_lane_define(&info, &lane);
    return lane;
}

static uint32_t define_wait(uint32_t number)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("Stream Wait Event", "phase");
    char params[48];
    uint32_t op = 0;

    snprintf(params, sizeof(params), "{\"wait_on_stream\":%u}", number);
    info.params = params;
    (void)optrace_op_define(&info, &op);
    return op;
}

void trace_streams_define(struct trace_streams *streams, const struct exec *exec, uint32_t number)
{
    struct exec_device_facts facts = exec_device_facts(exec);
    struct optrace_op_info info = OPTRACE_OP_INFO("cuEventRecord", "cuda_driver");

    *streams = (struct trace_streams){.steps = exec_step_count(exec)};
    if (!facts.name)
        return;
    if (facts.is_graph) {
        struct optrace_op_info launch = OPTRACE_OP_INFO("cuGraphLaunch", "cuda_driver");
        struct optrace_op_info device_record = OPTRACE_OP_INFO("cuEventRecord", "phase");

        (void)optrace_op_define(&launch, &streams->launch);
        if (facts.streams > 1)
            (void)optrace_op_define(&device_record, &streams->device_record);
    }
    streams->count = facts.streams;
    for (uint32_t i = 0; i < streams->count; i++) {
        /* Streams of one session follow each other. */
        uint32_t id = number * streams->count + i;

        streams->lanes[i] = define_lane(id, facts.name);
        if (streams->count > 1)
            streams->waits[i] = define_wait(id);
    }
    if (streams->count > 1 && !facts.is_graph)
        (void)optrace_op_define(&info, &streams->record);
}

void trace_streams_close(const struct trace_streams *streams, const struct exec *exec)
{
    char text[EXEC_TIMES_TEXT + sizeof("CUDA: ")] = "CUDA: ";

    if (streams->count > 0 && exec_times_text(exec, text + strlen(text)))
        optrace_mark(optrace_name(OPTRACE_MARK, text));
}

/* Steps have the numbers from 1 on. */
static uint32_t correlation_of(const struct trace_streams *streams, uint32_t step)
{
    return streams->steps + 1 + step;
}

uint32_t trace_streams_launch(const struct trace_streams *streams, uint64_t start, uint64_t end)
{
    const struct optrace_event event = {
        .op = streams->launch, .start = start, .end = end, .correlation = 2 * streams->steps + 1};

    (void)optrace_record(&event);
    return event.correlation;
}

void trace_streams_mark(const struct trace_streams *streams, uint32_t step, uint64_t start,
                        uint64_t end)
{
    const struct optrace_event event = {.op = streams->record,
                                        .start = start,
                                        .end = end,
                                        .correlation = correlation_of(streams, step)};

    (void)optrace_record(&event);
}

void trace_streams_mark_device(const struct trace_streams *streams, const struct exec_step *awaited,
                               uint32_t step, uint32_t run, uint64_t ticks)
{
    const struct optrace_event event = {.op = streams->device_record,
                                        .lane = streams->lanes[awaited->stream],
                                        .run = run,
                                        .start = ticks,
                                        .end = ticks,
                                        .correlation = correlation_of(streams, step)};

    (void)optrace_record(&event);
}

void trace_streams_wait(const struct trace_streams *streams, const struct exec_step *waiting,
                        const struct exec_step *awaited, uint32_t awaited_step, uint32_t run,
                        uint64_t ticks)
{
    const struct optrace_event event = {.op = streams->waits[awaited->stream],
                                        .lane = streams->lanes[waiting->stream],
                                        .run = run,
                                        .start = ticks,
                                        .end = ticks,
                                        .correlation = correlation_of(streams, awaited_step)};

    (void)optrace_record(&event);
}
