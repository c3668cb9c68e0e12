/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the event table: found by their path, filled from host spans, then from device spans. */
#include "analyze/metrics/event_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/query/op_class.h"

/* The row that an op was given last, of those on threads and those on devices. */
struct last_row {
    uint32_t parent, lane, row;
};

/* A label that is in several parts, and what they have of it so far. */
struct event_frame {
    struct span span;
    uint32_t row;
    double self_ns, device_ns;
};

/* Work of a device for a row. */
struct device_time {
    uint32_t device, row;
    int64_t start_ns, end_ns;
};
struct device_time_array ARRAY_FIELDS(struct device_time);

/* The first span of a row, in the order of all: those of threads lane by lane, then those of devices by
 * time. It says which place and kind the row has. */
struct row_first {
    bool is_device;
    uint32_t group; /* the lane; of a device the first of its lanes */
    uint32_t lane, order;
    int64_t start_ns, dur_ns;
};

struct event_builder {
    const struct spans_answer *spans; /* the part at hand, as what is beside its spans: */
    uint32_t *row_of;                 /* the innermost row that it counts for */
    double *device_of;                /* of a host span: device work launched in it */

    struct event_options options;
    struct event_tree tree;
    ARRAY_OF(struct row_first) firsts; /* beside rows */
    size_t part_count;
    struct place_map paths;     /* from a parent and a name to a row */
    struct last_row (*last)[2]; /* beside ops */
    ARRAY_OF(struct event_frame) frames;
    struct device_time_array late; /* what later parts may have something beside, in their order */
    double host_ns;                /* of main rows */
};

/* --- Rows. --- */

/* The first lane on the same device. */
static uint32_t device_of_lane(const struct spans_answer *spans, uint32_t lane)
{
    const struct lane_row *row = &spans->lanes.items[lane];

    for (uint32_t i = 0; i < lane && row->device; i++) {
        const struct lane_row *other = &spans->lanes.items[i];

        if (other->side == OP_DEVICE && other->device && strcmp(other->device, row->device) == 0 &&
            other->session_id == row->session_id)
            return i;
    }
    return lane;
}

static struct row_first first_of(const struct spans_answer *spans, const struct span *span)
{
    const bool is_device = span_is_device(spans, span);

    return (struct row_first){
        is_device,      is_device ? device_of_lane(spans, span->lane) : span->lane,
        span->lane,     span->order,
        span->start_ns, span->dur_ns};
}

static int compare_firsts(const struct row_first *a, const struct row_first *b)
{
    if (a->is_device != b->is_device)
        return a->is_device ? 1 : -1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->dur_ns != b->dur_ns)
        return a->dur_ns > b->dur_ns ? -1 : 1;
    return (a->order < b->order) - (a->order > b->order);
}

/* A row that is there may have had its first span in a later part. */
static void meet(struct event_builder *builder, uint32_t row, const struct span *span,
                 enum event_kind kind)
{
    const struct row_first first = first_of(builder->spans, span);

    if (compare_firsts(&first, &builder->firsts.items[row]) >= 0)
        return;
    builder->firsts.items[row] = first;
    builder->tree.rows.items[row].kind = kind;
}

static int add_row(struct event_builder *builder, uint32_t parent, uint32_t lane, const char *name,
                   enum event_kind kind, const struct span *span)
{
    struct event_tree *tree = &builder->tree;
    struct event_row row = {
        .name = name,
        .kind = kind,
        .parent = parent,
        .lane = lane,
        .depth = parent == EVENT_NONE ? 0 : tree->rows.items[parent].depth + 1,
        .min_ns = NAN,
        .max_ns = NAN,
        .device_min_ns = NAN,
        .device_max_ns = NAN,
        .gpu_min_ns = NAN,
        .gpu_max_ns = NAN,
        .first_end_ns = INT64_MAX,
        .union_device = EVENT_NONE,
    };
    int rc = array_push(&tree->rows, row);

    return rc ? rc : array_push(&builder->firsts, first_of(builder->spans, span));
}

static int find_row(struct event_builder *builder, uint32_t parent, uint32_t lane, const char *name,
                    enum event_kind kind, const struct span *span, uint32_t *out_row)
{
    struct place_key key = {.low = parent, .high = (uint64_t)lane << 8 | (kind == EVENT_INSTANCE)};
    int rc;

