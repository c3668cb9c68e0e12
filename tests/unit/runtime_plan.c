/* SPDX-License-Identifier: Apache-2.0 */
/* The memory plan: nothing that lives at the same time overlaps, on random graphs too. */
#include "tests/support/check.h"

#include "runtime/exec/plan.h"
#include "runtime/exec/plan_place.h"

enum { MOST_STEPS = 60, MOST_BUFFERS = 200, MOST_READS = 3 };

struct random_plan {
    struct plan plan;
    struct plan_buffer buffers[MOST_BUFFERS];
    struct plan_step steps[MOST_STEPS];
    uint32_t reads[MOST_STEPS][MOST_READS];
    uint32_t writes[MOST_STEPS][1];
    bool was_view[MOST_BUFFERS];
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint32_t add_buffer(struct random_plan *r, size_t bytes, uint32_t parent)
{
    uint32_t index = r->plan.buffer_count++;

    r->buffers[index] = (struct plan_buffer){.bytes = bytes, .parent = parent};
    r->was_view[index] = parent != PLAN_NONE;
    return index;
}

/* A chain of steps, each of which reads earlier buffers and writes a new one; some buffers are
 * views, some external, some kept; some steps may work in place. */
static void make_random(struct random_plan *r, uint32_t *seed)
{
    uint32_t steps = 1 + next_random(seed) % MOST_STEPS;

    memset(r, 0, sizeof(*r));
    r->plan.buffers = r->buffers;
    r->plan.steps = r->steps;
    r->plan.step_count = steps;
    for (uint32_t i = 0; i < 3; i++) {
        add_buffer(r, 100, PLAN_NONE);
        r->buffers[i].is_external = true;
    }
    for (uint32_t i = 0; i < steps; i++) {
        struct plan_step *step = &r->steps[i];
        uint32_t limit = r->plan.buffer_count;

        step->reads = r->reads[i];
        step->read_count = 1 + next_random(seed) % MOST_READS;
        for (uint32_t j = 0; j < step->read_count; j++)
            r->reads[i][j] = next_random(seed) % 8 == 0
                                 ? PLAN_NONE
                                 : limit - 1 - next_random(seed) % (limit < 9 ? limit : 9);
        step->writes = r->writes[i];
        step->write_count = 1;
        r->writes[i][0] = add_buffer(r, next_random(seed) % 1000, PLAN_NONE);
        step->workspace_bytes = next_random(seed) % 4 == 0 ? next_random(seed) % 500 : 0;
        step->in_place_read = step->in_place_write = PLAN_NONE;
        if (next_random(seed) % 2 && r->reads[i][0] != PLAN_NONE) {
            step->in_place_read = r->reads[i][0];
            step->in_place_write = r->writes[i][0];
        }
        r->buffers[r->writes[i][0]].is_kept = next_random(seed) % 10 == 0;
        if (next_random(seed) % 3 == 0) {
            uint32_t parent = r->writes[i][0];
            uint32_t view = add_buffer(r, r->buffers[parent].bytes / 2, parent);

            r->buffers[view].parent_offset = r->buffers[parent].bytes / 4;
        }
    }
}

/* The buffer whose bytes a read sees: a view shows the one that it is a view of. */
static uint32_t content_of(const struct random_plan *r, uint32_t buffer, size_t *out_offset)
{
    *out_offset = 0;
    while (r->was_view[buffer]) {
        *out_offset += r->buffers[buffer].parent_offset;
        buffer = r->buffers[buffer].parent;
    }
    return buffer;
}

/* Every byte that step `i` reads was last written by whom it should be. */
static void check_reads(const struct random_plan *r, const uint32_t *arena, uint32_t i,
                        uint32_t except_root, uint32_t seed)
{
    for (uint32_t j = 0; j < r->steps[i].read_count; j++) {
        uint32_t read = r->reads[i][j];
        size_t offset, ignored;

        if (read == PLAN_NONE || r->buffers[read].is_external ||
            plan_root(&r->plan, read, &ignored) == except_root)
            continue;
        for (size_t k = 0; k < r->buffers[read].bytes; k++)
            if (arena[r->buffers[read].offset + k] != content_of(r, read, &offset) + 1)
                fail_msg("seed %u: step %u cannot read byte %zu of buffer %u", seed, i, k, read);
    }
}

/* Runs the plan on a model of the arena: each byte says which buffer filled it. */
static void check_by_running(const struct random_plan *r, uint32_t seed)
{
    uint32_t *arena = calloc(r->plan.arena_bytes + 1, sizeof(*arena));

    for (uint32_t i = 0; i < r->plan.step_count; i++) {
        const struct plan_step *step = &r->steps[i];
        uint32_t write = r->writes[i][0];
        size_t offset;

        assert_true(r->buffers[write].offset + r->buffers[write].bytes <= r->plan.arena_bytes);
        check_reads(r, arena, i, PLAN_NONE, seed);
        for (size_t j = 0; j < step->workspace_bytes; j++)
            arena[step->workspace_offset + j] = UINT32_MAX;
        check_reads(r, arena, i, PLAN_NONE, seed);
        for (size_t j = 0; j < r->buffers[write].bytes; j++) {
            if (arena[r->buffers[write].offset + j] == UINT32_MAX && step->workspace_bytes &&
                r->buffers[write].offset + j >= step->workspace_offset &&
                r->buffers[write].offset + j < step->workspace_offset + step->workspace_bytes)
                fail_msg("seed %u: step %u has its output in its workspace", seed, i);
            arena[r->buffers[write].offset + j] = write + 1;
        }
        /* Only what the step works over in place may have gone. */
        check_reads(r, arena, i, plan_root(&r->plan, write, &offset), seed);
    }
    for (uint32_t i = 3; i < r->plan.buffer_count; i++)
        for (size_t j = 0; r->buffers[i].is_kept && j < r->buffers[i].bytes; j++)
            if (arena[r->buffers[i].offset + j] != i + 1)
                fail_msg("seed %u: byte %zu of buffer %u was not kept", seed, j, i);
    free(arena);
}

static void random_graphs_do_not_overlap(void **state)
{
    static struct random_plan r;

    for (uint32_t round = 1; round <= 400; round++) {
        uint32_t seed = round;

        make_random(&r, &seed);
        CHECK_OK(plan_make(&r.plan));
        check_by_running(&r, round);
    }
}

static void a_step_works_in_place_where_its_input_ends(void **state)
{
    uint32_t reads0[] = {0}, writes0[] = {1}, reads1[] = {1}, writes1[] = {2};
    struct plan_buffer buffers[] = {
        {.bytes = 64, .parent = PLAN_NONE, .is_external = true},
        {.bytes = 640, .parent = PLAN_NONE},
        {.bytes = 640, .parent = PLAN_NONE, .is_kept = true},
    };
    struct plan_step steps[] = {
        {reads0, 1, writes0, 1, 0, 0, 1, false, 0},
        {reads1, 1, writes1, 1, 0, 1, 2, true, 0},
    };
    struct plan plan = {buffers, 3, steps, 2, 0};

    CHECK_OK(plan_make(&plan));
    CHECK_U64(buffers[1].parent, PLAN_NONE); /* an external buffer is never overwritten */
    CHECK_U64(buffers[2].parent, 1);
    CHECK_U64(buffers[2].offset, buffers[1].offset);
    CHECK_U64(plan.arena_bytes, 640);
}

static void a_step_that_must_be_in_place_and_cannot_is_refused(void **state)
{
    uint32_t reads0[] = {0}, writes0[] = {1}, reads1[] = {1}, writes1[] = {2}, reads2[] = {1, 2};
    uint32_t writes2[] = {3};
    struct plan_buffer buffers[] = {
        {.bytes = 64, .parent = PLAN_NONE, .is_external = true},
        {.bytes = 640, .parent = PLAN_NONE},
        {.bytes = 640, .parent = PLAN_NONE},
        {.bytes = 640, .parent = PLAN_NONE},
    };
    struct plan_step steps[] = {
        {reads0, 1, writes0, 1, 0, PLAN_NONE, PLAN_NONE, false, 0},
        {reads1, 1, writes1, 1, 0, 1, 2, true, 0}, /* but step 2 reads buffer 1 once more */
        {reads2, 2, writes2, 1, 0, PLAN_NONE, PLAN_NONE, false, 0},
    };
    struct plan plan = {buffers, 4, steps, 3, 0};

    assert_int_equal(plan_make(&plan), -EINVAL);
    steps[1].must_be_in_place = false;
    CHECK_OK(plan_make(&plan));
    CHECK_U64(buffers[2].parent, PLAN_NONE);
}

static void a_step_that_reads_a_buffer_twice_is_not_in_place(void **state)
{
    uint32_t reads0[] = {0}, writes0[] = {1}, reads1[] = {1, 2}, writes1[] = {3};
    struct plan_buffer buffers[] = {
        {.bytes = 64, .parent = PLAN_NONE, .is_external = true},
        {.bytes = 640, .parent = PLAN_NONE},
        {.bytes = 320, .parent = 1, .parent_offset = 320}, /* a part of the same memory */
        {.bytes = 640, .parent = PLAN_NONE},
    };
    struct plan_step steps[] = {
        {reads0, 1, writes0, 1, 0, PLAN_NONE, PLAN_NONE, false, 0},
        {reads1, 2, writes1, 1, 0, 1, 3, false, 0},
    };
    struct plan plan = {buffers, 4, steps, 2, 0};

    CHECK_OK(plan_make(&plan));
    CHECK_U64(buffers[3].parent, PLAN_NONE);
    CHECK_U64(buffers[2].offset, buffers[1].offset + 320);
}

/* A chain of equal tensors needs two of them, however long it is. */
static void a_chain_needs_two_buffers(void **state)
{
    struct plan_buffer buffers[21];
    struct plan_step steps[20];
    uint32_t names[21];
    struct plan plan = {buffers, 21, steps, 20, 0};

    for (uint32_t i = 0; i < 21; i++) {
        names[i] = i;
        buffers[i] = (struct plan_buffer){.bytes = 1000, .parent = PLAN_NONE};
    }
    buffers[0].is_external = true;
    for (uint32_t i = 0; i < 20; i++)
        steps[i] =
            (struct plan_step){&names[i], 1, &names[i + 1], 1, 0, PLAN_NONE, PLAN_NONE, false, 0};
    CHECK_OK(plan_make(&plan));
    CHECK_U64(plan.arena_bytes, 2048); /* 1000 rounded up to 64 bytes, twice */
}

/* What lives at different times shares memory, unless the plan is lavish. */
static void lavish_plans_share_nothing(void **state)
{
    static const uint32_t reads[3][1] = {{PLAN_NONE}, {0}, {1}}, writes[3][1] = {{0}, {1}, {2}};

    for (int lavish = 0; lavish < 2; lavish++) {
        struct plan_buffer buffers[3];
        struct plan_step steps[3];
        struct plan plan = {buffers, 3, steps, 3, .is_lavish = lavish};

        for (int i = 0; i < 3; i++) {
            buffers[i] = (struct plan_buffer){.bytes = 64, .parent = PLAN_NONE};
            steps[i] = (struct plan_step){.reads = reads[i],
                                          .read_count = 1,
                                          .writes = writes[i],
                                          .write_count = 1,
                                          .in_place_read = i ? (uint32_t)i - 1 : PLAN_NONE,
                                          .in_place_write = i ? (uint32_t)i : PLAN_NONE};
        }
        CHECK_OK(plan_make(&plan));
        CHECK_U64(plan.arena_bytes, lavish ? 192 : 64);
        CHECK_U64(buffers[0].first, 0);
        CHECK_U64(buffers[0].last, lavish ? 1 : 2);
    }
}

enum { MOST_ITEMS = 80 };

struct random_items {
    struct item items[MOST_ITEMS];
    size_t offsets[MOST_ITEMS];
    uint32_t count;
};

static void make_items(struct random_items *r, uint32_t *seed)
{
    uint32_t steps = 1 + next_random(seed) % 40, length = 1 + next_random(seed) % steps;
    uint32_t sizes = 1 + next_random(seed) % 40;

    r->count = next_random(seed) % MOST_ITEMS;
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t first = next_random(seed) % steps;

        r->offsets[i] = 12345;
        r->items[i] = (struct item){.bytes = (size_t)PLAN_ALIGNMENT * (next_random(seed) % sizes),
                                    .life = {first, first + next_random(seed) % length},
                                    .offset = &r->offsets[i]};
    }
}

