/* SPDX-License-Identifier: Apache-2.0 */
/* --help-completion: the table as a completion script for bash. */
#include "base/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/options_table.h"

/* What completes: the program itself (scope "") or one of its subcommands. */
struct scope {
    const struct option_command *command;
    const char *name;
};

static void print_identifier(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(isalnum((unsigned char)*name) ? *name : '_', out);
}

/* The keys of a topic: the first word of each of its lines. */
static void print_keys(const struct option_command *command, const char *name, FILE *out)
{
    const char *separator = "";

    for (size_t i = 0; i < command->topic_count; i++) {
        const struct option_topic *topic = &command->topics[i];
        char *text, *rest, *line;

        if (!topic->name || strcmp(topic->name, name) != 0)
            continue;
        text = rest = options_topic_text(topic);
        while (text && (line = strsep(&rest, "\n"))) {
            const size_t length = strcspn(line, " ");

            fprintf(out, "%s%.*s", length ? separator : "", (int)length, line);
            separator = length ? " " : separator;
        }
        free(text);
    }
}

/* The cases for "scope,option" whose values are known words. */
static void print_choices(const struct scope *scope, FILE *out)
{
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(scope->command, i)); i++) {
        const char *position = spec->choices;
        const char *separator = "";
        const char *choice;
        size_t length;

        if (!position || !options_is_listed(spec))
            continue;
        fprintf(out, "    %s,--%s", scope->name, spec->name);
        if (spec->short_name)
            fprintf(out, " | %s,-%c", scope->name, spec->short_name);
        fputs(") words='", out);
        if (spec->kind != OPTION_CHOICE)
            print_keys(scope->command, position, out);
        while (spec->kind == OPTION_CHOICE && (choice = options_next_choice(&position, &length))) {
            fprintf(out, "%s%.*s", separator, (int)length, choice);
            separator = " ";
        }
        fputs("' ;;\n", out);
    }
}

/* The cases for "scope,option" whose values are files or free text: bash's own completion. */
static void print_values(const struct scope *scope, FILE *out)
{
    const struct option_spec *spec;

    for (size_t i = 0; (spec = options_row(scope->command, i)); i++) {
        if (!options_takes_value(spec) || spec->choices || (spec->flags & OPTION_OPTIONAL) ||
            !options_is_listed(spec))
            continue;
        fprintf(out, "    %s,--%s", scope->name, spec->name);
        if (spec->short_name)
            fprintf(out, " | %s,-%c", scope->name, spec->short_name);
        fputs(") return ;;\n", out);
    }
}

/* The case for a word of which nothing is known: the options, and the names of subcommands. */
static void print_words(const struct scope *scope, FILE *out)
{
    const struct option_spec *spec;

    fprintf(out, "    %s,*)\n        words='", scope->name);
    for (size_t i = 0; scope->command->commands && scope->command->commands[i]; i++)
        fprintf(out, "%s ", scope->command->commands[i]->name + strlen(scope->command->name) + 1);
    for (size_t i = 0; (spec = options_row(scope->command, i)); i++) {
        if (spec->kind == OPTION_GROUP || !options_is_listed(spec))
            continue;
        fprintf(out, "--%s ", spec->name);
        if (spec->flags & OPTION_NEGATABLE)
            fprintf(out, "--no-%s ", spec->name);
    }
    fprintf(out, "'\n        [[ $cur == -* || %d -eq 1 ]] || return\n        ;;\n",
            scope->command->commands != NULL);
}

static void print_scope(const struct scope *scope, FILE *out)
{
    print_choices(scope, out);
    print_values(scope, out);
    print_words(scope, out);
}

void options_print_completion(const struct option_command *command, FILE *out)
{
    struct scope top = {command, ""};
    size_t prefix = strlen(command->name) + 1;

    fprintf(out, "# bash completion for %s, made by '%s --help-completion'.\n_", command->name,
            command->name);
    print_identifier(out, command->name);
    fputs("()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local scope= words= i\n\n"
          "    COMPREPLY=()\n"
          "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    [[ $cur == = ]] && cur=\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        --) return ;;\n",
          out);
    for (size_t i = 0; command->commands && command->commands[i]; i++)
        fprintf(out, "        %s) scope=${scope:-${COMP_WORDS[i]}} ;;\n",
                command->commands[i]->name + prefix);
    fputs("        esac\n    done\n    case $scope,$prev in\n", out);
    for (size_t i = 0; command->commands && command->commands[i]; i++) {
        struct scope sub = {command->commands[i], command->commands[i]->name + prefix};

        print_scope(&sub, out);
    }
    print_scope(&top, out);
    fputs("    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "}\ncomplete -o default -F _",
          out);
    print_identifier(out, command->name);
    fprintf(out, " %s\n", command->name);
}
