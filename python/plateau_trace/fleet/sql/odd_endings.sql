-- Ranks that ended before the others: killed, or after fewer steps. Where all of them were stopped at once, none is odd.
WITH known AS (
  SELECT job, rank, node, steps, ending, status,
         CASE WHEN status = 'ok' AND ending LIKE 'killed%' THEN 1 ELSE 0 END AS is_killed
  FROM last_ranks WHERE status IN ('ok', 'damaged')
), whole AS (
  SELECT job, median(steps) AS usual, max(steps) AS most, sum(is_killed) AS killed, count(*) AS ranks FROM known GROUP BY job
)
SELECT known.job AS job, known.rank AS rank, known.node AS node,
       CASE WHEN is_killed = 1 THEN 'was killed' ELSE 'stopped early' END AS kind,
       '' AS site_key, '' AS site, '' AS pool, CAST(steps AS DOUBLE) AS value, usual AS middle, ranks
FROM known JOIN whole ON whole.job = known.job
WHERE ranks >= 2
  AND ((is_killed = 1 AND killed < ranks) OR (is_killed = 0 AND steps < 0.9E0 * usual AND usual - steps >= 2))