    place_key_add(&key, name, strlen(name) + 1);
    *out_row = place_map_find(&builder->paths, key);
    if (*out_row != PLACE_NONE) {
        meet(builder, *out_row, span, kind);
        return 0;
    }
    *out_row = (uint32_t)builder->tree.rows.count;
    rc = add_row(builder, parent, lane, name, kind, span);
    return rc ? rc : place_map_set(&builder->paths, key, *out_row);
}

static enum event_kind kind_of(const struct event_builder *builder, const struct span *span)
{
    switch ((enum span_kind)builder->spans->op_kinds[span->op]) {
    case SPAN_LABEL:
        return EVENT_LABEL;
    case SPAN_PHASE:
        return EVENT_PHASE;
    default:
        return span_is_device(builder->spans, span) ? EVENT_DEVICE : EVENT_OP;
    }
}

static bool stands_by_type(const struct op_row *op)
{
    return op_is_grouped_by_type(op) && !op_is_python(op);
}

/* The name of one op below its type; NULL when there is nothing to tell it apart by. */
static const char *instance_name(const struct op_row *op)
{
    return stands_by_type(op) ? op->name : op->input_shapes;
}

/* What a span's row is called: a phase that bears its op's name is told by what follows that. */
static const char *name_of(const struct event_builder *builder, const struct span *span)
{
    const struct spans_answer *spans = builder->spans;
    const struct op_row *op = &spans->ops.items[span->op];
    const char *name = stands_by_type(op) ? op->type : op->name;
    const char *outer;
    size_t length;

    if (span->parent == SPAN_NONE || spans->op_kinds[span->op] != SPAN_PHASE)
        return name;
    outer = spans->ops.items[spans->spans.items[span->parent].op].name;
    length = strlen(outer);
    return length && strncmp(name, outer, length) == 0 && name[length] == '/' ? name + length + 1
                                                                              : name;
}

/* The row of a span inside of `parent`; with every detail, its op's below its type's. */
static int find_rows_of(struct event_builder *builder, uint32_t parent, const struct span *span,
                        uint32_t *out_row)
{
    const struct op_row *op = &builder->spans->ops.items[span->op];
    enum event_kind kind = kind_of(builder, span);
    uint32_t lane = EVENT_NONE;
    const char *instance;
    int rc;

    if (builder->options.per_thread)
        lane = parent == EVENT_NONE ? span->lane : builder->tree.rows.items[parent].lane;
    rc = find_row(builder, parent, lane, name_of(builder, span), kind, span, out_row);
    instance = instance_name(op);
    if (rc < 0 || builder->options.detail != EVENTS_ALL || kind != EVENT_OP || !instance)
        return rc;
    return find_row(builder, *out_row, lane, instance, EVENT_INSTANCE, span, out_row);
}

/* Ops follow each other in the same way, mostly; what a phase is called depends on what it lies in. */
static int descend(struct event_builder *builder, uint32_t parent, const struct span *span,
                   uint32_t *out_row)
{
    struct last_row *last = &builder->last[span->op][span_is_device(builder->spans, span)];
    int rc;

    if (last->row != EVENT_NONE && last->parent == parent && last->lane == span->lane &&
        builder->spans->op_kinds[span->op] != SPAN_PHASE) {
        *out_row = last->row;
        return 0;
    }
    rc = find_rows_of(builder, parent, span, out_row);
    if (rc == 0)
        *last = (struct last_row){parent, span->lane, *out_row};
    return rc;
}

/* Whether a span has a row of its own, or only counts for those around it. */
static bool has_row(const struct event_builder *builder, const struct span *span)
{
    enum event_detail detail = builder->options.detail;
    const struct op_row *op = &builder->spans->ops.items[span->op];
    enum op_class class = op_class_of(op);
    bool on_device = span_is_device(builder->spans, span);

    if (!span->is_shown)
        return false;
    switch ((enum span_kind)builder->spans->op_kinds[span->op]) {
    case SPAN_MARK:
        return false;
    case SPAN_PHASE:
        return detail != EVENTS_DEFAULT &&
               (!on_device || span_is_device_phase(builder->spans, span));
    case SPAN_LABEL:
        return !on_device;
    default:
        break;
    }
    if (class == OP_CLASS_COPY || class == OP_CLASS_FILL)
        return true;
    if (class == OP_CLASS_CALL || op_is_python(op))
        return detail == EVENTS_ALL;
    return !on_device || detail != EVENTS_DEFAULT;
}

