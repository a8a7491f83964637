// How the page looks and whether everybody can use it: page_looks_test.mjs
//
// Eight verdicts in light and dark beside the pictures of page_looks.json (PLATEAU_UPDATE_LOOKS=1 takes them anew; look at them before
// committing: PLATEAU_KEEP_LOOKS=DIRECTORY keeps the screenshots), the rules of axe-core in both themes on every tab, nothing cut at four
// widths, links into the page, and the first screen. Skips (77) without Chromium.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

import {Chromium, findChromium} from '../support/chromium.mjs';
import {difference, firstScreen, kGalleryPages, pictureOf} from '../support/picture.mjs';

if (!findChromium()) {
  console.log('skipped: no chromium; install Debian\'s package chromium');
  process.exit(77);
}
const build = process.env.PLATEAU_BUILD;
assert.ok(build, 'PLATEAU_BUILD names the build folder');
const scratch = mkdtempSync(join(tmpdir(), 'plateau-looks-'));
execFileSync(join(build, 'tests/write_report_fixtures'), [scratch]);
const browser = await Chromium.start();
const open = (name, options = {}) => browser.open(pathToFileURL(join(scratch, `${name}.html`)).href + (options.hash ?? ''), options);
const verdicts = ['leak', 'warmup', 'cache_fill', 'fragmentation', 'inconclusive', 'steady', 'staircase', 'killed'];
const views = ['timeline', 'sites', 'flame', 'hypotheses', 'ledger', 'processes', 'recording'];
const known = join(dirname(fileURLToPath(import.meta.url)), 'page_looks.json');
const painted = (page) => page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 60))))');

