/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as other tools' users write them. */
#include "runtime/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { FILES_DEEP = 8, FILE_BYTES_MAX = 1 << 20, WORDS_MAX = 1 << 16 };

struct words {
    char **items; /* ends in NULL */
    int count;
    int depth; /* of files */
    struct diag *diag;
};

static int add(struct words *w, const char *text, size_t length)
{
    char **grown = realloc(w->items, ((size_t)w->count + 2) * sizeof(*grown));

    if (!grown || w->count >= WORDS_MAX)
        return diag_set(w->diag, grown ? -E2BIG : -ENOMEM, "the command line is too long");
    w->items = grown;
    grown[w->count] = strndup(text, length);
    grown[w->count + 1] = NULL;
    return grown[w->count++] ? 0 : diag_set(w->diag, -ENOMEM, "no memory for the command line");
}

static int add_word(struct words *w, const char *text)
{
    return add(w, text, strlen(text));
}

/* Commands */

struct command {
    const char *name;
    const char *words[5];
    const char *refusal;
};

static const struct command commands[] = {
    {"read", {"--print-graph", "text", "--print-stage", "before"}, NULL},
    {"compile", {"--print-graph", "text", "--print-stage", "after"}, NULL},
    {"run", {"--iter", "1", "--warmup-iter", "0"}, NULL},
    {"perf", {"--perf-report"}, NULL},
    {"time", {"--iter", "100"}, NULL},
    {"verify", {"--verify-against", "ref"}, NULL},
    {"params", {"--model-info", "--iter", "0", "--warmup-iter"}, NULL},
    {"op", {NULL}, "docs/operators.md lists the operators"},
    {"onnx", {NULL}, "docs/operators.md lists the operators"},
    {"roctx", {NULL}, "--trace records, and profile_analyze --export chrome shows markers"},
};

/* The command in front, unless it is the name of a file. */
static int expand_command(struct words *w, const char *word, bool *out_is_command)
{
    int rc = 0;

    *out_is_command = false;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct command *command = &commands[i];

        if (strcmp(command->name, word) != 0)
            continue;
        *out_is_command = true;
        if (command->refusal)
            return diag_set(w->diag, -EOPNOTSUPP, "the command %s is not offered: %s", word,
                            command->refusal);
        for (size_t k = 0; rc == 0 && k < 5 && command->words[k]; k++)
            rc = add_word(w, command->words[k]);
        if (rc == 0 && strcmp(word, "params") == 0)
            rc = add_word(w, "0");
    }
    return rc;
}

/* Flags from elsewhere */

static int expand(struct words *w, int count, char *const *words);

/* Whether a word is an option of this name; its value behind '=' or NULL. */
static bool is_option(const char *word, const char *name, const char **out_value)
{
    size_t i = 0;

    if (word[0] != '-')
        return false;
    word += word[1] == '-' ? 2 : 1;
    for (; name[i] != '\0'; i++)
        if (word[i] != name[i] && !(word[i] == '_' && name[i] == '-'))
            return false;
    *out_value = word[i] == '=' ? word + i + 1 : NULL;
    return word[i] == '=' || word[i] == '\0';
}

/* A line is a flag, with one dash or two; what is set of it stands behind '='. */
static int expand_line(struct words *w, const char *path, char *line)
{
    char *end = line + strlen(line), *word = NULL;
    int rc;

    while (isspace((unsigned char)*line))
        line++;
    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    if (line[0] != '-' || line[1] == '\0')
        return diag_set(w->diag, -EINVAL, "--flagfile: '%.60s' in '%s' is no flag", line, path);
    if (asprintf(&word, "%s%s", line[1] == '-' ? "" : "-", line) < 0)
        return diag_set(w->diag, -ENOMEM, "no memory for the command line");
    rc = expand(w, 1, &word);
    free(word);
    return rc;
}

