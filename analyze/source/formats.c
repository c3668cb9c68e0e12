/* SPDX-License-Identifier: Apache-2.0 */
/* Detecting formats: by the magic of SQLite, else by the first keys of a JSON document or the first
 * stack. */
#include "analyze/source/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"
#include "analyze/source/foreign_file.h"
#include "base/text.h"

enum { PARTS_MAX = 30 }; /* of all formats together */

extern const struct import_format import_chrome_format, import_folded_format,
    import_load_and_run_format, import_megengine_format, import_nsys_format, import_ort_format,
    import_pytorch_events_format, import_trtexec_format;

/* An event of ONNX Runtime is one of Chrome's, too. */
static const struct import_format *const formats[] = {
    &import_megengine_format, &import_load_and_run_format,   &import_ort_format,
    &import_chrome_format,    &import_pytorch_events_format, &import_nsys_format,
    &import_folded_format,    &import_trtexec_format,        NULL,
};

void source_print_formats(FILE *lines)
{
    text_print(lines, "store  what optraced keeps, or --import made.\n");
    for (size_t i = 0; formats[i]; i++)
        text_print(lines, "%s  %s.\n", formats[i]->name, formats[i]->about);
}

static int read_head(const char *path, const char *name, char *head, size_t size,
                     size_t *out_length, struct diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    int error;

    if (fd < 0)
        return diag_set(diag, -errno, "cannot open %s: %s", name, strerror(errno));
    length = pread(fd, head, size, 0);
    error = errno;
    close(fd);
    if (length < 0)
        return diag_set(diag, -error, "cannot read %s: %s", name, strerror(error));
    *out_length = (size_t)length;
    return 0;
}

/* What is in a compressed file. 0 bytes where it cannot be unpacked, which its reader then says. */
static size_t unpack_head(const char *path, char *head, size_t size)
{
    gzFile file = gzopen(path, "re");
    int length = file ? gzread(file, head, (unsigned)size) : 0;

    if (file)
        gzclose(file);
    return length > 0 ? (size_t)length : 0;
}

static bool is_sqlite(const char *head, size_t length)
{
    static const char magic[16] = "SQLite format 3";

    return length >= sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0;
}

/* Folded stacks often begin with a frame like [unknown]; an array that means something here holds
 * objects. */
static bool may_be_json(const char *text, size_t length)
{
    size_t next = 1;

    if (!length || (*text != '{' && *text != '['))
        return false;
    while (next < length && strchr(" \t\r\n", text[next]))
        next++;
    return *text == '{' || next == length || text[next] == '{' || text[next] == ']';
}

/* For json_stream_split(), which borrows them. */
static void collect_parts(const char *out_parts[PARTS_MAX + 1])
{
    size_t count = 0;

    for (size_t i = 0; formats[i]; i++)
        for (const char *const *part = formats[i]->parts; part && *part; part++)
            if (count < PARTS_MAX)
                out_parts[count++] = *part;
    out_parts[count] = NULL;
}

static const struct import_format *format_of_piece(const struct json_item *piece)
{
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->detects_piece && formats[i]->detects_piece(piece))
            return formats[i];
    return NULL;
}

/* What is there though it is empty, unless a row before its own was found. */
static const struct import_format *format_of_marks(const struct json_stream *stream,
                                                   const struct import_format *found)
{
    for (size_t i = 0; formats[i] && formats[i] != found; i++)
        for (const char *const *mark = formats[i]->marks; mark && *mark; mark++)
            if (json_stream_has_part(stream, *mark))
                return formats[i];
    return found;
}

/* *out_format NULL: nothing that is known here. */
static int detect_json(const char *path, const char *name, const struct import_format **out_format,
                       struct diag *diag)
{
    const struct import_format *format = NULL;
    const char *parts[PARTS_MAX + 1];
    struct json_stream *stream = NULL;
    struct json_item piece;
    int rc = json_stream_open(path, name, NULL, &stream, diag);

    collect_parts(parts);
    if (rc == 0)
        json_stream_split(stream, parts);
    while (rc == 0 && !format && (rc = json_stream_next(stream, &piece, diag)) == 1) {
        format = format_of_piece(&piece);
        rc = !piece.key && !format ? -ENOTSUP : 0;
    }
    if (stream)
        format = format_of_marks(stream, format);
    json_stream_close(&stream);
    *out_format = format;
    return format || rc >= 0 || rc == -ENOTSUP ? 0 : rc;
}

/* An array of what JSON knows, not a line that begins with a bracket. */
static bool is_json(const char *text, size_t length)
{
    size_t next = 1;

    while (next < length && strchr(" \t\r\n", text[next]))
        next++;
    return *text == '{' ||
           (*text == '[' && (next == length || strchr("{[]\"-0123456789", text[next])));
}

static int refuse(const char *name, const char *head, size_t length, bool is_document,
                  struct diag *diag)
{
    const char *hint = foreign_file_hint(head, length);

    if (hint)
        return diag_set(diag, -EUCLEAN, "%s is %s", name, hint);
    return diag_set(diag, -EUCLEAN, "%s is %s: %s", name,
                    is_document ? "JSON, but no profile that is known here"
                                : "neither SQLite nor JSON",
                    import_supported);
}

/* By the format's own look into the file. */
static const struct import_format *format_of_file(enum import_container container, const char *path)
{
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->container == container && formats[i]->detects_file &&
            formats[i]->detects_file(path))
            return formats[i];
    return NULL;
}

static int detect_document(const char *path, const char *name, const char *head, size_t length,
                           const struct import_format **out_format, struct diag *diag)
{
    int rc = detect_json(path, name, out_format, diag);

    return rc == 0 && !*out_format ? refuse(name, head, length, true, diag) : rc;
}

int source_detect(const char *path, const char *name, const struct import_format **out_format,
                  struct diag *diag)
{
    char head[FOREIGN_FILE_BYTES + 1];
    size_t length = 0, first = 0;
    bool is_packed;
    int rc = read_head(path, name, head, FOREIGN_FILE_BYTES, &length, diag);

    *out_format = NULL;
    if (rc < 0)
        return rc;
    if (is_sqlite(head, length)) {
        *out_format = format_of_file(IMPORT_SQLITE, path);
        return 0;
    }
    is_packed = length >= 2 && memcmp(head, "\x1f\x8b", 2) == 0;
    if (is_packed)
        length = unpack_head(path, head, FOREIGN_FILE_BYTES);
    head[length] = '\0';
    if (is_packed && is_sqlite(head, length))
        return diag_set(diag, -EUCLEAN,
                        "%s is a compressed file of SQLite: unpack it first, with gunzip", name);
    while (first < length && head[first] && strchr(" \t\r\n\xef\xbb\xbf", head[first]))
        first++;
    if (first == length)
        return is_packed || length == FOREIGN_FILE_BYTES
                   ? detect_document(path, name, head, 0, out_format, diag)
                   : diag_set(diag, -EUCLEAN, "%s is empty", name);
    if (!may_be_json(head + first, length - first))
        *out_format = format_of_file(IMPORT_TEXT, path);
    if (*out_format)
        return 0;
    if (!is_json(head + first, length - first))
        return refuse(name, head, length, false, diag);
    return detect_document(path, name, head + first, length - first, out_format, diag);
}