/* --- Host spans. --- */

static int add_host_rows(struct event_builder *builder)
{
    const struct spans_answer *spans = builder->spans;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        uint32_t outer = span->parent == SPAN_NONE ? EVENT_NONE : builder->row_of[span->parent];

        builder->row_of[i] = outer;
        if (!span_is_device(spans, span) && has_row(builder, span))
            rc = descend(builder, outer, span, &builder->row_of[i]);
    }
    return rc;
}

static int64_t end_of(const struct span *span)
{
    return span->start_ns + span->dur_ns;
}

static void count_value(struct event_row *row, double value_ns)
{
    row->total_ns += value_ns;
    row->min_ns = fmin(row->min_ns, value_ns);
    row->max_ns = fmax(row->max_ns, value_ns);
}

/* Fills the rows in which a host span is, the innermost `at`; after its device work is known. */
static void count_call(struct event_builder *builder, const struct span *span, uint32_t at,
                       double self_ns, double device_ns)
{
    const double host_ns = (double)span->dur_ns;
    struct event_row *row;

    do {
        row = &builder->tree.rows.items[at];
        row->calls++;
        row->host_ns += host_ns;
        row->self_ns += self_ns;
        if (builder->options.state == EVENTS_CPU || builder->options.state == EVENTS_AUTO)
            count_value(row, host_ns);
        else
            count_value(row, device_ns + (builder->options.state == EVENTS_SUM ? host_ns : 0));
        row->gpu_total_ns += device_ns;
        row->gpu_min_ns = fmin(row->gpu_min_ns, device_ns);
        row->gpu_max_ns = fmax(row->gpu_max_ns, device_ns);
        row->first_end_ns = end_of(span) < row->first_end_ns ? end_of(span) : row->first_end_ns;
        at = row->parent;
    } while (row->kind == EVENT_INSTANCE);
}

/* Counts in the end. Returns 0 or -ENOMEM. */
static int add_frame(struct event_builder *builder, const struct span *span, uint32_t row,
                     double device_ns)
{
    size_t end = builder->frames.count, place;

    while (end > 0 && !span_is_at(&builder->frames.items[end - 1].span, span->lane, span->start_ns,
                                  span->dur_ns))
        end--;
    place = end ? end - 1 : builder->frames.count;
    if (!end && array_push(&builder->frames, ((struct event_frame){*span, row, 0, 0})) < 0)
        return -ENOMEM;
    builder->frames.items[place].self_ns += (double)span->self_ns;
    builder->frames.items[place].device_ns += device_ns;
    return 0;
}

static int count_host_span(struct event_builder *builder, size_t place)
{
    const struct span *span = &builder->spans->spans.items[place];

    if (span->frame)
        return add_frame(builder, span, builder->row_of[place], builder->device_of[place]);
    count_call(builder, span, builder->row_of[place], (double)span->self_ns,
               builder->device_of[place]);
    return 0;
}

/* --- Device spans. --- */

/* By device, then by start, so that a row's union needs only its end. */
struct device_span {
    uint32_t device;
    uint32_t place;
    int64_t start_ns;
};

