/* SPDX-License-Identifier: Apache-2.0 */
/* Of spans that come in parts, those that a timeline may show: the longest of each run, or of all. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/query/frame_times.h"
#include "analyze/reports/page/page.h"

/* Numbers are those of spans in the order of the store. */
struct kept_span {
    struct span span;
    uint32_t number, launch; /* its own; that of what launched it, or SPAN_NONE */
};

struct kept_group {
    uint32_t run; /* place in the answer's runs; SPAN_NONE: every span */
    size_t count; /* of all */
    bool is_full; /* what comes behind the last one that is kept is of no use */
    struct kept_span last;
    ARRAY_OF(struct kept_span) kept;
};

struct page_longest {
    struct kept_group groups[PAGE_RUNS_MAX];
    size_t group_count;
    struct frame_times frames; /* self times */
};

void page_longest_drop(struct page_longest **longest)
{
    if (!*longest)
        return;
    for (size_t i = 0; i < (*longest)->group_count; i++)
        array_deinit(&(*longest)->groups[i].kept);
    array_deinit(&(*longest)->frames);
    free(*longest);
    *longest = NULL;
}

uint32_t page_place_of_run(const struct spans_answer *spans, const struct counted_run *run)
{
    for (size_t i = 0; i < spans->runs.count; i++) {
        if (spans->runs.items[i].session_id == run->session_id &&
            spans->runs.items[i].run == run->run)
            return (uint32_t)i;
    }
    return SPAN_NONE;
}

int page_longest_begin(const struct page *page, const struct spans_answer *spans,
                       struct page_longest **out_longest)
{
    struct page_longest *longest = calloc(1, sizeof(*longest));

    page_longest_drop(out_longest);
    *out_longest = longest;
    if (!longest)
        return -ENOMEM;
    for (size_t i = 0; i < page->chosen_count; i++)
        longest->groups[longest->group_count++].run =
            page_place_of_run(spans, &page->chosen[i].run);
    if (!page->chosen_count)
        longest->groups[longest->group_count++].run = SPAN_NONE;
    return 0;
}

static struct kept_group *group_of(struct page_longest *longest, uint32_t run)
{
    for (size_t i = 0; i < longest->group_count; i++) {
        if (longest->groups[i].run == SPAN_NONE || longest->groups[i].run == run)
            return &longest->groups[i];
    }
    return NULL;
}

/* --- Which are kept. --- */

/* As spans stand in an answer. */
static int compare_place(const void *a, const void *b)
{
    const struct span *left = &((const struct kept_span *)a)->span;
    const struct span *right = &((const struct kept_span *)b)->span;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return span_compare_places(left, right);
}

/* The longest first; of those that last as long, what a timeline comes to first. */
static int compare_use(const void *a, const void *b)
{
    const struct kept_span *left = a, *right = b;

    if (left->span.dur_ns != right->span.dur_ns)
        return left->span.dur_ns > right->span.dur_ns ? -1 : 1;
    return compare_place(a, b);
}

static void prune(struct kept_group *group)
{
    if (group->kept.count <= PAGE_SPANS_MAX)
        return;
    qsort(group->kept.items, group->kept.count, sizeof(*group->kept.items), compare_use);
    group->kept.count = PAGE_SPANS_MAX;
    group->last = group->kept.items[PAGE_SPANS_MAX - 1];
    group->is_full = true;
}

static int keep(struct kept_group *group, const struct kept_span *kept)
{
    if (group->is_full && compare_use(&group->last, kept) < 0)
        return 0;
    if (group->kept.count >= 2 * PAGE_SPANS_MAX)
        prune(group);
    return array_push(&group->kept, *kept);
}

/* Of what is here again only its self time is new. */
static int add_frame(struct page_longest *longest, const struct span *span)
{
    size_t place;

    return frame_times_add(&longest->frames, span, span->self_ns, &place);
}

int page_longest_take(struct page_longest *longest, const struct spans_answer *part)
{
    const struct span *items = part->spans.items;
    int rc = 0;

    for (size_t i = 0; i < part->spans.count && rc == 0; i++) {
        const struct span *span = &items[i];
        const bool is_launched = span_is_device(part, span) && span->launch != SPAN_NONE;
        const struct kept_span kept = {*span, span->order,
                                       is_launched ? items[span->launch].order : SPAN_NONE};
        struct kept_group *group = group_of(longest, span->run);

        if (span->frame)
            rc = add_frame(longest, span);
        if (rc < 0 || !group || !span->is_shown || part->op_kinds[span->op] == SPAN_MARK ||
            span->frame == SPAN_FRAME_AGAIN)
            continue;
        group->count++;
        rc = keep(group, &kept);
    }
    return rc;
}

/* --- What they come to. --- */

size_t page_longest_count(const struct page_longest *longest, size_t view)
{
    return longest->groups[view].count;
}

static int compare_number(const void *a, const void *b)
{
    const struct kept_span *left = *(const struct kept_span *const *)a;
    const struct kept_span *right = *(const struct kept_span *const *)b;

    return (left->number > right->number) - (left->number < right->number);
}

static uint32_t find_number(const struct kept_span *kept, const struct kept_span *const *by_number,
                            size_t count, uint32_t number)
{
    const struct kept_span wanted = {.number = number}, *key = &wanted;
    const struct kept_span *const *found =
        number == SPAN_NONE ? NULL
                            : bsearch(&key, by_number, count, sizeof(*by_number), compare_number);

    return found ? (uint32_t)(*found - kept) : SPAN_NONE;
}

/* Of all groups together, in the order of an answer, with places of their own. */
static int put_spans(const struct kept_span *kept, size_t count, const struct frame_times *frames,
                     struct spans_answer *spans)
{
    const struct kept_span **by_number = malloc((count + 1) * sizeof(*by_number));
    int rc = by_number ? array_reserve(&spans->spans, count) : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++)
        by_number[i] = &kept[i];
    if (rc == 0 && count)
        qsort(by_number, count, sizeof(*by_number), compare_number);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct span span = kept[i].span;

        span.launch = find_number(kept, by_number, count, kept[i].launch);
        span.parent = span.next = SPAN_NONE;
        if (span.frame)
            span.self_ns = frame_times_find(frames, &span)->ns;
        spans->spans.items[spans->spans.count++] = span;
    }
    free(by_number);
    return rc;
}

int page_longest_finish(struct page_longest *longest, struct spans_answer *spans)
{
    ARRAY_OF(struct kept_span) all = {0};
    int rc = 0;

    for (size_t i = 0; i < longest->group_count && rc == 0; i++) {
        struct kept_group *group = &longest->groups[i];

        prune(group);
        for (size_t k = 0; k < group->kept.count && rc == 0; k++)
            rc = array_push(&all, group->kept.items[k]);
    }
    if (rc == 0 && all.count)
        qsort(all.items, all.count, sizeof(*all.items), compare_place);
    if (rc == 0)
        rc = put_spans(all.items, all.count, &longest->frames, spans);
    array_deinit(&all);
    return rc;
}
