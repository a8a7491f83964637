// The ledger as stacked bands: what resident memory is made of at every reading, and the same for the device. The bands add up to
// the line above them, to the byte.
import uPlot from 'uplot';

import {axes, ChartHolder} from './chart';
import type {LedgerColumn, PageData} from './data';
import {el, panel} from './dom';
import * as format from './format';
import {color, kSeries, withAlpha} from './theme';

interface Band {
  name: string;
  values: number[];
  color: number;  // of kSeries
}

const kParts: Array<[LedgerColumn, string, number]> = [
  ['live', 'Live', 0], ['gap', 'Allocator gap', 1], ['file', 'Files', 5], ['shmem', 'Shared', 4], ['own', 'Plateau itself', 8], ['unexplained', 'Unexplained', 9],
];

// Bands that add up to the total; a part below zero (an estimate that was too high) is taken off the one below it.
function hostBands(data: PageData): Band[] {
  return kParts.filter(([column]) => data.ledger[column] !== undefined).map(([column, name, index]) => ({name, values: data.ledger[column] as number[], color: index}));
}

function deviceBands(data: PageData): Band[] {
  const live = data.ledger.device_live;
  const reserved = data.ledger.device_reserved;
  if (live === undefined && reserved === undefined) return [];
  const length = data.ledger.step.length;
  const used = live ?? new Array<number>(length).fill(0);
  const bands: Band[] = [{name: 'Device live', values: used, color: 2}];
  if (reserved !== undefined) bands.push({name: 'Reserved, not live', values: reserved.map((value, i) => Math.max(0, value - used[i])), color: 6});
  return bands;
}

function bandChart(data: PageData, bands: Band[], totalName: string, label: string): HTMLElement {
  const {step} = data.ledger;
  const holder = new ChartHolder((width, element) => {
    const sums: number[][] = [];
    let below = new Array<number>(step.length).fill(0);
    for (const band of bands) {
      below = band.values.map((value, i) => below[i] + value);
      sums.push(below);
    }
    const order = bands.map((_band, i) => bands.length - 1 - i);
    return new uPlot({
      width, height: 240, padding: [8, 26, 0, 0], legend: {show: false},
      scales: {x: {time: false}, y: {range: (_plot, _low, high) => [0, (high ?? 1) * 1.08 || 1]}},
      axes: axes(true),
      series: [{}, ...order.map((i, at) => ({
        stroke: at === 0 ? color('text') : kSeries[bands[i].color], width: at === 0 ? 1.5 : 1, fill: withAlpha(kSeries[bands[i].color], 0.6), points: {show: false},
      }))],
      bands: order.slice(0, -1).map((_i, at) => ({series: [at + 1, at + 2] as [number, number]})),
      cursor: {y: false, points: {show: false}},
    }, [step, ...order.map((i) => sums[i])] as uPlot.AlignedData, element);
  }, label);
  const last = step.length - 1;
  const total = bands.reduce((sum, band) => sum + band.values[last], 0);
  const legend = el('div', {class: 'legend'}, ...bands.map((band) => {
    const swatch = el('i', {class: 'swatch'});
    swatch.style.background = kSeries[band.color];
    return el('span', {}, swatch, `${band.name} ${format.bytes(band.values[last])}`);
  }), el('span', {}, el('strong', {}, `${totalName} ${format.bytes(total)}`)));
  return el('div', {class: 'bands'}, holder.element, legend);
}

export function ledgerBands(data: PageData): HTMLElement | null {
  if (data.ledger.step.length < 2 || data.ledger.rss === undefined) return null;
  const device = deviceBands(data);
  return panel('What resident memory is made of', 'The bands add up to the resident set; the figures are those of the last reading.',
      bandChart(data, hostBands(data), 'Resident set', 'Resident memory by step as stacked bands'),
      device.length > 0 && bandChart(data, device, 'Device reserved', 'Device memory by step as stacked bands'));
}
