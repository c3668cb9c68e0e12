/* SPDX-License-Identifier: Apache-2.0 */
/* What each level asks of CUPTI, and what is taken back where it is too much. */
#include <stddef.h>

#include "client/inject/cupti/private.h"

/* Events are recorded and waited for. */
static const uint16_t runtime_events[] = {135, 147, 242, 247, 370, 371};
static const uint16_t driver_events[] = {119, 295, 436, 441, 587, 588};

/* What the level of memory has more than the one below. */
static const struct {
    uint32_t kind;
    const char *what;
} of_memory[] = {{CUPTI_MEMORY, "memory of the device is"},
                 {CUPTI_POOL, "pools of memory are"},
                 {CUPTI_EVENT, "events of streams are"},
                 {CUPTI_SYNC, "waits of streams are"},
                 {CUPTI_JIT, "what the driver compiles is"}};

static const char *const names[] = {"host", "graph", "node", "memory", "all"};

static const struct cupti *cupti;
static enum cupti_level level; /* atomic */
static bool is_enabled[CUPTI_KINDS];

const char *cupti_level_name(enum cupti_level which)
{
    return names[which];
}

enum cupti_level cupti_level_now(void)
{
    return (enum cupti_level)__atomic_load_n(&level, __ATOMIC_RELAXED);
}

/* Newer functions are unknown to older libraries, which say so: there is nothing to miss. Where none
 * can be had something is. */
static int switch_list(uint32_t is_on, uint32_t domain, const uint16_t *calls, size_t count)
{
    int rc = 0, last = 0;
    size_t failed = 0;

    for (size_t i = 0; i < count; i++) {
        rc = cupti->enable_callback(is_on, cupti->subscriber, domain, calls[i]);
        failed += rc != 0;
        last = rc ? rc : last;
    }
    return failed == count ? last : 0;
}

static int switch_domain(uint32_t is_on, uint32_t domain)
{
    size_t count;
    const uint16_t *calls = cupti_calls(domain, &count);

    return switch_list(is_on, domain, calls, count);
}

static void switch_calls(uint32_t is_on)
{
    int rc = switch_domain(is_on, CUPTI_RUNTIME);

    if (rc == 0)
        rc = switch_domain(is_on, CUPTI_DRIVER);
    if (rc != 0)
        cupti_say("calls of the program are %s of (error %d of cuptiEnableCallback)",
                  is_on ? "not told" : "still told", rc);
}

static void switch_events(uint32_t is_on)
{
    int rc = switch_list(is_on, CUPTI_RUNTIME, runtime_events,
                         sizeof(runtime_events) / sizeof(uint16_t));

    if (rc == 0)
        rc = switch_list(is_on, CUPTI_DRIVER, driver_events,
                         sizeof(driver_events) / sizeof(uint16_t));
    if (rc != 0)
        cupti_say("calls that record events are %s of (error %d of cuptiEnableCallback)",
                  is_on ? "not told" : "still told", rc);
}

static void switch_all_calls(uint32_t is_on)
{
    int rc = cupti->enable_domain(is_on, cupti->subscriber, CUPTI_RUNTIME);

    if (rc == 0)
        rc = cupti->enable_domain(is_on, cupti->subscriber, CUPTI_DRIVER);
    if (rc == 0)
        return;
    cupti_say(is_on ? "not each call of the program is told of (error %d of cuptiEnableDomain)"
                    : "each call of the program is still told of (error %d of cuptiEnableDomain)",
              rc);
    if (is_on)
        switch_calls(1);
}

/* Whose the nodes of graphs are. From toolkit 13.4 on records say which node they are a copy of; the
 * name of a graph that is one span is found by the copies in any case. */
static void enable_nodes(void)
{
    int rc = cupti->get_node_id ? 0 : -1;

    if (rc == 0)
        rc = cupti->enable_callback(1, cupti->subscriber, CUPTI_RESOURCE, CUPTI_NODE_CREATED);
    if (rc == 0 && (cupti_level_now() == CUPTI_LEVEL_GRAPH ||
                    !cupti_record_has(cupti, CUPTI_KERNEL, sizeof(struct cupti_kernel))))
        rc = cupti->enable_callback(1, cupti->subscriber, CUPTI_RESOURCE, CUPTI_NODE_CLONED);
    if (rc > 0)
        cupti_say("which op captured a graph's kernel is not known (error %d)", rc);
}

static bool has(uint32_t kind)
{
    return cupti->record_bytes[kind] > 0;
}

