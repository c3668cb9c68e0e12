/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the store that examples of the documentation are run on: example_store FILE. */
#include <stdio.h>

#include "tests/support/small_store.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: example_store FILE\n", stderr);
        return 2;
    }
    small_store_make(argv[1]);
    return 0;
}
