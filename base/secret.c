/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over words, names, addresses and keys of known makes. */
#include "base/secret.h"

#include <string.h>

enum {
    MASK_BYTES = 3,
    NUMBER_DIGITS_MAX = 9,
    USER_BYTES_MIN = 20,
    AWS_SECRET_BYTES = 40,
    FAR_BYTES = 1024 /* looked through for the end of a password */
};

/* What the next word is. */
enum expected {
    EXPECT_NOTHING,
    EXPECT_VALUE,  /* of a secret */
    EXPECT_COUNT,  /* the same, unless it is a number: --max-tokens 512 */
    EXPECT_SCHEME, /* after "Authorization:": "Bearer" and a value, or a value */
};

enum secrecy { SECRECY_NONE, SECRECY_UNLESS_NUMBER, SECRECY_FULL };

struct masker {
    char *text;
    size_t length, at, to; /* read up to `at`, written up to `to`, never behind */
    size_t word_end;       /* of the word that is being read */
    bool has_arguments;
    enum expected expected;
};

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

static bool is_upper(char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_alnum(char byte)
{
    return is_digit(byte) || (lower(byte) >= 'a' && lower(byte) <= 'z');
}

static bool is_joint(char byte)
{
    return byte == '-' || byte == '_' || byte == '.';
}

static bool is_name(char byte)
{
    return is_alnum(byte) || is_joint(byte);
}

static bool is_space(char byte)
{
    return (unsigned char)byte <= ' ';
}

/* --- Names --- */

/* The length of `word` at the head of the text, not counting joints and case; 0: it is not there.
 */
static size_t match(const char *text, size_t length, const char *word)
{
    size_t at = 0;

    for (; *word; word++) {
        while (at > 0 && at < length && is_joint(text[at]))
            at++;
        if (at == length || lower(text[at]) != *word)
            return 0;
        at++;
    }
    return at;
}

static bool contains(const char *name, size_t length, const char *word)
{
    for (size_t i = 0; i < length; i++)
        if (match(name + i, length - i, word))
            return true;
    return false;
}

static bool ends_with(const char *name, size_t length, const char *word)
{
    const size_t own = strlen(word);

    return length >= own && match(name + length - own, own, word) == own;
}

/* A part of a name, as in api-key, API_KEY, apiKey. */
static size_t part_length(const char *name, size_t length)
{
    size_t at = 1;

    while (at < length && !is_joint(name[at]) && !(is_upper(name[at]) && !is_upper(name[at - 1])))
        at++;
    return at;
}

static bool is_one_of(const char *text, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && match(text, length, *words) == length)
            return true;
    return false;
}

/* How secret the value of an option or a variable of this name is. */
static enum secrecy secrecy_of(const char *name, size_t length)
{
    static const char *const anywhere[] = {
        "password",   "passwd",        "passphrase", "passcode",   "secret",
        "credential", "apikey",        "accesskey",  "privatekey", "authkey",
        "bearer",     "authorization", NULL};
    static const char *const parts[] = {"token", "key",  "auth",  "pass", "pwd",
                                        "pw",    "cred", "creds", NULL};
    static const char *const counts[] = {"tokens", "keys", NULL};
    static const char *const places[] = {"file", "path", "dir", NULL}; /* where one lies */
    enum secrecy secrecy = SECRECY_NONE;

    for (size_t i = 0; places[i]; i++)
        if (ends_with(name, length, places[i]))
            return SECRECY_NONE;
    for (size_t i = 0; anywhere[i]; i++)
        if (contains(name, length, anywhere[i]))
            return SECRECY_FULL;
    if (ends_with(name, length, "token") || ends_with(name, length, "pwd"))
        return SECRECY_FULL;
    for (size_t at = 0, part; at < length; at += part) {
        if (is_joint(name[at])) {
            part = 1;
            continue;
        }
        part = part_length(name + at, length - at);
        if (is_one_of(name + at, part, parts))
            return SECRECY_FULL;
        if (is_one_of(name + at, part, counts))
            secrecy = SECRECY_UNLESS_NUMBER;
    }
    return secrecy;
}

/* The words that stand before the value of an Authorization header. */
static bool is_scheme(const char *text, size_t length)
{
    static const char *const schemes[] = {"bearer",    "basic",  "token", "digest",
                                          "negotiate", "apikey", NULL};

    return is_one_of(text, length, schemes);
}

/* --- Values that are secrets whatever their name --- */

/* Letters of both cases and digits: random, not written by a person. */
static bool is_mixed(const char *text, size_t length)
{
    bool has_upper = false, has_lower = false, has_digit = false;

    for (size_t i = 0; i < length; i++) {
        has_upper |= is_upper(text[i]);
        has_lower |= text[i] >= 'a' && text[i] <= 'z';
        has_digit |= is_digit(text[i]);
    }
    return has_upper && has_lower && has_digit;
}

