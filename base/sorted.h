/* SPDX-License-Identifier: Apache-2.0 */
/* Places in what is sorted. */
#ifndef OPTRACE_BASE_SORTED_H
#define OPTRACE_BASE_SORTED_H

#include <stddef.h>

/**
 * The first place in [from, until) for which is_before is false, or `until`. It is an expression of the
 * variable `place`, true of the first ones and of none behind them:
 *
 *     size_t first_after = search_past(0, rows.count, i, rows.items[i].time_ns <= time_ns);
 */
#define search_past(from, until, place, is_before)                                                 \
    ({                                                                                             \
        size_t search_low_ = (from), search_high_ = (until);                                       \
                                                                                                   \
        while (search_low_ < search_high_) {                                                       \
            size_t place = search_low_ + (search_high_ - search_low_) / 2;                         \
                                                                                                   \
            if (is_before)                                                                         \
                search_low_ = place + 1;                                                           \
            else                                                                                   \
                search_high_ = place;                                                              \
        }                                                                                          \
        search_low_;                                                                               \
    })

#endif
