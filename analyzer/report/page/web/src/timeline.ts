// Memory over steps or time: curves to switch on and off, phases behind them, the forecast with its interval ahead.
import uPlot from 'uplot';

import {axes, ChartHolder, countAxis} from './chart';
import type {Forecast, LedgerColumn, PageData, Phase} from './data';
import {trainingEnd} from './data';
import {el, panel} from './dom';
import * as format from './format';
import {linked, setLinked} from './link';
import {color, kSeries, withAlpha} from './theme';

// Bytes, except where `count` says that it is a number of things: those have their own axis on the right.
const kCurves: Array<{column: LedgerColumn; name: string; shown: boolean; count?: boolean}> = [
  {column: 'live', name: 'Live', shown: true},
  {column: 'rss', name: 'RSS', shown: true},
  {column: 'gap', name: 'Allocator gap', shown: true},
  {column: 'anon', name: 'Anonymous', shown: false},
  {column: 'file', name: 'Files', shown: false},
  {column: 'shmem', name: 'Shared', shown: false},
  {column: 'pinned', name: 'Pinned', shown: true},
  {column: 'device_live', name: 'Device live', shown: true},
  {column: 'device_reserved', name: 'Device reserved', shown: true},
  {column: 'cgroup', name: 'Cgroup', shown: false},
  {column: 'own', name: 'Plateau itself', shown: false},
  {column: 'unexplained', name: 'Unexplained', shown: false},
  {column: 'tensors', name: 'Tensors', shown: false},
  {column: 'tensor_count', name: 'Tensor count', shown: false, count: true},
];

type Values = Array<number | null>;

const amount = (curve: {count?: boolean}, value: number | null) => curve.count ? format.count(value ?? 0) : format.bytes(value);

// Where a forecast goes: the points of its middle and both ends.
function path(forecast: Forecast, to: number): Array<{x: number; low: number; middle: number; high: number}> {
  const start = {x: forecast.from_step, low: forecast.from_bytes, middle: forecast.from_bytes, high: forecast.from_bytes};
  const [slow, fast] = forecast.rate_interval ?? [forecast.rate_bytes_per_step, forecast.rate_bytes_per_step];
  if (forecast.plateau_bytes !== null) {
    const [low, high] = forecast.plateau_interval ?? [forecast.plateau_bytes, forecast.plateau_bytes];
    const knee = Math.max(forecast.from_step, Math.min(to, forecast.plateau_step ?? forecast.from_step));
    const level = {low, middle: forecast.plateau_bytes, high};
    return knee > forecast.from_step ? [start, {x: knee, ...level}, {x: to, ...level}] : [{x: start.x, ...level}, {x: to, ...level}];
  }
  const ahead = to - forecast.from_step;
  return [start, {
    x: to,
    low: forecast.from_bytes + slow * ahead,
    middle: forecast.from_bytes + forecast.rate_bytes_per_step * ahead,
    high: forecast.from_bytes + fast * ahead,
  }];
}

function phaseColor(phase: Phase, odd: boolean): string | null {
  switch (phase.kind) {
    case 'warm_up': return withAlpha(color('warm'), 0.13);
    case 'plateau': return withAlpha(color('calm'), 0.10);
    case 'evaluation': return withAlpha(color('evaluation'), 0.22);
    case 'checkpoint': return withAlpha(color('checkpoint'), 0.22);
    default: return odd ? withAlpha(color('epoch'), 0.05) : null;
  }
}

function drawPhases(plot: uPlot, phases: Phase[], byStep: boolean): void {
  const {ctx, bbox} = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  phases.forEach((phase, i) => {
    const from = plot.valToPos(byStep ? phase.from_step : phase.from_seconds, 'x', true);
    const to = plot.valToPos(byStep ? phase.to_step : phase.to_seconds, 'x', true);
    const fill = phaseColor(phase, i % 2 === 1);
    if (fill !== null) {
      ctx.fillStyle = fill;
      ctx.fillRect(from, bbox.top, Math.max(to - from, devicePixelRatio), bbox.height);
    }
    if (phase.kind === 'epoch') {
      ctx.fillStyle = withAlpha(color('epoch'), 0.55);
      ctx.fillRect(Math.round(to), bbox.top, devicePixelRatio, bbox.height);
    }
  });
  ctx.restore();
}

