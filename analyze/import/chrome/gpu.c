/* SPDX-License-Identifier: Apache-2.0 */
/* What profilers of GPUs write into a Chrome trace in a form of their own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"

/* --- Sizes of copies. --- */

/* roctracer writes the bytes of a copy at the call, and not at what runs on the device. */
int chrome_note_size(struct chrome *chrome, const struct chrome_event *event, struct diag *diag)
{
    int64_t correlation, bytes;

    if (!json_whole(event->arg[ARG_CORRELATION], &correlation) ||
        !json_whole(event->arg[ARG_CALL_BYTES], &bytes) || bytes < 0)
        return 0;
    return importer_launch_bytes(&chrome->importer, correlation, bytes, diag);
}

/* --- Counters of kernels. --- */

bool chrome_is_profiler_range(const struct chrome_event *event)
{
    return json_is(event->category, "cuda_profiler_range");
}

/* An op of type counter for each metric, whose params say which it is. */
static int add_value(struct chrome *chrome, const struct chrome_event *event, struct json_slice key,
                     double value, uint32_t lane, int64_t time_ns, struct diag *diag)
{
    struct chrome_event counter = *event;
    char *metric = json_take_text(key), *params = NULL;
    uint32_t op;
    int rc = 0;

    if (!metric || asprintf(&params, "{\"metric\":\"%.*s\"}", (int)key.length, key.text) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the trace");
    if (rc == 0) {
        counter.arg[ARG_PARAMS] = json_value(params, strlen(params));
        rc = chrome_op(chrome, &counter, KIND_COUNTER, lane, metric, &op, diag);
    }
    if (rc == 0)
        rc = importer_counter(&chrome->importer, lane, op, time_ns, value, diag);
    free(metric);
    free(params);
    return rc;
}

/* Of these the values alone were measured: a kernel is run again and again for them, and Kineto
 * parts the time of all evenly. */
int chrome_add_profiler_range(struct chrome *chrome, const struct chrome_event *event,
                              uint32_t lane, int64_t time_ns, struct diag *diag)
{
    struct json_walk walk = json_walk_over(event->args);
    struct json_slice key, value;
    int rc = chrome_mark_device(chrome, event, lane, diag);

    while (rc == 0 && json_walk_next(&walk, &key, &value) == 1) {
        double number;

        if (key.kind == JSON_STRING && json_real(value, &number))
            rc = add_value(chrome, event, key, number, lane, time_ns, diag);
        else
            skipped_add(&chrome->skipped, key.text, key.length);
    }
    return rc;
}
