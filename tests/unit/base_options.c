/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser and what it prints: help, manual page, completion. */
#include <limits.h>

#include "base/exit_status.h"
#include "base/options.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

struct sample {
    bool verbose;
    bool color;
    const char *store;
    const char *trace;
    int64_t top;
    int64_t budget;
    double ratio;
    struct option_list inputs;
    int format;
    int64_t secret;
};

#define AT(field) .target = offsetof(struct sample, field)

static const struct option_spec sample_options[] = {
    {OPTION_GROUP, "Input"},
    {OPTION_STRING, "store", 's', "FILE", "the default store", "The store to read.", AT(store)},
    {OPTION_LIST, "input", 'i', "SPEC", NULL, "An input; may be repeated.", AT(inputs)},
    {OPTION_STRING, "trace", 0, "PATH", NULL, "Trace, to PATH if given.", AT(trace),
     .flags = OPTION_OPTIONAL},
    {OPTION_GROUP, "Output"},
    {OPTION_FLAG, "verbose", 'v', NULL, NULL, "Say more.", AT(verbose)},
    {OPTION_FLAG, "color", 0, NULL, "on", "Use colours.", AT(color), .flags = OPTION_NEGATABLE},
    {OPTION_INT, "top-count", 't', "N", "3", "How many rows to show.", AT(top), .min = 1,
     .max = 100},
    {OPTION_INT, "budget", 0, "BYTES", NULL, "Disk budget.", AT(budget), .min = 0,
     .max = (double)INT64_MAX},
    {OPTION_FLOAT, "ratio", 'r', "X", NULL, "A ratio.", AT(ratio)},
    {OPTION_CHOICE, "format", 'f', "FORMAT", "table", "How to print.", AT(format),
     .choices = "table|json|csv"},
    {OPTION_GROUP, "Nothing to see"},
    {OPTION_INT, "secret", 0, "N", NULL, "Hidden.", AT(secret), .flags = OPTION_HIDDEN},
    {OPTION_REFUSED, "tensorrt", .help = "TensorRT is no backend of this program."},
};

static void print_units(FILE *lines)
{
    fputs("ns  a thousandth of a microsecond\nFLOP  an operation\n", lines);
}

static const struct option_topic sample_topics[] = {{"Units", print_units}};

/* An option whose values are the keys of a topic. */
static const struct option_spec keyed_options[] = {
    {OPTION_STRING, "unit", 'u', "UNIT", NULL, "The unit.", AT(store), .choices = "units"},
};
static const struct option_topic keyed_topics[] = {{"Units", print_units, "units"}};
static const struct option_command keyed_command = {
    .name = "keyed",
    .version = "1",
    .purpose = "complete by a topic",
    .options = keyed_options,
    .option_count = 1,
    .topics = keyed_topics,
    .topic_count = 1,
};

static const struct option_command sample_command = {
    .name = "sample",
    .version = "1.2.3",
    .purpose = "show how options work",
    .arguments = "[FILE]",
    .options = sample_options,
    .option_count = sizeof(sample_options) / sizeof(sample_options[0]),
    .examples = "sample -t 5 --format json\n    the five largest\n.dotted 'x' \\n\n    odd signs\n",
    .see_also = "optraced(1)",
    .max_arguments = 1,
    .description = "First paragraph.\n\nSecond paragraph.",
    .environment = "OPTRACE_STORE  the store\n",
    .topics = sample_topics,
    .topic_count = 1,
};

struct parsed {
    int rc;
    struct sample values;
    const char *arguments[8];
    int argument_count;
    struct diag diag;
};

static struct parsed parse_with(const struct option_command *command, const char *const *words)
{
    struct parsed parsed = {.values = {.top = 3, .color = true}, .argument_count = -1};
    const char *argv[32] = {command->name};
    int argc = 1;

    for (; words[argc - 1]; argc++)
        argv[argc] = words[argc - 1];
    parsed.rc = options_parse(command, argc, (char **)argv, &parsed.values, parsed.arguments,
                              &parsed.argument_count, &parsed.diag);
    return parsed;
}

#define PARSE(...) parse_with(&sample_command, (const char *const[]){__VA_ARGS__, NULL})

static void defaults_stay(void **state)
{
    struct parsed parsed = parse_with(&sample_command, (const char *const[]){NULL});

    CHECK_OK(parsed.rc);
    assert_int_equal(parsed.values.top, 3);
    assert_true(parsed.values.color);
    assert_int_equal(parsed.argument_count, 0);
}

