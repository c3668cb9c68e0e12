/* SPDX-License-Identifier: Apache-2.0 */
/* The file of --fast-run-algo-policy: what is written is read again, and nothing else is taken. */
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/tune/policy.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

static struct policy policy;

static int reset(void **state)
{
    policy_deinit(&policy);
    return 0;
}

static void put(const char *machine, const char *key, const char *name, uint64_t time_ns)
{
    struct policy_time time = {.time_ns = time_ns, .workspace_bytes = 64};

    snprintf(time.name, sizeof(time.name), "%s", name);
    CHECK_OK(policy_put(&policy, machine, key, &time, 1));
}

static void entries_are_found_by_machine_and_key(void **state)
{
    put("a", "Conv x", "one", 10);
    put("b", "Conv x", "two", 20);
    put("a", "Conv y", "three", 30);
    put("a", "Conv x", "four", 40);
    assert_int_equal(policy.entries.count, 3);
    assert_string_equal(policy_find(&policy, "a", "Conv x")->times[0].name, "four");
    assert_string_equal(policy_find(&policy, "b", "Conv x")->times[0].name, "two");
    assert_null(policy_find(&policy, "b", "Conv y"));
}

static void text_comes_back(void **state)
{
    struct policy again = {0};
    struct diag diag = {0};
    char *bytes, *second;
    size_t size, second_size;

    put("a", "Conv x", "dnnl:jit 2", 10);
    put("b", "Conv x", "two", 20);
    put("a", "Conv y", "three", 30);
    CHECK_OK(policy_encode(&policy, &bytes, &size));
    CHECK_CONTAINS(bytes, "optrace-policy 2\nmachine a\nop Conv x\ntime 10 64 dnnl:jit 2\nop Conv "
                          "y\ntime 30 64 three\nmachine b\nop Conv x\ntime 20 64 two\nchecksum ");
    CHECK_OK(policy_decode(&again, bytes, size, "f", &diag));
    assert_int_equal(again.entries.count, 3);
    CHECK_OK(policy_encode(&again, &second, &second_size));
    assert_string_equal(bytes, second);
    free(bytes);
    free(second);
    policy_deinit(&again);
}

static void verdicts_come_back(void **state)
{
    struct policy_time times[] = {
        {.name = "one", .time_ns = 10, .verdict = POLICY_AGREES, .mark = 0xabc},
        {.name = "two", .time_ns = 20, .verdict = POLICY_DIFFERS, .mark = 5},
        {.name = "three", .time_ns = 30},
    };
    struct policy again = {0};
    const struct policy_entry *entry;
    struct diag diag = {0};
    char *bytes;
    size_t size;

    CHECK_OK(policy_put(&policy, "a", "Conv x", times, 3));
    CHECK_OK(policy_encode(&policy, &bytes, &size));
    CHECK_CONTAINS(bytes, "time 10 0 one\nagrees 0000000000000abc\ntime 20 0 two\n"
                          "differs 0000000000000005\ntime 30 0 three\nchecksum");
    CHECK_OK(policy_decode(&again, bytes, size, "f", &diag));
    entry = policy_find(&again, "a", "Conv x");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(entry->times[i].verdict, times[i].verdict);
        assert_int_equal(entry->times[i].mark, times[i].mark);
    }
    free(bytes);
    policy_deinit(&again);
}

