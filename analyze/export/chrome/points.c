/* SPDX-License-Identifier: Apache-2.0 */
/* What is no span in a Chrome trace: memory, with its sum as a counter; counters; losses. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/export/chrome/private.h"
#include "analyze/metrics/span_counters.h"

static void add_place(struct chrome_writer *writer, uint32_t lane)
{
    chrome_add_int(writer, "pid", writer->places[lane].pid);
    chrome_add_int(writer, "tid", writer->places[lane].tid);
}

/* --- Memory. --- */

/* What is held where: the sum of each process, and the size behind each address, as some give
 * memory back without saying how much. */
struct held {
    struct place_map addresses; /* process and address to places in `bytes` */
    ARRAY_OF(int64_t) bytes;
    struct place_map processes; /* to places in `sums` */
    ARRAY_OF(int64_t) sums;
};

static int find_slot(struct place_map *map, struct place_key key, uint32_t next, uint32_t *out_slot)
{
    *out_slot = place_map_find(map, key);
    if (*out_slot != PLACE_NONE)
        return 0;
    *out_slot = next;
    return place_map_set(map, key, next);
}

/* Counts a row; *out_sum is what the process holds now. */
static int count_memory(struct held *held, int64_t pid, const struct memory_row *row,
                        int64_t *out_sum)
{
    struct place_key process = {.low = (uint64_t)pid};
    struct place_key address = {.low = (uint64_t)row->address, .high = (uint64_t)pid};
    int64_t bytes = row->bytes;
    uint32_t slot;

    if (row->address != STORE_NULL) {
        if (find_slot(&held->addresses, address, (uint32_t)held->bytes.count, &slot) < 0 ||
            (slot == held->bytes.count && array_push(&held->bytes, 0) < 0))
            return -ENOMEM;
        if (bytes == STORE_NULL)
            bytes = -held->bytes.items[slot];
        held->bytes.items[slot] = bytes > 0 ? bytes : 0;
    }
    if (find_slot(&held->processes, process, (uint32_t)held->sums.count, &slot) < 0 ||
        (slot == held->sums.count && array_push(&held->sums, 0) < 0))
        return -ENOMEM;
    if (bytes != STORE_NULL && __builtin_add_overflow(held->sums.items[slot], bytes, out_sum))
        *out_sum = 0; /* nobody holds that much: sizes are damaged */
    else if (bytes == STORE_NULL)
        *out_sum = held->sums.items[slot];
    held->sums.items[slot] = *out_sum;
    return 0;
}

/* The numbers that PyTorch has for kinds of devices; 0 is the host. */
static int device_type(const char *device)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {{"cuda:", 1}, {"hip:", 6}, {"xpu:", 12}};

    for (size_t i = 0; device && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strncmp(device, types[i].name, strlen(types[i].name)) == 0)
            return types[i].type;
    }
    return 0;
}

/* Which op it is, and at the first time all about it: it may be in no span. */
static void add_owner(struct chrome_writer *writer, struct chrome_text *op)
{
    chrome_add(writer, ",");
    text_buffer_add(&writer->line, op->args,
                    op->is_told ? strcspn(op->args, ",") : strlen(op->args));
    if (!op->is_told)
        text_buffer_print(&writer->line, ",\"optrace owner\":{%s}", op->head);
    op->is_told = true;
}

static void write_memory(struct chrome_writer *writer, const struct memory_row *row)
{
    const char *device = writer->spans->lanes.items[row->lane].device;
    int type = device_type(device);

    chrome_begin(writer, "i");
    chrome_add(writer, ",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"s\":\"t\"");
    add_place(writer, row->lane);
    chrome_add_time(writer, "ts", row->time_ns);
    text_buffer_print(&writer->line, ",\"args\":{\"Device Type\":%d", type);
    chrome_add_int(writer, "Device Id", type ? atoll(strchr(device, ':') + 1) : -1);
    if (row->address != STORE_NULL)
        chrome_add_int(writer, "Addr", row->address);
    if (row->bytes != STORE_NULL)
        chrome_add_int(writer, "Bytes", row->bytes);
    if (row->op != SPAN_NONE)
        add_owner(writer, &writer->ops[row->op]);
    chrome_add(writer, "}");
    chrome_end(writer);
}

static void write_sum(struct chrome_writer *writer, uint32_t lane, int64_t time_ns, int64_t bytes)
{
    chrome_begin(writer, "C");
    chrome_add(writer, ",\"name\":\"memory\",\"cat\":\"optrace.sum\"");
    add_place(writer, lane);
    chrome_add_time(writer, "ts", time_ns);
    text_buffer_print(&writer->line, ",\"args\":{\"bytes\":%" PRId64 "}", bytes);
    chrome_end(writer);
}

