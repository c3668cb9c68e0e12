/* SPDX-License-Identifier: Apache-2.0 */
/* Finding queries and tables by their names. */
#include "analyze/explain/sql/query.h"

#include <assert.h>
#include <string.h>

const struct explain_query *explain_query_of(const char *report, const char *variant)
{
    const size_t length = strlen(report);

    for (size_t i = 0; i < explain_query_count; i++) {
        const char *name = explain_queries[i].name;

        if (strncmp(name, report, length) == 0 && strcmp(name + length, variant) == 0)
            return &explain_queries[i];
    }
    return NULL;
}

static size_t place_of(const char *name)
{
    size_t i = 0;

    while (strcmp(explain_tables[i].name, name) != 0) {
        i++;
        assert(i < explain_table_count);
    }
    return i;
}

uint64_t explain_table_bits(const char *name)
{
    return explain_tables[place_of(name)].tables;
}

bool explain_needs(uint64_t tables, const char *name)
{
    return tables >> place_of(name) & 1;
}

bool explain_has_place(const struct explain_query *query, const char *place)
{
    for (const char *const *at = query->places; *at; at++) {
        if (strcmp(*at, place) == 0)
            return true;
    }
    return false;
}
