/* SPDX-License-Identifier: Apache-2.0 */
/* The per-operator profile: recording it. The JSON is in profile_json.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/modes/profile.h"

static void count_step(struct profile *profile, uint32_t step)
{
    const struct profile_marks *marks = &profile->device[step];
    struct profile_sum *sum = &profile->sums[step];
    uint64_t kernel = marks->end - marks->kern;

    if (profile->current.is_warmup)
        return;
    if (sum->count == 0 || kernel < sum->kernel_min_ticks)
        sum->kernel_min_ticks = kernel;
    if (kernel > sum->kernel_max_ticks)
        sum->kernel_max_ticks = kernel;
    sum->count++;
    sum->self_ticks += marks->end - marks->start;
    sum->kernel_ticks += kernel;
}

/* Host moments come from the dispatching thread, device moments from the worker; neither touches
 * the other's marks, and both are idle when they are read. */
static void observe(void *user, enum exec_moment moment, uint32_t step, uint64_t ticks)
{
    struct profile *profile = user;

    switch (moment) {
    case EXEC_HOST_START:
        profile->host[step] = (struct profile_marks){.start = ticks};
        break;
    case EXEC_HOST_KERN:
        profile->host[step].kern = ticks;
        break;
    case EXEC_HOST_END:
        profile->host[step].end = ticks;
        break;
    case EXEC_DEVICE_START:
        if (profile->device_zero_ticks == 0)
            profile->device_zero_ticks = ticks;
        profile->device[step] = (struct profile_marks){.start = ticks};
        break;
    case EXEC_DEVICE_KERN:
        profile->device[step].kern = ticks;
        break;
    case EXEC_DEVICE_END:
        profile->device[step].end = ticks;
        count_step(profile, step);
        break;
    }
}

int profile_create(const struct session *session, struct profile **out_profile, struct diag *diag)
{
    struct profile *profile = calloc(1, sizeof(*profile));
    struct exec_observer observer = {.user = profile, .moment = observe};

    if (!profile)
        return diag_set(diag, -ENOMEM, "no memory for the profile");
    profile->session = session;
    profile->step_count = exec_step_count(session->exec);
    profile->host = calloc(profile->step_count + 1, sizeof(*profile->host));
    profile->device = calloc(profile->step_count + 1, sizeof(*profile->device));
    profile->sums = calloc(profile->step_count + 1, sizeof(*profile->sums));
    profile->zero = ot_clock_read_triple();
    if (!profile->host || !profile->device || !profile->sums ||
        exec_add_observer(session->exec, &observer) < 0) {
        profile_destroy(&profile);
        return diag_set(diag, -ENOMEM, "no memory for the profile");
    }
    *out_profile = profile;
    return 0;
}

void profile_destroy(struct profile **profile_ptr)
{
    struct profile *profile = *profile_ptr;

    *profile_ptr = NULL;
    if (!profile)
        return;
    array_deinit(&profile->runs);
    array_deinit(&profile->past);
    free(profile->host);
    free(profile->device);
    free(profile->sums);
    free(profile);
}

/* The marks of the last run become those of a past one. */
static int keep_marks(struct profile *profile)
{
    size_t steps = profile->step_count, kept = profile->past.count;

    if (profile->runs.count == 0 || kept != (profile->runs.count - 1) * 2 * steps ||
        kept + 2 * steps > PROFILE_SPANS_MAX || steps == 0)
        return 0;
    if (array_reserve(&profile->past, kept + 2 * steps) < 0)
        return -ENOMEM;
    memcpy(profile->past.items + kept, profile->host, steps * sizeof(*profile->host));
    memcpy(profile->past.items + kept + steps, profile->device, steps * sizeof(*profile->device));
    profile->past.count += 2 * steps;
    return 0;
}

int profile_run_begin(struct profile *profile, bool is_warmup)
{
    int rc = keep_marks(profile);

    profile->current =
        (struct profile_run){.is_warmup = is_warmup, .start_ticks = ot_clock_ticks()};
    return rc;
}

int profile_run_end(struct profile *profile, const struct session_times *times)
{
    profile->current.times = *times;
    profile->current.end_ticks = ot_clock_ticks();
    return array_push(&profile->runs, profile->current);
}
