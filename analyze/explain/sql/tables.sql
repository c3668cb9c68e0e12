-- SPDX-License-Identifier: Apache-2.0
-- The common tables that the SQL of --explain is made of; a table names those before it only.

-- table: counted_run
-- The runs that count.
SELECT session_id, run, start_ns, end_ns, end_ns - start_ns AS dur_ns
      FROM run WHERE session_id IN ({sessions}) AND {counted}

-- table: every_span
-- The finished spans of these runs, of the window of time, with names.
SELECT e.rowid AS event_id, l.session_id, e.lane_id,
           coalesce(l.name, l.kind || ' ' || coalesce(l.native_id, 0)) AS lane, l.device,
           CASE l.kind WHEN 'thread' THEN 'host' ELSE 'device' END AS side,
           e.op_id, o.name, o.type, o.node_id, o.device AS op_device, o.input_shapes,
           o.input_dtypes, o.params, o.computation_flop, o.memory_bytes, e.run, e.start_ns,
           e.start_ns + e.dur_ns AS end_ns, e.dur_ns, e.kern_ns, e.correlation, e.bytes
      FROM event e JOIN lane l USING (lane_id) JOIN op o USING (op_id)
     WHERE l.session_id IN ({sessions}) AND e.dur_ns IS NOT NULL{in_runs}{in_time}

-- table: launching
-- Spans of hosts that launched something, one for each session, run, correlation: what runs on a device and what
-- launched it have a number in common.
-- needs: every_span
SELECT * FROM (
        SELECT event_id, session_id, lane_id, run, correlation, name, start_ns, end_ns,
               row_number() OVER (
                   PARTITION BY session_id, run, correlation
                   ORDER BY lane_id DESC, start_ns DESC, dur_ns, event_id) AS nth
          FROM every_span WHERE side = 'host' AND correlation IN (
               SELECT e.correlation FROM event e JOIN lane d USING (lane_id)
                WHERE d.session_id IN ({sessions}) AND d.kind <> 'thread'))
     WHERE nth = 1

-- table: backward_in_label
-- What autograd runs on a thread of its own belongs to the labels around the call of backward(), whose thread waits: it
-- is in no op then.
-- needs: every_span
SELECT DISTINCT b.event_id FROM every_span b JOIN every_span l ON l.op_id IN ({labels})
           AND l.side = 'host' AND l.session_id = b.session_id AND l.lane_id <> b.lane_id
           AND l.start_ns <= b.start_ns AND l.end_ns >= b.end_ns
     WHERE b.side = 'host' AND b.type = 'cpu_op' AND (
           b.name GLOB 'autograd::engine::evaluate_function: *'
           OR b.name GLOB 'torch::autograd::*' OR rtrim(b.name, '0123456789') GLOB '*Backward')
       AND NOT EXISTS (
           SELECT 1 FROM every_span o WHERE o.lane_id = l.lane_id AND o.start_ns <= b.start_ns
              AND o.end_ns > b.start_ns AND o.type NOT IN (
                  'label', 'phase', 'mark', 'counter', 'python_function'))

-- table: in_label
-- Spans of hosts in the labels of --label. Outer spans come first: a span lies in a label that began before it and ends
-- after it.
-- needs: every_span, backward_in_label
SELECT * FROM (
        SELECT *, max(end_ns) FILTER (WHERE op_id IN ({labels}) OR event_id IN (
                   SELECT event_id FROM backward_in_label)) OVER (
                   PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC
                   ROWS UNBOUNDED PRECEDING) >= end_ns AS is_inside FROM every_span)
     WHERE is_inside

-- table: labelled
-- Those, and what was launched there.
-- needs: every_span, launching, in_label
SELECT event_id FROM in_label
    UNION SELECT d.event_id FROM every_span d JOIN launching l
        ON l.session_id = d.session_id AND l.run IS d.run
       AND l.correlation = d.correlation
     WHERE d.side = 'device' AND l.event_id IN (SELECT event_id FROM in_label)

-- table: counted_span
-- Of every_span what --type, --opr-name and the like choose.
-- inlined
-- needs: every_span
SELECT * FROM every_span{chosen}