static int compare_device_spans(const void *a, const void *b)
{
    const struct device_span *left = a, *right = b;

    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

static void count_device_time(struct event_row *row, const struct device_time *time)
{
    int64_t counted_ns = row->union_until_ns;

    if (row->union_device != time->device || counted_ns < time->start_ns)
        counted_ns = time->start_ns;
    if (time->end_ns > counted_ns || row->union_device != time->device)
        row->union_until_ns = time->end_ns;
    row->device_ns += time->end_ns > counted_ns ? (double)(time->end_ns - counted_ns) : 0;
    row->union_device = time->device;
}

/* In order; what is behind the time until which all is known waits for the next part. Returns 0 or -ENOMEM. */
static int add_device_time(struct event_builder *builder, struct device_time time)
{
    const int64_t settled_ns = span_settled_ns(builder->spans);
    struct device_time now = time;

    now.end_ns = time.end_ns < settled_ns ? time.end_ns : settled_ns;
    if (time.start_ns < settled_ns)
        count_device_time(&builder->tree.rows.items[time.row], &now);
    if (time.start_ns < settled_ns && time.end_ns <= settled_ns)
        return 0;
    time.start_ns = time.start_ns > settled_ns ? time.start_ns : settled_ns;
    return array_push(&builder->late, time);
}

static void count_device_call(struct event_row *row, const struct span *span)
{
    double dur_ns = (double)span->dur_ns;

    row->device_calls++;
    row->device_total_ns += dur_ns;
    row->device_min_ns = fmin(row->device_min_ns, dur_ns);
    row->device_max_ns = fmax(row->device_max_ns, dur_ns);
    if (end_of(span) < row->first_end_ns)
        row->first_end_ns = end_of(span);
}

static int count_device_span(struct event_builder *builder, const struct device_span *from,
                             uint32_t row_place, bool is_own)
{
    const struct span *span = &builder->spans->spans.items[from->place];
    int rc = 0;

    for (uint32_t at = row_place; at != EVENT_NONE && rc == 0;) {
        struct event_row *row = &builder->tree.rows.items[at];

        rc = add_device_time(builder,
                             (struct device_time){from->device, at, from->start_ns, end_of(span)});
        if (is_own)
            count_device_call(row, span);
        is_own = is_own && row->kind == EVENT_INSTANCE;
        at = row->parent;
    }
    return rc;
}

/* A part of what its op's rows count already. */
static int add_device_phase(struct event_builder *builder, const struct device_span *from)
{
    const struct span *span = &builder->spans->spans.items[from->place];
    uint32_t outer = builder->row_of[span->parent], row;
    int rc =
        outer == EVENT_NONE || !has_row(builder, span) ? 1 : descend(builder, outer, span, &row);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    count_device_call(&builder->tree.rows.items[row], span);
    return add_device_time(builder,
                           (struct device_time){from->device, row, from->start_ns, end_of(span)});
}

static int add_device_span(struct event_builder *builder, const struct device_span *from)
{
    const struct spans_answer *spans = builder->spans;
    const struct span *span = &spans->spans.items[from->place];
    uint32_t outer = EVENT_NONE, row = EVENT_NONE;
    bool own;
    int rc = 0;

    if (span->launch != SPAN_NONE && span->launch >= spans->spans.count)
        return SPAN_PARTS_WHOLE; /* a wait that lies in an op, of what an earlier part recorded */
    if (span->launch != SPAN_NONE) {
        outer = builder->row_of[span->launch];
        for (uint32_t at = span->launch; at != SPAN_NONE; at = spans->spans.items[at].parent)
            builder->device_of[at] += (double)span->dur_ns;
    }
    /* An op that runs under its own name on the device is one row with both times. */
    own = outer == EVENT_NONE ||
          (span->op != spans->spans.items[span->launch].op && has_row(builder, span));
    row = outer;
    if (own)
        rc = descend(builder, outer, span, &row);
    builder->row_of[from->place] = row;
    return rc ? rc : count_device_span(builder, from, row, own);
}

struct device_span_array ARRAY_FIELDS(struct device_span);

static int find_device_spans(const struct spans_answer *spans, struct device_span_array *found)
{
    int rc = 0;

    for (uint32_t lane = 0; lane < spans->lanes.count && rc == 0; lane++) {
        struct span_range range = spans->ranges[lane];
        uint32_t device = device_of_lane(spans, lane);

        for (size_t i = range.first; i < range.first + range.count && rc == 0; i++) {
            const struct span *span = &spans->spans.items[i];
            struct device_span item = {device, (uint32_t)i, span->start_ns};

            if (spans->lanes.items[lane].side != OP_DEVICE || !span->is_shown)
                continue;
            if (spans->op_kinds[span->op] == SPAN_OP || span_is_device_phase(spans, span))
                rc = array_push(found, item);
        }
    }
    if (found->count)
        qsort(found->items, found->count, sizeof(*found->items), compare_device_spans);
    return rc;
}

/* What earlier parts left, up to one of this part or, with NULL, to the end. */
static int add_late(struct event_builder *builder, const struct device_time_array *late,
                    size_t *next, const struct device_span *until)
{
    int rc = 0;

    for (; *next < late->count && rc == 0; ++*next) {
        const struct device_time *time = &late->items[*next];

        if (until && (time->device > until->device ||
                      (time->device == until->device && time->start_ns > until->start_ns)))
            break;
        rc = add_device_time(builder, *time);
    }
    return rc;
}

static int add_device_rows(struct event_builder *builder)
{
    const struct spans_answer *spans = builder->spans;
    struct device_time_array late = builder->late;
    struct device_span_array found = {0};
    size_t next = 0;
    int rc = find_device_spans(spans, &found);

    builder->late = (struct device_time_array){0};
    builder->tree.has_device |= found.count > 0;
    for (size_t i = 0; i < found.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[found.items[i].place];

        rc = add_late(builder, &late, &next, &found.items[i]);
        if (rc == 0)
            rc = span_is_device_phase(spans, span) ? add_device_phase(builder, &found.items[i])
                                                   : add_device_span(builder, &found.items[i]);
    }
    if (rc == 0)
        rc = add_late(builder, &late, &next, NULL);
    array_deinit(&found);
    array_deinit(&late);
    return rc;
}

/* --- Totals. --- */

static void add_main_time(struct event_builder *builder)
{
    const struct spans_answer *spans = builder->spans;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (builder->row_of[i] == EVENT_NONE || span->frame == SPAN_FRAME_AGAIN)
            continue; /* of no row is also what is not shown */
        if (!span_is_device(spans, span) &&
            (span->parent == SPAN_NONE || builder->row_of[span->parent] == EVENT_NONE))
            builder->host_ns += (double)span->dur_ns;
    }
}

