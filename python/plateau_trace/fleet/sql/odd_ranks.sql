-- Every rank that differs from the others, with what it differs in: those that grow first, then by the distance.
SELECT job, rank, node, kind, site_key, site, pool, round(value, 1) AS value, round(middle, 1) AS middle, ranks,
       row_number() OVER (PARTITION BY job ORDER BY place, abs(value - middle) DESC, rank, site_key) AS nth
FROM (
  SELECT 0 AS place, odd_growth.* FROM odd_growth
  UNION ALL SELECT 1 AS place, odd_endings.* FROM odd_endings
  UNION ALL SELECT 2 AS place, odd_sizes.* FROM odd_sizes
) odd
ORDER BY job, nth
