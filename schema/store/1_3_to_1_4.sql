-- SPDX-License-Identifier: Apache-2.0
-- From store 1.3 to 1.4. It may still change until 1.4 is released; from then on it is frozen: this
-- makes the tables of 1.4, whatever store.sql says today.

-- Totals of sessions. Those that are there have none: reports look at their events.
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
INSERT OR REPLACE INTO meta SELECT 'totalled', CAST(ifnull(max(rowid), 0) AS TEXT) FROM event;

-- Pieces of an imported file that could not be read. The note told of them, in words, behind the
-- file's name. The table is made anew, so that it reads as in a store that was 1.4 from the start.
CREATE TABLE session_1_4 (
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
INSERT INTO session_1_4 SELECT session_id, uuid, start_ns, end_ns, end_reason, program, command,
       library, host, pid, uid, clock, source, note, environment,
       end_reason IS 'imported' AND (ifnull(note LIKE '%; the rest is lost: %', 0)
           OR ifnull(note LIKE '%of its contents: the rest is lost', 0)
           OR ifnull(note LIKE '%; malformed %', 0))
  FROM session;
DROP TABLE session;
ALTER TABLE session_1_4 RENAME TO session;

-- Runs whose ops were left out on purpose; until now there were none.
CREATE TABLE run_1_4 (
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
INSERT INTO run_1_4
SELECT session_id, run, model_id, lane_id, start_ns, end_ns, warmup, 0 FROM run;
DROP TABLE run;
ALTER TABLE run_1_4 RENAME TO run;
