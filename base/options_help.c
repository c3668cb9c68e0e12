/* SPDX-License-Identifier: Apache-2.0 */
/* --help: the table as wrapped text. */
#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options_table.h"
#include "base/text.h"

enum {
    PLAIN_COLUMNS = 80,
    MIN_COLUMNS = 40,
    MAX_COLUMNS = 100, /* longer lines are hard to read */
    HELP_COLUMN = 28,  /* where the help texts begin */
    TOPIC_COLUMN = 16, /* the same in topics */
    SCREEN_LINES = 40,
    WORDS_BYTES = 400,
};

static size_t output_columns(FILE *out)
{
    size_t terminal = text_terminal_columns(out), columns = terminal ? terminal : PLAIN_COLUMNS;

    if (columns < MIN_COLUMNS)
        return MIN_COLUMNS;
    return columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

/* A text column: where its next word goes, and how its lines are cut. */
struct flow {
    FILE *out;
    size_t columns; /* of the terminal */
    size_t indent;  /* where each line begins */
    size_t column;  /* where the last word ended */
};

/* Append a word, which may hold spaces that are no place to wrap. */
static void flow_word(struct flow *flow, const char *word, size_t length)
{
    bool is_first = flow->column == flow->indent;

    if (length == 0)
        return;
    if (!is_first && flow->column + 1 + length > flow->columns) {
        fprintf(flow->out, "\n%*s", (int)flow->indent, "");
        flow->column = flow->indent;
        is_first = true;
    }
    fprintf(flow->out, "%s%.*s", is_first ? "" : " ", (int)length, word);
    flow->column += length + !is_first;
}

/* Append the words of `text`, wrapping. */
static void flow_print(struct flow *flow, const char *text, size_t length)
{
    const char *end = text + length;

    while (text < end) {
        size_t word = 0;

        while (text + word < end && text[word] != ' ' && text[word] != '\n')
            word++;
        flow_word(flow, text, word);
        text += word + 1;
    }
}

/* What stands left of the help: "  -t, --top N". Longer ones are cut. */
static void format_label(const struct option_command *command, const struct option_spec *spec,
                         char *label, size_t size)
{
    bool has_value = options_takes_value(spec);
    bool is_optional = spec->flags & OPTION_OPTIONAL;
    const char *value = spec->value_name ? spec->value_name : spec->choices;
    char letter = options_short_name(command, spec);
    char head[8] = "      ";

    if (letter)
        snprintf(head, sizeof(head), "  -%c, ", letter);
    snprintf(label, size, "%s--%s%s%s%s%s", head, spec->flags & OPTION_NEGATABLE ? "[no-]" : "",
             spec->name, !has_value ? "" : (is_optional ? "[=" : " "), has_value ? value : "",
             is_optional ? "]" : "");
}

static void print_option(const struct option_command *command, const struct option_spec *spec,
                         FILE *out, size_t columns)
{
    struct flow flow = {out, columns, HELP_COLUMN, HELP_COLUMN};
    char label[256], note[256];
    size_t length;

    format_label(command, spec, label, sizeof(label));
    length = strlen(label);
    fputs(label, out);
    if (length + 2 > HELP_COLUMN) {
        fputc('\n', out);
        length = 0;
    }
    fprintf(out, "%*s", (int)(HELP_COLUMN - length), "");
    flow_print(&flow, spec->help, strlen(spec->help));
    if (spec->kind == OPTION_CHOICE && spec->value_name) {
        snprintf(note, sizeof(note), "One of %s.", spec->choices);
        flow_print(&flow, note, strlen(note));
    }
    if (spec->default_text) {
        snprintf(note, sizeof(note), "[default: %s]", spec->default_text);
        if (strlen(note) <= columns - HELP_COLUMN)
            flow_word(&flow, note, strlen(note));
        else
            flow_print(&flow, note, strlen(note));
    }
    fputc('\n', out);
}

/* Those that every command has stand behind its own. */
static void print_options(const struct option_command *command, bool with_standard, FILE *out,
                          size_t columns)
{
    const struct option_spec *group = NULL;
    const struct option_spec *spec;
    bool has_headline = false;

    /* A headline is printed with its first row: a group may hold nothing that is listed. */
    for (size_t i = 0; (spec = options_row(command, i)); i++) {
        if (!with_standard && i >= command->option_count)
            break;
        if (spec->kind == OPTION_GROUP) {
            group = spec;
            has_headline = false;
            continue;
        }
        if (!options_is_listed(spec))
            continue;
        if (!has_headline)
            fprintf(out, "\n%s:\n", group ? group->name : "Options");
        has_headline = true;
        print_option(command, spec, out, columns);
    }
}

static void print_lines(const char *lines, size_t indent, FILE *out, size_t columns)
{
    struct options_line line;

    while (options_next_line(&lines, &line)) {
        struct flow flow = {out, columns, indent, indent};

        fprintf(out, "  %-*.*s", (int)indent - 2, (int)line.key_length, line.key);
        flow_print(&flow, line.meaning, line.meaning_length);
        fputc('\n', out);
    }
}

static void print_topics(const struct option_command *command, FILE *out, size_t columns)
{
    for (size_t i = 0; i < command->topic_count; i++) {
        char *text = options_topic_text(&command->topics[i]);

        fprintf(out, "\n%s:\n", command->topics[i].heading);
        if (text)
            print_lines(text, TOPIC_COLUMN, out, columns);
        free(text);
    }
}

static void print_commands(const struct option_command *command, FILE *out, size_t columns)
{
    size_t prefix = strlen(command->name) + 1;

    fprintf(out, "\nCommands (each has its own --help):\n");
    for (size_t i = 0; command->commands[i]; i++) {
        const struct option_command *sub = command->commands[i];
        struct flow flow = {out, columns, HELP_COLUMN, HELP_COLUMN};

        fprintf(out, "  %-*s", HELP_COLUMN - 2, sub->name + prefix);
        flow_print(&flow, sub->purpose, strlen(sub->purpose));
        fputc('\n', out);
    }
}

static void print_examples(const char *examples, FILE *out)
{
    fprintf(out, "\nExamples:\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n");

        fprintf(out, "  %.*s\n", (int)length, examples);
        examples += length + (examples[length] == '\n');
    }
}

