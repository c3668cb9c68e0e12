/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a SQLite export of Nsight Systems. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/import_nsys.h"
#include "tests/fuzz/kept_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is refused must be explained. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct store *store = kept_store_begin();
    struct diag diag = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    import_nsys_recognises(path);
    if (import_nsys(path, "input", store, NULL, &diag) < 0 && diag.text[0] == '\0')
        abort();
    kept_store_forget(store);
    close(fd);
    return 0;
}
