-- SPDX-License-Identifier: Apache-2.0
-- The views: the promise to users. Tables are in store.sql; schema/store/store.md explains every column. A
-- migration drops the views and makes them anew.
--
-- `_ns` is ns: of CLOCK_REALTIME since 1970 for points in time (start_ns, end_ns), else a duration.
-- "Host" is what happened on threads, "device" what happened on streams and queues; the two overlap
-- and are never added. What is not known is NULL.

-- One row per op: what is constant for it. Types with a meaning of their own: label (a scope named by a
-- person), phase (a part of an op), copy, counter, mark. Long texts are in the table text: what is less
-- than any text is a number there.
CREATE VIEW op AS
SELECT
    o.op_id                             AS op_id,
    o.session_id                        AS session_id,
    o.client_op                         AS client_op,        -- the client's number for it
    o.model_id                          AS model_id,
    CAST(CASE WHEN o.name < '' THEN
        (SELECT t.value FROM text t WHERE t.session_id = o.session_id AND t.text_id = o.name)
        ELSE o.name END AS TEXT)        AS name,
    CAST(CASE WHEN o.type < '' THEN
        (SELECT t.value FROM text t WHERE t.session_id = o.session_id AND t.text_id = o.type)
        ELSE o.type END AS TEXT)        AS type,
    CAST(CASE WHEN o.node_id < '' THEN
        (SELECT t.value FROM text t WHERE t.session_id = o.session_id AND t.text_id = o.node_id)
        ELSE o.node_id END AS TEXT)     AS node_id,          -- id in its model
    CAST(CASE WHEN o.device < '' THEN
        (SELECT t.value FROM text t WHERE t.session_id = o.session_id AND t.text_id = o.device)
        ELSE o.device END AS TEXT)      AS device,           -- cpu:0, cuda:0
    o.input_shapes                      AS input_shapes,     -- JSON: [[1,3,224,224],...]; null: not known
    o.input_dtypes                      AS input_dtypes,     -- JSON: ["f32",...]
    o.output_shapes                     AS output_shapes,    -- JSON
    o.output_dtypes                     AS output_dtypes,    -- JSON
    CAST(CASE WHEN o.params < '' THEN
        (SELECT t.value FROM text t WHERE t.session_id = o.session_id AND t.text_id = o.params)
        ELSE o.params END AS TEXT)      AS params,           -- JSON object
    o.computation_flop                  AS computation_flop, -- of one execution
    o.memory_bytes                      AS memory_bytes,     -- of one execution
    o.workspace_bytes                   AS workspace_bytes,
    CAST(CASE WHEN o.source < '' THEN
        (SELECT t.value FROM text t WHERE t.session_id = o.session_id AND t.text_id = o.source)
        ELSE o.source END AS TEXT)      AS source,           -- file:line
    CAST(CASE WHEN o.origin_texts IS NOT NULL THEN
        (SELECT '[' || group_concat(t.value) || ']' FROM json_each(o.origin_texts) j
         CROSS JOIN text t ON t.session_id = o.session_id AND t.text_id = j.value)
        ELSE o.origin END AS TEXT)      AS origin            -- JSON: names of the model nodes that it came from
FROM op_row o;

-- One row per event, with names. For a time window, go through event_batch (see store.md).
CREATE VIEW v_event AS
SELECT
    e.rowid               AS event_id,
    l.session_id          AS session_id,
    e.run                 AS run,
    r.warmup              AS warmup,      -- 1: of a run that statistics leave out; NULL: no run
    e.lane_id             AS lane_id,
    l.kind                AS lane_kind,   -- thread | stream | queue
    l.name                AS lane_name,
    l.device              AS lane_device, -- NULL for the host
    e.op_id               AS op_id,
    o.name                AS op_name,
    o.type                AS op_type,
    e.start_ns            AS start_ns,    -- since 1970
    e.start_ns + e.dur_ns AS end_ns,      -- since 1970; NULL: unfinished
    e.dur_ns              AS dur_ns,
    e.kern_ns             AS kern_ns,     -- from start to the first kernel: waiting, preparation
    e.dur_ns - e.kern_ns  AS exec_ns,     -- from the first kernel to the end; NULL when kern_ns is
    e.correlation         AS correlation, -- same number in a run: launching host span and device span
    e.bytes               AS bytes        -- of a copy
