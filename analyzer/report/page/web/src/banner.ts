// The top of the page: the verdict in words, the numbers behind it, what comes next.
import {Forecast, PageData, trainingEnd} from './data';
import {el} from './dom';
import {editorLink, excerpt} from './excerpt';
import * as format from './format';

function figure(label: string, value: string, note = ''): HTMLElement {
  // A number and its unit stay on one line.
  const whole = note.replace(/(\d) ([KMGTPE]i)?(?=B\b)/g, '$1\u00a0$2');
  return el('div', {class: 'figure'}, el('dt', {}, label), el('dd', {}, value, whole !== '' && el('small', {}, whole)));
}

export function verdictChip(name: string): HTMLElement {
  return el('span', {class: `chip tone-${format.severity(name)}`}, format.verdictTitle(name === '' ? 'steady' : name));
}

function lines(title: string, items: Array<string | Node>): HTMLElement | null {
  if (items.length === 0) return null;
  return el('div', {class: 'lines'}, el('h2', {}, title), el('ul', {}, ...items.map((item) => el('li', {}, item))));
}

// Bytes per step over the last third of the run; null where it has too few readings to tell.
function lastThird(steps: number[], values: number[] | undefined): number | null {
  const last = trainingEnd(steps);
  const from = steps.findIndex((step) => step >= steps[0] + (steps[last] - steps[0]) * 2 / 3);
  if (!values || from < 0 || last - from < 3) return null;
  return steps[last] > steps[from] ? (values[last] - values[from]) / (steps[last] - steps[from]) : null;
}

// The site that the headline names, as a row of the table; -1 for none.
export function headlineRow(data: PageData): number {
  const name = data.report.headline.site;
  return name === undefined || name === '' ? -1 : data.sites.findIndex((site) => site.site === name);
}

export function banner(data: PageData, openSite: (row: number) => void): HTMLElement {
  const report = data.report;
  const head = report.headline;
  const {step, live, rss} = data.ledger;
  const peakRss = Math.max(0, ...report.processes.map((process) => process.peak_rss_bytes), ...(data.ledger.rss ?? []).slice(-1));

  const span = data.span;
  const [rssGrowth, liveGrowth] = [lastThird(step, rss), lastThird(step, live)];
  const figures = el('dl', {class: 'figures'},
      figure('Live at the end', format.bytes(report.totals.retained_bytes), `${format.count(report.totals.retained_count)} ${report.totals.retained_count === 1 ? 'object' : 'objects'}`),
      span && figure('Live, in training', format.bytes(span.live_to), `from ${format.bytes(span.live_from)}, peak ${format.bytes(span.live_peak)}`),
      span && figure('RSS, in training', format.bytes(span.rss_to), `from ${format.bytes(span.rss_from)}${span.gap < 0 ? '' : `, gap ${span.gap_estimated ? '~' : ''}${format.bytes(span.gap)}`}`),
      figure('Peak live', format.bytes(report.totals.peak_bytes), `at step ${format.step(report.totals.peak_step)}; RSS ${format.bytes(peakRss)}`),
      rssGrowth !== null && liveGrowth !== null && figure('RSS growth', format.rate(rssGrowth), `last third; live ${format.rate(liveGrowth)}`),
      figure('Steps', format.count(report.steps.count), `from ${report.steps.source || 'nothing'}${report.steps.epochs > 0 ? `, ${format.count(report.steps.epochs)} ${report.steps.epochs === 1 ? 'epoch' : 'epochs'}` : ''}`),
      head.detectable_bytes_per_step !== null &&
          figure('Smallest visible leak', format.rate(head.detectable_bytes_per_step), 'below it the run cannot tell'),
      figure('Run time', format.duration(report.recording.duration_seconds), report.recording.ending.split(';')[0]));

  // The headline has said when the limit is reached, unless it is undecided.
  const isSaid = (forecast: Forecast) => forecast.limit_step !== null && (head.summary ?? '') !== '' && report.verdict !== 'inconclusive';
  const forecasts = head.forecasts.filter((forecast) => forecast.sentence !== '' && !isSaid(forecast)).map((forecast) =>
      head.forecasts.length > 1 || report.verdict === 'inconclusive' ? `${forecast.label}: ${forecast.sentence}` : forecast.sentence);
  if (head.needs_steps !== null && !(head.summary ?? '').includes('decide')) forecasts.unshift(`About ${format.count(head.needs_steps)} more steps decide it.`);
  const next = report.patterns.map((pattern) => el('span', {title: pattern.evidence},
      el('strong', {}, pattern.title), ` (${pattern.id}). `, pattern.explanation, ' ', el('em', {}, `Usual fix: ${pattern.fix}`)) as string | Node);
  // Advice for the verdict first; a pattern says the same at more length.
  const isPattern = (step: string) => report.patterns.some((pattern) => step === `${pattern.title} (${pattern.id}): ${pattern.fix}`);
  next.unshift(...head.next_steps.filter((step) => !isPattern(step)));
  const row = headlineRow(data);
  const site = row >= 0 ? data.sites[row] : undefined;
  const source = site && excerpt(site);
  const summary = head.summary ?? '';
  // The site's name in the headline is a link.
  const named = site === undefined ? -1 : summary.indexOf(site.site);
  const toSite = el('button', {type: 'button', class: 'site-link'}, site?.site ?? '');
  toSite.addEventListener('click', () => openSite(row));
  const first = summary === '' ? el('p', {class: 'summary'}, head.sentence) :
      el('p', {class: 'summary'}, ...(named < 0 ? [summary] : [summary.slice(0, named), toSite, summary.slice(named + toSite.textContent!.length)]), summary.endsWith('.') ? '' : '.');

  const ruledOut = report.hypotheses.filter((h) => h.result.replace('_', ' ') === 'ruled out').map((h) => h.name);

  return el('section', {'aria-label': 'Verdict', class: `banner tone-${format.severity(report.verdict)}`},
      el('div', {class: 'banner-text'},
         el('h1', {class: 'verdict'}, format.verdictTitle(report.verdict)),
         first,
         source !== null && source !== undefined && el('div', {class: 'guilty-source'}, source, site && editorLink(site)),
         summary !== '' && head.sentence !== '' && el('p', {class: 'sentence'}, head.sentence)),
      figures,
      el('div', {class: 'reasons'},
         lines('Held by', head.held_by ?? []),
         lines('Why', head.why),
         lines('What it will do', forecasts),
         lines('What to do next', next)),
      ruledOut.length > 0 && el('p', {class: 'ruled-out'}, el('strong', {}, 'Ruled out '), ruledOut.join(', ')));
}