static void every_spelling_is_read(void **state)
{
    struct parsed parsed = PARSE("--store", "a", "--top-count=7", "-r", "0.5", "-v", "file");

    CHECK_OK(parsed.rc);
    assert_string_equal(parsed.values.store, "a");
    assert_int_equal(parsed.values.top, 7);
    CHECK_NEAR(parsed.values.ratio, 0.5, 0);
    assert_true(parsed.values.verbose);
    assert_int_equal(parsed.argument_count, 1);
    assert_string_equal(parsed.arguments[0], "file");

    parsed = PARSE("-sb", "-vt9", "--top_count", "11", "--no_color");
    CHECK_OK(parsed.rc);
    assert_string_equal(parsed.values.store, "b");
    assert_int_equal(parsed.values.top, 11);
    assert_true(parsed.values.verbose);
    assert_false(parsed.values.color);
}

static void last_wins_and_lists_collect(void **state)
{
    struct parsed parsed = PARSE("--no-color", "--color", "-i", "x", "--input=y", "-iz", "-f",
                                 "json", "--format", "csv");

    CHECK_OK(parsed.rc);
    assert_true(parsed.values.color);
    assert_int_equal(parsed.values.format, 2);
    CHECK_U64(parsed.values.inputs.count, 3);
    assert_string_equal(parsed.values.inputs.items[0], "x");
    assert_string_equal(parsed.values.inputs.items[1], "y");
    assert_string_equal(parsed.values.inputs.items[2], "z");
}

static void list_is_limited(void **state)
{
    const char *argv[2 * OPTION_LIST_MAX + 4] = {"sample"};
    struct parsed parsed = {0};
    int argc = 1;

    for (int i = 0; i <= OPTION_LIST_MAX; i++) {
        argv[argc++] = "-i";
        argv[argc++] = "x";
    }
    assert_int_equal(options_parse(&sample_command, argc - 2, (char **)argv, &parsed.values,
                                   parsed.arguments, &parsed.argument_count, &parsed.diag),
                     0);
    parsed.values.inputs.count = 0;
    assert_int_equal(options_parse(&sample_command, argc, (char **)argv, &parsed.values,
                                   parsed.arguments, &parsed.argument_count, &parsed.diag),
                     -EINVAL);
    CHECK_CONTAINS(parsed.diag.text, "-i is given more than 64 times");
}

static void optional_value_needs_an_equals_sign(void **state)
{
    struct parsed parsed = PARSE("--trace", "file");

    CHECK_OK(parsed.rc);
    assert_string_equal(parsed.values.trace, "");
    assert_string_equal(parsed.arguments[0], "file");
    parsed = PARSE("--trace=path");
    assert_string_equal(parsed.values.trace, "path");
    parsed = PARSE("-v");
    assert_null(parsed.values.trace);
}

static void numbers_take_suffixes(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"17", 17},
        {"+5", 5},
        {"2k", 2000},
        {"2K", 2000},
        {"3M", 3000000},
        {"4G", 4000000000},
        {"2Ki", 2048},
        {"3Mi", 3145728},
        {"2Gi", 2147483648},
        {"9223372036854775807", INT64_MAX},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed parsed = PARSE("--budget", cases[i].text);

        CHECK_OK(parsed.rc);
        CHECK_U64(parsed.values.budget, cases[i].value);
    }
}

