// The flame graph: where bytes come from, root on top. Click or Enter zooms, the search marks frames.
import flamegraph from 'd3-flame-graph';
import {select} from 'd3-selection';

import {frameAt, PageData} from './data';
import {el, panel} from './dom';
import * as format from './format';
import {linked, setLinked} from './link';
import {onThemeChange} from './theme';

type Metric = 'retained' | 'growth' | 'peak' | 'temporary';

interface Node {
  name: string;
  value: number;  // its own, without children
  sum: number;
  place: string;
  kind: string;
  site: number;
  children: Node[];
}

const kMetrics: Array<[Metric, string]> = [
  ['retained', 'Retained bytes'], ['growth', 'Growth per step'], ['peak', 'Bytes at the peak'], ['temporary', 'Temporary bytes'],
];

// A frame as the library has drawn it.
interface Drawn {
  data: Node;
  parent: Drawn | null;
}

// Its name and those above it, root first.
function pathOf(node: Drawn): string {
  const names: string[] = [];
  for (let at: Drawn | null = node; at !== null && at.parent !== null && at.parent !== undefined; at = at.parent) names.unshift(at.data.name);
  return names.join(' > ');
}

function shortPlace(place: string): string {
  return place.slice(place.lastIndexOf('/') + 1);
}

// Functions of the interpreter itself, called by Python code: they say how Python works, not who asked for memory.
function interpreterFrames(data: PageData): boolean[] {
  const {parent, frame} = data.stacks;
  const isBelowPython: boolean[] = [];
  const hidden: boolean[] = [];
  for (let i = 0; i < parent.length; ++i) {
    const f = frameAt(data, frame[i]);
    const above = parent[i] >= 0 && isBelowPython[parent[i]];
    isBelowPython.push(above || f.kind === 'python');
    hidden.push(above && f.kind === 'native' && /^(lib)?python\d/.test(shortPlace(f.module)));
  }
  return hidden;
}

// What imports a module, and what the module does while it is imported: hidden by default, because nobody can do much about it.
// A frame of importlib hides itself and everything below it; what is hidden is one frame, "[imports]", at the place where it began.
function importFrames(data: PageData): boolean[] {
  const {parent, frame} = data.stacks;
  const hidden: boolean[] = [];
  for (let i = 0; i < parent.length; ++i) {
    const f = frameAt(data, frame[i]);
    const above = parent[i] >= 0 && hidden[parent[i]];
    hidden.push(above || /<frozen importlib|importlib\/(_bootstrap|__init__)/.test(f.file) || /^_find_and_load|^_handle_fromlist$|^import_module$/.test(f.function));
  }
  return hidden;
}

// Builds the tree of one metric. Values below zero (corrections of estimates) have no width; the sum in the tooltip keeps them. What a
// hidden frame asked for by itself is its caller's, and its children hang below that one.
function buildTree(data: PageData, metric: Metric, hidden: boolean[], imports: boolean[]): Node {
  const {parent, frame, site} = data.stacks;
  const values = data.stacks[metric];
  const root: Node = {name: 'all', value: 0, sum: 0, place: '', kind: 'root', site: -1, children: []};
  const nodes: Node[] = [];
  for (let i = 0; i < parent.length; ++i) {
    const f = frameAt(data, frame[i]);
    const place = f.file !== '' ? `${f.file}${f.line > 0 ? `:${f.line}` : ''}` : f.module;
    const label = f.function || '[unknown]';
    nodes.push({name: f.kind === 'python' && place !== '' ? `${label}  ${shortPlace(place)}` : label, value: Math.max(0, values[i]), sum: values[i], place, kind: f.kind, site: site[i], children: []});
  }
  const shown = (i: number): Node => {
    while (i >= 0 && hidden[i]) i = parent[i];
    return i >= 0 ? nodes[i] : root;
  };
  // One frame for all that was imported from the same place.
  const imported = new Map<Node, Node>();
  const importsOf = (i: number): Node => {
    while (i >= 0 && imports[i]) i = parent[i];
    const above = shown(i);
    let node = imported.get(above);
    if (node === undefined) {
      node = {name: '[imports]', value: 0, sum: 0, place: '', kind: 'leftover', site: -1, children: []};
      imported.set(above, node);
    }
    return node;
  };
  // Own values first: a frame whose values come from hidden ones is there to be shown.
  for (let i = 0; i < nodes.length; ++i) {
    if (!hidden[i] && !imports[i]) continue;
    const above = imports[i] ? importsOf(i) : shown(i);
    above.value += nodes[i].value;
    above.sum += nodes[i].sum;
  }
  for (let i = nodes.length - 1; i >= 0; --i) {
    if (hidden[i] || imports[i]) continue;
    const at = imported.get(nodes[i]);
    if (at !== undefined) {
      nodes[i].sum += at.sum;
      if (at.value > 0) nodes[i].children.push(at);
    }
    const above = shown(parent[i]);
    above.sum += nodes[i].sum;
    if (nodes[i].value > 0 || nodes[i].children.length > 0) above.children.push(nodes[i]);
  }
  const atRoot = imported.get(root);
  if (atRoot !== undefined) {
    root.sum += atRoot.sum;
    if (atRoot.value > 0) root.children.push(atRoot);
  }
  return root;
}

