/* SPDX-License-Identifier: Apache-2.0 */
/* What is masked in command lines and what is not; random ones with a secret in them. */
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

/* Masks a copy that has not a byte more than it needs. The caller frees it. */
static char *masked(const char *text, size_t length, bool has_arguments)
{
    char *exact = malloc(length ? length : 1), *out;
    size_t left;

    assert_non_null(exact);
    memcpy(exact, text, length);
    left = ot_secret_mask(exact, length, has_arguments);
    assert_true(left <= length);
    out = strndup("", 0);
    out = realloc(out, left + 1);
    assert_non_null(out);
    memcpy(out, exact, left);
    out[left] = 0;
    free(exact);
    return out;
}

static void check(const char *text, const char *wanted)
{
    char *got = masked(text, strlen(text), false), *again;

    if (strcmp(got, wanted) != 0)
        fail_msg("%s became %s, not %s", text, got, wanted);
    again = masked(got, strlen(got), false);
    assert_string_equal(again, wanted);
    free(again);
    free(got);
}

static void options_and_variables_lose_their_values(void **state)
{
    check("prog --password=hunter2 -v", "prog --password=*** -v");
    check("prog --password hunter2 -v", "prog --password *** -v");
    check("prog -password hunter2", "prog -password ***");
    check("prog --db-passwd=x1 y", "prog --db-passwd=** y");
    check("prog --api-key k123 run", "prog --api-key *** run");
    check("prog --apiKey=k123 run", "prog --apiKey=*** run");
    check("prog --hf-token k123", "prog --hf-token ***");
    check("prog --client.secret=k123", "prog --client.secret=***");
    check("prog -Ddb.password=k123", "prog -Ddb.password=***");
    check("PGPASSWORD=k123 MYSQL_PWD=k124 prog", "PGPASSWORD=*** MYSQL_PWD=*** prog");
    check("env AWS_SECRET_ACCESS_KEY=k123 prog", "env AWS_SECRET_ACCESS_KEY=*** prog");
    check("sh -c \"prog --password='my secret' -x\"", "sh -c \"prog --password=*** -x\"");
    check("prog -passin pass:k123", "prog -passin pass:***");
    check("prog password = k123 x", "prog password = k123 x"); /* no option, no assignment */
    check("prog --password = k123 x", "prog --password = *** x");
    check("prog --credentials=k123", "prog --credentials=***");
    check("prog --auth k123", "prog --auth ***");
    check("prog {\"password\": \"k 123\", \"a\": 1}", "prog {\"password\": *** \"a\": 1}");
    check("prog {\"token\":\"k123\"}", "prog {\"token\":***");
}

