/* SPDX-License-Identifier: Apache-2.0 */
/* Recognising files: the magic of SQLite, else the first keys of a JSON document or the first
 * stack. */
#include "analyze/source/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/import/folded.h"
#include "analyze/import/importer.h"
#include "analyze/import/megengine/megengine.h"
#include "analyze/import/nsys/nsys.h"
#include "analyze/json/stream.h"
#include "analyze/json/text.h"
#include "analyze/source/foreign_file.h"
#include "base/text.h"

enum { PARTS_MAX = 30 }; /* at least as many as megengine_parts has */

const struct source_name source_names[SOURCE_KINDS] = {
    [SOURCE_STORE] = {"store", "what optraced keeps, or --import made"},
    [SOURCE_MEGENGINE] = {"megengine", "the JSON of MegEngine's load_and_run --profile"},
    [SOURCE_LOAD_AND_RUN] = {"load_and_run",
                             "the same from the load_and_run of optrace, which holds "
                             "all runs"},
    [SOURCE_CHROME] = {"chrome", "Chrome traces such as those of PyTorch's profiler (Kineto), also "
                                 "compressed by gzip"},
    [SOURCE_ORT] = {"ort", "profiles of ONNX Runtime"},
    [SOURCE_PYTORCH_EVENTS] = {"pytorch", "dumps of PyTorch's function events"},
    [SOURCE_NSYS] = {"nsys", "SQLite exports of Nsight Systems"},
    [SOURCE_FOLDED] = {"folded", "folded stacks, the text that flame graphs are made from"},
    [SOURCE_TRTEXEC] = {"trtexec", "what TensorRT's trtexec exports: times and profiles"},
};

void source_print_kinds(FILE *lines)
{
    for (size_t i = 0; i < SOURCE_KINDS; i++)
        text_print(lines, "%s  %s.\n", source_names[i].name, source_names[i].about);
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

static bool begins(const char *path, const char *word)
{
    size_t length = strlen(word);

    return strncmp(path, word, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

/* A member of MegEngine's profiles, or what is in one. */
static bool is_megengine(const char *path)
{
    return begins(path, "profiler") || begins(path, "graph_exec");
}

/* The piece that says it, SOURCE_KINDS while it may be in a later one. */
static enum source_kind recognise_item(const struct json_item *item)
{
    struct json_slice value = json_value(item->text, item->length);

    if (item->key && strcmp(item->key, "traceEvents") == 0)
        return SOURCE_CHROME;
    if (item->key) /* what MegEngine's members hold is looked at by its reader */
        return is_megengine(item->path) || is_megengine(item->key) ? SOURCE_MEGENGINE
                                                                   : SOURCE_KINDS;
    if (json_member(value, "start_us").kind == JSON_NUMBER &&
        json_member(value, "end_us").kind == JSON_NUMBER)
        return SOURCE_PYTORCH_EVENTS;
    if (json_member(value, "startComputeMs").kind == JSON_NUMBER ||
        json_member(value, "averageMs").kind == JSON_NUMBER)
        return SOURCE_TRTEXEC;
    if (json_member(value, "ph").kind != JSON_STRING) /* a profile of trtexec begins {"count":N} */
        return json_member(value, "count").kind == JSON_NUMBER ? SOURCE_TRTEXEC : SOURCE_KINDS;
    /* ONNX Runtime's first event is that of loading the model. */
    return json_is(json_member(value, "cat"), "Session") ||
                   json_is(json_member(value, "cat"), "Node")
               ? SOURCE_ORT
               : SOURCE_CHROME;
}

static int recognise_json(const char *path, const char *name, struct diag *diag)
{
    static const char events[] = "traceEvents[]";
    const char *parts[PARTS_MAX + 2] = {events};
    struct json_stream *stream = NULL;
    struct json_item item;
    enum source_kind kind = SOURCE_KINDS;
    int rc = json_stream_open(path, name, NULL, &stream, diag);

    for (size_t i = 0; i < PARTS_MAX && megengine_parts[i]; i++)
        parts[i + 1] = megengine_parts[i];
    if (rc == 0)
        json_stream_split(stream, parts);
    while (rc == 0 && kind == SOURCE_KINDS && (rc = json_stream_next(stream, &item, diag)) == 1) {
        kind = recognise_item(&item);
        rc = !item.key && kind == SOURCE_KINDS ? -ENOTSUP : 0;
        if (kind != SOURCE_KINDS)
            break;
    }
    if (stream && kind == SOURCE_KINDS && json_stream_has_part(stream, events))
        kind = SOURCE_CHROME; /* also an empty one */
    if (stream &&
        (json_stream_has_part(stream, "profiler") || json_stream_has_part(stream, "graph_exec")))
        kind = SOURCE_MEGENGINE; /* also an empty one */
    json_stream_close(&stream);
    if (kind != SOURCE_KINDS)
        return (int)kind;
    return rc < 0 && rc != -ENOTSUP ? rc : SOURCE_KINDS;
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

/* What was recognised, or an error, or the refusal of a document that means nothing. */
static int known(int kind, const char *name, const char *head, size_t length, struct diag *diag)
{
    return kind == SOURCE_KINDS ? refuse(name, head, length, true, diag) : kind;
}

int recognise(const char *path, const char *name, struct diag *diag)
{
    char head[FOREIGN_FILE_BYTES + 1];
    size_t length = 0, first = 0;
    bool is_packed;
    int rc = read_head(path, name, head, FOREIGN_FILE_BYTES, &length, diag);

    if (rc < 0)
        return rc;
    if (is_sqlite(head, length))
        return import_nsys_recognises(path) ? SOURCE_NSYS : SOURCE_STORE;
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
                   ? known(recognise_json(path, name, diag), name, head, 0, diag)
                   : diag_set(diag, -EUCLEAN, "%s is empty", name);
    if (!may_be_json(head + first, length - first) && import_folded_recognises(path))
        return SOURCE_FOLDED;
    if (!is_json(head + first, length - first))
        return refuse(name, head, length, false, diag);
    return known(recognise_json(path, name, diag), name, head + first, length - first, diag);
}
