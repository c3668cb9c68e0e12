-- SPDX-License-Identifier: Apache-2.0
-- The store: one SQLite file that any client can read. schema/store/store.md explains every column and
-- holds twenty queries. The views in views.sql are the promise; tables may change with
-- schema_version.
--
-- Times are integer ns of CLOCK_REALTIME (since 1970-01-01 UTC) where the name ends in `_ns` and the
-- column is a point in time; durations are ns too. What is not known is NULL, never 0.

-- One row per fact about the file: schema_version ("1.4"), created_ns, created_by; rolled_up...:
-- see op_stat; totalled: see op_total.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- A migration that was applied: from which version to which, when.
CREATE TABLE migration (
    from_version TEXT NOT NULL,
    to_version   TEXT NOT NULL,
    applied_ns   INTEGER NOT NULL -- ns since 1970
);

-- One connected process, from HELLO to BYE or death.
CREATE TABLE session (
    session_id   INTEGER PRIMARY KEY,
    uuid         BLOB NOT NULL UNIQUE, -- 16 bytes, chosen by the client
    start_ns     INTEGER NOT NULL,     -- ns since 1970
    end_ns       INTEGER,              -- ns since 1970; NULL while it runs
    end_reason   TEXT,                 -- done | died | cut off | imported; NULL while it runs
    program      TEXT,
    command      TEXT,
    library      TEXT,                 -- client library and its version
    host         TEXT,
    pid          INTEGER,
    uid          INTEGER,
    clock        TEXT NOT NULL,        -- tsc | monotonic | foreign
    source       TEXT NOT NULL,        -- live | megengine | chrome | ...: where the rows come from
    note         TEXT,                 -- why it was cut off, name of the imported file, ...
    environment  TEXT,                 -- JSON object: cpu, cpu_count, memory_bytes, gpus, ...
    damage_count INTEGER NOT NULL      -- pieces of the imported file that could not be read
);

-- A model that a session ran.
CREATE TABLE model (
    model_id        INTEGER PRIMARY KEY,
    session_id      INTEGER NOT NULL REFERENCES session,
    client_model    INTEGER NOT NULL, -- the client's number for it
    name            TEXT,
    path            TEXT,
    format          TEXT,             -- onnx, ...
    producer        TEXT,
    digest          TEXT,             -- "sha256:..."
    parameter_bytes INTEGER,          -- bytes of weights
    UNIQUE (session_id, client_model)
);

-- What is constant for an op: what the view `op` reads. A text of a column without a type stands there
-- itself, or, when it is long, as its number in `text` (an INTEGER).
CREATE TABLE op_row (
    op_id            INTEGER PRIMARY KEY,
    session_id       INTEGER NOT NULL REFERENCES session,
    client_op        INTEGER NOT NULL, -- the client's number for it
    model_id         INTEGER REFERENCES model,
    name             NOT NULL,
    type             NOT NULL,
    node_id,                  -- id in its model
    device,                   -- cpu:0, cuda:0
    input_shapes     TEXT,    -- JSON: [[1,3,224,224],...]; null for a dimension that is not known
    input_dtypes     TEXT,    -- JSON: ["f32",...]
    output_shapes    TEXT,    -- JSON
    output_dtypes    TEXT,    -- JSON
    params,                   -- JSON object
    computation_flop INTEGER, -- operations of one execution; a multiply and an add are two
    memory_bytes     INTEGER, -- bytes read and written by one execution, weights included
    workspace_bytes  INTEGER, -- scratch bytes while it runs
    source,                   -- file:line
    origin           TEXT,    -- JSON: names of the model nodes that it came from
    origin_texts     TEXT,    -- JSON: numbers in `text` of what is in origin, when that is long
    UNIQUE (session_id, client_op)
);

-- Long texts that many ops of a session may have, each once.
CREATE TABLE text (
    session_id INTEGER NOT NULL REFERENCES session,
    text_id    INTEGER NOT NULL, -- number within the session, from 1
    value      TEXT NOT NULL,
    PRIMARY KEY (session_id, text_id)
) WITHOUT ROWID;

