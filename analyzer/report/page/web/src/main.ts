// Puts the page together: banner on top, views below it as tabs; printing shows all of them.
import 'uplot/dist/uPlot.min.css';
import './style.css';

import {banner} from './banner';
import {ledgerBands} from './bands';
import {PageData, readData} from './data';
import {el} from './dom';
import {flameView} from './flame';
import {linked, setLinked, watchLinks} from './link';
import {hasRanks, ranks} from './ranks';
import {sitesView} from './sites';
import {stackedSites} from './stacked';
import * as tables from './tables';
import {setTheme, Theme, watchSystemTheme} from './theme';
import {timeline} from './timeline';

interface View {
  id: string;
  name: string;
  build: () => Array<HTMLElement | null>;
}

function themeChoice(): HTMLElement {
  const choice = el('select', {'aria-label': 'Colours', class: 'no-print'}, el('option', {value: 'auto'}, 'Auto'), el('option', {value: 'light'}, 'Light'), el('option', {value: 'dark'}, 'Dark'));
  choice.addEventListener('change', () => setTheme(choice.value as Theme));
  return choice;
}

function build(data: PageData): void {
  const page = document.getElementById('page') as HTMLElement;
  let sites: ReturnType<typeof sitesView> | null = null;
  const openSite = (row: number) => {
    show('sites');
    setLinked('tab', 'sites');
    sites?.choose(row);
    page.querySelector<HTMLElement>('.detail')?.focus();
  };
  const views: View[] = [
    {
      id: 'timeline', name: 'Timeline',
      build: () => [tables.lastMinutes(data), timeline(data), stackedSites(data, openSite), ledgerBands(data), tables.breakdown(data)],
    },
    ...(hasRanks(data) ? [{id: 'ranks', name: 'Ranks', build: () => [ranks(data)]}] : []),
    {
      id: 'sites', name: 'Sites',
      build: () => {
        sites = sitesView(data);
        return [sites.element];
      },
    },
    {id: 'flame', name: 'Flame graph', build: () => [flameView(data, openSite)]},
    {id: 'hypotheses', name: 'Hypotheses', build: () => [tables.hypotheses(data)]},
    {id: 'ledger', name: 'Ledger', build: () => [tables.ledger(data), tables.pools(data), tables.devices(data), tables.outOfMemory(data)]},
    {id: 'processes', name: 'Processes', build: () => [tables.processes(data)]},
    {id: 'recording', name: 'Recording', build: () => [tables.recording(data)]},
  ];
  const tabs = new Map<string, HTMLButtonElement>();
  const panels = new Map<string, HTMLElement>();
  const built = new Set<string>();

  function fill(view: View): void {
    if (built.has(view.id)) return;
    built.add(view.id);
    for (const part of view.build()) if (part) panels.get(view.id)?.append(part);
  }

  function show(id: string): void {
    for (const view of views) {
      const chosen = view.id === id;
      const tab = tabs.get(view.id);
      tab?.setAttribute('aria-selected', String(chosen));
      if (tab) tab.tabIndex = chosen ? 0 : -1;
      panels.get(view.id)?.classList.toggle('hidden', !chosen);
      if (chosen) fill(view);
    }
  }

  const bar = el('div', {class: 'tabs', role: 'tablist', 'aria-label': 'Views'});
  for (const view of views) {
    const tab = el('button', {type: 'button', role: 'tab', id: `tab-${view.id}`, 'aria-controls': `view-${view.id}`}, view.name);
    tab.addEventListener('click', () => {
      show(view.id);
      setLinked('tab', view.id);
    });
    tabs.set(view.id, tab);
    bar.append(tab);
    panels.set(view.id, el('div', {class: 'view', role: 'tabpanel', id: `view-${view.id}`, 'aria-labelledby': `tab-${view.id}`}));
  }
  bar.addEventListener('keydown', (event) => {
    const move = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (move === 0) return;
    const at = views.findIndex((view) => tabs.get(view.id)?.getAttribute('aria-selected') === 'true');
    const next = views[(at + move + views.length) % views.length];
    show(next.id);
    setLinked('tab', next.id);
    tabs.get(next.id)?.focus();
  });

  const recording = data.report.recording;
  page.append(
      el('header', {class: 'top'}, el('span', {class: 'brand'}, 'Plateau'), el('code', {class: 'command'}, recording.command), el('span', {class: 'when'}, recording.started_utc), themeChoice()),
      el('main', {}, banner(data, openSite), bar, ...panels.values()),
      el('footer', {}, `Plateau ${data.report.tool_version}. Sites and leftovers add up to the totals above them.`));
  const showLinked = () => {
    const view = views.find((candidate) => candidate.id === linked('tab')) ?? views[0];
    show(view.id);
    const row = data.sites.findIndex((site) => site.site === linked('site'));
    if (row >= 0) sites?.choose(row);
  };
  watchLinks(showLinked);
  showLinked();
  window.addEventListener('beforeprint', () => views.forEach(fill));
}

watchSystemTheme();
build(readData());
document.documentElement.dataset.ready = 'true';
