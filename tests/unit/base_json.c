/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: layout, escapes, numbers that read back, errors that stick. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "tests/support/check.h"
#include "tests/support/draw.h"

/* Finish and compare; frees what was written. */
static void check_text(struct json_writer *json, const char *expected)
{
    char *text;
    size_t size;

    CHECK_OK(json_finish(json));
    text = json_take(json, &size);
    assert_string_equal(text, expected);
    CHECK_U64(size, strlen(expected));
    free(text);
}

static void write_sample(struct json_writer *json)
{
    json_begin_object(json);
    json_key(json, "name");
    json_string(json, "conv1");
    json_key(json, "shape");
    json_begin_array(json);
    json_int(json, 1);
    json_int(json, -64);
    json_end_array(json);
    json_key(json, "attributes");
    json_begin_object(json);
    json_end_object(json);
    json_key(json, "fused");
    json_bool(json, true);
    json_key(json, "device");
    json_null(json);
    json_end_object(json);
}

static void one_line_is_the_default(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    write_sample(&json);
    check_text(&json, "{\"name\": \"conv1\", \"shape\": [1, -64], \"attributes\": {}, "
                      "\"fused\": true, \"device\": null}\n");
}

static void outer_brackets_can_be_indented(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    json_set_indent(&json, 1);
    write_sample(&json);
    check_text(&json, "{\n  \"name\": \"conv1\",\n  \"shape\": [1, -64],\n  \"attributes\": {},\n"
                      "  \"fused\": true,\n  \"device\": null\n}\n");
    json_init_memory(&json);
    json_set_indent(&json, 2);
    write_sample(&json);
    check_text(&json, "{\n  \"name\": \"conv1\",\n  \"shape\": [\n    1,\n    -64\n  ],\n"
                      "  \"attributes\": {},\n  \"fused\": true,\n  \"device\": null\n}\n");
}

static void strings_are_escaped(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    json_begin_array(&json);
    json_string(&json, "a\"b\\c\n\r\t\x01\x1f\x7f");
    json_string(&json, "\xc3\xa9\xf0\x9f\x98\x80");
    json_string(&json, "x\xff\xc3y\xe2\x82");
    json_string_n(&json, "a\0b", 3);
    json_string(&json, "");
    json_string(&json, NULL);
    json_string(&json, "\xc2\x9b"
                       "1m\u202ea\u2029\u061c\u00a0");
    json_end_array(&json);
    check_text(&json,
               "[\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\\u007f\", \"\xc3\xa9\xf0\x9f\x98\x80\", "
               "\"x\xef\xbf\xbd\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd\", \"a\\u0000b\", "
               "\"\", null, \"\\u009b1m\\u202ea\\u2029\\u061c\u00a0\"]\n");
}

static void keys_are_escaped(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "a\"\n");
    json_int(&json, 1);
    json_end_object(&json);
    check_text(&json, "{\"a\\\"\\n\": 1}\n");
}

static void integers_have_all_their_digits(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    json_begin_array(&json);
    json_int(&json, INT64_MIN);
    json_int(&json, INT64_MAX);
    json_uint(&json, UINT64_MAX);
    json_end_array(&json);
    check_text(&json, "[-9223372036854775808, 9223372036854775807, 18446744073709551615]\n");
}

static void doubles_are_short(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    json_begin_array(&json);
    json_double(&json, 0.1);
    json_double(&json, 3);
    json_double(&json, 1e300);
    json_double(&json, 1.0 / 3);
    json_double(&json, NAN);
    json_double(&json, INFINITY);
    json_double(&json, -INFINITY);
    json_end_array(&json);
    check_text(&json, "[0.1, 3, 1e+300, 0.3333333333333333, null, null, null]\n");
}

static void doubles_read_back_exactly(void **state)
{
    uint64_t random = DRAW_SEED;

    for (int i = 0; i < 20000; i++) {
        struct json_writer json;
        double value;
        char *text;

        draw_u64(&random);
        memcpy(&value, &random, sizeof(value));
        if (!isfinite(value))
            continue;
        json_init_memory(&json);
        json_double(&json, value);
        CHECK_OK(json_finish(&json));
        text = json_take(&json, NULL);
        assert_true(strtod(text, NULL) == value);
        free(text);
    }
}

static void another_reader_understands_it(void **state)
{
    struct json_writer json;
    cJSON *tree;
    char *text;

    json_init_memory(&json);
    json_set_indent(&json, 3);
    json_begin_array(&json);
    for (int i = 0; i < 500; i++)
        write_sample(&json);
    json_end_array(&json);
    CHECK_OK(json_finish(&json));
    text = json_take(&json, NULL);
    tree = cJSON_Parse(text);
    assert_non_null(tree);
    assert_int_equal(cJSON_GetArraySize(tree), 500);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(tree, 499), "name")->valuestring,
                        "conv1");
    cJSON_Delete(tree);
    free(text);
}

static void deep_brackets_are_kept(void **state)
{
    struct json_writer json;
    char expected[2 * JSON_DEPTH_MAX + 2];

    json_init_memory(&json);
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        json_begin_array(&json);
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        json_end_array(&json);
    memset(expected, '[', JSON_DEPTH_MAX);
    memset(expected + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    strcpy(expected + 2 * JSON_DEPTH_MAX, "\n");
    check_text(&json, expected);
}

static void files_get_the_same_text(void **state)
{
    struct json_writer json;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    json_init_file(&json, out);
    json_begin_array(&json);
    json_int(&json, 1);
    json_end_array(&json);
    CHECK_OK(json_finish(&json));
    json_deinit(&json);
    fclose(out);
    assert_string_equal(text, "[1]\n");
    free(text);
}

static void a_full_disk_is_reported(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    struct json_writer json;

    if (!full)
        CHECK_SKIP("there is no /dev/full");
    json_init_file(&json, full);
    json_begin_array(&json);
    for (int i = 0; i < 100000; i++)
        json_int(&json, i);
    json_end_array(&json);
    assert_int_equal(json_finish(&json), -ENOSPC);
    fclose(full);
}

static void unfinished_writers_can_be_given_up(void **state)
{
    struct json_writer json;

    json_init_memory(&json);
    json_begin_array(&json);
    json_int(&json, 1);
    json_deinit(&json);
    assert_null(json.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_is_the_default),
        cmocka_unit_test(outer_brackets_can_be_indented),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(keys_are_escaped),
        cmocka_unit_test(integers_have_all_their_digits),
        cmocka_unit_test(doubles_are_short),
        cmocka_unit_test(doubles_read_back_exactly),
        cmocka_unit_test(another_reader_understands_it),
        cmocka_unit_test(deep_brackets_are_kept),
        cmocka_unit_test(files_get_the_same_text),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(unfinished_writers_can_be_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