-- table: own_turn
-- Ops of hosts in the order in which they began, outer ones first; behind those of a thread its end. `holds` those that
-- the next one lies in; a next one that begins before its end and outlasts it takes the rest of its time (next_ns).
-- kept
-- needs: every_span
SELECT CAST(row_number() OVER o AS INTEGER) AS place, lane_id, event_id, start_ns, end_ns, dur_ns,
           event_id IS NOT NULL AND lead(end_ns) OVER o <= end_ns AS holds,
           lead(start_ns) OVER o AS next_ns
      FROM (SELECT lane_id, event_id, start_ns, end_ns, dur_ns FROM every_span
             WHERE side = 'host' AND dur_ns > 0 AND type NOT IN ('label', 'phase', 'mark', 'counter'){own_wanted}
            UNION ALL SELECT lane_id, NULL, 1 << 62, 1 << 62, 0 FROM lane
             WHERE session_id IN ({sessions}) AND kind = 'thread')
    WINDOW o AS (ORDER BY lane_id, start_ns, end_ns DESC, event_id DESC)

-- table: own_nest
-- Through all of them, each (of ns) with the one that it lies in (outer_id), the innermost that is open and not over
-- before it is.
-- needs: own_turn
SELECT 1 AS place, (1 << 62) + 1 AS open_ns, 0 AS open_id, '' AS open, NULL AS outer_id,
           NULL AS ns
    UNION ALL
    {nest_step.sql},
           CASE WHEN open_ns >= end_ns THEN open_id END, dur_ns
      FROM own_nest w JOIN own_turn t ON t.place = w.place

-- table: own_inner
-- Time of what lies right inside of ops on hosts, and in them as a whole: self times are without. Of ops that overlap,
-- and are in neither, an op in both is in the one that began last. The cast lets SQLite make an index for joins.
-- kept
-- needs: own_nest
SELECT CAST(outer_id AS INTEGER) AS event_id, sum(ns) AS inner_ns FROM own_nest
     WHERE outer_id > 0 GROUP BY outer_id

-- table: own_walk
-- As own_nest, with the time (ns) since the step before and whose it is: what is open (event_id).
-- needs: own_turn
SELECT 1 AS place, (1 << 62) + 1 AS open_ns, 0 AS open_id, '' AS open, 0 AS now_ns,
           0 AS lane_id, 0 AS time_ns, 0 AS ns, 0 AS event_id
    UNION ALL
    {nest_step.sql},
           CASE WHEN open_ns < end_ns THEN min(open_ns, start_ns)
                WHEN holds THEN start_ns ELSE min(end_ns, next_ns) END,
           t.lane_id, now_ns, min(open_ns, start_ns) - now_ns, open_id
      FROM own_walk w JOIN own_turn t ON t.place = w.place

-- table: own_piece
-- What lies between two starts or ends of ops on a thread, and the op that it is of. The casts let SQLite make an index
-- for joins.
-- needs: own_turn, own_walk
SELECT CAST(lane_id AS INTEGER) AS lane_id, CAST(time_ns AS INTEGER) AS time_ns,
           CAST(ns AS INTEGER) AS ns, CAST(nullif(event_id, 0) AS INTEGER) AS event_id
      FROM own_walk WHERE ns > 0
    UNION ALL
    SELECT lane_id, start_ns, min(end_ns, next_ns) - start_ns, event_id FROM own_turn
     WHERE NOT holds AND event_id IS NOT NULL

-- table: flat_lane
-- In MegEngine's profiles the spans of an op on several streams are parts of one execution, of which the longest counts:
-- that lane of each op.
-- needs: every_span
SELECT op_id, side, lane_id
      FROM (SELECT op_id, side, lane_id, row_number() OVER (PARTITION BY op_id, side
                       ORDER BY sum(dur_ns) DESC, lane_id) AS nth
              FROM every_span WHERE session_id IN (
                   SELECT session_id FROM session WHERE source = 'megengine')
             GROUP BY op_id, side, lane_id) WHERE nth = 1

