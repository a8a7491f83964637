-- The rank that reaches its memory limit first: the job ends with it.
SELECT job, rank, node, site, round(limit_step, 1) AS limit_step, steps, round(limit_step - steps, 1) AS steps_left,
       round((limit_step - steps) * seconds / steps, 1) AS seconds_left, limit_bytes
FROM (
  SELECT last_ranks.*, row_number() OVER (PARTITION BY job ORDER BY limit_step - steps, rank) AS place
  FROM last_ranks WHERE limit_step IS NOT NULL AND steps > 0
) ordered
WHERE place = 1
ORDER BY job
