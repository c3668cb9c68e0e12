/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a file of folded stacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/import/folded.h"
#include "tests/fuzz/accepted.h"
#include "tests/fuzz/kept_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is refused must be explained, and when it is to be read leniently only for a line too long.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.lenient = size && data[size - 1] == '\n'};
    int fd = memfd_create("input", MFD_CLOEXEC), rc;
    struct store *store = kept_store_begin();
    struct diag diag = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    import_folded_detects(path);
    rc = import_folded(path, "input", store, &options, &diag);
    if (rc < 0 && (diag.text[0] == '\0' || (rc == -EUCLEAN && options.lenient && size < 1 << 20)))
        abort();
    fuzz_accepted(rc == 0);
    kept_store_forget(store);
    close(fd);
    return 0;
}
