-- SPDX-License-Identifier: Apache-2.0
-- From store 1.2 to 1.3. It may still change until 1.3 is released; from then on it is frozen: this
-- makes the tables of 1.3, whatever store.sql says today.

-- Runs and roll-ups may be dropped, too. The table is made anew, so that it reads as in a store that
-- was 1.3 from the start.
CREATE TABLE dropped_1_3 (
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
INSERT INTO dropped_1_3 SELECT session_id, reason, event_count, memory_event_count, counter_count,
       start_ns, end_ns, dropped_ns, 0, 0
  FROM dropped;
DROP TABLE dropped;
ALTER TABLE dropped_1_3 RENAME TO dropped;

-- A count that is not known is NULL.
ALTER TABLE gap RENAME TO gap_1_2;
CREATE TABLE gap (
    session_id INTEGER NOT NULL REFERENCES session,
    lane_id    INTEGER REFERENCES lane, -- NULL: the lane is not known
    reason     TEXT NOT NULL, -- why, in words: "ring full", ...; store.md has all
    lost_count INTEGER,          -- events; NULL: not known how many
    start_ns   INTEGER,          -- ns since 1970: the first loss was not before
    end_ns     INTEGER           -- ns since 1970: the last loss was not after
);
INSERT INTO gap(session_id,lane_id,reason,lost_count,start_ns,end_ns)
SELECT session_id,lane_id,reason,lost_count,start_ns,end_ns FROM gap_1_2 ORDER BY rowid;
DROP TABLE gap_1_2;

-- Up to when a session is complete, and which process it is of.
ALTER TABLE ingest_cursor RENAME TO ingest_cursor_1_2;
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
INSERT INTO ingest_cursor(session_id,ring_id,committed,gaps,clock)
SELECT session_id,ring_id,committed,gaps,clock FROM ingest_cursor_1_2;
DROP TABLE ingest_cursor_1_2;

-- Long texts that ops share stand in a table of their own, each once; the view op reads both.
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

CREATE TABLE text (
    session_id INTEGER NOT NULL REFERENCES session,
    text_id    INTEGER NOT NULL, -- number within the session, from 1
    value      TEXT NOT NULL,
    PRIMARY KEY (session_id, text_id)
) WITHOUT ROWID;
INSERT INTO text(session_id, text_id, value)
SELECT session_id, row_number() OVER (PARTITION BY session_id), value FROM (
    SELECT session_id, name AS value FROM op WHERE length(name) > 64
    UNION ALL SELECT session_id, type AS value FROM op WHERE length(type) > 64
    UNION ALL SELECT session_id, node_id AS value FROM op WHERE length(node_id) > 64
    UNION ALL SELECT session_id, device AS value FROM op WHERE length(device) > 64
    UNION ALL SELECT session_id, params AS value FROM op WHERE length(params) > 64
    UNION ALL SELECT session_id, source AS value FROM op WHERE length(source) > 64)
GROUP BY session_id, value HAVING count(*) > 1;
CREATE TEMP TABLE text_number(session_id, value, text_id, PRIMARY KEY (session_id, value))
WITHOUT ROWID;
INSERT INTO temp.text_number SELECT session_id, value, text_id FROM text;
INSERT INTO op_row(op_id, session_id, client_op, model_id, name, type, node_id, device,
    input_shapes, input_dtypes, output_shapes, output_dtypes, params, computation_flop,
    memory_bytes, workspace_bytes, source, origin)
SELECT op_id, session_id, client_op, model_id,
       iif(length(name) > 64, ifnull((SELECT n.text_id FROM temp.text_number n
           WHERE n.session_id = o.session_id AND n.value = o.name), name), name),
       iif(length(type) > 64, ifnull((SELECT n.text_id FROM temp.text_number n
           WHERE n.session_id = o.session_id AND n.value = o.type), type), type),
       iif(length(node_id) > 64, ifnull((SELECT n.text_id FROM temp.text_number n
           WHERE n.session_id = o.session_id AND n.value = o.node_id), node_id), node_id),
       iif(length(device) > 64, ifnull((SELECT n.text_id FROM temp.text_number n
           WHERE n.session_id = o.session_id AND n.value = o.device), device), device),
       input_shapes, input_dtypes, output_shapes, output_dtypes,
       iif(length(params) > 64, ifnull((SELECT n.text_id FROM temp.text_number n
           WHERE n.session_id = o.session_id AND n.value = o.params), params), params),
       computation_flop, memory_bytes, workspace_bytes,
       iif(length(source) > 64, ifnull((SELECT n.text_id FROM temp.text_number n
           WHERE n.session_id = o.session_id AND n.value = o.source), source), source),
       origin
  FROM op o ORDER BY op_id;
DROP TABLE temp.text_number;
DROP TABLE op;
-- Tables that name it. Their rows stay as they are.
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET sql = replace(sql, 'REFERENCES op,', 'REFERENCES op_row,')
 WHERE type = 'table' AND name IN ('op_stat', 'variable');
PRAGMA writable_schema = OFF;
