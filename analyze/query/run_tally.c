/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs count, and how long they took, where their kinds tell: hundreds of thousands of them need
 * no rows in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"

bool run_tally_has_runs(const struct run_tally *tally)
{
    for (int kind = 0; kind < RUN_KINDS; kind++) {
        if (tally->of_kind[kind].count)
            return true;
    }
    return false;
}

void run_tally_choose(struct run_tally *tally, const struct ops_question *question,
                      struct basis *basis)
{
    uint64_t chosen = 0, warmups = 0, unended = 0;

    for (int kind = 0; kind < RUN_KINDS; kind++) {
        struct run_kind_runs *runs = &tally->of_kind[kind];
        const bool is_ended = kind & RUN_ENDED, is_warmup = kind & RUN_WARMUP;

        runs->selected = (is_ended || question->totals) && (question->warmups || !is_warmup);
        if (runs->selected)
            chosen += runs->count;
        else if (is_ended)
            warmups += runs->count;
        else
            unended += runs->count;
    }
    if (!chosen) {
        for (int kind = 0; kind < RUN_KINDS; kind++)
            tally->of_kind[kind].selected = !warmups || kind & RUN_ENDED;
        unended = warmups ? unended : 0;
        warmups = 0;
    }
    basis->warmups_skipped += warmups;
    basis->unended_skipped += unended;
}

void run_tallies_skip_without_ops(struct reading *reading)
{
    const bool all_count = reading->question->totals || reading->question->runs_without_events;
    struct basis *basis = reading->basis;

    for (size_t i = 0; i < reading->tallies.count; i++) {
        for (int kind = 0; kind < RUN_KINDS; kind++) {
            const struct run_kind_runs *runs = &reading->tallies.items[i].of_kind[kind];

            if (runs->selected && kind & RUN_WITHOUT_OPS)
                basis->runs_without_ops += runs->count;
            else if (runs->selected)
                basis->runs_with_ops += runs->count;
        }
    }
    for (size_t i = 0; i < reading->tallies.count && basis->runs_with_ops && !all_count; i++) {
        for (int kind = 0; kind < RUN_KINDS; kind++)
            reading->tallies.items[i].of_kind[kind].selected &= !(kind & RUN_WITHOUT_OPS);
    }
}

/* Mostly all that there are are of one kind of one session: they are taken as they are. */
static int gather(struct run_kind_runs *runs, struct basis *basis)
{
    double *grown;

    basis->runs += runs->count;
    if (!basis->run_ns_count) {
        free(basis->run_ns);
        basis->run_ns = runs->durations.items;
        basis->run_ns_count = runs->durations.count;
        runs->durations.items = NULL;
        runs->durations.count = runs->durations.capacity = 0;
        return 0;
    }
    if (!runs->durations.count)
        return 0;
    grown = realloc(basis->run_ns, (basis->run_ns_count + runs->durations.count) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memcpy(grown + basis->run_ns_count, runs->durations.items,
           runs->durations.count * sizeof(*grown));
    basis->run_ns = grown;
    basis->run_ns_count += runs->durations.count;
    return 0;
}

int run_tallies_gather(struct reading *reading)
{
    int rc = 0;

    for (size_t i = 0; i < reading->tallies.count; i++) {
        for (int kind = 0; kind < RUN_KINDS && rc == 0; kind++) {
            struct run_kind_runs *runs = &reading->tallies.items[i].of_kind[kind];

            if (runs->selected)
                rc = gather(runs, reading->basis);
        }
    }
    return rc;
}
