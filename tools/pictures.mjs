// Makes the pictures of the documents anew: tools/pictures [BUILD]
//
// Those of the gallery are the pages of the golden cases whose cards it shows, those of the README come from runs of examples/batch_kept.py and
// examples/image_cache.py, for which /usr/bin/python3 needs torch. BUILD is build/dev by default, because the cases belong to the tests. Look at them before committing:
// page_looks_test compares those of the gallery with the pages of today.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const source = join(dirname(fileURLToPath(import.meta.url)), '..');
const {Chromium} = await import(pathToFileURL(join(source, 'tests/support/chromium.mjs')));
const {kGalleryPages, firstScreen} = await import(pathToFileURL(join(source, 'tests/support/picture.mjs')));
const {palettePng} = await import(pathToFileURL(join(source, 'tests/support/palette_png.mjs')));

const build = resolve(process.argv[2] ?? join(source, 'build/dev'));
const scratch = mkdtempSync(join(tmpdir(), 'plateau-pictures-'));
const browser = await Chromium.start();
try {
  execFileSync(join(build, 'tests/write_golden_pages'), [scratch, ...Object.keys(kGalleryPages)]);
  const wanted = Object.entries(kGalleryPages).map(([page, verdict]) => [`${page}.html`, `verdict-${verdict.replaceAll('_', '-')}.png`]);
  for (const [example, name] of [['batch_kept.py', 'report-leak'], ['image_cache.py', 'report-cache-fill']]) {
    execFileSync(join(build, 'bin/plateau'), ['run', '-q', '-o', join(scratch, name), '--html', join(scratch, `${name}.html`), '--', '/usr/bin/python3', `examples/${example}`],
        {cwd: source, stdio: ['ignore', 'ignore', 'inherit']});
    wanted.push([`${name}.html`, `${name}.png`]);
  }
  const blank = await browser.open('data:text/html,<script>document.documentElement.dataset.ready="true"</script>');
  for (const [page, file] of wanted) {
    const picture = await palettePng(blank, await firstScreen(browser, pathToFileURL(join(scratch, page)).href));
    writeFileSync(join(source, 'docs/images', file), picture);
    console.log(`${file}: ${(picture.length / 1024).toFixed(0)} KiB`);
  }
} finally {
  await browser.close();
  rmSync(scratch, {recursive: true, force: true});
}
