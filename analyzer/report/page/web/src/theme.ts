// Light, dark or as the system says; charts ask here for their colours and redraw when the theme changes.

export type Theme = 'auto' | 'light' | 'dark';

const listeners: Array<() => void> = [];

export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Distinct in hue and lightness, readable on both backgrounds, told apart by colour-blind readers.
export const kSeries = ['#4e79a7', '#f28e2b', '#59a14f', '#e15759', '#b07aa1', '#76b7b2', '#edc948', '#ff9da7', '#9c755f', '#8a8f98'];

export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

export function setTheme(theme: Theme): void {
  if (theme === 'auto') {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = theme;
  }
  for (const listener of listeners) listener();
}

export function watchSystemTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const listener of listeners) listener();
  });
}

export function withAlpha(hex: string, alpha: number): string {
  const value = parseInt(hex.slice(1), 16);
  return `rgba(${value >> 16}, ${value >> 8 & 255}, ${value & 255}, ${alpha})`;
}