FROM event e
LEFT JOIN lane l ON l.lane_id = e.lane_id
LEFT JOIN op o ON o.op_id = e.op_id
LEFT JOIN run r ON r.session_id = l.session_id AND r.run = e.run;

-- Finished events that op_stat does not count yet, see store.md, section 5.
CREATE VIEW v_op_waiting AS
SELECT
    e.rowid                  AS event_id,
    e.op_id                  AS op_id,
    l.kind                   AS lane_kind, -- thread | stream | queue
    10000000000              AS bucket_ns,
    e.start_ns - (e.start_ns % 10000000000 + 10000000000) % 10000000000
                             AS start_ns,  -- of the bucket, since 1970
    e.dur_ns                 AS dur_ns,
    coalesce(e.kern_ns, 0)   AS kern_ns,   -- 0 also where it is not known
    -- 16 bins per power of two.
    CASE
        WHEN e.dur_ns < 32 THEN e.dur_ns
        WHEN e.dur_ns >> 5 < 2 THEN 16 + (e.dur_ns >> 1) WHEN e.dur_ns >> 6 < 2 THEN 32 + (e.dur_ns >> 2)
        WHEN e.dur_ns >> 7 < 2 THEN 48 + (e.dur_ns >> 3) WHEN e.dur_ns >> 8 < 2 THEN 64 + (e.dur_ns >> 4)
        WHEN e.dur_ns >> 9 < 2 THEN 80 + (e.dur_ns >> 5) WHEN e.dur_ns >> 10 < 2 THEN 96 + (e.dur_ns >> 6)
        WHEN e.dur_ns >> 11 < 2 THEN 112 + (e.dur_ns >> 7) WHEN e.dur_ns >> 12 < 2 THEN 128 + (e.dur_ns >> 8)
        WHEN e.dur_ns >> 13 < 2 THEN 144 + (e.dur_ns >> 9) WHEN e.dur_ns >> 14 < 2 THEN 160 + (e.dur_ns >> 10)
        WHEN e.dur_ns >> 15 < 2 THEN 176 + (e.dur_ns >> 11) WHEN e.dur_ns >> 16 < 2 THEN 192 + (e.dur_ns >> 12)
        WHEN e.dur_ns >> 17 < 2 THEN 208 + (e.dur_ns >> 13) WHEN e.dur_ns >> 18 < 2 THEN 224 + (e.dur_ns >> 14)
        WHEN e.dur_ns >> 19 < 2 THEN 240 + (e.dur_ns >> 15) WHEN e.dur_ns >> 20 < 2 THEN 256 + (e.dur_ns >> 16)
        WHEN e.dur_ns >> 21 < 2 THEN 272 + (e.dur_ns >> 17) WHEN e.dur_ns >> 22 < 2 THEN 288 + (e.dur_ns >> 18)
        WHEN e.dur_ns >> 23 < 2 THEN 304 + (e.dur_ns >> 19) WHEN e.dur_ns >> 24 < 2 THEN 320 + (e.dur_ns >> 20)
        WHEN e.dur_ns >> 25 < 2 THEN 336 + (e.dur_ns >> 21) WHEN e.dur_ns >> 26 < 2 THEN 352 + (e.dur_ns >> 22)
        WHEN e.dur_ns >> 27 < 2 THEN 368 + (e.dur_ns >> 23) WHEN e.dur_ns >> 28 < 2 THEN 384 + (e.dur_ns >> 24)
        WHEN e.dur_ns >> 29 < 2 THEN 400 + (e.dur_ns >> 25) WHEN e.dur_ns >> 30 < 2 THEN 416 + (e.dur_ns >> 26)
        WHEN e.dur_ns >> 31 < 2 THEN 432 + (e.dur_ns >> 27) WHEN e.dur_ns >> 32 < 2 THEN 448 + (e.dur_ns >> 28)
        WHEN e.dur_ns >> 33 < 2 THEN 464 + (e.dur_ns >> 29) WHEN e.dur_ns >> 34 < 2 THEN 480 + (e.dur_ns >> 30)
        WHEN e.dur_ns >> 35 < 2 THEN 496 + (e.dur_ns >> 31) WHEN e.dur_ns >> 36 < 2 THEN 512 + (e.dur_ns >> 32)
        WHEN e.dur_ns >> 37 < 2 THEN 528 + (e.dur_ns >> 33) WHEN e.dur_ns >> 38 < 2 THEN 544 + (e.dur_ns >> 34)
        WHEN e.dur_ns >> 39 < 2 THEN 560 + (e.dur_ns >> 35) WHEN e.dur_ns >> 40 < 2 THEN 576 + (e.dur_ns >> 36)
        WHEN e.dur_ns >> 41 < 2 THEN 592 + (e.dur_ns >> 37) WHEN e.dur_ns >> 42 < 2 THEN 608 + (e.dur_ns >> 38)
        WHEN e.dur_ns >> 43 < 2 THEN 624 + (e.dur_ns >> 39) WHEN e.dur_ns >> 44 < 2 THEN 640 + (e.dur_ns >> 40)
        WHEN e.dur_ns >> 45 < 2 THEN 656 + (e.dur_ns >> 41) WHEN e.dur_ns >> 46 < 2 THEN 672 + (e.dur_ns >> 42)
        WHEN e.dur_ns >> 47 < 2 THEN 688 + (e.dur_ns >> 43) WHEN e.dur_ns >> 48 < 2 THEN 704 + (e.dur_ns >> 44)
        WHEN e.dur_ns >> 49 < 2 THEN 720 + (e.dur_ns >> 45) WHEN e.dur_ns >> 50 < 2 THEN 736 + (e.dur_ns >> 46)
        WHEN e.dur_ns >> 51 < 2 THEN 752 + (e.dur_ns >> 47) WHEN e.dur_ns >> 52 < 2 THEN 768 + (e.dur_ns >> 48)
        WHEN e.dur_ns >> 53 < 2 THEN 784 + (e.dur_ns >> 49) WHEN e.dur_ns >> 54 < 2 THEN 800 + (e.dur_ns >> 50)
        WHEN e.dur_ns >> 55 < 2 THEN 816 + (e.dur_ns >> 51) WHEN e.dur_ns >> 56 < 2 THEN 832 + (e.dur_ns >> 52)
        WHEN e.dur_ns >> 57 < 2 THEN 848 + (e.dur_ns >> 53) WHEN e.dur_ns >> 58 < 2 THEN 864 + (e.dur_ns >> 54)
        WHEN e.dur_ns >> 59 < 2 THEN 880 + (e.dur_ns >> 55) WHEN e.dur_ns >> 60 < 2 THEN 896 + (e.dur_ns >> 56)
        WHEN e.dur_ns >> 61 < 2 THEN 912 + (e.dur_ns >> 57) WHEN e.dur_ns >> 62 < 2 THEN 928 + (e.dur_ns >> 58)
    END                      AS bin