function hue(node: Node): string {
  let hash = 0;
  for (const letter of node.kind === 'python' ? node.place.split(':')[0] : node.name) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  const spread = hash % 24;
  const dark = getComputedStyle(document.documentElement).colorScheme.includes('dark') && isDark();
  const light = dark ? 34 + hash % 9 : 70 + hash % 9;
  switch (node.kind) {
    case 'root': return dark ? '#3a4048' : '#d9dce0';
    case 'leftover': return dark ? '#30343a' : '#e4e4e4';
    case 'python': return `hsl(${204 + spread}, ${dark ? 38 : 62}%, ${light}%)`;
    case 'op': return `hsl(${150 + spread}, ${dark ? 30 : 42}%, ${light}%)`;
    default: return `hsl(${24 + spread}, ${dark ? 42 : 78}%, ${light}%)`;
  }
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'dark' || (chosen === undefined && matchMedia('(prefers-color-scheme: dark)').matches);
}

export function flameView(data: PageData, chooseSite: (row: number) => void): HTMLElement {
  let metric: Metric = data.stacks.growth.some((value) => value > 0) && format.severity(data.report.verdict) === 'grows' ? 'growth' : 'retained';
  const holder = el('div', {class: 'flame', role: 'tree', 'aria-label': 'Stacks by bytes'});
  const info = el('output', {class: 'flame-info'});
  const unit = (value: number) => metric === 'growth' ? format.rate(value) : format.bytes(value);
  let total = 0;
  let chart: ReturnType<typeof flamegraph> | null = null;
  let chosen: Node | null = null;
  const interpreter = interpreterFrames(data);
  let showsInterpreter = false;
  const imports = importFrames(data);
  const none: boolean[] = [];
  let showsImports = false;

  const describe = (node: Node) => `${node.name}${node.place !== '' ? `  ${node.place}` : ''}\n${unit(node.sum)}, ${format.percent(node.sum, total)} of all`;

  function show(node: Node | null): void {
    info.textContent = node ? describe(node).replace('\n', ': ') : `all: ${unit(total)}`;
    const row = node ? node.site : -1;
    open.hidden = row < 0;
    open.onclick = () => chooseSite(row);
  }

  // Frames are reachable by Tab; the library draws them anew after each zoom.
  function makeReachable(): void {
    for (const frame of holder.querySelectorAll<SVGGElement>('g.frame')) {
      frame.setAttribute('tabindex', '0');
      frame.setAttribute('role', 'treeitem');
      // The library lets new frames grow into place; they are wanted at once.
      frame.querySelector('rect')?.setAttribute('width', frame.getAttribute('width') ?? '0');
    }
  }

  function draw(): void {
    const width = holder.clientWidth;
    if (width === 0) return;
    holder.replaceChildren();
    const tree = buildTree(data, metric, showsInterpreter ? none : interpreter, showsImports ? none : imports);
    total = tree.sum;
    chosen = null;
    if (tree.children.length === 0) {
      holder.textContent = metric === 'growth' ? 'No stack grows.' : 'Nothing to show.';
      show(null);
      return;
    }
    chart = flamegraph().width(width).cellHeight(19).minFrameSize(1.2).resetHeightOnZoom(true).transitionDuration(0).inverted(true).selfValue(true)
        .tooltip(false)
        .sort((a: {data: Node}, b: {data: Node}) => b.data.sum - a.data.sum)
        .setColorMapper((node: {highlight?: boolean; data: Node}) => node.highlight ? '#d946ef' : hue(node.data))
        .setLabelHandler((node: {data: Node}) => describe(node.data))
        .setSearchMatch((node: {data: Node}, term: string) => `${node.data.name} ${node.data.place}`.toLowerCase().includes(term.toLowerCase()))
        .setSearchHandler((results: unknown[], sum: number) => {
          found.textContent = `${format.count(results.length)} frames, ${unit(sum)} (${format.percent(sum, total)})`;
        })
        .onHover((node: {data: Node}) => show(node.data))
        .onClick((node: Drawn) => {
          chosen = node.data;
          show(node.data);
          setLinked('flame', pathOf(node));
          makeReachable();
        });
    chart(select(holder).datum(tree));
    makeReachable();
    show(null);
    zoomTo(linked('flame'));
    if (search.value !== '') chart.search(search.value);
  }

  // A link to a frame that this metric does not have shows all.
  function zoomTo(path: string | undefined): void {
    if (path === undefined || path === '') return;
    for (const frame of holder.querySelectorAll<SVGGElement>('g.frame')) {
      const drawn = (frame as unknown as {__data__?: Drawn}).__data__;  // where d3 keeps it
      if (drawn !== undefined && pathOf(drawn) === path) {
        chart?.zoomTo(drawn);
        chosen = drawn.data;
        show(drawn.data);
        makeReachable();
        return;
      }
    }
  }

  holder.addEventListener('keydown', (event) => {
    const frame = (event.target as Element).closest('g.frame');
    if (frame && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      frame.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    }
    if (event.key === 'Escape') chart?.resetZoom();
  });
  holder.addEventListener('focusin', (event) => {
    (event.target as Element).dispatchEvent(new MouseEvent('mouseover', {bubbles: false}));
  });
  holder.addEventListener('mouseleave', () => show(chosen));

  const choice = el('select', {'aria-label': 'Metric', id: 'flame-metric'}, ...kMetrics.map(([value, name]) => el('option', {value, selected: value === metric}, name)));
  choice.addEventListener('change', () => {
    metric = choice.value as Metric;
    draw();
  });
  const search = el('input', {type: 'search', placeholder: 'Search frames', 'aria-label': 'Search frames', id: 'flame-search'});
  const found = el('output', {class: 'where'});
  search.addEventListener('input', () => {
    found.textContent = '';
    if (search.value === '') chart?.clear();
    else chart?.search(search.value);
  });
  const reset = el('button', {type: 'button', class: 'quiet', id: 'flame-reset'}, 'Reset zoom');
  reset.addEventListener('click', () => {
    chart?.resetZoom();
    chosen = null;
    setLinked('flame', undefined);
    show(null);
    makeReachable();
  });
  const inside = el('button', {type: 'button', class: 'toggle', id: 'flame-interpreter', 'aria-pressed': 'false', hidden: !interpreter.includes(true)},
      'Interpreter frames');
  inside.addEventListener('click', () => {
    showsInterpreter = !showsInterpreter;
    inside.setAttribute('aria-pressed', String(showsInterpreter));
    draw();
  });
  const importing = el('button', {type: 'button', class: 'toggle', id: 'flame-imports', 'aria-pressed': 'false', hidden: !imports.includes(true)}, 'Imports');
  importing.addEventListener('click', () => {
    showsImports = !showsImports;
    importing.setAttribute('aria-pressed', String(showsImports));
    draw();
  });
  const open = el('button', {type: 'button', class: 'quiet', hidden: true}, 'Open its site');
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth !== width) {
      width = holder.clientWidth;
      draw();
    }
  }).observe(holder);
  onThemeChange(draw);
  const pruned = data.stacks.all > data.stacks.parent.length ?
      ` ${format.count(data.stacks.all)} frames, drawn as ${format.count(data.stacks.parent.length)}; the rest is added up as [smaller stacks].` : '';
  const legend = el('p', {class: 'kinds'}, el('i', {class: 'python'}), 'Python', el('i', {class: 'op'}), 'torch op', el('i', {class: 'native'}), 'native');
  return panel('Flame graph', `Root on top, width is bytes. Click or press Enter to zoom, Escape to go back.${pruned}`,
      el('div', {class: 'tools'}, choice, search, found, inside, importing, reset, open), info, holder, legend);
}
