// Builds elements. Strings become text nodes, so nothing from a recording can become markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]):
    HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      node.addEventListener(name, value);
    } else if (value === true) {
      node.setAttribute(name, '');
    } else if (value !== false && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

// A section with a heading and a sentence under it.
export function panel(title: string, note: string, ...children: Child[]): HTMLElement {
  return el('section', {class: 'panel'}, el('h2', {}, title), note !== '' && el('p', {class: 'note'}, note), ...children);
}

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Child;
  sort?: (row: Row) => number | string;
  numeric?: boolean;
  wide?: boolean;
}

// A table whose headings sort when they have a sort key. `onRow` makes rows reachable by keyboard.
export function table<Row>(columns: Column<Row>[], rows: Row[], options: {
  sorted?: number; limit?: number; onRow?: (row: Row) => void; label: string; foot?: HTMLTableRowElement[];
}): HTMLElement {
  let sorted = options.sorted ?? -1;
  let descending = true;
  let limit = options.limit ?? rows.length;
  const head = el('tr');
  const body = el('tbody');
  const more = el('button', {class: 'quiet', type: 'button'});
  const headings: HTMLElement[] = [];

  function draw(): void {
    const order = rows.slice();
    const key = sorted >= 0 ? columns[sorted].sort : undefined;
    if (key) {
      order.sort((a, b) => {
        const x = key(a);
        const y = key(b);
        const smaller = x < y ? -1 : x > y ? 1 : 0;
        return descending ? -smaller : smaller;
      });
    }
    body.replaceChildren(...order.slice(0, limit).map((row) => {
      const line = el('tr', {}, ...columns.map((column) => el('td', {
        class: [column.numeric ? 'number' : '', column.wide ? 'wide' : ''].join(' ').trim() || undefined,
      }, column.cell(row))));
      const onRow = options.onRow;
      if (onRow) {
        line.tabIndex = 0;
        line.classList.add('choice');
        line.addEventListener('click', () => onRow(row));
        line.addEventListener('keydown', (event) => {
          if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            onRow(row);
          }
        });
      }
      return line;
    }));
    headings.forEach((heading, i) => {
      heading.setAttribute('aria-sort', i !== sorted ? 'none' : descending ? 'descending' : 'ascending');
    });
    more.textContent = `Show ${Math.min(100, rows.length - limit)} more of ${rows.length}`;
    more.hidden = limit >= rows.length;
  }

  columns.forEach((column, i) => {
    const button = column.sort ? el('button', {type: 'button'}, column.title) : null;
    const heading = el('th', {scope: 'col', class: column.numeric ? 'number' : undefined}, button ?? column.title);
    button?.addEventListener('click', () => {
      descending = sorted === i ? !descending : true;
      sorted = i;
      draw();
    });
    headings.push(heading);
    head.append(heading);
  });
  more.addEventListener('click', () => {
    limit += 100;
    draw();
  });
  draw();
  const foot = options.foot ? el('tfoot', {}, ...options.foot) : null;
  return el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': options.label},
            el('table', {}, el('thead', {}, head), body, foot), more);
}
