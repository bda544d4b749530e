// The documents with figures, and the file of measured results.

import { join } from 'node:path';
import { listFiles, ROOT, readSource } from '../../suite/source-files.ts';
import { type Figures, figuresOf, type Results } from './figures.ts';

/** Benchmarks and `npm run figures` write it. */
export const RESULTS = join(ROOT, 'e2e/bench/results.json');

export function readResults(): Results {
  return JSON.parse(readSource('e2e/bench/results.json')) as Results;
}

export function readFigures(): Figures {
  return figuresOf(readResults());
}

/** Documents that may name figures. */
export function documentsWithFigures(): readonly string[] {
  const documents = listFiles(['docs'], /\.md$/).filter((file) => !/^docs\/examples\/./.test(file));
  return ['README.md', 'CONTRIBUTING.md', ...documents];
}

const CORPUS = 'e2e/workerd/conformance/corpus';

/** Counts of today, by the names of the figures. */
export function countedToday(): Record<string, number> {
  const sizeOf = (name: string) => Object.keys(JSON.parse(readSource(`${CORPUS}/${name}`))).length;
  const { specOverWorkerd } = JSON.parse(readSource(`${CORPUS}/notes.json`));
  return {
    scenarios: sizeOf('expected.json') + sizeOf('expected-alarms.json'),
    'scenarios by the interface': Object.keys(specOverWorkerd).length,
  };
}
