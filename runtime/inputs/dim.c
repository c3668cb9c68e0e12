/* SPDX-License-Identifier: Apache-2.0 */
/* --input-dim, --batch and --batch-size: sizes of inputs without data for them. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/inputs/input.h"

/* The digits of one dimension; *text moves behind them and the blanks that follow. */
static int parse_dim(const char **text, struct shape *shape, struct diag *diag)
{
    char *end;
    long long size;

    errno = 0;
    size = strtoll(*text, &end, 10);
    if (errno != 0 || end == *text || size < 0 || (*end != '\0' && !isspace((unsigned char)*end)))
        return diag_set(diag, -EINVAL, "--input-dim: \"%.40s\" is no size of a dimension", *text);
    if (shape->rank == SHAPE_MAX_RANK)
        return diag_set(diag, -EINVAL, "--input-dim: more than %d dimensions", SHAPE_MAX_RANK);
    shape->dims[shape->rank++] = size;
    for (*text = end; isspace((unsigned char)**text);)
        (*text)++;
    return 0;
}

int input_parse_dim(const char *text, struct input_list *list, struct diag *diag)
{
    struct tensor_view view = {.dtype = DTYPE_NONE};
    size_t length = strcspn(text, " \t");
    char *name;
    int rc = 0;

    if (text[0] != '@' || length < 2)
        return diag_set(diag, -EINVAL,
                        "--input-dim takes @NAME and the sizes of its dimensions, not \"%.60s\"",
                        text);
    name = strndup(text + 1, length - 1);
    text += length + strspn(text + length, " \t");
    while (rc == 0 && *text != '\0')
        rc = parse_dim(&text, &view.shape, diag);
    if (rc == 0 && !name)
        rc = diag_set(diag, -ENOMEM, "no memory for --input-dim");
    if (rc == 0)
        rc = input_append_kind(list, INPUT_SHAPE, name, &view, diag);
    free(name);
    return rc;
}

int input_append_batch(struct input_list *list, int64_t batch, struct diag *diag)
{
    const struct tensor_view view = {.shape = {.rank = 1, .dims = {batch}}};

    return input_append_kind(list, INPUT_BATCH, "", &view, diag);
}

int input_append_tiles(struct input_list *list, int64_t batch, struct diag *diag)
{
    const struct tensor_view view = {.shape = {.rank = 1, .dims = {batch}}};

    return input_append_kind(list, INPUT_TILES, "", &view, diag);
}

void input_free_words(char ***argv_ptr)
{
    char **argv = *argv_ptr;

    *argv_ptr = NULL;
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* Whether the last of the words is the value of --input-dim. */
static bool ends_in_dims(char *const *words, int count)
{
    return count > 1 && words[count - 1][0] == '@' &&
           (strcmp(words[count - 2], "--input-dim") == 0 ||
            strcmp(words[count - 2], "--input_dim") == 0);
}

/* Adds one word to the list, or to the value of --input-dim before it. */
static int join_word(char **words, int *count, const char *word)
{
    bool is_size = word[0] != '\0' && strspn(word, "0123456789") == strlen(word);
    char *text = NULL;

    if (ends_in_dims(words, *count) && is_size) {
        if (asprintf(&text, "%s %s", words[*count - 1], word) < 0)
            return -ENOMEM;
        free(words[*count - 1]);
        words[*count - 1] = text;
        return 0;
    }
    if (ends_in_dims(words, *count) && word[0] == '@') {
        words[*count] = strdup("--input-dim");
        if (!words[(*count)++])
            return -ENOMEM;
    }
    words[*count] = strdup(word);
    return words[(*count)++] ? 0 : -ENOMEM;
}

int input_join_words(int argc, char **argv, char ***out_argv, int *out_argc)
{
    char **words = calloc(2 * (size_t)argc + 1, sizeof(*words));
    int count = 0, rc = words ? 0 : -ENOMEM;

    for (int i = 0; rc == 0 && i < argc; i++)
        rc = join_word(words, &count, argv[i]);
    if (rc < 0) {
        input_free_words(&words);
        return rc;
    }
    *out_argv = words;
    *out_argc = count;
    return 0;
}
