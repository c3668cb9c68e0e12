/* SPDX-License-Identifier: Apache-2.0 */
/* What --help prints fits a screen, of every program, and each word that it names is known. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"

enum { SCREEN_LINES = 40, SCREEN_COLUMNS = 80 };

/* A program, or a subcommand of one. */
struct subject {
    const char *program, *subcommand;
    const char *words; /* of groups of options, parted by spaces */
};

static const struct subject subjects[] = {
    {"analyze/profile_analyze", NULL,
     "reading operators lines showing comparing programs formats reports columns exports sources"},
    {"client/cli/optrace", NULL, "run status start stop save top report compare"},
    {"client/cli/optrace", "run", ""},
    {"client/cli/optrace", "status", ""},
    {"client/cli/optrace", "start", "who when schedule"},
    {"client/cli/optrace", "stop", "who when"},
    {"client/cli/optrace", "save", "sessions behaviour"},
    {"client/cli/optrace", "top", ""},
    {"client/cli/optrace", "report", ""},
    {"client/cli/optrace", "compare", ""},
    {"daemon/optraced", NULL, "places keeping behaviour"},
    {"runtime/load_and_run", NULL,
     "running device optimisation kernels input checking operators output recording"},
};

/* --help, or --help WORD; NULL where the build has no such program. */
static char *help_of(const struct subject *subject, const char *word)
{
    char *program = place_program(subject->program), *out = NULL;
    const char *argv[] = {program, subject->subcommand ? subject->subcommand : "--help",
                          subject->subcommand ? "--help" : word, subject->subcommand ? word : NULL,
                          NULL};
    struct child_result result;

    if (access(program, X_OK) == 0) {
        result = child_run(argv, NULL);
        if (result.status != 0)
            fail_msg("%s %s --help %s: %s", subject->program,
                     subject->subcommand ? subject->subcommand : "", word ? word : "", result.err);
        out = strdup(result.out);
        child_result_deinit(&result);
    }
    free(program);
    return out;
}

/* Lines of a text none of which is too long. */
static size_t count_lines(const struct subject *subject, const char *word, const char *text)
{
    size_t lines = 0;

    for (; *text; lines++) {
        const size_t length = strcspn(text, "\n");

        if (text_columns(text, length) > SCREEN_COLUMNS)
            fail_msg("%s %s --help %s: %.*s", subject->program,
                     subject->subcommand ? subject->subcommand : "", word ? word : "", (int)length,
                     text);
        text += length + (text[length] == '\n');
    }
    return lines;
}

static void help_fits_a_screen(void **state)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        char *text = help_of(&subjects[i], NULL);
        size_t lines = text ? count_lines(&subjects[i], NULL, text) : 1;

        if (lines < 1 || lines > SCREEN_LINES)
            fail_msg("%s %s --help has %zu lines", subjects[i].program,
                     subjects[i].subcommand ? subjects[i].subcommand : "", lines);
        free(text);
    }
}

/* Also where an option's default, or an example, is long. */
static void no_line_of_all_options_is_long(void **state)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        char *text = help_of(&subjects[i], "options");

        if (text && !strstr(text, "\nExit status:\n"))
            fail_msg("%s --help options: %s", subjects[i].program, text);
        if (text)
            count_lines(&subjects[i], "options", text);
        free(text);
    }
}

/* Each word leads to something, and none of it is more than --help options has. */
static void words_of_help_are_known(void **state)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        for (const char *at = subjects[i].words; *at;) {
            const size_t length = strcspn(at, " ");
            char word[64], *text;

            snprintf(word, sizeof(word), "%.*s", (int)length, at);
            text = help_of(&subjects[i], word);
            if (text && count_lines(&subjects[i], word, text) < 3)
                fail_msg("%s --help %s: %s", subjects[i].program, word, text);
            free(text);
            at += length + (at[length] == ' ');
        }
    }
}

/* A word of no group is refused by a sentence that names those there are. */
static void other_words_are_refused(void **state)
{
    char *program = place_program("daemon/optraced");
    struct child_result result =
        child_run((const char *const[]){program, "--help", "keepings", NULL}, NULL);

    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "there is on options, places, keeping, behaviour and each option");
    child_result_deinit(&result);
    free(program);
}

/* The manual page has every option, whatever --help leaves for later. */
static void manual_pages_are_whole(void **state)
{
    char *program = place_program("daemon/optraced");
    struct child_result result =
        child_run((const char *const[]){program, "--help-man", NULL}, NULL);

    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "\\-\\-keep\\-sessions");
    CHECK_CONTAINS(result.out, "Imported sessions stay, and calibrations.");
    CHECK_CONTAINS(result.out, ".SH EXIT STATUS");
    child_result_deinit(&result);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_fits_a_screen),      cmocka_unit_test(no_line_of_all_options_is_long),
        cmocka_unit_test(words_of_help_are_known), cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(manual_pages_are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