static void headers_and_addresses_lose_theirs(void **state)
{
    check("curl -H Authorization: Bearer k123 h", "curl -H Authorization: Bearer *** h");
    check("curl -H \"Authorization: Basic k123\" h", "curl -H \"Authorization: Basic *** h");
    check("curl -H 'X-Api-Key: k123' h", "curl -H 'X-Api-Key: *** h");
    check("curl -H X-Api-Key:k123 h", "curl -H X-Api-Key:*** h");
    check("prog Bearer k123", "prog Bearer ***");
    check("https://user:k123@host:80/a", "https://user:***@host:80/a");
    check("https://user:k@123@host/a", "https://user:***@host/a");
    check("postgres://u:k/1?2@host/db x", "postgres://u:***@host/db x");
    check("https://k123456789012345678901@host/", "https://***@host/");
    check("https://host/?token=k123&a=b x", "https://host/?token=*** x");
    check("https://u:k123@h/?key=k124", "https://u:***@h/?key=***");
    check("AKIAIOSFODNN7EXAMPLE x", "*** x");
    check("id=AKIAIOSFODNN7EXAMPLE x", "id=*** x");
    check("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEK3Y x", "*** x");
    check("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "***");
    check("x=hf_abcdefGHIJKLmnop0123456", "x=***");
}

static void other_words_stay(void **state)
{
    static const char *const harmless[] = {
        "python train.py --tokenizer=/data/tok.json --max-tokens 512 --model-path /m",
        "prog --max_tokens=512,--x",
        "prog --max-tokens=512",
        "prog --password-file /run/secrets/x",
        "prog --key-file=/etc/k.pem",
        "prog --author me --keyboard us --monkey=1",
        "https://host:8080/a?b=c",
        "ssh://git@host/a",
        "https://[::1]:80/a@b",
        "http://h:80/a@b",
        "prog --password --verbose",
        "prog --password -",
        "prog --password=",
        "prog -p x -- a",
        "6b9f1e6e8c5b4a7f0d3c2b1a09f8e7d6c5b4a392",
        "/usr/lib/x86_64/Python3/Abcdefghijklmnopqrst",
        "",
        " ",
        "a",
        "=",
        ":",
        "://",
        "://@",
        "--",
        "-",
        "\xc3\xa9=\xe5\x8d\xb7"};

    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        check(harmless[i], harmless[i]);
}

#define CHECK_ARGUMENTS(text, wanted)                                                              \
    do {                                                                                           \
        char copy[] = text;                                                                        \
        const size_t length_ = ot_secret_mask(copy, sizeof(copy) - 1, true);                       \
        CHECK_U64(length_, sizeof(wanted) - 1);                                                    \
        assert_memory_equal(copy, wanted, length_);                                                \
    } while (0)

static void arguments_are_masked_whole(void **state)
{
    CHECK_ARGUMENTS("p\0--password\0my long secret\0-v", "p\0--password\0***\0-v");
    CHECK_ARGUMENTS("p\0--password=my long secret\0-v", "p\0--password=***\0-v");
    CHECK_ARGUMENTS("p\0-H\0Authorization: Bearer k123\0-v",
                    "p\0-H\0Authorization: Bearer ***\0-v");
    CHECK_ARGUMENTS("p\0-H\0Cookie-Secret: a b c\0-v", "p\0-H\0Cookie-Secret: ***\0-v");
    CHECK_ARGUMENTS("sh\0-c\0q --token abc b; r\0-v", "sh\0-c\0q --token *** b; r\0-v");
    CHECK_ARGUMENTS("p\0--password\0", "p\0--password\0");
}

/* --- Random --- */

static uint64_t random_state = DRAW_SEED;

static unsigned pick(unsigned count)
{
    return (unsigned)(draw_u64(&random_state) % count);
}

/* Filler that no rule is about, but for what surrounds it. */
static size_t put_filler(char *out)
{
    static const char *const words[] = {
        "prog",  "-v",    "--model=a.onnx", "x=1",         "\xc3\xa9t\xc3\xa9", "a:b",
        "'q q'", "--n 3", "/a/b",           "http://h:1/", "\xe5\x8d\xb7",      "\"z\"",
        "--",    "-",     "{\"a\":1}"};
    const char *word = words[pick(sizeof(words) / sizeof(words[0]))];

    memcpy(out, word, strlen(word));
    return strlen(word);
}

/* A secret in one of the forms that docs/privacy.md names. */
static size_t put_secret(char *out, size_t bytes, const char *secret)
{
    static const char *const forms[] = {"--password=%s",
                                        "--password %s",
                                        "--API_KEY %s",
                                        "dbPassword=%s",
                                        "MY_TOKEN=%s",
                                        "--client-secret=%s",
                                        "-H Authorization: Bearer %s",
                                        "X-Auth-Token: %s",
                                        "https://me:%s@host/",
                                        "ftp://me:%s@h:21/x",
                                        "h?access_token=%s&a=b",
                                        "{\"secret\":\"%s\"}",
                                        "{\"passwd\": \"%s\"}",
                                        "--credential='%s'",
                                        "Proxy-Authorization: Basic %s"};

    return (size_t)snprintf(out, bytes, forms[pick(sizeof(forms) / sizeof(forms[0]))], secret);
}

static void secrets_never_stay(void **state)
{
    for (int round = 0; round < 200000; round++) {
        const bool has_arguments = pick(2);
        char text[1024], secret[32], *out;
        size_t length = 0, before = pick(4), after = pick(4), secret_length = 4 + pick(20);

        for (size_t i = 0; i < secret_length; i++)
            secret[i] = "abcXYZ0189_.+!%~\xc3"[pick(16)];
        secret[0] = 'Q'; /* in no filler */
        secret[secret_length] = 0;
        for (size_t i = 0; i < before; i++) {
            length += put_filler(text + length);
            text[length++] = has_arguments ? 0 : ' ';
        }
        length += put_secret(text + length, sizeof(text) - length, secret);
        for (size_t i = 0; i < after; i++) {
            text[length++] = has_arguments ? 0 : ' ';
            length += put_filler(text + length);
        }
        out = masked(text, length, has_arguments);
        for (size_t i = 0; i < length && has_arguments; i++)
            if (text[i] == 0)
                text[i] = ' ';
        if (memchr(out, 'Q', strlen(out)))
            fail_msg("%.*s became %s", (int)length, text, out);
        free(out);
    }
}

/* Bytes that the rules are about, and any. */
static void nothing_breaks_the_text(void **state)
{
    static const char *const pieces[] = {"password",
                                         "=",
                                         ":",
                                         "://",
                                         "@",
                                         "\"",
                                         "'",
                                         "--",
                                         "token",
                                         "tokens",
                                         " ",
                                         "\0",
                                         "Bearer",
                                         "Authorization",
                                         "\xc3\xa9",
                                         "\xf0\x9f\x98\x80",
                                         "key",
                                         "/",
                                         "a",
                                         "12",
                                         "AKIAIOSFODNN7EXAMPLE",
                                         "-",
                                         "{"};

    for (int round = 0; round < 200000; round++) {
        char text[512], *out;
        size_t length = 0, count = pick(16), left;
        const bool has_arguments = pick(2);

        for (size_t i = 0; i < count; i++) {
            const char *piece = pieces[pick(sizeof(pieces) / sizeof(pieces[0]))];
            const size_t own = *piece ? strlen(piece) : has_arguments;

            memcpy(text + length, piece, own);
            length += own;
        }
        out = malloc(length + 1);
        assert_non_null(out);
        memcpy(out, text, length);
        left = ot_secret_mask(out, length, has_arguments);
        assert_true(left <= length);
        for (size_t i = 0; i < left; i++)
            if (out[i] == 0)
                out[i] = ' ';
        assert_true(text_is_utf8(out, left));
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_variables_lose_their_values),
        cmocka_unit_test(headers_and_addresses_lose_theirs),
        cmocka_unit_test(other_words_stay),
        cmocka_unit_test(arguments_are_masked_whole),
        cmocka_unit_test(secrets_never_stay),
        cmocka_unit_test(nothing_breaks_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
