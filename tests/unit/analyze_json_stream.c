/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a JSON document: what is cut where, however the bytes arrive; damage by its place. */
#include <zlib.h>

#include "analyze/json/stream.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

/* All pieces as "key=text;", elements as "key[]=text;"; then the end or the error. */
static char *read_all(struct json_stream *stream, struct diag *diag)
{
    struct json_item item;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int rc;

    assert_non_null(out);
    while ((rc = json_stream_next(stream, &item, diag)) == 1)
        fprintf(out, "%s%s=%.*s;", item.key ? item.key : "", item.is_element ? "[]" : "",
                (int)item.length, item.text);
    fprintf(out, "%s", rc == 0 ? json_stream_is_unclosed(stream) ? "unclosed" : "end" : "error");
    fclose(out);
    return text;
}

static void check_text(const char *document, const char *wanted)
{
    struct json_stream *stream;
    struct diag diag = {0};
    char *text;

    CHECK_OK(json_stream_open_memory("doc", document, strlen(document), &stream, &diag));
    text = read_all(stream, &diag);
    assert_string_equal(text, wanted);
    free(text);
    json_stream_close(&stream);
}

static void cuts_documents(void **state)
{
    check_text("{\"a\": 1, \"b\":[{\"x\":\"]\\\"}\"} , 2,\n\"s\"],\"c\":{\"d\":[1]}}",
               "a=1;b[]={\"x\":\"]\\\"}\"};b[]=2;b[]=\"s\";c={\"d\":[1]};end");
    check_text(" [1, [2,3], {}, null, -1.5e3 ] ", "[]=1;[]=[2,3];[]={};[]=null;[]=-1.5e3;end");
    check_text("\xef\xbb\xbf{}", "end");
    check_text("[]", "end");
    check_text("{\"traceEvents\":[],\"z\":true}", "z=true;end");
    check_text("[1,]", "[]=1;end");
}

/* Pieces of named parts as "path:key=text;". */
static void goes_into_parts(void **state)
{
    static const char *const parts[] = {"a", "a.b", "a.list[]", "a.empty", "x[]", "gone", NULL};
    static const char document[] =
        "{\"z\":{\"b\":1},\"a\":{\"b\":{\"k\":{\"b\":[1]},\"l\":2},\"c\":{\"b\":3},"
        "\"list\":[4,{\"list\":[5]}],\"b2\":[6],\"empty\":{}},"
        "\"b\":{\"a\":7},\"x\":{\"y\":8}}";
    struct json_stream *stream;
    struct json_item item;
    struct diag diag = {0};
    char text[300] = "";
    int rc;

    CHECK_OK(json_stream_open_memory("doc", document, sizeof(document) - 1, &stream, &diag));
    json_stream_split(stream, parts);
    while ((rc = json_stream_next(stream, &item, &diag)) == 1)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s:%s%s=%.*s;", item.path,
                 item.key, item.is_element ? "[]" : "", (int)item.length, item.text);
    CHECK_OK(rc);
    assert_string_equal(text, ":z={\"b\":1};a.b:k={\"b\":[1]};a.b:l=2;a:c={\"b\":3};"
                              "a.list:list[]=4;a.list:list[]={\"list\":[5]};a:b2=[6];"
                              ":b={\"a\":7};:x={\"y\":8};");
    assert_true(json_stream_has_part(stream, "a.empty"));
    assert_false(json_stream_has_part(stream, "x[]"));
    assert_false(json_stream_has_part(stream, "gone"));
    assert_false(json_stream_has_part(stream, "z"));
    json_stream_close(&stream);
}

static void ends_what_was_never_closed(void **state)
{
    check_text("[{\"a\":1},\n", "[]={\"a\":1};unclosed");
    check_text("[{\"a\":1}", "[]={\"a\":1};unclosed");
    check_text("[", "unclosed");
    check_text("{\"e\":[1,2", "e[]=1;e[]=2;unclosed");
    check_text("{\"e\":[1,2]", "e[]=1;e[]=2;unclosed");
}

struct damage {
    const char *document, *sentence;
    int64_t offset;
};

