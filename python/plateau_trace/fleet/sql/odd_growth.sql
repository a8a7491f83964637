-- Ranks whose rate at a site stands out from that of the other ranks. Ranks without the site count as 0, and only a site that the analyzer says grows
-- can be odd: one sampled block more or less is no difference.
--
-- The bounds are of the distance from the median: six standard deviations (estimated by the median of the distances), a quarter of the median, and the
-- lower end of the rank's own interval has to be beyond them. Where a site grows in at most half of the ranks, the usual rate is 0: of two ranks of which one
-- grows, that one is odd.
WITH measured AS (
  SELECT job, rank, node FROM last_ranks WHERE steps > 0 AND status IN ('ok', 'running')
), candidates AS (
  SELECT DISTINCT job, site_key FROM rank_sites WHERE grows AND growth_low > 0 AND growth_bytes_per_step >= 1
), cells AS (
  SELECT measured.job AS job, measured.rank AS rank, measured.node AS node, candidates.site_key AS site_key,
         coalesce(rank_sites.growth_bytes_per_step, 0) AS rate, coalesce(rank_sites.growth_low, 0) AS low,
         coalesce(rank_sites.grows, false) AS grows, rank_sites.site AS site, rank_sites.pool AS pool
  FROM measured
  JOIN candidates ON candidates.job = measured.job
  LEFT JOIN rank_sites ON rank_sites.job = measured.job AND rank_sites.rank = measured.rank
                      AND rank_sites.site_key = candidates.site_key
), middles AS (
  SELECT job, site_key, count(*) AS ranks,
         CASE WHEN 2 * sum(CASE WHEN grows THEN 1 ELSE 0 END) <= count(*) THEN 0E0 ELSE median(rate) END AS middle,
         CASE WHEN 2 * sum(CASE WHEN grows THEN 1 ELSE 0 END) <= count(*) THEN 0E0 ELSE 1E0 END AS weight
  FROM cells GROUP BY job, site_key
), distances AS (
  SELECT cells.job AS job, cells.site_key AS site_key, max(weight) * median(abs(rate - middle)) AS spread
  FROM cells JOIN middles ON middles.job = cells.job AND middles.site_key = cells.site_key
  GROUP BY cells.job, cells.site_key
)
SELECT cells.job AS job, cells.rank AS rank, cells.node AS node, 'grows' AS kind, cells.site_key AS site_key,
       cells.site AS site, cells.pool AS pool, cells.rate AS value, middles.middle AS middle, ranks
FROM cells
JOIN middles ON middles.job = cells.job AND middles.site_key = cells.site_key
JOIN distances ON distances.job = cells.job AND distances.site_key = cells.site_key
WHERE cells.grows AND ranks >= 2
  AND low > middle + 6 * 1.4826E0 * spread + 0.25E0 * abs(middle)
