/* SPDX-License-Identifier: Apache-2.0 */
/* What the file says of the time that sessions were filled with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/private.h"

static int no_memory(struct store *store, struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
}

/* --- Reading --- */

/* Hands each row of a statement to `take`, whose result is negative when it fails. */
static int read_rows(struct store *store, sqlite3_stmt *statement, void *user,
                     int (*take)(void *user, sqlite3_stmt *row), struct diag *diag)
{
    int code, rc = 0;

    while (rc == 0 && (code = sqlite3_step(statement)) != SQLITE_DONE)
        rc = code != SQLITE_ROW          ? store_fail(store, code, "read", diag)
             : take(user, statement) < 0 ? no_memory(store, diag)
                                         : 0;
    sqlite3_reset(statement);
    return rc;
}

static int take_session(void *user, sqlite3_stmt *row)
{
    struct cover_session *session = user;
    int64_t *const sums[] = {
        &session->sealed_ns,   &session->first_ns,    &session->last_ns,     &session->wall_ns,
        &session->all.of[0],   &session->all.of[1],   &session->all.of[2],   &session->all.of[3],
        &session->lanes.of[0], &session->lanes.of[1], &session->lanes.of[2], &session->lanes.of[3],
    };

    session->has_runs = sqlite3_column_int(row, 0) != 0;
    session->has_device_work = sqlite3_column_int(row, 1) != 0;
    for (int i = 0; i < (int)(sizeof(sums) / sizeof(sums[0])); i++)
        *sums[i] = sqlite3_column_int64(row, 2 + i);
    session->host_computed = !session->has_device_work;
    session->next_ns = session->sealed_ns;
    session->is_off = false;
    return 0;
}

static int take_side(void *user, sqlite3_stmt *row)
{
    struct cover_session *session = user;
    const bool is_device = sqlite3_column_int(row, 0) != 0;
    const char *device = (const char *)sqlite3_column_text(row, 1);
    struct cover_side side = {.device = is_device ? strdup(device ? device : "") : NULL,
                              .busy_ns = sqlite3_column_int64(row, 2),
                              .computing_ns = sqlite3_column_int64(row, 3),
                              .copying_ns = sqlite3_column_int64(row, 4)};

    if ((is_device && !side.device) || array_push(&session->sides, side) < 0) {
        free(side.device);
        return -ENOMEM;
    }
    return 0;
}

/* Those that count. */
static int take_run(void *user, sqlite3_stmt *row)
{
    struct cover_session *session = user;
    const struct cover_piece piece = {sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};

    session->has_runs = true;
    if (sqlite3_column_type(row, 1) == SQLITE_NULL || sqlite3_column_int(row, 2) != 0)
        return 0;
    session->is_off |= piece.start_ns < 0 || piece.end_ns < piece.start_ns;
    return array_push(&session->wall, piece);
}

static int read_stored(struct store *store, struct cover_session *session, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_GET_SESSION_COVER,
                             "SELECT has_runs,has_device_work,sealed_ns,first_ns,last_ns,wall_ns,"
                             "recorded_ns,computing_ns,copying_ns,labels_ns,lanes_recorded_ns,"
                             "lanes_computing_ns,lanes_copying_ns,lanes_labels_ns FROM"
                             " main.session_cover WHERE session_id=?",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session->session_id);
    rc = read_rows(store, statement, session, take_session, diag);
    if (rc < 0 || session->is_off)
        return rc;
    rc = store_statement(store, STORE_GET_SIDE_COVERS,
                         "SELECT is_device,device,busy_ns,computing_ns,copying_ns FROM"
                         " main.side_cover WHERE session_id=?",
                         &statement, diag);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session->session_id);
    return read_rows(store, statement, session, take_side, diag);
}

static int read_runs(struct store *store, struct cover_session *session, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_GET_COVER_RUNS,
                             "SELECT start_ns,end_ns,warmup OR without_ops FROM main.run"
                             " WHERE session_id=?",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session->session_id);
    return read_rows(store, statement, session, take_run, diag);
}