static int enable(uint32_t kind)
{
    const int rc = cupti->enable(kind);

    is_enabled[kind] = rc == 0;
    return rc;
}

/* One that is not there is not missed; one that is refused is. */
static void enable_more(uint32_t kind, const char *what)
{
    const int rc = has(kind) ? enable(kind) : 0;

    if (rc != 0)
        cupti_say("%s not recorded (error %d of cuptiActivityEnable)", what, rc);
}

static int enable_kinds(void)
{
    static const uint32_t needed[] = {CUPTI_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(needed) / sizeof(needed[0]); i++)
        rc = enable(needed[i]);
    if (rc != 0)
        return rc;
    enable_more(CUPTI_MEMCPY2, "copies between devices are");
    enable_more(CUPTI_CONTEXT, "green contexts by name are");
    enable_more(CUPTI_OVERHEAD, "what CUPTI itself takes is");
    if (cupti_level_now() == CUPTI_LEVEL_GRAPH)
        enable_more(CUPTI_GRAPH, "graphs as one are");
    if (cupti_level_now() >= CUPTI_LEVEL_MEMORY)
        for (size_t i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]); i++)
            enable_more(of_memory[i].kind, of_memory[i].what);
    return 0;
}

static void disable(uint32_t kind)
{
    const int rc = is_enabled[kind] ? cupti->disable(kind) : 0;

    is_enabled[kind] = false;
    if (rc != 0)
        cupti_say("CUPTI records on what is not wanted any more (error %d of cuptiActivityDisable)",
                  rc);
}

static void disable_kinds(void)
{
    for (uint32_t kind = 0; kind < CUPTI_KINDS; kind++)
        disable(kind);
}

int cupti_level_begin(const struct cupti *library, enum cupti_level wanted)
{
    uint8_t yes = 1;
    size_t bytes = sizeof(yes);
    int rc;

    cupti = library;
    __atomic_store_n(&level, wanted, __ATOMIC_RELAXED);
    rc = cupti->set_attribute(CUPTI_ZEROED_BUFFERS, &bytes, &yes);
    if (rc != 0)
        cupti_say("CUPTI clears each buffer, which takes time (error %d)", rc);
    rc = cupti->register_callbacks(cupti_buffers_request, cupti_buffers_complete);
    if (rc == 0)
        rc = enable_kinds();
    if (rc != 0) {
        disable_kinds();
        __atomic_store_n(&level, CUPTI_LEVEL_HOST, __ATOMIC_RELAXED);
    }
    return rc;
}

void cupti_level_begin_calls(void)
{
    enable_nodes();
    if (cupti_level_now() == CUPTI_LEVEL_ALL)
        switch_all_calls(1);
    else
        switch_calls(1);
    if (cupti_level_now() == CUPTI_LEVEL_MEMORY)
        switch_events(1);
}

/* What CUPTI records of kernels and graphs stays as it was at the start, and is not read any more:
 * with libcupti 13.0 and driver 580 of an H200 the next cuGraphLaunch() of a program whose kernels and
 * graphs were not asked for any more crashed in CUPTI. */
enum cupti_level cupti_level_down(void)
{
    const enum cupti_level before = cupti_level_now();
    const enum cupti_level below = before > CUPTI_LEVEL_NODE ? before - 1 : CUPTI_LEVEL_HOST;

    if (before == CUPTI_LEVEL_HOST)
        return before;
    __atomic_store_n(&level, below, __ATOMIC_RELAXED);
    switch (before) {
    case CUPTI_LEVEL_ALL:
        switch_all_calls(0);
        switch_calls(1);
        switch_events(1);
        break;
    case CUPTI_LEVEL_MEMORY:
        for (size_t i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]); i++)
            disable(of_memory[i].kind);
        switch_events(0);
        break;
    default:
        switch_calls(0);
        cupti_buffers_read_no_more();
        break;
    }
    return below;
}

/* Kernels and graphs stay asked for, as above; copies and memsets are a part of graphs. */
void cupti_level_leave(void)
{
    static const uint32_t staying[] = {CUPTI_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET, CUPTI_GRAPH};
    uint8_t no = 0;
    size_t bytes = sizeof(no);
    int rc;

    __atomic_store_n(&level, CUPTI_LEVEL_HOST, __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof(staying) / sizeof(staying[0]); i++)
        is_enabled[staying[i]] = false;
    disable_kinds();
    rc = cupti->set_attribute(CUPTI_ZEROED_BUFFERS, &bytes, &no);
    if (rc != 0)
        cupti_say("CUPTI does not clear the program's own buffers (error %d)", rc);
}
