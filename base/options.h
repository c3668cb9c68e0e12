/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of options per command feeds the parser, --help, the man page and shell completion.
 *
 * A program declares `static const struct option_spec options[]` (usually from its options.def),
 * fills a struct with its defaults, calls options_parse() and then reads the struct. Every command
 * has --help [WORD] (-h, unless its table uses that letter), --version, --help-man (the man page,
 * roff, on stdout) and --help-completion (bash, on stdout) without declaring them.
 *
 * Spelling: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`; a flag takes no value, or one of
 * gflags' (`--name=true`, `=false`, 1, 0, yes, no, ...), and `--no-name` clears it where
 * OPTION_NEGATABLE is set, `--noname` everywhere; cleared so it gives the flag `no-name`, where
 * there is one; `-ab` is `-a -b` where a is a flag. `--`
 * ends the options, `-` alone is a word. Dashes and underscores are the same in names. There is no
 * prefix matching: an abbreviation that works today would break when an option is added. The last
 * occurrence wins, except for OPTION_LIST, which collects. A value that begins with two dashes must
 * be written `--name=VALUE`, so that a forgotten value is noticed.
 */
#ifndef OPTRACE_BASE_OPTIONS_H
#define OPTRACE_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char *; points into argv */
    OPTION_INT,     /* int64_t, decimal, within [min, max] where they differ */
    OPTION_FLOAT,   /* double */
    OPTION_LIST,    /* struct option_list: every occurrence, in order */
    OPTION_CHOICE,  /* int: index of the word in `choices` ("table|json|csv") */
    OPTION_GROUP,   /* no option: a headline for --help and the man page; value_name, where it has
                       one,   is the word by which --help shows its options alone */
    OPTION_REFUSED, /* an option that users of another tool know and that is not offered here: using
                       it is an error; `help` says why, as the rest of "--name is not offered: ...".
                       Listed in the man page only. Needs no target */
};

enum {
    OPTION_NEGATABLE = 1 << 0, /* a flag that also exists as --no-NAME */
    OPTION_HIDDEN = 1 << 1,   /* parsed, but neither in --help nor in completion; in the man page */
    OPTION_OPTIONAL = 1 << 2, /* STRING: the value may be left out (--name or --name=VALUE); the
                                 target is then set to "" */
};

#define OPTION_LIST_MAX 64

struct option_list {
    size_t count;
    const char *items[OPTION_LIST_MAX]; /* point into argv */
};

struct option_spec {
    enum option_kind kind;
    const char *name;         /* without dashes; the headline for OPTION_GROUP */
    char short_name;          /* 0 for none */
    const char *value_name;   /* "N", "FILE"; NULL for flags */
    const char *default_text; /* shown in help; NULL for none */
    const char *help;         /* one or more sentences, no newline needed: help wraps it */
    size_t target;            /* offsetof(struct program_options, field) */
    const char *choices;      /* OPTION_CHOICE: "table|json|csv"; OPTION_STRING: the name of the
                                 topic whose keys complete it, or NULL */
    double min, max;          /* OPTION_INT, OPTION_FLOAT; ignored when equal */
    unsigned flags;
};

/* A list that --help and the man page show besides the options, made from a table of the program.
 */
struct option_topic {
    const char *heading;
    void (*print)(FILE *lines); /* writes lines "KEY  meaning" */
    const char *name;           /* of --help NAME; NULL: it cannot be asked for alone */
};

struct option_command {
    const char *name; /* "profile_analyze" */
    const char *version;
    const char *purpose;   /* what it is for, behind the name: lower case, no full stop */
    const char *arguments; /* "[FILE]" */
    const struct option_spec *options;
    size_t option_count;
    const char *examples;  /* lines, each "command\n    what it does\n" */
    const char *exit_text; /* lines "STATUS  meaning"; NULL for those of base/exit_status.h */
    const char *see_also;  /* man page: "optraced(1), load_and_run(1)" */
    int max_arguments;     /* positional words accepted; INT_MAX for any number */

    /* May be left out: */
    const char *description;           /* man page: paragraphs, parted by empty lines */
    const char *environment;           /* man page: lines "NAME  meaning" */
    const struct option_topic *topics; /* between options and exit statuses */
    size_t topic_count;
    const char *first_help; /* lines that --help alone prints, at most 40 of 80 columns, in place of
                               all options of the command, where these take more */
    bool (*help_on)(const char *word, FILE *out); /* prints what --help WORD says of a word of the
                                                     program's own; false: there is none */
    bool stop_at_argument; /* the first positional word ends the options (`run CMD -x`) */
    const struct option_command *const *commands; /* subcommands, ending in NULL; their names are
                                                     "optrace run", .... Implies stop_at_argument */
};

enum options_result {
    OPTIONS_RUN = 0,   /* go on */
    OPTIONS_SHOWN = 1, /* --help, --version, ... was printed on stdout: exit with EXIT_OK */
};

/**
 * Parse argv[1..] into *target.
 *
 * target         the program's struct, holding the defaults; fields at each spec's offset. After a
 *                failure some of them are set
 * out_arguments  positional words, which point into argv; room for command->max_arguments or for
 *                argc of them, whichever is less
 *
 * Returns OPTIONS_RUN, OPTIONS_SHOWN, -EOPNOTSUPP for an option that is refused (EXIT_REFUSED is
 * its exit status), or -EINVAL with one sentence in diag: unknown option (with the nearest name),
 * missing or wrong value, too many words. The program then prints it with options_complain() and
 * exits with EXIT_USAGE. Values of INT accept a suffix K, M or G (1000-based) and Ki, Mi, Gi
 * (1024-based).
 */
int options_parse(const struct option_command *command, int argc, char **argv, void *target,
                  const char **out_arguments, int *out_argument_count, struct diag *diag);

/** Print "NAME: TEXT" and "Try 'NAME --help'." on stderr. Returns EXIT_USAGE. */
int options_complain(const struct option_command *command, const struct diag *diag);

/** The subcommand that `word` names, or NULL with a sentence in diag. word NULL: none was given. */
const struct option_command *options_find_command(const struct option_command *command,
                                                  const char *word, struct diag *diag);

/* What --help, --help-man and --help-completion print. Help is wrapped at the width of the terminal
 * that `out` is, at 80 columns when it is none. */
void options_print_help(const struct option_command *command, FILE *out);

/** What --help WORD prints: all for "options", a topic, a group of options, a word of the program's
 *  own, an option, a subcommand. Returns 0, or -EINVAL with a sentence for another word. */
int options_print_help_on(const struct option_command *command, const char *word, FILE *out,
                          struct diag *diag);
void options_print_man(const struct option_command *command, FILE *out);
void options_print_completion(const struct option_command *command, FILE *out);

#endif