/* Of the runs those that what is not measured yet may be in. Fails where others have come to what is. */
static bool keep_wall(struct cover_session *session, bool had_runs)
{
    struct cover_pieces *wall = &session->wall;
    int64_t sealed_ns = 0;
    size_t kept = 0;

    store_cover_join(wall, false);
    for (size_t i = 0; i < wall->count; i++) {
        const struct cover_piece piece = wall->items[i];

        if (piece.start_ns < session->sealed_ns)
            sealed_ns += (piece.end_ns < session->sealed_ns ? piece.end_ns : session->sealed_ns) -
                         piece.start_ns;
        if (piece.end_ns > session->sealed_ns)
            wall->items[kept++] = piece;
    }
    wall->count = kept;
    return had_runs == session->has_runs && sealed_ns == session->wall_ns;
}

int store_cover_read_session(struct store *store, int64_t session_id, bool is_new,
                             struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct cover_session session = {.session_id = session_id,
                                    .is_off = !is_new,
                                    .is_dirty = is_new,
                                    .sealed_ns = INT64_MIN + 1,
                                    .next_ns = INT64_MIN + 1,
                                    .first_ns = INT64_MAX,
                                    .last_ns = INT64_MIN};
    bool had_runs;
    int rc = is_new ? 0 : read_stored(store, &session, diag);

    had_runs = session.has_runs;
    if (rc == 0 && !session.is_off)
        rc = read_runs(store, &session, diag);
    if (rc == 0 && !session.is_off && !keep_wall(&session, had_runs) && !is_new)
        session.is_off = session.is_dirty = true; /* somebody told of them meanwhile */
    /* What waited is not to be found any more. */
    if (session.last_ns > session.sealed_ns && totals->before_ns > session.sealed_ns)
        session.is_off = session.is_dirty = true;
    if (rc == 0 && array_push(&totals->covers.sessions, session) < 0)
        rc = no_memory(store, diag);
    if (rc < 0) {
        for (size_t i = 0; i < session.sides.count; i++)
            free(session.sides.items[i].device);
        array_deinit(&session.sides);
        array_deinit(&session.wall);
    }
    return rc;
}

static bool is_side(const struct cover_side *side, const char *device)
{
    return side->device && device ? strcmp(side->device, device) == 0 : !side->device && !device;
}

static int find_side(struct cover_session *session, const char *device, uint32_t *out_place)
{
    struct cover_side side = {.is_dirty = true};

    for (uint32_t i = 0; i < session->sides.count; i++) {
        *out_place = i;
        if (is_side(&session->sides.items[i], device))
            return 0;
    }
    side.device = device ? strdup(device) : NULL;
    if ((device && !side.device) || array_push(&session->sides, side) < 0) {
        free(side.device);
        return -ENOMEM;
    }
    *out_place = (uint32_t)session->sides.count - 1;
    return 0;
}

/* A lane and its session. */
struct placing {
    struct cover_lane *lane;
    struct cover_session *session;
};

static int take_lane(void *user, sqlite3_stmt *row)
{
    struct placing *placing = user;

    placing->lane->is_device = sqlite3_column_int(row, 0) != 0;
    placing->lane->busy_ns = sqlite3_column_int64(row, 2);
    placing->lane->has_event = sqlite3_column_type(row, 2) != SQLITE_NULL;
    return find_side(placing->session,
                     placing->lane->is_device ? (const char *)sqlite3_column_text(row, 1) : NULL,
                     &placing->lane->side);
}

int store_cover_read_lane(struct store *store, uint32_t place, uint32_t session_place,
                          int64_t lane_id, int64_t floor_ns, struct diag *diag)
{
    struct covers *covers = &store->totals.covers;
    struct cover_session *session = &covers->sessions.items[session_place];
    struct cover_lane lane = {.session = session_place,
                              .lane_id = lane_id,
                              .is_off = session->is_off,
                              .free_ns = INT64_MAX,
                              .first_ns = INT64_MAX,
                              .end_ns = INT64_MIN,
                              .floor_ns = floor_ns,
                              .next = session->first_lane};
    sqlite3_stmt *statement;
    int rc;

    if (place < covers->lanes.count)
        return 0;
    rc = store_statement(store, STORE_GET_LANE_COVER,
                         "SELECT l.kind<>'thread',ifnull(l.device,l.kind),c.busy_ns FROM main.lane"
                         " l LEFT JOIN main.lane_cover c USING(lane_id) WHERE l.lane_id=?",
                         &statement, diag);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, lane_id);
    rc = read_rows(store, statement, &(struct placing){&lane, session}, take_lane, diag);
    if (rc == 0 && array_push(&covers->lanes, lane) < 0)
        rc = no_memory(store, diag);
    if (rc == 0)
        session->first_lane = place + 1;
    return rc;
}