static void wrong_values_are_named(void **state)
{
    static const struct {
        const char *option, *value, *text;
    } cases[] = {
        {"-t", "x", "-t takes a whole number from 1 to 100, not 'x'"},
        {"-t", "0", "-t takes a whole number from 1 to 100, not '0'"},
        {"--top-count", "101", "--top-count takes a whole number from 1 to 100, not '101'"},
        {"-t", "5.0", "not '5.0'"},
        {"-t", "", "not ''"},
        {"-t", " 5", "not ' 5'"},
        {"-t", "5Ti", "not '5Ti'"},
        {"--budget", "-1", "--budget takes a whole number of at least 0, not '-1'"},
        {"--budget", "9223372036854775808", "not '9223372036854775808'"},
        {"--budget", "9223372036854775807Ki", "not '9223372036854775807Ki'"},
        {"--ratio", "1e", "--ratio takes a number, not '1e'"},
        {"--ratio", "nan", "not 'nan'"},
        {"--ratio", "inf", "not 'inf'"},
        {"--format", "yaml", "--format takes one of table|json|csv, not 'yaml'"},
        {"--format", "tab", "not 'tab'"},
        {"--format", "", "not ''"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed parsed = PARSE(cases[i].option, cases[i].value);

        assert_int_equal(parsed.rc, -EINVAL);
        CHECK_CONTAINS(parsed.diag.text, cases[i].text);
    }
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *words[3];
        const char *text;
    } cases[] = {
        {{"--stoer", "x"}, "unknown option '--stoer'; did you mean '--store'?"},
        {{"--top"}, "unknown option '--top'; did you mean '--top-count'?"},
        {{"--qqqqqq=1"}, "unknown option '--qqqqqq'"},
        {{"-z"}, "unknown option '-z'"},
        {{"-vz"}, "unknown option '-z'"},
        {{"--store"}, "--store needs a value (FILE)"},
        {{"-s"}, "-s needs a value (FILE)"},
        {{"--store", "--verbose"}, "--store needs a value, and '--verbose' looks like an option"},
        {{"--verbose=maybe"}, "--verbose takes no value but true or false"},
        {{"--help=1"}, "there is no help on \"1\": there is on options"},
        {{"--help", "xyzzy"}, "there is no help on \"xyzzy\""},
        {{"--no-verbose"}, "unknown option '--no-verbose'"},
        {{"--no-color=1"}, "--no-color takes no value"},
        {{"a", "b"}, "unexpected argument 'b'"},
        {{"--Input"}, "unknown option '--Input'; did you mean '--input'?"},
        {{"--Output"}, "unknown option '--Output'"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed parsed = PARSE(cases[i].words[0], cases[i].words[1]);

        assert_int_equal(parsed.rc, -EINVAL);
        CHECK_CONTAINS(parsed.diag.text, cases[i].text);
    }
}

static void what_is_not_offered_says_why(void **state)
{
    struct parsed parsed = PARSE("--tensorrt");

    assert_int_equal(parsed.rc, -EOPNOTSUPP);
    CHECK_CONTAINS(parsed.diag.text, "--tensorrt is not offered: TensorRT is no backend");
    parsed = PARSE("--tensorrt=1");
    assert_int_equal(parsed.rc, -EOPNOTSUPP);
    CHECK_CONTAINS(parsed.diag.text, "--tensorrt is not offered");
}

static void dashes_end_options(void **state)
{
    struct parsed parsed = PARSE("-v", "--", "-t");

    CHECK_OK(parsed.rc);
    assert_int_equal(parsed.argument_count, 1);
    assert_string_equal(parsed.arguments[0], "-t");
    parsed = PARSE("-");
    CHECK_OK(parsed.rc);
    assert_string_equal(parsed.arguments[0], "-");
    parsed = PARSE("--store=--odd", "-t", "1");
    assert_string_equal(parsed.values.store, "--odd");
}

static void hidden_options_work(void **state)
{
    struct parsed parsed = PARSE("--secret", "4");

    CHECK_OK(parsed.rc);
    assert_int_equal(parsed.values.secret, 4);
}

static const struct option_command run_command = {
    .name = "tool run",
    .version = "1",
    .purpose = "run a command",
    .arguments = "CMD [ARG...]",
    .options = sample_options,
    .option_count = sizeof(sample_options) / sizeof(sample_options[0]),
    .max_arguments = INT_MAX,
    .stop_at_argument = true,
};
static const struct option_command status_command = {
    .name = "tool status",
    .version = "1",
    .purpose = "show what goes on",
};
static const struct option_command *const tool_commands[] = {&run_command, &status_command, NULL};
static const struct option_command tool_command = {
    .name = "tool",
    .version = "1",
    .purpose = "do everything",
    .arguments = "COMMAND",
    .max_arguments = INT_MAX,
    .commands = tool_commands,
};

static void arguments_may_end_options(void **state)
{
    struct parsed parsed =
        parse_with(&run_command, (const char *const[]){"-v", "ls", "-l", "--", "x", NULL});

    CHECK_OK(parsed.rc);
    assert_true(parsed.values.verbose);
    assert_int_equal(parsed.argument_count, 4);
    assert_string_equal(parsed.arguments[1], "-l");
    assert_string_equal(parsed.arguments[2], "--");
}

static void subcommands_are_found(void **state)
{
    struct diag diag = {0};

    assert_ptr_equal(options_find_command(&tool_command, "status", &diag), &status_command);
    assert_null(options_find_command(&tool_command, "statsu", &diag));
    assert_string_equal(diag.text, "unknown command 'statsu'; did you mean 'status'?");
    diag = (struct diag){0};
    assert_null(options_find_command(&tool_command, NULL, &diag));
    assert_string_equal(diag.text, "a command is missing");
}

static char *printed(void (*print)(const struct option_command *command, FILE *out),
                     const struct option_command *command)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    print(command, out);
    fclose(out);
    return text;
}

