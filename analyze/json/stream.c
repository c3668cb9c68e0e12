/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a JSON document into pieces while it is read. */
#include "analyze/json/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/json/text.h"
#include "analyze/json/unpack_error.h"
#include "base/amount.h"

enum {
    CHUNK_BYTES =
        256 << 10, /* fits into the second-level cache, where the pieces' reader finds it */
    LEVELS_MAX = 6,
    INDENT_MAX = 16,
    RESUMES_MAX = 1000, /* each may read a piece of the largest size in vain */
};

enum place {
    AT_START,   /* before the document */
    IN_OBJECT,  /* before a key, or the end of the object */
    IN_MEMBER,  /* behind the key's colon */
    IN_ARRAY,   /* before an element, or the end of the array */
    AFTER_ITEM, /* behind a value: a comma or the bracket's end */
    AT_END,
};

/* An object or array that is gone through piece by piece. */
struct level {
    bool is_array;
    bool has_seen_element;
    bool has_indent; /* each element begins a line with the same white space */
    char indent[INDENT_MAX];
    bool has_parts;     /* some of its members may be gone through too */
    size_t path_length; /* of stream->path */
};

struct text_buffer {
    char *bytes; /* NUL-terminated, or NULL at first */
    size_t capacity;
};

struct json_stream {
    char *name;
    gzFile file;         /* NULL: all bytes are in `bytes` already */
    uint64_t file_bytes; /* 0: not known */
    struct json_stream_watch watch;
    char *bytes; /* [at, end) is not used up yet */
    size_t capacity, at, end;
    uint64_t base; /* offset of bytes[0] in the document */
    bool is_borrowed, is_at_eof;
    enum place place;
    struct level levels[LEVELS_MAX];
    size_t level_count;
    const char *const *parts; /* NULL: none but arrays of the document */
    uint64_t parts_met;       /* a bit for each of the first 64 */
    struct text_buffer key, path;
    bool is_unclosed;
    unsigned resume_count;
    int failed;
    struct diag failure;
};

static uint64_t offset_of(const struct json_stream *stream)
{
    return stream->base + stream->at;
}

int json_stream_damage(const struct json_stream *stream, uint64_t offset, const char *text,
                       struct diag *diag)
{
    return diag_set_at(diag, -EUCLEAN, (int64_t)offset, "%s: malformed JSON at byte %llu: %s",
                       stream->name, (unsigned long long)offset, text);
}

int json_stream_fault(const struct json_stream *stream, uint64_t offset, const char *text,
                      struct diag *diag)
{
    return diag_set_at(diag, -EUCLEAN, (int64_t)offset, "%s: %s, at byte %llu", stream->name, text,
                       (unsigned long long)offset);
}

/* --- Bytes. --- */

static int read_failed(const struct json_stream *stream, struct diag *diag)
{
    int code;
    const char *text = unpack_error(stream->file, &code);

    if (code == Z_ERRNO)
        return diag_set(diag, -EIO, "cannot read %s: %s", stream->name, strerror(errno));
    if (code == Z_MEM_ERROR)
        return diag_set(diag, -ENOMEM, "no memory to unpack %s", stream->name);
    return diag_set_at(diag, -EUCLEAN, (int64_t)(stream->base + stream->end),
                       "%s: cannot be unpacked behind byte %llu of its contents: %s", stream->name,
                       (unsigned long long)(stream->base + stream->end), text);
}