/* --- Writing --- */

static int drop_session(struct store *store, int64_t session_id, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_DROP_SESSION_COVER,
                             "DELETE FROM session_cover WHERE session_id=?", &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session_id);
    return store_step(store, statement, "write", diag);
}

static int write_session(struct store *store, const struct cover_session *session,
                         struct diag *diag)
{
    const int64_t values[] = {session->session_id,  session->has_runs,    session->has_device_work,
                              session->sealed_ns,   session->first_ns,    session->last_ns,
                              session->wall_ns,     session->all.of[0],   session->all.of[1],
                              session->all.of[2],   session->all.of[3],   session->lanes.of[0],
                              session->lanes.of[1], session->lanes.of[2], session->lanes.of[3]};
    sqlite3_stmt *statement;
    int rc = store_statement(
        store, STORE_PUT_SESSION_COVER,
        "REPLACE INTO session_cover(session_id,has_runs,has_device_work,sealed_ns,first_ns,last_ns,"
        "wall_ns,recorded_ns,computing_ns,copying_ns,labels_ns,lanes_recorded_ns,"
        "lanes_computing_ns,lanes_copying_ns,lanes_labels_ns)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        &statement, diag);

    if (rc < 0)
        return rc;
    for (int i = 0; i < (int)(sizeof(values) / sizeof(values[0])); i++)
        sqlite3_bind_int64(statement, i + 1, values[i]);
    return store_step(store, statement, "write", diag);
}

static int write_side(struct store *store, int64_t session_id, const struct cover_side *side,
                      struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_PUT_SIDE_COVER,
                             "REPLACE INTO side_cover(session_id,is_device,device,busy_ns,"
                             "computing_ns,copying_ns) VALUES(?,?,?,?,?,?)",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session_id);
    sqlite3_bind_int64(statement, 2, side->device != NULL);
    sqlite3_bind_text(statement, 3, side->device ? side->device : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, side->busy_ns);
    sqlite3_bind_int64(statement, 5, side->computing_ns);
    sqlite3_bind_int64(statement, 6, side->copying_ns);
    rc = store_step(store, statement, "write", diag);
    sqlite3_bind_null(statement, 3);
    return rc;
}

static int write_lane(struct store *store, const struct cover_lane *lane, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = lane->has_event
                 ? store_statement(store, STORE_PUT_LANE_COVER,
                                   "REPLACE INTO lane_cover(lane_id,busy_ns) VALUES(?,?)",
                                   &statement, diag)
                 : store_statement(store, STORE_DROP_LANE_COVER,
                                   "DELETE FROM lane_cover WHERE lane_id=?", &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, lane->lane_id);
    if (lane->has_event)
        sqlite3_bind_int64(statement, 2, lane->busy_ns);
    return store_step(store, statement, "write", diag);
}

static int write_covered(struct store *store, struct cover_session *session, struct diag *diag)
{
    struct covers *covers = &store->totals.covers;
    int rc = 0;

    for (uint32_t i = session->first_lane; i && rc == 0; i = covers->lanes.items[i - 1].next) {
        struct cover_lane *lane = &covers->lanes.items[i - 1];

        if (lane->first_ns < session->first_ns)
            session->first_ns = lane->first_ns;
        if (lane->end_ns > session->last_ns)
            session->last_ns = lane->end_ns;
        if (lane->is_dirty)
            rc = write_lane(store, lane, diag);
        lane->is_dirty = false;
    }
    for (size_t i = 0; i < session->sides.count && rc == 0; i++) {
        if (session->sides.items[i].is_dirty)
            rc = write_side(store, session->session_id, &session->sides.items[i], diag);
        session->sides.items[i].is_dirty = false;
    }
    return rc == 0 ? write_session(store, session, diag) : rc;
}

int store_cover_write(struct store *store, struct diag *diag)
{
    struct covers *covers = &store->totals.covers;
    int rc = 0;

    for (size_t i = 0; i < covers->sessions.count && rc == 0; i++) {
        struct cover_session *session = &covers->sessions.items[i];

        if (session->is_dirty)
            rc = session->is_off ? drop_session(store, session->session_id, diag)
                                 : write_covered(store, session, diag);
        session->is_dirty = false;
    }
    return rc;
}
