// How many source files and functions one warm call runs through, in Node, on files in memory.
//
//   npm run calls                 put, get and exec of a page; a call of a class, an alarm
//   npm run calls -- --list put   its files with their functions
//   npm run calls -- --json       the counts, for calls.test.ts

import { parseArgs } from 'node:util';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { Counter } from './counter.ts';
import { type CallPath, Coverage, functionCount } from './coverage.ts';
import { openPageStorage } from './page-storage.ts';

const { values: options } = parseArgs({
  options: { list: { type: 'string' }, json: { type: 'boolean', default: false } },
});

const paths = new Map<string, CallPath>();
const coverage = await Coverage.start();

// A value that is stored already changes no page.
let count = 0;
const { storage, close } = await openPageStorage();
await storage.sql.exec('CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)').toArray();
await measure('put', () => storage.put('key', { count: ++count }));
await measure('get', () => storage.get('key'));
await measure('exec', () =>
  storage.sql.exec('INSERT INTO note (text) VALUES (?)', `note ${++count}`).toArray(),
);
await close();

const ALARM_MS = 60_000;
const { env, clock, close: closeObjects } = await createObjects({ Counter });
const counter = env.Counter.getByName('one');
await measure('class call', () => counter.add(1));
await measure(
  'alarm',
  () => clock.advance(ALARM_MS),
  () => counter.ringAfter(ALARM_MS),
);
await closeObjects();
coverage.stop();

if (options.list !== undefined) {
  for (const [file, names] of [...(paths.get(options.list) ?? [])].sort()) {
    console.log(file, [...names].map((name) => name.split(' ')[0]).join(' '));
  }
} else if (options.json) {
  const counts = [...paths].map(([name, path]) => [name, countsOf(path)]);
  console.log(JSON.stringify(Object.fromEntries(counts)));
} else {
  console.table(Object.fromEntries([...paths].map(([name, path]) => [name, countsOf(path)])));
}

async function measure(name: string, ...calls: Parameters<Coverage['pathOf']>): Promise<void> {
  paths.set(name, await coverage.pathOf(...calls));
}

function countsOf(path: CallPath): { readonly files: number; readonly functions: number } {
  return { files: path.size, functions: functionCount(path) };
}