static void print_usage(const struct option_command *command, FILE *out, size_t columns)
{
    struct flow flow = {out, columns, 0, 0};

    flow_print(&flow, command->name, strlen(command->name));
    fputc(':', out);
    flow.column++;
    flow_print(&flow, command->purpose, strlen(command->purpose));
    fprintf(out, "\n\nUsage: %s [OPTION...]%s%s\n", command->name, command->arguments ? " " : "",
            command->arguments ? command->arguments : "");
}

static void print_all(const struct option_command *command, FILE *out, size_t columns)
{
    print_usage(command, out, columns);
    if (command->commands)
        print_commands(command, out, columns);
    print_options(command, true, out, columns);
    print_topics(command, out, columns);
    fprintf(out, "\nExit status:\n");
    print_lines(options_exit_text(command), 8, out, columns);
    if (command->examples)
        print_examples(command->examples, out);
}

/* Words that --help knows besides "options", commands and options: ", reports, columns". */
static void list_words(const struct option_command *command, char *words, size_t bytes)
{
    const struct option_spec *spec;

    words[0] = 0;
    for (size_t i = 0; (spec = options_row(command, i)); i++) {
        size_t used = strlen(words);

        if (spec->kind == OPTION_GROUP && spec->value_name)
            snprintf(words + used, bytes - used, ", %s", spec->value_name);
    }
    for (size_t i = 0; i < command->topic_count; i++) {
        size_t used = strlen(words);

        if (command->topics[i].name)
            snprintf(words + used, bytes - used, ", %s", command->topics[i].name);
    }
}

