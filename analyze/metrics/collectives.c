/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives move, and their calls beside each other. */
#include "analyze/metrics/collectives.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/json/text.h"
#include "analyze/query/lane_use.h"
#include "analyze/stats/groups.h"
#include "base/dtype.h"

/* --- Names and factors. --- */

/* Letters alone, small. */
static void fold(const char *name, char *out, size_t bytes)
{
    size_t used = 0;

    for (; *name && used + 1 < bytes; name++) {
        if (isalpha((unsigned char)*name))
            out[used++] = (char)tolower((unsigned char)*name);
    }
    out[used] = '\0';
}

enum collective_kind collective_kind_of(const char *name)
{
    static const struct {
        const char *word;
        enum collective_kind kind;
    } words[] = {
        {"allreduce", COLLECTIVE_ALL_REDUCE}, {"reducescatter", COLLECTIVE_REDUCE_SCATTER},
        {"allgather", COLLECTIVE_ALL_GATHER}, {"alltoall", COLLECTIVE_ALL_TO_ALL},
        {"barrier", COLLECTIVE_BARRIER},      {"broadcast", COLLECTIVE_ONE_WAY},
        {"sendrecv", COLLECTIVE_ONE_WAY},     {"send", COLLECTIVE_ONE_WAY},
        {"recv", COLLECTIVE_ONE_WAY},         {"gather", COLLECTIVE_ROOTED},
        {"scatter", COLLECTIVE_ROOTED},       {"reduce", COLLECTIVE_ONE_WAY},
    };
    char folded[200];

    fold(name, folded, sizeof(folded));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(folded, words[i].word))
            return words[i].kind;
    }
    return COLLECTIVE_OTHER;
}

double collective_bus_factor(enum collective_kind kind, double ranks)
{
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
        return ranks >= 1 ? 2 * (ranks - 1) / ranks : NAN;
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_ROOTED:
        return ranks >= 1 ? (ranks - 1) / ranks : NAN;
    case COLLECTIVE_ONE_WAY:
        return 1;
    default:
        return NAN;
    }
}

/* --- What an op says. --- */

/* Of an op. */
struct facts {
    bool is_told; /* by parameters of a collective */
    enum collective_kind kind;
    double bytes, ranks;
};

/* The bytes of an element; NaN: not known. */
static double element_bytes(const char *dtype, size_t length)
{
    char name[40];
    const char *digits;

    snprintf(name, sizeof(name), "%.*s", (int)(length < 39 ? length : 39), dtype);
    dtype = dtype_short(name);
    if (strcmp(dtype, "bool") == 0)
        return 1;
    digits = dtype + strcspn(dtype, "0123456789");
    return *digits ? (double)strtol(digits, NULL, 10) / 8 : NAN;
}

static double number_of(struct json_slice value)
{
    double number;

    return json_real(value, &number) ? number : NAN;
}

static void read_params(const struct op_row *op, struct facts *facts)
{
    struct json_slice params = json_value(op->params, strlen(op->params));
    struct json_slice name = json_member(params, "collective");
    struct json_slice dtype = json_member(params, "dtype");
    double in = number_of(json_member(params, "in_elements"));
    double out = number_of(json_member(params, "out_elements"));
    char *text;

    if (name.kind != JSON_STRING)
        return;
    text = json_take_text(name);
    facts->is_told = true;
    facts->kind = text ? collective_kind_of(text) : COLLECTIVE_OTHER;
    facts->ranks = number_of(json_member(params, "group_size"));
    if (dtype.kind == JSON_STRING)
        facts->bytes = fmax(in, out) * element_bytes(dtype.text, dtype.length);
    free(text);
}

/* Elements of the first input, by its type. */
static double input_bytes(const struct op_row *op)
{
    struct json_slice key, shape, dtype = {0}, size;
    struct json_walk walk;
    double bytes = 1;

    if (!op->input_shapes || !op->input_dtypes)
        return NAN;
    walk = json_walk_over(json_value(op->input_dtypes, strlen(op->input_dtypes)));
    if (json_walk_next(&walk, &key, &dtype) != 1 || dtype.kind != JSON_STRING)
        return NAN;
    walk = json_walk_over(json_value(op->input_shapes, strlen(op->input_shapes)));
    if (json_walk_next(&walk, &key, &shape) != 1 || shape.kind != JSON_ARRAY)
        return NAN;
    walk = json_walk_over(shape);
    while (json_walk_next(&walk, &key, &size) == 1)
        bytes *= number_of(size);
    return bytes * element_bytes(dtype.text, dtype.length);
}

