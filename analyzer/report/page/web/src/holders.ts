// Who holds what a site made: each path as a chain of chips, its container marked, with its length at each look.
import uPlot from 'uplot';

import {axes, ChartHolder, countAxis} from './chart';
import {HolderPath, Site} from './data';
import {el} from './dom';
import * as format from './format';
import {color, kSeries} from './theme';

const kPercent = (share: number): string => `${(100 * share).toFixed(share > 0.99 && share < 1 ? 1 : 0)} %`;

function lengthChart(path: HolderPath): HTMLElement | null {
  const {step, items, bound} = path;
  if (step === undefined || items === undefined || step.length < 2) return null;
  const series: uPlot.Series[] = [{}, {stroke: kSeries[2], width: 1.5, points: {show: true, size: 5}}];
  const columns: number[][] = [step, items];
  if (bound !== undefined) {
    series.push({stroke: color('grows'), width: 1, dash: [5, 4], points: {show: false}});
    columns.push(step.map(() => bound));
  }
  const chart = new ChartHolder((width, element) => new uPlot({
    width, height: 110, padding: [6, 16, 0, 0], legend: {show: false},
    scales: {x: {time: false}, y: {range: (_p, _l, high) => [0, (high ?? 1) * 1.05 || 1]}},
    axes: [axes(true, 17)[0], {...countAxis('y'), side: 3, size: 72}], cursor: {y: false, points: {show: false}},
    series,
  }, columns as uPlot.AlignedData, element), `Items in ${path.container ?? 'the container'} by step`);
  return el('div', {}, el('h5', {}, `Items in ${path.container ?? 'the container'} at each look`), chart.element);
}

function facts(path: HolderPath): string {
  const parts: string[] = [`${kPercent(path.share)} of the bytes, ${format.bytes(path.bytes)}`];
  const items = path.items?.at(-1);
  if (items !== undefined) {
    const of = path.bound === undefined ? '' : ` of at most ${format.count(path.bound)}`;
    parts.push(`${path.type ?? 'container'} of ${format.count(items)}${of} items`);
  }
  if (path.root !== '' && path.end === 'path') parts.push(path.root);
  return parts.join('; ');
}

// Everything from the recording goes in as text, never as markup.
function chain(path: HolderPath): HTMLElement {
  if (path.links.length === 0) return el('p', {class: 'path'}, el('code', {}, path.text));
  const chips = path.links.map(([kind, text], i) =>
    el('li', {class: i + 1 === path.container_links ? 'link container' : 'link', title: kind.replaceAll('_', ' ')}, el('code', {}, text)));
  const end = path.end === 'path' ? null : el('li', {class: 'link end'}, path.end === 'garbage' ? 'a cycle' : path.end);
  return el('ol', {class: 'path', 'aria-label': path.text}, ...(end === null ? [] : [end]), ...chips);
}

export function heldBy(site: Site): HTMLElement | null {
  const paths = site.held_by ?? [];
  const garbage = site.garbage_share ?? 0, missing = site.not_found_share ?? 0;
  if (paths.length === 0 && garbage === 0 && missing === 0) return null;
  return el('section', {class: 'held-by'}, el('h4', {}, 'Held by'),
      ...paths.flatMap((path) => [chain(path), el('p', {class: 'note'}, facts(path)), lengthChart(path)]),
      garbage > 0 && el('p', {class: 'note'}, `${kPercent(garbage)} of what was looked at is garbage in cycles that waits for Python's collector.`),
      missing > 0 && el('p', {class: 'note'}, site.look_was_cut === true ?
          `The look ended at a limit before it came to ${kPercent(missing)} of them.` : `For ${kPercent(missing)} of what was looked at no reference was found.`));
}
