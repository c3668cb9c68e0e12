/* SPDX-License-Identifier: Apache-2.0 */
/* The command line parser: one table, one pass over argv. */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit_status.h"
#include "base/options_table.h"
#include "base/text.h"
#include "base/text_buffer.h"

enum { MAX_NAMES = 512 }; /* names that "did you mean" looks at */

struct parser {
    const struct option_command *command;
    char **argv;
    int argc;
    int next; /* index of the next word */
    char *target;
    struct diag *diag;
};

/* One option as it was written: its row, its name for messages, and the value that sticks to it. */
struct occurrence {
    const struct option_spec *spec;
    char shown[80]; /* "--top" or "-t" */
    const char *attached;
    bool negated;
};

static bool names_match(const char *word, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++) {
        char have = word[i] == '_' ? '-' : word[i];
        char want = name[i] == '_' ? '-' : name[i];

        if (!want || have != want)
            return false;
    }
    return name[length] == '\0';
}

static const struct option_spec *find_long(const struct parser *parser, const char *word,
                                           size_t length, bool *out_negated)
{
    bool has_no = length > 3 && (names_match(word, 3, "no-") || names_match(word, 3, "no_"));
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(parser->command, i)); i++) {
        if (spec->kind == OPTION_GROUP)
            continue;
        *out_negated = false;
        if (names_match(word, length, spec->name))
            return spec;
        *out_negated = has_no && (spec->flags & OPTION_NEGATABLE);
        if (*out_negated && names_match(word + 3, length - 3, spec->name))
            return spec;
        /* --noNAME, as gflags has it */
        *out_negated = spec->kind == OPTION_FLAG && length > 2 && word[0] == 'n' && word[1] == 'o';
        if (*out_negated && names_match(word + 2, length - 2, spec->name))
            return spec;
    }
    return NULL;
}

static const struct option_spec *find_short(const struct parser *parser, char letter)
{
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(parser->command, i)); i++) {
        if (spec->kind != OPTION_GROUP && options_short_name(parser->command, spec) == letter)
            return spec;
    }
    return NULL;
}

static int unknown_option(const struct parser *parser, const char *word, size_t length)
{
    const char *names[MAX_NAMES];
    const struct option_spec *spec;
    const char *nearest;
    size_t count = 0;
    char name[64];

    for (size_t i = 0; (spec = options_row(parser->command, i)) && count < MAX_NAMES; i++) {
        if (spec->kind != OPTION_GROUP && !(spec->flags & OPTION_HIDDEN))
            names[count++] = spec->name;
    }
    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    nearest = text_nearest(name, names, count);
    if (nearest)
        return diag_set(parser->diag, -EINVAL, "unknown option '--%s'; did you mean '--%s'?", name,
                        nearest);
    return diag_set(parser->diag, -EINVAL, "unknown option '--%s'", name);
}

static int bad_number(const struct parser *parser, const struct occurrence *option,
                      const char *value)
{
    const struct option_spec *spec = option->spec;
    const char *what = spec->kind == OPTION_INT ? "a whole number" : "a number";

    if (spec->min == spec->max)
        return diag_set(parser->diag, -EINVAL, "%s takes %s, not '%s'", option->shown, what, value);
    if (spec->max >= (double)INT64_MAX)
        return diag_set(parser->diag, -EINVAL, "%s takes %s of at least %.15g, not '%s'",
                        option->shown, what, spec->min, value);
    return diag_set(parser->diag, -EINVAL, "%s takes %s from %.15g to %.15g, not '%s'",
                    option->shown, what, spec->min, spec->max, value);
}

static bool is_in_range(const struct option_spec *spec, double value)
{
    return spec->min == spec->max || (value >= spec->min && value <= spec->max);
}

/* The factor of a size suffix, or 0 for an unknown one. */
static int64_t suffix_factor(const char *suffix)
{
    static const struct {
        const char *text;
        int64_t factor;
    } suffixes[] = {
        {"", 1},           {"k", 1000},  {"K", 1000},         {"M", 1000000},
        {"G", 1000000000}, {"Ki", 1024}, {"Mi", 1024 * 1024}, {"Gi", 1024 * 1024 * 1024},
    };

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcmp(suffix, suffixes[i].text) == 0)
            return suffixes[i].factor;
    }
    return 0;
}

static int set_int(const struct parser *parser, const struct occurrence *option, const char *value)
{
    int64_t number, factor;
    char *end;

    errno = 0;
    number = strtoll(value, &end, 10);
    factor = suffix_factor(end);
    if (end == value || isspace((unsigned char)value[0]) || errno == ERANGE || factor == 0 ||
        __builtin_mul_overflow(number, factor, &number) ||
        !is_in_range(option->spec, (double)number))
        return bad_number(parser, option, value);
    memcpy(parser->target + option->spec->target, &number, sizeof(number));
    return 0;
}