static struct facts facts_of(const struct op_row *op)
{
    struct facts facts = {.kind = collective_kind_of(op->name), .bytes = NAN, .ranks = NAN};

    if (op->params && strstr(op->params, "\"collective\""))
        read_params(op, &facts);
    return facts;
}

/* What ops tell, each once. */
static struct facts *read_ops(const struct spans_answer *spans)
{
    struct facts *facts = malloc((spans->ops.count + 1) * sizeof(*facts));

    for (size_t i = 0; i < spans->ops.count && facts; i++)
        facts[i] = facts_of(&spans->ops.items[i]);
    return facts;
}

/* --- Finding them. --- */

struct collectives_gathered {
    struct collectives found;
    struct groups groups;
    struct facts *of_ops; /* beside ops */
};

static double world_size_of(const struct spans_answer *spans, const double *world_sizes,
                            const struct span *span)
{
    for (size_t i = 0; i < spans->windows.count; i++) {
        if (spans->windows.items[i].session_id == spans->lanes.items[span->lane].session_id)
            return world_sizes[i];
    }
    return NAN;
}

/* The op itself, or the nearest around its launch or around it that tells. */
static struct facts facts_of_span(const struct spans_answer *spans, const struct facts *of_ops,
                                  const struct span *span, double world_size)
{
    const struct span *items = spans->spans.items;
    uint32_t around = span->launch != SPAN_NONE ? span->launch : span->parent;
    struct facts facts = of_ops[span->op];

    while (!facts.is_told && around != SPAN_NONE) {
        if (of_ops[items[around].op].is_told)
            facts = of_ops[items[around].op];
        around = items[around].parent;
    }
    if (isnan(facts.ranks))
        facts.ranks = world_size;
    if (!facts.is_told) {
        facts.bytes = input_bytes(span_op(spans, span));
        if (facts.kind == COLLECTIVE_ALL_GATHER)
            facts.bytes *= facts.ranks; /* each brings such an input */
    }
    if (isnan(facts.bytes))
        facts.bytes = NAN; /* one of them, which counts as the same */
    return facts;
}

static int add_call(const struct spans_answer *spans, const struct facts *facts,
                    const struct span *span, struct collectives_gathered *gathered)
{
    struct collectives *found = &gathered->found;
    double ns = (double)span->dur_ns;
    struct collective_line made = {
        .name = span_op(spans, span)->name,
        .is_device = span_is_device(spans, span),
        .bytes = facts->bytes,
        .ranks = facts->ranks,
        .bus_factor = collective_bus_factor(facts->kind, facts->ranks),
        .min_ns = ns,
        .max_ns = ns,
    };
    struct place_key key = {0};
    struct collective_line *line;
    uint32_t group;
    int rc;

    groups_add_text(&key, made.name);
    place_key_add(&key, &made.bytes, sizeof(made.bytes));
    place_key_add(&key, &made.ranks, sizeof(made.ranks));
    rc = groups_find(&gathered->groups, key, &group);
    if (rc == 1)
        rc = array_push(&found->lines, made);
    if (rc < 0)
        return rc;
    line = &found->lines.items[group];
    line->calls++;
    line->total_ns += ns;
    line->min_ns = fmin(line->min_ns, ns);
    line->max_ns = fmax(line->max_ns, ns);
    return array_push(&found->calls, ((struct collective){
                                         .session_id = spans->lanes.items[span->lane].session_id,
                                         .start_ns = span->start_ns,
                                         .dur_ns = span->dur_ns,
                                         .line = group,
                                         .lane = span->lane,
                                     }));
}

static int compare_calls(const void *a, const void *b)
{
    const struct collective *left = a, *right = b;

    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return (left->dur_ns < right->dur_ns) - (left->dur_ns > right->dur_ns);
}

int collectives_begin(const struct spans_answer *spans, struct collectives_gathered **out_gathered)
{
    collectives_drop(out_gathered);
    *out_gathered = calloc(1, sizeof(**out_gathered));
    if (!*out_gathered)
        return -ENOMEM;
    (*out_gathered)->of_ops = read_ops(spans);
    return (*out_gathered)->of_ops ? 0 : -ENOMEM;
}

int collectives_add(struct collectives_gathered *gathered, const struct spans_answer *spans,
                    const double *world_sizes)
{
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        struct facts facts;

        if (!span->is_shown || !span_communicates(spans, span))
            continue;
        facts =
            facts_of_span(spans, gathered->of_ops, span, world_size_of(spans, world_sizes, span));
        rc = add_call(spans, &facts, span, gathered);
    }
    return rc;
}

