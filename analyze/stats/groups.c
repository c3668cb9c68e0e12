/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of values: gathered one by one, sorted once. */
#include "analyze/stats/groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/describe.h"

int groups_find(struct groups *groups, struct place_key key, uint32_t *out_group)
{
    *out_group = place_map_find(&groups->map, key);
    if (*out_group != PLACE_NONE)
        return 0;
    *out_group = groups->count;
    if (place_map_set(&groups->map, key, *out_group) < 0)
        return -ENOMEM;
    groups->count++;
    return 1;
}

int groups_add(struct groups *groups, uint32_t group, double value)
{
    size_t place = groups->value_count % GROUP_BLOCK;
    struct group_block *block;

    if (isnan(value))
        return 0;
    if (place == 0) {
        block = malloc(sizeof(*block));
        if (!block || array_push(&groups->blocks, block) < 0) {
            free(block);
            return -ENOMEM;
        }
    }
    block = groups->blocks.items[groups->blocks.count - 1];
    block->values[place] = value;
    block->groups[place] = group;
    groups->value_count++;
    return 0;
}

static struct group_summary summarize(const double *sorted, size_t count)
{
    struct group_summary summary = {.count = count};
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        summary.sum += sorted[i];
    summary.mean = summary.sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (sorted[i] - summary.mean) * (sorted[i] - summary.mean);
    summary.min = sorted[0];
    summary.max = sorted[count - 1];
    summary.median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    summary.stddev = count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
    summary.p50 = stats_percentile(sorted, count, 50);
    summary.p90 = stats_percentile(sorted, count, 90);
    summary.p99 = stats_percentile(sorted, count, 99);
    return summary;
}

static size_t block_length(const struct groups *groups, size_t block)
{
    size_t left = groups->value_count - block * GROUP_BLOCK;

    return left < GROUP_BLOCK ? left : GROUP_BLOCK;
}

static void drop_values(struct groups *groups)
{
    for (size_t i = 0; i < groups->blocks.count; i++)
        free(groups->blocks.items[i]);
    array_deinit(&groups->blocks);
    groups->value_count = 0;
}

/* The values of each group together, by counting. Each block goes once it has been read. */
static void spread(struct groups *groups, size_t *ends, double *values)
{
    size_t first = 0;

    for (size_t i = 0; i < groups->blocks.count; i++) {
        for (size_t k = 0; k < block_length(groups, i); k++)
            ends[groups->blocks.items[i]->groups[k]]++;
    }
    for (uint32_t group = 0; group < groups->count; group++) {
        size_t count = ends[group];

        ends[group] = first;
        first += count;
    }
    for (size_t i = 0; i < groups->blocks.count; i++) {
        struct group_block *block = groups->blocks.items[i];

        for (size_t k = 0; k < block_length(groups, i); k++)
            values[ends[block->groups[k]]++] = block->values[k];
        free(block);
        groups->blocks.items[i] = NULL;
    }
    drop_values(groups);
}

int groups_summarize(struct groups *groups, struct group_summary **out_summaries)
{
    size_t *ends = calloc(groups->count + 1, sizeof(*ends));
    double *values = malloc((groups->value_count + 1) * sizeof(*values));
    struct group_summary *summaries = calloc(groups->count + 1, sizeof(*summaries));

    if (!ends || !values || !summaries) {
        free(ends);
        free(values);
        free(summaries);
        return -ENOMEM;
    }
    spread(groups, ends, values);
    for (uint32_t group = 0; group < groups->count; group++) {
        size_t first = group ? ends[group - 1] : 0, count = ends[group] - first;

        stats_sort(values + first, count);
        summaries[group] =
            count ? summarize(values + first, count)
                  : (struct group_summary){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    }
    free(ends);
    free(values);
    *out_summaries = summaries;
    return 0;
}

void groups_deinit(struct groups *groups)
{
    place_map_deinit(&groups->map);
    drop_values(groups);
}

void groups_add_text(struct place_key *key, const char *text)
{
    place_key_add(key, text ? text : "", text ? strlen(text) + 1 : 0);
}
