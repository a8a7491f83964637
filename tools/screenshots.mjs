// Takes pictures of report pages:  tools/screenshots OUT_DIR [REPORT.html ...]
//
// Without reports it writes those of four simulated runs (leak, warm-up, cache fill, inconclusive) with the build's
// write_report_fixtures; PLATEAU_BUILD names the build folder (default build/dev). Needs Chromium.
import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, dirname, join, resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const {Chromium} = await import(join(root, 'tests/support/chromium.mjs'));

const [out, ...given] = process.argv.slice(2);
if (!out) {
  console.error('usage: tools/screenshots OUT_DIR [REPORT.html ...]');
  process.exit(2);
}
mkdirSync(out, {recursive: true});
const scratch = mkdtempSync(join(tmpdir(), 'plateau-screenshots-'));
let reports = given;
if (reports.length === 0) {
  const build = process.env.PLATEAU_BUILD ?? join(root, 'build/dev');
  execFileSync(join(build, 'tests/write_report_fixtures'), [scratch]);
  reports = ['leak', 'warmup', 'cache_fill', 'inconclusive'].map((name) => join(scratch, `${name}.html`));
}
const browser = await Chromium.start();
try {
  for (const report of reports) {
    const name = basename(report, '.html');
    for (const dark of [false, true]) {
      const page = await browser.open(pathToFileURL(resolve(report)).href, {width: 1400, height: 1000, dark});
      await page.until('document.querySelector("#view-timeline canvas") !== null', 'the timeline');
      const suffix = dark ? '-dark' : '';
      await page.screenshot(join(out, `${name}${suffix}.png`));
      if (!dark) {
        for (const view of ['sites', 'flame']) {
          await page.click(`#tab-${view}`);
          await new Promise((done) => setTimeout(done, 1500));
          await page.screenshot(join(out, `${name}-${view}.png`), {full: true});
        }
      }
      await page.close();
    }
    console.log(join(out, `${name}.png`));
  }
} finally {
  await browser.close();
  rmSync(scratch, {recursive: true, force: true});
}
