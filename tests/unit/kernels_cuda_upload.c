/* SPDX-License-Identifier: Apache-2.0 */
/* Much memory brought to the emulated device, in pieces whose turns come again; streams and marks. */
#include "kernels/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

enum { MIB = 1 << 20 };

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 2654435761u >> 13);
}

static struct kernel_cuda *open_device(void)
{
    char text[KERNEL_CUDA_TEXT_BYTES];
    struct kernel_cuda *cuda = NULL;

    CHECK_OK(kernel_cuda_open(0, &cuda, text));
    return cuda;
}

/* Parts of many sizes with gaps between them, as parameters lie. */
static void bring(struct kernel_cuda *cuda, size_t bytes, size_t largest, uint32_t *out_copies)
{
    unsigned char *source = malloc(bytes), *seen = malloc(bytes);
    void *to = NULL;
    size_t at = 0, part = 1;

    for (size_t i = 0; i < bytes; i++)
        source[i] = byte_at(i);
    CHECK_OK(kernel_cuda_alloc(cuda, bytes, &to));
    CHECK_OK(kernel_cuda_upload_begin(cuda, bytes));
    for (; at < bytes; at += part + 256 - part % 256, part = part * 3 % largest + 1)
        CHECK_OK(kernel_cuda_upload(cuda, (char *)to + at, source + at,
                                    part < bytes - at ? part : bytes - at));
    CHECK_OK(kernel_cuda_upload_end(cuda, out_copies));
    CHECK_OK(kernel_cuda_get(cuda, seen, to, bytes));
    for (at = 0, part = 1; at < bytes; at += part + 256 - part % 256, part = part * 3 % largest + 1)
        assert_int_equal(memcmp(seen + at, source + at, part < bytes - at ? part : bytes - at), 0);
    CHECK_OK(kernel_cuda_wait(cuda));
    free(source);
    free(seen);
}

static void comes_as_it_was(void **state)
{
    struct kernel_cuda *cuda = open_device();
    uint32_t copies = 0;

    bring(cuda, 23 * MIB + 5, 3 * MIB, &copies);
    assert_true(copies >= 6 && copies <= 8);
    bring(cuda, 9 * MIB, 9 * MIB, &copies); /* parts that are larger than a piece */
    assert_true(copies >= 3 && copies <= 5);
    bring(cuda, 70000, 1000, &copies);
    assert_int_equal(copies, 1);
    bring(cuda, 1, 1000, &copies);
    assert_int_equal(copies, 1);
    CHECK_OK(kernel_cuda_upload_begin(cuda, 0)); /* of nothing; closed in the middle */
    kernel_cuda_close(&cuda);
    assert_null(cuda);
}

/* What one stream copies, another copies on: right only if it waits. */
static void streams_follow_marks(void **state)
{
    enum { BYTES = 1000, STREAMS = 4 };
    struct kernel_cuda *cuda = open_device();
    unsigned char from[BYTES], seen[BYTES];
    void *memory = NULL;

    for (size_t i = 0; i < BYTES; i++)
        from[i] = byte_at(i);
    CHECK_OK(kernel_cuda_alloc(cuda, BYTES, &memory));
    CHECK_OK(kernel_cuda_make_streams(cuda, STREAMS));
    CHECK_OK(kernel_cuda_make_streams(cuda, 2));
    CHECK_OK(kernel_cuda_make_marks(cuda, STREAMS));
    for (uint32_t s = STREAMS; s-- > 0;) {
        kernel_cuda_choose(cuda, s);
        if (s + 1 < STREAMS)
            CHECK_OK(kernel_cuda_follow(cuda, s + 1));
        from[0] = (unsigned char)s;
        CHECK_OK(kernel_cuda_put(cuda, memory, from, BYTES));
        CHECK_OK(kernel_cuda_mark(cuda, s));
    }
    CHECK_OK(kernel_cuda_get(cuda, seen, memory, BYTES));
    assert_int_equal(seen[0], 0);
    assert_int_equal(memcmp(seen + 1, from + 1, BYTES - 1), 0);
    CHECK_OK(kernel_cuda_wait(cuda));
    CHECK_OK(kernel_cuda_get(cuda, seen, memory, BYTES));
    assert_int_equal(seen[0], 0); /* nothing came later */
    kernel_cuda_close(&cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_as_it_was),
                                       cmocka_unit_test(streams_follow_marks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