FROM event e CROSS JOIN lane l ON l.lane_id = e.lane_id
WHERE e.rowid > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'rolled_up')
  -- Of buckets that have ended it counts all that there was when they were written.
  AND (e.rowid > coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'rolled_up_ended'), 0)
       OR e.start_ns >= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'rolled_up_ended_ns'))
  AND e.dur_ns IS NOT NULL AND e.op_id IS NOT NULL;

-- op_stat, and a row for each event that it does not count yet: sums over these rows are exact at
-- any moment.
CREATE VIEW v_op_stat AS
SELECT bucket_ns, start_ns, op_id, lane_kind, event_count, sum_ns, min_ns, max_ns, kern_sum_ns, histogram
FROM op_stat
UNION ALL
SELECT bucket_ns, start_ns, op_id, lane_kind, 1, dur_ns, dur_ns, dur_ns, kern_ns, '{"' || bin || '":1}'
FROM v_op_waiting;

-- What op_stat counts, unfolded: one row per op, lane kind, bucket and bin of durations that occurred.
CREATE VIEW v_op_histogram_stored AS
SELECT
    s.op_id                AS op_id,
    s.lane_kind            AS lane_kind, -- thread | stream | queue
    s.bucket_ns            AS bucket_ns, -- length of the bucket
    s.start_ns             AS start_ns,  -- of the bucket, since 1970
    s.min_ns               AS min_ns,    -- shortest and longest event of the bucket
    s.max_ns               AS max_ns,
    CAST(j.key AS INTEGER) AS bin,
    -- The middle of the bin: 16 bins per power of two.
    CASE
        WHEN CAST(j.key AS INTEGER) < 32 THEN CAST(j.key AS INTEGER)
        ELSE ((16 + j.key % 16) << (j.key / 16 - 1)) + ((1 << (j.key / 16 - 1)) - 1) / 2
    END                    AS middle_ns,
    j.value                AS event_count