// Evaluations and checkpoints as marks at the top: they are a step long, and would be thinner than a pixel in a long run.
function drawMarks(plot: uPlot, phases: Phase[], byStep: boolean): void {
  const {ctx, bbox} = plot;
  const size = 4 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const phase of phases) {
    if (phase.kind !== 'evaluation' && phase.kind !== 'checkpoint') continue;
    const x = plot.valToPos(byStep ? phase.from_step : phase.from_seconds, 'x', true);
    ctx.fillStyle = color(phase.kind);
    ctx.beginPath();
    if (phase.kind === 'evaluation') {  // a triangle that points down; a checkpoint is a square
      ctx.moveTo(x - size, bbox.top);
      ctx.lineTo(x + size, bbox.top);
      ctx.lineTo(x, bbox.top + 1.6 * size);
    } else {
      ctx.rect(x - size * 0.8, bbox.top, 1.6 * size, 1.6 * size);
    }
    ctx.fill();
  }
  ctx.restore();
}

function markLegend(phases: Phase[]): HTMLElement | null {
  const kinds = (['evaluation', 'checkpoint'] as const).filter((kind) => phases.some((phase) => phase.kind === kind));
  if (kinds.length === 0) return null;
  return el('p', {class: 'kinds marks'}, ...kinds.flatMap((kind) => [el('i', {class: `mark-${kind}`}), `${kind} (${phases.filter((phase) => phase.kind === kind).length})`]));
}

// Names of the phases, above the grid and with a halo, so that no line runs through them.
function drawPhaseNames(plot: uPlot, phases: Phase[], byStep: boolean): void {
  const {ctx, bbox} = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.strokeStyle = color('panel');
  ctx.fillStyle = color('muted');
  const taken = [-1, -1];  // right end of the last name on each row
  for (const phase of phases) {
    if (phase.kind === 'evaluation' || phase.kind === 'checkpoint') continue;
    const row = phase.kind === 'epoch' ? 0 : 1;
    const from = plot.valToPos(byStep ? phase.from_step : phase.from_seconds, 'x', true);
    const to = plot.valToPos(byStep ? phase.to_step : phase.to_seconds, 'x', true);
    const left = Math.max(from, bbox.left) + 5 * devicePixelRatio;
    const width = ctx.measureText(phase.label).width;
    if (taken[row] >= left || to - from < Math.min(width, 40 * devicePixelRatio)) continue;
    const top = bbox.top + (4 + row * 15) * devicePixelRatio;
    ctx.strokeText(phase.label, left, top);
    ctx.fillText(phase.label, left, top);
    taken[row] = left + width + 6 * devicePixelRatio;
  }
  ctx.restore();
}

function drawLimit(plot: uPlot, limit: number): void {
  const {ctx, bbox} = plot;
  const y = plot.valToPos(limit, 'y', true);
  if (y < bbox.top || y > bbox.top + bbox.height) return;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = color('grows');
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'right';
  ctx.fillText(`limit ${format.bytes(limit)}`, bbox.left + bbox.width - 4 * devicePixelRatio, y - 5 * devicePixelRatio);
  ctx.restore();
}

// A forecast may speak of one site or pool; it is moved to where the curve of live bytes ends, since it is drawn there.
function placed(forecast: Forecast, data: PageData): Forecast | null {
  const {live, rss, step} = data.ledger;
  const end = trainingEnd(step);
  if (!live || end < 0) return null;
  const reached = forecast.plateau_bytes !== null && (forecast.plateau_step ?? 0) <= step[end];
  const reference = reached ? forecast.plateau_bytes as number : forecast.from_bytes;
  if (reference <= 0) return null;
  const near = [live[end], rss?.[end] ?? live[end]].some((level) => Math.abs(level - reference) <= 0.05 * level);
  const shift = near ? 0 : live[end] - reference;
  const moved = (value: number | null) => value === null ? null : value + shift;
  return {
    ...forecast,
    from_bytes: forecast.from_bytes > 0 ? forecast.from_bytes + shift : live[end],
    plateau_bytes: moved(forecast.plateau_bytes),
    plateau_interval: forecast.plateau_interval ? [forecast.plateau_interval[0] + shift, forecast.plateau_interval[1] + shift] : null,
  };
}

