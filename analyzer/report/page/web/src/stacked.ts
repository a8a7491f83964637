// Live bytes by step, stacked by site: who holds what, when.
import uPlot from 'uplot';

import {axes, ChartHolder} from './chart';
import type {PageData} from './data';
import {el, panel} from './dom';
import {kSeries, withAlpha} from './theme';

const kLayers = 8;

export function stackedSites(data: PageData, choose: (row: number) => void): HTMLElement | null {
  const {series} = data;
  if (series.step.length < 2) return null;
  const holding = series.curves.filter((curve) => curve.live.some((value) => value > 0));
  const shown = holding.slice(0, kLayers);
  const rest = series.others.slice();
  for (const curve of holding.slice(kLayers)) curve.live.forEach((value, i) => { rest[i] += value; });
  if (shown.length === 0) return null;
  const hasRest = rest.some((value) => value > 0);
  const layers = [...shown.map((curve) => ({name: data.sites[curve.row].site, row: curve.row, live: curve.live}))];
  if (hasRest) layers.push({name: '[other sites]', row: -1, live: rest});

  const holder = new ChartHolder((width, element) => {
    // Sums from the bottom up; layer k is drawn between sum k and sum k-1.
    const sums: number[][] = [];
    let below: number[] = new Array<number>(series.step.length).fill(0);
    for (const layer of layers) {
      below = layer.live.map((value, i) => below[i] + Math.max(0, value));
      sums.push(below);
    }
    const order = layers.map((_layer, i) => layers.length - 1 - i);
    const stroke = (i: number) => layers[i].row < 0 ? kSeries[kSeries.length - 1] : kSeries[i % (kSeries.length - 1)];
    return new uPlot({
      width,
      height: 300,
      padding: [8, 26, 0, 0],
      legend: {show: false},
      scales: {x: {time: false}, y: {range: (_plot, _low, high) => [0, (high ?? 1) * 1.05 || 1]}},
      axes: axes(true),
      series: [{}, ...order.map((i) => ({stroke: stroke(i), width: 1, fill: withAlpha(stroke(i), 0.65), points: {show: false}}))],
      bands: order.slice(0, -1).map((_layer, at) => ({series: [at + 1, at + 2] as [number, number]})),
      cursor: {y: false, points: {show: false}},
    }, [series.step, ...order.map((i) => sums[i])] as uPlot.AlignedData, element);
  }, 'Live bytes by step, stacked by site');

  const legend = el('div', {class: 'legend'}, ...layers.map((layer, i) => {
    const swatch = el('i', {class: 'swatch'});
    swatch.style.background = layer.row < 0 ? kSeries[kSeries.length - 1] : kSeries[i % (kSeries.length - 1)];
    if (layer.row < 0) return el('span', {}, swatch, layer.name);
    const button = el('button', {type: 'button', class: 'quiet', title: layer.name}, swatch, layer.name);
    button.addEventListener('click', () => choose(layer.row));
    return button;
  }));
  return panel('Live bytes by site', 'The sites that held most, stacked. Click one for its details.', holder.element, legend);
}
