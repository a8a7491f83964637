-- The last attempt of each rank: what is said of a job is said of these.
SELECT * FROM (
  SELECT ranks.*,
         row_number() OVER (PARTITION BY job, rank ORDER BY attempt DESC, started_utc DESC, recording) AS nth,
         count(*) OVER (PARTITION BY job, rank) AS attempts
  FROM ranks
) numbered
WHERE nth = 1
