/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, line by line. */
#include "analyze/import/folded.h"
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/import/values.h"
#include "analyze/json/unpack_error.h"

enum { LINE_BYTES_MAX = 1 << 20, DEPTH_MAX = 4096 };

struct folded_frame {
    uint32_t op;
    int64_t start_ns;
};

struct folded {
    struct importer importer;
    const char *name;
    int64_t count_ns; /* what a count stands for */
    gzFile file;      /* may be compressed or not */
    char *line;
    uint64_t offset; /* of the line */
    uint32_t lane;
    struct folded_frame open[DEPTH_MAX]; /* frames of the last stack */
    size_t open_count;
    int64_t now_ns;
    uint64_t stack_count, bad_count;
    bool is_cut;
};

/* --- Lines. --- */

/* The next line, without its end. Returns 1, 0 at the end of the file, or -EUCLEAN for one too
 * long. */
static int next_line(gzFile file, char *line, size_t *out_length)
{
    size_t length;

    if (!gzgets(file, line, LINE_BYTES_MAX))
        return 0;
    length = strlen(line); /* a zero byte ends it: the line is then no stack */
    if (length == LINE_BYTES_MAX - 1 && line[length - 1] != '\n')
        return -EUCLEAN;
    while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    line[length] = '\0';
    *out_length = length;
    return 1;
}

/* The count behind the last space, which becomes the end of the stack. False: there is none. */
static bool cut_count(char *line, size_t length, int64_t *out_thousandths)
{
    char *space = strrchr(line, ' ');
    struct json_slice digits;

    if (!space || space == line)
        return false;
    digits = (struct json_slice){space + 1, length - (size_t)(space + 1 - line), JSON_NUMBER};
    if (!json_decimal(digits, 3, out_thousandths) || *out_thousandths < 0)
        return false;
    *space = '\0';
    return true;
}

bool import_folded_detects(const char *path)
{
    char *line = malloc(LINE_BYTES_MAX);
    gzFile file = line ? gzopen(path, "re") : NULL;
    bool is_stack = false;
    size_t length = 0;
    int64_t count;

    while (file && !length && next_line(file, line, &length) == 1)
        is_stack = length && cut_count(line, length, &count);
    if (file)
        gzclose(file);
    free(line);
    return is_stack;
}

/* --- Frames. --- */

/* "dir/file.py(54):_function" as "dir/file.py:54"; NULL where a frame is not of that form. The
 * caller frees it. */
static char *place_of(const char *frame)
{
    const char *open = strrchr(frame, '('), *end = open ? strstr(open, "):") : NULL;
    char *text;

    if (!end || strspn(open + 1, "0123456789") != (size_t)(end - open - 1) || end == open + 1)
        return NULL;
    return asprintf(&text, "%.*s:%.*s", (int)(open - frame), frame, (int)(end - open - 1),
                    open + 1) < 0
               ? NULL
               : text;
}

static int find_op(struct folded *folded, const char *frame, uint32_t *out_op, struct diag *diag)
{
    struct place_key identity = {0};
    struct store_op row = {
        .type = "frame",
        .computation_flop = STORE_NULL,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };
    char *name, *source;
    int rc;

    place_key_add(&identity, frame, strlen(frame));
    *out_op = importer_find_op(&folded->importer, identity);
    if (*out_op != PLACE_NONE)
        return 0;
    name = json_take_text((struct json_slice){frame, strlen(frame), JSON_NULL});
    source = name ? place_of(name) : NULL;
    row.name = name;
    row.source = source;
    rc = name ? importer_put_op(&folded->importer, identity, &row, out_op, diag)
              : diag_set(diag, -ENOMEM, "no memory for the stacks");
    free(name);
    free(source);
    return rc;
}

/* Ends the frames from `depth` on, the innermost first. */
static int close_frames(struct folded *folded, size_t depth, struct diag *diag)
{
    int rc = 0;

    while (rc == 0 && folded->open_count > depth) {
        const struct folded_frame *frame = &folded->open[--folded->open_count];
        struct import_span span = {
            .lane = folded->lane,
            .op = frame->op,
            .start_ns = frame->start_ns,
            .dur_ns = folded->now_ns - frame->start_ns,
            .depth = folded->open_count,
            .kern_ns = STORE_NULL,
            .correlation = STORE_NULL,
            .bytes = STORE_NULL,
        };

        rc = importer_span(&folded->importer, &span, diag);
    }
    return rc;
}

static int add_stack(struct folded *folded, char *stack, int64_t count_ns, struct diag *diag)
{
    size_t depth = 0;
    int rc = 0;

    for (char *frame = stack, *next; frame && rc == 0; frame = next, depth++) {
        struct folded_frame made = {.start_ns = folded->now_ns};

        next = strchr(frame, ';');
        if (next)
            *next++ = '\0';
        rc = find_op(folded, frame, &made.op, diag);
        if (rc == 0 && depth < folded->open_count && folded->open[depth].op == made.op)
            continue;
        if (rc == 0)
            rc = close_frames(folded, depth, diag);
        if (rc == 0)
            folded->open[folded->open_count++] = made;
    }
    if (rc == 0)
        rc = close_frames(folded, depth, diag);
    folded->now_ns += count_ns;
    return rc;
}

/* --- The file. --- */

