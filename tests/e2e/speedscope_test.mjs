// The speedscope export in speedscope itself, in a real Chromium: speedscope_test.mjs
//
// Every metric is a profile with the sum that the file has, in bytes and not zero, and its table has the functions of the recording. Skips (77) without Chromium or
// speedscope, which comes with the packages of the page.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

import {Chromium, findChromium} from '../support/chromium.mjs';

const build = process.env.PLATEAU_BUILD;
assert.ok(build, 'PLATEAU_BUILD names the build folder');
const program = join(build, 'analyzer/report/page/web/work/node_modules/speedscope/dist/release/index.html');
if (!findChromium() || !existsSync(program)) {
  console.log(`skipped: no ${findChromium() ? 'speedscope' : 'chromium'}`);
  process.exit(77);
}

const scratch = mkdtempSync(join(tmpdir(), 'plateau-speedscope-'));
const browser = await Chromium.start();
try {
  execFileSync(join(build, 'tests/write_export_fixtures'), [scratch]);
  const text = readFileSync(join(scratch, 'export.speedscope.json'));
  // What speedscope runs for a profile that lies beside it.
  writeFileSync(join(scratch, 'load.js'), `speedscope.loadFileFromBase64("export.speedscope.json", "${text.toString('base64')}")`);
  const page = await browser.open('data:text/html,<script>document.documentElement.dataset.ready="true"</script>', {width: 1280, height: 800});
  await page.send('Page.navigate', {url: `${pathToFileURL(program).href}#localProfilePath=${join(scratch, 'load.js')}`});
  await page.until('document.title.endsWith("speedscope") && document.title.length > "speedscope".length', 'speedscope to load the export');
  // The list of profiles, with the sum that speedscope made of each.
  const wanted = JSON.parse(text).profiles;
  await page.until(`document.querySelectorAll("table tr").length >= ${wanted.length}`, 'the list of profiles');
  const shown = await page.evaluate('[...document.querySelectorAll("table tr")].map((row) => row.innerText)');
  for (const {name, weights} of wanted) {
    const sum = weights.reduce((total, weight) => total + weight, 0);
    assert.ok(sum > 0, `${name} is zero`);
    const row = shown.find((line) => line.includes(name)) ?? '';
    const unit = sum >= 2 ** 30 ? ['GB', 30] : sum >= 2 ** 20 ? ['MB', 20] : ['KB', 10];
    assert.ok(row.includes(`${(sum / 2 ** unit[1]).toFixed(2)} ${unit[0]}`), `${name}: ${sum} bytes are "${row}"`);
    console.log(`ok    ${row.replace(/^\d+/, '')}`);
  }
  // Its table of functions has those of the recording.
  for (const type of ['keyDown', 'keyUp']) await page.send('Input.dispatchKeyEvent', {type, key: '3', code: 'Digit3', windowsVirtualKeyCode: 51, text: type === 'keyDown' ? '3' : undefined});
  await page.until('document.body.innerText.includes("train_step")', 'the functions');
} finally {
  await browser.close();
  rmSync(scratch, {recursive: true, force: true});
}
