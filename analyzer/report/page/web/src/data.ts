// The shape of what the report writer embeds (page_data.cc). Text in it comes from the traced program: only ever put it
// into the page as text, never as markup.

export type Interval = [number, number] | null;

export interface Forecast {
  label: string;
  sentence: string;
  from_step: number;
  from_bytes: number;
  rate_bytes_per_step: number;
  rate_interval: Interval;
  plateau_bytes: number | null;
  plateau_interval: Interval;
  plateau_step: number | null;
  limit_step: number | null;
  limit_step_interval: Interval;
}

export interface Phase {
  kind: string;
  label: string;
  from_step: number;
  to_step: number;
  from_seconds: number;
  to_seconds: number;
}

export interface DeviceLevels {
  device: number;
  tensor_bytes: number;
  reserved_bytes: number;
  torch_reserved_bytes: number;
  free_in_segments_bytes: number;
  largest_free_bytes: number;
  limit_bytes: number;
  driver_used_bytes: number;
  fragmentation: number;
}

// Of the process that is the rank, never a sum with its workers.
export interface Rank {
  rank: number;
  pid: number;
  earlier_attempts: number;
  workers: number;
  group: string;
  verdict: string;
  site: string;
  rate_bytes_per_step: number;
  steps: number;
  end_seconds: number;
  ending: string;
  retained_bytes: number;
  peak_bytes: number;
  peak_rss_bytes: number;
  odd: string[];
  curve: {step: number[]; seconds: number[]; live_bytes: number[]; rss_bytes: number[]};
}

export interface Report {
  tool_version: string;
  verdict: string;
  headline: {
    reason: string;
    summary?: string;  // reports of older versions have none
    site?: string;
    sentence: string;
    why: string[];
    outcome: string;
    forecasts: Forecast[];
    detectable_bytes_per_step: number | null;
    needs_steps: number | null;
    limit_bytes: number | null;
    held_by?: string[];
    next_steps: string[];
  };
  recording: {
    path: string;
    command: string;
    mode: string;
    sample_bytes: number;
    exact_from_bytes: number;
    python_sample_bytes: number;
    sampled_from_seconds: number | null;
    totals_only_from_seconds: number | null;
    started_utc: string;
    duration_seconds: number;
    ending: string;
    trace_bytes: number;
    trace_files: number;
    events: number;
    sources: string[];
    notes: string[];
    environment: Record<string, string>;
    levels: Record<string, string>;
  };
  steps: {count: number; source: string; confidence: number; epochs: number; evaluations: number; steps_per_epoch: number | null};
  totals: {
    alloc_count: number;
    alloc_bytes: number;
    free_count: number;
    free_bytes: number;
    retained_bytes: number;
    retained_count: number;
    peak_bytes: number;
    peak_step: number;
    temporary_bytes: number;
    leftovers: Array<{name: string; explanation: string; retained_bytes: number; retained_count: number; peak_bytes: number; temporary_bytes: number}>;
  };
  drops: {events: number; bytes: number; unknown_frees: number};
  damage: {blocks: number; bytes: number; missing_blocks: number; headers: number; skipped_records: number; unreadable_files?: number; messages: string[]};
  pools: Array<{name: string; verdict: string; evidence: string; live_bytes: number; peak_bytes: number; reserved_bytes: number; growth_bytes_per_step: number}>;
  devices: Array<DeviceLevels & {
    tensor_peak_bytes: number; reserved_peak_bytes: number; graph_private_bytes: number;
    torch_check: {compared: number; mismatches: number; last_difference_bytes: number; blocks_outside_segments: number; reserved_exceeded: number} | null;
  }>;
  out_of_memory: Array<DeviceLevels & {time_seconds: number; step: number; level: string; call: string; requested_bytes: number; site: string}>;
  out_of_memory_count: number;
  processes: Array<{
    pid: number;
    parent_pid: number;
    role: string;
    rank: number | null;
    exe: string;
    command: string;
    ending: string;
    start_seconds: number;
    end_seconds: number;
    verdict: string;
    retained_bytes: number;
    peak_bytes: number;
    peak_rss_bytes: number;
    growth_bytes_per_step: number;
    dropped_events: number;
  }>;
  ranks?: Rank[];  // of a job of several; reports of older versions have none
  hypotheses: Array<{name: string; result: string; evidence: string}>;
  last_minutes?: {
    from_seconds: number; to_seconds: number; from_step: number; to_step: number; rss_from_bytes: number; rss_to_bytes: number;
    out_of_memory: boolean; sentence: string; refused: string[];
    asked: Array<{site: string; grown_bytes: number; retained_bytes: number}>; largest: Array<{site: string; grown_bytes: number; retained_bytes: number}>;
  };
  patterns: Array<{id: string; title: string; explanation: string; fix: string; evidence: string}>;
  breakdown: Array<{name: string; bytes: number; count: number; how: string}>;
  phases: Phase[];
}

