/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a JSON file of --input. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/inputs/input.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every element, so that a sanitizer sees data that is too short. */
static void read_all(const struct tensor_view *view)
{
    volatile long double sum = 0;

    for (int64_t i = 0; i < shape_elements(&view->shape); i++)
        sum = sum + element_get(view->data, view->dtype, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input_list list = {0};
    struct diag diag = {0};

    if (input_parse_json((const char *)data, size, &list, &diag) < 0 &&
        (diag.text[0] == '\0' || list.count > 0))
        abort();
    fuzz_accepted(list.count > 0);
    for (size_t i = 0; i < list.count; i++)
        read_all(&list.items[i].tensor);
    input_list_deinit(&list);
    return 0;
}