/* Moves what is left to the front and reads more behind it. Returns 1, 0 at the end of the file. */
static int read_more(struct json_stream *stream, struct diag *diag)
{
    size_t kept = stream->end - stream->at;
    char most[32];
    int length;

    if (stream->is_at_eof)
        return 0;
    if (kept > JSON_STREAM_ITEM_BYTES_MAX)
        return diag_set_at(diag, -EFBIG, (int64_t)offset_of(stream),
                           "%s: the value at byte %llu is larger than %s", stream->name,
                           (unsigned long long)offset_of(stream),
                           amount_format_bytes(most, sizeof(most), JSON_STREAM_ITEM_BYTES_MAX));
    memmove(stream->bytes, stream->bytes + stream->at, kept);
    stream->base += stream->at;
    stream->at = 0;
    stream->end = kept;
    if (stream->capacity - kept < CHUNK_BYTES) {
        char *grown = realloc(stream->bytes, stream->capacity * 2);

        if (!grown)
            return diag_set(diag, -ENOMEM, "no memory to read %s", stream->name);
        stream->bytes = grown;
        stream->capacity *= 2;
    }
    length = gzread(stream->file, stream->bytes + kept, CHUNK_BYTES);
    if (length <= 0) {
        int code;

        gzerror(stream->file, &code);
        if (length < 0 || code != Z_OK)
            return read_failed(stream, diag);
        stream->is_at_eof = true;
        return 0;
    }
    stream->end += (size_t)length;
    if (stream->watch.read)
        stream->watch.read(stream->watch.context, (uint64_t)gzoffset(stream->file),
                           stream->file_bytes);
    return 1;
}

/* The first element of an array begins a line: so will the others. The white space before it may
 * lie in an earlier chunk; then it goes unseen. */
static void note_indent(struct json_stream *stream, struct level *level)
{
    size_t start = stream->at;

    while (start > 0 && (stream->bytes[start - 1] == ' ' || stream->bytes[start - 1] == '\t'))
        start--;
    if (stream->bytes[stream->at] != '{' || stream->at - start >= INDENT_MAX || start == 0 ||
        stream->bytes[start - 1] != '\n')
        return;
    memcpy(level->indent, stream->bytes + start, stream->at - start);
    level->indent[stream->at - start] = '\0';
    level->has_indent = true;
}

/* The next byte that is no white space, without using it up; 0 at the end of the file. */
static int peek(struct json_stream *stream, char *out_byte, struct diag *diag)
{
    int rc;

    do {
        while (stream->at < stream->end) {
            char byte = stream->bytes[stream->at];

            if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') {
                *out_byte = byte;
                return 1;
            }
            stream->at++;
        }
        rc = read_more(stream, diag);
    } while (rc == 1);
    return rc;
}

/* --- Values. --- */

/* Finds the end of the value at stream->at. Its bytes are then all in memory. */
static int measure_value(struct json_stream *stream, size_t *out_length, struct diag *diag)
{
    struct json_scan scan = {0};
    size_t done = 0;

    for (;;) {
        const char *text = stream->bytes + stream->at;
        size_t length = stream->end - stream->at;
        int rc = json_scan(&scan, text, length, &done);

        if (rc == 1) {
            *out_length = done;
            return 0;
        }
        if (rc < 0)
            return json_stream_damage(stream, offset_of(stream) + done, json_scan_problem(rc),
                                      diag);
        rc = read_more(stream, diag);
        if (rc == 0 && json_scan_may_end(&scan)) {
            *out_length = stream->end - stream->at;
            return 0;
        }
        if (rc == 0)
            rc = diag_set_at(diag, -EUCLEAN, (int64_t)(stream->base + stream->end),
                             "%s: the file ends at byte %llu, in the middle of the value that "
                             "begins at byte %llu",
                             stream->name, (unsigned long long)(stream->base + stream->end),
                             (unsigned long long)offset_of(stream));
        if (rc < 0)
            return rc;
    }
}

static int read_value(struct json_stream *stream, struct json_item *out_item, struct diag *diag)
{
    size_t length;
    int rc = measure_value(stream, &length, diag);

    if (rc < 0)
        return rc;
    *out_item = (struct json_item){
        .path = stream->path.bytes,
        .key = stream->levels[0].is_array ? NULL : stream->key.bytes,
        .is_element = stream->levels[stream->level_count - 1].is_array,
        .text = stream->bytes + stream->at,
        .length = length,
        .offset = offset_of(stream),
    };
    stream->at += length;
    stream->place = AFTER_ITEM;
    return 1;
}

