// The table of call sites with a filter, and the details of the chosen one: which birth steps its bytes come from, how old they
// are, where it was called from.
import uPlot from 'uplot';

import {headlineRow, verdictChip} from './banner';
import {axes, ChartHolder, countAxis} from './chart';
import {frameAt, PageData, Site} from './data';
import {el, panel, table} from './dom';
import {editorLink, excerpt} from './excerpt';
import * as format from './format';
import {heldBy} from './holders';
import {linked, setLinked} from './link';
import {sparkline} from './sparkline';
import {color, kSeries, withAlpha} from './theme';

function survivorChart(data: PageData, row: number): HTMLElement | null {
  const curve = data.series.curves.find((c) => c.row === row);
  if (!curve || data.series.step.length < 2) return null;
  const live = new ChartHolder((width, element) => new uPlot({
    width, height: 130, padding: [6, 16, 0, 0], legend: {show: false},
    scales: {x: {time: false}, y: {range: (_p, _l, high) => [0, (high ?? 1) * 1.05 || 1]}},
    axes: axes(true, 17), cursor: {y: false, points: {show: false}},
    series: [{}, {stroke: kSeries[0], width: 1.5, fill: withAlpha(kSeries[0], 0.15), points: {show: false}}],
  }, [data.series.step, curve.live] as uPlot.AlignedData, element), 'Live bytes of this site by step');
  const born = new ChartHolder((width, element) => new uPlot({
    width, height: 130, padding: [6, 16, 0, 0], legend: {show: false},
    scales: {x: {time: false}, y: {range: (_p, _l, high) => [0, (high ?? 1) * 1.05 || 1]}},
    axes: axes(true, 17), cursor: {y: false, points: {show: false}},
    series: [{}, {
      stroke: color('grows'), width: 0, fill: withAlpha(color('grows'), 0.7), points: {show: false},
      paths: uPlot.paths.bars?.({size: [1, 40], gap: 0}),
    }],
  }, [data.series.step, curve.survivors] as uPlot.AlignedData, element), 'Bytes still alive by the step they were born in');
  const tensors = curve.tensors;
  const counted = tensors === undefined ? null : new ChartHolder((width, element) => new uPlot({
    width, height: 110, padding: [6, 16, 0, 0], legend: {show: false},
    scales: {x: {time: false}, y: {range: (_p, _l, high) => [0, (high ?? 1) * 1.05 || 1]}},
    axes: [axes(true, 17)[0], {...countAxis('y'), side: 3, size: 72}], cursor: {y: false, points: {show: false}},
    series: [{}, {stroke: kSeries[2], width: 1.5, points: {show: false}}],
  }, [data.series.step, tensors] as uPlot.AlignedData, element), 'Live tensors of this site by step');
  return el('div', {},
      el('h4', {}, 'Live by step'), live.element,
      counted !== null && el('h4', {}, 'Live tensors by step'), counted !== null && counted.element,
      el('h4', {}, 'Still alive, by the step it was born in'),
      el('p', {class: 'note'}, 'Spread over all steps: a leak. Only early ones: warm-up. Only the first epoch: a cache fill. Only the last ones: steady.'),
      born.element);
}

function ageName(bucket: number): string {
  if (bucket === 0) return 'this step';
  if (bucket === 1) return '1 step';
  return `${format.count(2 ** (bucket - 1))}-${format.count(2 ** bucket - 1)} steps`;
}

function ages(site: Site): HTMLElement | null {
  if (!site.ages) return null;
  const highest = Math.max(...site.ages);
  const first = site.ages.findIndex((value) => value !== 0);
  const last = site.ages.reduce((best, value, i) => value !== 0 ? i : best, 0);
  return el('div', {class: 'ages'}, el('h4', {}, 'Age of what is alive'), el('dl', {class: 'bars'}, ...site.ages.slice(first, last + 1).flatMap((value, i) => {
    const bar = el('i');
    bar.style.width = `${highest > 0 ? Math.max(0, 100 * value / highest) : 0}%`;
    return [el('dt', {}, ageName(first + i)), el('dd', {}, el('span', {class: 'bar'}, bar), format.bytes(value))];
  })));
}

