/* SPDX-License-Identifier: Apache-2.0 */
/* MegEngine's profile JSON: which entry goes where, and the session. */
#include "analyze/import/megengine/megengine.h"
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/import/megengine/private.h"

/* What is gone through entry by entry; the graph may stand beside or inside of the profiler. */
static const char *const parts[] = {"graph_exec",
                                    "graph_exec.operator",
                                    "graph_exec.var",
                                    "graph_exec.mem_chunk",
                                    "graph_exec.comp_seq[]",
                                    "profiler",
                                    "profiler.device",
                                    "profiler.host",
                                    "profiler.opr_footprint",
                                    "profiler.graph_exec",
                                    "profiler.graph_exec.operator",
                                    "profiler.graph_exec.var",
                                    "profiler.graph_exec.mem_chunk",
                                    "profiler.graph_exec.comp_seq[]",
                                    "optrace",
                                    "optrace.runs[]",
                                    "optrace.spans[]",
                                    NULL};

/* --- Entries. --- */

static int read_host(struct megengine *megengine, const struct json_item *item, struct diag *diag)
{
    return megengine_read_spans(megengine, item, false, diag);
}

static int read_device(struct megengine *megengine, const struct json_item *item, struct diag *diag)
{
    return megengine_read_spans(megengine, item, true, diag);
}

/* A part that was to be gone through came as one piece: it is something else. */
static int check_part(struct megengine *megengine, const struct json_item *item, struct diag *diag)
{
    char part[100];

    snprintf(part, sizeof(part), "%s%s%s", item->path, *item->path ? "." : "", item->key);
    for (size_t i = 0; parts[i]; i++) {
        size_t length = strcspn(parts[i], "[");

        if (strlen(part) == length && memcmp(part, parts[i], length) == 0)
            return megengine_bad(megengine, item->offset, diag, "%s is not an %s", part,
                                 parts[i][length] ? "array" : "object");
    }
    return 0; /* opr_internal_pf, and what others add */
}

struct section {
    const char *path;
    int (*read)(struct megengine *megengine, const struct json_item *item, struct diag *diag);
};

static const struct section sections[] = {
    {"graph_exec.operator", megengine_read_operator},
    {"graph_exec.var", megengine_read_variable},
    {"graph_exec.mem_chunk", megengine_read_chunk},
    {"graph_exec.comp_seq", megengine_read_sequence},
    {"profiler.host", read_host},
    {"profiler.device", read_device},
    {"profiler.opr_footprint", megengine_read_op_cost},
    {"optrace", megengine_read_addition},
    {"optrace.runs", megengine_read_addition},
    {"optrace.spans", megengine_read_addition},
};

static int add_item(void *context, const struct json_item *item, struct diag *diag)
{
    struct megengine *megengine = context;
    const char *path = item->path;

    if (!item->key)
        return json_stream_damage(megengine->stream, item->offset, "a profile is no array", diag);
    if (strncmp(path, "profiler.graph_exec", 19) == 0)
        path += 9;
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (strcmp(path, sections[i].path) == 0)
            return sections[i].read(megengine, item, diag);
    }
    return check_part(megengine, item, diag);
}

/* --- All of it. --- */

/* What a document lacks that is known to be MegEngine's, or of one of its kind; NULL: nothing. */
static const char *find_lack(const struct megengine *megengine)
{
    const struct json_stream *stream = megengine->stream;
    bool has_graph = json_stream_has_part(stream, "graph_exec") ||
                     json_stream_has_part(stream, "profiler.graph_exec");

    if (!json_stream_has_part(stream, "profiler"))
        return has_graph
                   ? "has \"graph_exec\" but no \"profiler\", so it is a MegEngine graph without "
                     "times"
                   : "is JSON, but no profile that is known here";
    if (!has_graph || (!json_stream_has_part(stream, "profiler.device") &&
                       !json_stream_has_part(stream, "profiler.host")))
        return "has \"profiler\" but no \"graph_exec\" or neither \"device\" nor \"host\" in it, "
               "so "
               "it is no whole profile of MegEngine";
    return NULL;
}

/* A profile is written at once, so one that was never closed lacks something. */
static int check_whole(struct megengine *megengine, const char *name, struct diag *diag)
{
    const char *lack = find_lack(megengine);

    if (json_stream_is_unclosed(megengine->stream) && !megengine->is_lenient)
        return diag_set_at(diag, -EUCLEAN, (int64_t)json_stream_offset(megengine->stream),
                           "%s: the file ends at byte %" PRIu64 ", before its brackets are closed",
                           name, json_stream_offset(megengine->stream));
    if (lack)
        return diag_set(diag, -EUCLEAN, "%s %s: %s", name, lack, import_supported);
    return 0;
}

