// Everything that is best read as a table: hypotheses, breakdown, ledger, pools, processes, how it was recorded.
import {verdictChip} from './banner';
import type {LedgerColumn, PageData} from './data';
import {el, panel, table} from './dom';
import * as format from './format';
import {kSeries} from './theme';

export function hypotheses(data: PageData): HTMLElement {
  const order = ['supported', 'possible', 'not tested', 'ruled out'];
  const rows = data.report.hypotheses.slice().sort((a, b) => order.indexOf(a.result.replace('_', ' ')) - order.indexOf(b.result.replace('_', ' ')));
  const tone = (result: string) => result === 'supported' ? 'grows' : result === 'possible' ? 'open' : result === 'ruled out' || result === 'ruled_out' ? 'fine' : 'none';
  return panel('What usually gets the blame', 'Each suspect was tested against this recording.',
      table([
        {title: 'Suspect', cell: (h) => h.name},
        {title: 'Result', cell: (h) => el('span', {class: `chip tone-${tone(h.result)}`}, h.result.replace('_', ' '))},
        {title: 'Evidence', wide: true, cell: (h) => h.evidence},
      ], rows, {label: 'Hypotheses'}));
}

export function breakdown(data: PageData): HTMLElement | null {
  const items = data.report.breakdown.filter((item) => item.bytes !== 0);
  if (items.length === 0) return null;
  const whole = items.reduce((sum, item) => sum + Math.max(0, item.bytes), 0);
  const strip = el('div', {class: 'strip', role: 'img', 'aria-label': 'Shares of what is held'});
  items.forEach((item, i) => {
    const part = el('i', {title: `${item.name}: ${format.bytes(item.bytes)}`});
    part.style.flexGrow = String(Math.max(0, item.bytes));
    part.style.background = kSeries[i % kSeries.length];
    strip.append(part);
  });
  return panel('What is held', 'Everything alive at the end, by what it is.', strip, table([
    {
      title: 'What',
      cell: (row) => {
        const swatch = el('i', {class: 'swatch'});
        swatch.style.background = kSeries[items.indexOf(row) % kSeries.length];
        return el('span', {}, swatch, row.name);
      },
    },
    {title: 'Bytes', numeric: true, cell: (row) => format.bytes(row.bytes)},
    {title: 'Share', numeric: true, cell: (row) => format.percent(row.bytes, whole)},
    {title: 'Objects', numeric: true, cell: (row) => format.count(row.count)},
    {title: 'Recognised', wide: true, cell: (row) => row.how},
  ], items, {label: 'Breakdown'}));
}

export function ledger(data: PageData): HTMLElement {
  const parts: Array<[LedgerColumn, string, string]> = [
    ['live', 'Live', 'asked for and not freed'],
    ['gap', data.gap_estimated ? 'Allocator gap (estimated)' : 'Allocator gap',
      `held by the allocator, asked for by nobody${data.gap_estimated ? '; estimated between the times the allocator was asked' : ''}`],
    ['file', 'Files', 'mapped files; reclaimable'],
    ['shmem', 'Shared', 'shared memory'],
    ['own', 'Plateau itself', 'buffers of the recorder'],
    ['unexplained', 'Unexplained', 'program text, stacks, and what was not traced'],
    ['rss', 'Resident set', 'the sum of the above'],
    ['anon', 'of it anonymous', ''],
    ['pinned', 'Pinned', 'page-locked host memory'],
    ['device_live', 'Device live', ''],
    ['device_reserved', 'Device reserved', ''],
    ['cgroup', 'Cgroup', 'what the limit counts'],
  ];
  const last = data.ledger.step.length - 1;
  const first = data.ledger.step.findIndex((step) => step >= 1);
  const rows = parts.filter(([column]) => data.ledger[column] !== undefined).map(([column, name, note]) => {
    const values = data.ledger[column] as number[];
    const begin = values[Math.max(0, first)];
    return {column, name, note, begin, end: values[last], change: values[last] - begin, peak: values.reduce((a, b) => Math.max(a, b), -Infinity)};
  });
  const view = table([
    {title: 'Part', cell: (row) => row.column === 'rss' ? el('strong', {}, row.name) : row.name},
    {title: 'At step 1', numeric: true, cell: (row) => format.bytes(row.begin)},
    {title: 'At the end', numeric: true, cell: (row) => format.bytes(row.end)},
    {title: 'Change', numeric: true, cell: (row) => `${row.change > 0 ? '+' : ''}${format.bytes(row.change)}`},
    {title: 'Highest', numeric: true, cell: (row) => format.bytes(row.peak)},
    {title: 'What it is', wide: true, cell: (row) => row.note},
  ], rows, {label: 'Ledger'});
  return panel('Ledger', 'The resident set is the sum of its parts; what nothing accounts for is printed, not hidden.', view);
}

