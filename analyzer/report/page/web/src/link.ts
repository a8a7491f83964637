// What is shown, as the hash of the address: "#tab=sites&site=train.py:57 in train_step". A copied address opens the same view.
//
// Keys: tab; site (its name); flame (names of the zoomed frame and of those above it, root first, joined by ">"); x (from-to of the
// timeline, in steps). Whoever has a part of the state sets it here and asks for it once, when it is built.

const state = new Map<string, string>();
let listener: (() => void) | null = null;
let writing = false;

function read(): void {
  state.clear();
  for (const part of location.hash.slice(1).split('&')) {
    const at = part.indexOf('=');
    if (at <= 0) continue;
    try {
      state.set(decodeURIComponent(part.slice(0, at)), decodeURIComponent(part.slice(at + 1)));
    } catch {
      // A hash that somebody mistyped names nothing.
    }
  }
}

export function linked(key: string): string | undefined {
  return state.get(key);
}

// Undefined takes the key out.
export function setLinked(key: string, value: string | undefined): void {
  if (state.get(key) === value) return;
  if (value === undefined) state.delete(key);
  else state.set(key, value);
  const hash = [...state].map(([k, v]) => `${encodeURIComponent(k)}=${encodeURIComponent(v)}`).join('&');
  writing = true;
  try {
    history.replaceState(null, '', hash === '' ? location.pathname + location.search : `#${hash}`);
  } catch {
    // Some viewers forbid it; the page works without.
  }
  writing = false;
}

// `changed` is called when somebody edits the hash by hand or follows a link within the page.
export function watchLinks(changed: () => void): void {
  listener = changed;
  read();
  window.addEventListener('hashchange', () => {
    if (writing) return;
    read();
    listener?.();
  });
}