static void print_all(const struct option_command *command, FILE *out)
{
    CHECK_OK(options_print_help_on(command, "options", out, NULL));
}

static void help_lists_and_wraps(void **state)
{
    char *help = printed(print_all, &sample_command);

    CHECK_CONTAINS(help, "sample: show how options work\n\nUsage: sample [OPTION...] [FILE]\n");
    CHECK_CONTAINS(help, "\nInput:\n  -s, --store FILE          The store to read. "
                         "[default: the default store]\n");
    CHECK_CONTAINS(help, "\n      --trace[=PATH]        Trace,");
    CHECK_CONTAINS(help, "\n      --[no-]color          Use colours.");
    CHECK_CONTAINS(help, "How to print. One of table|json|csv.\n"
                         "                            [default: table]\n");
    CHECK_CONTAINS(help, "\n  -h, --help                Print");
    CHECK_CONTAINS(help, "\nUnits:\n  ns            a thousandth of a microsecond\n"
                         "  FLOP          an operation\n");
    CHECK_CONTAINS(help, "\nExit status:\n  0     done\n");
    CHECK_CONTAINS(help, "\nExamples:\n  sample -t 5 --format json\n      the five largest\n");
    CHECK_LACKS(help, "secret");
    CHECK_LACKS(help, "tensorrt");
    CHECK_LACKS(help, "Nothing to see");
    for (const char *line = help; *line;) {
        size_t length = strcspn(line, "\n");

        assert_true(length <= 80);
        assert_true(length == 0 || line[length - 1] != ' ');
        line += length + 1;
    }
    free(help);
}

static void own_letter_h_hides_the_standard_one(void **state)
{
    static const struct option_spec options[] = {
        {OPTION_STRING, "host", 'h', "NAME", NULL, "The host.", AT(store)},
    };
    struct option_command command = {
        .name = "x", .version = "1", .purpose = "p", .options = options, .option_count = 1};
    struct parsed parsed = parse_with(&command, (const char *const[]){"-h", "here", NULL});
    char *help = printed(options_print_help, &command);

    CHECK_OK(parsed.rc);
    assert_string_equal(parsed.values.store, "here");
    CHECK_CONTAINS(help, "\n      --help ");
    free(help);
}

static void man_page_is_complete(void **state)
{
    static const char *const parts[] = {
        ".TH SAMPLE 1 \"20",
        "\" \"optrace 1.2.3\" \"optrace manual\"",
        ".SH NAME\nsample \\- show how options work\n",
        ".SH SYNOPSIS\n\\fBsample\\fR [\\fIOPTION\\fR...] [FILE]\n",
        ".SH DESCRIPTION\nFirst paragraph.\n.PP\nSecond paragraph.\n",
        ".SH OPTIONS\n",
        ".SS Input\n",
        ".TP\n\\fB\\-s\\fR, \\fB\\-\\-store\\fR \\fIFILE\\fR\nThe store to read.\n"
        "Default: the default store.\n",
        ", \\fB\\-\\-no\\-color\\fR\n",
        "\\fB\\-\\-secret\\fR",
        ".SH OPTIONS NOT OFFERED\n",
        "\\fB\\-\\-tensorrt\\fR",
        ".SH Units\n.TP\n\\fBns\\fR\na thousandth of a microsecond\n",
        ".SH ENVIRONMENT\n.TP\n\\fBOPTRACE_STORE\\fR\nthe store\n",
        ".SH EXIT STATUS\n.TP\n\\fB0\\fR\ndone\n",
        ".SH EXAMPLES\n.TP\n\\fBsample \\-t 5 \\-\\-format json\\fR\nthe five largest\n"
        ".TP\n\\fB\\&.dotted 'x' \\en\\fR\n",
        ".SH SEE ALSO\noptraced(1)\n",
    };
    char *man = printed(options_print_man, &sample_command);
    const char *position = man;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        CHECK_CONTAINS(position, parts[i]);
        position = strstr(position, parts[i]);
    }
    free(man);
    man = printed(options_print_man, &tool_command);
    CHECK_CONTAINS(man, ".SH COMMANDS\n.SS tool run CMD [ARG...]\nrun a command.\n.TP\n");
    free(man);
    man = printed(options_print_man, &run_command);
    CHECK_CONTAINS(man, ".TH TOOL-RUN 1");
    free(man);
}

