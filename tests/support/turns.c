/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that are taken in turn. */
#include "tests/support/turns.h"

#include <stdlib.h>

bool turns_all(void)
{
    const char *all = getenv("OPTRACE_TEST_ALL");

    return all && *all;
}

bool turns_take(size_t turn, size_t way, size_t ways)
{
    return turns_all() || turn % ways == way;
}
