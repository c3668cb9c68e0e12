/* SPDX-License-Identifier: Apache-2.0 */
/* Printing a model's instructions. */
#include "runtime/modes/print_graph.h"

#include <errno.h>

#include "base/text.h"
#include "runtime/session/program.h"
#include "runtime/session/session.h"

static const char *stage_name(const struct exec *exec)
{
    return exec ? "after" : "before";
}

static int describe_text(const struct graph *graph, struct exec *exec, FILE *out)
{
    struct program program;
    int rc = program_init(&program, graph, exec);

    if (rc == 0)
        program_write_text(&program, out);
    program_deinit(&program);
    return rc;
}

static int describe_dot(const struct graph *graph, struct exec *exec, FILE *out)
{
    struct program program;
    int rc = program_init(&program, graph, exec);

    if (rc == 0)
        program_write_dot(&program, stage_name(exec), false, out);
    program_deinit(&program);
    return rc;
}

static int describe_brief(const struct graph *graph, struct exec *exec, FILE *out)
{
    struct program program;
    int rc = program_init(&program, graph, exec);

    if (rc == 0)
        program_write_dot(&program, stage_name(exec), true, out);
    program_deinit(&program);
    return rc;
}

static int describe_json(const struct graph *graph, struct exec *exec, FILE *out)
{
    struct json_writer json;
    struct program program;
    int rc = program_init(&program, graph, exec);

    if (rc == 0) {
        json_init_file(&json, out);
        json_set_indent(&json, 2);
        program_write_json(&program, stage_name(exec), &json);
        rc = json_finish(&json);
    }
    program_deinit(&program);
    return rc;
}

static void write_texts(const struct print_config *config, const struct session *session, FILE *out)
{
    const char *before = config->stage != PRINT_AFTER ? session->text_before : NULL;
    const char *after = config->stage != PRINT_BEFORE ? session->text_after : NULL;

    bool is_json = config->format == PRINT_JSON;

    if (is_json)
        fputs("{\"version\": 1, \"graphs\": [", out);
    if (before)
        text_put_page(before, out);
    if (before && after)
        fputc(is_json ? ',' : '\n', out);
    if (after)
        text_put_page(after, out);
    if (is_json)
        fputs("]}\n", out);
}

int print_graph(const struct print_config *config, FILE *out, struct diag *diag)
{
    int (*const describe[])(const struct graph *, struct exec *, FILE *) = {
        [PRINT_TEXT] = describe_text,
        [PRINT_DOT] = describe_dot,
        [PRINT_JSON] = describe_json,
        [PRINT_BRIEF] = describe_brief,
    };
    const struct session_config session_config = {
        .inputs = config->inputs,
        .exec = config->exec,
        .passes = config->passes,
        .describe = describe[config->format],
    };
    struct session *session = NULL;
    int rc = session_load(config->path, false, false, config->inputs, &session, diag);

    if (rc == 0) {
        rc = session_prepare(session, &session_config, diag);
        write_texts(config, session, out);
    }
    session_destroy(&session);
    return rc;
}