/* Tokens of makes that mark theirs. `length` is that of the run of name bytes. */
static bool is_known_token(const char *text, size_t length)
{
    static const char *const marks[] = {"ghp_",   "gho_",  "ghs_",  "ghu_", "ghr_", "github_pat_",
                                        "glpat-", "xoxb-", "xoxp-", "hf_",  "sk-",  "eyJ",
                                        "AIza",   "npm_",  "pypi-", NULL};
    const bool is_aws =
        length == 20 && (memcmp(text, "AKIA", 4) == 0 || memcmp(text, "ASIA", 4) == 0);

    for (size_t i = 0; i < length && is_aws; i++)
        if (!is_upper(text[i]) && !is_digit(text[i]))
            return false;
    if (is_aws)
        return true;
    for (size_t i = 0; marks[i]; i++) {
        const size_t mark = strlen(marks[i]);

        if (length >= mark + 16 && memcmp(text, marks[i], mark) == 0)
            return is_mixed(text + mark, length - mark);
    }
    return false;
}

static bool is_key_byte(char byte)
{
    return is_name(byte) || byte == '/' || byte == '+' || byte == '=';
}

/* A secret access key of AWS: 40 characters of base64 that stand alone. */
static bool is_aws_secret(const struct masker *m)
{
    const char *text = m->text + m->at;
    size_t length = 0;

    if (m->word_end - m->at < AWS_SECRET_BYTES || *text == '/' || !is_key_byte(*text) ||
        (m->to > 0 && is_key_byte(m->text[m->to - 1])))
        return false;
    while (length <= AWS_SECRET_BYTES && m->at + length < m->word_end &&
           is_key_byte(text[length])) {
        if (is_joint(text[length]))
            return false;
        length++;
    }
    return length == AWS_SECRET_BYTES && is_mixed(text, length);
}

/* --- Copying and masking --- */

/* Moves on to `end`, keeping what stands there. */
static void keep(struct masker *m, size_t end)
{
    memmove(m->text + m->to, m->text + m->at, end - m->at);
    m->to += end - m->at;
    m->at = end;
}

/* Moves on to `end` with stars in its place. */
static void mask(struct masker *m, size_t end)
{
    const size_t hidden = end - m->at, stars = hidden < MASK_BYTES ? hidden : MASK_BYTES;

    memset(m->text + m->to, '*', stars);
    m->to += stars;
    m->at = end;
}

static size_t find_word_end(const struct masker *m, size_t at)
{
    while (at < m->length && !is_space(m->text[at]))
        at++;
    return at;
}

static size_t find_argument_end(const struct masker *m)
{
    const char *end = memchr(m->text + m->at, 0, m->length - m->at);

    return end ? (size_t)(end - m->text) : m->length;
}

/* Where a value that begins at `at` ends. */
static size_t find_value_end(const struct masker *m, bool is_whole_argument)
{
    const char first = m->at < m->length ? m->text[m->at] : 0;
    const char *quote = NULL;

    if (m->has_arguments && is_whole_argument)
        return find_argument_end(m);
    if (first == '"' || first == '\'')
        quote = memchr(m->text + m->at + 1, first, find_argument_end(m) - m->at - 1);
    return find_word_end(m, quote ? (size_t)(quote - m->text) : m->at);
}

/* 1: a number follows, up to *out_end. */
static bool is_number(const struct masker *m, size_t *out_end)
{
    size_t end = m->at;

    while (end < m->length && (is_digit(m->text[end]) || m->text[end] == '.'))
        end++;
    *out_end = end;
    return end > m->at && end - m->at <= NUMBER_DIGITS_MAX &&
           (end == m->length || is_space(m->text[end]) || strchr(",;&", m->text[end]));
}

/* The name at [start, m->at) is followed by `=` or `:`: its value. */
static void mask_assigned(struct masker *m, enum secrecy secrecy, bool begins_argument)
{
    size_t end = m->at;
    char sign = 0;

    if (end < m->word_end && (m->text[end] == '"' || m->text[end] == '\''))
        end++;
    while (end < m->word_end && (m->text[end] == '=' || m->text[end] == ':'))
        sign = m->text[end++];
    if (!sign)
        return;
    keep(m, end);
    if (secrecy == SECRECY_UNLESS_NUMBER && is_number(m, &end)) {
        keep(m, end);
        return;
    }
    if (m->has_arguments && begins_argument) /* "Authorization: Bearer X" is one */
        while (m->at < m->length && m->text[m->at] == ' ')
            keep(m, m->at + 1);
    end = find_word_end(m, m->at);
    if (end == m->at) {
        if (sign == ':')
            m->expected = EXPECT_SCHEME;
    } else if (is_scheme(m->text + m->at, end - m->at)) {
        keep(m, end);
        m->expected = EXPECT_VALUE;
    } else {
        mask(m, find_value_end(m, begins_argument));
    }
}