static void choose_state(struct event_builder *builder)
{
    struct event_tree *tree = &builder->tree;
    double device_ns = 0;

    tree->state = builder->options.state;
    if (tree->state != EVENTS_AUTO)
        return;
    for (size_t i = 0; i < tree->rows.count; i++)
        device_ns += tree->rows.items[i].parent == EVENT_NONE ? tree->rows.items[i].device_ns : 0;
    tree->state = device_ns > builder->host_ns ? EVENTS_GPU : EVENTS_CPU;
    for (size_t i = 0; i < tree->rows.count && tree->state == EVENTS_GPU; i++) {
        struct event_row *row = &tree->rows.items[i];

        row->total_ns = row->gpu_total_ns;
        row->min_ns = row->gpu_min_ns;
        row->max_ns = row->gpu_max_ns;
    }
}

/* A row in which host spans are, and device spans that nobody is known to have launched: where
 * sources tell one time for each op and side. */
static void add_unlaunched(struct event_row *row)
{
    if (row->total_ns == 0) {
        row->min_ns = row->device_min_ns;
        row->max_ns = row->device_max_ns;
    }
    row->total_ns += row->device_total_ns;
}

static void finish_row(struct event_row *row, enum event_state state)
{
    row->is_on_device = row->calls == 0;
    if (!row->is_on_device && row->device_calls && state != EVENTS_CPU)
        add_unlaunched(row);
    if (row->is_on_device) {
        row->calls = row->device_calls;
        row->total_ns = row->device_total_ns;
        row->min_ns = row->device_min_ns;
        row->max_ns = row->device_max_ns;
        row->host_ns = NAN;
        row->self_ns = NAN;
    }
    if (row->union_device == EVENT_NONE)
        row->device_ns = NAN;
}

static int sum_main_rows(struct event_builder *builder, size_t lane_count)
{
    struct event_tree *tree = &builder->tree;

    tree->sums = calloc(lane_count + 1, sizeof(*tree->sums));
    if (!tree->sums)
        return -ENOMEM;
    for (size_t i = 0; i < tree->rows.count; i++) {
        struct event_row *row = &tree->rows.items[i];
        struct event_sums *sums = &tree->sums[row->lane == EVENT_NONE ? 0 : row->lane];

        finish_row(row, tree->state);
        if (row->parent != EVENT_NONE)
            continue;
        sums->total_ns += row->is_on_device && tree->state == EVENTS_CPU ? 0 : row->total_ns;
        sums->host_ns += isnan(row->host_ns) ? 0 : row->host_ns;
        sums->device_ns += isnan(row->device_ns) ? 0 : row->device_ns;
    }
    return 0;
}

const struct event_sums *event_tree_sums(const struct event_tree *tree, const struct event_row *row)
{
    return &tree->sums[row->lane == EVENT_NONE ? 0 : row->lane];
}

/* --- Parts. --- */

int event_tree_begin(const struct spans_answer *spans, const struct event_options *options,
                     struct event_builder **out_builder)
{
    struct event_builder *builder = calloc(1, sizeof(*builder));
    size_t bytes = (spans->ops.count + 1) * sizeof(*builder->last);