-- A serial track: a host thread, a device stream, a queue.
CREATE TABLE lane (
    lane_id     INTEGER PRIMARY KEY,
    session_id  INTEGER NOT NULL REFERENCES session,
    client_lane INTEGER NOT NULL, -- the client's number for it
    kind        TEXT NOT NULL,    -- thread | stream | queue
    name        TEXT,
    device      TEXT,             -- NULL for the host
    native_id   INTEGER,          -- thread id of the system, or the stream's number
    UNIQUE (session_id, client_lane)
);

-- One execution of a model.
CREATE TABLE run (
    session_id  INTEGER NOT NULL REFERENCES session,
    run         INTEGER NOT NULL, -- number within the session, from 1
    model_id    INTEGER REFERENCES model,
    lane_id     INTEGER NOT NULL REFERENCES lane,
    start_ns    INTEGER NOT NULL, -- ns since 1970
    end_ns      INTEGER,          -- ns since 1970; NULL: not finished
    warmup      INTEGER NOT NULL DEFAULT 0, -- 1: not to be counted in statistics
    without_ops INTEGER NOT NULL DEFAULT 0, -- 1: its ops were left out on purpose; means are of others
    PRIMARY KEY (session_id, run)
) WITHOUT ROWID;

-- One execution of an op on a lane; narrow, and without an index, because it is written a lot.
-- The rows stand in the order of their commit; event_batch says which rows hold which time.
CREATE TABLE event (
    lane_id     INTEGER, -- lane
    op_id       INTEGER, -- op
    run         INTEGER, -- run.run of the lane's session; NULL: outside any run
    start_ns    INTEGER, -- ns since 1970
    dur_ns      INTEGER, -- end - start in ns; 0 for a mark; NULL: it never ended
    kern_ns     INTEGER, -- first kernel - start in ns: waiting and preparation; NULL: not known
    correlation INTEGER, -- same number on the launching host span and the device span of a run; NULL: none
    bytes       INTEGER  -- bytes of a copy; NULL otherwise
);

-- Memory taken and given back.
CREATE TABLE memory_event (
    lane_id INTEGER, -- lane that did it
    op_id   INTEGER, -- op that it was for, or NULL
    run     INTEGER,
    time_ns INTEGER, -- ns since 1970
    address INTEGER, -- bit pattern of the address, as a signed number
    bytes   INTEGER  -- bytes: > 0 taken, < 0 given back, NULL: given back, size not known
);

-- Values over time.
CREATE TABLE counter (
    lane_id INTEGER,
    op_id   INTEGER, -- names the counter
    run     INTEGER,
    time_ns INTEGER, -- ns since 1970
    value   REAL
);

-- What was lost on a lane.
CREATE TABLE gap (
    session_id INTEGER NOT NULL REFERENCES session,
    lane_id    INTEGER REFERENCES lane, -- NULL: the lane is not known
    reason     TEXT NOT NULL, -- why, in words: "ring full", ...; store.md has all
    lost_count INTEGER,          -- events; NULL: not known how many
    start_ns   INTEGER,          -- ns since 1970: the first loss was not before
    end_ns     INTEGER           -- ns since 1970: the last loss was not after
);

-- What was dropped of a session to keep the store within its bounds: rows of event, memory_event and
-- counter, the oldest first. Its roll-ups, runs and ops stay.
CREATE TABLE dropped (
    session_id         INTEGER NOT NULL REFERENCES session,
    reason             TEXT NOT NULL,    -- budget | disk | age
    event_count        INTEGER NOT NULL, -- rows of event
    memory_event_count INTEGER NOT NULL, -- rows of memory_event
    counter_count      INTEGER NOT NULL, -- rows of counter
    start_ns           INTEGER NOT NULL, -- ns since 1970: none of them began before
    end_ns             INTEGER NOT NULL, -- ns since 1970: none of them ended after
    dropped_ns         INTEGER NOT NULL, -- ns since 1970: when the last of them was dropped
    run_count          INTEGER NOT NULL DEFAULT 0, -- rows of run
    rollup_event_count INTEGER NOT NULL DEFAULT 0, -- events that op_stat does not count any more
    PRIMARY KEY (session_id, reason)
) WITHOUT ROWID;

