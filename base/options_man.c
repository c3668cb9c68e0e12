/* SPDX-License-Identifier: Apache-2.0 */
/* --help-man: the table as a manual page. */
#include "base/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/options_table.h"

/* Text for roff: no escape, dash or leading dot of it is taken as an instruction. */
static void print_roff(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool starts_line = i == 0 || text[i - 1] == '\n';

        if (starts_line && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void print_text(FILE *out, const char *text)
{
    print_roff(out, text, strlen(text));
}

/* A name in upper case, its spaces as dashes: "optrace run" is OPTRACE-RUN(1). */
static void print_title(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(*name == ' ' ? '-' : toupper((unsigned char)*name), out);
}

static void print_option(const struct option_command *command, const struct option_spec *spec,
                         FILE *out)
{
    char letter = options_short_name(command, spec);
    const char *value = spec->value_name ? spec->value_name : spec->choices;

    fputs(".TP\n", out);
    if (letter)
        fprintf(out, "\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", out);
    print_text(out, spec->name);
    fputs("\\fR", out);
    if (options_takes_value(spec)) {
        fputs(spec->flags & OPTION_OPTIONAL ? "[=\\fI" : " \\fI", out);
        print_text(out, value);
        fputs(spec->flags & OPTION_OPTIONAL ? "\\fR]" : "\\fR", out);
    }
    if (spec->flags & OPTION_NEGATABLE) {
        fputs(", \\fB\\-\\-no\\-", out);
        print_text(out, spec->name);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_text(out, spec->help);
    fputc('\n', out);
    if (spec->kind == OPTION_CHOICE && spec->value_name) {
        fputs("One of ", out);
        print_text(out, spec->choices);
        fputs(".\n", out);
    }
    if (spec->default_text) {
        fputs("Default: ", out);
        print_text(out, spec->default_text);
        fputs(".\n", out);
    }
}

static void print_options(const struct option_command *command, FILE *out)
{
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(command, i)); i++) {
        if (spec->kind == OPTION_GROUP) {
            fputs(".SS ", out);
            print_text(out, spec->name);
            fputc('\n', out);
        } else if (spec->kind != OPTION_REFUSED) {
            print_option(command, spec, out);
        }
    }
}

static void print_refused(const struct option_command *command, FILE *out)
{
    bool has_headline = false;

    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].kind != OPTION_REFUSED)
            continue;
        if (!has_headline)
            fputs(".SH OPTIONS NOT OFFERED\nThese are known from other tools; using one is an "
                  "error.\n",
                  out);
        has_headline = true;
        print_option(command, &command->options[i], out);
    }
}

/* "KEY  meaning" lines as tagged paragraphs. */
static void print_lines(const char *headline, const char *lines, FILE *out)
{
    struct options_line line;

    fprintf(out, ".SH %s\n", headline);
    while (options_next_line(&lines, &line)) {
        fputs(".TP\n\\fB", out);
        print_roff(out, line.key, line.key_length);
        fputs("\\fR\n", out);
        print_roff(out, line.meaning, line.meaning_length);
        fputc('\n', out);
    }
}

static void print_topics(const struct option_command *command, FILE *out)
{
    for (size_t i = 0; i < command->topic_count; i++) {
        char *text = options_topic_text(&command->topics[i]);

        if (text)
            print_lines(command->topics[i].heading, text, out);
        free(text);
    }
}

/* Examples are commands with indented explanations below them. */
static void print_examples(const char *examples, FILE *out)
{
    fputs(".SH EXAMPLES\n", out);
    while (*examples) {
        size_t length = strcspn(examples, "\n");
        size_t indent = strspn(examples, " ");

        if (indent == 0 && length > 0) {
            fputs(".TP\n\\fB", out);
            print_roff(out, examples, length);
            fputs("\\fR\n", out);
        } else if (indent < length) {
            print_roff(out, examples + indent, length - indent);
            fputc('\n', out);
        }
        examples += length + (examples[length] == '\n');
    }
}

static void print_description(const char *description, FILE *out)
{
    const char *gap;

    while ((gap = strstr(description, "\n\n"))) {
        print_roff(out, description, (size_t)(gap - description));
        fputs("\n.PP\n", out);
        description = gap + 2;
    }
    print_text(out, description);
    fputc('\n', out);
}

static void print_commands(const struct option_command *command, FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; command->commands[i]; i++) {
        const struct option_command *sub = command->commands[i];

        fputs(".SS ", out);
        print_text(out, sub->name);
        if (sub->arguments) {
            fputc(' ', out);
            print_text(out, sub->arguments);
        }
        fputc('\n', out);
        print_text(out, sub->purpose);
        fputs(".\n", out);
        for (size_t row = 0; row < sub->option_count; row++) {
            if (sub->options[row].kind != OPTION_GROUP && sub->options[row].kind != OPTION_REFUSED)
                print_option(sub, &sub->options[row], out);
        }
    }
}

void options_print_man(const struct option_command *command, FILE *out)
{
    fputs(".TH ", out);
    print_title(out, command->name);
    fprintf(out, " 1 \"%s\" \"optrace %s\" \"optrace manual\"\n.SH NAME\n", OPTRACE_DATE,
            command->version);
    print_text(out, command->name);
    fputs(" \\- ", out);
    print_text(out, command->purpose);
    fputs("\n.SH SYNOPSIS\n\\fB", out);
    print_text(out, command->name);
    fputs("\\fR [\\fIOPTION\\fR...]", out);
    if (command->arguments) {
        fputc(' ', out);
        print_text(out, command->arguments);
    }
    fputs("\n.SH DESCRIPTION\n", out);
    print_description(command->description ? command->description : command->purpose, out);
    if (command->commands)
        print_commands(command, out);
    fputs(".SH OPTIONS\nDashes and underscores are the same in the names of options. "
          "The last occurrence of an option wins unless it says that it may be repeated.\n",
          out);
    print_options(command, out);
    print_refused(command, out);
    print_topics(command, out);
    if (command->environment)
        print_lines("ENVIRONMENT", command->environment, out);
    print_lines("EXIT STATUS", options_exit_text(command), out);
    if (command->examples)
        print_examples(command->examples, out);
    if (command->see_also) {
        fputs(".SH SEE ALSO\n", out);
        print_text(out, command->see_also);
        fputc('\n', out);
    }
}
