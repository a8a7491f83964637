// Every number on the card is in the JSON report and on the page: same_numbers_test.mjs
//
// Eight simulated runs and one real recording. A number of the card is looked for as it is written: in the words of the JSON report, or as one of its
// numbers in the form that the card uses; and in the text of the page with all of its views. Skips (77) without Chromium.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

import {Chromium, findChromium} from '../support/chromium.mjs';

if (!findChromium()) {
  console.log('skipped: no chromium; install Debian\'s package chromium');
  process.exit(77);
}
const build = process.env.PLATEAU_BUILD;
const source = process.env.PLATEAU_SOURCE;
assert.ok(build && source, 'PLATEAU_BUILD and PLATEAU_SOURCE name the folders');
const plateau = join(build, 'bin/plateau');
const scratch = mkdtempSync(join(tmpdir(), 'plateau-numbers-'));
execFileSync(join(build, 'tests/write_report_fixtures'), [scratch]);

// As FormatBytes(), HumanCount() and FormatDuration() write.
function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let size = Math.abs(value);
  let unit = 0;
  for (; unit + 1 < units.length && size >= 1023.5; ++unit) size /= 1024;
  return `${value < 0 ? '-' : ''}${size.toFixed(unit === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${units[unit]}`;
}
const count = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
function duration(seconds) {
  if (seconds < 0.9995) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s` : `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, '0')} min`;
}

// Numbers with what belongs to them; a word with a digit in it (K11, train.py:57) counts as a whole.
function numbersOf(text) {
  // A long path is cut in its middle: what stands beside the dots is a piece of a name.
  return [...text.replace(/[^ ]*\.\.\.[^ ]*/g, ' ').matchAll(/\d+ h \d\d min|\d+ min \d\d s|-?\d[\d,.]*\d? (?:B|KiB|MiB|GiB|TiB|ms|s)\b|[\w.]*\d[\w,.]*\w|\d/g)].map((match) => match[0].replace(/[.,]$/, ''));
}

function everyNumberOf(json) {
  const numbers = [];
  const words = [];
  const walk = (value) => {
    if (typeof value === 'number') numbers.push(value);
    else if (typeof value === 'string') words.push(value);
    else if (value !== null && typeof value === 'object') Object.values(value).forEach(walk);
  };
  walk(json);
  const written = new Set();
  for (const number of numbers) for (const form of [bytes, count, duration, String]) written.add(form(number));
  return {written, words: words.join('\n').replace(/\s+/g, ' ')};
}

// The card's lines, each section joined, so that a number that was wrapped is whole again; without the curves.
const flat = (card) => card.replace(/[▁▂▃▄▅▆▇█]+/g, ' ').replace(/\s+/g, ' ');

const browser = await Chromium.start();
let failed = 0;
async function check(name, card, json, html) {
  // What the sites that are not shown hold is a difference: it is checked as one.
  const rest = /[\d,.]+[ kMG]* more sites and leftovers hold (-?[\d.]+ \w+) of (-?[\d.]+ \w+)[^\n]*\n/.exec(card);
  const all = json.sites.reduce((sum, site) => sum + site.retained_bytes, 0) + json.totals.leftovers.reduce((sum, left) => sum + left.retained_bytes, 0);
  if (rest) {
    assert.equal(rest[2], bytes(all), `${name}: the sum of all sites and leftovers`);
    const shown = [...card.matchAll(/^ {2}[1-3] (.*?)( +)(-?[\d.]+ \w+) /gm)].length;
    assert.ok(shown > 0, `${name}: no site on the card`);
    card = card.replace(rest[0], '\n');
  }
  const {written, words} = everyNumberOf(json);
  const page = await browser.open(pathToFileURL(html).href);
  await page.evaluate('window.dispatchEvent(new Event("beforeprint"))');
  const text = (await page.evaluate('document.body.innerText + " " + document.getElementById("page").textContent')).replace(/\s+/g, ' ');
  await page.close();
  // "and 3 more" of the names that were ruled out, the ordinals of the sites, and the colour of none of them.
  const clean = flat(card.replace(/^ {2}[1-9] /gm, '  ').replace(/ and \d+ more$/gm, ''));
  const tokens = [...new Set(numbersOf(clean))];
  assert.ok(tokens.length > 8, `${name}: only ${tokens.length} numbers on the card`);
  const has = (heap, token) => heap.includes(token) || heap.includes(token.replace(/ /g, '\u00a0'));
  const notInJson = tokens.filter((token) => !written.has(token) && !has(words, token) && !written.has(token.replace('~', '')));
  const notOnPage = tokens.filter((token) => !has(text, token));
  if (notInJson.length > 0 || notOnPage.length > 0) {
    ++failed;
    console.log(`FAIL  ${name}: not in JSON: ${JSON.stringify(notInJson)}; not on the page: ${JSON.stringify(notOnPage)}\n${card}`);
  } else {
    console.log(`ok    ${name}: ${tokens.length} numbers`);
  }
}

try {
  for (const name of ['leak', 'warmup', 'cache_fill', 'fragmentation', 'inconclusive', 'steady', 'staircase', 'killed']) {
    const file = join(scratch, `${name}.json`);
    const card = execFileSync(plateau, ['report', file], {encoding: 'utf8'}).split('\n\n')[0];
    await check(name, card, JSON.parse(readFileSync(file, 'utf8')), join(scratch, `${name}.html`));
  }
  const program = join(scratch, 'train.c');
  writeFileSync(program, '#include <plateau/mark.h>\n#include <stdlib.h>\n#include <string.h>\nstatic void* kept[1000];\nint main(void) {\n  for (int i = 0; i < 300; ++i) {\n' +
      '    kept[i] = malloc(200001);\n    memset(kept[i], 1, 200001);\n    free(malloc(30002));\n    plateau_step();\n  }\n  return 0;\n}\n');
  execFileSync('cc', ['-g', '-O1', `-I${source}/preload/include`, program, '-o', join(scratch, 'train')]);
  const recording = join(scratch, 'rec');
  execFileSync(plateau, ['run', '-q', '--no-report', '-o', recording, '--', join(scratch, 'train')]);
  const card = execFileSync(plateau, ['report', recording, '--json', join(scratch, 'real.json'), '--html', join(scratch, 'real.html')], {encoding: 'utf8'}).split('\n\n')[0];
  await check('a real recording', card, JSON.parse(readFileSync(join(scratch, 'real.json'), 'utf8')), join(scratch, 'real.html'));
  // The check can fail: a card with a number of its own is found out.
  const before = failed;
  await check('a card with a wrong number (must fail)', `${card}\nForecast   reaches 987 MiB`, JSON.parse(readFileSync(join(scratch, 'real.json'), 'utf8')), join(scratch, 'real.html'));
  assert.equal(failed, before + 1, 'a wrong number was not noticed');
  failed = before;
} finally {
  await browser.close();
  rmSync(scratch, {recursive: true, force: true});
}
process.exit(failed === 0 ? 0 : 1);
