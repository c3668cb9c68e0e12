/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a NumPy file of --input. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/inputs/input.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tensor_view view;
    struct diag diag = {0};
    volatile long double sum = 0;

    if (input_parse_npy(data, size, &view, &diag) < 0) {
        if (diag.text[0] == '\0')
            abort();
        return 0;
    }
    fuzz_accepted(1);
    /* Reads every element, so that a sanitizer sees data that is too short. */
    for (int64_t i = 0; i < shape_elements(&view.shape); i++)
        sum = sum + element_get(view.data, view.dtype, i);
    free(view.data);
    return 0;
}
