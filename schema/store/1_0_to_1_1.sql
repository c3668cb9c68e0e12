-- SPDX-License-Identifier: Apache-2.0
-- From store 1.0 to 1.1. Frozen: this makes the tables of 1.1, whatever store.sql says today.
--
-- 1.1 added session.environment. The table is made anew, so that it reads as in a store that was
-- 1.1 from the start.

CREATE TABLE session_1_1 (
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
    environment  TEXT                  -- JSON object: cpu, cpu_count, memory_bytes, gpus, ...
);
INSERT INTO session_1_1 SELECT session_id, uuid, start_ns, end_ns, end_reason, program, command,
       library, host, pid, uid, clock, source, note, NULL
  FROM session;
DROP TABLE session;
ALTER TABLE session_1_1 RENAME TO session;
