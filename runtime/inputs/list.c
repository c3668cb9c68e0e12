/* SPDX-License-Identifier: Apache-2.0 */
/* The list that the items of --input are read into. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/inputs/input.h"

static void input_deinit(struct input *input)
{
    free(input->name);
    free(input->tensor.data);
    free(input->numbers);
    *input = (struct input){0};
}

void input_list_truncate(struct input_list *list, size_t count)
{
    while (list->count > count)
        input_deinit(&list->items[--list->count]);
}

void input_list_deinit(struct input_list *list)
{
    input_list_truncate(list, 0);
    array_deinit(list);
}

int input_list_add(struct input_list *list, struct input *input, const char *name,
                   struct diag *diag)
{
    input->name = strdup(name);
    if (!input->name || array_push(list, *input) < 0) {
        input_deinit(input);
        return diag_set(diag, -ENOMEM, "no memory for the input data");
    }
    return 0;
}

int input_append_kind(struct input_list *list, enum input_kind kind, const char *name,
                      const struct tensor_view *view, struct diag *diag)
{
    struct input input = {.kind = kind, .tensor = *view};

    return input_list_add(list, &input, name, diag);
}

int input_append(struct input_list *list, const char *name, const struct tensor_view *view,
                 struct diag *diag)
{
    return input_append_kind(list, INPUT_TENSOR, name, view, diag);
}

int64_t input_count_parts(const struct input_list *list, const char *name)
{
    size_t length = strlen(name);
    int64_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        const char *entry = list->items[i].name;
        char *end;
        long place;

        if (strncmp(entry, name, length) != 0 || entry[length] != '[' || entry[length + 1] < '0' ||
            entry[length + 1] > '9')
            continue;
        place = strtol(entry + length + 1, &end, 10);
        if (strcmp(end, "]") == 0 && place >= count && place < INT32_MAX)
            count = place + 1;
    }
    return count;
}
