// Bundles the page into one HTML template: node build.mjs OUTPUT
//
// Script and style are inline and allowed by their hashes alone, so the page runs nothing that was not built here, and
// loads nothing at all. The report writer puts the data where the template says @PLATEAU_DATA@.
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2];
if (!output) {
  console.error('usage: node build.mjs OUTPUT');
  process.exit(2);
}

const result = await esbuild.build({
  entryPoints: [join(here, 'src/main.ts')],
  absWorkingDir: here,
  bundle: true,
  write: false,
  outdir: 'out',
  format: 'iife',
  target: 'es2020',
  minify: true,
  keepNames: true,  // d3-flame-graph looks at the name of a class
  charset: 'ascii',
  legalComments: 'inline',
  loader: {'.css': 'css'},
  logLevel: 'warning',
});
const text = (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
// A script element ends at the first "</script", wherever it stands.
const script = text('.js').replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
const style = text('.css');
const hash = (code) => `'sha256-${createHash('sha256').update(code, 'utf8').digest('base64')}'`;

const page = readFileSync(join(here, 'src/page.html'), 'utf8')
    .replace('@CSP@', () => `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; ` +
        `base-uri 'none'; form-action 'none'`)
    .replace('@STYLE@', () => style)
    .replace('@SCRIPT@', () => script);
mkdirSync(dirname(output), {recursive: true});
writeFileSync(output, page);
