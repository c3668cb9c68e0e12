/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin execution provider of ONNX Runtime that takes no node, and is told of each that runs:
 * from release 1.25 on, in runs whose options ask for a profile. No file is written for that.
 *
 *     library = ort_provider_open(base);                 once per copy of ONNX Runtime
 *     copy = ort_provider_options(library, env, options);   for a session; then its own CreateSession
 *     ort_provider_begin_run(library, number, model); Run(); ort_provider_end_run();
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_ORT_PROVIDER_H
#define OPTRACE_CLIENT_INJECT_ORT_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Selection policies break ties by name: this one is behind all others. */
#define ORT_PROVIDER_NAME "~optrace"

typedef void (*ort_function)(void);

/* OrtApiBase. */
struct ort_base {
    const ort_function *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

struct ort_provider;

/** Of a copy of ONNX Runtime, by what its OrtGetApiBase() answers; the same one each time. NULL: it
 *  is older than 1.25, or there are too many copies. */
struct ort_provider *ort_provider_open(const struct ort_base *base);

/** Session options like these (NULL: the defaults) with the provider in them, for
 *  ort_provider_release(); NULL where it cannot be had. */
void *ort_provider_options(struct ort_provider *provider, void *env, const void *options);
void ort_provider_release(struct ort_provider *provider, void *options);

/** Run options, for runs without any, that ask for a profile; NULL: there are none. They stay. */
const void *ort_provider_run_options(struct ort_provider *provider);

/** Ask for a profile in run options of the program's own, or no more. Nobody else may read them
 *  meanwhile. False: it was refused. */
bool ort_provider_ask(struct ort_provider *provider, void *run_options, bool on);

/** The run that this thread begins to make: nodes that the provider is told of from now on are of it,
 *  on whatever thread they run. Number 0: they are not recorded. */
void ort_provider_set_run(uint32_t number, uint32_t model);

/** Whether a device, of GetEpDevices(), is the provider's. */
bool ort_provider_has(const struct ort_provider *provider, const void *device);

#endif
