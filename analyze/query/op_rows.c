/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a session. What many of them say is read and kept once, as it stands in the store: a
 * million ops may share a text of 64 kB. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/op_class.h"
#include "analyze/query/private.h"

/* A text of the session that ops have by its number. */
struct long_text {
    int64_t id;
    const char *text, *strides; /* once they were asked for */
    bool is_read, has_strides;
};

struct op_reader {
    struct store *store;
    struct query_texts *texts;
    int64_t session_id;
    ARRAY_OF(struct long_text) long_texts; /* by id */
    sqlite3_stmt *values;
    struct diag *diag;
    int error; /* the first that read_text() met */
};

static int list_texts(struct op_reader *reader)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reader->store,
                           "SELECT text_id FROM text WHERE session_id = ?1 ORDER BY text_id",
                           &statement, reader->diag);

    sqlite3_bind_int64(statement, 1, reader->session_id);
    while (rc == 0 && (rc = query_step(reader->store, statement, reader->diag)) == 1) {
        const struct long_text text = {.id = sqlite3_column_int64(statement, 0)};

        rc = array_push(&reader->long_texts, text);
    }
    sqlite3_finalize(statement);
    if (rc == 0 && reader->long_texts.count > 0)
        rc = query_prepare(reader->store,
                           "SELECT value FROM text WHERE session_id = ?1 AND text_id = ?2",
                           &reader->values, reader->diag);
    if (rc == 0 && reader->values)
        sqlite3_bind_int64(reader->values, 1, reader->session_id);
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    const struct long_text *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* NULL where there is none, in a damaged store. */
static struct long_text *find_text(struct op_reader *reader, int64_t id)
{
    const struct long_text key = {.id = id};

    return reader->long_texts.count == 0
               ? NULL
               : bsearch(&key, reader->long_texts.items, reader->long_texts.count, sizeof(key),
                         compare_ids);
}

static void read_value(struct op_reader *reader, struct long_text *text)
{
    int rc;

    text->is_read = true;
    sqlite3_bind_int64(reader->values, 2, text->id);
    rc = query_step(reader->store, reader->values, reader->diag);
    if (rc == 1)
        text->text = query_text(reader->texts, reader->values, 0);
    else if (rc < 0 && reader->error == 0)
        reader->error = rc;
    sqlite3_reset(reader->values);
}

/* The text that a column has or names; *out_long is where it is kept, or NULL. */
static const char *read_text(struct op_reader *reader, sqlite3_stmt *row, int column,
                             struct long_text **out_long)
{
    *out_long = NULL;
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER)
        return query_text(reader->texts, row, column);
    *out_long = find_text(reader, sqlite3_column_int64(row, column));
    if (!*out_long)
        return NULL;
    if (!(*out_long)->is_read)
        read_value(reader, *out_long);
    return (*out_long)->text;
}

/* Strides of inputs that are not contiguous stand among the parameters. */
static const char *find_strides(struct query_texts *texts, const char *params)
{
    const char *kept = NULL;
    cJSON *parsed;
    char *text;

    if (!params || !strstr(params, "\"input_strides\""))
        return NULL;
    parsed = cJSON_Parse(params);
    text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(parsed, "input_strides"));
    if (text)
        kept = query_keep(texts, text);
    cJSON_free(text);
    cJSON_Delete(parsed);
    return kept;
}

static void read_params(struct op_reader *reader, sqlite3_stmt *row, int column,
                        struct op_row *out_row)
{
    struct long_text *shared;

    out_row->params = read_text(reader, row, column, &shared);
    if (shared && shared->has_strides) {
        out_row->input_strides = shared->strides;
        return;
    }
    out_row->input_strides = find_strides(reader->texts, out_row->params);
    if (shared) {
        shared->strides = out_row->input_strides;
        shared->has_strides = true;
    }
}

static const char ops_sql[] =
    "SELECT op_id, name, type, node_id, device, source,"
    "       iif(origin_texts IS NULL, origin, (SELECT o.origin FROM op o WHERE o.op_id = r.op_id)),"
    "       input_shapes, input_dtypes, output_shapes, output_dtypes, params, computation_flop,"
    "       memory_bytes"
    "  FROM op_row r WHERE session_id = ?1 ORDER BY client_op";

static void read_op(struct op_reader *reader, sqlite3_stmt *row, struct op_row *out_row)
{
    struct query_texts *texts = reader->texts;
    struct long_text *shared;

    *out_row = (struct op_row){
        .op_id = query_int(row, 0),
        .session_id = reader->session_id,
        .name = read_text(reader, row, 1, &shared),
        .type = read_text(reader, row, 2, &shared),
        .node_id = read_text(reader, row, 3, &shared),
        .device = read_text(reader, row, 4, &shared),
        .source = read_text(reader, row, 5, &shared),
        .origin = query_text(texts, row, 6),
        .input_shapes = query_text(texts, row, 7),
        .input_dtypes = query_text(texts, row, 8),
        .output_shapes = query_text(texts, row, 9),
        .output_dtypes = query_text(texts, row, 10),
        .computation_flop = query_int(row, 12),
        .memory_bytes = believed_bytes(query_int(row, 13)),
    };
    read_params(reader, row, 11, out_row);
    out_row->name = out_row->name ? out_row->name : "";
    out_row->type = out_row->type ? out_row->type : "";
    out_row->is_label = strcmp(out_row->type, "label") == 0;
    op_class_note(out_row);
}

/* Types that stand for something else than an op. */
static enum scan_op_kind kind_of(const struct reading *reading, const struct op_row *row)
{
    static const char *const others[] = {"phase", "counter", "mark"};

    if (row->is_label)
        return reading->question->labels || reading->every_span ? SCAN_OP_WHOLE : SCAN_OP_SKIPPED;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(row->type, others[i]) == 0)
            return reading->every_span ? SCAN_OP_WHOLE : SCAN_OP_SKIPPED;
    }
    return SCAN_OP_NESTING;
}

int reading_read_ops(struct reading *reading, int64_t session_id, struct diag *diag)
{
    struct op_reader reader = {
        .store = reading->store, .texts = reading->texts, .session_id = session_id, .diag = diag};
    sqlite3_stmt *statement = NULL;
    int rc = list_texts(&reader);

    if (rc == 0)
        rc = query_prepare(reading->store, ops_sql, &statement, diag);
    sqlite3_bind_int64(statement, 1, session_id);
    while (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1) {
        struct op_row row;

        read_op(&reader, statement, &row);
        rc = reader.error < 0 ? reader.error : 0;
        if (rc == 0)
            rc = reading->texts->failed ? -ENOMEM : array_push(&reading->rows, row);
        if (rc == 0)
            rc = array_push(&reading->op_ids, row.op_id);
        if (rc == 0)
            rc = array_push(&reading->op_kinds, (uint8_t)kind_of(reading, &row));
    }
    sqlite3_finalize(statement);
    sqlite3_finalize(reader.values);
    array_deinit(&reader.long_texts);
    return rc;
}
