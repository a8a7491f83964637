// A job of several ranks as small multiples: the same axes for all of them, so that the odd one is seen at a glance.
import {verdictChip} from './banner';
import type {PageData, Rank} from './data';
import {el, panel} from './dom';
import * as format from './format';

const kSvg = 'http://www.w3.org/2000/svg';
const kWidth = 200;
const kHeight = 64;

interface Axes {
  bySteps: boolean;
  first: number;
  last: number;
  highest: number;
}

// Whoever was never measured at a step is drawn by time.
function commonAxes(ranks: Rank[]): Axes {
  const curves = ranks.map((rank) => rank.curve);
  const bySteps = curves.some((curve) => curve.step.some((step) => step > 0));
  const x = curves.flatMap((curve) => bySteps ? curve.step : curve.seconds);
  const bytes = curves.flatMap((curve) => [...curve.live_bytes, ...curve.rss_bytes]);
  const most = (values: number[]) => values.reduce((a, b) => Math.max(a, b), 0);
  return {bySteps, first: x.reduce((a, b) => Math.min(a, b), Infinity), last: most(x), highest: most(bytes)};
}

function points(axes: Axes, x: number[], bytes: number[]): string {
  const width = Math.max(axes.last - axes.first, 1e-9);
  return bytes.map((value, i) =>
    `${((x[i] - axes.first) / width * kWidth).toFixed(1)},${(kHeight - 1 - value / axes.highest * (kHeight - 4)).toFixed(1)}`).join(' ');
}

function drawing(rank: Rank, axes: Axes): SVGSVGElement {
  const svg = document.createElementNS(kSvg, 'svg');
  svg.setAttribute('class', 'multiple');
  svg.setAttribute('viewBox', `0 0 ${kWidth} ${kHeight}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `Live bytes and resident memory of rank ${rank.rank}`);
  const x = axes.bySteps ? rank.curve.step : rank.curve.seconds;
  if (x.length < 2 || axes.highest <= 0) return svg;
  const add = (tag: string, name: string, text: string) => {
    const shape = document.createElementNS(kSvg, tag);
    shape.setAttribute('class', name);
    shape.setAttribute('points', text);
    svg.append(shape);
  };
  const live = points(axes, x, rank.curve.live_bytes);
  const corner = (text: string) => text.split(',')[0];
  const spots = live.split(' ');
  add('polygon', 'area', `${corner(spots[0])},${kHeight} ${live} ${corner(spots[spots.length - 1])},${kHeight}`);
  add('polyline', 'live', live);
  add('polyline', 'rss', points(axes, x, rank.curve.rss_bytes));
  return svg;
}

function tile(rank: Rank, axes: Axes): HTMLElement {
  const isOdd = rank.odd.length > 0;
  const live = rank.curve.live_bytes;
  const figures = live.length > 0 ? `live ${format.bytes(live[0])} \u2192 ${format.bytes(live[live.length - 1])}, peak RSS ${format.bytes(rank.peak_rss_bytes)}` : '';
  const notes = [
    rank.group,
    rank.workers > 0 ? `${rank.workers} ${rank.workers === 1 ? 'worker' : 'workers'}` : '',
    rank.earlier_attempts > 0 ? `attempt ${rank.earlier_attempts + 1}` : '',
  ].filter((note) => note !== '');
  return el('article', {class: isOdd ? 'rank odd' : 'rank', 'data-rank': rank.rank},
      el('h3', {}, `Rank ${rank.rank} `, verdictChip(rank.verdict)),
      drawing(rank, axes),
      el('p', {class: 'rank-figures'}, figures),
      notes.length > 0 && el('p', {class: 'rank-figures'}, notes.join(', ')),
      ...rank.odd.map((sentence) => el('p', {class: 'rank-odd'}, `It ${sentence}.`)));
}

export function hasRanks(data: PageData): boolean {
  return (data.report.ranks ?? []).length > 1;
}

export function ranks(data: PageData): HTMLElement | null {
  const all = data.report.ranks ?? [];
  const drawn = all.filter((rank) => rank.curve.step.length > 0 || rank.odd.length > 0);
  if (drawn.length === 0) return null;
  const axes = commonAxes(drawn);
  // The odd ones first, otherwise in order.
  const order = [...drawn.filter((rank) => rank.odd.length > 0), ...drawn.filter((rank) => rank.odd.length === 0)];
  const odd = all.filter((rank) => rank.odd.length > 0).length;
  const summary = odd === 0 ? `None of the ${all.length} ranks differs from the others.` : `${odd} of ${all.length} ranks ${odd === 1 ? 'differs' : 'differ'} from the others.`;
  const left = all.length - drawn.length;
  return panel('Ranks', `${summary} All have the same axes: ${axes.bySteps ? 'steps' : 'time'} across, up to ${format.bytes(axes.highest)} upward; filled: live bytes, line: resident memory, each of the rank's own process.`,
      el('div', {class: 'ranks'}, ...order.map((rank) => tile(rank, axes))),
      left > 0 && el('p', {class: 'note'}, `${format.count(left)} more ranks do not differ and are not drawn.`));
}