static int set_float(const struct parser *parser, const struct occurrence *option,
                     const char *value)
{
    double number;
    char *end;

    number = strtod(value, &end);
    if (end == value || *end || isspace((unsigned char)value[0]) || !isfinite(number) ||
        !is_in_range(option->spec, number))
        return bad_number(parser, option, value);
    memcpy(parser->target + option->spec->target, &number, sizeof(number));
    return 0;
}

static int set_choice(const struct parser *parser, const struct occurrence *option,
                      const char *value)
{
    const char *position = option->spec->choices;
    const char *choice;
    size_t length;
    int index = 0;

    for (; (choice = options_next_choice(&position, &length)); index++) {
        if (strlen(value) == length && memcmp(value, choice, length) == 0) {
            memcpy(parser->target + option->spec->target, &index, sizeof(index));
            return 0;
        }
    }
    return diag_set(parser->diag, -EINVAL, "%s takes one of %s, not '%s'", option->shown,
                    option->spec->choices, value);
}

static int set_list(const struct parser *parser, const struct occurrence *option, const char *value)
{
    struct option_list *list = (struct option_list *)(parser->target + option->spec->target);

    if (list->count == OPTION_LIST_MAX)
        return diag_set(parser->diag, -EINVAL, "%s is given more than %d times", option->shown,
                        OPTION_LIST_MAX);
    list->items[list->count++] = value;
    return 0;
}

static int set_value(const struct parser *parser, const struct occurrence *option,
                     const char *value)
{
    switch (option->spec->kind) {
    case OPTION_INT:
        return set_int(parser, option, value);
    case OPTION_FLOAT:
        return set_float(parser, option, value);
    case OPTION_CHOICE:
        return set_choice(parser, option, value);
    case OPTION_LIST:
        return set_list(parser, option, value);
    default:
        memcpy(parser->target + option->spec->target, &value, sizeof(value));
        return 0;
    }
}

/* The option that says the opposite of a flag: "no-" and its name. */
static const struct option_spec *find_opposite(const struct parser *parser,
                                               const struct option_spec *flag)
{
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(parser->command, i)); i++)
        if (spec->kind == OPTION_FLAG && strncmp(spec->name, "no-", 3) == 0 &&
            strcmp(spec->name + 3, flag->name) == 0)
            return spec;
    return NULL;
}

/* What gflags takes for a truth value; -1: it takes none of it. */
static int truth_of(const char *word)
{
    static const char *const words[][5] = {{"false", "f", "no", "n", "0"},
                                           {"true", "t", "yes", "y", "1"}};

    for (int truth = 0; truth < 2; truth++)
        for (int i = 0; i < 5; i++)
            if (strcmp(words[truth][i], word) == 0)
                return truth;
    return -1;
}

/* Cleared, a flag is as if it were not given; its opposite is, where there is one. */
static int set_flag(const struct parser *parser, const struct occurrence *option)
{
    const struct option_spec *opposite = find_opposite(parser, option->spec);
    int truth = option->attached ? truth_of(option->attached) : 1;
    bool on = (truth == 1) != option->negated;

    if (truth < 0 || (option->attached && option->negated))
        return diag_set(parser->diag, -EINVAL, "%s takes no value%s", option->shown,
                        truth < 0 ? " but true or false" : "");
    memcpy(parser->target + option->spec->target, &on, sizeof(on));
    if (!on && opposite)
        memcpy(parser->target + opposite->target, &(bool){true}, sizeof(bool));
    return 0;
}

/* --help takes a word, if there is one. */
static int show_help(const struct parser *parser, const struct occurrence *option)
{
    const char *word = option->attached;
    int rc;

    if (!word && parser->next < parser->argc)
        word = parser->argv[parser->next];
    if (!word) {
        options_print_help(parser->command, stdout);
        return OPTIONS_SHOWN;
    }
    rc = options_print_help_on(parser->command, word, stdout, parser->diag);
    return rc < 0 ? rc : OPTIONS_SHOWN;
}

static int show_standard(const struct parser *parser, const struct occurrence *option)
{
    if (option->spec == &options_standard[STANDARD_HELP])
        return show_help(parser, option);
    if (option->attached)
        return diag_set(parser->diag, -EINVAL, "%s takes no value", option->shown);
    switch (option->spec - options_standard) {
    case STANDARD_VERSION:
        text_print(stdout, "%s %s\n", parser->command->name, parser->command->version);
        break;
    case STANDARD_MAN:
        options_print_man(parser->command, stdout);
        break;
    default:
        options_print_completion(parser->command, stdout);
        break;
    }
    return OPTIONS_SHOWN;
}

