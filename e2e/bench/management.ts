// What a creation costs in the emulated provider as zones and records grow in number; prints the table
// of docs/benchmarks.md.

import { createManagementApi } from '../../src/management/api.ts';
import { ManagementObject } from '../../src/management/objects/management-object.ts';
import { createObjects } from '../../worker/node-objects.ts';

const COUNTS = [100, 10_000];
const SAMPLE_COUNT = 100;
const ACCOUNT_ID = 'a'.repeat(32);
const MB = 1_000_000;

type Create = (index: number) => Promise<unknown>;

/** Median milliseconds of a creation beside `count` others, for each count. */
async function costs(counts: readonly number[], create: Create): Promise<number[]> {
  const medians: number[] = [];
  let next = 0;
  for (const count of counts) {
    while (next < count) await create(next++);
    const samples: number[] = [];
    for (let i = 0; i < SAMPLE_COUNT; i++) {
      const startMs = performance.now();
      await create(next++);
      samples.push(performance.now() - startMs);
    }
    medians.push(samples.sort((a, b) => a - b)[SAMPLE_COUNT / 2]!);
  }
  return medians;
}

/** A provider of its own, and how to create something there. */
async function startProvider() {
  const objects = await createObjects({ ManagementObject });
  const api = createManagementApi({
    namespace: objects.env.ManagementObject,
    accounts: [{ id: ACCOUNT_ID, name: 'First' }],
  });
  async function post(path: string, body: object): Promise<{ id: string }> {
    const init = { method: 'POST', body: JSON.stringify(body) };
    const response = await api.fetch(new Request(`https://api.example${path}`, init));
    const { result, errors } = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(errors));
    return result;
  }
  return { post, close: () => objects.close() };
}

/** The median costs of each kind of creation, and what the zones took. */
async function measured(counts: readonly number[]) {
  const { post, close } = await startProvider();
  const beforeBytes = process.memoryUsage().rss;
  const zone = await costs(counts, (i) => post('/zones', { name: `zone-${i}.example` }));
  const zonesMb = (process.memoryUsage().rss - beforeBytes) / MB;
  const { id } = await post('/zones', { name: 'records.example' });
  const records = `/zones/${id}/dns_records`;
  const content = '192.0.2.1';
  const named = await costs(counts, (i) => post(records, { type: 'A', name: `h${i}`, content }));
  const txt = { type: 'TXT', name: '@' };
  const alike = await costs(counts, (i) => post(records, { ...txt, content: `"${i}"` }));
  await close();
  const rows = { zone, 'record, each of its own name': named, 'record, all of one name': alike };
  return { rows, zonesMb };
}

// Runs once before, so that the engine has compiled what is measured.
await measured([1000]);
const { rows, zonesMb } = await measured(COUNTS);

const row = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(' | ')} |`);
row(['median of a creation, ms', ...COUNTS.map((count) => `beside ${count}`), 'ratio']);
row(['---', ...COUNTS.map(() => '---'), '---']);
for (const [name, medians] of Object.entries(rows)) {
  const ratio = medians.at(-1)! / medians[0]!;
  row([name, ...medians.map((ms) => ms.toFixed(2)), `${ratio.toFixed(2)} ×`]);
}
console.log(`\nMemory after ${COUNTS.at(-1)} zones: ${zonesMb.toFixed(0)} MB more.`);