const cases = {
  async 'eight verdicts look as they did, light and dark'() {
    const expected = existsSync(known) ? JSON.parse(readFileSync(known, 'utf8')) : {};
    const seen = {};
    const blank = await browser.open('data:text/html,<script>document.documentElement.dataset.ready="true"</script>');
    for (const name of verdicts) {
      for (const dark of [false, true]) {
        const page = await open(name, {width: 1280, height: 1500, dark});
        await page.until('document.querySelector("#view-timeline canvas") !== null', 'the timeline');
        await painted(page);
        const {data} = await page.send('Page.captureScreenshot', {format: 'png'});
        const key = `${name}-${dark ? 'dark' : 'light'}`;
        if (process.env.PLATEAU_KEEP_LOOKS) writeFileSync(join(process.env.PLATEAU_KEEP_LOOKS, `${key}.png`), Buffer.from(data, 'base64'));
        seen[key] = await pictureOf(blank, data);
        await page.close();
      }
    }
    await blank.close();
    if (process.env.PLATEAU_UPDATE_LOOKS) writeFileSync(known, `${JSON.stringify(seen, null, 1)}\n`);
    const now = process.env.PLATEAU_UPDATE_LOOKS ? seen : expected;
    for (const [key, picture] of Object.entries(seen)) {
      assert.ok(now[key], `${key} has no picture in page_looks.json`);
      const {mean, share} = difference(picture, now[key]);
      assert.ok(mean < 6 && share < 0.10, `${key} looks different: blocks are off by ${mean.toFixed(1)}, ${(100 * share).toFixed(1)} % by much`);
    }
    // The measure tells pictures apart that a person would.
    for (const [a, b] of [['leak-light', 'leak-dark'], ['leak-light', 'steady-light'], ['staircase-dark', 'cache_fill-dark']]) {
      const {mean, share} = difference(seen[a], seen[b]);
      assert.ok(mean >= 6 || share >= 0.10, `${a} and ${b} look the same (${mean.toFixed(1)}, ${share.toFixed(3)})`);
    }
  },

  async 'the pictures of the gallery are those of today'() {
    const images = join(dirname(fileURLToPath(import.meta.url)), '../../docs/images');
    const blank = await browser.open('data:text/html,<script>document.documentElement.dataset.ready="true"</script>');
    const golden = mkdtempSync(join(scratch, 'golden-'));
    execFileSync(join(build, 'tests/write_golden_pages'), [golden, ...Object.keys(kGalleryPages)]);
    for (const [name, verdict] of Object.entries(kGalleryPages)) {
      const file = readFileSync(join(images, `verdict-${verdict.replaceAll('_', '-')}.png`));
      assert.ok(file.length < 60 * 1024, `${verdict}: ${file.length} bytes`);
      const now = await pictureOf(blank, await firstScreen(browser, pathToFileURL(join(golden, `${name}.html`)).href));
      const {mean, share} = difference(now, await pictureOf(blank, file.toString('base64')));
      assert.ok(mean < 6 && share < 0.10, `${verdict} looks different (${mean.toFixed(1)}, ${share.toFixed(3)}): tools/pictures, and look at them`);
    }
    await blank.close();
  },

  async 'axe-core has nothing to object to, in both themes, on every tab'() {
    const axe = readFileSync(join(build, 'analyzer/report/page/web/work/node_modules/axe-core/axe.min.js'), 'utf8');
    const objections = [];
    for (const [name, dark] of [['leak', false], ['leak', true], ['killed', false], ['staircase', true], ['inconclusive', false], ['steady', true]]) {
      const page = await open(name, {width: 1280, height: 1200, dark});
      await page.evaluate(`${axe}; true`);
      for (const view of views) {
        await page.click(`#tab-${view}`);
        await painted(page);
        const found = await page.evaluate(`axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`);
        objections.push(...found.map((text) => `${name}, ${dark ? 'dark' : 'light'}, ${view}: ${text}`));
      }
      await page.close();
    }
    assert.deepEqual(objections, []);
  },

  async 'nothing is cut at 390, 1280 and 1920, and print has every column'() {
    for (const width of [390, 1280, 1920]) {
      for (const name of ['leak', 'fragmentation', 'staircase']) {
        const page = await open(name, {width, height: 1000});
        for (const view of views) {
          await page.click(`#tab-${view}`);
          await painted(page);
          assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name} at ${width}: ${view} is wider than the window`);
          if (width < 1280) continue;
          const cut = await page.evaluate(`[...document.querySelectorAll('#view-${view} .scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute('aria-label') + ' ' + e.scrollWidth + ' > ' + e.clientWidth)`);
          assert.deepEqual(cut, [], `${name} at ${width}: ${view}`);
        }
        if (width === 1920) assert.ok(await page.evaluate('document.querySelector("#page").getBoundingClientRect().width > 1800'), 'the width is used');
        const figures = await page.evaluate(`[...document.querySelectorAll('.figure')].filter((f) => f.scrollWidth > f.clientWidth + 1).map((f) => f.textContent)`);
        assert.deepEqual(figures, [], `${name} at ${width}: figures`);
        await page.close();
      }
    }
    const page = await open('leak', {width: 794, height: 1100});
    await page.evaluate('window.dispatchEvent(new Event("beforeprint"))');
    await page.send('Emulation.setEmulatedMedia', {media: 'print'});
    await painted(page);
    const cut = await page.evaluate(`[...document.querySelectorAll('.scroll')].filter((e) => e.offsetParent !== null && e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute('aria-label') + ' ' + e.scrollWidth + ' > ' + e.clientWidth)`);
    assert.deepEqual(cut, [], 'on paper');
    await page.close();
  },

  async 'the first screen of each verdict names who, how much and until when'() {
    const wanted = {
      leak: /^train\.py:57 in train_step keeps 1\.20 MiB every step; .*8\.00 GiB is reached at step 5,330 \(5,150-5,520\)\.$/,
      staircase: /evaluate\.py:31 in evaluate keeps 57\.0 MiB at every evaluation, about every 500 steps; .*8\.00 GiB is reached at step 57,480/,
      killed: /serve\.py:12 in remember grows by 6\.00 MiB every round.*4\.00 GiB is reached at round 425/,
      inconclusive: /^data\.py:27 in __getitem__ has kept 162 MiB every step so far.*about 20 more steps decide it\.$/,
      fragmentation: /grows by 6\.20 MiB every step; .*16\.0 GiB is reached at step 2,240/,
      cache_fill: /keeps each example once, 20\.3 MiB each, 13\.2 GiB in all; it ended with the first pass\.$/,
      warmup: /^model\.py:61 in forward grew by 1\.50 GiB until step 41 and has been level since\.$/,
      steady: /^Nothing grows; a leak of 32\.2 KiB a step would have been seen\.$/,
    };
    for (const [name, pattern] of Object.entries(wanted)) {
      const page = await open(name, {width: 1280, height: 800});
      const [text, below] = await page.evaluate('(() => { const e = document.querySelector(".summary"); return [e.textContent, e.getBoundingClientRect().bottom]; })()');
      assert.match(text, pattern);
      assert.ok(below <= 800, `${name}: the headline ends at ${below}`);
      // The advice is on the same screen, and no number of the headline is said again below it.
      assert.ok(await page.evaluate('document.querySelector(".reasons").getBoundingClientRect().bottom <= innerHeight'), `${name}: the advice is below the first screen`);
      const small = await page.evaluate('document.querySelector(".sentence")?.textContent ?? ""');
      for (const figure of text.match(/[0-9][0-9.,]* [KMG]iB/g) ?? []) assert.ok(!small.includes(figure) || text.includes('GiB in all'), `${name}: ${figure} twice`);
      await page.close();
    }
  },

  async 'the first screen tells line, rate and deadline, with the source'() {
    const page = await open('leak', {width: 1280, height: 720});
    const first = await page.evaluate(`(() => {
      const inView = (e) => e !== null && e.getBoundingClientRect().bottom <= innerHeight && e.getBoundingClientRect().top >= 0;
      const summary = document.querySelector('.summary');
      return {summary: inView(summary) && summary.textContent, guilty: inView(document.querySelector('.line.guilty')) && document.querySelector('.line.guilty').textContent,
        lines: document.querySelectorAll('.banner .source .line').length, hedge: parseFloat(getComputedStyle(document.querySelector('.sentence')).fontSize) < parseFloat(getComputedStyle(summary).fontSize)};
    })()`);
    assert.match(first.summary, /^train\.py:57 in train_step keeps 1\.20 MiB every step; .* reached at step 5,330 \(5,150-5,520\)\.$/);
    assert.match(first.guilty, /^57 +history\.append\(loss\)\n$/);
    assert.equal(first.lines, 5);
    assert.ok(first.hedge, 'what hedges it is smaller');
    await page.click('.site-link');
    assert.equal(await page.evaluate('location.hash'), '#tab=sites&site=train.py%3A57%20in%20train_step');
    await page.close();
    const staircase = await open('staircase');
    assert.equal(await staircase.evaluate('document.querySelector("a.editor").getAttribute("href")'), 'vscode://file/home/ada/src/evaluate.py:31');
    await staircase.close();
  },

  async 'a link opens tab, site and zoom'() {
    let page = await open('leak', {hash: '#tab=sites&site=data.py%3A40%20in%20collate'});
    assert.equal(await page.evaluate('document.querySelector("#tab-sites").getAttribute("aria-selected")'), 'true');
    assert.match(await page.evaluate('document.querySelector(".detail h3").textContent'), /^data\.py:40/);
    await page.evaluate('location.hash = "#tab=ledger"');
    await page.until('document.querySelector("#tab-ledger").getAttribute("aria-selected") === "true"', 'the ledger');
    await page.close();
    // A zoomed flame graph says where it is, and that address shows the same again.
    page = await open('leak', {hash: '#tab=flame'});
    await page.until('document.querySelectorAll(".flame g.frame").length > 3', 'frames');
    await page.evaluate('[...document.querySelectorAll(".flame g.frame")].find((f) => f.getAttribute("name").startsWith("train_step")).id = "target"');
    await page.click('#target rect');
    const hash = await page.evaluate('location.hash');
    assert.match(decodeURIComponent(hash), /flame=.*train_step/);
    await page.close();
    page = await open('leak', {hash});
    await page.until('document.querySelector(".flame-info")?.textContent.startsWith("train_step")', 'the same frame');
    await page.close();
    page = await open('leak', {hash: '#x=100-200'});
    await page.until('document.querySelector("#view-timeline canvas") !== null', 'the timeline');
    await page.close();
    page = await open('leak', {hash: '#tab=%E0%A4%A&site=nobody&x=9-1'});
    assert.equal(await page.evaluate('document.querySelector("#tab-timeline").getAttribute("aria-selected")'), 'true');
    assert.deepEqual(page.problems, []);
    await page.close();
  },

  async 'what imports allocated is one row and one frame until it is asked for'() {
    const html = readFileSync(join(scratch, 'leak.html'), 'utf8');
    const changed = html.replace(/<script type="application\/json" id="plateau-data">(.*?)<\/script>/s, (_all, text) => {
      const data = JSON.parse(text);
      const row = data.sites.findIndex((site) => site.site.startsWith('model.py:31'));
      data.sites[row].import = true;
      const build = data.frames.strings.indexOf('build_model');
      data.frames.strings[build] = '_find_and_load';
      return `<script type="application/json" id="plateau-data">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>`;
    });
    writeFileSync(join(scratch, 'imports.html'), changed);
    const page = await open('imports', {hash: '#tab=sites'});
    const names = () => page.evaluate('[...document.querySelectorAll("#view-sites tbody tr code")].map((c) => c.textContent)');
    const total = () => page.evaluate('document.querySelector("#view-sites tfoot tr.total").textContent');
    const before = await total();
    assert.ok(!(await names()).some((name) => name.startsWith('model.py:31')));
    assert.match(await page.evaluate('document.querySelector("#view-sites tfoot").textContent'), /\[1 import\]346 MiB/);
    await page.click('#sites-imports');
    assert.ok((await names()).some((name) => name.startsWith('model.py:31')));
    assert.equal(await total(), before);
    await page.click('#tab-flame');
    await page.evaluate('(() => { const s = document.querySelector("#flame-metric"); s.value = "retained"; s.dispatchEvent(new Event("change")); })()');
    const frames = (name) => page.evaluate(`[...document.querySelectorAll(".flame g.frame")].filter((g) => g.getAttribute("name").startsWith("${name}")).length`);
    const all = () => page.evaluate('document.querySelector(".flame-info").textContent');
    const sum = await all();
    assert.equal(await frames('_find_and_load'), 0);
    assert.equal(await frames('[imports]'), 1);
    await page.click('#flame-imports');
    assert.ok(await frames('_find_and_load') > 0);
    assert.equal(await frames('[imports]'), 0);
    assert.equal(await all(), sum, 'the total stays');
    assert.deepEqual(page.problems, []);
    await page.close();
  },

  async 'the bands of the ledger add up to the resident set, and steps of 6,000 are seen'() {
    const page = await open('staircase');
    await page.until('document.querySelectorAll(".bands canvas").length === 1', 'the bands');
    const sums = await page.evaluate(`(() => {
      const l = JSON.parse(document.getElementById("plateau-data").textContent).ledger;
      const parts = ['live', 'gap', 'file', 'shmem', 'own', 'unexplained'].map((name) => l[name]).filter((c) => c !== undefined);
      return {worst: Math.max(...l.rss.map((rss, i) => Math.abs(rss - parts.reduce((sum, part) => sum + part[i], 0)))),
        // Eleven steps of the staircase are in what is drawn.
        jumps: l.live.filter((value, i) => i > 0 && l.step[i] > 1 && value - l.live[i - 1] > 40 * 2 ** 20).length};
    })()`);
    assert.equal(sums.worst, 0);
    assert.ok(sums.jumps >= 11, `${sums.jumps} jumps are left of the staircase`);
    assert.match(await page.evaluate('document.querySelector(".marks").textContent'), /evaluation \(11\)checkpoint \(5\)/);
    await page.close();
  },

  async 'what was not tested is grey and not green'() {
    const page = await open('leak', {hash: '#tab=hypotheses'});
    const chip = (text) => page.evaluate(`[...document.querySelectorAll("#view-hypotheses .chip")].filter((c) => c.textContent === "${text}").map((c) => c.className)[0] ?? null`);
    assert.equal(await chip('ruled out'), 'chip tone-fine');
    const html = readFileSync(join(scratch, 'leak.html'), 'utf8');
    writeFileSync(join(scratch, 'untested.html'), html.replace('"result":"ruled out"', '"result":"not tested"'));
    const other = await open('untested', {hash: '#tab=hypotheses'});
    assert.equal(await other.evaluate('[...document.querySelectorAll("#view-hypotheses .chip")].filter((c) => c.textContent === "not tested").map((c) => c.className)[0]'), 'chip tone-none');
    await page.close();
    await other.close();
  },

  async 'a killed run shows its last minutes first'() {
    const page = await open('killed');
    const text = await page.evaluate('document.querySelector("#view-timeline .panel").textContent');
    for (const part of ['The last minutes', 'Asked last', 'Largest', '2.93 GiB', '888 MiB']) assert.ok(text.includes(part), part);
    await page.close();
  },
};

const only = process.argv[2];
let failed = 0;
try {
  for (const [name, run] of Object.entries(cases)) {
    if (only !== undefined && !name.includes(only)) continue;
    try {
      const start = Date.now();
      await run();
      console.log(`ok    ${name} (${Date.now() - start} ms)`);
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