static int expand_file(struct words *w, const char *path)
{
    char *bytes = NULL, *rest, *line;
    size_t size;
    int rc;

    if (w->depth >= FILES_DEEP)
        return diag_set(w->diag, -EINVAL, "--flagfile: files name each other, more than %d deep",
                        FILES_DEEP);
    rc = file_read(path, FILE_BYTES_MAX, &bytes, &size, w->diag);
    if (rc < 0)
        return rc;
    if (memchr(bytes, '\0', size))
        rc = diag_set(w->diag, -EINVAL, "--flagfile: '%s' is no text", path);
    w->depth++;
    rest = bytes;
    while (rc == 0 && (line = strsep(&rest, "\n")))
        rc = expand_line(w, path, line);
    w->depth--;
    free(bytes);
    return rc;
}

static int expand_variable(struct words *w, const char *name, bool must_be)
{
    char variable[200], *word = NULL;
    const char *value;
    int rc;

    snprintf(variable, sizeof(variable), "FLAGS_%.150s", name);
    value = getenv(variable);
    if (!value && must_be)
        return diag_set(w->diag, -EINVAL, "--fromenv: there is no variable %s", variable);
    if (!value)
        return 0;
    if (asprintf(&word, "--%s=%s", name, value) < 0)
        return diag_set(w->diag, -ENOMEM, "no memory for the command line");
    rc = add_word(w, word);
    free(word);
    return rc;
}

static int expand_variables(struct words *w, const char *names, bool must_be)
{
    char *copy = strdup(names), *rest = copy, *name;
    int rc = copy ? 0 : diag_set(w->diag, -ENOMEM, "no memory for the command line");

    while (rc == 0 && (name = strsep(&rest, ",")))
        if (name[0] != '\0')
            rc = expand_variable(w, name, must_be);
    free(copy);
    return rc;
}

/* Options of two words */

static const char *const pairs[] = {"dim-param", "load-arg", "dyn-input-dim"};

static bool takes_two(const char *word)
{
    const char *value;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (word[0] == '-' && word[1] == '-' && is_option(word, pairs[i], &value))
            return !value;
    return false;
}

static int add_pair(struct words *w, const char *option, const char *first, const char *second)
{
    char *joined = NULL;
    int rc = add_word(w, option);

    if (rc == 0 && asprintf(&joined, "%s %s", first, second) < 0)
        return diag_set(w->diag, -ENOMEM, "no memory for the command line");
    if (rc == 0)
        rc = add_word(w, joined);
    free(joined);
    return rc;
}

/* One word, or it and those that belong to it; *at moves over these. */
static int expand_word(struct words *w, int count, char *const *words, int *at)
{
    static const char *const sources[] = {"flagfile", "fromenv", "tryfromenv"};
    const char *word = words[(*at)++], *value;

    for (int i = 0; i < 3; i++) {
        if (word[0] != '-' || word[1] != '-' || !is_option(word, sources[i], &value))
            continue;
        if (!value && *at == count)
            return diag_set(w->diag, -EINVAL, "--%s needs a value", sources[i]);
        value = value ? value : words[(*at)++];
        return i == 0 ? expand_file(w, value) : expand_variables(w, value, i == 1);
    }
    if (!takes_two(word))
        return add_word(w, word);
    if (count - *at < 2)
        return diag_set(w->diag, -EINVAL, "%s takes two words", word);
    *at += 2;
    return add_pair(w, word, words[*at - 2], words[*at - 1]);
}

static int expand(struct words *w, int count, char *const *words)
{
    bool has_ended = false;
    int rc = 0;

    for (int i = 0; rc == 0 && i < count;) {
        has_ended = has_ended || strcmp(words[i], "--") == 0;
        if (has_ended)
            rc = add_word(w, words[i++]);
        else
            rc = expand_word(w, count, words, &i);
    }
    return rc;
}

int words_expand(int argc, char **argv, char ***out_words, int *out_count, struct diag *diag)
{
    struct words w = {.diag = diag};
    bool is_command = false;
    int rc = argc > 0 ? add_word(&w, argv[0]) : 0;

    if (rc == 0 && argc > 1)
        rc = expand_command(&w, argv[1], &is_command);
    if (rc == 0 && argc > 1)
        rc = expand(&w, argc - 1 - is_command, argv + 1 + is_command);
    if (rc < 0) {
        words_free(&w.items);
        return rc;
    }
    *out_words = w.items;
    *out_count = w.count;
    return 0;
}

void words_free(char ***words)
{
    for (char **word = *words; word && *word; word++)
        free(*word);
    free(*words);
    *words = NULL;
}