export function pools(data: PageData): HTMLElement | null {
  if (data.report.pools.length === 0) return null;
  return panel('Pools', 'Each kind of memory has its own verdict.', table([
    {title: 'Pool', cell: (p) => p.name},
    {title: 'Verdict', cell: (p) => verdictChip(p.verdict)},
    {title: 'Live', numeric: true, cell: (p) => format.bytes(p.live_bytes)},
    {title: 'Peak', numeric: true, cell: (p) => format.bytes(p.peak_bytes)},
    {title: 'Growth', numeric: true, cell: (p) => p.growth_bytes_per_step ? format.rate(p.growth_bytes_per_step) : '-'},
    {title: 'Evidence', wide: true, cell: (p) => p.evidence},
  ], data.report.pools, {label: 'Pools'}));
}

function deviceName(row: {device: number}): string {
  return row.device < 0 ? 'device ?' : `device ${row.device}`;
}

export function devices(data: PageData): HTMLElement | null {
  const rows = data.report.devices;
  if (rows.length === 0) return null;
  return panel('Devices', 'When the training ended. Fragmentation is the share of the free bytes in torch\'s segments that lie outside the largest piece.', table([
    {title: 'Device', cell: deviceName},
    {title: 'Reserved', numeric: true, cell: (d) => format.bytes(d.reserved_bytes)},
    {title: 'Tensors', numeric: true, cell: (d) => format.bytes(d.tensor_bytes)},
    {title: 'Free in segments', numeric: true, cell: (d) => format.bytes(d.free_in_segments_bytes)},
    {title: 'Largest piece', numeric: true, cell: (d) => format.bytes(d.largest_free_bytes)},
    {title: 'Fragmentation', numeric: true, cell: (d) => `${Math.round(100 * d.fragmentation)} %`},
    {title: 'Peak reserved', numeric: true, cell: (d) => format.bytes(d.reserved_peak_bytes)},
    {
      title: 'torch\'s own totals', wide: true,
      cell: (d) => d.torch_check === null ? 'not reported' : `compared at ${format.count(d.torch_check.compared)} blocks: ` +
          (d.torch_check.mismatches === 0 ? 'equal all along' : `parted ${format.count(d.torch_check.mismatches)} times, last by ${format.bytes(d.torch_check.last_difference_bytes)}`),
    },
  ], rows, {label: 'Devices'}));
}

export function outOfMemory(data: PageData): HTMLElement | null {
  const rows = data.report.out_of_memory;
  if (rows.length === 0) return null;
  return panel('Out of memory', `${format.count(data.report.out_of_memory_count)} requests were refused; the device at that moment.`, table([
    {title: 'Step', numeric: true, cell: (o) => format.step(o.step)},
    {title: 'Device', cell: deviceName},
    {title: 'Asked for', numeric: true, cell: (o) => format.bytes(o.requested_bytes)},
    {title: 'By', wide: true, cell: (o) => el('span', {}, el('code', {}, o.site), el('small', {class: 'under'}, o.level === 'torch' ? 'torch\'s allocator' : o.call))},
    {title: 'Reserved', numeric: true, cell: (o) => format.bytes(o.reserved_bytes)},
    {title: 'Tensors', numeric: true, cell: (o) => format.bytes(o.tensor_bytes)},
    {title: 'Free in segments', numeric: true, cell: (o) => format.bytes(o.free_in_segments_bytes)},
    {title: 'Largest piece', numeric: true, cell: (o) => format.bytes(o.largest_free_bytes)},
    {title: 'Limit', numeric: true, cell: (o) => o.limit_bytes > 0 ? format.bytes(o.limit_bytes) : 'unknown'},
  ], rows, {label: 'Out of memory', limit: 50}));
}

type ProcessRow = PageData['report']['processes'][number] & {depth: number};

// Workers behind the rank that they work for. By start, the last program seen with a pid is the one that ran when a child began.
function asTree(processes: PageData['report']['processes']): ProcessRow[] {
  const rows: ProcessRow[] = processes.map((process) => ({...process, depth: 0}));
  const byStart = [...rows].sort((a, b) => a.start_seconds - b.start_seconds);
  const running = new Map<number, ProcessRow>();
  const children = new Map<ProcessRow | null, ProcessRow[]>();
  for (const row of byStart) {
    const above = row.parent_pid === row.pid ? null : running.get(row.parent_pid) ?? null;
    row.depth = above === null ? 0 : above.depth + 1;
    children.set(above, [...(children.get(above) ?? []), row]);
    running.set(row.pid, row);
  }
  const order: ProcessRow[] = [];
  const waiting = [...(children.get(null) ?? [])].reverse();
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    order.push(row);
    waiting.push(...[...(children.get(row) ?? [])].reverse());
  }
  return order;
}

