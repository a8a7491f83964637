-- A site's growth from job to job: what it was in the job before, where that was another version or another day.
SELECT site_key, site, job, started_utc, day, version, ranks, growing_ranks, median_growth, highest_growth,
       lag(median_growth) OVER (PARTITION BY site_key ORDER BY started_utc, job) AS median_before,
       lag(job) OVER (PARTITION BY site_key ORDER BY started_utc, job) AS job_before
FROM (
  SELECT rank_sites.site_key AS site_key, max(rank_sites.site) AS site, rank_sites.job AS job,
         min(starts.started_utc) AS started_utc, substr(min(starts.started_utc), 1, 10) AS day, max(starts.version) AS version,
         count(*) AS ranks, sum(CASE WHEN grows THEN 1 ELSE 0 END) AS growing_ranks,
         round(median(growth_bytes_per_step), 1) AS median_growth, round(max(growth_bytes_per_step), 1) AS highest_growth
  FROM rank_sites
  JOIN (SELECT job, min(started_utc) AS started_utc, max(version) AS version FROM jobs WHERE started_utc <> '' GROUP BY job) starts
    ON starts.job = rank_sites.job
  GROUP BY rank_sites.site_key, rank_sites.job
) by_job
ORDER BY site_key, started_utc, job