-- Each committed batch of `event`: how a time filter finds its rows without an index.
CREATE TABLE event_batch (
    first_rowid INTEGER PRIMARY KEY, -- event.rowid
    last_rowid  INTEGER NOT NULL,
    start_ns    INTEGER NOT NULL, -- earliest event.start_ns in it
    end_ns      INTEGER NOT NULL, -- latest end in it
    dur_max_ns  INTEGER,          -- longest event in it
    session_min INTEGER NOT NULL, -- lowest and highest session in it
    session_max INTEGER NOT NULL,
    lanes       TEXT              -- JSON: ids of its lanes; NULL when there are more than 64
);

-- Roll-ups per op and time bucket, up to the event whose rowid is meta.rolled_up, or to the last, and
-- up to meta.rolled_up_ended of events before meta.rolled_up_ended_ns: v_op_stat has the others, too. Every finished event counts in exactly one row: a longer bucket takes
-- the place of shorter ones. The rows stand in the order of time, because those of the last bucket are
-- written again and again.
CREATE TABLE op_stat (
    bucket_ns   INTEGER NOT NULL, -- length of the bucket: 10 s, 10 min, 1 day
    start_ns    INTEGER NOT NULL, -- ns since 1970, a multiple of bucket_ns; events count where they start
    op_id       INTEGER NOT NULL REFERENCES op_row,
    lane_kind   TEXT NOT NULL,    -- thread | stream | queue
    event_count INTEGER NOT NULL, -- finished events
    sum_ns      INTEGER NOT NULL, -- of dur_ns
    min_ns      INTEGER NOT NULL,
    max_ns      INTEGER NOT NULL,
    kern_sum_ns INTEGER NOT NULL, -- of kern_ns, where known
    histogram   TEXT NOT NULL,    -- JSON: counts of dur_ns by bin, see store.md
    UNIQUE (op_id, lane_kind, bucket_ns, start_ns)
);

-- Totals of a session: what all its events come to, per op, lane kind and kind of run, also of those
-- that are not stored any more; up to the event whose rowid is meta.totalled. They are there of
-- sessions that are in session_total.
CREATE TABLE op_total (
    op_id       INTEGER NOT NULL REFERENCES op_row,
    lane_kind   TEXT NOT NULL,    -- thread | stream | queue
    run_kind    TEXT NOT NULL,    -- counted | warm-up | without ops | none | open | unknown: of the runs that they are in
    run         INTEGER NOT NULL, -- of open: number of the run, which had not ended; else 0
    event_count INTEGER NOT NULL, -- finished events
    sum_ns      INTEGER NOT NULL, -- of dur_ns
    nested_ns   INTEGER,          -- of it in ops inside, on threads; NULL: not known
    min_ns      INTEGER NOT NULL,
    max_ns      INTEGER NOT NULL,
    kern_count  INTEGER NOT NULL, -- events whose kern_ns is known
    kern_sum_ns INTEGER NOT NULL, -- of kern_ns
    exec_sum_ns INTEGER NOT NULL, -- of dur_ns - kern_ns
    histogram   TEXT NOT NULL,    -- JSON: counts of dur_ns by bin, as in op_stat
    sized_count  INTEGER NOT NULL, -- events whose bytes are known
    sized_sum_ns INTEGER NOT NULL, -- of their dur_ns
    bytes        INTEGER NOT NULL, -- of them
    sort         INTEGER,          -- what the op was when they were counted: 1 computes, 2 copies or fills, 4 label, 8 mark, 16 other; NULL: several
    PRIMARY KEY (op_id, lane_kind, run_kind, run)
) WITHOUT ROWID;

-- Sessions that totals count from their first event on, and what else their events come to.
CREATE TABLE session_total (
    session_id       INTEGER PRIMARY KEY REFERENCES session,
    unfinished_count INTEGER NOT NULL, -- events that never ended
    first_unfinished INTEGER,          -- the first and the last of them: event.rowid
    last_unfinished  INTEGER,
    bad_count        INTEGER NOT NULL  -- events without an op
);