export function processes(data: PageData): HTMLElement {
  return panel('Processes and ranks', '', table<ProcessRow>([
    {title: 'Pid', sort: (p) => p.pid, cell: (p) => '\u2003'.repeat(Math.min(p.depth, 4)) + String(p.pid)},
    {title: 'Role', sort: (p) => p.role, cell: (p) => p.role},
    {title: 'Rank', numeric: true, sort: (p) => p.rank ?? -1, cell: (p) => p.rank === null ? '' : String(p.rank)},
    {title: 'Verdict', sort: (p) => p.verdict, cell: (p) => verdictChip(p.verdict)},
    {title: 'Retained', numeric: true, sort: (p) => p.retained_bytes, cell: (p) => format.bytes(p.retained_bytes)},
    {title: 'Peak live', numeric: true, sort: (p) => p.peak_bytes, cell: (p) => format.bytes(p.peak_bytes)},
    {title: 'Peak RSS', numeric: true, sort: (p) => p.peak_rss_bytes, cell: (p) => format.bytes(p.peak_rss_bytes)},
    {title: 'Ran', numeric: true, sort: (p) => p.end_seconds - p.start_seconds, cell: (p) => format.duration(p.end_seconds - p.start_seconds)},
    {title: 'Ended', cell: (p) => p.ending},
    {title: 'Command', wide: true, cell: (p) => el('code', {}, p.command || p.exe)},
  ], asTree(data.report.processes), {label: 'Processes', limit: 100}));
}

function modeInWords(r: PageData['report']['recording']): string {
  const parts = [r.sample_bytes > 0
    ? `${r.mode}: every request of ${format.bytes(r.exact_from_bytes)} or more, smaller ones sampled every ${format.bytes(r.sample_bytes)}`
    : `${r.mode}: every event`];
  if (r.sample_bytes === 0 && r.python_sample_bytes > 0) parts.push(`Python's small objects sampled every ${format.bytes(r.python_sample_bytes)}`);
  if (r.sampled_from_seconds !== null) parts.push(`small requests sampled from ${format.duration(r.sampled_from_seconds)} on to keep the size limit`);
  if (r.totals_only_from_seconds !== null) parts.push(`totals only from ${format.duration(r.totals_only_from_seconds)} on`);
  return parts.join('; ');
}

export function recording(data: PageData): HTMLElement {
  const {recording: r, drops, damage, totals, steps} = data.report;
  const facts: Array<[string, string]> = [
    ['Command', r.command],
    ['Recording', r.path],
    ['Started', r.started_utc],
    ['Ran', `${format.duration(r.duration_seconds)}, ${r.ending}`],
    ['Mode', modeInWords(r)],
    ['Sources', r.sources.join(', ')],
    ['Steps', `${format.count(steps.count)} from ${steps.source} (confidence ${steps.confidence.toFixed(2)}), ${steps.epochs} epochs, ${steps.evaluations} evaluations` + (steps.steps_per_epoch !== null ? `, ${format.step(steps.steps_per_epoch)} steps per epoch` : '')],
    ['Allocations', `${format.count(totals.alloc_count)} of ${format.bytes(totals.alloc_bytes)}; ${format.count(totals.free_count)} freed`],
    ['Trace', `${format.bytes(r.trace_bytes)} in ${format.count(r.trace_files)} files, ${format.count(r.events)} events`],
    ['Dropped', drops.events === 0 ? 'nothing' : `${format.count(drops.events)} events, ${format.bytes(drops.bytes)}`],
    ['Damaged', damage.blocks === 0 ? 'nothing' : `${format.count(damage.blocks)} blocks, ${format.bytes(damage.bytes)}`],
    ['Unreadable', damage.unreadable_files ? `${format.count(damage.unreadable_files)} files` : 'nothing'],
    ['Missing', damage.missing_blocks === 0 ? 'nothing' : `${format.count(damage.missing_blocks)} blocks`],
    ...Object.entries({...r.environment, ...r.levels}),
    ['Plateau', data.report.tool_version],
  ];
  const notes = [...r.notes, ...damage.messages];
  return panel('How it was recorded', '',
      el('dl', {class: 'facts'}, ...facts.filter(([, value]) => value !== '').flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])),
      notes.length > 0 && el('ul', {}, ...notes.map((note) => el('li', {}, note))));
}

// What a run that was killed did last.
export function lastMinutes(data: PageData): HTMLElement | null {
  const last = data.report.last_minutes;
  if (last === undefined || last.to_seconds <= 0) return null;
  const askers = (title: string, rows: typeof last.asked) => rows.length > 0 && table([
    {title, wide: true, cell: (row) => el('code', {}, row.site)},
    {title: 'Grew by', numeric: true, cell: (row) => format.bytes(row.grown_bytes)},
    {title: 'Held', numeric: true, cell: (row) => format.bytes(row.retained_bytes)},
  ], rows, {label: title});
  return panel('The last minutes', `The run was killed (${data.report.recording.ending}), at ${format.duration(last.to_seconds)}: ${last.sentence}.`,
      askers('Asked last', last.asked), askers('Largest', last.largest), ...last.refused.map((text) => el('p', {}, `Refused: ${text}.`)));
}
