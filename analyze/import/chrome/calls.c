/* SPDX-License-Identifier: Apache-2.0 */
/* Who was open when a call began, and which forward call a backward one belongs to. */
#include "analyze/import/chrome/calls.h"
#include "base/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the call stacks");
}

static struct chrome_template *template_of(const struct chrome_calls *calls, uint32_t op)
{
    const struct chrome_stacks *stacks = calls->stacks;

    return op < stacks->template_of.count && stacks->template_of.items[op] != PLACE_NONE
               ? &stacks->templates.items[stacks->template_of.items[op]]
               : NULL;
}

/* --- Texts. --- */

/* The place of a text; equal ones are one. */
static int intern(struct chrome_calls *calls, const char *text, uint32_t *out_place)
{
    struct place_key key = {0};
    char *copy;

    place_key_add(&key, text, strlen(text));
    *out_place = place_map_find(&calls->texts_by_content, key);
    if (*out_place != PLACE_NONE)
        return 0;
    copy = strdup(text);
    *out_place = (uint32_t)calls->texts.count;
    if (copy && array_push(&calls->texts, copy) == 0)
        return place_map_set(&calls->texts_by_content, key, *out_place);
    free(copy);
    return -ENOMEM;
}

static int intern_templates(struct chrome_calls *calls)
{
    for (size_t i = 0; i < calls->stacks->templates.count; i++) {
        struct chrome_template *template = &calls->stacks->templates.items[i];
        const char *text = template->is_python ? template->name : template->stack;

        if (text && intern(calls, text, &template->text) < 0)
            return -ENOMEM;
    }
    return 0;
}

const char *chrome_calls_text(const struct chrome_calls *calls, uint32_t stack)
{
    return stack == PLACE_NONE ? NULL : calls->texts.items[stack];
}

/* --- Functions of Python around a call. --- */

static int find_node(struct chrome_calls *calls, uint32_t parent, uint32_t name, uint32_t *out_node)
{
    struct place_key key = {.low = (uint64_t)parent << 32 | name};
    struct chrome_node node = {parent, name, PLACE_NONE};

    *out_node = place_map_find(&calls->nodes_by_key, key);
    if (*out_node != PLACE_NONE)
        return 0;
    *out_node = (uint32_t)calls->nodes.count;
    if (array_push(&calls->nodes, node) < 0)
        return -ENOMEM;
    return place_map_set(&calls->nodes_by_key, key, *out_node);
}

/* The stack of a node, nearest frame first. */
static int write_stack(struct chrome_calls *calls, struct chrome_node *node)
{
    char text[STACK_BYTES_MAX];
    uint32_t at = (uint32_t)(node - calls->nodes.items);
    size_t length = 0, frames = 0;

    for (; at != PLACE_NONE && frames < STACK_FRAMES_MAX; frames++) {
        const char *name = calls->texts.items[calls->nodes.items[at].name];
        size_t bytes = strlen(name);

        if (length + bytes + 2 > sizeof(text))
            break;
        if (length)
            text[length++] = ';';
        for (size_t i = 0; i < bytes; i++)
            text[length++] = name[i] == ';' ? ':' : name[i];
        at = calls->nodes.items[at].parent;
    }
    text[length] = '\0';
    if (at != PLACE_NONE)
        calls->dropped_count++;
    if (calls->stack_bytes + length > STACK_BYTES_IN_ALL) {
        calls->dropped_count++;
        return 0;
    }
    calls->stack_bytes += length;
    return length ? intern(calls, text, &node->text) : 0;
}

struct open_call {
    int64_t end_ns;
    uint32_t place; /* of a node, of a call */
};
struct open_calls ARRAY_FIELDS(struct open_call);

/* What has ended when this begins goes; and what ends before this does, since it cannot hold it. */
static void close_before(struct open_calls *open, const struct chrome_call *call, bool must_hold,
                         int64_t rounding_ns)
{
    while (open->count) {
        int64_t end_ns = open->items[open->count - 1].end_ns;

        if (end_ns > call->start_ns &&
            (!must_hold || end_ns == INT64_MAX || end_ns + rounding_ns >= call->end_ns))
            return;
        open->count--;
    }
}

static int add_frame(struct chrome_calls *calls, const struct chrome_call *call, uint32_t name,
                     struct open_calls *open)
{
    struct open_call frame = {.end_ns = call->end_ns};

    close_before(open, call, true, calls->rounding_ns);
    if (find_node(calls, open->count ? open->items[open->count - 1].place : PLACE_NONE, name,
                  &frame.place) < 0)
        return -ENOMEM;
    return array_push(open, frame);
}