FROM op_stat s, json_each(s.histogram) j;

-- The same, and a row for each event that op_stat does not count yet.
CREATE VIEW v_op_histogram AS
SELECT op_id, lane_kind, bucket_ns, start_ns, min_ns, max_ns, bin, middle_ns, event_count
FROM v_op_histogram_stored
UNION ALL
SELECT
    op_id, lane_kind, bucket_ns, start_ns, dur_ns, dur_ns, bin,
    CASE
        WHEN bin < 32 THEN bin
        ELSE ((16 + bin % 16) << (bin / 16 - 1)) + ((1 << (bin / 16 - 1)) - 1) / 2
    END,
    1
FROM v_op_waiting;

-- One row per op. All that counts events comes from op_stat, so it also covers events that are not
-- stored any more, and warm-up runs. A percentile is computed only where it is asked for; it is the
-- middle of its bin, at most 1/32 away from the true one (nearest rank). Events that op_stat does not
-- count yet are read once for each of these columns, not for each op.
CREATE VIEW v_op AS
WITH waiting AS MATERIALIZED (
    SELECT op_id, lane_kind, dur_ns, kern_ns, bin,
           CASE
               WHEN bin < 32 THEN bin
               ELSE ((16 + bin % 16) << (bin / 16 - 1)) + ((1 << (bin / 16 - 1)) - 1) / 2
           END AS middle_ns
    FROM v_op_waiting
)
SELECT
    o.op_id            AS op_id,
    o.session_id       AS session_id,
    o.model_id         AS model_id,
    o.name             AS name,
    o.type             AS type,
    o.node_id          AS node_id,
    o.device           AS device,
    coalesce(nullif(s.host_calls, 0), s.device_calls, 0) AS calls, -- on the host, else on the device
    coalesce(s.host_calls, 0)                            AS host_calls,
    s.host_ns                                            AS host_ns,
    s.host_ns / s.host_calls                             AS host_mean_ns,
    s.host_min_ns                                        AS host_min_ns,
    s.host_max_ns                                        AS host_max_ns,
    s.host_kern_ns                                       AS host_kern_ns, -- waiting and preparation
    (SELECT max(min(middle_ns, longest_ns), shortest_ns) FROM (
        SELECT h.middle_ns, sum(sum(h.event_count)) OVER (ORDER BY h.bin) AS upto,
               sum(sum(h.event_count)) OVER () AS total, min(min(h.min_ns)) OVER () AS shortest_ns,
               max(max(h.max_ns)) OVER () AS longest_ns
        FROM (
            SELECT bin, middle_ns, event_count, min_ns, max_ns FROM v_op_histogram_stored
             WHERE op_id = o.op_id AND lane_kind = 'thread'
            UNION ALL
            SELECT bin, middle_ns, 1, dur_ns, dur_ns FROM waiting
             WHERE op_id = o.op_id AND lane_kind = 'thread') h GROUP BY h.bin)
     WHERE upto * 100 >= total * 50 ORDER BY upto LIMIT 1) AS host_p50_ns,
    (SELECT max(min(middle_ns, longest_ns), shortest_ns) FROM (
        SELECT h.middle_ns, sum(sum(h.event_count)) OVER (ORDER BY h.bin) AS upto,
               sum(sum(h.event_count)) OVER () AS total, min(min(h.min_ns)) OVER () AS shortest_ns,
               max(max(h.max_ns)) OVER () AS longest_ns
        FROM (
            SELECT bin, middle_ns, event_count, min_ns, max_ns FROM v_op_histogram_stored
             WHERE op_id = o.op_id AND lane_kind = 'thread'
            UNION ALL
            SELECT bin, middle_ns, 1, dur_ns, dur_ns FROM waiting
             WHERE op_id = o.op_id AND lane_kind = 'thread') h GROUP BY h.bin)
     WHERE upto * 100 >= total * 90 ORDER BY upto LIMIT 1) AS host_p90_ns,
    (SELECT max(min(middle_ns, longest_ns), shortest_ns) FROM (
        SELECT h.middle_ns, sum(sum(h.event_count)) OVER (ORDER BY h.bin) AS upto,
               sum(sum(h.event_count)) OVER () AS total, min(min(h.min_ns)) OVER () AS shortest_ns,
               max(max(h.max_ns)) OVER () AS longest_ns
        FROM (
            SELECT bin, middle_ns, event_count, min_ns, max_ns FROM v_op_histogram_stored
             WHERE op_id = o.op_id AND lane_kind = 'thread'
            UNION ALL
            SELECT bin, middle_ns, 1, dur_ns, dur_ns FROM waiting
             WHERE op_id = o.op_id AND lane_kind = 'thread') h GROUP BY h.bin)
     WHERE upto * 100 >= total * 99 ORDER BY upto LIMIT 1) AS host_p99_ns,
    coalesce(s.device_calls, 0)                          AS device_calls,
    s.device_ns                                          AS device_ns,
    s.device_ns / s.device_calls                         AS device_mean_ns,
    s.device_min_ns                                      AS device_min_ns,
    s.device_max_ns                                      AS device_max_ns,
    s.device_kern_ns                                     AS device_kern_ns, -- waiting in the queue
    (SELECT max(min(middle_ns, longest_ns), shortest_ns) FROM (
        SELECT h.middle_ns, sum(sum(h.event_count)) OVER (ORDER BY h.bin) AS upto,
               sum(sum(h.event_count)) OVER () AS total, min(min(h.min_ns)) OVER () AS shortest_ns,
               max(max(h.max_ns)) OVER () AS longest_ns
        FROM (
            SELECT bin, middle_ns, event_count, min_ns, max_ns FROM v_op_histogram_stored
             WHERE op_id = o.op_id AND lane_kind <> 'thread'
            UNION ALL
            SELECT bin, middle_ns, 1, dur_ns, dur_ns FROM waiting
             WHERE op_id = o.op_id AND lane_kind <> 'thread') h GROUP BY h.bin)
     WHERE upto * 100 >= total * 50 ORDER BY upto LIMIT 1) AS device_p50_ns,
    (SELECT max(min(middle_ns, longest_ns), shortest_ns) FROM (
        SELECT h.middle_ns, sum(sum(h.event_count)) OVER (ORDER BY h.bin) AS upto,
               sum(sum(h.event_count)) OVER () AS total, min(min(h.min_ns)) OVER () AS shortest_ns,
               max(max(h.max_ns)) OVER () AS longest_ns
        FROM (
            SELECT bin, middle_ns, event_count, min_ns, max_ns FROM v_op_histogram_stored
             WHERE op_id = o.op_id AND lane_kind <> 'thread'
            UNION ALL
            SELECT bin, middle_ns, 1, dur_ns, dur_ns FROM waiting
             WHERE op_id = o.op_id AND lane_kind <> 'thread') h GROUP BY h.bin)
     WHERE upto * 100 >= total * 90 ORDER BY upto LIMIT 1) AS device_p90_ns,
    (SELECT max(min(middle_ns, longest_ns), shortest_ns) FROM (
        SELECT h.middle_ns, sum(sum(h.event_count)) OVER (ORDER BY h.bin) AS upto,
               sum(sum(h.event_count)) OVER () AS total, min(min(h.min_ns)) OVER () AS shortest_ns,
               max(max(h.max_ns)) OVER () AS longest_ns
        FROM (
            SELECT bin, middle_ns, event_count, min_ns, max_ns FROM v_op_histogram_stored
             WHERE op_id = o.op_id AND lane_kind <> 'thread'
            UNION ALL
            SELECT bin, middle_ns, 1, dur_ns, dur_ns FROM waiting
             WHERE op_id = o.op_id AND lane_kind <> 'thread') h GROUP BY h.bin)
     WHERE upto * 100 >= total * 99 ORDER BY upto LIMIT 1) AS device_p99_ns,
    -- Execution: from the first kernel to the end, on the device where it ran there.
    CASE WHEN s.device_calls > 0 THEN s.device_ns - s.device_kern_ns
         ELSE s.host_ns - s.host_kern_ns END             AS exec_ns,
    o.computation_flop                                   AS computation_flop, -- of one execution
    o.memory_bytes                                       AS memory_bytes,     -- of one execution
    o.workspace_bytes                                    AS workspace_bytes,
    -- FLOP and bytes per second of execution.
    CASE WHEN s.device_calls > 0
         THEN 1e9 * o.computation_flop * s.device_calls / nullif(s.device_ns - s.device_kern_ns, 0)
         ELSE 1e9 * o.computation_flop * s.host_calls / nullif(s.host_ns - s.host_kern_ns, 0)
    END                                                  AS flop_per_s,
    CASE WHEN s.device_calls > 0
         THEN 1e9 * o.memory_bytes * s.device_calls / nullif(s.device_ns - s.device_kern_ns, 0)
         ELSE 1e9 * o.memory_bytes * s.host_calls / nullif(s.host_ns - s.host_kern_ns, 0)
    END                                                  AS bytes_per_s,
    o.input_shapes     AS input_shapes,  -- JSON
    o.output_shapes    AS output_shapes, -- JSON
    o.params           AS params,        -- JSON
    o.source           AS source,        -- file:line
    o.origin           AS origin         -- JSON: names of the model nodes that it came from
