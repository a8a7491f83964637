-- The sites of the last attempts, without the row that sums up the small ones.
SELECT sites.job AS job, last_ranks.node AS node, sites.rank AS rank, site_key, sites.pool AS pool,
       sites.site AS site, file, line, function, library, sites.verdict AS verdict,
       sites.retained_bytes AS retained_bytes, growth_bytes_per_step, growth_low,
       coalesce(kinds.grows, false) AS grows
FROM sites
JOIN last_ranks ON last_ranks.job = sites.job AND last_ranks.recording = sites.recording
               AND last_ranks.rank = sites.rank AND last_ranks.attempt = sites.attempt
LEFT JOIN verdict_kinds kinds ON kinds.verdict = sites.verdict
WHERE sites.site <> '[other sites]'