static void names_the_place_of_damage(void **state)
{
    static const struct damage damages[] = {
        {"", "doc is empty", -1},
        {"  \n", "doc is empty", -1},
        {"x", "byte 0: a { or [ is missing", 0},
        {"[1 2]", "byte 3: a comma is missing", 3},
        {"[1}", "byte 2: the wrong bracket", 2},
        {"{\"a\":1]", "byte 6: the wrong bracket", 6},
        {"[{]}]", "byte 2: the wrong bracket", 2},
        {"{1:2}", "byte 1: a key is missing", 1},
        {"{\"a\" 2}", "byte 5: a colon is missing", 5},
        {"{\"a\":}", "byte 5", 5},
        {"[1] x", "byte 4: something follows", 4},
        {"[{\"a\":1},{\"b\":",
         "the file ends at byte 14, in the middle of the value that begins at "
         "byte 9",
         14},
        {"[\"abc", "the file ends at byte 5", 5},
        {"[,1]", "byte 1: a value is missing", 1},
    };

    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct json_stream *stream;
        struct json_item item;
        struct diag diag = {0}, again = {0};
        int rc;

        CHECK_OK(json_stream_open_memory("doc", damages[i].document, strlen(damages[i].document),
                                         &stream, &diag));
        while ((rc = json_stream_next(stream, &item, &diag)) == 1)
            continue;
        assert_int_equal(rc, -EUCLEAN);
        CHECK_CONTAINS(diag.text, damages[i].sentence);
        assert_int_equal(diag.offset, damages[i].offset);
        assert_int_equal(json_stream_next(stream, &item, &again), -EUCLEAN);
        assert_string_equal(again.text, diag.text);
        json_stream_close(&stream);
    }
}

static void refuses_deep_nesting(void **state)
{
    char document[200];
    struct json_stream *stream;
    struct json_item item;
    struct diag diag = {0};

    memset(document, '[', sizeof(document));
    CHECK_OK(json_stream_open_memory("doc", document, sizeof(document), &stream, &diag));
    assert_int_equal(json_stream_next(stream, &item, &diag), -EUCLEAN);
    CHECK_CONTAINS(diag.text, "byte 65: brackets are nested too deep");
    json_stream_close(&stream);
}

/* Long elements so that pieces lie across the chunks in which a file is read. */
static char *make_long(size_t *out_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_size);

    fprintf(out, "{\"events\":[");
    for (int i = 0; i < 3000; i++)
        fprintf(out, "%s{\"n\":%d,\"text\":\"%0*d\\\"\"}", i ? "," : "", i, i % 1500 + 1, i);
    fprintf(out, "],\"last\":\"%0300000d\"}", 7);
    fclose(out);
    return text;
}

static void check_long(const char *path, size_t document_bytes)
{
    struct json_stream *stream;
    struct json_item item;
    struct diag diag = {0};
    int count = 0, rc;
    uint64_t end = 0;

    CHECK_OK(json_stream_open(path, path, NULL, &stream, &diag));
    while ((rc = json_stream_next(stream, &item, &diag)) == 1) {
        if (strcmp(item.key, "events") == 0) {
            char *wanted;
            int length = asprintf(&wanted, "{\"n\":%d,\"text\":\"%0*d\\\"\"}", count,
                                  count % 1500 + 1, count);

            assert_int_equal(item.length, length);
            assert_memory_equal(item.text, wanted, item.length);
            free(wanted);
            count++;
        } else {
            assert_int_equal(item.length, 300002);
        }
        assert_true(item.offset > end);
        end = item.offset + item.length;
    }
    CHECK_OK(rc);
    assert_int_equal(count, 3000);
    assert_int_equal(end, document_bytes - 1);
    json_stream_close(&stream);
}

static void reads_files_plain_and_compressed(void **state)
{
    char *dir = temp_create(), *plain, *packed = temp_path(dir, "doc.gz");
    size_t size;
    char *text = make_long(&size), *bytes;
    gzFile file = gzopen(packed, "wb");
    struct json_stream *stream;
    struct json_item item;
    struct diag diag = {0};
    int rc;

    assert_int_equal(gzwrite(file, text, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    plain = temp_write(dir, "doc.json", text, size);
    check_long(plain, size);
    check_long(packed, size);
    free(text);

    /* Cut off in the middle of the packed bytes. */
    bytes = temp_read(packed, &size);
    free(packed);
    packed = temp_write(dir, "cut.gz", bytes, size / 2);
    free(bytes);
    CHECK_OK(json_stream_open(packed, packed, NULL, &stream, &diag));
    while ((rc = json_stream_next(stream, &item, &diag)) == 1)
        continue;
    assert_int_equal(rc, -EUCLEAN);
    CHECK_CONTAINS(diag.text, "cut.gz: cannot be unpacked behind byte");
    CHECK_CONTAINS(diag.text, "ends too early");
    json_stream_close(&stream);
    free(packed);
    free(plain);
    temp_destroy(&dir);
}

static void says_what_cannot_be_opened(void **state)
{
    struct json_stream *stream = NULL;
    struct diag diag = {0}, folder = {0};

    assert_int_equal(json_stream_open("/nowhere/x.json", "x", NULL, &stream, &diag), -ENOENT);
    CHECK_CONTAINS(diag.text, "cannot open x: No such file");
    assert_int_equal(json_stream_open("/", "/", NULL, &stream, &folder), -EISDIR);
    assert_null(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_documents),
        cmocka_unit_test(goes_into_parts),
        cmocka_unit_test(ends_what_was_never_closed),
        cmocka_unit_test(names_the_place_of_damage),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(reads_files_plain_and_compressed),
        cmocka_unit_test(says_what_cannot_be_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