/* What load_and_run says of itself, or what MegEngine's form does not. */
static void describe(const struct megengine *megengine, const char *name, char *note,
                     size_t note_bytes)
{
    const struct megengine_additions *additions = &megengine->additions;

    if (additions->is_there)
        snprintf(note, note_bytes, "%.400s: a profile of %.100s", name,
                 additions->tool ? additions->tool : "load_and_run");
    else
        snprintf(note, note_bytes,
                 "%.400s: the last run only; host and device times have different zeros", name);
    import_note_count(note, note_bytes, additions->silent_runs,
                      "runs whose spans were not written: left out");
}

static int finish(struct megengine *megengine, const char *name, const struct import_loop *loop,
                  struct diag *diag)
{
    const struct megengine_additions *additions = &megengine->additions;
    char note[1500];
    struct store_session session = {
        .program = additions->is_there ? "load_and_run" : NULL,
        .pid = STORE_NULL,
        .uid = STORE_NULL,
        .note = note,
    };

    if (additions->is_there)
        megengine->importer.source = "load_and_run";
    describe(megengine, name, note, sizeof(note));
    import_note_count(note, sizeof(note), megengine->bad_count,
                      "entries that make no sense: left out");
    import_note_end(note, sizeof(note), loop);
    session.damage_count = (int64_t)loop->damage_count;
    return importer_finish(&megengine->importer, &session, additions->zero_unix_ns, diag);
}

static void megengine_deinit(struct megengine *megengine)
{
    importer_deinit(&megengine->importer);
    text_ids_deinit(&megengine->op_ids);
    text_ids_deinit(&megengine->variable_ids);
    text_ids_deinit(&megengine->chunk_ids);
    text_ids_deinit(&megengine->dtype_ids);
    array_deinit(&megengine->ops);
    array_deinit(&megengine->variables);
    array_deinit(&megengine->chunks);
    array_deinit(&megengine->sequence);
    array_deinit(&megengine->record);
    spool_deinit(&megengine->op_spool);
    spool_deinit(&megengine->variable_spool);
    spool_deinit(&megengine->cost_spool);
    place_map_deinit(&megengine->lanes);
    megengine_drop_additions(megengine);
}

int import_megengine(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, bool *out_is_timed, struct diag *diag)
{
    struct megengine megengine = {
        .stream = stream,
        .is_lenient = options && options->lenient,
        .chunk_ids = {.prefix = "chk"},
    };
    struct import_loop loop = {
        .stream = stream, .options = options, .add = add_item, .context = &megengine};
    int rc = importer_begin(&megengine.importer, store, "megengine", diag);

    megengine.importer.is_one_run = true;
    json_stream_split(stream, parts);
    if (rc == 0)
        rc = import_each(&loop, diag);
    if (rc == 0)
        rc = check_whole(&megengine, name, diag);
    if (rc == 0)
        rc = megengine_put_model(&megengine, diag);
    if (rc == 0)
        rc = megengine_put_graph(&megengine, diag);
    if (rc == 0)
        rc = megengine.additions.is_there ? megengine_place_runs(&megengine, diag)
                                          : megengine_place_spans(&megengine, diag);
    if (rc == 0)
        rc = finish(&megengine, name, &loop, diag);
    if (rc == 0 && out_is_timed)
        *out_is_timed = megengine.additions.is_there;
    megengine_deinit(&megengine);
    return rc;
}

static const char *const marks[] = {"profiler", "graph_exec", NULL};

static bool begins(const char *path, const char *word)
{
    size_t length = strlen(word);

    return strncmp(path, word, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

/* A member of these profiles, or what is in one. What they hold is looked at as they are read. */
static bool detects_piece(const struct json_item *piece)
{
    for (size_t i = 0; piece->key && marks[i]; i++)
        if (begins(piece->path, marks[i]) || begins(piece->key, marks[i]))
            return true;
    return false;
}

extern const struct import_format import_load_and_run_format;

/* Ours says when all was, and holds all runs. */
static int read_json(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, const struct import_format **out_format,
                     struct diag *diag)
{
    bool is_timed = false;
    int rc = import_megengine(stream, name, store, options, &is_timed, diag);

    if (is_timed)
        *out_format = &import_load_and_run_format;
    return rc;
}

const struct import_format import_megengine_format = {
    .name = "megengine",
    .about = "the JSON of MegEngine's load_and_run --profile",
    .is_one_run = true,
    .parts = parts,
    .marks = marks,
    .detects_piece = detects_piece,
    .read_json = read_json,
};

const struct import_format import_load_and_run_format = {
    .name = "load_and_run",
    .about = "the same from the load_and_run of optrace, which holds all runs",
};
