// Writes the table of verdicts as TypeScript: node verdicts.mjs verdict_kinds.inc OUTPUT
//
// The rows are those of analyzer/verdict/vocabulary/verdict_kinds.inc, so the page knows every verdict the analyzer can give.
import {readFileSync, writeFileSync} from 'node:fs';

const [input, output] = process.argv.slice(2);
const row = /^PLATEAU_VERDICT\(k\w+,\s*"(\w+)",\s*(\d+),\s*k(\w+),\s*(true|false),\s*"([^"]*)"\)$/;
const lines = readFileSync(input, 'utf8').split('\n').filter((line) => line.startsWith('PLATEAU_VERDICT('));
const rows = lines.map((line) => {
  const match = row.exec(line.trim());
  if (!match) throw new Error(`${input}: not a row of the table: ${line}`);
  const [, name, rank, tone, isLeak, words] = match;
  return `  ${name}: {rank: ${rank}, tone: '${tone.toLowerCase()}', isLeak: ${isLeak}, words: ${JSON.stringify(words)}},`;
});
if (rows.length === 0) throw new Error(`${input}: no rows`);
writeFileSync(output, `// Written by verdicts.mjs from analyzer/verdict/vocabulary/verdict_kinds.inc.
export type Tone = 'grows' | 'open' | 'note' | 'fine';
export interface VerdictRow {
  rank: number;
  tone: Tone;
  isLeak: boolean;
  words: string;
}
export const verdicts: Record<string, VerdictRow> = {
${rows.join('\n')}
};
`);
