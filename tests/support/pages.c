/* SPDX-License-Identifier: Apache-2.0 */
/* Anonymous memory, given back before it is touched. */
#include "tests/support/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check.h"

void pages_touch(volatile char *memory, size_t count)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    madvise((void *)memory, count * page, MADV_DONTNEED);
    for (size_t i = 0; i < count; i++)
        memory[i * page] = 1;
}

volatile char *pages_map(size_t count)
{
    const size_t bytes = count * (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    pages_touch(memory, count);
    return memory;
}