/* Replaces what stands behind the first `kept` bytes. */
static int put_text(struct text_buffer *buffer, size_t kept, const char *text, size_t length)
{
    if (kept + length + 1 > buffer->capacity) {
        size_t capacity = 2 * (kept + length + 1);
        char *grown = realloc(buffer->bytes, capacity);

        if (!grown)
            return -ENOMEM;
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (length)
        memcpy(buffer->bytes + kept, text, length);
    buffer->bytes[kept + length] = '\0';
    return 0;
}

/* `"key" :`, the quote being the next byte. */
static int read_key(struct json_stream *stream, struct diag *diag)
{
    size_t length;
    char byte = '\0';
    int rc = measure_value(stream, &length, diag);

    if (rc < 0)
        return rc;
    if (put_text(&stream->key, 0, stream->bytes + stream->at + 1, length - 2) < 0)
        return diag_set(diag, -ENOMEM, "no memory to read %s", stream->name);
    stream->at += length;
    rc = peek(stream, &byte, diag);
    if (rc == 1 && byte != ':')
        return json_stream_damage(stream, offset_of(stream), "a colon is missing behind a key",
                                  diag);
    if (rc == 1)
        stream->at++;
    return rc;
}

/* --- Where in the document. --- */

static struct level *this_level(struct json_stream *stream)
{
    return &stream->levels[stream->level_count - 1];
}

/* Whether stream->path, that of an array or object, is one of the parts, or leads to some. */
static bool is_part(struct json_stream *stream, bool is_array, bool *out_leads_on)
{
    size_t length = strlen(stream->path.bytes);
    bool is_found = false;

    *out_leads_on = false;
    for (size_t i = 0; stream->parts && stream->parts[i]; i++) {
        const char *part = stream->parts[i];

        if (strncmp(part, stream->path.bytes, length) != 0)
            continue;
        if (strcmp(part + length, is_array ? "[]" : "") == 0) {
            is_found = true;
            stream->parts_met |= i < 64 ? UINT64_C(1) << i : 0;
        }
        *out_leads_on |= !is_array && part[length] == '.';
    }
    return is_found;
}

/* Goes into the bracket at stream->at. */
static void enter(struct json_stream *stream, struct level level)
{
    stream->levels[stream->level_count++] = level;
    stream->at++;
    stream->place = level.is_array ? IN_ARRAY : IN_OBJECT;
}

/* Goes into the value that begins with `byte` where that is to be gone through. Returns 1 then, 0
 * where it is a piece. */
static int enter_part(struct json_stream *stream, char byte, struct diag *diag)
{
    const struct level *outer = this_level(stream);
    struct level level = {.is_array = byte == '['};
    size_t kept = outer->path_length + (outer->path_length > 0), length = strlen(stream->key.bytes);
    bool is_listed;

    if ((byte != '[' && byte != '{') || stream->level_count == LEVELS_MAX ||
        !(outer->has_parts || (level.is_array && stream->level_count == 1)))
        return 0;
    if (put_text(&stream->path, outer->path_length, ".", kept - outer->path_length) < 0 ||
        put_text(&stream->path, kept, stream->key.bytes, length) < 0)
        return diag_set(diag, -ENOMEM, "no memory to read %s", stream->name);
    level.path_length = kept + length;
    is_listed = is_part(stream, level.is_array, &level.has_parts);
    if (!is_listed && !(level.is_array && stream->level_count == 1)) {
        stream->path.bytes[outer->path_length] = '\0';
        return 0;
    }
    enter(stream, level);
    return 1;
}

static int start(struct json_stream *stream, struct diag *diag)
{
    char byte = '\0';
    int rc = read_more(stream, diag);

    if (rc >= 0 && stream->end >= 3 && memcmp(stream->bytes, "\xef\xbb\xbf", 3) == 0)
        stream->at = 3; /* a mark that Windows' editors put there */
    if (rc >= 0)
        rc = peek(stream, &byte, diag);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return diag_set(diag, -EUCLEAN, "%s is empty", stream->name);
    if (byte != '{' && byte != '[')
        return json_stream_damage(stream, offset_of(stream), "a { or [ is missing", diag);
    enter(stream, (struct level){.is_array = byte == '[', .has_parts = stream->parts != NULL});
    return 1;
}

/* Behind the document's last bracket nothing but white space may stand. */
static int finish(struct json_stream *stream, struct diag *diag)
{
    char byte;
    int rc = peek(stream, &byte, diag);

    stream->place = AT_END;
    if (rc == 1)
        return json_stream_damage(stream, offset_of(stream), "something follows the document",
                                  diag);
    return rc;
}

static int close_bracket(struct json_stream *stream, char byte, struct diag *diag)
{
    if (byte != (this_level(stream)->is_array ? ']' : '}'))
        return json_stream_damage(stream, offset_of(stream), "the wrong bracket", diag);
    stream->at++;
    if (--stream->level_count == 0)
        return finish(stream, diag);
    stream->path.bytes[this_level(stream)->path_length] = '\0';
    stream->place = AFTER_ITEM;
    return 1;
}

/* One step; *out_has_item says that an item was read. Returns 1, or 0 at the end. */
static int advance(struct json_stream *stream, struct json_item *out_item, bool *out_has_item,
                   struct diag *diag)
{
    char byte = '\0';
    int rc;

    if (stream->place == AT_START)
        return start(stream, diag);
    if (stream->place == AT_END)
        return 0;
    rc = peek(stream, &byte, diag);
    if (rc < 0)
        return rc;
    if (rc == 0) {
        stream->is_unclosed = true;
        stream->place = AT_END;
        return 0;
    }
    if (stream->place == IN_MEMBER && (rc = enter_part(stream, byte, diag)) != 0)
        return rc;
    if (stream->place != IN_MEMBER && (byte == ']' || byte == '}'))
        return close_bracket(stream, byte, diag);
    if (stream->place == AFTER_ITEM) {
        if (byte != ',')
            return json_stream_damage(stream, offset_of(stream), "a comma is missing", diag);
        stream->at++;
        stream->place = this_level(stream)->is_array ? IN_ARRAY : IN_OBJECT;
        return 1;
    }
    if (stream->place == IN_OBJECT) {
        if (byte != '"')
            return json_stream_damage(stream, offset_of(stream), "a key is missing", diag);
        rc = read_key(stream, diag);
        stream->place = IN_MEMBER;
        return rc < 0 ? rc : 1;
    }
    *out_has_item = true;
    if (!this_level(stream)->has_seen_element) {
        this_level(stream)->has_seen_element = true;
        note_indent(stream, this_level(stream));
    }
    return read_value(stream, out_item, diag);
}

int json_stream_next(struct json_stream *stream, struct json_item *out_item, struct diag *diag)
{
    bool has_item = false;
    int rc;

    if (stream->failed)
        return diag_set_at(diag, stream->failed, stream->failure.offset, "%s",
                           stream->failure.text);
    do {
        rc = advance(stream, out_item, &has_item, &stream->failure);
    } while (rc == 1 && !has_item);
    if (rc < 0) {
        stream->failed = rc;
        diag_set_at(diag, rc, stream->failure.offset, "%s", stream->failure.text);
    }
    return rc;
}

/* Whether a line that begins an element begins at `at`, behind a line's end. */
static bool is_element_start(const struct level *level, const char *at, const char *end)
{
    size_t length = strlen(level->indent);

    return (size_t)(end - at) > length && memcmp(at, level->indent, length) == 0 &&
           at[length] == '{';
}

int json_stream_resume(struct json_stream *stream, struct diag *diag)
{
    const struct level *level = stream->level_count ? this_level(stream) : NULL;
    int rc = 1;

    if ((stream->failed != -EUCLEAN && stream->failed != -EFBIG) || !level || !level->has_indent ||
        stream->place == AT_END || ++stream->resume_count > RESUMES_MAX)
        return 0;
    while (rc == 1) {
        const char *end = stream->bytes + stream->end, *at = stream->bytes + stream->at, *line;

        /* From the end of a line on, as long as its white space may be cut off by the chunk. */
        while ((line = memchr(at, '\n', (size_t)(end - at))) &&
               (size_t)(end - line) > 1 + INDENT_MAX) {
            if (is_element_start(level, line + 1, end)) {
                stream->at = (size_t)(line + 1 - stream->bytes);
                stream->place = IN_ARRAY;
                stream->failed = 0;
                return 1;
            }
            at = line + 1;
        }
        stream->at = (size_t)((line ? line : end) - stream->bytes);
        rc = read_more(stream, diag);
    }
    return rc;
}

bool json_stream_has_part(const struct json_stream *stream, const char *part)
{
    for (size_t i = 0; i < 64 && stream->parts && stream->parts[i]; i++) {
        if (strcmp(stream->parts[i], part) == 0)
            return stream->parts_met >> i & 1;
    }
    return false;
}

void json_stream_split(struct json_stream *stream, const char *const *parts)
{
    stream->parts = parts;
}

bool json_stream_is_unclosed(const struct json_stream *stream)
{
    return stream->is_unclosed;
}

uint64_t json_stream_offset(const struct json_stream *stream)
{
    return offset_of(stream);
}

/* --- Opening. --- */

static int open_file(struct json_stream *stream, const char *path, struct diag *diag)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return diag_set(diag, -errno, "cannot open %s: %s", stream->name, strerror(errno));
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        close(fd);
        return diag_set(diag, -EISDIR, "cannot read %s: Is a directory", stream->name);
    }
    stream->file_bytes = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    stream->capacity = 2 * CHUNK_BYTES;
    stream->bytes = malloc(stream->capacity);
    stream->file = stream->bytes ? gzdopen(fd, "rb") : NULL;
    if (!stream->file) {
        close(fd);
        return diag_set(diag, -ENOMEM, "no memory to read %s", stream->name);
    }
    gzbuffer(stream->file, CHUNK_BYTES / 2);
    return 0;
}

