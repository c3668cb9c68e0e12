/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser, --help, the man page and completion share about a table. Inside base only. */
#ifndef OPTRACE_BASE_OPTIONS_TABLE_H
#define OPTRACE_BASE_OPTIONS_TABLE_H

#include "base/options.h"

/** The options that every command has, headed by their group. */
enum standard_option {
    STANDARD_GROUP,
    STANDARD_HELP,
    STANDARD_VERSION,
    STANDARD_MAN,
    STANDARD_COMPLETION,
    STANDARD_COUNT,
};
extern const struct option_spec options_standard[STANDARD_COUNT];

/** The i-th row of the command's table followed by the standard ones; NULL behind the last. */
const struct option_spec *options_row(const struct option_command *command, size_t i);

/** The letter by which a row can be called on this command, or 0: a command's own -h hides
 * --help's. */
char options_short_name(const struct option_command *command, const struct option_spec *spec);

/** Whether a value belongs to the option (it may be left out where OPTION_OPTIONAL is set). */
bool options_takes_value(const struct option_spec *spec);

/** The next of the words in "a|b|c": sets *out_length and returns its start, NULL at the end. Begin
 *  with *position = choices. */
const char *options_next_choice(const char **position, size_t *out_length);

/** One row of "KEY  meaning" lines; not NUL-terminated. */
struct options_line {
    const char *key;
    const char *meaning;
    size_t key_length;
    size_t meaning_length;
};

/** The next of such lines: false at the end. Begin with *position = text. */
bool options_next_line(const char **position, struct options_line *out_line);

/** The lines of a topic; the caller frees them. NULL when memory runs out. */
char *options_topic_text(const struct option_topic *topic);

/** Whether --help and completion show the row. */
bool options_is_listed(const struct option_spec *spec);

/** The exit statuses that the command documents. */
const char *options_exit_text(const struct option_command *command);

#endif