static bool live_together(const struct item *a, const struct item *b)
{
    return a->life.first <= b->life.last && b->life.first <= a->life.last;
}

/* The most bytes that live in one step: less cannot do. */
static size_t most_bytes(const struct random_items *r)
{
    size_t most = 0;

    for (uint32_t step = 0; step < 80; step++) {
        size_t bytes = 0;

        for (uint32_t i = 0; i < r->count; i++)
            if (r->items[i].life.first <= step && step <= r->items[i].life.last)
                bytes += r->items[i].bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void check_items(const struct random_items *r, size_t bytes, uint32_t round)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct item *a = &r->items[i];

        if (*a->offset % PLAN_ALIGNMENT != 0 || *a->offset + a->bytes > bytes)
            fail_msg("round %u: item %u is not in the arena", round, i);
        for (uint32_t k = 0; k < i; k++) {
            const struct item *b = &r->items[k];

            if (live_together(a, b) && *a->offset < *b->offset + b->bytes &&
                *b->offset < *a->offset + a->bytes)
                fail_msg("round %u: items %u and %u overlap", round, i, k);
        }
    }
    assert_true(bytes >= most_bytes(r));
}

/* What plan_place() must come to: largest first, each into the smallest gap, by looking at all. */
static size_t place_simply(const struct random_items *r, size_t *offsets)
{
    bool is_placed[MOST_ITEMS] = {false};
    size_t bytes = 0;

    for (uint32_t round = 0; round < r->count; round++) {
        size_t best = SIZE_MAX, best_gap = SIZE_MAX;
        uint32_t next = MOST_ITEMS;

        for (uint32_t i = 0; i < r->count; i++)
            if (!is_placed[i] && (next == MOST_ITEMS || r->items[i].bytes > r->items[next].bytes))
                next = i;
        /* A gap begins at 0 or where an item ends. */
        for (uint32_t i = 0; i <= r->count; i++) {
            size_t begin = i == r->count ? 0 : offsets[i] + r->items[i].bytes, end = SIZE_MAX;
            bool is_free =
                i == r->count || (is_placed[i] && live_together(&r->items[i], &r->items[next]));

            for (uint32_t k = 0; is_free && k < r->count; k++) {
                if (!is_placed[k] || !live_together(&r->items[k], &r->items[next]))
                    continue;
                if (offsets[k] <= begin && offsets[k] + r->items[k].bytes > begin)
                    is_free = false;
                else if (offsets[k] > begin && offsets[k] < end)
                    end = offsets[k];
            }
            if (is_free && end - begin >= r->items[next].bytes &&
                (end == SIZE_MAX
                     ? best == SIZE_MAX
                     : end - begin < best_gap || (end - begin == best_gap && begin < best))) {
                best = begin;
                best_gap = end == SIZE_MAX ? SIZE_MAX - 1 : end - begin;
            }
        }
        offsets[next] = best;
        is_placed[next] = true;
        if (best + r->items[next].bytes > bytes)
            bytes = best + r->items[next].bytes;
    }
    return bytes;
}

