/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin execution provider of ONNX Runtime that takes no node, and is told of each that runs:
 * from release 1.25 on, in runs whose options ask for a profile. No file is written for that.
 *
 *     provider = ort_provider_open(base);                       once per copy of ONNX Runtime
 *     copy = ort_provider_options(provider, env, options);      for a session, which is made with it
 *     ort_provider_enter(number, model); Run(); ort_provider_leave();
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

enum { ORT_PROVIDER_SINCE = 25 }; /* release 1.25 */

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

/** Session options like these (NULL: the defaults) with the provider in them, to be
 *  released by the caller; NULL where it cannot be had. */
void *ort_provider_options(struct ort_provider *provider, void *env, const void *options);

/** Run options, for runs without any, that ask for a profile; NULL: there are none. They stay. */
const void *ort_provider_run_options(struct ort_provider *provider);

/** Ask for a profile in run options of the program's own, or no more. Nobody else may read them
 *  meanwhile. False: it was refused. */
bool ort_provider_ask(struct ort_provider *provider, void *run_options, bool on);

/** Run options of the program's own, while runs with them are under way. */
struct ort_provider_given;

/**
 * Watch such options for one run: they are asked for a profile only while no run reads them.
 *
 * has_nodes  in: whether this run is to have one; out: whether it has
 *
 * Returns what ort_provider_give_back() takes after the run; NULL: they are not watched.
 */
struct ort_provider_given *ort_provider_take(struct ort_provider *provider, void *run_options,
                                             bool *has_nodes);
void ort_provider_give_back(struct ort_provider *provider, struct ort_provider_given *given);

/** The model of the session that this thread is about to make. */
void ort_provider_set_loading(uint32_t model);

/** This thread runs, until it leaves: nodes that the provider is told of are of this run, on whatever
 *  thread they are computed. Number 0: they are not recorded. Runs that nobody enters for, as those
 *  of ONNX Runtime's own threads, are recorded by the provider, without nodes. */
void ort_provider_enter(uint32_t number, uint32_t model);
void ort_provider_leave(void);

/** The provider that this thread has registered last; NULL: none. */
struct ort_provider *ort_provider_registered(void);

/** What run options say of how much is logged; -1: nothing. */
int ort_provider_verbosity(const struct ort_provider *provider, const void *run_options);

/** Whether a device, of GetEpDevices(), is the provider's. */
bool ort_provider_has(const struct ort_provider *provider, const void *device);

#endif
