-- How many ranks have which verdict.
SELECT job, verdict, count(*) AS ranks,
       round(CAST(100 * count(*) AS DOUBLE) / CAST(sum(count(*)) OVER (PARTITION BY job) AS DOUBLE), 2) AS percent
FROM last_ranks LEFT JOIN verdict_kinds USING (verdict)
WHERE verdict <> ''
GROUP BY job, verdict, severity
ORDER BY job, coalesce(severity, 2), verdict
