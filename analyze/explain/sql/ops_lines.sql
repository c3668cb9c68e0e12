-- SPDX-License-Identifier: Apache-2.0
-- The operators of one side, also with what percentiles of their calls are made of: calls in the order of their
-- durations; a percentile is the middle of the bin that the call of nearest rank is in, as schema/store/store.md has
-- bins: of 2^e ns, where a duration has e + 5 bits.
-- needs: self_time
SELECT name, type, node_id, count(*) AS calls,
               avg({top_time}) * count(*) / {runs} AS time_ns,
               min(dur_ns) AS call_min_ns, max(dur_ns) AS call_max_ns,
               max(dur_ns) FILTER (WHERE nth = (n * 50 + 99) / 100) AS ns_50,
               max(bin_e) FILTER (WHERE nth = (n * 50 + 99) / 100) AS e_50,
               max(dur_ns) FILTER (WHERE nth = (n * 90 + 99) / 100) AS ns_90,
               max(bin_e) FILTER (WHERE nth = (n * 90 + 99) / 100) AS e_90,
               max(dur_ns) FILTER (WHERE nth = (n * 99 + 99) / 100) AS ns_99,
               max(bin_e) FILTER (WHERE nth = (n * 99 + 99) / 100) AS e_99
          FROM (SELECT *, row_number() OVER (PARTITION BY {line_key} ORDER BY dur_ns) AS nth,
                       count(*) OVER (PARTITION BY {line_key}) AS n,
                       max(0, length(printf('%x', dur_ns)) * 4 - 5 -
                              CASE substr(printf('%x', dur_ns), 1, 1) WHEN '1' THEN 3
                                   WHEN '2' THEN 2 WHEN '3' THEN 2 WHEN '4' THEN 1
                                   WHEN '5' THEN 1 WHEN '6' THEN 1 WHEN '7' THEN 1
                                   ELSE 0 END) AS bin_e
                  FROM self_time WHERE side = {op_side})
         GROUP BY {line_key}
