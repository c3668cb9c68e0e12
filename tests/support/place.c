/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of sources, programs and shared data, from the environment that Meson sets. */
#include "tests/support/place.h"

#include <unistd.h>

#include "tests/support/check.h"

static char *join(const char *directory, const char *path)
{
    char *joined;

    if (asprintf(&joined, "%s/%s", directory, path) < 0)
        fail_msg("out of memory");
    return joined;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    if (!value || !value[0])
        fail_msg("%s is not set: run the test through meson test", name);
    return value;
}

char *place_source(const char *path)
{
    return join(variable("OPTRACE_SOURCE_ROOT"), path);
}

char *place_program(const char *path)
{
    return join(variable("OPTRACE_BUILD_ROOT"), path);
}

char *place_shared(const char *path)
{
    const char *set = getenv("OPTRACE_SHARED");
    char *directory = set && set[0] ? strdup(set) : place_source("../shared");
    char *joined = join(directory, path);

    free(directory);
    if (access(joined, R_OK) == 0)
        return joined;
    free(joined);
    return NULL;
}
