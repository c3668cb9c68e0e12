/* SPDX-License-Identifier: Apache-2.0 */
/* Input data from binary netpbm images: P5 (grey) and P6 (colour), 8 or 16 bits. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "runtime/inputs/input.h"

/* The header's next number. Spaces, line ends and comments may stand before it. */
static int read_number(const uint8_t *bytes, size_t size, size_t *at, int64_t *out_number)
{
    int64_t number = 0;
    size_t start;

    while (*at < size && (isspace(bytes[*at]) || bytes[*at] == '#')) {
        if (bytes[*at] == '#') {
            while (*at < size && bytes[*at] != '\n' && bytes[*at] != '\r')
                (*at)++;
        } else {
            (*at)++;
        }
    }
    for (start = *at; *at < size && isdigit(bytes[*at]); (*at)++) {
        if (number > 1 << 30)
            return -EINVAL;
        number = number * 10 + (bytes[*at] - '0');
    }
    *out_number = number;
    return *at > start ? 0 : -EINVAL;
}

static int read_header(const uint8_t *bytes, size_t size, size_t *at, int64_t numbers[3],
                       struct diag *diag)
{
    static const char *const names[] = {"width", "height", "largest value"};

    if (size < 3 || bytes[0] != 'P' || bytes[1] < '1' || bytes[1] > '7' || !isspace(bytes[2]))
        return diag_set(diag, -EINVAL, "this is not a netpbm image");
    if (bytes[1] != '5' && bytes[1] != '6')
        return diag_set(diag, -ENOTSUP,
                        "the image has format P%c; only binary P5 (pgm) and P6 (ppm) are supported",
                        bytes[1]);
    *at = 2;
    for (int i = 0; i < 3; i++) {
        if (read_number(bytes, size, at, &numbers[i]) < 0 || numbers[i] < 1)
            return diag_set(diag, -EINVAL, "the image's header has no proper %s", names[i]);
    }
    if (numbers[2] > 65535)
        return diag_set(diag, -EINVAL, "the image's largest value is %lld, above 65535",
                        (long long)numbers[2]);
    /* Exactly one space or line end, then the pixels. */
    if (*at >= size || !isspace(bytes[*at]))
        return diag_set(diag, -EINVAL, "the image's header does not end");
    (*at)++;
    return 0;
}

/* Above 255 a value takes two bytes, the high one first. */
static void copy_wide(uint16_t *to, const uint8_t *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (uint16_t)(from[2 * i] << 8 | from[2 * i + 1]);
}

int input_parse_pnm(const uint8_t *bytes, size_t size, struct tensor_view *out_view,
                    struct diag *diag)
{
    struct tensor_view made;
    int64_t numbers[3];
    int64_t wanted;
    size_t at = 0;
    int rc = read_header(bytes, size, &at, numbers, diag);

    if (rc < 0)
        return rc;
    made.dtype = numbers[2] > 255 ? DTYPE_U16 : DTYPE_U8;
    made.shape =
        (struct shape){.rank = 4, .dims = {1, numbers[1], numbers[0], bytes[1] == '6' ? 3 : 1}};
    wanted = shape_bytes(&made.shape, made.dtype);
    if (wanted < 0 || (uint64_t)wanted != size - at)
        return diag_set(diag, -EINVAL,
                        "the image has %zu bytes of pixels where %lld x %lld needs %lld", size - at,
                        (long long)numbers[0], (long long)numbers[1], (long long)wanted);
    made.data = graph_alloc_data((size_t)wanted);
    if (!made.data)
        return diag_set(diag, -ENOMEM, "no memory for the image");
    if (made.dtype == DTYPE_U16)
        copy_wide(made.data, bytes + at, shape_elements(&made.shape));
    else
        memcpy(made.data, bytes + at, (size_t)wanted);
    *out_view = made;
    return 0;
}
