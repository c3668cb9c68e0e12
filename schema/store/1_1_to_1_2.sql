-- SPDX-License-Identifier: Apache-2.0
-- From store 1.1 to 1.2. Frozen: this makes the tables of 1.2, whatever store.sql says today.
--
-- 1.2 added what retention dropped.

CREATE TABLE dropped (
    session_id         INTEGER NOT NULL REFERENCES session,
    reason             TEXT NOT NULL,    -- budget | age
    event_count        INTEGER NOT NULL, -- rows of event
    memory_event_count INTEGER NOT NULL, -- rows of memory_event
    counter_count      INTEGER NOT NULL, -- rows of counter
    start_ns           INTEGER NOT NULL, -- ns since 1970: none of them began before
    end_ns             INTEGER NOT NULL, -- ns since 1970: none of them ended after
    dropped_ns         INTEGER NOT NULL, -- ns since 1970: when the last of them was dropped
    PRIMARY KEY (session_id, reason)
) WITHOUT ROWID;