-- How the time of a session was filled, up to sealed_ns, where what overlaps counts once: within the
-- time of its counted runs, or where there are no runs all of it. It counts all where sealed_ns is
-- not before last_ns. Sessions of which it is not known are not there.
CREATE TABLE session_cover (
    session_id         INTEGER PRIMARY KEY REFERENCES session,
    has_runs           INTEGER NOT NULL, -- 1: only events of counted runs are in it
    has_device_work    INTEGER NOT NULL, -- 1: ops of threads do not compute
    sealed_ns          INTEGER NOT NULL, -- ns since 1970
    first_ns           INTEGER NOT NULL, -- of all events, also of those that wait or do not count
    last_ns            INTEGER NOT NULL,
    wall_ns            INTEGER NOT NULL, -- of counted runs
    recorded_ns        INTEGER NOT NULL, -- in an op on any lane
    computing_ns       INTEGER NOT NULL, -- kernels, or where none ran on a device innermost ops
    copying_ns         INTEGER NOT NULL, -- copies and fills while nothing computed
    labels_ns          INTEGER NOT NULL, -- in labels while nothing was recorded
    lanes_recorded_ns  INTEGER NOT NULL, -- the same of each lane for itself, added up
    lanes_computing_ns INTEGER NOT NULL,
    lanes_copying_ns   INTEGER NOT NULL,
    lanes_labels_ns    INTEGER NOT NULL
);

-- The same of its threads, and of each device.
CREATE TABLE side_cover (
    session_id   INTEGER NOT NULL REFERENCES session,
    is_device    INTEGER NOT NULL, -- 0: threads
    device       TEXT NOT NULL,    -- or the kind of lane where it has no name; '' of threads
    busy_ns      INTEGER NOT NULL, -- in an op
    computing_ns INTEGER NOT NULL,
    copying_ns   INTEGER NOT NULL, -- whatever else it did
    PRIMARY KEY (session_id, is_device, device)
) WITHOUT ROWID;

-- Lanes with an event that counts.
CREATE TABLE lane_cover (
    lane_id INTEGER PRIMARY KEY REFERENCES lane,
    busy_ns INTEGER NOT NULL -- in any op or label, also outside of the time of runs
);

-- A chunk of memory that a plan or a framework uses again and again.
CREATE TABLE mem_chunk (
    mem_chunk_id INTEGER PRIMARY KEY,
    session_id   INTEGER NOT NULL REFERENCES session,
    client_chunk TEXT NOT NULL,
    size_bytes   INTEGER,
    owner        TEXT, -- name of the variable that it was made for
    UNIQUE (session_id, client_chunk)
);

-- A value that ops produce and consume.
CREATE TABLE variable (
    variable_id  INTEGER PRIMARY KEY,
    session_id   INTEGER NOT NULL REFERENCES session,
    client_var   TEXT NOT NULL,
    name         TEXT,
    dtype        TEXT,    -- f32, i64, ...
    shape        TEXT,    -- JSON
    producer_op  INTEGER REFERENCES op_row,
    mem_chunk_id INTEGER REFERENCES mem_chunk,
    offset_bytes INTEGER, -- within the chunk
    UNIQUE (session_id, client_var)
);

-- How far each ring and each inline stream has been committed: with this a daemon that starts again
-- goes on where the last one stopped. Not meant for queries.
CREATE TABLE ingest_cursor (
    session_id  INTEGER NOT NULL REFERENCES session,
    ring_id     INTEGER NOT NULL, -- 0: the inline stream, and what is of the whole session
    committed   INTEGER NOT NULL, -- records
    gaps        BLOB,             -- committed gap counters
    clock       BLOB,             -- state of the conversion from ticks to ns
    complete_ns INTEGER,          -- ns since 1970: all that the session recorded before is here
    process     TEXT,             -- boot and start of the process: who gets its pid later has others
    PRIMARY KEY (session_id, ring_id)
) WITHOUT ROWID;
