// Reads the newest commits of the object that a torture calls, each at its own moment: a call is in one commit, whole, which
// has calls of its own method only.

import type { StorageCommit, StorageHandle } from '../../../src/shared/contract/storage.ts';

/** The alarm after n calls is n milliseconds later. */
export const NEVER_MS = 4_000_000_000_000;

/** The number of commits, around the last faults, that an audit examines. */
const COMMITS = 200;

/** The counts at a commit, which are equal. */
export interface CommitState {
  readonly method: string | undefined;
  readonly kind: string | undefined;
  readonly rows: number;
  readonly copies: number;
  readonly count: number;
  readonly alarm: number;
  /** The methods of all copies that were added after the previous commit; null if unknown. */
  readonly added: readonly string[] | null;
}

/** The faults of the newest commits, in words. */
export async function tornCommits(handle: StorageHandle): Promise<string[]> {
  const commits = (await handle.history({ limit: COMMITS })).reverse();
  const faults: string[] = [];
  let before: number | null = null;
  for (const commit of commits) {
    const state = await stateAt(handle, commit, before);
    before = state.copies;
    faults.push(...faultsOf(state));
  }
  return faults;
}

export function faultsOf(state: CommitState): string[] {
  const { method, kind, rows, copies, count, alarm, added } = state;
  const name = `the commit of ${method ?? kind ?? 'nobody'}`;
  const numbers = [rows, copies, count, alarm];
  const isTorn = numbers.some((number) => number !== rows);
  const foreign = (added ?? []).filter((other) => other !== method);
  return [
    ...(isTorn
      ? [`${name} has ${rows} rows, ${copies} copies, ${count} calls, alarm ${alarm}`]
      : []),
    ...(foreign.length > 0 ? [`${name} has a call of ${foreign[0]}`] : []),
  ];
}

async function stateAt(
  handle: StorageHandle,
  { bookmark, by }: StorageCommit,
  before: number | null,
): Promise<CommitState> {
  const moment = await handle.at(bookmark);
  try {
    const tables = "SELECT name FROM sqlite_master WHERE name IN ('calls', 'copies')";
    const names = (await moment.sql.exec<{ name: string }>(tables).toArray()).map(
      ({ name }) => name,
    );
    const countOf = async (table: string) => {
      if (!names.includes(table)) return 0;
      return (await moment.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one()).n;
    };
    const [rows, copies] = [await countOf('calls'), await countOf('copies')];
    const query = 'SELECT method FROM copies WHERE n > ?';
    const added =
      before === null || copies <= before
        ? null
        : await moment.sql.exec<{ method: string }>(query, before).toArray();
    const alarm = await moment.getAlarm();
    return {
      method: by?.method,
      kind: by?.kind,
      rows,
      copies,
      count: (await moment.get<number>('count')) ?? 0,
      alarm: alarm === null ? 0 : alarm - NEVER_MS,
      added: added === null ? null : added.map(({ method }) => method),
    };
  } finally {
    await moment.close();
  }
}