void collectives_finish(struct collectives_gathered *gathered, struct collectives *out_collectives)
{
    *out_collectives = gathered->found;
    gathered->found = (struct collectives){0};
    if (out_collectives->calls.count)
        qsort(out_collectives->calls.items, out_collectives->calls.count,
              sizeof(*out_collectives->calls.items), compare_calls);
}

void collectives_drop(struct collectives_gathered **gathered)
{
    if (!*gathered)
        return;
    collectives_deinit(&(*gathered)->found);
    groups_deinit(&(*gathered)->groups);
    free((*gathered)->of_ops);
    free(*gathered);
    *gathered = NULL;
}

int collectives_find(const struct spans_answer *spans, const double *world_sizes,
                     struct collectives *out_collectives)
{
    struct collectives_gathered *gathered = NULL;
    int rc = collectives_begin(spans, &gathered);

    *out_collectives = (struct collectives){0};
    if (rc == 0)
        rc = collectives_add(gathered, spans, world_sizes);
    if (rc == 0)
        collectives_finish(gathered, out_collectives);
    collectives_drop(&gathered);
    return rc;
}

void collectives_deinit(struct collectives *collectives)
{
    array_deinit(&collectives->calls);
    array_deinit(&collectives->lines);
}

/* --- Sessions beside each other. --- */

/* The calls of a line in one session. */
struct of_session {
    int64_t session_id;
    const struct collective *calls;
    uint64_t count, last_count;
    double held_up_ns;
};
struct of_sessions ARRAY_FIELDS(struct of_session);

static int part_sessions(const struct collective *calls, size_t count,
                         struct of_sessions *out_sessions)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        int64_t session_id = calls[i].session_id;

        if (!out_sessions->count ||
            out_sessions->items[out_sessions->count - 1].session_id != session_id)
            rc = array_push(out_sessions, ((struct of_session){session_id, &calls[i], 0, 0, 0}));
        if (rc == 0)
            out_sessions->items[out_sessions->count - 1].count++;
    }
    return rc;
}

/* The calls of one number. */
static void compare_call(struct of_sessions *sessions, uint64_t number,
                         struct straggler *out_straggler)
{
    double shortest = INFINITY, longest = 0, sum = 0;
    struct of_session *last = NULL;

    for (size_t i = 0; i < sessions->count; i++) {
        double ns = (double)sessions->items[i].calls[number].dur_ns;

        if (ns < shortest)
            last = &sessions->items[i];
        shortest = fmin(shortest, ns);
        longest = fmax(longest, ns);
        sum += ns;
    }
    last->last_count++;
    last->held_up_ns += longest - shortest;
    out_straggler->transfer_ns += shortest;
    out_straggler->wait_ns +=
        (sum - shortest * (double)sessions->count) / (double)(sessions->count - 1);
}

static struct straggler compare_sessions(struct of_sessions *sessions, uint32_t line)
{
    struct straggler out = {.line = line, .session_count = sessions->count, .calls = UINT64_MAX};
    const struct of_session *last = &sessions->items[0];

    for (size_t i = 0; i < sessions->count; i++) {
        if (sessions->items[i].count < out.calls)
            out.calls = sessions->items[i].count;
    }
    for (uint64_t k = 0; k < out.calls; k++)
        compare_call(sessions, k, &out);
    for (size_t i = 0; i < sessions->count; i++) {
        const struct of_session *session = &sessions->items[i];

        out.left_over += session->count - out.calls;
        if (session->last_count > last->last_count)
            last = session;
    }
    out.transfer_ns /= (double)out.calls;
    out.wait_ns /= (double)out.calls;
    out.last_session = last->session_id;
    out.last_count = last->last_count;
    out.held_up_ns = last->held_up_ns / (double)last->last_count;
    return out;
}

int collectives_compare(const struct collectives *collectives,
                        struct straggler_array *out_stragglers)
{
    const struct collective *calls = collectives->calls.items;
    size_t first = 0, count = collectives->calls.count;
    int rc = 0;

    for (size_t i = 1; i <= count && rc == 0; i++) {
        struct of_sessions sessions = {0};

        if (i < count && calls[i].line == calls[first].line)
            continue;
        rc = part_sessions(&calls[first], i - first, &sessions);
        if (rc == 0 && sessions.count > 1)
            rc = array_push(out_stragglers, compare_sessions(&sessions, calls[first].line));
        array_deinit(&sessions);
        first = i;
    }
    return rc;
}
