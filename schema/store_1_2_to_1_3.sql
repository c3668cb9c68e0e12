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
