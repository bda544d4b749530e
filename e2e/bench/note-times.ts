// Times that a benchmark has measured, noted in the committed file of results, from which `npm run figures` writes them into
// the documents.

import { readFileSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, platform } from 'node:os';
import { join } from 'node:path';

const RESULTS = join(import.meta.dirname, 'results.json');

/** Notes times by the names of the documents' figures, with the day, the machine and the command. */
export function noteTimes(command: string, times: Readonly<Record<string, string>>): void {
  const results = JSON.parse(readFileSync(RESULTS, 'utf8'));
  for (const [name, value] of Object.entries(times)) {
    results.times[name] = { measuredOn: today(), machine: machine(), command, value };
  }
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
}

/** `2026-11-30`. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

export function machine(): string {
  return `${availableParallelism()} cores, ${platform()} ${arch()}, Node ${process.versions.node}`;
}
