// npm run figures [-- --peers FILE…]
//
// Measures the sizes of the packed package, counts, and writes these and the committed times of benchmarks into the
// documents. With --peers, the table of peers is that of these files, which runs of `npm run bench -- --json FILE` have
// written. Benchmarks of single questions write their times with `--note`.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machine, today } from '../../bench/note-times.ts';
import { ROOT, readSource } from '../../suite/source-files.ts';
import { installPacked } from '../installed.ts';
import { packTo } from '../pack.ts';
import { countedToday, documentsWithFigures, RESULTS, readResults } from './documents.ts';
import { figuresOf, type Results, withFigures } from './figures.ts';
import { peerFiguresOf } from './peer-figures.ts';
import { measuredSizes } from './sizes.ts';

const { values } = parseArgs({ options: { peers: { type: 'string', multiple: true } } });

const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-figures-'));
try {
  process.env.PACKED_FILE ??= packed(join(folder, 'package.tgz'));
  await installPacked(folder);
  const earlier = readResults();
  const results: Results = {
    ...earlier,
    sizes: { measuredOn: today(), bytes: await measuredSizes(folder) },
    counts: { ...earlier.counts, ...countedToday() },
    peers:
      values.peers === undefined
        ? earlier.peers
        : { measuredOn: today(), machine: machine(), rows: peerFiguresOf(values.peers) },
  };
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  const figures = figuresOf(results);
  for (const file of documentsWithFigures()) {
    const before = readSource(file);
    const after = withFigures(file, before, figures);
    if (after === before) continue;
    writeFileSync(join(ROOT, file), after);
    console.log(`${file}: written`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function packed(file: string): string {
  packTo(file);
  return file;
}
