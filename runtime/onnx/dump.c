/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a model file with an entry of metadata behind it. */
#include "runtime/onnx/dump.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "runtime/onnx/cut.h"
#include "runtime/onnx/file.h"
#include "runtime/onnx/onnx.pb-c.h"

enum { METADATA_PROPS_TAG = 14 << 3 | 2, VARINT_BYTES = 10 };

static bool has_other_files(const struct mapped_file *file)
{
    struct onnx_cut cut;
    Onnx__ModelProto *model = NULL;
    bool has = false;

    if (onnx_cut_init(&cut, file->bytes, file->size) == 0)
        model = onnx__model_proto__unpack(NULL, cut.message.count, cut.message.items);
    for (size_t i = 0; model && model->graph && i < model->graph->n_initializer; i++)
        has = has || model->graph->initializer[i]->n_external_data > 0;
    if (model)
        onnx__model_proto__free_unpacked(model, NULL);
    onnx_cut_deinit(&cut);
    return has;
}

static bool is_same_folder(const char *left, const char *right)
{
    char *a = strdup(left), *b = strdup(right);
    struct stat left_stat, right_stat;
    bool is_same = a && b && stat(dirname(a), &left_stat) == 0 &&
                   stat(dirname(b), &right_stat) == 0 && left_stat.st_dev == right_stat.st_dev &&
                   left_stat.st_ino == right_stat.st_ino;

    free(a);
    free(b);
    return is_same;
}

/* The tag and the length of the entry. */
static size_t pack_head(size_t length, uint8_t out[VARINT_BYTES + 1])
{
    size_t size = 0;

    out[size++] = METADATA_PROPS_TAG;
    for (; length >= 0x80; length >>= 7)
        out[size++] = (uint8_t)(length | 0x80);
    out[size++] = (uint8_t)length;
    return size;
}

static int write_copy(const struct mapped_file *file, const char *path,
                      const Onnx__StringStringEntryProto *entry, struct diag *diag)
{
    size_t length = onnx__string_string_entry_proto__get_packed_size(entry);
    uint8_t head[VARINT_BYTES + 1], *body = malloc(length + 1);
    struct file_part parts[3];
    int rc;

    if (!body)
        return diag_set(diag, -ENOMEM, "out of memory");
    onnx__string_string_entry_proto__pack(entry, body);
    parts[0] = (struct file_part){file->bytes, file->size};
    parts[1] = (struct file_part){head, pack_head(length, head)};
    parts[2] = (struct file_part){body, length};
    rc = file_replace(path, parts, 3, diag);
    free(body);
    return rc;
}

int onnx_dump(const char *model_path, const char *path, const char *key, const char *value,
              struct diag *diag)
{
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    struct mapped_file file;
    int rc = mapped_file_open(&file, model_path, diag);

    if (rc < 0)
        return rc;
    entry.key = (char *)key;
    entry.value = (char *)value;
    if (!is_same_folder(model_path, path) && has_other_files(&file))
        rc = diag_set(diag, -EINVAL,
                      "%s keeps parameters in other files: a copy must stand in the same folder, "
                      "which %s does not",
                      model_path, path);
    else
        rc = write_copy(&file, path, &entry, diag);
    mapped_file_close(&file);
    return rc;
}