-- table: sample_of_op
-- Self times of ops on one side, the devices' where they have any, with is_shown: of the types asked for.
-- needs: every_span, counted_span, own_inner
SELECT session_id, run, op_id, start_ns,
           event_id {is_chosen} AS is_shown,
           CASE WHEN side = 'device' OR session_id IN (
                    SELECT session_id FROM session WHERE source = 'megengine')
                THEN dur_ns ELSE max(0, dur_ns - coalesce(inner_ns, 0)) END AS own_ns
      FROM every_span LEFT JOIN own_inner USING (event_id)
     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')
       AND side = (SELECT min(side) FROM every_span
                    WHERE type NOT IN ('label', 'phase', 'mark', 'counter'))

-- table: issued_op
-- What ran on devices, with issued_ns: the start of its launch, and before_ns: that of the one before it on the lane.
-- What a launch of a graph does was asked for at once, and its order is that of its start: begun_ns, before_begun_ns;
-- waits that begin with an op of a graph, or are asked for at the time of a launch, come before it: until_begun_ns.
-- needs: every_span, launching
SELECT d.event_id, d.lane_id, d.name, d.start_ns, d.end_ns, l.start_ns AS issued_ns,
           d.start_ns AS begun_ns, lag(l.start_ns) OVER lane AS before_ns,
           lag(d.start_ns) OVER lane AS before_begun_ns, l.name GLOB '*GraphLaunch*' AS is_of_graph,
           iif(l.name GLOB '*GraphLaunch*', d.start_ns, 0) + 1 AS until_begun_ns
      FROM every_span d JOIN launching l ON d.side = 'device' AND l.run IS d.run
           AND l.session_id = d.session_id AND l.correlation = d.correlation
     WHERE d.type NOT IN ('label', 'phase', 'mark', 'counter')
    WINDOW lane AS (PARTITION BY d.lane_id ORDER BY l.start_ns, d.start_ns)

-- table: graph_record
-- Events that a device recorded while it did a graph: of what began last before on their lane, issued_ns.
-- needs: every_span, issued_op
SELECT r.session_id, r.run, r.correlation, r.start_ns, (
           SELECT i.issued_ns FROM issued_op i WHERE i.lane_id = r.lane_id AND i.start_ns < r.start_ns
            ORDER BY i.start_ns DESC LIMIT 1) AS issued_ns
      FROM every_span r
     WHERE r.side = 'device' AND r.type = 'phase' AND r.name GLOB '*EventRecord*'

-- table: stream_wait
-- Waits of a stream for an event (metrics/stream_waits.h): source_lane, recorded_ns; within a graph also when they began.
-- needs: every_span, launching, issued_op, graph_record
SELECT w.event_id AS wait_id, w.lane_id, r.issued_ns, r.begun_ns, r.recorded_ns, r.recorded_begun_ns,
           min(s.lane_id) AS source_lane
      FROM every_span w JOIN (
           SELECT w.event_id, w.start_ns AS issued_ns, 0 AS begun_ns, r.start_ns AS recorded_ns,
                  0 AS recorded_begun_ns
             FROM every_span w JOIN launching r ON r.session_id = w.session_id AND r.run IS w.run
                  AND r.correlation = w.correlation AND r.start_ns <= w.start_ns
            WHERE w.side = 'device' AND w.type = 'phase' AND r.name GLOB '*EventRecord*'
            UNION ALL
           SELECT w.event_id, i.issued_ns, w.start_ns, r.issued_ns, max(r.start_ns)
             FROM every_span w JOIN graph_record r ON r.session_id = w.session_id AND r.run IS w.run
                  AND r.correlation = w.correlation AND r.start_ns <= w.start_ns
             JOIN issued_op i ON i.lane_id = w.lane_id AND i.is_of_graph AND i.issued_ns = r.issued_ns
                  AND i.start_ns >= w.start_ns
            WHERE w.side = 'device' AND w.type = 'phase' AND w.name NOT GLOB '*EventRecord*'
            GROUP BY w.event_id) r USING (event_id)
      JOIN lane s ON s.session_id = w.session_id AND s.kind <> 'thread'
           AND (s.name = json_extract(w.params, '$.wait_on_lanes[#-1]') OR (s.device = w.device
                AND s.native_id = json_extract(w.params, '$.wait_on_stream')))
     GROUP BY w.event_id

