/* SPDX-License-Identifier: Apache-2.0 */
/* --calibrate: what this machine can do at best, printed, and recorded for reports to hold
 * operators against. */
#ifndef OPTRACE_RUNTIME_MODES_CALIBRATE_H
#define OPTRACE_RUNTIME_MODES_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

struct device_backend;

/** Measure, record through session/trace.h (nothing happens where nobody listens) and print on
 * `out`, as text or as one JSON document. Blocks for about two seconds; the machine should be idle.
 * Returns 0 or a negative errno with a sentence. */
int calibrate(bool json, FILE *out, struct diag *diag);

/** The same of a device, in place of the CPU. -ENOTSUP where the build leaves it out. */
int calibrate_device(const struct device_backend *backend, uint32_t number, bool json, FILE *out,
                     struct diag *diag);

#endif