static void refuse(const char *text, size_t size, const char *sentence)
{
    struct policy damaged = {0};
    struct diag diag = {0};

    assert_int_equal(policy_decode(&damaged, text, size, "FILE", &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "FILE");
    CHECK_CONTAINS(diag.text, sentence);
    policy_deinit(&damaged);
}

/* With the checksum that it needs to be looked at. */
static void refuse_lines(const char *lines, const char *sentence)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char text[9000];
    int size = snprintf(text, sizeof(text), "optrace-policy 1\n%s", lines);

    for (int i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    size += snprintf(text + size, sizeof(text) - (size_t)size, "checksum %016llx\n",
                     (unsigned long long)hash);
    refuse(text, (size_t)size, sentence);
}

static void what_is_damaged_is_refused(void **state)
{
    char *bytes, line[5000];
    size_t size;

    refuse("", 0, "no policy file");
    refuse("op Conv\n", 8, "no policy file");
    refuse("optrace-policy 3\n", 17, "another version than 1 to 2");
    refuse("optrace-policy 0\n", 17, "another version than 1 to 2");
    refuse("optrace-policy -1\n", 18, "another version than 1 to 2");
    refuse("optrace-policy 1", 16, "truncated");
    refuse("optrace-policy 1\n", 17, "truncated");
    put("a", "Conv x", "one", 10);
    CHECK_OK(policy_encode(&policy, &bytes, &size));
    for (size_t i = 20; i < size; i++)
        refuse(bytes, i, "truncated");
    bytes[25] ^= 1;
    refuse(bytes, size, "its checksum does not fit");
    free(bytes);
    refuse_lines("time 1 2 x\n", "line 2: a time without an operation");
    refuse_lines("op x\n", "line 2: an operation without a machine");
    refuse_lines("machine\n", "line 2: neither");
    refuse_lines("machine a\nop b\ntime 1 2\n", "line 4: no time");
    refuse_lines("machine a\nop b\ntime -1 2 x\n", "line 4: no time");
    refuse_lines("machine a\nop b\ntime 99999999999999999999 2 x\n", "line 4: no time");
    refuse_lines("machine a\nop b\ntime 1 2 "
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
                 "line 4: no time");
    refuse_lines("machine a\nop b\nagrees 0123456789abcdef\n", "line 4: a verdict without a time");
    refuse_lines("machine a\nop b\ntime 1 2 x\nagrees 0123456789abcdef\ndiffers 0123456789abcdef\n",
                 "line 6: a verdict without a time");
    refuse_lines("machine a\nop b\ntime 1 2 x\nagrees 0123\n", "line 5: no mark");
    refuse_lines("machine a\nop b\ntime 1 2 x\nagrees 0123456789abcdefa\n", "line 5: no mark");
    refuse_lines("machine a\x1b[2J\n", "line 2: a control character");
    memset(line, 'x', sizeof(line) - 2);
    memcpy(line, "op ", 3);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    refuse_lines(line, "line 2: it does not end");
}

static void files_are_put_in_place_as_a_whole(void **state)
{
    char *folder = temp_create(), *path = temp_path(folder, "policy"), *text;
    struct diag diag = {0};
    struct policy read = {0};
    size_t size;

    put("a", "Conv x", "one", 10);
    CHECK_OK(policy_save(&policy, path, &diag));
    CHECK_OK(policy_load(&read, path, &diag));
    assert_int_equal(read.entries.count, 1);
    /* The old file stays when there is no way to write a new one beside it. */
    put("a", "Conv y", "two", 10);
    if (geteuid() != 0) {
        assert_int_equal(chmod(folder, 0500), 0);
        assert_int_equal(policy_save(&policy, path, &diag), -EACCES);
        CHECK_CONTAINS(diag.text, path);
        assert_int_equal(chmod(folder, 0700), 0);
    }
    text = temp_read(path, &size);
    assert_null(strstr(text, "Conv y"));
    free(text);
    diag = (struct diag){0};
    assert_int_equal(policy_save(&policy, "/nonexistent/policy", &diag), -ENOENT);
    CHECK_CONTAINS(diag.text, "/nonexistent/policy");
    policy_deinit(&read);
    free(path);
    temp_destroy(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(entries_are_found_by_machine_and_key, reset),
        cmocka_unit_test_teardown(text_comes_back, reset),
        cmocka_unit_test_teardown(verdicts_come_back, reset),
        cmocka_unit_test_teardown(what_is_damaged_is_refused, reset),
        cmocka_unit_test_teardown(files_are_put_in_place_as_a_whole, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
