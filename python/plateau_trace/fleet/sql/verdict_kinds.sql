-- The verdicts, the worst first: a test compares these rows with those of the analyzer.
SELECT * FROM (VALUES
  ('leak', 0, true), ('slow_leak', 0, true), ('staircase', 0, true), ('unbounded_growth', 1, true),
  ('inconclusive', 2, false), ('fragmentation', 3, true), ('untraced_growth', 3, true),
  ('worker_duplication', 5, false), ('warmup_in_progress', 6, false), ('cache_fill', 7, false),
  ('warmup_complete', 7, false), ('spike_retained', 7, false), ('spike_recovered', 8, false),
  ('allocator_retention', 9, false), ('steady', 10, false)
) AS kinds (verdict, severity, grows)
