// The cost of a creation in the emulated provider as zones and records grow in number, as a table.
//
// Creations with few and with many records take turns, so that other load affects both. The remaining
// noise hits single creations, so the fastest tenth counts and not the median.

import { createManagementApi } from '../../packages/management/edge/api.ts';
import { ManagementObject } from '../../packages/management/objects/management-object.ts';
import { createObjects } from '../../worker/start/entries/node-objects.ts';

const COUNTS = [100, 10_000];
const SAMPLE_COUNT = 500;
const ACCOUNT_ID = 'a'.repeat(32);
const MB = 1_000_000;

/** Creates the item of that number. */
type Create = (index: number) => Promise<unknown>;

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

/** Milliseconds that a tenth of the creations stay below, beside as many others as each count says. */
async function tenths(creates: readonly Create[]): Promise<number[]> {
  for (const [turn, count] of COUNTS.entries()) {
    for (let i = 0; i < count; i++) await creates[turn]!(i);
  }
  const samples: number[][] = COUNTS.map(() => []);
  for (let i = 0; i < SAMPLE_COUNT; i++) {
    for (const [turn, count] of COUNTS.entries()) {
      const startMs = performance.now();
      await creates[turn]!(count + i);
      samples[turn]!.push(performance.now() - startMs);
    }
  }
  return samples.map((times) => times.sort((a, b) => a - b)[SAMPLE_COUNT / 10]!);
}

function row(cells: readonly (string | number)[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}

function printRow(name: string, costsMs: readonly number[]): void {
  const ratio = costsMs.at(-1)! / costsMs[0]!;
  row([name, ...costsMs.map((ms) => ms.toFixed(2)), `${ratio.toFixed(2)} ×`]);
}

row(['a creation, ms, fastest tenth', ...COUNTS.map((count) => `beside ${count}`), 'ratio']);
row(['---', ...COUNTS.map(() => '---'), '---']);

const beforeBytes = process.memoryUsage().rss;
const providers = await Promise.all(COUNTS.map(startProvider));
printRow(
  'zone',
  await tenths(
    providers.map(
      ({ post }) =>
        (i) =>
          post('/zones', { name: `z${i}.example` }),
    ),
  ),
);
const zonesMb = (process.memoryUsage().rss - beforeBytes) / MB;

const paths = await Promise.all(
  providers.map(async ({ post }) => {
    const { id } = await post('/zones', { name: 'records.example' });
    return `/zones/${id}/dns_records`;
  }),
);
const creating = (form: (index: number) => object): Create[] =>
  providers.map(
    ({ post }, turn) =>
      (i) =>
        post(paths[turn]!, form(i)),
  );
const content = '192.0.2.1';
printRow(
  'record, each of its own name',
  await tenths(creating((i) => ({ type: 'A', name: `h${i}`, content }))),
);
printRow(
  'record, all of one name',
  await tenths(creating((i) => ({ type: 'TXT', name: '@', content: `"${i}"` }))),
);
await Promise.all(providers.map(({ close }) => close()));
console.log(`\nMemory of the process, after the zones: ${zonesMb.toFixed(0)} MB more.`);
