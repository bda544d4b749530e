// Reads each commit of a ledger at its own moment, and checks that all writes of an event are in one commit, and that a
// commit has writes of one author only.
//
// Invariant: a commit is read together with the one before it, so that its own entries are known.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type {
  CommitAuthor,
  StorageCommit,
  StorageHandle,
} from '../../../src/shared/contract/storage.ts';
import { SimulationFailure } from './history.ts';

/** The number of rows, or of keys with the same value, that an operation of a tab writes at once. */
export const ROWS_PER_TAB_WRITE = 3;
export const KEYS_PER_TAB_WRITE = ['page a', 'page b'];

/** The largest number of commits that are read at one rest, the newest ones. */
const COMMITS_MAX = 200;

type Moment = Awaited<ReturnType<StorageHandle['at']>>;

/** The entries in one state of the ledger. */
interface Entries {
  readonly n: number;
  /** The last row that a tab has written. */
  readonly pageRow: number;
  readonly alarmMs: number | null;
}

const NOTHING: Entries = { n: 0, pageRow: 0, alarmMs: null };

export function textOf(by: CommitAuthor | undefined): string {
  if (by === undefined) return 'nobody';
  return [by.kind, by.method, by.connection, by.label].filter(Boolean).join(' ');
}

export class LedgerCheck {
  /** The entries of the commits that were read, by object and bookmark. */
  readonly #read = new Map<string, Entries>();

  /** Returns how many commits were read. */
  get count(): number {
    return this.#read.size;
  }

  /** Checks the new commits of an object. @throws SimulationFailure; the errors of reading */
  async check(object: string, handle: StorageHandle): Promise<void> {
    const commits = (await handle.history({ limit: COMMITS_MAX })).reverse();
    let before: Entries | undefined;
    for (const [i, commit] of commits.entries()) {
      const key = `${object} ${commit.bookmark}`;
      const known = this.#read.get(key);
      const entries = known ?? (await this.#entriesAt(handle, commit, before));
      if (entries === null) continue; // the state was pruned
      if (i === 0 && commits.length < COMMITS_MAX) before = NOTHING;
      this.#read.set(key, entries);
      before = entries;
    }
  }

  async #entriesAt(
    handle: StorageHandle,
    commit: StorageCommit,
    before: Entries | undefined,
  ): Promise<Entries | null> {
    const moment = await handle.at(commit.bookmark).catch((error: unknown) => {
      if (isStorageError(error) && error.code === 'BOOKMARK_UNAVAILABLE') return null;
      throw error;
    });
    if (moment === null) return null;
    try {
      return await entriesIn(moment, commit, before);
    } finally {
      await moment.close();
    }
  }
}

async function entriesIn(
  moment: Moment,
  commit: StorageCommit,
  before: Entries | undefined,
): Promise<Entries> {
  const fail = (fact: string): never => {
    throw new SimulationFailure(`the commit of ${textOf(commit.by)}: ${fact}`);
  };
  const tables = await moment.sql
    .exec<{ count: number }>("SELECT count(*) AS count FROM sqlite_master WHERE type = 'table'")
    .toArray();
  if (tables[0]!.count === 0) return NOTHING;
  const { n, second, told, who, alarm, torn, pageRow } = await moment.sql
    .exec<Record<string, number | string | null>>(
      `SELECT coalesce(max(n), 0) AS n, count(*) AS count, (SELECT count(*) FROM second) AS second,
         (SELECT count(*) FROM told) AS told, who, alarm,
         (SELECT id FROM page GROUP BY id HAVING count(*) <> ${ROWS_PER_TAB_WRITE}) AS torn,
         (SELECT coalesce(max(rowid), 0) FROM page) AS pageRow
       FROM entry`,
    )
    .one();
  const keys = await moment.list<unknown>();
  const key = keys.get('n') ?? 0;
  const alarmMs = await moment.getAlarm();
  if (key !== n || second !== n || told !== n) {
    fail(`${n} entries, the key ${key}, ${second} and ${told} rows`);
  }
  const named = [...keys.keys()].filter((name) => name.startsWith('entry '));
  if (named.join() !== (n === 0 ? '' : `entry ${n}`) || (n !== 0 && keys.get(named[0]!) !== who)) {
    fail(`the keys ${named.join()} of ${n} entries`);
  }
  if (torn !== null) fail(`the operation ${torn} of a page has some of its rows`);
  const [a, b] = KEYS_PER_TAB_WRITE.map((name) => keys.get(name));
  if (a !== b) fail(`the keys of a page are ${String(a)} and ${String(b)}`);
  const entries = { n: n as number, pageRow: pageRow as number, alarmMs };
  const isBack = commit.isRestore || commit.by?.kind === 'revert';
  // A restored alarm whose time has passed is due at once.
  if (
    isBack ? (alarmMs ?? 0) < Number(alarm) : before && entries.n > before.n && alarmMs !== alarm
  ) {
    fail(`the alarm ${alarmMs} of an entry with ${alarm}`);
  }
  if (before === undefined || isBack) return entries; // restored entries keep their authors
  if (n === before.n && alarmMs !== before.alarmMs) {
    fail(`the alarm ${alarmMs} without an entry, after ${before.alarmMs}`);
  }
  const others = await moment.sql
    .exec<{ who: string }>(
      'SELECT who FROM entry WHERE n > ?1 UNION SELECT who FROM page WHERE rowid > ?2',
      before.n,
      before.pageRow,
    )
    .toArray();
  const own = textOf(commit.by);
  const foreign = others.find(({ who }) => who !== own);
  if (foreign !== undefined) fail(`it has writes of ${foreign.who}`);
  return entries;
}
