/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of time intervals in memory: gathered in any order, made disjoint, measured, compared. */
#ifndef OPTRACE_ANALYZE_CONTAINERS_INTERVAL_LIST_H
#define OPTRACE_ANALYZE_CONTAINERS_INTERVAL_LIST_H

#include "analyze/containers/interval.h"

/** Sorts the intervals and joins those that touch; empty and inverted ones go. */
void interval_list_join(struct interval_array *list);

/** Length of a joined list. */
double interval_list_length(const struct interval_array *list);

/** Length of what two joined lists have in common. */
double interval_list_common(const struct interval_array *a, const struct interval_array *b);

/** Whether a time lies in an interval of a joined list: from its start on, before its end. */
bool interval_list_has(const struct interval_array *list, int64_t time_ns);

/** Adds a joined list to another, which stays joined. Returns 0 or -ENOMEM; then nothing changed.
 */
int interval_list_unite(struct interval_array *into, const struct interval_array *from);

#endif
