// Lets five unmodified versions of the real SDK do typical tasks in each interval of the schedule, and writes the
// outcomes as a table for matrix.md.

import Cloudflare7 from 'cloudflare';
import Cloudflare3 from 'cloudflare-3';
import Cloudflare4 from 'cloudflare-4';
import Cloudflare5 from 'cloudflare-5';
import Cloudflare6 from 'cloudflare-6';
import { type DateInterval, intervalsOf } from '../report/date-sweep.ts';
import { NoMethod, TASKS } from './client-tasks.ts';
import { ACCOUNT_ID, startProvider } from './provider.ts';

/** The five versions have the types of the newest one. A method that an older version lacks is reported as missing. */
const SDKS = Object.entries({
  '3.5.0': Cloudflare3,
  '4.5.0': Cloudflare4,
  '5.2.0': Cloudflare5,
  '6.5.0': Cloudflare6,
  '7.3.0': Cloudflare7,
}) as unknown as [version: string, Sdk: typeof Cloudflare7][];

/** The reason why a task failed in an interval; null if it succeeded. */
type Result = { readonly failure: string } | null;

/** Returns the cells of the table by the name of the task, with one cell for each version. */
export async function clientMatrix(): Promise<ReadonlyMap<string, readonly string[]>> {
  const provider = await startProvider();
  const rows = new Map<string, string[]>();
  const intervals = intervalsOf();
  for (const [version, Sdk] of SDKS) {
    const results = new Map<string, Result[]>();
    for (const { at } of intervals) {
      provider.clock.nowMs = Date.parse(at);
      const zone = await provider.newZone();
      const client = new Sdk({
        apiToken: 'any',
        baseURL: provider.baseUrl,
        fetch: provider.sdkFetch as typeof fetch,
        maxRetries: 0,
      });
      const context = {
        client,
        major: Number.parseInt(version, 10),
        zoneId: zone.id,
        zoneName: zone.name,
        accountId: ACCOUNT_ID,
      };
      for (const [name, task] of Object.entries(TASKS)) {
        const result = await task(context).then(() => null, failureOf);
        results.set(name, [...(results.get(name) ?? []), result]);
      }
    }
    for (const [name, seen] of results) {
      rows.set(name, [...(rows.get(name) ?? []), describeOutcomes(intervals, seen)]);
    }
  }
  await provider.close();
  return rows;
}

/** Writes a row for each task: the outcome of the newest version, and those of the versions that differ. */
export function matrixTable(rows: ReadonlyMap<string, readonly string[]>): string {
  const versions = SDKS.map(([version]) => version);
  return [
    `task | ${versions.join(', ')}`,
    '---|---',
    ...[...rows].map(([name, cells]) => {
      const common = cells.at(-1)!;
      const others = versions.flatMap((version, i) =>
        cells[i] === common ? [] : [`${version}: ${cells[i]}`],
      );
      return `${name} | ${[common, ...others].join('; ')}`;
    }),
  ].join('\n');
}

function failureOf(error: { status?: number; message?: string; errors?: { code?: number }[] }) {
  if (error instanceof NoMethod) return { failure: 'no method' };
  return { failure: error.status === undefined ? String(error.message) : `${error.status}` };
}

/** Describes when a task works, in as few words as possible. */
function describeOutcomes(intervals: readonly DateInterval[], seen: readonly Result[]): string {
  const parts: string[] = [];
  for (const [index, result] of seen.entries()) {
    const before = index === 0 ? undefined : seen[index - 1];
    if (index > 0 && before?.failure === result?.failure) continue;
    const { from } = intervals[index]!;
    const what = result === null ? 'yes' : result.failure;
    parts.push(from === undefined ? what : `from ${from}: ${what}`);
  }
  return parts.join(', ');
}
