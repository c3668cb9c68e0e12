-- SPDX-License-Identifier: Apache-2.0
-- From store 0.9 to 1.0. Frozen: this makes the tables of 1.0, whatever store.sql says today.
--
-- 1.0 added op.workspace_bytes, event.correlation, memory_event.op_id, event_batch.lanes and the
-- table op_stat, which is computed from the events afterwards. Tables are made anew, so that the
-- columns stand in the same order as in a store that was 1.0 from the start; rowids stay, as
-- event_batch names them.

CREATE TABLE op_1_0 (
    op_id            INTEGER PRIMARY KEY,
    session_id       INTEGER NOT NULL REFERENCES session,
    client_op        INTEGER NOT NULL, -- the client's number for it
    model_id         INTEGER REFERENCES model,
    name             TEXT NOT NULL,
    type             TEXT NOT NULL,
    node_id          TEXT,    -- id in its model
    device           TEXT,    -- cpu:0, cuda:0
    input_shapes     TEXT,    -- JSON: [[1,3,224,224],...]; null for a dimension that is not known
    input_dtypes     TEXT,    -- JSON: ["f32",...]
    output_shapes    TEXT,    -- JSON
    output_dtypes    TEXT,    -- JSON
    params           TEXT,    -- JSON object
    computation_flop INTEGER, -- operations of one execution; a multiply and an add are two
    memory_bytes     INTEGER, -- bytes read and written by one execution, weights included
    workspace_bytes  INTEGER, -- scratch bytes while it runs
    source           TEXT,    -- file:line
    origin           TEXT,    -- JSON: names of the model nodes that it came from
    UNIQUE (session_id, client_op)
);
INSERT INTO op_1_0 SELECT op_id, session_id, client_op, model_id, name, type, node_id, device,
    input_shapes, input_dtypes, output_shapes, output_dtypes, params, computation_flop,
    memory_bytes, NULL, source, origin FROM op;
DROP TABLE op;
ALTER TABLE op_1_0 RENAME TO op;

CREATE TABLE event_1_0 (
    lane_id     INTEGER, -- lane
    op_id       INTEGER, -- op
    run         INTEGER, -- run.run of the lane's session; NULL: outside any run
    start_ns    INTEGER, -- ns since 1970
    dur_ns      INTEGER, -- end - start in ns; 0 for a mark; NULL: it never ended
    kern_ns     INTEGER, -- first kernel - start in ns: waiting and preparation; NULL: not known
    correlation INTEGER, -- same number on the launching host span and the device span of a run; NULL: none
    bytes       INTEGER  -- bytes of a copy; NULL otherwise
);
INSERT INTO event_1_0(rowid, lane_id, op_id, run, start_ns, dur_ns, kern_ns, bytes)
    SELECT rowid, lane_id, op_id, run, start_ns, dur_ns, kern_ns, bytes FROM event;
DROP TABLE event;
ALTER TABLE event_1_0 RENAME TO event;

CREATE TABLE memory_event_1_0 (
    lane_id INTEGER, -- lane that did it
    op_id   INTEGER, -- op that it was for, or NULL
    run     INTEGER,
    time_ns INTEGER, -- ns since 1970
    address INTEGER, -- bit pattern of the address, as a signed number
    bytes   INTEGER  -- bytes: > 0 taken, < 0 given back, NULL: given back, size not known
);
INSERT INTO memory_event_1_0(rowid, lane_id, run, time_ns, address, bytes)
    SELECT rowid, lane_id, run, time_ns, address, bytes FROM memory_event;
DROP TABLE memory_event;
ALTER TABLE memory_event_1_0 RENAME TO memory_event;

CREATE TABLE event_batch_1_0 (
    first_rowid INTEGER PRIMARY KEY, -- event.rowid
    last_rowid  INTEGER NOT NULL,
    start_ns    INTEGER NOT NULL, -- earliest event.start_ns in it
    end_ns      INTEGER NOT NULL, -- latest end in it
    dur_max_ns  INTEGER,          -- longest event in it
    session_min INTEGER NOT NULL, -- lowest and highest session in it
    session_max INTEGER NOT NULL,
    lanes       TEXT              -- JSON: ids of its lanes; NULL when there are more than 64
);
INSERT INTO event_batch_1_0(first_rowid, last_rowid, start_ns, end_ns, dur_max_ns, session_min,
    session_max) SELECT first_rowid, last_rowid, start_ns, end_ns, dur_max_ns, session_min,
    session_max FROM event_batch;
DROP TABLE event_batch;
ALTER TABLE event_batch_1_0 RENAME TO event_batch;

CREATE TABLE op_stat (
    bucket_ns   INTEGER NOT NULL, -- length of the bucket: 10 s, 10 min, 1 day
    start_ns    INTEGER NOT NULL, -- ns since 1970, a multiple of bucket_ns; events count where they start
    op_id       INTEGER NOT NULL REFERENCES op,
    lane_kind   TEXT NOT NULL,    -- thread | stream | queue
    event_count INTEGER NOT NULL, -- finished events
    sum_ns      INTEGER NOT NULL, -- of dur_ns
    min_ns      INTEGER NOT NULL,
    max_ns      INTEGER NOT NULL,
    kern_sum_ns INTEGER NOT NULL, -- of kern_ns, where known
    histogram   TEXT NOT NULL,    -- JSON: counts of dur_ns by bin, see store.md
    UNIQUE (op_id, lane_kind, bucket_ns, start_ns)
);
