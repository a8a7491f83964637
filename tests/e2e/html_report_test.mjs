// Opens report pages in a real Chromium and uses them: html_report_test.mjs
//
// Checks that a page loads without console errors and without any request, that its views, curves, flame graph and table work by mouse
// and by keyboard, that names from a recording stay text, and that a large recording does not freeze it. Skips (77) without Chromium.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

import {Chromium, findChromium} from '../support/chromium.mjs';

if (!findChromium()) {
  console.log('skipped: no chromium; install Debian\'s package chromium');
  process.exit(77);
}
const build = process.env.PLATEAU_BUILD;
assert.ok(build, 'PLATEAU_BUILD names the build folder');
const scratch = mkdtempSync(join(tmpdir(), 'plateau-html-'));
const fixtures = join(build, 'tests/write_report_fixtures');
execFileSync(fixtures, [scratch]);
process.stdout.write(execFileSync(fixtures, [scratch, 'big']));

const browser = await Chromium.start();
const open = (name, options) => browser.open(pathToFileURL(join(scratch, `${name}.html`)).href, options);
const views = ['timeline', 'sites', 'flame', 'hypotheses', 'ledger', 'processes', 'recording'];

// The page must have asked for itself alone and complained about nothing.
function assertQuiet(page, name) {
  assert.deepEqual(page.problems, [], `${name}: console errors`);
  assert.deepEqual(page.dialogs, [], `${name}: dialogs`);
  assert.deepEqual(page.requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')), [], `${name}: requests`);
  assert.equal(page.requests.filter((url) => url.startsWith('file:')).length, 1, `${name}: one file`);
}

const cases = {
  async 'every verdict loads quietly and shows every view'() {
    for (const name of ['leak', 'warmup', 'cache_fill', 'fragmentation', 'inconclusive', 'steady', 'staircase', 'killed']) {
      const page = await open(name, {dark: name === 'warmup'});
      for (const view of views) {
        await page.click(`#tab-${view}`);
        const shown = await page.evaluate('[...document.querySelectorAll(".view")].filter((v) => v.offsetParent !== null).map((v) => v.id)');
        assert.deepEqual(shown, [`view-${view}`], `${name}: ${view}`);
        assert.ok(await page.evaluate(`document.querySelector("#view-${view} .panel").textContent.length > 20`), `${name}: ${view} is empty`);
      }
      assertQuiet(page, name);
      await page.close();
    }
  },

  async 'ranks are small multiples with the odd one marked'() {
    const page = await open('ranks');
    await page.click('#tab-ranks');
    const tiles = await page.evaluate('[...document.querySelectorAll("#view-ranks .rank")].map((r) => [Number(r.dataset.rank), r.classList.contains("odd"), r.querySelectorAll("polyline").length])');
    // The odd one comes first; all others follow in order.
    assert.deepEqual(tiles.map(([rank]) => rank), [3, 0, 1, 2, 4, 5, 6, 7]);
    assert.deepEqual(tiles.filter(([, odd]) => odd).map(([rank]) => rank), [3]);
    assert.ok(tiles.every(([, , lines]) => lines === 2), 'a curve of live and one of resident bytes each');
    const text = await page.evaluate('document.querySelector("#view-ranks").textContent');
    for (const part of ['1 of 8 ranks differs', 'It grows by 64.0 KiB/step', 'dp=1/2 tp=1/4, 2 workers, attempt 2']) assert.ok(text.includes(part), part);
    // The same height stands for the same bytes in all of them.
    const heights = await page.evaluate('[...document.querySelectorAll("#view-ranks .live")].map((l) => Number(l.getAttribute("points").split(/[ ,]/).at(-1)))');
    assert.ok(heights[0] < heights[1] && new Set(heights.slice(1)).size === 1, String(heights));
    assertQuiet(page, 'ranks');
    await page.close();
    const alone = await open('leak');
    assert.equal(await alone.evaluate('document.querySelector("#tab-ranks")'), null, 'one process has no ranks');
    await alone.close();
  },

  async 'curves are toggled and change the picture'() {
    const page = await open('leak');
    await page.until('document.querySelector("#view-timeline canvas") !== null', 'the timeline');
    const picture = () => page.evaluate('document.querySelector("#view-timeline canvas").toDataURL()');
    const before = await picture();
    await page.click('[data-curve=rss]');
    assert.equal(await page.evaluate('document.querySelector("[data-curve=rss]").getAttribute("aria-pressed")'), 'false');
    await page.until(`document.querySelector("#view-timeline canvas").toDataURL() !== ${JSON.stringify(before)}`, 'the curve to go');
    await page.click('[data-curve=rss]');
    await page.click('[data-curve=file]');
    assert.equal(await page.evaluate('document.querySelector("[data-curve=file]").getAttribute("aria-pressed")'), 'true');
    // The number of tensors has an axis of its own, which comes and goes with its curve.
    assert.equal(await page.evaluate('document.querySelector("[data-curve=tensor_count]").getAttribute("aria-pressed")'), 'false');
    const bytesOnly = await picture();
    await page.click('[data-curve=tensor_count]');
    await page.until(`document.querySelector("#view-timeline canvas") !== null && document.querySelector("#view-timeline canvas").toDataURL() !== ${JSON.stringify(bytesOnly)}`, 'the number of tensors');
    assert.match(await page.evaluate('document.querySelector("[data-curve=tensor_count] b").textContent'), /^[\d,.]+$/);
    // By time instead of by step.
    await page.evaluate('(() => { const s = document.querySelector("[aria-label=Axis]"); s.value = "time"; s.dispatchEvent(new Event("change")); })()');
    await page.until('document.querySelector("#view-timeline canvas") !== null', 'the timeline by time');
    assertQuiet(page, 'curves');
    await page.close();
  },

  async 'devices and what they refused have their tables'() {
    const page = await open('fragmentation');
    await page.click('#tab-ledger');
    const text = await page.evaluate('document.querySelector("#view-ledger").textContent');
    for (const part of ['device 0', '75 %', 'parted 2 times, last by 512 B', 'model.py:88 in forward', '3 requests were refused']) {
      assert.ok(text.includes(part), part);
    }
    assertQuiet(page, 'devices');
    await page.close();
  },

  async 'the flame graph zooms, searches, switches its metric and goes back'() {
    const page = await open('leak');
    await page.click('#tab-flame');
    const metric = (value) => page.evaluate(`(() => { const s = document.querySelector("#flame-metric"); s.value = "${value}"; s.dispatchEvent(new Event("change")); })()`);
    await metric('retained');
    const width = (name) => page.evaluate(`Number([...document.querySelectorAll(".flame g.frame")].find((g) => g.getAttribute("name").startsWith("${name}"))?.getAttribute("width") ?? 0)`);
    await page.until('document.querySelectorAll(".flame g.frame").length > 10', 'frames');
    const narrow = await width('build_model');
    assert.ok(narrow > 20, `build_model is ${narrow} wide`);
    const index = await page.evaluate('(() => { const g = [...document.querySelectorAll(".flame g.frame")].find((f) => f.getAttribute("name").startsWith("build_model")); g.id = "target"; return true; })()');
    assert.ok(index);
    await page.click('#target rect');
    const wide = await width('build_model');
    assert.ok(wide > narrow * 2, `zoomed from ${narrow} to ${wide}`);
    await page.click('#flame-reset');
    assert.ok(Math.abs(await width('build_model') - narrow) < 1, 'reset zoom');
    // The same by keyboard.
    await page.evaluate('document.querySelector("#target").focus()');
    await page.key('Enter');
    assert.ok(await width('build_model') > narrow * 2, 'zoom by Enter');
    await page.key('Escape');
    await page.evaluate('(() => { const s = document.querySelector("#flame-search"); s.value = "aten::"; s.dispatchEvent(new Event("input")); })()');
    assert.match(await page.evaluate('document.querySelector("#view-flame .where").textContent'), /\d+ frames, /);
    await metric('temporary');
    assert.ok(await page.evaluate('document.querySelectorAll(".flame g.frame").length > 5'));
    assertQuiet(page, 'flame');
    await page.close();
  },

  async 'functions of the interpreter are hidden until they are asked for'() {
    // The same page with a library of torch renamed to the interpreter's.
    const html = readFileSync(join(scratch, 'leak.html'), 'utf8');
    assert.ok(html.includes('"libtorch_cpu.so"'));
    writeFileSync(join(scratch, 'interpreter.html'), html.replaceAll('"libtorch_cpu.so"', '"libpython3.11.so.1.0"'));
    const page = await open('interpreter');
    await page.click('#tab-flame');
    await page.evaluate('(() => { const s = document.querySelector("#flame-metric"); s.value = "retained"; s.dispatchEvent(new Event("change")); })()');
    const inside = () => page.evaluate('[...document.querySelectorAll(".flame g.frame")].filter((g) => g.getAttribute("name").startsWith("at::native")).length');
    const total = () => page.evaluate('document.querySelector(".flame-info").textContent');
    const before = await total();
    assert.equal(await inside(), 0);
    await page.click('#flame-interpreter');
    assert.ok(await inside() > 0, 'shown on request');
    assert.equal(await total(), before, 'the total stays');
    assertQuiet(page, 'interpreter');
    await page.close();
  },

  async 'sites sort, filter and open; totals stand below them'() {
    const page = await open('leak');
    await page.click('#tab-sites');
    const first = () => page.evaluate('document.querySelector("#view-sites tbody tr code").textContent');
    assert.equal(await first(), 'train.py:53 in train_step');
    await page.click('#view-sites th:nth-child(5) button');
    assert.equal(await first(), 'train.py:57 in train_step', 'sorted by growth');
    await page.evaluate('(() => { const f = document.querySelector("#view-sites input"); f.value = "data.py"; f.dispatchEvent(new Event("input")); })()');
    assert.equal(await page.evaluate('document.querySelectorAll("#view-sites tbody tr").length'), 1);
    await page.evaluate('document.querySelector("#view-sites tbody tr").focus()');
    await page.key('Enter');
    assert.match(await page.evaluate('document.querySelector(".detail h3").textContent'), /data\.py:40/);
    assertQuiet(page, 'sites');
    await page.close();
  },

  async 'tabs move with the arrow keys'() {
    const page = await open('steady');
    await page.evaluate('document.querySelector("#tab-timeline").focus()');
    await page.key('ArrowRight');
    assert.equal(await page.evaluate('document.activeElement.id'), 'tab-sites');
    assertQuiet(page, 'tabs');
    await page.close();
  },

  async 'names from a recording stay text'() {
    const html = readFileSync(join(scratch, 'hostile.html'), 'utf8');
    assert.ok(!html.includes('<script>alert'), 'unescaped script in the file');
    assert.ok(!html.includes('<img src=x'), 'unescaped image in the file');
    const page = await open('hostile');
    for (const view of views) await page.click(`#tab-${view}`);
    await page.click('#tab-sites');
    const text = await page.evaluate('document.querySelector("#view-sites").textContent');
    assert.ok(text.includes('<script>alert(1)</script>'), 'the name is shown as it is');
    assert.ok(text.includes('/data/it\'s "quoted"/\u{1f525} emoji/'), 'quotes and emoji survive');
    assert.equal(await page.evaluate('document.querySelectorAll("script").length'), 2, 'only our own scripts');
    assert.equal(await page.evaluate('document.querySelectorAll("img").length'), 0);
    await page.click('#tab-flame');
    await page.evaluate('(() => { const s = document.querySelector("#flame-metric"); s.value = "retained"; s.dispatchEvent(new Event("change")); })()');
    assert.ok(await page.evaluate('[...document.querySelectorAll(".flame title")].some((t) => t.textContent.includes("<script>alert(1)"))'));
    assertQuiet(page, 'hostile');
    await page.close();
  },

  async 'the data of the page adds up'() {
    for (const name of ['leak', 'cache_fill', 'big']) {
      const page = await open(name);
      const sums = await page.evaluate(`(() => {
        const d = JSON.parse(document.getElementById("plateau-data").textContent);
        const add = (list) => list.reduce((a, b) => a + b, 0);
        return {
          total: d.report.totals.retained_bytes,
          sites: add(d.sites.map((s) => s.retained)) + d.rest.retained + add(d.report.totals.leftovers.map((l) => l.retained_bytes)),
          stacks: add(d.stacks.retained),
          peak: d.report.totals.peak_bytes, peakStacks: add(d.stacks.peak),
          temporary: d.report.totals.temporary_bytes, temporaryStacks: add(d.stacks.temporary),
        };
      })()`);
      assert.equal(sums.sites, sums.total, `${name}: sites`);
      assert.equal(sums.stacks, sums.total, `${name}: stacks`);
      assert.equal(sums.peakStacks, sums.peak, `${name}: peak`);
      assert.equal(sums.temporaryStacks, sums.temporary, `${name}: temporary`);
      await page.close();
    }
  },

  async 'a recording of 10,000 steps and 100,000 stacks does not freeze the page'() {
    const size = statSync(join(scratch, 'big.html')).size;
    assert.ok(size < 8 * 2 ** 20, `${size} bytes`);
    const page = await open('big');
    assert.ok(page.loadMilliseconds < 10000, `loaded in ${page.loadMilliseconds} ms`);
    const times = {load: page.loadMilliseconds};
    for (const view of views) {
      const start = Date.now();
      await page.click(`#tab-${view}`);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))');
      times[view] = Date.now() - start;
      assert.ok(times[view] < 5000, `${view} took ${times[view]} ms`);
    }
    await page.click('#tab-flame');
    const start = Date.now();
    await page.evaluate('(() => { const s = document.querySelector("#flame-metric"); s.value = "retained"; s.dispatchEvent(new Event("change")); return true; })()');
    times.metric = Date.now() - start;
    assert.ok(times.metric < 5000, `switching the metric took ${times.metric} ms`);
    const frames = await page.evaluate('document.querySelectorAll(".flame g.frame").length');
    console.log(`    big: ${(size / 2 ** 20).toFixed(2)} MiB, ${frames} frames drawn, ms ${JSON.stringify(times)}`);
    assertQuiet(page, 'big');
    await page.close();
  },

  async 'printing shows all views'() {
    const page = await open('leak');
    await page.evaluate('window.dispatchEvent(new Event("beforeprint"))');
    await page.send('Emulation.setEmulatedMedia', {media: 'print'});
    const shown = await page.evaluate('[...document.querySelectorAll(".view")].filter((v) => v.offsetParent !== null).length');
    assert.equal(shown, views.length);
    assertQuiet(page, 'print');
    await page.close();
  },
};

let failed = 0;
try {
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log(`ok    ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAIL  ${name}\n${error.stack}`);
    }
  }
} finally {
  await browser.close();
  rmSync(scratch, {recursive: true, force: true});
}
process.exit(failed === 0 ? 0 : 1);
