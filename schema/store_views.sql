-- SPDX-License-Identifier: Apache-2.0
-- Views: the promise to users. A migration drops and makes them anew; tables are in store.sql.

-- One row per event, with names.
CREATE VIEW v_event AS
SELECT
    e.rowid                   AS event_id,
    l.session_id              AS session_id,
    e.run                     AS run,
    e.lane_id                 AS lane_id,
    l.kind                    AS lane_kind,   -- thread | stream | queue
    l.name                    AS lane_name,
    l.device                  AS lane_device, -- NULL for the host
    e.op_id                   AS op_id,
    o.name                    AS op_name,
    o.type                    AS op_type,
    e.start_ns                AS start_ns,    -- ns since 1970
    e.start_ns + e.dur_ns     AS end_ns,      -- ns since 1970; NULL: unfinished
    e.dur_ns                  AS dur_ns,      -- ns
    e.kern_ns                 AS kern_ns,     -- ns from start to the first kernel
    e.dur_ns - e.kern_ns      AS exec_ns,     -- ns in kernels; NULL when kern_ns is
    e.correlation             AS correlation,
    e.bytes                   AS bytes        -- bytes of a copy
FROM event e
LEFT JOIN lane l ON l.lane_id = e.lane_id
LEFT JOIN op o ON o.op_id = e.op_id;
