// The lines of source around a site, with a little colour, and a link that opens the place in an editor.
//
// Text comes from the traced program: every token becomes a text node.
import type {Site} from './data';
import {el} from './dom';

const kPython = 'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield';
const kNative = 'auto bool break case catch char class const constexpr continue default delete do double else enum explicit float for if inline int long namespace new nullptr private protected public return short signed sizeof static struct switch template this throw true false try typedef typename unsigned using virtual void while';

function isPython(file: string): boolean {
  return /\.pyi?$/.test(file) || file.includes('In [');
}

// One line as spans: comments, strings, numbers, keywords; all else as it is.
function highlighted(line: string, python: boolean): Node[] {
  const words = new Set((python ? kPython : kNative).split(' '));
  const comment = python ? '#.*$' : '\\/\\/.*$|\\/\\*.*?\\*\\/';
  const token = new RegExp(`(${comment})|("(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*')|(\\b\\d[\\w.]*\\b)|([A-Za-z_]\\w*)`, 'g');
  const out: Node[] = [];
  let at = 0;
  for (const match of line.matchAll(token)) {
    const kind = match[1] !== undefined ? 'comment' : match[2] !== undefined ? 'string' : match[3] !== undefined ? 'number' : words.has(match[4]) ? 'keyword' : '';
    if (match.index > at) out.push(document.createTextNode(line.slice(at, match.index)));
    out.push(kind === '' ? document.createTextNode(match[0]) : el('span', {class: `tok-${kind}`}, match[0]));
    at = match.index + match[0].length;
  }
  if (at < line.length) out.push(document.createTextNode(line.slice(at)));
  return out;
}

// "vscode://file/..." where the path is absolute; other files cannot be found by an editor.
export function editorLink(site: Site): HTMLElement | null {
  if (site.file === undefined || !site.file.startsWith('/') || !site.line) return null;
  const path = site.file.split('/').map(encodeURIComponent).join('/');
  return el('a', {class: 'editor no-print', href: `vscode://file${path}:${site.line}`, title: `${site.file}:${site.line}`}, 'Open in editor');
}

// Null where the report has no source of the site.
export function excerpt(site: Site): HTMLElement | null {
  const python = isPython(site.file ?? '');
  let lines = site.excerpt ?? [];
  let first = site.excerpt_from ?? 0;
  if (lines.length === 0) {
    if (site.source === undefined || site.source.trim() === '') return null;
    lines = [site.source.trim()];
    first = site.line ?? 0;
  }
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents);
  return el('pre', {class: 'source', tabindex: '0', 'aria-label': `Source around ${site.site}`}, ...lines.map((line, i) => {
    const number = first + i;
    const guilty = number === site.line;
    return el('span', {class: guilty ? 'line guilty' : 'line'},
        el('span', {class: 'line-number'}, number > 0 ? String(number) : ''), el('code', {}, ...highlighted(line.slice(indent), python)), '\n');
  }));
}
