/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sources this process turned out to have. Each is an op of type "source" without events: the
 * last lines of `optrace run` tell of them.
 *
 *     found_say(FOUND_BLAS);                           when it is hit, the recorder being open
 *     found_limit(FOUND_ORT, "runs only");             what of it is not seen
 *     found_absent(FOUND_TORCH, "too old");            why it will not be
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_FOUND_H
#define OPTRACE_CLIENT_INJECT_FOUND_H

#include <stdint.h>

#include "client/inject/recorder.h"

enum found_source {
    FOUND_NVTX,
    FOUND_ITT,
    FOUND_BLAS,
    FOUND_ONEDNN,
    FOUND_ORT,
    FOUND_GGML,
    FOUND_TORCH,
    FOUND_TENSORFLOW,
    FOUND_CTRANSLATE2,
    FOUND_CUBLAS,
    FOUND_CUDA,
    FOUND_CUDNN,
    FOUND_COUNT
};

/** A bit for each that was said. Read it by found_say(). */
extern uint32_t found_said;

/** The first time in a process. version  of the library, or NULL */
void found_say_version(enum found_source source, const char *version);

static inline void found_say(enum found_source source)
{
    if (UNLIKELY(!(__atomic_load_n(&found_said, __ATOMIC_RELAXED) >> source & 1)))
        found_say_version(source, NULL);
}

/** What of it is not recorded, and why, before it is found or after: the first that is told.
 *  why  a text that stays */
void found_limit(enum found_source source, const char *why);

/** Why it is not found; a text that stays. */
void found_absent(enum found_source source, const char *why);

/** Something else that the last lines are to tell; while the recorder is open. */
void found_note(const char *what, const char *text);

/** Once, as the recorder is opened: what is asked for by name and not found is told at the end. */
void found_open(void);

#endif
