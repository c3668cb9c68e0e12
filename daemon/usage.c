/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of processor time and of the store's size; the room that is left. */
#include "daemon/usage.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "daemon/pace.h"

/* Ticks of the timer between two looks at the store's size. */
enum { STORE_TICKS = 60000 / PACE_SAMPLE_MS };

static uint64_t time_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_usec * 1000;
}

static uint64_t cpu_ns(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return time_ns(&used.ru_utime) + time_ns(&used.ru_stime);
}

/* Of the file alone: its log grows and is emptied. */
static uint64_t file_bytes(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void take_samples(struct usage *usage)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

    if (usage->tick % STORE_TICKS == 0)
        usage->store[usage->store_count++ % USAGE_STORE_SAMPLES] =
            (struct usage_sample){now_ns, file_bytes(usage->store_path)};
    usage->cpu[usage->tick++ % USAGE_CPU_SAMPLES] = (struct usage_sample){now_ns, cpu_ns()};
    for (struct session *s = collector_sessions(usage->collector); s; s = s->next)
        pace_sample(&s->pace, now_ns, s->event_count);
}

static void on_timer(uv_timer_t *timer)
{
    take_samples(timer->data);
}

void usage_start(struct usage *usage, uv_loop_t *loop, struct collector *collector,
                 const char *store_path, uint64_t budget_bytes)
{
    *usage = (struct usage){
        .collector = collector, .store_path = store_path, .budget_bytes = budget_bytes};
    uv_timer_init(loop, &usage->timer);
    usage->timer.data = usage;
    uv_unref((uv_handle_t *)&usage->timer);
    take_samples(usage);
    uv_timer_start(&usage->timer, on_timer, PACE_SAMPLE_MS, PACE_SAMPLE_MS);
}

void usage_stop(struct usage *usage)
{
    uv_close((uv_handle_t *)&usage->timer, NULL);
}

static const struct usage_sample *oldest(const struct usage_sample *samples, uint32_t count,
                                         uint32_t room)
{
    return &samples[count < room ? 0 : count % room];
}

/* Until the budget is reached, or the disk is full. */
static uint64_t room_bytes(const struct usage *usage, uint64_t store_bytes)
{
    uint64_t room = UINT64_MAX, free_bytes;
    struct statvfs disk;

    if (usage->budget_bytes > 0)
        room = usage->budget_bytes > store_bytes ? usage->budget_bytes - store_bytes : 0;
    if (statvfs(usage->store_path, &disk) < 0)
        return room;
    free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return free_bytes < room ? free_bytes : room;
}

struct ot_wire_usage usage_look(const struct usage *usage, uint64_t store_bytes)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC), now_bytes = file_bytes(usage->store_path);
    const struct usage_sample *cpu = oldest(usage->cpu, usage->tick, USAGE_CPU_SAMPLES),
                              *store =
                                  oldest(usage->store, usage->store_count, USAGE_STORE_SAMPLES);

    return (struct ot_wire_usage){
        .header = ot_wire_header(OT_FRAME_USAGE, sizeof(struct ot_wire_usage)),
        .budget_bytes = usage->budget_bytes,
        .room_bytes = room_bytes(usage, store_bytes),
        .growth_bytes = now_bytes > store->amount ? now_bytes - store->amount : 0,
        .growth_ns = now_ns - store->time_ns,
        .cpu_ns = cpu_ns() - cpu->amount,
        .cpu_window_ns = now_ns - cpu->time_ns,
    };
}
