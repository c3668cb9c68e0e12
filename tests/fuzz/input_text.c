/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is the numbers of --input. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/inputs/input.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    struct input input;
    struct diag diag = {0};
    volatile long double sum = 0;

    memcpy(text, data, size);
    if (input_parse_text(text, &input, &diag) < 0) {
        if (diag.text[0] == '\0')
            abort();
    } else if (input.kind == INPUT_NUMBERS) {
        for (int64_t i = 0; i < shape_elements(&input.tensor.shape); i++)
            sum = sum + input.numbers[i];
        fuzz_accepted(1);
        free(input.numbers);
    }
    free(text);
    return 0;
}
