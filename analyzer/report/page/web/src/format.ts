// Numbers as people read them; the same rules as the text report (human_units.cc).
import {type Tone, verdicts} from './verdicts';

const kUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return 'unknown';
  let unit = 0;
  let rest = Math.abs(value);
  while (rest >= 1023.5 && unit + 1 < kUnits.length) {
    rest /= 1024;
    ++unit;
  }
  const scaled = value / 1024 ** unit;
  return `${unit === 0 ? String(Math.round(scaled)) : threeDigits(scaled)} ${kUnits[unit]}`;
}

export function rate(value: number | null | undefined): string {
  return `${bytes(value)}/step`;
}

export function count(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${threeDigits(value / 1e9)} G`;
  if (size >= 1e6) return `${threeDigits(value / 1e6)} M`;
  return Math.round(value).toLocaleString('en-US');
}

// An interval in one unit: "1.16-1.24 MiB", as FormatByteInterval().
export function byteInterval(low: number, high: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  for (let rest = Math.max(Math.abs(low), Math.abs(high)); rest >= 1023.5 && unit + 1 < units.length; rest /= 1024) ++unit;
  const text = (value: number) => {
    const scaled = value / 1024 ** unit;
    const size = Math.abs(scaled);
    if (unit === 0) return scaled.toFixed(size < 9.95 && scaled !== Math.floor(scaled) ? 1 : 0);
    return scaled.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
  };
  return `${text(low)}${low < 0 ? ' to ' : '-'}${text(high)} ${units[unit]}`;
}

export function step(value: number): string {
  return Math.abs(value - Math.round(value)) < 0.05 || value >= 1000 ? count(value) : value.toFixed(1);
}

// As FormatDuration() in analyzer/base/human_units.h.
export function duration(seconds: number): string {
  if (seconds < 0.9995) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, '0')} min`;
}

export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const minutes = String(Math.floor(whole % 3600 / 60)).padStart(2, '0');
  const rest = String(whole % 60).padStart(2, '0');
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${minutes}:${rest}` : `${minutes}:${rest}`;
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${(100 * part / whole).toFixed(Math.abs(part / whole) < 0.0995 ? 1 : 0)} %`;
}

export function verdictTitle(name: string): string {
  const text = name.replace(/_/g, ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function severity(name: string): Tone {
  if (name === '') return 'fine';
  return verdicts[name]?.tone ?? 'note';
}

// Round tick distances in powers of two, so that axes read 256 MiB, 512 MiB, 1 GiB.
export function byteIncrements(): number[] {
  const steps: number[] = [];
  for (let power = 0; power <= 52; ++power) steps.push(2 ** power);
  return steps;
}