static void items_lie_where_a_simple_search_puts_them(void **state)
{
    static struct random_items r;

    for (uint32_t round = 1; round <= 2000; round++) {
        size_t offsets[MOST_ITEMS] = {0}, bytes;
        uint32_t seed = round;

        make_items(&r, &seed);
        CHECK_OK(plan_place(r.items, r.count, PLAN_PAIRS_MAX, &bytes));
        check_items(&r, bytes, round);
        if (bytes != place_simply(&r, offsets))
            fail_msg("round %u: %zu bytes, not as by a simple search", round, bytes);
        for (uint32_t i = 0; i < r.count; i++)
            if (r.items[i].bytes && offsets[i] != r.offsets[i])
                fail_msg("round %u: item %u is at %zu, not %zu", round, i, r.offsets[i],
                         offsets[i]);
    }
}

static void items_in_the_order_of_time_do_not_overlap(void **state)
{
    static struct random_items r;
    size_t all = 0, least = 0;

    for (uint32_t round = 1; round <= 2000; round++) {
        uint32_t seed = round;
        size_t bytes;

        make_items(&r, &seed);
        CHECK_OK(plan_place(r.items, r.count, 0, &bytes));
        check_items(&r, bytes, round);
        all += bytes;
        least += most_bytes(&r);
        for (uint32_t i = 0; i < r.count; i++)
            r.items[i].bytes = (size_t)PLAN_ALIGNMENT * 9; /* lists with others need no room */
        CHECK_OK(plan_place(r.items, r.count, 0, &bytes));
        check_items(&r, bytes, round);
        assert_int_equal(bytes, most_bytes(&r));
    }
    assert_true(all < least + least / 4);
}

