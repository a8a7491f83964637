// What all charts share: a holder that builds its uPlot when first seen, follows its width and the theme.
import uPlot from 'uplot';

import * as format from './format';
import {color, onThemeChange} from './theme';

export class ChartHolder {
  readonly element = document.createElement('div');
  private plot: uPlot | null = null;
  private waiting = true;

  constructor(private readonly build: (width: number, holder: HTMLElement) => uPlot | null, label: string) {
    this.element.className = 'chart';
    this.element.setAttribute('role', 'img');
    this.element.setAttribute('aria-label', label);
    new ResizeObserver(() => this.resize()).observe(this.element);
    onThemeChange(() => this.redraw());
  }

  // Builds it again: other data, other colours.
  redraw(): void {
    this.plot?.destroy();
    this.plot = null;
    this.waiting = true;
    this.resize();
  }

  get uplot(): uPlot | null {
    return this.plot;
  }

  private resize(): void {
    const width = Math.floor(this.element.clientWidth);
    if (width === 0) return;
    if (this.waiting) {
      this.waiting = false;
      this.plot = this.build(width, this.element);
    } else if (this.plot && this.plot.width !== width) {
      this.plot.setSize({width, height: this.plot.height});
    }
  }
}

export function axes(byStep: boolean, space = 30): uPlot.Axis[] {
  const stroke = color('muted');
  const grid = {stroke: color('grid'), width: 1};
  const font = '12px system-ui, sans-serif';
  return [
    {
      stroke, font, grid: {show: false}, ticks: {stroke: color('grid')},
      values: (_plot, splits) => splits.map((value) => byStep ? format.count(value) : format.clock(value)),
      label: byStep ? 'step' : 'time', labelFont: font, labelSize: 18, size: 34, space: 70,
    },
    {
      stroke, font, grid, ticks: {show: false}, size: 72, space, incrs: format.byteIncrements(),
      values: (_plot, splits) => splits.map((value) => format.bytes(value)),
    },
  ];
}

// For things that are counted, on the right.
export function countAxis(scale: string): uPlot.Axis {
  return {
    scale, side: 1, stroke: color('muted'), font: '12px system-ui, sans-serif', grid: {show: false}, ticks: {show: false}, size: 60, space: 30,
    values: (_plot, splits) => splits.map((value) => format.count(value)),
  };
}
