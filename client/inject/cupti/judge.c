/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is recorded is still worth it. Looked at once a second, where flushes are. */
#include <stdio.h>
#include <stdlib.h>

#include "client/inject/cupti/private.h"
#include "client/inject/found.h"

/* One bad second may be the machine's. */
enum { BAD_WINDOWS = 2, RECORDS_MIN = 100 };
#define COST_MAX    2.0 /* percent, without $OPTRACE_MAX_COST */
#define INVALID_MAX 1.0

static double max_cost;
static uint32_t dear, wrong; /* windows in a row */

void cupti_judge_begin(void)
{
    const char *text = secure_getenv("OPTRACE_MAX_COST");
    const double percent = text && text[0] ? strtod(text, NULL) : 0;

    max_cost = percent > 0 && percent <= 100 ? percent : COST_MAX;
}

static void go_down(const char *why, double percent)
{
    const enum cupti_level before = cupti_level_now(), now = cupti_level_down();
    char text[160];

    snprintf(text, sizeof(text), "level %s from here on, not %s: %.2g %% %s", cupti_level_name(now),
             cupti_level_name(before), percent, why);
    cupti_say("%s", text);
    found_note("cuda", text);
}

void cupti_judge_look(void)
{
    struct cupti_window window;

    if (!cupti_watch_take(&window))
        return;
    dear = window.cost > max_cost ? dear + 1 : 0;
    wrong = window.records >= RECORDS_MIN && window.invalid > INVALID_MAX ? wrong + 1 : 0;
    if (dear >= BAD_WINDOWS && cupti_level_now() > CUPTI_LEVEL_HOST) {
        go_down("of the time of threads that launch was spent on recording", window.cost);
        dear = 0;
    } else if (wrong >= BAD_WINDOWS && cupti_level_now() >= CUPTI_LEVEL_NODE) {
        while (cupti_level_now() > CUPTI_LEVEL_NODE)
            cupti_level_down();
        go_down("of the records of the device had no times", window.invalid);
        wrong = 0;
    }
}
