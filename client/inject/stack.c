/* SPDX-License-Identifier: Apache-2.0 */
/* A stack per thread, and the name of each op that was defined. */
#include "client/inject/stack.h"

#include <stdlib.h>
#include <string.h>

#include "client/inject/thread_memory.h"

enum { DEPTH_MAX = 120, PAGE = 1 << 10, PAGES = 1 << 10 }; /* as many ops as the client has */

struct stack {
    uint32_t count, forks;
    struct {
        struct optrace_span span;
        uint32_t op;
    } items[DEPTH_MAX];
};

bool stack_is_kept;

static OT_TLS struct stack *mine;
static char **pages[PAGES]; /* atomic, as what they hold: each is written once */
static int (*op_define)(const struct optrace_op_info *info, uint32_t *out_op);
static uint32_t (*name)(enum optrace_name_type type, const char *name);

/* --- Names --- */

static char **page_of(uint32_t op)
{
    char ***place = &pages[op / PAGE], **page = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    char **none = NULL;

    if (page)
        return page;
    page = calloc(PAGE, sizeof(*page));
    if (page && !__atomic_compare_exchange_n(place, &none, page, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE)) {
        free(page);
        page = none;
    }
    return page;
}

static void keep(uint32_t op, const char *text)
{
    char **page = op < PAGE * PAGES ? page_of(op) : NULL;
    char *none = NULL, *copy;

    if (!page || __atomic_load_n(&page[op % PAGE], __ATOMIC_RELAXED))
        return;
    copy = strdup(text);
    if (copy && !__atomic_compare_exchange_n(&page[op % PAGE], &none, copy, false, __ATOMIC_RELEASE,
                                             __ATOMIC_RELAXED))
        free(copy);
}

static const char *name_of(uint32_t op)
{
    char *const *page =
        op < PAGE * PAGES ? __atomic_load_n(&pages[op / PAGE], __ATOMIC_ACQUIRE) : NULL;
    const char *text = page ? __atomic_load_n(&page[op % PAGE], __ATOMIC_ACQUIRE) : NULL;

    return text ? text : "?";
}

static int define_and_keep(const struct optrace_op_info *info, uint32_t *out_op)
{
    const int rc = op_define(info, out_op);

    if (rc == 0)
        keep(*out_op, info->name);
    return rc;
}

static uint32_t name_and_keep(enum optrace_name_type type, const char *text)
{
    const uint32_t op = name(type, text);

    if (op)
        keep(op, text);
    return op;
}

/* --- Stacks --- */

static void forget(void *stack)
{
    mine = NULL;
    free(stack);
}

void stack_open(struct recorder *opening)
{
    const char *level = secure_getenv("OPTRACE_GPU");

    if (!level || !level[0] || strcmp(level, "host") == 0)
        return;
    op_define = opening->op_define;
    name = opening->name;
    opening->op_define = define_and_keep;
    opening->name = name_and_keep;
    stack_is_kept = true;
}

static struct stack *make_mine(void)
{
    static struct thread_memory memory = {forget, 0};
    struct stack *made = thread_memory_make(&memory, sizeof(*made));

    if (made)
        made->forks = recorder_forks;
    mine = made;
    return made;
}

/* What the parent has begun does not exist in a child. */
static struct stack *find_mine(void)
{
    struct stack *stack = mine;

    if (stack && stack->forks != recorder_forks) {
        stack->forks = recorder_forks;
        stack->count = 0;
    }
    return stack;
}

void stack_push(struct optrace_span span, uint32_t op)
{
    struct stack *stack = find_mine();

    if (!stack)
        stack = make_mine();
    if (stack && stack->count < DEPTH_MAX) {
        stack->items[stack->count].span = span;
        stack->items[stack->count++].op = op;
    }
}

void stack_pop(struct optrace_span span)
{
    struct stack *stack = find_mine();

    for (uint32_t i = stack ? stack->count : 0; i-- > 0;) {
        if (stack->items[i].span.id == span.id && stack->items[i].span.start == span.start) {
            stack->count = i;
            return;
        }
    }
}

size_t stack_path(char *out_path, size_t bytes)
{
    static const size_t between = sizeof(STACK_SEPARATOR) - 1;
    const struct stack *stack = find_mine();
    size_t length = 0, first = stack ? stack->count : 0;

    for (size_t need = 1; first > 0; first--) {
        need += strlen(name_of(stack->items[first - 1].op)) + between;
        if (need > bytes)
            break;
    }
    for (size_t i = first; stack && i < stack->count; i++) {
        const char *text = name_of(stack->items[i].op);
        const size_t count = strlen(text);

        if (length > 0) {
            memcpy(out_path + length, STACK_SEPARATOR, between);
            length += between;
        }
        memcpy(out_path + length, text, count);
        length += count;
    }
    out_path[length] = '\0';
    return length;
}
