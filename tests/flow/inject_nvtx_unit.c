/* SPDX-License-Identifier: Apache-2.0 */
/* A library with NVTX in it: a linkage unit of its own, with handlers of its own. */
#include "tests/support/nvtx_unit.h"

void unit_work(void);

__attribute__((visibility("default"))) void unit_work(void)
{
    void *domain = nvtx_domain("library");

    nvtx_push_in(domain, 1, "work of the library", 0);
    nvtx_pop_in(domain);
}
