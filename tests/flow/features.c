/* SPDX-License-Identifier: Apache-2.0 */
/* docs/features.md promises commands: each of profile_analyze runs as it stands there. */
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/counter_store.h"
#include "tests/support/dropped_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/place.h"
#include "tests/support/rank_store.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

enum { WORDS_MAX = 24, FEATURES = 58 };

static const char command_start[] = "`profile_analyze ";

struct fixture {
    char *dir, *program, *text;
};

static void copy_source(const struct fixture *fixture, const char *name, const char *path)
{
    char *source = place_source(path);
    size_t size;
    char *bytes = temp_read(source, &size);

    free(temp_write(fixture->dir, name, bytes, size));
    free(bytes);
    free(source);
}

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char *page = place_source("docs/features.md"), *store, *base, *memory, *ranks, *counters,
         *dropped;

    fixture->dir = temp_create();
    fixture->program = place_program("analyze/profile_analyze");
    fixture->text = temp_read(page, NULL);
    store = temp_path(fixture->dir, "store.db");
    memory = temp_path(fixture->dir, "memory.db");
    base = temp_path(fixture->dir, "base.db");
    ranks = temp_path(fixture->dir, "ranks.db");
    counters = temp_path(fixture->dir, "counters.db");
    small_store_make(store);
    small_store_make(base);
    memory_store_make(memory);
    small_store_make(counters);
    counter_store_append(counters);
    rank_store_make(ranks);
    dropped = temp_path(fixture->dir, "dropped.db");
    dropped_store_make(dropped, 5);
    free(dropped);
    copy_source(fixture, "gpu.json", "tests/golden/analyze/gpu.json");
    copy_source(fixture, "profile.json", "tests/golden/analyze/profile.json");
    free(page);
    free(store);
    free(base);
    free(memory);
    free(ranks);
    free(counters);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    temp_destroy(&fixture->dir);
    free(fixture->program);
    free(fixture->text);
    free(fixture);
    return 0;
}

/* Cuts a command into words at blanks; double quotes hold one together, as in a shell. */
static void split(char *command, const char **words)
{
    size_t count = 1;

    for (char *at = command; *at && count < WORDS_MAX;) {
        char end = *at == '"' ? '"' : ' ';

        at += *at == '"';
        words[count++] = at;
        at += strcspn(at, end == '"' ? "\"" : " ");
        if (*at)
            *at++ = '\0';
        at += strspn(at, " ");
    }
    assert_true(count < WORDS_MAX);
}

static void run(const struct fixture *fixture, const char *command, size_t length)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = fixture->dir};
    const char *words[WORDS_MAX + 1] = {fixture->program};
    char *copy = strndup(command, length);
    struct child_result result;

    split(copy, words);
    result = child_run(words, &options);
    if (result.status != 0)
        fail_msg("%.*s: status %d: %s", (int)length, command, result.status, result.err);
    if (!result.out[0])
        fail_msg("%.*s prints nothing", (int)length, command);
    child_result_deinit(&result);
    free(copy);
}

static void every_command_works(void **state)
{
    const struct fixture *fixture = *state;
    size_t count = 0;

    for (const char *at = fixture->text; (at = strstr(at, command_start)); count++) {
        const char *command = at + sizeof(command_start) - 1, *end = strchr(command, '`');

        assert_non_null(end);
        run(fixture, command, (size_t)(end - command));
        at = end;
    }
    assert_true(count >= 50);
}

static void every_row_is_there(void **state)
{
    const struct fixture *fixture = *state;

    for (int row = 1; row <= FEATURES; row++) {
        char start[16];

        snprintf(start, sizeof(start), "\n| %d | ", row);
        CHECK_CONTAINS(fixture->text, start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_works),
        cmocka_unit_test(every_row_is_there),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