export function siteDetail(data: PageData, row: number): HTMLElement {
  const site = data.sites[row];
  const facts: Array<[string, string]> = [
    ['Retained', `${format.bytes(site.retained)} in ${format.count(site.count)} objects`],
    ['Growth', site.growth ? format.rate(site.growth) + (site.growth_interval ? ` (${format.byteInterval(site.growth_interval[0], site.growth_interval[1])})` : '') : 'none'],
    ['At the peak', format.bytes(site.peak ?? 0)],
    ['Temporary', format.bytes(site.temporary ?? 0)],
    ['Allocated', `${format.bytes(site.alloc_bytes ?? 0)} in ${format.count(site.alloc_count ?? 0)} calls`],
    ['Pool, phase', [site.pool ?? 'host', site.phase].filter(Boolean).join(', ')],
    ['Held as', site.category ?? 'unknown'],
  ];
  if (site.tensors) facts.push(['Tensors', `${format.count(site.tensors)} of ${format.bytes(site.tensor_bytes ?? 0)}`]);
  const stack = el('ol', {class: 'stack'}, ...site.stack.map((index) => {
    const frame = frameAt(data, index);
    const place = frame.file !== '' ? `${frame.file}${frame.line > 0 ? `:${frame.line}` : ''}` : frame.module;
    return el('li', {class: frame.kind}, el('code', {}, frame.function || '[unknown]'), ' ', el('small', {}, place));
  }));
  return el('article', {class: 'detail', tabindex: '-1'},
      el('h3', {}, site.site), verdictChip(site.verdict ?? ''),
      excerpt(site), editorLink(site),
      site.library !== undefined && el('p', {class: 'note'}, `allocated in ${site.library}`),
      site.evidence !== undefined && el('p', {}, site.evidence),
      el('dl', {class: 'facts'}, ...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])),
      heldBy(site), survivorChart(data, row), ages(site),
      site.stack.length > 0 && el('h4', {}, 'Most common stack, allocation first'), site.stack.length > 0 && stack);
}

export interface SitesView {
  element: HTMLElement;
  choose: (row: number) => void;
}