static struct json_stream *make(const char *name)
{
    struct json_stream *stream = calloc(1, sizeof(*stream));

    if (stream)
        stream->name = strdup(name);
    if (stream && (!stream->name || put_text(&stream->key, 0, NULL, 0) < 0 ||
                   put_text(&stream->path, 0, NULL, 0) < 0))
        json_stream_close(&stream);
    return stream;
}

int json_stream_open(const char *path, const char *name, const struct json_stream_watch *watch,
                     struct json_stream **out_stream, struct diag *diag)
{
    struct json_stream *stream = make(name);
    int rc;

    if (!stream)
        return diag_set(diag, -ENOMEM, "no memory to read %s", name);
    if (watch)
        stream->watch = *watch;
    rc = open_file(stream, path, diag);
    if (rc < 0)
        json_stream_close(&stream);
    else
        *out_stream = stream;
    return rc;
}

int json_stream_open_memory(const char *name, const void *bytes, size_t size,
                            struct json_stream **out_stream, struct diag *diag)
{
    struct json_stream *stream = make(name);

    if (!stream)
        return diag_set(diag, -ENOMEM, "no memory to read %s", name);
    stream->bytes = (char *)(uintptr_t)bytes; /* is_borrowed: only read */
    stream->end = stream->capacity = size;
    stream->is_borrowed = stream->is_at_eof = true;
    *out_stream = stream;
    return 0;
}

void json_stream_close(struct json_stream **stream_slot)
{
    struct json_stream *stream = *stream_slot;

    if (!stream)
        return;
    *stream_slot = NULL;
    if (stream->file)
        gzclose(stream->file);
    if (!stream->is_borrowed)
        free(stream->bytes);
    free(stream->key.bytes);
    free(stream->path.bytes);
    free(stream->name);
    free(stream);
}
