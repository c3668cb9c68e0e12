/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks in the parameters of ops. */
#include "client/stack.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

static char *taken;

/* What the library's functions are for a program. */
static __attribute__((noinline)) char *define(const char *params, uint32_t frames)
{
    char *text = ot_stack_params(params, __builtin_return_address(0), frames);

    __asm__ volatile("" ::: "memory"); /* no tail call */
    return text;
}

static __attribute__((noinline)) char *deeper(const char *params, uint32_t frames)
{
    char *text = define(params, frames);

    __asm__ volatile("" ::: "memory");
    return text;
}

static int compare(const void *a, const void *b)
{
    (void)a, (void)b;
    if (!taken)
        taken = deeper(NULL, OT_STACK_FRAMES_MAX);
    return 0;
}

static size_t count_frames(const char *params)
{
    cJSON *json = cJSON_Parse(params);
    const char *stack = cJSON_GetStringValue(cJSON_GetObjectItem(json, "stack"));
    size_t count = 1;

    if (!stack)
        fail_msg("%s has no stack", params);
    for (const char *at = stack; (at = strchr(at, ';')); at++)
        count++;
    cJSON_Delete(json);
    return count;
}

static void frames_begin_at_the_caller_and_are_bounded(void **state)
{
    char *one = define(NULL, 1), *two = define(NULL, 2), *more = deeper(NULL, 2);

    CHECK_U64(count_frames(one), 1);
    CHECK_U64(count_frames(two), 2);
    assert_true(strncmp(one, two, strlen(one) - 2) != 0 || strlen(two) > strlen(one));
    CHECK_CONTAINS(one, "client_stack"); /* this program, whatever it knows of the function */
    assert_string_not_equal(two, more);
    assert_null(define(NULL, 0));
    free(one);
    free(two);
    free(more);
    (void)state;
}

static void frames_of_libraries_have_their_name(void **state)
{
    int two[] = {2, 1};

    qsort(two, 2, sizeof(two[0]), compare);
    assert_non_null(taken);
    CHECK_CONTAINS(taken, "libc.so.6");
    assert_true(count_frames(taken) > 4);
    free(taken);
    (void)state;
}

static void parameters_stay(void **state)
{
    static const char *const objects[] = {"{\"a\": [1, 2]}", "{ \"a\": {} } \n", "{\"a\":\"}\"}"};
    static const char *const others[] = {"[1]", "", "}", "7", "{\"stack\": \"mine\"}", "{\"a\": 1"};
    char *empty = define("{ }", 3);

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        char *text = define(objects[i], 3);
        cJSON *json = cJSON_Parse(text), *before = cJSON_Parse(objects[i]);

        assert_true(
            cJSON_Compare(cJSON_GetObjectItem(json, "a"), cJSON_GetObjectItem(before, "a"), true));
        CHECK_U64(count_frames(text), 3);
        cJSON_Delete(json);
        cJSON_Delete(before);
        free(text);
    }
    CHECK_U64(count_frames(empty), 3);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_null(define(others[i], 3));
    free(empty);
    (void)state;
}

static void numbers_are_read(void **state)
{
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "x", "65", "4294967297"};
    uint32_t frames = 99;

    CHECK_OK(ot_stack_parse("0", &frames));
    CHECK_U64(frames, 0);
    CHECK_OK(ot_stack_parse("64", &frames));
    CHECK_U64(frames, 64);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(ot_stack_parse(wrong[i], &frames), -EINVAL);
    CHECK_U64(frames, 64);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_begin_at_the_caller_and_are_bounded),
        cmocka_unit_test(frames_of_libraries_have_their_name),
        cmocka_unit_test(parameters_stay),
        cmocka_unit_test(numbers_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
