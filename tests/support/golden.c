/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files. */
#include "tests/support/golden.h"

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static void rewrite(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fail_msg("%s: %s", path, strerror(errno));
}

static int line_length(const char *line, const char *end)
{
    const char *stop = memchr(line, '\n', (size_t)(end - line));

    return (int)((stop ? stop : end) - line);
}

static void show_difference(const char *path, const char *got, size_t got_size, const char *want,
                            size_t want_size)
{
    size_t line_start = 0;
    size_t line = 1;
    size_t i = 0;

    for (; i < got_size && i < want_size && got[i] == want[i]; i++) {
        if (got[i] == '\n') {
            line_start = i + 1;
            line++;
        }
    }
    fail_msg("%s: differs at byte %zu, line %zu (OPTRACE_GOLDEN_REWRITE=1 writes it anew)\n"
             "  got:  %.*s\n  want: %.*s",
             path, i, line, line_length(got + line_start, got + got_size), got + line_start,
             line_length(want + line_start, want + want_size), want + line_start);
}

void golden_check(const char *name, const void *bytes, size_t size)
{
    const char *flag = getenv("OPTRACE_GOLDEN_REWRITE");
    char *file = temp_path("tests/golden", name);
    char *path = place_source(file);
    size_t want_size;
    char *want;

    if (flag && strcmp(flag, "1") == 0)
        rewrite(path, bytes, size);
    want = temp_read(path, &want_size);
    if (size != want_size || memcmp(bytes, want, size) != 0)
        show_difference(path, bytes, size, want, want_size);
    free(want);
    free(path);
    free(file);
}