-- table: waited_for
-- Lanes that a wait waits for, by itself or by waits of the stream that it names, and until which time of a launch
-- there: the other stream itself waited for a third one, since what it ran last before.
-- needs: issued_op, stream_wait
SELECT wait_id, source_lane AS lane_id, recorded_ns AS until_ns, recorded_begun_ns AS until_begun_ns
      FROM stream_wait
    UNION SELECT f.wait_id, w.source_lane, w.recorded_ns, w.recorded_begun_ns
      FROM waited_for f JOIN stream_wait w ON w.lane_id = f.lane_id
           AND (w.issued_ns, w.begun_ns) < (f.until_ns, f.until_begun_ns)
           AND NOT EXISTS (
               SELECT 1 FROM issued_op i
                WHERE i.lane_id = f.lane_id AND (i.issued_ns, i.begun_ns) < (f.until_ns, f.until_begun_ns)
                  AND (i.issued_ns, i.begun_ns) >= (w.issued_ns, w.begun_ns))

-- table: event_awaited
-- Of what has waits before it: awaited_id, awaited (its name), awaited_ns (its end): of what they wait for, what ends last.
-- needs: issued_op, stream_wait, waited_for
SELECT i.event_id, a.event_id AS awaited_id, a.name AS awaited, max(a.end_ns) AS awaited_ns
      FROM issued_op i JOIN stream_wait w ON w.lane_id = i.lane_id
           AND (w.issued_ns, w.begun_ns) < (i.issued_ns, i.until_begun_ns)
           AND (i.before_ns IS NULL OR (w.issued_ns, w.begun_ns) > (i.before_ns, i.before_begun_ns))
      JOIN waited_for f USING (wait_id) JOIN issued_op a ON a.event_id = (
               SELECT l.event_id FROM issued_op l
                WHERE l.lane_id = f.lane_id AND (l.issued_ns, l.begun_ns) < (f.until_ns, f.until_begun_ns)
                ORDER BY l.issued_ns DESC, l.start_ns DESC LIMIT 1)
     GROUP BY i.event_id

-- table: sampled_op
-- Their rows of `op`, with part_id: the op that it is in the first of the sessions. Of those that look alike in a
-- session the first is the first of another.
-- needs: sample_of_op
SELECT *, first_value(op_id) OVER (PARTITION BY name, type, input_shapes, input_dtypes,
                                   origin, twin ORDER BY session_id) AS part_id
      FROM (SELECT *, row_number() OVER (PARTITION BY session_id, name, type, input_shapes,
                                         input_dtypes, origin ORDER BY client_op) AS twin
              FROM op WHERE op_id IN (SELECT op_id FROM sample_of_op WHERE is_shown))

-- table: self_time
-- counted_span with own_ns: without the ops inside; labels, which have their whole time, only where the type is asked
-- for.
-- needs: counted_span, own_inner, flat_lane
SELECT s.*, CASE WHEN session_id IN (SELECT session_id FROM session WHERE source = 'megengine')
                THEN s.dur_ns * ((op_id, side, lane_id) IN flat_lane)
                WHEN type = 'label' OR side = 'device' THEN s.dur_ns
                ELSE max(0, s.dur_ns - coalesce(inner_ns, 0)) END AS own_ns
      FROM counted_span s LEFT JOIN own_inner USING (event_id)
     WHERE type NOT IN ('phase', 'mark', 'counter'{no_labels})

-- table: op_line
-- Operators that are one line have one number: that of the first of them. The casts let SQLite make an index for joins,
-- and a + keeps it from thinking that there are too few for one.
-- kept
SELECT CAST(op_id AS INTEGER) AS op_id,
           CAST(min(op_id) OVER (PARTITION BY {line_key}) AS INTEGER) AS line
      FROM (SELECT op_id, name, type, node_id, device AS op_device, input_shapes, input_dtypes, params
              FROM op WHERE +session_id IN ({sessions}))