// The references that keep a site's objects alive. Only containers have lengths, one for each look.
export interface HolderPath {
  text: string;
  end: string;
  root: string;
  share: number;
  bytes: number;
  links: Array<[string, string]>;
  container?: string;
  type?: string;
  container_links?: number;
  step?: number[];
  items?: number[];
  bound?: number;
}

export interface Site {
  site: string;
  retained: number;
  count: number;
  file?: string;
  line?: number;
  function?: string;
  module?: string;
  pool?: string;
  phase?: string;
  category?: string;
  source?: string;
  excerpt?: string[];
  excerpt_from?: number;
  library?: string;
  import?: boolean;
  verdict?: string;
  evidence?: string;
  growth?: number;
  growth_interval?: [number, number];
  peak?: number;
  temporary?: number;
  alloc_bytes?: number;
  alloc_count?: number;
  held_by?: HolderPath[];
  garbage_share?: number;
  not_found_share?: number;
  look_was_cut?: boolean;
  tensors?: number;
  tensor_bytes?: number;
  ages?: number[];
  stack: number[];
}

export type LedgerColumn = 'live' | 'rss' | 'anon' | 'file' | 'shmem' | 'gap' | 'own' | 'pinned' | 'device_live' |
    'device_reserved' | 'cgroup' | 'unexplained' | 'tensors' | 'tensor_count';

export interface PageData {
  report: Report;
  ledger: {step: number[]; time: number[]} & Partial<Record<LedgerColumn, number[]>>;
  ledger_readings: number;
  // First and last reading of the training, and the highest live bytes: the figures beside the curves of the card.
  span?: {live_from: number; live_to: number; live_peak: number; rss_from: number; rss_to: number; gap: number; gap_estimated: boolean};
  gap_estimated?: boolean;  // the allocator was not asked at every reading
  series: {step: number[]; time: number[]; curves: Array<{row: number; live: number[]; survivors: number[]; tensors?: number[]}>; others: number[]};
  sites: Site[];
  rest: {sites: number; retained: number; count: number; peak: number; temporary: number};
  stacks: {all: number; parent: number[]; frame: number[]; site: number[]; retained: number[]; growth: number[]; peak: number[]; temporary: number[]};
  frames: {strings: string[]; function: number[]; file: number[]; line: number[]; module: number[]; kind: number[]};
}

export interface Frame {
  function: string;
  file: string;
  line: number;
  module: string;
  kind: string;
}

export function frameAt(data: PageData, index: number): Frame {
  const f = data.frames;
  return {
    function: f.strings[f.function[index]],
    file: f.strings[f.file[index]],
    line: f.line[index],
    module: f.strings[f.module[index]],
    kind: f.strings[f.kind[index]],
  };
}

// The last reading of the training itself: the first one of the last step, -1 for none.
export function trainingEnd(steps: number[]): number {
  return steps.length === 0 ? -1 : steps.indexOf(steps[steps.length - 1]);
}

export function readData(): PageData {
  const holder = document.getElementById('plateau-data');
  return JSON.parse(holder?.textContent ?? '') as PageData;
}