/* Each call's own stack: the one it says, or the frames that are open when it begins. */
static int find_own(struct chrome_calls *calls)
{
    struct open_calls open = {0};
    int rc = 0;

    for (size_t i = 0; i < calls->calls.count && rc == 0; i++) {
        struct chrome_call *call = &calls->calls.items[i];
        const struct chrome_template *template = template_of(calls, call->op);
        struct chrome_node *node;

        if (i && call->lane != call[-1].lane)
            open.count = 0;
        if (template->is_python) {
            rc = add_frame(calls, call, template->text, &open);
            continue;
        }
        call->stack = template->text;
        close_before(&open, call, false, 0);
        if (template->stack || !open.count)
            continue;
        node = &calls->nodes.items[open.items[open.count - 1].place];
        if (node->text == PLACE_NONE)
            rc = write_stack(calls, node);
        call->stack = node->text;
    }
    array_deinit(&open);
    return rc;
}

/* --- Backward calls. --- */

static const struct autograd_note *note_of(const struct chrome_calls *calls, uint64_t row)
{
    size_t low = 0, high = calls->stacks->notes.count;

    low = search_past(low, high, middle, calls->stacks->notes.items[middle].row < row);
    return low < calls->stacks->notes.count && calls->stacks->notes.items[low].row == row
               ? &calls->stacks->notes.items[low]
               : NULL;
}

/* Calls that may be the forward one of a number, one a thread. The engine's frame around a backward op
 * has the op's number too. It comes behind the forward op; where that ran in a backward pass itself
 * (gradients of gradients), or before the recording, the frame stands for it, as in PyTorch. */
struct forward {
    uint32_t call, next; /* the next of the same number; or PLACE_NONE */
    bool is_frame;
};

struct forwards {
    struct place_map first;  /* by number */
    struct place_map known;  /* by number and lane */
    struct place_map votes;  /* by thread and lane: how often a number that it names is there */
    struct place_map chosen; /* by thread: the lane with the most */
    ARRAY_OF(struct forward) items;
};

enum { FORWARDS_MAX = 64 }; /* threads that one number is looked for on */

static void forwards_deinit(struct forwards *forwards)
{
    place_map_deinit(&forwards->first);
    place_map_deinit(&forwards->known);
    place_map_deinit(&forwards->votes);
    place_map_deinit(&forwards->chosen);
    array_deinit(&forwards->items);
}

static int add_forward(struct forwards *forwards, const struct autograd_note *note, uint32_t lane,
                       uint32_t call)
{
    struct place_key number = {.low = (uint64_t)note->sequence};
    struct place_key both = {.low = (uint64_t)note->sequence, .high = (uint64_t)lane + 1};
    struct forward forward = {call, place_map_find(&forwards->first, number), note->is_frame};
    uint32_t place = (uint32_t)forwards->items.count;

    if (place_map_find(&forwards->known, both) != PLACE_NONE)
        return 0; /* the first counts */
    if (array_push(&forwards->items, forward) < 0 ||
        place_map_set(&forwards->first, number, place) < 0)
        return -ENOMEM;
    return place_map_set(&forwards->known, both, place);
}

/* Which calls are backward ones or lie in one, and which are forward ones. */
static int part(struct chrome_calls *calls, struct forwards *forwards)
{
    struct open_calls open = {0};
    int rc = 0;

    for (size_t i = 0; i < calls->calls.count && rc == 0; i++) {
        struct chrome_call *call = &calls->calls.items[i];
        const struct autograd_note *note;

        if (i && call->lane != call[-1].lane)
            open.count = 0;
        if (template_of(calls, call->op)->is_python)
            continue;
        close_before(&open, call, true, calls->rounding_ns);
        note = note_of(calls, call->row);
        if (note && note->is_backward)
            rc = array_push(&open, ((struct open_call){call->end_ns, (uint32_t)i}));
        if (open.count)
            call->backward = open.items[open.count - 1].place;
        else if (note && note->sequence != STORE_NULL)
            rc = add_forward(forwards, note, call->lane, (uint32_t)i);
    }
    array_deinit(&open);
    return rc;
}

/* The numbers of threads are PyTorch's own: a thread is the lane where most of the numbers are that
 * backward calls look for on it. Frames may lie on a lane of the engine's: they decide only where no
 * forward op does. */