static int read_failed(struct folded *folded, struct diag *diag)
{
    int code;
    const char *text = unpack_error(folded->file, &code);

    if (code == Z_ERRNO)
        return diag_set(diag, -EIO, "cannot read %s: %s", folded->name, strerror(errno));
    return diag_set_at(diag, -EUCLEAN, (int64_t)folded->offset,
                       "%s: cannot be unpacked behind byte %" PRIu64 " of its contents: %s",
                       folded->name, folded->offset, text);
}

static size_t depth_of(const char *stack)
{
    size_t depth = 1;

    while ((stack = strchr(stack, ';'))) {
        depth++;
        stack++;
    }
    return depth;
}

/* The time of a count, or IMPORT_TIME_MAX + 1. */
static int64_t time_of(const struct folded *folded, int64_t thousandths)
{
    double time_ns = (double)thousandths / 1000 * (double)folded->count_ns;

    return time_ns > (double)IMPORT_TIME_MAX ? IMPORT_TIME_MAX + 1 : llround(time_ns);
}

static int add_line(struct folded *folded, size_t length, const struct import_options *options,
                    struct diag *diag)
{
    int64_t count_ns = 0;

    if (!length)
        return 0;
    if (!cut_count(folded->line, length, &count_ns) || depth_of(folded->line) > DEPTH_MAX ||
        !is_import_time(folded->now_ns, time_of(folded, count_ns))) {
        folded->bad_count++;
        if (options && options->lenient)
            return 0;
        return diag_set_at(diag, -EUCLEAN, (int64_t)folded->offset,
                           "%s: the line at byte %" PRIu64 " is no stack with a count",
                           folded->name, folded->offset);
    }
    folded->stack_count++;
    return add_stack(folded, folded->line, time_of(folded, count_ns), diag);
}

static int read_lines(struct folded *folded, const struct import_options *options,
                      struct diag *diag)
{
    size_t length;
    int rc, code = Z_OK;

    while ((rc = next_line(folded->file, folded->line, &length)) == 1) {
        if (!folded->offset && strncmp(folded->line, "\xef\xbb\xbf", 3) == 0)
            memmove(folded->line, folded->line + 3, (length -= 3) + 1);
        rc = add_line(folded, length, options, diag);
        if (rc < 0)
            return rc;
        folded->offset = (uint64_t)gztell(folded->file);
    }
    if (rc < 0)
        return diag_set_at(diag, rc, (int64_t)folded->offset,
                           "%s: the line at byte %" PRIu64 " is longer than %d bytes", folded->name,
                           folded->offset, LINE_BYTES_MAX);
    gzerror(folded->file, &code);
    if (code == Z_OK)
        return 0;
    rc = read_failed(folded, diag);
    if (rc != -EUCLEAN || !options || !options->lenient)
        return rc;
    folded->is_cut = true;
    diag->text[0] = '\0';
    return 0;
}

static int finish(struct folded *folded, bool is_known, struct diag *diag)
{
    char note[700], unit[32];
    struct store_session session = {.pid = STORE_NULL, .uid = STORE_NULL, .note = note};
    int rc = close_frames(folded, 0, diag);

    snprintf(unit, sizeof(unit), "%" PRId64 " ns", folded->count_ns);
    snprintf(note, sizeof(note), "%.400s: %" PRIu64 " folded stacks, one behind the other; %s%s",
             folded->name, folded->stack_count,
             is_known ? "a count stands for " : "times are counts of samples",
             is_known ? unit : "");
    import_note_count(note, sizeof(note), folded->bad_count, "lines without a count: left out");
    session.damage_count = folded->is_cut;
    if (folded->is_cut)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 "; cannot be unpacked behind byte %" PRIu64 " of its contents: the rest is lost",
                 folded->offset);
    return rc < 0 ? rc : importer_finish(&folded->importer, &session, 0, diag);
}

int import_folded(const char *path, const char *name, struct store *store,
                  const struct import_options *options, struct diag *diag)
{
    struct folded *folded = calloc(1, sizeof(*folded));
    struct importer_lane lane = {.name = "stacks", .native_id = STORE_NULL};
    bool is_known = options && options->sample_ns;
    int rc;

    if (!folded || !(folded->line = malloc(LINE_BYTES_MAX))) {
        free(folded);
        return diag_set(diag, -ENOMEM, "no memory for the stacks");
    }
    folded->name = name;
    folded->count_ns = is_known ? options->sample_ns : FOLDED_COUNT_NS;
    folded->file = gzopen(path, "re");
    rc = folded->file ? importer_begin(&folded->importer, store,
                                       is_known ? "folded" : STORE_SOURCE_SAMPLES, diag)
                      : diag_set(diag, -errno, "cannot open %s: %s", name, strerror(errno));
    if (rc == 0)
        rc = importer_lane(&folded->importer, &lane, &folded->lane, diag);
    if (rc == 0)
        rc = read_lines(folded, options, diag);
    if (rc == 0)
        rc = finish(folded, is_known, diag);
    importer_deinit(&folded->importer);
    if (folded->file)
        gzclose(folded->file);
    free(folded->line);
    free(folded);
    return rc;
}

const struct import_format import_folded_format = {
    .name = "folded",
    .about = "folded stacks, the text that flame graphs are made from",
    .container = IMPORT_TEXT,
    .takes_samples = true,
    .detects_file = import_folded_detects,
    .read_file = import_folded,
};
