-- Recordings and ranks whose numbers cannot be relied on, and ranks of which there is no recording at all.
SELECT job, node, CAST(NULL AS BIGINT) AS rank, path AS what, status, reason FROM jobs WHERE status <> 'ok' AND ranks = 0
UNION ALL
SELECT job, node, rank, CAST(rank AS VARCHAR(20)) AS what, status, reason FROM last_ranks WHERE status <> 'ok'
UNION ALL
SELECT job, node, CAST(NULL AS BIGINT) AS rank, path AS what, 'damaged' AS status, reason FROM jobs
WHERE unreadable_files > 0 AND ranks > 0
UNION ALL
SELECT job, '' AS node, CAST(NULL AS BIGINT) AS rank, CAST(world - ranks AS VARCHAR(20)) AS what, 'missing' AS status,
       'ranks of the job without a recording' AS reason
FROM job_summary WHERE world > ranks
ORDER BY job, status, node, rank, what
