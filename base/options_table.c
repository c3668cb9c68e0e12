/* SPDX-License-Identifier: Apache-2.0 */
/* Walking an option table. */
#include "base/options_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit_status.h"

const struct option_spec options_standard[STANDARD_COUNT] = {
    [STANDARD_GROUP] = {OPTION_GROUP, "Help"},
    [STANDARD_HELP] = {.kind = OPTION_FLAG,
                       .name = "help",
                       .short_name = 'h',
                       .help = "Print this help and exit. --help WORD: help on that alone, such as "
                               "options for all of them, or the name of one."},
    [STANDARD_VERSION] = {.kind = OPTION_FLAG,
                          .name = "version",
                          .help = "Print the version and exit."},
    [STANDARD_MAN] = {.kind = OPTION_FLAG,
                      .name = "help-man",
                      .help = "Print the manual page (roff) and exit."},
    [STANDARD_COMPLETION] = {.kind = OPTION_FLAG,
                             .name = "help-completion",
                             .help = "Print the completion script for bash and exit."},
};

const struct option_spec *options_row(const struct option_command *command, size_t i)
{
    if (i < command->option_count)
        return &command->options[i];
    i -= command->option_count;
    return i < STANDARD_COUNT ? &options_standard[i] : NULL;
}

char options_short_name(const struct option_command *command, const struct option_spec *spec)
{
    if (spec != &options_standard[STANDARD_HELP])
        return spec->short_name;
    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].short_name == spec->short_name)
            return 0;
    }
    return spec->short_name;
}

bool options_takes_value(const struct option_spec *spec)
{
    switch (spec->kind) {
    case OPTION_STRING:
    case OPTION_INT:
    case OPTION_FLOAT:
    case OPTION_LIST:
    case OPTION_CHOICE:
        return true;
    default:
        return false;
    }
}

const char *options_next_choice(const char **position, size_t *out_length)
{
    const char *start = *position;

    if (!start || !*start)
        return NULL;
    *out_length = strcspn(start, "|");
    *position = start + *out_length + (start[*out_length] == '|');
    return start;
}

bool options_next_line(const char **position, struct options_line *out_line)
{
    const char *line = *position;
    size_t length = line ? strcspn(line, "\n") : 0;
    const char *gap;

    if (length == 0)
        return false;
    gap = memmem(line, length, "  ", 2);
    out_line->key = line;
    out_line->key_length = gap ? (size_t)(gap - line) : length;
    out_line->meaning = line + out_line->key_length;
    out_line->meaning += strspn(out_line->meaning, " ");
    out_line->meaning_length = (size_t)(line + length - out_line->meaning);
    *position = line + length + (line[length] == '\n');
    return true;
}

bool options_is_listed(const struct option_spec *spec)
{
    return spec->kind != OPTION_REFUSED && !(spec->flags & OPTION_HIDDEN);
}

const char *options_exit_text(const struct option_command *command)
{
    static_assert(EXIT_OK == 0 && EXIT_USAGE == 2 && EXIT_INPUT == 3 && EXIT_SYSTEM == 4 &&
                      EXIT_INTERRUPTED == 130,
                  "the text below names these numbers");

    if (command->exit_text)
        return command->exit_text;
    return "0  done\n"
           "2  wrong use of the command line\n"
           "3  an input is missing, damaged, unsupported or too new\n"
           "4  the system or the daemon failed: no memory, no permission, disk full\n"
           "130  interrupted\n";
}

char *options_topic_text(const struct option_topic *topic)
{
    char *text = NULL;
    size_t bytes;
    FILE *lines = open_memstream(&text, &bytes);

    if (!lines)
        return NULL;
    topic->print(lines);
    if (fclose(lines) == EOF) {
        free(text);
        return NULL;
    }
    return text;
}