FROM op o
LEFT JOIN (
    SELECT
        op_id,
        sum(event_count) FILTER (WHERE lane_kind = 'thread')  AS host_calls,
        -- No program's nonsense ends the question: a sum that 64 bits do not hold is the largest number.
        CAST(sum(1.0 * sum_ns) FILTER (WHERE lane_kind = 'thread') AS INTEGER)       AS host_ns,
        min(min_ns)      FILTER (WHERE lane_kind = 'thread')  AS host_min_ns,
        max(max_ns)      FILTER (WHERE lane_kind = 'thread')  AS host_max_ns,
        CAST(sum(1.0 * kern_sum_ns) FILTER (WHERE lane_kind = 'thread') AS INTEGER)  AS host_kern_ns,
        sum(event_count) FILTER (WHERE lane_kind <> 'thread') AS device_calls,
        CAST(sum(1.0 * sum_ns) FILTER (WHERE lane_kind <> 'thread') AS INTEGER)      AS device_ns,
        min(min_ns)      FILTER (WHERE lane_kind <> 'thread') AS device_min_ns,
        max(max_ns)      FILTER (WHERE lane_kind <> 'thread') AS device_max_ns,
        CAST(sum(1.0 * kern_sum_ns) FILTER (WHERE lane_kind <> 'thread') AS INTEGER) AS device_kern_ns
    FROM (SELECT op_id, lane_kind, event_count, sum_ns, min_ns, max_ns, kern_sum_ns
          FROM op_stat NOT INDEXED -- one pass in the order of the rows is faster
          UNION ALL
          SELECT op_id, lane_kind, 1, dur_ns, dur_ns, dur_ns, kern_ns FROM v_op_waiting)
    GROUP BY op_id
) s ON s.op_id = o.op_id;