export function sitesView(data: PageData): SitesView {
  const rows = data.sites.map((_site, row) => row);
  const detail = el('div', {class: 'detail-holder', 'aria-live': 'polite'});
  const list = el('div');
  const filter = el('input', {type: 'search', placeholder: 'Filter by name, file, module, verdict', 'aria-label': 'Filter sites'});
  const total = data.report.totals;

  function footer(name: string, retained: number, objects: number, peak: number, temporary: number, title = ''): HTMLTableRowElement {
    return el('tr', {title}, el('td', {class: 'wide'}, name), el('td', {}), el('td', {}), el('td', {class: 'number'}, format.bytes(retained)), el('td', {}),
              el('td', {class: 'number'}, format.bytes(peak)), el('td', {class: 'number'}, format.bytes(temporary)), el('td', {class: 'number'}, format.count(objects)));
  }

  // By name: the number of a row means nothing in another report.
  function choose(row: number, byHand = true): void {
    detail.replaceChildren(siteDetail(data, row));
    if (byHand) setLinked('site', data.sites[row].site);
  }

  const curves = new Map(data.series.curves.map((curve) => [curve.row, curve.live]));
  const curveOf = (row: number): Node | string => {
    const live = curves.get(row);
    return live === undefined ? '' : sparkline(live, `Live bytes of ${data.sites[row].site} by step`, {tone: `tone-${format.severity(data.sites[row].verdict ?? '')}`});
  };
  const isImport = (row: number) => data.sites[row].import === true && !(data.sites[row].growth);
  const imports = rows.filter(isImport);
  let showsImports = false;

  function draw(): void {
    const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const shown = rows.filter((row) => {
      if (!showsImports && words.length === 0 && isImport(row)) return false;
      const site = data.sites[row];
      const text = `${site.site} ${site.file ?? ''} ${site.module ?? ''} ${site.verdict ?? ''} ${site.category ?? ''} ${site.pool ?? 'host'}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const foot: HTMLTableRowElement[] = [];
    if (words.length === 0) {
      if (data.rest.sites > 0) foot.push(footer(`[${format.count(data.rest.sites)} smaller sites]`, data.rest.retained, data.rest.count, data.rest.peak, data.rest.temporary));
      if (!showsImports && imports.length > 0) {
        const sum = (pick: (site: Site) => number | undefined) => imports.reduce((all, row) => all + (pick(data.sites[row]) ?? 0), 0);
        foot.push(footer(`[${format.count(imports.length)} ${imports.length === 1 ? 'import' : 'imports'}]`, sum((s) => s.retained), sum((s) => s.count), sum((s) => s.peak), sum((s) => s.temporary),
            'What importing modules allocated'));
      }
      for (const leftover of total.leftovers) foot.push(footer(leftover.name, leftover.retained_bytes, leftover.retained_count, leftover.peak_bytes, leftover.temporary_bytes, leftover.explanation));
      const sum = footer('Total', total.retained_bytes, total.retained_count, total.peak_bytes, total.temporary_bytes);
      sum.className = 'total';
      foot.push(sum);
    }
    list.replaceChildren(table<number>([
      {
        title: 'Site', wide: true, sort: (row) => data.sites[row].site,
        cell: (row) => el('span', {}, el('code', {}, data.sites[row].site), data.sites[row].pool !== undefined && ` (${data.sites[row].pool})`, data.sites[row].source !== undefined && el('small', {class: 'under'}, data.sites[row].source.trim())),
      },
      {title: 'Verdict', sort: (row) => data.sites[row].verdict ?? '', cell: (row) => verdictChip(data.sites[row].verdict ?? '')},
      {title: 'By step', cell: curveOf},
      {title: 'Retained', numeric: true, sort: (row) => data.sites[row].retained, cell: (row) => format.bytes(data.sites[row].retained)},
      {title: 'Growth', numeric: true, sort: (row) => data.sites[row].growth ?? 0, cell: (row) => data.sites[row].growth ? format.rate(data.sites[row].growth) : '-'},
      {title: 'At peak', numeric: true, sort: (row) => data.sites[row].peak ?? 0, cell: (row) => format.bytes(data.sites[row].peak ?? 0)},
      {title: 'Temporary', numeric: true, sort: (row) => data.sites[row].temporary ?? 0, cell: (row) => format.bytes(data.sites[row].temporary ?? 0)},
      {title: 'Objects', numeric: true, sort: (row) => data.sites[row].count, cell: (row) => format.count(data.sites[row].count)},
    ], shown, {sorted: 3, limit: 50, onRow: (row) => choose(row), label: 'Call sites', foot}));
  }
  filter.addEventListener('input', draw);
  draw();
  const asked = rows.find((row) => data.sites[row].site === linked('site'));
  const worst = asked ?? (headlineRow(data) >= 0 ? headlineRow(data) : rows.find((row) => data.sites[row].verdict === data.report.verdict) ?? rows[0]);
  if (worst !== undefined) choose(worst, false);
  const imported = el('button', {type: 'button', class: 'toggle', id: 'sites-imports', 'aria-pressed': 'false', hidden: imports.length === 0},
      `Imports (${format.count(imports.length)})`);
  imported.addEventListener('click', () => {
    showsImports = !showsImports;
    imported.setAttribute('aria-pressed', String(showsImports));
    draw();
  });
  const element = el('div', {class: 'two'},
      panel('Call sites', 'A site is the first line of your own code on the stack. Click a row for its details.', el('div', {class: 'tools'}, filter, imported), list), detail);
  return {element, choose};
}