static size_t find_last(const struct masker *m, size_t from, size_t end, char byte)
{
    for (size_t i = end; i > from; i--)
        if (m->text[i - 1] == byte)
            return i - 1;
    return end;
}

static bool has_digits_only(const struct masker *m, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (!is_digit(m->text[i]))
            return false;
    return true;
}

/* An address without `@` where it should stand: a password that is not escaped may hold what ends
 * it. Behind a host there is a port. */
static void mask_odd_user(struct masker *m, size_t colon, size_t end)
{
    const size_t far = m->word_end - colon < FAR_BYTES ? m->word_end : colon + FAR_BYTES;
    const size_t sign = find_last(m, colon, far, '@');

    if (colon == end || sign == far || m->text[m->at] == '[' || has_digits_only(m, colon + 1, end))
        return;
    keep(m, colon + 1);
    mask(m, sign);
}

/* Behind "://": the user's password, or a user that is as long as a token. */
static void mask_user(struct masker *m)
{
    size_t end = m->at, colon = m->at, sign;

    while (end < m->word_end && !strchr("/?#", m->text[end]))
        end++;
    while (colon < end && m->text[colon] != ':')
        colon++;
    sign = find_last(m, m->at, end, '@');
    if (sign == end) {
        mask_odd_user(m, colon, end);
    } else if (colon < sign) {
        keep(m, colon + 1);
        mask(m, sign);
    } else if (sign - m->at >= USER_BYTES_MIN) {
        mask(m, sign);
    }
}

/* A run of name bytes at m->at. */
static void take_run(struct masker *m, size_t word_start, bool begins_argument)
{
    const size_t start = m->at;
    size_t end = start;
    enum secrecy secrecy;

    while (end < m->word_end && is_name(m->text[end]))
        end++;
    if (is_known_token(m->text + start, end - start)) {
        mask(m, end);
        return;
    }
    secrecy = secrecy_of(m->text + start, end - start);
    if (start == word_start && end == m->word_end && m->text[start] == '-') {
        if (secrecy == SECRECY_FULL)
            m->expected = EXPECT_VALUE;
        else if (secrecy == SECRECY_UNLESS_NUMBER)
            m->expected = EXPECT_COUNT;
    } else if (start == word_start && end == m->word_end && end - start == 6 &&
               match(m->text + start, 6, "bearer") == 6) {
        m->expected = EXPECT_VALUE;
    }
    keep(m, end);
    if (secrecy != SECRECY_NONE)
        mask_assigned(m, secrecy, begins_argument && start == word_start);
}

/* The word is the value that the one before announced. Returns false when it is not. */
static bool take_expected(struct masker *m, bool begins_argument)
{
    const enum expected expected = m->expected;
    const char *word = m->text + m->at;
    const size_t length = m->word_end - m->at;
    size_t end;

    m->expected = EXPECT_NOTHING;
    if (expected == EXPECT_NOTHING || (length >= 2 && word[0] == '-' && word[1] == '-'))
        return false;
    if (length == 1 && strchr("-=:", word[0])) {
        if (word[0] != '-')
            m->expected = expected; /* "password = X" */
        keep(m, m->word_end);
    } else if (expected == EXPECT_COUNT && is_number(m, &end)) {
        keep(m, end);
    } else if (expected == EXPECT_SCHEME && is_scheme(word, length)) {
        m->expected = EXPECT_VALUE;
        keep(m, m->word_end);
    } else {
        mask(m, find_value_end(m, begins_argument));
    }
    return true;
}

static void take_word(struct masker *m, bool begins_argument)
{
    const size_t start = m->at;

    m->word_end = find_word_end(m, start);
    if (take_expected(m, begins_argument))
        return;
    /* A value may end behind the word. */
    while (m->at < m->word_end) {
        if (is_aws_secret(m)) {
            mask(m, m->at + AWS_SECRET_BYTES);
        } else if (is_name(m->text[m->at])) {
            take_run(m, start, begins_argument);
        } else if (m->word_end - m->at > 3 && memcmp(m->text + m->at, "://", 3) == 0) {
            keep(m, m->at + 3);
            mask_user(m);
        } else {
            keep(m, m->at + 1);
        }
    }
}

size_t ot_secret_mask(char *text, size_t length, bool has_arguments)
{
    struct masker m = {.text = text, .length = length, .has_arguments = has_arguments};

    while (m.at < m.length) {
        if (is_space(m.text[m.at]))
            keep(&m, m.at + 1);
        else
            take_word(&m, has_arguments && (m.at == 0 || m.text[m.at - 1] == 0));
    }
    return m.to;
}
