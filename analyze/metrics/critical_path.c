/* SPDX-License-Identifier: Apache-2.0 */
/* Walking back along the pieces, and scheduling them anew. */
#include "analyze/metrics/critical_path.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/metrics/critical_pieces.h"

const char *const path_step_names[] = {
    [PATH_HOST] = "host",     [PATH_DEVICE] = "device",        [PATH_LAUNCH] = "launch",
    [PATH_QUEUE] = "between", [PATH_NOTHING] = "not recorded",
};

/* The piece that a piece waited for last, or SPAN_NONE. */
static uint32_t find_holder(const struct critical_path *path, const struct path_piece *piece)
{
    const struct path_piece *items = path->pieces.items;

    if (piece->before == SPAN_NONE || piece->cross == SPAN_NONE)
        return piece->before == SPAN_NONE ? piece->cross : piece->before;
    return items[piece->cross].end_ns >= items[piece->before].end_ns ? piece->cross : piece->before;
}

/* --- The walk. --- */

/* Steps come from the end on; those of the same operator become one. */
static int add_step(struct critical_path *path, int64_t start_ns, int64_t end_ns, uint32_t span,
                    enum path_step_kind kind)
{
    struct path_step *last = path->steps.count ? &path->steps.items[path->steps.count - 1] : NULL;

    if (start_ns >= end_ns)
        return 0;
    if (last && last->span == span && last->kind == kind) {
        last->start_ns = start_ns;
        return 0;
    }
    return array_push(&path->steps, ((struct path_step){start_ns, end_ns, span, kind}));
}

/* The time between a piece and the end of what held it up. */
static int add_gap(struct critical_path *path, const struct path_piece *piece, uint32_t holder)
{
    const struct span *span = &path->answer->spans.items[piece->span];
    int64_t since_ns = holder == SPAN_NONE ? path->start_ns : path->pieces.items[holder].end_ns;
    enum path_step_kind kind = PATH_NOTHING;

    if (holder != SPAN_NONE && span_is_device(path->answer, span)) {
        if (holder == piece->before)
            kind = PATH_QUEUE;
        else if (piece->is_launched)
            kind = PATH_LAUNCH;
    }
    return add_step(path, since_ns, piece->start_ns, kind == PATH_NOTHING ? SPAN_NONE : piece->span,
                    kind);
}

static void reverse(struct critical_path *path)
{
    for (size_t i = 0, k = path->steps.count; i + 1 < k; i++) {
        struct path_step step = path->steps.items[i];

        path->steps.items[i] = path->steps.items[--k];
        path->steps.items[k] = step;
    }
}

int critical_path_back(struct critical_path *path, uint32_t *place)
{
    const struct path_piece *piece = &path->pieces.items[*place];
    const struct span *span = &path->answer->spans.items[piece->span];
    int rc = add_step(path, piece->start_ns, piece->end_ns, piece->span,
                      span_is_device(path->answer, span) ? PATH_DEVICE : PATH_HOST);

    *place = find_holder(path, piece);
    return rc ? rc : add_gap(path, piece, *place);
}

uint32_t critical_path_holder(const struct critical_path *path, uint32_t place)
{
    return find_holder(path, &path->pieces.items[place]);
}

static int walk(struct critical_path *path)
{
    uint32_t place = path->pieces.count ? path->order[path->pieces.count - 1] : SPAN_NONE;
    int64_t last_ns = place == SPAN_NONE ? path->start_ns : path->pieces.items[place].end_ns;
    int rc = add_step(path, last_ns, path->end_ns, SPAN_NONE, PATH_NOTHING);

    while (place != SPAN_NONE && rc == 0)
        rc = critical_path_back(path, &place);
    reverse(path);
    return rc;
}

int critical_path_make(const struct spans_answer *answer, int64_t start_ns, int64_t end_ns,
                       struct critical_path *out_path)
{
    int rc;

    *out_path = (struct critical_path){.answer = answer, .start_ns = start_ns, .end_ns = end_ns};
    rc = critical_pieces_make(out_path);
    return rc ? rc : walk(out_path);
}

void critical_path_deinit(struct critical_path *path)
{
    array_deinit(&path->pieces);
    array_deinit(&path->steps);
    array_deinit(&path->recent);
    array_deinit(&path->recalled);
    free(path->order);
    free(path->ends);
    path->order = NULL;
    path->ends = NULL;
}

/* --- The schedule. --- */

int critical_path_predict(const struct critical_path *path, const double *scales, double *out_ns)
{
    size_t count = path->pieces.count;
    double *ends = malloc((count + 1) * sizeof(*ends)); /* after the start of the run */
    double last_ns = (double)(path->end_ns - path->start_ns);

    if (!ends)
        return -ENOMEM;
    *out_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct path_piece *piece = &path->pieces.items[path->order[i]];
        uint32_t holder = find_holder(path, piece);
        uint32_t other = holder == piece->before ? piece->cross : piece->before;
        double own_ns =
            (double)(piece->end_ns - piece->start_ns) * scales[path->classes[piece->span]];
        double start_ns = (double)(piece->start_ns - path->start_ns);

        if (holder != SPAN_NONE)
            start_ns = ends[holder] + (double)(piece->start_ns - path->pieces.items[holder].end_ns);
        if (other != SPAN_NONE && ends[other] > start_ns)
            start_ns = ends[other];
        ends[path->order[i]] = start_ns + (piece->is_wait ? 0 : own_ns);
        if (ends[path->order[i]] > *out_ns)
            *out_ns = ends[path->order[i]];
        last_ns = ends[path->order[i]] + (double)(path->end_ns - piece->end_ns);
    }
    if (last_ns > *out_ns)
        *out_ns = last_ns;
    free(ends);
    return 0;
}

uint32_t *critical_path_classes(const struct spans_answer *answer, const uint32_t *of_ops)
{
    const struct span *items = answer->spans.items;
    uint32_t *classes = malloc((answer->spans.count + 1) * sizeof(*classes));

    for (size_t i = 0; i < answer->spans.count && classes; i++) {
        classes[i] = of_ops[items[i].op];
        if (classes[i] == 0 && items[i].parent != SPAN_NONE)
            classes[i] = classes[items[i].parent];
    }
    for (size_t i = 0; i < answer->spans.count && classes; i++) {
        if (classes[i] == 0 && span_is_device(answer, &items[i]) &&
            items[i].launch <
                answer->spans.count) /* of earlier parts only waits are, of no class */
            classes[i] = classes[items[i].launch];
    }
    return classes;
}
