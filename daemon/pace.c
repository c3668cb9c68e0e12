/* SPDX-License-Identifier: Apache-2.0 */
/* Two circles: of counts, and of durations. */
#include "daemon/pace.h"

#include <stdlib.h>
#include <string.h>

void pace_sample(struct pace *pace, uint64_t now_ns, uint64_t event_count)
{
    pace->samples[pace->next_sample++ % PACE_SAMPLES] = (struct pace_sample){
        .time_ns = now_ns, .event_count = event_count, .run_count = pace->run_count};
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Of an even number, the mean of the two in the middle. */
static uint64_t median(const uint64_t *runs_ns, uint32_t count)
{
    uint64_t sorted[PACE_RUNS];

    if (count == 0)
        return 0;
    memcpy(sorted, runs_ns, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    return sorted[(count - 1) / 2] / 2 + sorted[count / 2] / 2 +
           (sorted[(count - 1) / 2] % 2 + sorted[count / 2] % 2) / 2;
}

struct pace_view pace_look(const struct pace *pace, uint64_t now_ns, uint64_t event_count)
{
    const uint32_t kept = pace->kept_count < PACE_RUNS ? pace->kept_count : PACE_RUNS;
    /* The next to be overwritten is the oldest, once the circle is full. */
    const struct pace_sample *oldest =
        &pace->samples[pace->next_sample < PACE_SAMPLES ? 0 : pace->next_sample % PACE_SAMPLES];
    struct pace_view view = {.run_p50_ns = median(pace->runs_ns, kept), .run_sample_count = kept};

    if (oldest->time_ns == 0 || now_ns <= oldest->time_ns)
        return view;
    view.window_ns = now_ns - oldest->time_ns;
    view.event_count = event_count - oldest->event_count;
    view.run_count = pace->run_count - oldest->run_count;
    return view;
}