/* What all commands have alike, and exit statuses, wait for --help options. */
static void print_short(const struct option_command *command, FILE *out, size_t columns)
{
    char words[WORDS_BYTES];

    print_usage(command, out, columns);
    if (command->commands)
        print_commands(command, out, columns);
    print_options(command, false, out, columns);
    if (command->examples)
        print_examples(command->examples, out);
    fputs("\nMore:\n"
          "  --help options            all options and exit statuses; --help OPTION: one\n",
          out);
    list_words(command, words, sizeof(words));
    if (words[0])
        fprintf(out, "  --help %-18s that alone\n", words + 2);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

void options_print_help(const struct option_command *command, FILE *out)
{
    const size_t columns = output_columns(out);
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines;

    if (command->first_help) {
        fputs(command->first_help, out);
        return;
    }
    lines = open_memstream(&text, &bytes);
    if (lines) {
        print_all(command, lines, columns);
        fclose(lines);
    }
    if (text && count_lines(text) <= SCREEN_LINES)
        fputs(text, out);
    else
        print_short(command, out, columns);
    free(text);
}

/* --- --help WORD. --- */

static bool print_topic(const struct option_command *command, const char *word, FILE *out)
{
    for (size_t i = 0; i < command->topic_count; i++) {
        const struct option_topic *topic = &command->topics[i];
        char *text;

        if (!topic->name || strcmp(topic->name, word) != 0)
            continue;
        text = options_topic_text(topic);
        fprintf(out, "%s:\n", topic->heading);
        if (text)
            print_lines(text, TOPIC_COLUMN, out, output_columns(out));
        free(text);
        return true;
    }
    return false;
}

/* The options below a headline whose word this is. */
static bool print_group(const struct option_command *command, const char *word, FILE *out)
{
    const struct option_spec *spec;
    bool is_inside = false, is_found = false;

    for (size_t i = 0; (spec = options_row(command, i)); i++) {
        if (spec->kind == OPTION_GROUP) {
            is_inside = spec->value_name && strcmp(spec->value_name, word) == 0;
            if (is_inside)
                fprintf(out, "%s:\n", spec->name);
            is_found |= is_inside;
        } else if (is_inside && options_is_listed(spec)) {
            print_option(command, spec, out, output_columns(out));
        }
    }
    return is_found;
}

static bool print_one_option(const struct option_command *command, const char *word, FILE *out)
{
    const char *name = word + strspn(word, "-");
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(command, i)); i++) {
        bool is_letter = name[0] && !name[1] && spec->short_name == name[0];

        if (spec->kind == OPTION_GROUP || (!is_letter && strcmp(spec->name, name) != 0))
            continue;
        if (spec->kind == OPTION_REFUSED)
            fprintf(out, "--%s is not offered: %s\n", spec->name, spec->help);
        else
            print_option(command, spec, out, output_columns(out));
        return true;
    }
    return false;
}

int options_print_help_on(const struct option_command *command, const char *word, FILE *out,
                          struct diag *diag)
{
    char words[WORDS_BYTES];

    if (strcmp(word, "options") == 0) {
        print_all(command, out, output_columns(out));
        return 0;
    }
    for (size_t i = 0; command->commands && command->commands[i]; i++) {
        if (strcmp(command->commands[i]->name + strlen(command->name) + 1, word) == 0) {
            options_print_help(command->commands[i], out);
            return 0;
        }
    }
    if (print_topic(command, word, out) || print_group(command, word, out) ||
        (command->help_on && command->help_on(word, out)) || print_one_option(command, word, out))
        return 0;
    list_words(command, words, sizeof(words));
    return diag_set(diag, -EINVAL,
                    "there is no help on \"%s\": there is on options%s%s and each option", word,
                    words, command->help_on ? ", each of them by its name," : "");
}
