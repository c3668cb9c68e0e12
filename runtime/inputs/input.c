/* SPDX-License-Identifier: Apache-2.0 */
/* The items of --input: names, and which reader takes the value. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "runtime/inputs/input.h"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

typedef int bytes_fn(const uint8_t *bytes, size_t size, struct tensor_view *out_view,
                     struct diag *diag);

/* Reads a file with `parse`; what it says is put behind the path. */
static int read_tensor_file(const char *path, const char *name, bytes_fn *parse,
                            struct input_list *list, struct diag *diag)
{
    struct tensor_view view = {0};
    struct diag inner = {0};
    char *bytes;
    size_t size;
    int rc = file_read(path, INPUT_FILE_BYTES_MAX, &bytes, &size, diag);

    if (rc < 0)
        return rc;
    rc = parse((const uint8_t *)bytes, size, &view, &inner);
    free(bytes);
    if (rc < 0)
        return diag_set_at(diag, rc, inner.offset, "%.200s: %.280s", path, inner.text);
    return input_append(list, name, &view, diag);
}

static int read_json_file(const char *path, struct input_list *list, struct diag *diag)
{
    struct diag inner = {0};
    char *bytes;
    size_t size;
    int rc = file_read(path, INPUT_FILE_BYTES_MAX, &bytes, &size, diag);

    if (rc < 0)
        return rc;
    rc = input_parse_json(bytes, size, list, &inner);
    free(bytes);
    return rc < 0 ? diag_set_at(diag, rc, inner.offset, "%.200s: %.280s", path, inner.text) : 0;
}

static int read_text(const char *text, const char *name, struct input_list *list, struct diag *diag)
{
    struct input input = {0};
    int rc = input_parse_text(text, &input, diag);

    return rc < 0 ? rc : input_list_add(list, &input, name, diag);
}

static int read_value(const char *name, const char *value, struct input_list *list,
                      struct diag *diag)
{
    if (ends_with(value, ".npy"))
        return read_tensor_file(value, name, input_parse_npy, list, diag);
    if (ends_with(value, ".ppm") || ends_with(value, ".pgm"))
        return read_tensor_file(value, name, input_parse_pnm, list, diag);
    if (ends_with(value, ".json"))
        return read_json_file(value, list, diag);
    return read_text(value, name, list, diag);
}

/* Where the name ends. TensorFlow's names end in ":0", and no value begins so. */
static char *end_of_name(char *item)
{
    char *colon = item[0] == '/' || item[0] == '.' ? NULL : strchr(item, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

    return digits > 0 && colon[1 + digits] == ':' ? colon + 1 + digits : colon;
}

static int read_item(char *item, struct input_list *list, struct diag *diag)
{
    char *colon = end_of_name(item);

    if (!colon)
        return read_value("", item, list, diag);
    *colon = '\0';
    if (colon == item || colon[1] == '\0')
        return diag_set(diag, -EINVAL, "--input needs NAME:VALUE, but the %s of '%s:%s' is empty",
                        colon == item ? "name" : "value", item, colon + 1);
    return read_value(item, colon + 1, list, diag);
}

int input_parse(const char *text, struct input_list *list, struct diag *diag)
{
    char *copy = strdup(text);
    char *rest = copy;
    char *item;
    int rc = 0;

    if (!copy)
        return diag_set(diag, -ENOMEM, "no memory for the input data");
    while (rc == 0 && (item = strsep(&rest, ";"))) {
        if (item[0] != '\0')
            rc = read_item(item, list, diag);
        else if (rest || item == copy) /* one at the very end does no harm */
            rc = diag_set(diag, -EINVAL, "--input holds an empty item: '%s'", text);
    }
    free(copy);
    return rc;
}
