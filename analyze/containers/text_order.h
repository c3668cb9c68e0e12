/* SPDX-License-Identifier: Apache-2.0 */
/* The order of texts of which some are absent: NULL comes before all others, and is equal to NULL. */
#ifndef OPTRACE_ANALYZE_CONTAINERS_TEXT_ORDER_H
#define OPTRACE_ANALYZE_CONTAINERS_TEXT_ORDER_H

#include <string.h>

static inline int compare_texts(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

#endif
