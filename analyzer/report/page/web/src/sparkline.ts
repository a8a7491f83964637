// A curve as small as a word: what a site held, step by step.
const kSvg = 'http://www.w3.org/2000/svg';

export function sparkline(values: number[], label: string, options: {width?: number; height?: number; tone?: string} = {}): SVGSVGElement {
  const width = options.width ?? 72;
  const height = options.height ?? 22;
  const svg = document.createElementNS(kSvg, 'svg');
  svg.setAttribute('class', `sparkline ${options.tone ?? ''}`);
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('width', String(width));
  svg.setAttribute('height', String(height));
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  if (values.length === 0 || high <= 0) return svg;
  // The highest value of each pixel, from zero: a curve that hardly moves looks flat.
  const columns = Math.min(width, values.length);
  const points: string[] = [];
  for (let c = 0; c < columns; ++c) {
    const from = Math.floor(c * values.length / columns);
    const to = Math.max(from + 1, Math.floor((c + 1) * values.length / columns));
    let top = 0;
    for (let i = from; i < to; ++i) top = Math.max(top, values[i]);
    const x = columns > 1 ? c * width / (columns - 1) : width / 2;
    points.push(`${x.toFixed(1)},${(height - 1 - top / high * (height - 3)).toFixed(1)}`);
  }
  const area = document.createElementNS(kSvg, 'polygon');
  area.setAttribute('class', 'area');
  area.setAttribute('points', `0,${height} ${points.join(' ')} ${width},${height}`);
  const line = document.createElementNS(kSvg, 'polyline');
  line.setAttribute('points', points.join(' '));
  svg.append(area, line);
  return svg;
}
