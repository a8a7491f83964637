-- What grows at a place from job to job of one program, and what it was in the job before. A place is a file and a function: lines move from
-- version to version, and a place that is new grew by nothing before. Programs that ran once have no rows.
WITH starts AS (
  SELECT job, min(started_utc) AS started_utc, max(coalesce(code_version, '')) AS version,
         CASE WHEN regexp_extract(min(command), '[^ /]+[.]py', 0) <> '' THEN regexp_extract(min(command), '[^ /]+[.]py', 0)
              ELSE regexp_extract(min(command), '[^ /]+( |$)', 0) END AS program
  FROM jobs WHERE started_utc <> '' GROUP BY job
), numbered AS (
  SELECT starts.*, count(*) OVER (PARTITION BY program) AS runs,
         lag(job) OVER (PARTITION BY program ORDER BY started_utc, job) AS job_before,
         lag(version) OVER (PARTITION BY program ORDER BY started_utc, job) AS version_before
  FROM starts
), runs AS (
  SELECT * FROM numbered WHERE runs > 1
), places AS (
  SELECT site_key, max(regexp_replace(site, ':[0-9]+.*$', '') || ' in ' || function) AS place
  FROM rank_sites WHERE job IN (SELECT job FROM runs) GROUP BY site_key
), per_rank AS (
  SELECT job, rank, pool, place, max(site) AS site, sum(growth_bytes_per_step) AS growth, max(CASE WHEN grows THEN 1 ELSE 0 END) AS grows
  FROM rank_sites JOIN places ON places.site_key = rank_sites.site_key
  WHERE job IN (SELECT job FROM runs)
  GROUP BY job, rank, pool, place
), per_job AS (
  SELECT job, pool, place, max(site) AS site, count(*) AS ranks, sum(grows) AS growing_ranks,
         median(growth) AS median_growth, max(growth) AS highest_growth
  FROM per_rank GROUP BY job, pool, place
)
SELECT program, now.place AS place, now.pool AS pool, now.site AS site, runs.job AS job, started_utc, substr(started_utc, 1, 10) AS day, version,
       now.ranks AS ranks, now.growing_ranks AS growing_ranks, round(now.median_growth, 1) AS median_growth,
       round(now.highest_growth, 1) AS highest_growth, job_before, version_before,
       CASE WHEN job_before IS NULL THEN NULL ELSE round(coalesce(past.highest_growth, 0E0), 1) END AS highest_before
FROM per_job now
JOIN runs ON runs.job = now.job
LEFT JOIN per_job past ON past.job = job_before AND past.pool = now.pool AND past.place = now.place
ORDER BY program, place, pool, started_utc, job
