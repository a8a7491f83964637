-- The sites of a job over all its ranks: those that grow in most ranks first, then the largest.
SELECT job, site_key, max(site) AS site, max(pool) AS pool, max(file) AS file, max(line) AS line, max(library) AS library,
       count(*) AS ranks,
       sum(CASE WHEN grows THEN 1 ELSE 0 END) AS growing_ranks,
       round(median(growth_bytes_per_step), 1) AS median_growth,
       round(max(growth_bytes_per_step), 1) AS highest_growth,
       sum(retained_bytes) AS retained_bytes,
       max(retained_bytes) AS largest_bytes
FROM rank_sites
GROUP BY job, site_key
ORDER BY job, growing_ranks DESC, retained_bytes DESC, site_key