    event_builder_destroy(out_builder);
    *out_builder = builder;
    if (!builder)
        return -ENOMEM;
    builder->options = *options;
    builder->last = malloc(bytes);
    if (!builder->last)
        return -ENOMEM;
    memset(builder->last, 0xff, bytes);
    return 0;
}

int event_tree_add(struct event_builder *builder, const struct spans_answer *spans)
{
    size_t count = spans->spans.count ? spans->spans.count : 1;
    int rc;

    builder->spans = spans;
    builder->part_count++;
    builder->row_of = malloc(count * sizeof(*builder->row_of));
    builder->device_of = calloc(count, sizeof(*builder->device_of));
    rc = builder->row_of && builder->device_of ? add_host_rows(builder) : -ENOMEM;
    if (rc == 0)
        rc = add_device_rows(builder);
    if (rc == 0)
        add_main_time(builder);
    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!span_is_device(spans, span) && has_row(builder, span))
            rc = count_host_span(builder, i);
    }
    free(builder->row_of);
    free(builder->device_of);
    builder->row_of = NULL;
    builder->device_of = NULL;
    return rc;
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct event_builder *builder = user;
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct event_row *rows = builder->tree.rows.items;
    const int order = compare_firsts(&builder->firsts.items[left], &builder->firsts.items[right]);

    if (order)
        return order;
    return (rows[left].depth > rows[right].depth) - (rows[left].depth < rows[right].depth);
}

/* As they would have been found without parts. */
static int order_rows(struct event_builder *builder)
{
    struct event_tree *tree = &builder->tree;
    const size_t count = tree->rows.count;
    uint32_t *order = malloc((count + 1) * sizeof(*order));
    uint32_t *places = malloc((count + 1) * sizeof(*places));
    struct event_row *rows = malloc((count + 1) * sizeof(*rows));
    const bool has_memory = order && places && rows;

    for (uint32_t i = 0; i < count && has_memory; i++)
        order[i] = i;
    if (has_memory && count)
        qsort_r(order, count, sizeof(*order), compare_rows, builder);
    for (uint32_t i = 0; i < count && has_memory; i++)
        places[order[i]] = i;
    for (uint32_t i = 0; i < count && has_memory; i++) {
        rows[i] = tree->rows.items[order[i]];
        if (rows[i].parent != EVENT_NONE)
            rows[i].parent = places[rows[i].parent];
    }
    if (has_memory && count)
        memcpy(tree->rows.items, rows, count * sizeof(*rows));
    free(order);
    free(places);
    free(rows);
    return has_memory ? 0 : -ENOMEM;
}

int event_tree_finish(struct event_builder *builder, const struct spans_answer *spans,
                      struct event_tree *out_tree)
{
    int rc = 0;

    for (size_t i = 0; i < builder->frames.count; i++) {
        const struct event_frame *frame = &builder->frames.items[i];

        count_call(builder, &frame->span, frame->row, frame->self_ns, frame->device_ns);
    }
    if (builder->part_count > 1)
        rc = order_rows(builder);
    choose_state(builder);
    if (rc == 0)
        rc = sum_main_rows(builder, spans->lanes.count);
    *out_tree = builder->tree;
    builder->tree = (struct event_tree){0};
    return rc;
}

void event_builder_destroy(struct event_builder **builder)
{
    if (!*builder)
        return;
    event_tree_deinit(&(*builder)->tree);
    place_map_deinit(&(*builder)->paths);
    array_deinit(&(*builder)->frames);
    array_deinit(&(*builder)->late);
    array_deinit(&(*builder)->firsts);
    free((*builder)->last);
    free(*builder);
    *builder = NULL;
}

int event_tree_build(const struct spans_answer *spans, const struct event_options *options,
                     struct event_tree *out_tree)
{
    struct event_builder *builder = NULL;
    int rc = event_tree_begin(spans, options, &builder);

    *out_tree = (struct event_tree){0};
    if (rc == 0)
        rc = event_tree_add(builder, spans);
    if (rc == 0)
        rc = event_tree_finish(builder, spans, out_tree);
    event_builder_destroy(&builder);
    return rc;
}

void event_tree_deinit(struct event_tree *tree)
{
    array_deinit(&tree->rows);
    free(tree->sums);
    tree->sums = NULL;
}
