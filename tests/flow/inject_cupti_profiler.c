/* SPDX-License-Identifier: Apache-2.0 */
/* See inject_cupti_profiler.h. Its buffers are full of what was in them before. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cupti/records.h"
#include "tests/flow/inject_cupti_profiler.h"
#include "tests/support/cuda/runtime.h"

enum { BUFFER_BYTES = 1 << 16, FORCED = 1, LAUNCH = 211, BUFFERS = 64 };

int cuptiSubscribe(void **out_subscriber, cupti_callback *function, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id);
int cuptiActivityRegisterCallbacks(cupti_request *asks, cupti_complete *takes);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiActivityFlushAll(uint32_t flag);

extern profile_type profile;

static char kernel;
static uint8_t *buffers[BUFFERS];
static int buffer_count; /* atomic */
static int seen, called; /* atomic */
static int foreign;      /* buffers that it did not give */

static void ask(uint8_t **out_buffer, size_t *out_bytes, size_t *out_limit)
{
    const int i = __atomic_fetch_add(&buffer_count, 1, __ATOMIC_RELAXED);

    *out_limit = 0;
    *out_bytes = BUFFER_BYTES;
    *out_buffer = i < BUFFERS ? malloc(BUFFER_BYTES) : NULL;
    if (!*out_buffer)
        abort();
    memset(*out_buffer, 0xaa, BUFFER_BYTES);
    buffers[i] = *out_buffer;
}

static bool is_own(const uint8_t *buffer)
{
    for (int i = 0; i < BUFFERS; i++) {
        if (buffer == buffers[i])
            return true;
    }
    return false;
}

static void take(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    void *record = NULL;

    (void)context;
    (void)stream;
    (void)bytes;
    if (!is_own(buffer)) {
        foreign++;
        return;
    }
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
        const struct cupti_kernel *own = record;

        if (own->kind == CUPTI_KERNEL && strcmp(own->name, "profiled") == 0)
            __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    }
}

static void on_call(void *user, uint32_t domain, uint32_t id, const void *data)
{
    const struct cupti_call *call = data;

    (void)user;
    if (domain == CUPTI_RUNTIME && id == LAUNCH && call->site == 0)
        __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

static int subscribe(enum profile_way way, void **out_subscriber)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    int (*asked_for)(void **, cupti_callback *, void *);

    if (way == PROFILE_LINKED)
        return cuptiSubscribe(out_subscriber, on_call, NULL);
    *(void **)&asked_for = library ? dlsym(library, "cuptiSubscribe") : NULL;
    return asked_for ? asked_for(out_subscriber, on_call, NULL) : -1;
}

static int observe(void)
{
    int rc = cuptiActivityRegisterCallbacks(ask, take);

    if (rc == 0)
        rc = cuptiActivityEnable(CUPTI_KERNEL);
    for (int i = 0; rc == 0 && i < PROFILED; i++)
        rc = cudaLaunchKernel(&kernel, (struct size3){1, 1, 1}, (struct size3){32, 1, 1}, NULL, 0,
                              NULL);
    if (rc == 0)
        rc = cudaDeviceSynchronize();
    if (rc == 0)
        rc = cuptiActivityFlushAll(FORCED);
    cuptiActivityDisable(CUPTI_KERNEL);
    return rc;
}

int profile(enum profile_way way)
{
    void *subscriber = NULL;
    int rc = 0;

    __cudaRegisterFunction(NULL, &kernel, NULL, "profiled", 0, NULL, NULL, NULL, NULL, NULL);
    if (way != PROFILE_UNSUBSCRIBED)
        rc = subscribe(way, &subscriber);
    if (rc == 0 && subscriber)
        rc = cuptiEnableCallback(1, subscriber, CUPTI_RUNTIME, LAUNCH);
    if (rc == 0)
        rc = observe();
    if (rc == 0 && subscriber)
        rc = cuptiUnsubscribe(subscriber);
    if (rc != 0)
        return -rc;
    if (foreign || (subscriber && called < PROFILED))
        return -1000 - foreign;
    return seen;
}
