-- Hosts with at least half of their ranks odd in one way, while fewer than a quarter of the other ranks are.
WITH per_host AS (
  SELECT last_ranks.job AS job, last_ranks.node AS node, odd.kind AS kind, odd.site_key AS site_key, max(odd.site) AS site,
         count(DISTINCT odd.rank) AS odd_ranks
  FROM last_ranks JOIN odd_ranks odd ON odd.job = last_ranks.job AND odd.rank = last_ranks.rank
  GROUP BY last_ranks.job, last_ranks.node, odd.kind, odd.site_key
), hosts AS (
  SELECT job, node, count(*) AS ranks FROM last_ranks GROUP BY job, node
), whole AS (
  SELECT job, count(*) AS all_ranks FROM last_ranks GROUP BY job
), odd_of_all AS (
  SELECT job, kind, site_key, sum(odd_ranks) AS all_odd FROM per_host GROUP BY job, kind, site_key
)
SELECT per_host.job AS job, per_host.node AS node, per_host.kind AS kind, per_host.site AS site,
       hosts.ranks AS ranks, per_host.odd_ranks AS odd_ranks
FROM per_host
JOIN hosts ON hosts.job = per_host.job AND hosts.node = per_host.node
JOIN whole ON whole.job = per_host.job
JOIN odd_of_all ON odd_of_all.job = per_host.job AND odd_of_all.kind = per_host.kind AND odd_of_all.site_key = per_host.site_key
WHERE hosts.ranks >= 2 AND all_ranks > hosts.ranks
  AND 2 * odd_ranks >= hosts.ranks
  AND 4 * (all_odd - odd_ranks) < all_ranks - hosts.ranks
ORDER BY job, odd_ranks DESC, node, kind, site