/* What bash offers for the last of these words. */
static char *complete(const struct option_command *command, const char *words)
{
    char *completion = printed(options_print_completion, command);
    struct child_result result;
    const char *argv[] = {"bash", "-uc", NULL, NULL};
    char *script;

    assert_true(asprintf(&script,
                         "%s\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_%s\n"
                         "echo \"${COMPREPLY[*]-}\"",
                         completion, words, command->name) > 0);
    argv[2] = script;
    result = child_run(argv, NULL);
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    free(result.err);
    free(script);
    free(completion);
    return result.out;
}

static void completion_completes(void **state)
{
    static const struct {
        const struct option_command *command;
        const char *words, *offered;
    } cases[] = {
        {&sample_command, "sample --st", "--store\n"},
        {&sample_command, "sample --c", "--color\n"},
        {&sample_command, "sample --no", "--no-color\n"},
        {&sample_command, "sample --format ''", "table json csv\n"},
        {&sample_command, "sample -f j", "json\n"},
        {&sample_command, "sample --format = c", "csv\n"},
        {&sample_command, "sample --format =", "table json csv\n"},
        {&sample_command, "sample --store ''", "\n"},
        {&sample_command, "sample ''", "\n"},
        {&sample_command, "sample --secre", "\n"},
        {&sample_command, "sample --tens", "\n"},
        {&tool_command, "tool ''", "run status --help --version --help-man --help-completion\n"},
        {&keyed_command, "keyed --unit ''", "ns FLOP\n"},
        {&keyed_command, "keyed -u F", "FLOP\n"},
        {&tool_command, "tool sta", "status\n"},
        {&tool_command, "tool run --st", "--store\n"},
        {&tool_command, "tool run --format t", "table\n"},
        {&tool_command, "tool run -- --st", "\n"},
        {&tool_command, "tool status --st", "\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *offered = complete(cases[i].command, cases[i].words);

        assert_string_equal(offered, cases[i].offered);
        free(offered);
    }
}

static int show(void *word)
{
    char *argv[] = {"sample", word, NULL};
    const char *arguments[8];
    struct sample values = {0};
    struct diag diag = {0};
    int count;

    if (options_parse(&sample_command, 2, argv, &values, arguments, &count, &diag) != OPTIONS_SHOWN)
        return options_complain(&sample_command, &diag);
    return EXIT_OK;
}

static void check_shown(const char *word, int status, const char *out, const char *err)
{
    struct child child;

    child_start_function(&child, show, (void *)word);
    assert_int_equal(child_wait(&child, 60000), status);
    assert_true(strncmp(child.out, out, strlen(out)) == 0);
    assert_string_equal(child.err, err);
    child_deinit(&child);
}

static void standard_options_print_on_stdout(void **state)
{
    check_shown("--version", EXIT_OK, "sample 1.2.3\n", "");
    check_shown("--help", EXIT_OK, "sample: show", "");
    check_shown("-h", EXIT_OK, "sample: show", "");
    check_shown("--help-man", EXIT_OK, ".TH SAMPLE", "");
    check_shown("--help-completion", EXIT_OK, "# bash completion for sample", "");
    check_shown("--nonsense", EXIT_USAGE, "",
                "sample: unknown option '--nonsense'\nTry 'sample --help'.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(every_spelling_is_read),
        cmocka_unit_test(last_wins_and_lists_collect),
        cmocka_unit_test(list_is_limited),
        cmocka_unit_test(optional_value_needs_an_equals_sign),
        cmocka_unit_test(numbers_take_suffixes),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(what_is_not_offered_says_why),
        cmocka_unit_test(dashes_end_options),
        cmocka_unit_test(hidden_options_work),
        cmocka_unit_test(arguments_may_end_options),
        cmocka_unit_test(subcommands_are_found),
        cmocka_unit_test(help_lists_and_wraps),
        cmocka_unit_test(own_letter_h_hides_the_standard_one),
        cmocka_unit_test(man_page_is_complete),
        cmocka_unit_test(completion_completes),
        cmocka_unit_test(standard_options_print_on_stdout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