static int write_all_memory(struct chrome_writer *writer)
{
    const struct memory_row_array *memory = writer->export->memory;
    struct held held = {0};
    int64_t sum;
    int rc = 0;

    for (size_t i = 0; i < memory->count && rc == 0; i++) {
        const struct memory_row *row = &memory->items[i];

        rc = count_memory(&held, writer->places[row->lane].pid, row, &sum);
        write_memory(writer, row);
        if (rc == 0)
            write_sum(writer, row->lane, row->time_ns, sum);
    }
    place_map_deinit(&held.addresses);
    place_map_deinit(&held.processes);
    array_deinit(&held.bytes);
    array_deinit(&held.sums);
    return rc;
}

/* --- Counters and losses. --- */

/* What was counted in a kernel, as Kineto writes it. */
static void write_kernel_counter(struct chrome_writer *writer, const struct counter_row *row,
                                 size_t length, const char *value)
{
    const char *name = writer->spans->ops.items[row->op].name;
    struct text_buffer kernel = {0};

    text_buffer_add(&kernel, name, length);
    chrome_begin(writer, "X");
    chrome_add(writer, ",\"cat\":\"cuda_profiler_range\",\"name\":");
    chrome_add_text(&writer->line, text_buffer_text(&kernel));
    add_place(writer, row->lane);
    chrome_add_time(writer, "ts", row->time_ns);
    chrome_add(writer, ",\"dur\":0,\"args\":{");
    chrome_add_text(&writer->line, name + length + 1);
    chrome_add(writer, ":");
    chrome_add(writer, value);
    chrome_add(writer, "}");
    chrome_end(writer);
    text_buffer_deinit(&kernel);
}

static void write_counter(struct chrome_writer *writer, const struct counter_row *row)
{
    size_t kernel = kernel_counter_length(&writer->spans->ops.items[row->op]);
    char value[40];

    if (row->value - row->value != 0)
        return; /* JSON has neither infinities nor NaN */
    snprintf(value, sizeof(value), "%.17g", row->value);
    if (kernel) {
        write_kernel_counter(writer, row, kernel, value);
        return;
    }
    chrome_begin(writer, "C");
    chrome_add(writer, ",");
    chrome_add(writer, writer->ops[row->op].head);
    add_place(writer, row->lane);
    chrome_add_time(writer, "ts", row->time_ns);
    chrome_add(writer, ",\"args\":{\"value\":");
    chrome_add(writer, value);
    chrome_add(writer, "}");
    chrome_end(writer);
}

static uint32_t find_lane(const struct spans_answer *spans, const struct loss_row *loss)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        if (spans->lanes.items[i].lane_id == loss->lane_id)
            return (uint32_t)i;
    }
    return SPAN_NONE;
}

static void write_loss(struct chrome_writer *writer, const struct loss_row *loss)
{
    uint32_t lane = find_lane(writer->spans, loss);
    struct text_buffer name = {0};

    if (loss->start_ns == STORE_NULL)
        return; /* no place on a line of time */
    if (loss->lost_count == STORE_NULL)
        text_buffer_print(&name, "unknown number of events lost: %s", loss->reason);
    else
        text_buffer_print(&name, "%" PRId64 " events lost: %s", loss->lost_count, loss->reason);
    chrome_begin(writer, "i");
    chrome_add(writer, ",\"name\":");
    chrome_add_text(&writer->line, text_buffer_text(&name));
    chrome_add(writer, lane == SPAN_NONE ? ",\"cat\":\"optrace.loss\",\"s\":\"p\""
                                         : ",\"cat\":\"optrace.loss\",\"s\":\"t\"");
    if (lane == SPAN_NONE)
        chrome_add_int(writer, "pid", chrome_pid(writer, loss->session_id));
    else
        add_place(writer, lane);
    chrome_add_time(writer, "ts", loss->start_ns);
    chrome_add(writer, ",\"args\":{\"reason\":");
    chrome_add_text(&writer->line, loss->reason);
    if (loss->lost_count == STORE_NULL)
        chrome_add(writer, ",\"lost_count\":null");
    else
        chrome_add_int(writer, "lost_count", loss->lost_count);
    if (loss->end_ns != STORE_NULL)
        chrome_add_duration(writer, "until_us",
                            (int64_t)((uint64_t)loss->end_ns - (uint64_t)loss->start_ns));
    chrome_add(writer, "}");
    chrome_end(writer);
    writer->line.failed |= name.failed;
    text_buffer_deinit(&name);
}

int chrome_write_points(struct chrome_writer *writer)
{
    const struct counter_row_array *counters = writer->export->counters;
    const struct basis *basis = &writer->spans->basis;
    int rc = write_all_memory(writer);

    for (size_t i = 0; i < counters->count; i++)
        write_counter(writer, &counters->items[i]);
    for (size_t i = 0; i < basis->losses.count; i++)
        write_loss(writer, &basis->losses.items[i]);
    return rc;
}
