-- How odd ranks are spread over the groups of data, tensor and pipeline parallelism: a group of which all are odd while no other rank is, is the cause.
WITH places AS (
  SELECT job, rank, 'data' AS dimension, data_parallel AS place FROM last_ranks
  UNION ALL SELECT job, rank, 'tensor' AS dimension, tensor_parallel AS place FROM last_ranks
  UNION ALL SELECT job, rank, 'pipeline' AS dimension, pipeline_parallel AS place FROM last_ranks
), odd AS (
  SELECT DISTINCT job, rank FROM odd_ranks
)
SELECT places.job AS job, dimension, place, count(*) AS ranks,
       sum(CASE WHEN odd.rank IS NULL THEN 0 ELSE 1 END) AS odd_ranks
FROM places LEFT JOIN odd ON odd.job = places.job AND odd.rank = places.rank
WHERE place IS NOT NULL
GROUP BY places.job, dimension, place
ORDER BY job, dimension, place
