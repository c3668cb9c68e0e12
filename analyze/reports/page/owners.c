/* SPDX-License-Identifier: Apache-2.0 */
/* Who held memory at the peak, below the page's curve of it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/page/page.h"

enum { OWNERS_MAX = 20 };

/* Lines of one name, type and pool. */
struct owner {
    uint32_t pool;
    const char *name, *type; /* or "" */
    int64_t peak_bytes, kept_bytes;
    uint64_t peak_count;
};

static int compare_names(const void *a, const void *b)
{
    const struct owner *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    order = order ? order : strcmp(left->type, right->type);
    return order ? order : (left->pool > right->pool) - (left->pool < right->pool);
}

/* Those that held most come first. */
static int compare_owners(const void *a, const void *b)
{
    const struct owner *left = a, *right = b;
    int order = (left->peak_bytes < right->peak_bytes) - (left->peak_bytes > right->peak_bytes);

    return order ? order : compare_names(a, b);
}

/* Ops of one name that differ in their shapes become one. Returns how many there are. */
static size_t gather(const struct memory_view *view, struct owner *owners)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < view->lines.count; i++) {
        const struct memory_line *line = &view->lines.items[i];

        if (line->peak_bytes > 0 && view->is_shown[line->pool])
            owners[count++] = (struct owner){line->pool,
                                             line->name ? line->name : "",
                                             line->op ? line->op->type : "",
                                             line->peak_bytes,
                                             line->kept_bytes,
                                             line->peak_count};
    }
    qsort(owners, count, sizeof(*owners), compare_names);
    for (size_t i = 0; i < count; i++) {
        if (!kept || compare_names(&owners[kept - 1], &owners[i]) != 0) {
            owners[kept++] = owners[i];
            continue;
        }
        owners[kept - 1].peak_bytes += owners[i].peak_bytes;
        owners[kept - 1].kept_bytes += owners[i].kept_bytes;
        owners[kept - 1].peak_count += owners[i].peak_count;
    }
    qsort(owners, kept, sizeof(*owners), compare_owners);
    return kept;
}

static void emit_owner(struct out *out, const struct memory_view *view, const struct owner *owner)
{
    const char *device = view->blocks.pools.items[owner->pool].device;
    double peak = (double)view->peaks[owner->pool].bytes;

    out_row(out, (struct out_value[]){
                     *owner->name ? out_text(owner->name) : out_unknown_as(OUT_TEXT, "not known"),
                     out_text(*owner->type ? owner->type : NULL),
                     out_text(device ? device : "host"),
                     out_number(OUT_BYTES, (double)owner->peak_bytes),
                     out_number(OUT_SHARE, peak > 0 ? (double)owner->peak_bytes / peak : NAN),
                     out_integer(OUT_INT, (int64_t)owner->peak_count),
                     out_number(OUT_BYTES, (double)owner->kept_bytes),
                 });
}

int page_memory_owners(const struct page *page, struct diag *diag)
{
    static const struct out_chart chart = {.kind = OUT_CHART_DATA};
    static const struct out_section section = {.name = "memory_owners",
                                               .title = "Who held memory at the peak",
                                               .joins = true,
                                               .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "name", .title = "taken by", .wiki = "taken by", .compact = true, .wrap = 60},
        {.name = "type", .title = "type", .wiki = "type", .compact = true, .wrap = 60},
        {.name = "device", .title = "memory of", .wiki = "memory of", .compact = true},
        {.name = "at_peak_bytes", .title = "at the peak", .wiki = "at the peak", .compact = true},
        {.name = "at_peak_share", .title = "of it", .wiki = "of it", .compact = true},
        {.name = "at_peak_count", .title = "pieces", .wiki = "pieces", .compact = true},
        {.name = "kept_bytes", .title = "kept to the end", .wiki = "kept", .compact = true},
    };
    const struct memory_view *view = &page->advice.view;
    struct owner *owners = malloc((view->lines.count + 1) * sizeof(*owners));
    struct out *out = page->report->out;
    size_t count;

    if (!owners)
        return diag_set(diag, -ENOMEM, "no memory for the table");
    count = gather(view, owners);
    if (count) {
        out_table_begin(out, &section, columns, sizeof(columns) / sizeof(columns[0]));
        for (size_t i = 0; i < count && i < OWNERS_MAX; i++)
            emit_owner(out, view, &owners[i]);
        out_table_end(out);
    }
    if (count > OWNERS_MAX)
        out_note(out, OUT_NOTE_PLAIN, "The first %d of %zu that held memory at the peak are shown.",
                 OWNERS_MAX, count);
    free(owners);
    return 0;
}
