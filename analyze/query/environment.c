/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about sessions, one statement each. */
#include "analyze/query/environment.h"

#include <errno.h>
#include <string.h>

#include "analyze/query/private.h"
#include "base/amount.h"
#include "base/text_buffer.h"

const struct environment_name environment_names[ENVIRONMENT_FACTS] = {
    [ENVIRONMENT_HOST] = {"host", "host"},
    [ENVIRONMENT_CPU] = {"cpu", "CPU"},
    [ENVIRONMENT_CPU_COUNT] = {"cpu_count", "number of CPUs"},
    [ENVIRONMENT_GOVERNOR] = {"cpu_governor", "frequency governor"},
    [ENVIRONMENT_MEMORY] = {"memory", "memory", true},
    [ENVIRONMENT_GPUS] = {"gpus", "GPUs"},
    [ENVIRONMENT_DRIVER] = {"gpu_driver", "GPU driver"},
    [ENVIRONMENT_KERNEL] = {"kernel", "kernel"},
    [ENVIRONMENT_PROGRAM] = {"program", "program"},
    [ENVIRONMENT_COMMAND] = {"command", "command"},
    [ENVIRONMENT_LIBRARY] = {"library", "client library"},
    [ENVIRONMENT_SOURCE] = {"source", "recorded by"},
    [ENVIRONMENT_MODEL] = {"model", "model"},
    [ENVIRONMENT_DIGEST] = {"model_digest", "digest of the model"},
    [ENVIRONMENT_PARAMETERS] = {"model_parameters", "weights of the model", true},
    [ENVIRONMENT_DEVICES] = {"devices", "devices"},
    [ENVIRONMENT_LANES] = {"lanes", "lanes"},
};

/* A part of session.environment. */
#define OF_MACHINE(name)                                                                           \
    "SELECT CASE json_valid(environment) WHEN 1 THEN"                                              \
    " json_extract(environment, '$." name "') END FROM session WHERE session_id = ?1"

/* Each gives one column with the values of session ?1. */
static const char *const statements[ENVIRONMENT_FACTS] = {
    [ENVIRONMENT_HOST] = "SELECT host FROM session WHERE session_id = ?1",
    [ENVIRONMENT_CPU] = OF_MACHINE("cpu"),
    [ENVIRONMENT_CPU_COUNT] = OF_MACHINE("cpu_count"),
    [ENVIRONMENT_GOVERNOR] = OF_MACHINE("cpu_governor"),
    [ENVIRONMENT_MEMORY] = "SELECT bytes"
                           "  FROM (SELECT CASE json_valid(environment) WHEN 1 THEN"
                           "               json_extract(environment, '$.memory_bytes') END AS bytes"
                           "          FROM session WHERE session_id = ?1) WHERE bytes > 0",
    [ENVIRONMENT_GPUS] = "SELECT j.value FROM session s, json_each(CASE json_valid(s.environment)"
                         " WHEN 1 THEN s.environment ELSE '{}' END, '$.gpus') j"
                         " WHERE s.session_id = ?1",
    [ENVIRONMENT_DRIVER] = OF_MACHINE("gpu_driver"),
    [ENVIRONMENT_KERNEL] = OF_MACHINE("kernel"),
    [ENVIRONMENT_PROGRAM] = "SELECT program FROM session WHERE session_id = ?1",
    [ENVIRONMENT_COMMAND] = "SELECT command FROM session WHERE session_id = ?1",
    [ENVIRONMENT_LIBRARY] = "SELECT library FROM session WHERE session_id = ?1",
    [ENVIRONMENT_SOURCE] = "SELECT source FROM session WHERE session_id = ?1",
    [ENVIRONMENT_MODEL] =
        "SELECT coalesce(name, path) FROM model WHERE session_id = ?1 ORDER BY model_id",
    [ENVIRONMENT_DIGEST] = "SELECT digest FROM model WHERE session_id = ?1 ORDER BY model_id",
    [ENVIRONMENT_PARAMETERS] = "SELECT parameter_bytes FROM model"
                               " WHERE session_id = ?1 ORDER BY model_id",
    [ENVIRONMENT_DEVICES] = "SELECT DISTINCT device FROM lane WHERE session_id = ?1"
                            " AND device IS NOT NULL ORDER BY device",
    [ENVIRONMENT_LANES] = "SELECT group_concat(n || ' ' || kind || iif(n = 1, '', 's'), ' and ')"
                          "  FROM (SELECT count(*) AS n, kind FROM lane WHERE session_id = ?1"
                          "         GROUP BY kind ORDER BY kind DESC)",
};

/* Whether one of the values, which have ", " between, is this one. */
static bool has_value(const char *values, const char *value)
{
    size_t length = strlen(value);

    for (const char *at = values; (at = strstr(at, value)); at++) {
        bool begins = at == values || (at - values >= 2 && strncmp(at - 2, ", ", 2) == 0);

        if (begins && (at[length] == '\0' || strncmp(at + length, ", ", 2) == 0))
            return true;
    }
    return false;
}

static int gather(struct store *store, const char *sql, bool is_bytes, const int64_t *session_ids,
                  size_t session_count, struct text_buffer *values, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store, sql, &statement, diag);

    for (size_t i = 0; i < session_count && rc == 0; i++) {
        sqlite3_bind_int64(statement, 1, session_ids[i]);
        while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
            const char *value = (const char *)sqlite3_column_text(statement, 0);
            char text[32];

            if (value && is_bytes)
                value =
                    amount_format_bytes(text, sizeof(text), sqlite3_column_double(statement, 0));

            if (value && *value && !has_value(text_buffer_text(values), value))
                text_buffer_print(values, "%s%s", values->length ? ", " : "", value);
            rc = 0;
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return rc == 0 && values->failed ? -ENOMEM : rc;
}

int query_environment(struct store *store, const int64_t *session_ids, size_t session_count,
                      struct environment *out_environment, struct diag *diag)
{
    int rc = 0;

    *out_environment = (struct environment){0};
    for (int fact = 0; fact < ENVIRONMENT_FACTS && rc == 0; fact++) {
        struct text_buffer values = {0};

        rc = gather(store, statements[fact], environment_names[fact].is_bytes, session_ids,
                    session_count, &values, diag);
        if (rc == 0 && values.length)
            out_environment->facts[fact] = query_keep(&out_environment->texts, values.text);
        text_buffer_deinit(&values);
    }
    if (rc == 0 && out_environment->texts.failed)
        rc = -ENOMEM;
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the sessions") : rc;
}

int query_world_place(struct store *store, int64_t session_id, struct world_place *out_place,
                      struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT json_extract(environment, '$.rank'),"
                           " json_extract(environment, '$.world_size')"
                           "  FROM session WHERE session_id = ?1 AND json_valid(environment)",
                           &statement, diag);

    *out_place = (struct world_place){STORE_NULL, STORE_NULL};
    if (rc == 0)
        sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        if (sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
            out_place->rank = sqlite3_column_int64(statement, 0);
        if (sqlite3_column_type(statement, 1) == SQLITE_INTEGER)
            out_place->size = sqlite3_column_int64(statement, 1);
        rc = 0;
    }
    sqlite3_finalize(statement);
    return rc;
}

void environment_deinit(struct environment *environment)
{
    query_texts_deinit(&environment->texts);
}
