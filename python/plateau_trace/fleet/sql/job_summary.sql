-- One row per job: how many ranks, where, and the worst of their verdicts.
SELECT last_ranks.job AS job,
       count(*) AS ranks,
       coalesce(max(world), count(*)) AS world,
       count(DISTINCT node) AS nodes,
       sum(attempts) - count(*) AS earlier_attempts,
       min(started_utc) AS started_utc,
       max(steps) AS steps,
       min(CASE WHEN verdict <> '' THEN coalesce(severity, 2) END) AS worst_severity,
       sum(CASE WHEN status <> 'ok' THEN 1 ELSE 0 END) AS unsound_ranks,
       sum(CASE WHEN status = 'ok' AND ending LIKE 'killed%' THEN 1 ELSE 0 END) AS killed_ranks
FROM last_ranks LEFT JOIN verdict_kinds USING (verdict)
GROUP BY last_ranks.job
ORDER BY job