/* Carry out one option; takes the next word where the option needs it. */
static int apply_option(struct parser *parser, const struct occurrence *option)
{
    const struct option_spec *spec = option->spec;

    if (spec >= options_standard && spec < options_standard + STANDARD_COUNT)
        return show_standard(parser, option);
    if (spec->kind == OPTION_REFUSED)
        return diag_set(parser->diag, -EOPNOTSUPP, "%s is not offered: %s", option->shown,
                        spec->help);
    if (spec->kind == OPTION_FLAG)
        return set_flag(parser, option);
    if (option->attached)
        return set_value(parser, option, option->attached);
    if (spec->flags & OPTION_OPTIONAL)
        return set_value(parser, option, "");
    if (parser->next == parser->argc)
        return diag_set(parser->diag, -EINVAL, "%s needs a value (%s)", option->shown,
                        spec->value_name ? spec->value_name : spec->choices);
    if (strncmp(parser->argv[parser->next], "--", 2) == 0)
        return diag_set(parser->diag, -EINVAL, "%s needs a value, and '%s' looks like an option",
                        option->shown, parser->argv[parser->next]);
    return set_value(parser, option, parser->argv[parser->next++]);
}

static int parse_long(struct parser *parser, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    struct occurrence option = {.attached = equals ? equals + 1 : NULL};

    option.spec = find_long(parser, word, length, &option.negated);
    if (!option.spec)
        return unknown_option(parser, word, length);
    snprintf(option.shown, sizeof(option.shown), "--%s%s", option.negated ? "no-" : "",
             option.spec->name);
    return apply_option(parser, &option);
}

/* A word such as -n, -nVALUE or -abn: flags may share a word. */
static int parse_short(struct parser *parser, const char *letters)
{
    int rc = 0;

    for (size_t i = 0; letters[i] && rc == 0; i++) {
        struct occurrence option = {.spec = find_short(parser, letters[i])};
        bool is_value;

        if (!option.spec)
            return diag_set(parser->diag, -EINVAL, "unknown option '-%c'", letters[i]);
        snprintf(option.shown, sizeof(option.shown), "-%c", letters[i]);
        is_value = options_takes_value(option.spec) && letters[i + 1];
        if (is_value)
            option.attached = letters + i + 1;
        rc = apply_option(parser, &option);
        if (is_value)
            break;
    }
    return rc;
}

int options_parse(const struct option_command *command, int argc, char **argv, void *target,
                  const char **out_arguments, int *out_argument_count, struct diag *diag)
{
    struct parser parser = {
        .command = command,
        .argv = argv,
        .argc = argc,
        .next = argc > 0 ? 1 : 0,
        .target = target,
        .diag = diag,
    };
    bool options_ended = false;
    int count = 0;
    int rc;

    while (parser.next < argc) {
        const char *word = argv[parser.next++];

        if (!options_ended && strcmp(word, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (!options_ended && word[0] == '-' && word[1]) {
            rc = word[1] == '-' ? parse_long(&parser, word + 2) : parse_short(&parser, word + 1);
            if (rc != OPTIONS_RUN)
                return rc;
            continue;
        }
        if (count >= command->max_arguments)
            return diag_set(diag, -EINVAL, "unexpected argument '%s'", word);
        out_arguments[count++] = word;
        options_ended = options_ended || command->stop_at_argument || command->commands;
    }
    *out_argument_count = count;
    return OPTIONS_RUN;
}

int options_complain(const struct option_command *command, const struct diag *diag)
{
    text_complain(stderr, command->name, diag->text);
    text_print(stderr, "Try '%s --help'.\n", command->name);
    return EXIT_USAGE;
}

const struct option_command *options_find_command(const struct option_command *command,
                                                  const char *word, struct diag *diag)
{
    size_t prefix = strlen(command->name) + 1;
    const char *names[MAX_NAMES];
    const char *nearest;
    size_t count = 0;

    if (!word) {
        diag_set(diag, -EINVAL, "a command is missing");
        return NULL;
    }
    for (; command->commands[count] && count < MAX_NAMES; count++) {
        names[count] = command->commands[count]->name + prefix;
        if (strcmp(names[count], word) == 0)
            return command->commands[count];
    }
    nearest = text_nearest(word, names, count);
    if (nearest)
        diag_set(diag, -EINVAL, "unknown command '%s'; did you mean '%s'?", word, nearest);
    else
        diag_set(diag, -EINVAL, "unknown command '%s'", word);
    return NULL;
}