/* Going through all pairs would take minutes. */
static void very_many_items_are_placed(void **state)
{
    enum { COUNT = 1 << 20 };
    struct item *items = calloc(COUNT, sizeof(*items));
    size_t *offsets = calloc(COUNT, sizeof(*offsets)), bytes;

    for (int all_at_once = 0; all_at_once < 2; all_at_once++) {
        for (uint32_t i = 0; i < COUNT; i++)
            items[i] = (struct item){.bytes = PLAN_ALIGNMENT * (1 + (size_t)(i % 3)),
                                     .life = {all_at_once ? 0 : i, all_at_once ? 7 : i + 2},
                                     .offset = &offsets[i]};
        CHECK_OK(plan_place(items, COUNT, PLAN_PAIRS_MAX, &bytes));
        assert_int_equal(bytes, PLAN_ALIGNMENT * (all_at_once ? 2ull * COUNT - 1 : 6ull));
    }
    free(items);
    free(offsets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lavish_plans_share_nothing),
        cmocka_unit_test(random_graphs_do_not_overlap),
        cmocka_unit_test(a_step_works_in_place_where_its_input_ends),
        cmocka_unit_test(a_step_that_must_be_in_place_and_cannot_is_refused),
        cmocka_unit_test(a_step_that_reads_a_buffer_twice_is_not_in_place),
        cmocka_unit_test(a_chain_needs_two_buffers),
        cmocka_unit_test(items_lie_where_a_simple_search_puts_them),
        cmocka_unit_test(items_in_the_order_of_time_do_not_overlap),
        cmocka_unit_test(very_many_items_are_placed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