-- One row per session and op type.
CREATE VIEW v_type AS
SELECT
    session_id                           AS session_id,
    type                                 AS type,
    count(*)                             AS op_count,
    sum(calls)                           AS calls,
    sum(host_calls)                      AS host_calls,
    CAST(sum(1.0 * host_ns) AS INTEGER)  AS host_ns,
    sum(device_calls)                    AS device_calls,
    CAST(sum(1.0 * device_ns) AS INTEGER) AS device_ns,
    CAST(sum(1.0 * exec_ns) AS INTEGER)  AS exec_ns,
    CAST(sum(1.0 * computation_flop * calls) AS INTEGER) AS computation_flop, -- of all executions
    CAST(sum(1.0 * memory_bytes * calls) AS INTEGER)     AS memory_bytes,     -- of all executions
    -- Of the ops that say how much they compute or move.
    1e9 * sum(1.0 * computation_flop * calls) / nullif(sum(1.0 * exec_ns) FILTER (WHERE computation_flop IS NOT NULL), 0)
                                         AS flop_per_s,
    1e9 * sum(1.0 * memory_bytes * calls) / nullif(sum(1.0 * exec_ns) FILTER (WHERE memory_bytes IS NOT NULL), 0)
                                         AS bytes_per_s
FROM v_op
GROUP BY session_id, type;

