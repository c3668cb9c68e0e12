/* SPDX-License-Identifier: Apache-2.0 */
/* Windows beyond those of networks: pads larger than the kernel, on one side only, strides that
 * jump over the image, dilations, outputs that read nothing. */
#include <stdio.h>

#include "tests/kernels/harness.h"

static int64_t random_pad(struct test *test, int64_t kernel, int64_t reach)
{
    if (test_chance(test, 12))
        return test_range(test, 0, 24);
    return test_range(test, 0, test_chance(test, 3) ? reach + 3 : kernel - 1);
}

void test_wide_window(struct test *test, int rank, struct kernel_window *w)
{
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        int64_t reach, room;

        w->in[i] = w->out[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
        w->pad_begin[i] = w->pad_end[i] = 0;
        if (i < KERNEL_SPATIAL - rank)
            continue;
        w->kernel[i] = test_range(test, 1, test_chance(test, 8) ? 9 : 3);
        w->stride[i] = test_range(test, 1, test_chance(test, 5) ? 9 : 3);
        w->dilation[i] = test_chance(test, 2) ? 1 : test_range(test, 1, 5);
        reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        w->pad_begin[i] = random_pad(test, w->kernel[i], reach);
        w->pad_end[i] = random_pad(test, w->kernel[i], reach);
        w->in[i] = test_range(test, 1, rank == 3 ? 6 : test_chance(test, 4) ? 40 : 9);
        room = w->in[i] + w->pad_begin[i] + w->pad_end[i];
        if (room < reach)
            w->in[i] += reach - room;
        room = w->in[i] + w->pad_begin[i] + w->pad_end[i];
        w->out[i] = (room - reach) / w->stride[i] + 1;
    }
}

void test_window_text(const struct kernel_window *w, char out[TEST_WINDOW_BYTES])
{
    int used = 0;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        used += snprintf(out + used, TEST_WINDOW_BYTES - (size_t)used,
                         "%s%lld->%lld k%lld s%lld d%lld p%lld,%lld", i ? " | " : "",
                         (long long)w->in[i], (long long)w->out[i], (long long)w->kernel[i],
                         (long long)w->stride[i], (long long)w->dilation[i],
                         (long long)w->pad_begin[i], (long long)w->pad_end[i]);
}