static int choose_lanes(const struct chrome_calls *calls, struct forwards *forwards, bool by_frames)
{
    for (size_t i = 0; i < calls->stacks->notes.count; i++) {
        const struct autograd_note *note = &calls->stacks->notes.items[i];
        struct place_key number = {.low = (uint64_t)note->sequence};
        struct place_key thread = {.low = (uint64_t)note->thread};
        uint32_t at;

        if (!note->is_backward || note->sequence == STORE_NULL ||
            (by_frames && place_map_find(&forwards->chosen, thread) != PLACE_NONE))
            continue;
        at = place_map_find(&forwards->first, number);
        for (int tries = 0; at != PLACE_NONE && tries < FORWARDS_MAX; tries++) {
            const struct forward *forward = &forwards->items.items[at];
            uint32_t lane = calls->calls.items[forward->call].lane;
            struct place_key both = {.low = (uint64_t)note->thread, .high = (uint64_t)lane + 1};
            uint32_t votes = place_map_find(&forwards->votes, both), best, most = 0;

            at = forward->next;
            if (forward->is_frame != by_frames)
                continue;
            votes = votes == PLACE_NONE ? 1 : votes + 1;
            best = place_map_find(&forwards->chosen, thread);
            if (best != PLACE_NONE) {
                both.high = (uint64_t)best + 1;
                most = place_map_find(&forwards->votes, both);
            }
            both.high = (uint64_t)lane + 1;
            if (place_map_set(&forwards->votes, both, votes) < 0 ||
                (votes > most && place_map_set(&forwards->chosen, thread, lane) < 0))
                return -ENOMEM;
        }
    }
    return 0;
}

static uint32_t forward_stack(const struct chrome_calls *calls, const struct forwards *forwards,
                              const struct chrome_call *backward)
{
    const struct autograd_note *note = note_of(calls, backward->row);
    struct place_key key = {.low = (uint64_t)note->thread};
    uint32_t lane = place_map_find(&forwards->chosen, key), found;

    if (note->sequence == STORE_NULL || lane == PLACE_NONE)
        return PLACE_NONE;
    key = (struct place_key){.low = (uint64_t)note->sequence, .high = (uint64_t)lane + 1};
    found = place_map_find(&forwards->known, key);
    return found == PLACE_NONE ? PLACE_NONE
                               : calls->calls.items[forwards->items.items[found].call].stack;
}

static int give_forward_stacks(struct chrome_calls *calls)
{
    struct forwards forwards = {0};
    int rc = part(calls, &forwards);

    if (rc == 0)
        rc = choose_lanes(calls, &forwards, false);
    if (rc == 0)
        rc = choose_lanes(calls, &forwards, true);
    /* A backward call comes before what lies in it; the forward ones are none. */
    for (size_t i = 0; i < calls->calls.count && rc == 0; i++) {
        struct chrome_call *call = &calls->calls.items[i];

        call->is_in_backward = call->backward != PLACE_NONE;
        if (call->backward == i)
            call->stack = forward_stack(calls, &forwards, call);
        else if (call->is_in_backward)
            call->stack = calls->calls.items[call->backward].stack;
    }
    forwards_deinit(&forwards);
    return rc;
}

/* --- All of it. --- */

static int compare_calls(const void *a, const void *b)
{
    const struct chrome_call *left = a, *right = b;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static int gather(struct chrome_calls *calls, struct importer *importer, struct diag *diag)
{
    struct import_row row;
    int rc = row_sorter_sort(&importer->sorter, diag);

    while (rc == 0 && (rc = row_sorter_next(&importer->sorter, &row, diag)) == 1) {
        struct chrome_call call = {
            .start_ns = row.start_ns,
            .end_ns = row.end_ns,
            .row = row.number,
            .lane = row.lane,
            .op = row.op,
            .stack = PLACE_NONE,
            .backward = PLACE_NONE,
        };

        rc = 0;
        if (row.kind == ROW_SPAN && template_of(calls, row.op) &&
            array_push(&calls->calls, call) < 0)
            rc = no_memory(diag);
    }
    if (calls->calls.count)
        qsort(calls->calls.items, calls->calls.count, sizeof(*calls->calls.items), compare_calls);
    return rc;
}

int chrome_calls_make(struct chrome_calls *calls, struct importer *importer, struct diag *diag)
{
    int rc = gather(calls, importer, diag);

    if (rc < 0)
        return rc;
    rc = intern_templates(calls);
    if (rc == 0)
        rc = find_own(calls);
    if (rc == 0)
        rc = give_forward_stacks(calls);
    return rc < 0 ? no_memory(diag) : 0;
}

void chrome_calls_deinit(struct chrome_calls *calls)
{
    for (size_t i = 0; i < calls->texts.count; i++)
        free(calls->texts.items[i]);
    array_deinit(&calls->texts);
    array_deinit(&calls->calls);
    array_deinit(&calls->nodes);
    place_map_deinit(&calls->texts_by_content);
    place_map_deinit(&calls->nodes_by_key);
}