export function timeline(data: PageData): HTMLElement {
  // By step the curves end with the first reading of the last step: what follows is the program taking itself down.
  const ended = trainingEnd(data.ledger.step) + 1;
  const whole = data.ledger;
  let ledger = whole;
  const curves = kCurves.filter((curve) => ledger[curve.column] !== undefined).map((curve, i) => ({...curve, stroke: kSeries[i % kSeries.length]}));
  const forecasts = data.report.headline.forecasts.filter((f) => f.rate_bytes_per_step !== 0 || f.plateau_bytes !== null)
      .map((f) => placed(f, data)).filter((f) => f !== null) as Forecast[];
  let byStep = true;
  let showForecast = forecasts.length > 0;
  let last = -1;
  function chooseReadings(): void {
    ledger = {...whole};
    if (byStep) for (const key of Object.keys(whole) as Array<keyof typeof whole>) ledger[key] = whole[key]?.slice(0, ended) as number[];
    last = ledger.step.length - 1;
  }
  chooseReadings();
  const secondsPerStep = last > 0 && ledger.step[last] > ledger.step[0] ?
      (ledger.time[last] - ledger.time[0]) / (ledger.step[last] - ledger.step[0]) : 1;

  const chips = el('div', {class: 'chips', role: 'group', 'aria-label': 'Curves'});
  const values = new Map<number, HTMLElement>();

  const holder = new ChartHolder((width, element) => {
    if (last < 0) {
      element.textContent = 'The recording has no ledger readings.';
      return null;
    }
    const xs: number[] = (byStep ? ledger.step : ledger.time).slice();
    const columns: Values[] = curves.map((curve) => (ledger[curve.column] as number[]).slice());
    const series: uPlot.Series[] = [{label: byStep ? 'step' : 'time'}];
    curves.forEach((curve) => series.push({
      label: curve.name, stroke: curve.stroke, scale: curve.count ? 'count' : 'y', width: curve.column === 'live' || curve.column === 'rss' ? 2 : 1.25,
      show: curve.shown, points: {show: false}, fill: curve.column === 'live' ? withAlpha(curve.stroke, 0.10) : undefined,
    }));
    const bands: uPlot.Band[] = [];
    if (showForecast) {
      const first = ledger.step[0];
      const length = Math.max(ledger.step[last] - first, 1);
      const knees = forecasts.map((f) => f.plateau_step ?? 0);
      const to = Math.max(ledger.step[last] + length * 0.3, ...knees.map((knee) => Math.min(knee * 1.1, ledger.step[last] + length * 1.2)));
      const toX = (step: number) => byStep ? step : ledger.time[last] + (step - ledger.step[last]) * secondsPerStep;
      const paths = forecasts.map((forecast) => path({...forecast, from_step: ledger.step[last]}, to));
      const ahead = [...new Set(paths.flat().map((point) => point.x))].filter((x) => x > ledger.step[last]).sort((a, b) => a - b);
      ahead.forEach((x) => xs.push(toX(x)));
      columns.forEach((column) => ahead.forEach(() => column.push(null)));
      paths.forEach((points, i) => {
        const stroke = forecasts[i].plateau_bytes !== null ? color('calm') : color('grows');
        const at = (pick: (p: {low: number; middle: number; high: number}) => number): Values => {
          const out: Values = new Array<number | null>(xs.length).fill(null);
          for (const point of points) out[point.x <= ledger.step[last] ? last : last + 1 + ahead.indexOf(point.x)] = pick(point);
          return out;
        };
        const base = series.length;
        columns.push(at((p) => p.high), at((p) => p.low), at((p) => p.middle));
        const edge: uPlot.Series = {stroke: 'transparent', width: 0, spanGaps: true, points: {show: false}, label: ''};
        series.push({...edge}, {...edge}, {
          stroke, width: 1.5, dash: [7, 4], spanGaps: true, points: {show: false}, label: `forecast ${forecasts[i].label}`,
        });
        bands.push({series: [base, base + 1], fill: withAlpha(stroke, 0.22)});
      });
    }
    const limit = data.report.headline.limit_bytes;
    return new uPlot({
      width,
      height: 380,
      padding: [8, 26, 0, 0],
      legend: {show: false},
      scales: {
        x: {time: false}, y: {range: (_plot, _low, high) => [0, (high ?? 1) * 1.15 || 1]},
        count: {range: (_plot, _low, high) => [0, (high ?? 1) * 1.15 || 1]},
      },
      axes: [...axes(byStep), ...(curves.some((curve) => curve.count && curve.shown) ? [countAxis('count')] : [])],
      series,
      bands,
      cursor: {y: false, points: {size: 6}},
      hooks: {
        drawClear: [(plot) => drawPhases(plot, data.report.phases, byStep)],
        draw: [(plot) => {
          drawPhaseNames(plot, data.report.phases, byStep);
          drawMarks(plot, data.report.phases, byStep);
          if (limit !== null) drawLimit(plot, limit);
        }],
        setSelect: [(plot) => {
          if (plot.select.width > 0) setLinked('x', `${plot.posToVal(plot.select.left, 'x').toFixed(1)}-${plot.posToVal(plot.select.left + plot.select.width, 'x').toFixed(1)}`);
        }],
        ready: [(plot) => {
          const zoom = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(linked('x') ?? '');
          if (zoom && byStep && Number(zoom[2]) > Number(zoom[1])) plot.setScale('x', {min: Number(zoom[1]), max: Number(zoom[2])});
        }],
        setCursor: [(plot) => {
          const at = plot.cursor.idx;
          curves.forEach((curve, i) => {
            const value = at === null || at === undefined ? null : columns[i][at];
            const last = columns[i].filter((v) => v !== null).at(-1) ?? null;
            const node = values.get(i);
            if (node) node.textContent = amount(curve, value ?? last);
          });
          where.textContent = at === null || at === undefined ? '' :
              `step ${format.step(at <= last ? ledger.step[at] : xs[at])}` + (at <= last ? `, ${format.clock(ledger.time[at])}` : ' (forecast)');
        }],
      },
    }, [xs, ...columns] as uPlot.AlignedData, element);
  }, 'Memory by step: live bytes, resident set and its parts, with phases and forecast');

  curves.forEach((curve, i) => {
    const column = ledger[curve.column] as number[];
    const value = el('b', {}, amount(curve, column[column.length - 1]));
    values.set(i, value);
    const swatch = el('i', {class: 'swatch'});
    swatch.style.background = curve.stroke;
    const chip = el('button', {type: 'button', class: 'toggle', 'aria-pressed': String(curve.shown), 'data-curve': curve.column}, swatch, curve.name, value);
    chip.addEventListener('click', () => {
      curve.shown = !curve.shown;
      chip.setAttribute('aria-pressed', String(curve.shown));
      if (curve.count) holder.redraw();  // its axis comes and goes
      else holder.uplot?.setSeries(i + 1, {show: curve.shown});
    });
    chips.append(chip);
  });

  const where = el('output', {class: 'where'});
  const axis = el('select', {'aria-label': 'Axis'}, el('option', {value: 'step'}, 'by step'), el('option', {value: 'time'}, 'by time'));
  axis.addEventListener('change', () => {
    byStep = axis.value === 'step';
    chooseReadings();
    holder.redraw();
  });
  const ahead = el('button', {type: 'button', class: 'toggle', 'aria-pressed': String(showForecast)}, 'Forecast');
  ahead.addEventListener('click', () => {
    showForecast = !showForecast;
    ahead.setAttribute('aria-pressed', String(showForecast));
    holder.redraw();
  });
  const reset = el('button', {type: 'button', class: 'quiet'}, 'Reset zoom');
  reset.addEventListener('click', () => {
    setLinked('x', undefined);
    holder.redraw();
  });
  const thinned = data.ledger_readings > ledger.step.length ? ` ${format.count(data.ledger_readings)} readings, drawn as ${format.count(ledger.step.length)} with their extremes kept.` : '';
  // Readings are some time apart, so the curves of a quick run end some steps before it does.
  const lastStep = ledger.step[ledger.step.length - 1] ?? 0;
  const early = lastStep > 0 && data.report.steps.count - lastStep > 1 ? ` The last reading is that of step ${format.step(lastStep)}.` : '';
  return panel('Memory by step', `Drag to zoom. Click a name to show or hide its curve.${thinned}${early}`,
      el('div', {class: 'tools'}, axis, forecasts.length > 0 && ahead, reset, where), holder.element, markLegend(data.report.phases), chips);
}
