-- Ranks that hold much more at a site than the others do, though it does not grow there: a larger cache, a table that only one of them loads.
--
-- Much more is 16 MiB, and eight standard deviations (estimated by the median of the distances), and a twentieth of all that the median rank retains.
WITH measured AS (
  SELECT job, rank, node, retained_bytes FROM last_ranks WHERE steps > 0 AND status IN ('ok', 'running')
), sizes AS (
  SELECT job, median(retained_bytes) AS usual, count(*) AS ranks FROM measured GROUP BY job
), candidates AS (
  SELECT DISTINCT job, site_key FROM rank_sites WHERE retained_bytes >= 16777216
), cells AS (
  SELECT measured.job AS job, measured.rank AS rank, measured.node AS node, candidates.site_key AS site_key,
         coalesce(rank_sites.retained_bytes, 0) AS bytes, coalesce(rank_sites.grows, false) AS grows,
         rank_sites.site AS site, rank_sites.pool AS pool
  FROM measured
  JOIN candidates ON candidates.job = measured.job
  LEFT JOIN rank_sites ON rank_sites.job = measured.job AND rank_sites.rank = measured.rank
                      AND rank_sites.site_key = candidates.site_key
), middles AS (
  SELECT job, site_key, median(bytes) AS middle FROM cells GROUP BY job, site_key
), distances AS (
  SELECT cells.job AS job, cells.site_key AS site_key, median(abs(bytes - middle)) AS spread
  FROM cells JOIN middles ON middles.job = cells.job AND middles.site_key = cells.site_key
  GROUP BY cells.job, cells.site_key
)
SELECT cells.job AS job, cells.rank AS rank, cells.node AS node, 'holds more' AS kind, cells.site_key AS site_key,
       cells.site AS site, cells.pool AS pool, CAST(cells.bytes AS DOUBLE) AS value, middles.middle AS middle, ranks
FROM cells
JOIN middles ON middles.job = cells.job AND middles.site_key = cells.site_key
JOIN distances ON distances.job = cells.job AND distances.site_key = cells.site_key
JOIN sizes ON sizes.job = cells.job
WHERE NOT cells.grows AND ranks >= 3
  AND bytes - middle >= 16777216
  AND bytes - middle > 8 * 1.4826E0 * spread
  AND bytes - middle > 0.05E0 * usual