-- One row per session.
CREATE VIEW v_session AS
SELECT
    s.session_id AS session_id,
    s.program    AS program,
    s.command    AS command,
    s.pid        AS pid,
    s.uid        AS uid,
    s.host       AS host,
    s.library    AS library,
    s.source     AS source,     -- live | megengine | ...
    s.start_ns   AS start_ns,   -- since 1970
    s.end_ns     AS end_ns,     -- since 1970; NULL while it runs
    s.end_reason AS end_reason, -- done | died | cut off | imported; NULL while it runs
    -- Until its end, or while it runs until the latest event of a batch that it is in.
    coalesce(s.end_ns, (SELECT max(b.end_ns) FROM event_batch b
                        WHERE s.session_id BETWEEN b.session_min AND b.session_max),
             (SELECT max(d.end_ns) FROM dropped d WHERE d.session_id = s.session_id)) - s.start_ns
                 AS wall_ns,
    (SELECT count(*) FROM op o WHERE o.session_id = s.session_id)     AS op_count,
    (SELECT count(*) FROM lane l WHERE l.session_id = s.session_id)   AS lane_count,
    (SELECT count(*) FROM run r WHERE r.session_id = s.session_id)    AS run_count,
    coalesce(c.event_count, 0)                                        AS event_count, -- finished
    (SELECT CAST(total(g.lost_count) AS INTEGER) FROM gap g WHERE g.session_id = s.session_id)
                                                                      AS lost_count,  -- events, of known losses
    s.note       AS note,
    s.environment AS environment, -- JSON object: cpu, cpu_count, memory_bytes, gpus, ...
    s.damage_count AS damage_count, -- pieces of the imported file that could not be read
    (SELECT coalesce(sum(d.event_count), 0) FROM dropped d WHERE d.session_id = s.session_id)
                 AS dropped_event_count, -- that are not stored any more
    (SELECT max(d.end_ns) FROM dropped d WHERE d.session_id = s.session_id AND d.event_count > 0)
                 AS dropped_end_ns,      -- since 1970: none of them ended after
    (SELECT min(coalesce(g.start_ns, s.start_ns)) FROM gap g
      WHERE g.session_id = s.session_id AND g.lost_count IS NULL)
                 AS lost_unknown_since_ns -- since 1970: an unknown number was lost from then on; NULL: none
FROM session s
LEFT JOIN (
    SELECT o.session_id, sum(t.event_count) AS event_count
    FROM (SELECT op_id, event_count FROM op_stat NOT INDEXED
          UNION ALL
          SELECT op_id, 1 FROM v_op_waiting) t
    JOIN op o ON o.op_id = t.op_id GROUP BY o.session_id
) c ON c.session_id = s.session_id;

-- What was lost: one row per session, lane and reason.
CREATE VIEW v_loss AS
SELECT
    g.session_id      AS session_id,
    s.program         AS program,
    s.pid             AS pid,
    g.lane_id         AS lane_id,  -- NULL: not known
    l.kind            AS lane_kind,
    l.name            AS lane_name,
    g.reason          AS reason,
    CAST(sum(1.0 * g.lost_count) AS INTEGER) AS lost_count, -- events; NULL: not known how many
    min(g.start_ns)   AS start_ns,   -- since 1970: the first loss was not before
    max(g.end_ns)     AS end_ns      -- since 1970: the last loss was not after
FROM gap g
LEFT JOIN session s ON s.session_id = g.session_id
LEFT JOIN lane l ON l.lane_id = g.lane_id
GROUP BY g.session_id, g.lane_id, g.reason;

-- What was dropped to keep the store within its bounds: one row per session and reason. Roll-ups, and
-- with them v_op and v_type, go on counting it but for rollup_event_count.
CREATE VIEW v_dropped AS
SELECT
    d.session_id         AS session_id,
    s.program            AS program,
    s.pid                AS pid,
    d.reason             AS reason, -- budget | disk | age
    d.event_count        AS event_count,
    d.memory_event_count AS memory_event_count,
    d.counter_count      AS counter_count,
    d.start_ns           AS start_ns,   -- since 1970: none of them began before
    d.end_ns             AS end_ns,     -- since 1970: none of them ended after
    d.dropped_ns         AS dropped_ns, -- since 1970: when the last of them was dropped
    d.run_count          AS run_count,
    d.rollup_event_count AS rollup_event_count -- that v_op does not count any more
FROM dropped d
LEFT JOIN session s ON s.session_id = d.session_id;
