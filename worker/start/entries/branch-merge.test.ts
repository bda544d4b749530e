// Tests how branches are compared with their origin and merged into it.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withSignal } from '../../../src/shared/calls/stubs/with-signal.ts';
import type { ConflictError, StorageChange } from '../../../src/shared/contract/changes.ts';
import type { StorageBranch, StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects } from './node-objects.ts';

class Box extends DurableObject {
  alarm() {}
  restart() {
    this.ctx.abort('restart');
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
const boxOf = (name: string) => objects.env.Box.getByName(name);
const rowsOf = (handle: StorageHandle, sql: string) => handle.sql.exec(sql).raw().toArray();

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(boxOf('one'));
});
afterEach(() => objects.close());

async function run(handle: StorageHandle, ...statements: string[]): Promise<void> {
  for (const sql of statements) await handle.sql.exec(sql).ready;
}

async function changesOf(changes: AsyncIterable<StorageChange>): Promise<StorageChange[]> {
  const found: StorageChange[] = [];
  for await (const change of changes) found.push(change);
  return found;
}

/** Awaits a merge that must be refused and returns its error. */
async function refusal(merge: Promise<unknown>): Promise<ConflictError> {
  const error = await merge.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toMatchObject({ code: 'CONFLICT' });
  return error;
}

test('[MERGE3] what a branch has changed is made on the object, as one commit, and what the object changed stays', async () => {
  await run(
    storage,
    'CREATE TABLE t (id INTEGER PRIMARY KEY, v)',
    'INSERT INTO t VALUES (1, 1), (2, 2)',
  );
  await storage.put({ a: 1, b: 1 });
  const branch = await storage.fork();
  await branch.put('a', 'branch');
  await run(
    branch,
    'UPDATE t SET v = 10 WHERE id = 1',
    'CREATE TABLE u (x)',
    "INSERT INTO u VALUES ('u')",
  );
  await branch.setAlarm(4_000_000_000_000);
  await storage.put('b', 'object');
  await run(storage, 'UPDATE t SET v = 20 WHERE id = 2');
  const before = await storage.getCurrentBookmark();
  const count = (await storage.history({ limit: 1000 })).length;
  const made = await storage.merge(branch);
  const [newest, ...rest] = await storage.history({ limit: 1000 });
  expect([newest?.bookmark, rest.length]).toEqual([made, count]);
  expect([...(await storage.list())]).toEqual([
    ['a', 'branch'],
    ['b', 'object'],
  ]);
  expect(await rowsOf(storage, 'SELECT * FROM t UNION ALL SELECT 0, x FROM u')).toEqual([
    [1, 10],
    [2, 20],
    [0, 'u'],
  ]);
  expect(await storage.getAlarm()).toBe(4_000_000_000_000);
  // The branch stays usable, and a second merge makes only its later changes.
  expect(await branch.get('b')).toBe(1);
  expect(await storage.merge(branch)).toBeNull();
  expect(await storage.getCurrentBookmark()).toBe(made);
  await branch.put('c', 3);
  await storage.merge(branch);
  expect(await storage.get('c')).toBe(3);
  await storage.restore(before);
  expect(await storage.get('a')).toBe(1);
});

test('[MERGE4] what both have changed is CONFLICT with all of it, and nothing is changed; onConflict decides it', async () => {
  await run(storage, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)', 'INSERT INTO t VALUES (1, 1)');
  await storage.put({ key: 'base', other: 'base' });
  const branch = await storage.fork();
  for (const [i, handle] of [branch, storage].entries()) {
    await handle.put('key', i);
    await handle.setAlarm(4_000_000_000_000 + i);
    await run(handle, `UPDATE t SET v = 'is ${i}'`, `CREATE TABLE s (c${i})`);
  }
  await branch.put('other', 'branch');
  const before = await storage.getCurrentBookmark();
  const { conflicts, message } = await refusal(storage.merge(branch));
  expect(message).toContain('4 of the changes');
  expect(conflicts.map(({ reason, change: { kind }, now }) => [kind, reason, now])).toEqual([
    ['schema', 'changed', undefined],
    ['key', 'changed', 1],
    ['row', 'changed', { id: 1, v: 'is 1' }],
    ['alarm', 'changed', 4_000_000_000_001],
  ]);
  expect(await storage.getCurrentBookmark()).toBe(before);

  const asked: unknown[] = [];
  await storage.merge(branch, {
    async onConflict({ change }) {
      asked.push(change.kind);
      // The branch changes while the page decides; the merge uses the state that it had at the call.
      await branch.put('later', 1);
      return change.kind === 'row' ? 'theirs' : 'ours';
    },
  });
  expect(asked).toEqual(['schema', 'key', 'row', 'alarm']);
  expect(await rowsOf(storage, 'SELECT v FROM t')).toEqual([['is 0']]);
  expect([...(await storage.list())]).toEqual([
    ['key', 1],
    ['other', 'branch'],
  ]);
  await storage.restore(before);
  await storage.merge(branch, { onConflict: 'theirs' });
  expect(await changesOf(storage.diff(branch))).toEqual([]);
});

test('[MERGE7] a merge whose onConflict never settles ends with its signal, and with its handle', async () => {
  await storage.put('key', 0);
  const branch = await storage.fork();
  await branch.put('key', 1);
  await storage.put('key', 2);
  /** Returns options of a merge whose first decision ends the branch by `end` and is never made. */
  const neverBut = (end: () => void) => ({
    onConflict: () => {
      setTimeout(end);
      return new Promise<never>(() => {});
    },
  });
  const controller = new AbortController();
  const cancelled = withSignal(storage, controller.signal).merge(
    branch,
    neverBut(() => controller.abort('enough')),
  );
  await expect(cancelled).rejects.toBe('enough');
  const closed = storage.merge(
    branch,
    neverBut(() => void storage.close()),
  );
  await expect(closed).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
});

test('[MERGE5] a branch of a moment and a kept one, with all that was merged into it, are merged after a restart', async () => {
  await storage.put('a', 1);
  const then = await storage.getCurrentBookmark();
  await storage.put('a', 2);
  const old = await storage.fork({ at: then });
  await old.put('b', 'of a moment');
  const kept = await storage.fork({ name: 'draft', keep: true });
  const inner = await kept.fork();
  await inner.put('c', 'of a branch');
  await kept.merge(inner);
  expect((await storage.list()).has('c')).toBe(false);
  await boxOf('one')
    .restart()
    .catch(() => {});
  const again = await objects.storage(boxOf('one'));
  await again.merge(await again.openBranch('draft'));
  await storage.merge(old);
  expect([...(await again.list())]).toEqual([
    ['a', 2],
    ['b', 'of a moment'],
    ['c', 'of a branch'],
  ]);
});

test('[MERGE5] the branch of a forked object is merged', async () => {
  const fork = await objects.storage(await objects.fork(boxOf('one')));
  await fork.put('a', 'of a class');
  await storage.merge(fork as StorageBranch);
  expect(await storage.get('a')).toBe('of a class');
});

test('[MERGE5] only a branch of the object is merged, outside of transactions and until it ends', async () => {
  const branch = await storage.fork();
  await branch.put('a', 1);
  const inner = await branch.fork();
  const other = await branch.fork();
  const two = await objects.storage(boxOf('two'));
  const refused: [() => Promise<unknown>, string][] = [
    [() => storage.merge(inner), 'INVALID_ARGUMENT'],
    [() => other.merge(inner), 'INVALID_ARGUMENT'],
    [() => two.merge(branch), 'INVALID_ARGUMENT'],
    [() => storage.merge(storage as StorageBranch), 'INVALID_ARGUMENT'],
    // @ts-expect-error no decision
    [() => storage.merge(branch, { onConflict: 'mine' }), 'INVALID_ARGUMENT'],
    [() => storage.transaction(() => storage.merge(branch)), 'TRANSACTION_NESTING'],
    [() => branch.transaction(() => storage.merge(branch)), 'TRANSACTION_NESTING'],
    [async () => changesOf(storage.diff(inner)), 'INVALID_ARGUMENT'],
  ];
  for (const [call, code] of refused) await expect(call()).rejects.toMatchObject({ code });
  await branch.close();
  await expect(storage.merge(branch)).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  await expect(changesOf(storage.diff(branch))).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  expect([...(await storage.list()), ...(await two.list())]).toEqual([]);
});

test('[DIFF9] a branch is compared with its beginning, with its origin, with a moment of that, and with another branch', async () => {
  await storage.put({ a: 0, b: 0, c: 0 });
  const branch = await storage.fork();
  const other = await storage.fork();
  await branch.put('a', 'branch');
  await storage.put('b', 'object');
  await other.put('c', 'other');
  const told = async (changes: AsyncIterable<StorageChange>) =>
    (await changesOf(changes)).map((change) =>
      change.kind === 'key' ? [change.key, change.before, change.after] : change.kind,
    );
  expect(await told(branch.diff())).toEqual([['a', 0, 'branch']]);
  expect(await told(storage.diff(branch.forkedAt, branch))).toEqual([['a', 0, 'branch']]);
  expect(await told(storage.diff(branch))).toEqual([
    ['a', 'branch', 0],
    ['b', 0, 'object'],
  ]);
  const now = await storage.getCurrentBookmark();
  expect(await told(storage.diff(now, branch))).toEqual([
    ['a', 0, 'branch'],
    ['b', 'object', 0],
  ]);
  expect(await told(storage.diff(branch, other))).toEqual([
    ['a', 'branch', 0],
    ['c', 0, 'other'],
  ]);
  const then = await branch.getCurrentBookmark();
  await branch.put('d', 1);
  expect(await told(branch.diff(then))).toEqual([['d', undefined, 1]]);
  expect(await branch.diff(undefined, then).count()).toMatchObject({
    keys: { changed: 1, added: 0 },
  });
  // @ts-expect-error the object has no beginning
  await expect(changesOf(storage.diff())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('[MERGE3] keys are merged into an object that has deleted everything', async () => {
  await storage.put({ a: 1, b: 1 });
  const branch = await storage.fork();
  await branch.put({ b: 2, c: 2 });
  await storage.deleteAll();
  const { conflicts } = await refusal(storage.merge(branch));
  expect(conflicts).toEqual([
    { reason: 'changed', change: { kind: 'key', key: 'b', before: 1, after: 2 }, now: undefined },
  ]);
  await storage.merge(branch, { onConflict: 'ours' });
  expect([...(await storage.list())]).toEqual([['c', 2]]);
});

test('[MERGE3] a branch that has deleted everything removes what it had, and keeps what the object has added', async () => {
  await run(storage, 'CREATE TABLE old (x)');
  await storage.put({ a: 1, b: 1 });
  const branch = await storage.fork();
  await branch.deleteAll();
  await storage.put('c', 1);
  await run(storage, 'CREATE TABLE own (x)');
  await storage.merge(branch);
  expect([...(await storage.list())]).toEqual([['c', 1]]);
  const names = "SELECT name FROM sqlite_schema WHERE name IN ('old', 'own')";
  expect(await rowsOf(storage, names)).toEqual([['own']]);
});

const KEYS = ['a', 'b', 'c', 'd'];
const write = fc.record({
  who: fc.constantFrom('branch', 'branch', 'object'),
  kind: fc.constantFrom(
    'key',
    'key',
    'gone',
    'row',
    'row',
    'text',
    'loose',
    'cut',
    'alarm',
    'table',
  ),
  n: fc.nat(11),
  value: fc.nat(4),
  size: fc.constantFrom(0, 30, 3000, 9000),
});
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never;

const keyBy = (who: Write['who'], n: number, value: number): Write => {
  return { who, kind: 'key', n, value, size: 30 };
};
const rowBy = (who: Write['who'], n: number, value: number): Write => {
  return { ...keyBy(who, n, value), kind: 'row' };
};

async function perform(handle: StorageHandle, { kind, n, value, size }: Write): Promise<void> {
  const text = `'${value}' || printf('%.*c', ${size}, 'x')`;
  if (kind === 'key') await handle.put(KEYS[n % 4]!, 'v'.repeat(size) + value);
  else if (kind === 'gone') await handle.delete(KEYS[n % 4]!);
  else if (kind === 'alarm') await handle.setAlarm(4_000_000_000_000 + value);
  else if (kind === 'row') await run(handle, `INSERT OR REPLACE INTO a VALUES (${n}, ${text})`);
  else if (kind === 'text')
    await run(handle, `INSERT OR REPLACE INTO b VALUES ('k${n}', ${text}, ${value + 10 * n})`);
  else if (kind === 'loose')
    await run(handle, `INSERT OR REPLACE INTO c(rowid, x) VALUES (${n}, ${text})`);
  else if (kind === 'table')
    await run(handle, `CREATE TABLE IF NOT EXISTS t${n % 3} (x DEFAULT ${value})`);
  else await run(handle, `DELETE FROM a WHERE id % 3 = ${value % 3}`);
}

/** Returns the key or the row that a write writes to. */
function placeOf({ kind, n }: Write): string {
  if (kind === 'key' || kind === 'gone') return `key ${n % 4}`;
  if (kind === 'table') return `table ${n % 3}`;
  return kind === 'alarm' ? kind : `${kind} ${n}`;
}

/** Returns the key or the row that a change names. */
function nameOf(change: StorageChange): string {
  if (change.kind === 'key') return `key ${change.key}`;
  if (change.kind === 'row') return `row ${change.table} ${JSON.stringify(change.key)}`;
  return change.kind === 'schema' ? `schema ${change.name}` : change.kind;
}

async function named(changes: AsyncIterable<StorageChange>) {
  return new Map((await changesOf(changes)).map((change) => [nameOf(change), change]));
}

function sidesOf(change: StorageChange | undefined): unknown {
  if (change === undefined || change.kind === 'table') return change?.kind;
  return [change.before, change.after];
}

let boxes = 0;

test('[MERGE6] a merge makes what the branch alone has changed, as its writes would have; then only what the object changed differs', {
  tags: 'long',
}, async () => {
  const seen = { merged: 0, conflicts: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 14 }), async (writes) => {
      const name = `box ${++boxes}`;
      const object = await objects.storage(boxOf(name));
      const twin = await objects.storage(boxOf(`twin of ${name}`));
      for (const handle of [object, twin]) {
        await run(
          handle,
          'CREATE TABLE a (id INTEGER PRIMARY KEY, t)',
          'CREATE TABLE b (k TEXT PRIMARY KEY, t, u UNIQUE) WITHOUT ROWID',
          'CREATE TABLE c (x)',
          "INSERT INTO a VALUES (1, 'one'), (2, 'two')",
        );
        await handle.put({ a: 'base', b: 'base' });
      }
      const branch = await object.fork();
      for (const one of writes) await perform(one.who === 'branch' ? branch : object, one);
      const [ours, theirs] = [
        await named(object.diff(branch.forkedAt)),
        await named(branch.diff()),
      ];
      const both = [...theirs.keys()].filter(
        (key) =>
          ours.has(key) &&
          JSON.stringify(sidesOf(ours.get(key))) !== JSON.stringify(sidesOf(theirs.get(key))),
      );
      const before = await object.getCurrentBookmark();
      const merged = await object.merge(branch).catch((error) => error);
      if (merged instanceof Error) {
        expect(merged).toMatchObject({ code: 'CONFLICT' });
        const conflicts = (merged as ConflictError).conflicts;
        const reasons = new Set(conflicts.map(({ reason }) => reason));
        if (!reasons.has('constraint')) {
          expect(conflicts.map(({ change }) => nameOf(change)).sort()).toEqual(both.sort());
        }
        expect(await object.getCurrentBookmark()).toBe(before);
        seen.conflicts++;
        await object
          .merge(branch, { onConflict: 'ours' })
          .catch((error) => expect(error).toMatchObject({ code: 'CONFLICT' }));
      } else {
        seen.merged++;
        expect(both).toEqual([]);
        // The difference consists of the object's own changes alone.
        const expected = [...ours.keys()].filter((key) => !theirs.has(key));
        const found = await named(object.diff(branch));
        expect([...found.keys()].sort()).toEqual(expected.sort());
        for (const key of expected) expect(sidesOf(found.get(key))).toEqual(sidesOf(ours.get(key)));
        // A merge must equal the writes of the object, followed by those of the branch.
        for (const who of ['object', 'branch']) {
          for (const one of writes) if (one.who === who) await perform(twin, one);
        }
        const contents = async (handle: StorageHandle) => [
          [...(await handle.list())],
          await handle.getAlarm(),
          await rowsOf(
            handle,
            "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '%cf%' ORDER BY name",
          ),
          await rowsOf(handle, 'SELECT * FROM a'),
          await rowsOf(handle, 'SELECT * FROM b'),
          await rowsOf(handle, 'SELECT rowid, * FROM c'),
        ];
        // If the branch undid one of its own writes, the twin would undo the object's write to that place, and a merge
        // would not. So the two are compared only if the object and the branch wrote to different places.
        const written = (who: string) => writes.filter((one) => one.who === who).map(placeOf);
        const isApart = !written('branch').some((place) => written('object').includes(place));
        if (isApart && !writes.some(({ kind }) => kind === 'cut' || kind === 'text')) {
          expect(await contents(object)).toEqual(await contents(twin));
        }
      }
      expect(await rowsOf(object, 'PRAGMA quick_check')).toEqual([['ok']]);
      await branch.close();
    }),
    {
      numRuns: 24,
      examples: [
        // Two of these cases merge and two conflict, whatever the seed draws.
        [[keyBy('branch', 0, 1), keyBy('object', 1, 2)]],
        [[keyBy('branch', 0, 1), rowBy('branch', 3, 1), rowBy('object', 4, 2)]],
        [[keyBy('branch', 0, 1), keyBy('object', 0, 2)]],
        [[rowBy('branch', 3, 1), rowBy('object', 3, 2), keyBy('object', 1, 2)]],
      ],
    },
  );
  expect(seen.merged).toBeGreaterThan(1);
  expect(seen.conflicts).toBeGreaterThan(1);
});

test('[DIFF7] a walk over the differences of a branch goes on where it was, when both are reset and have changed', {
  tags: 'long',
}, async () => {
  for (let i = 0; i < 1200; i++)
    await storage.put(`k${i}`.padStart(6, '0'), 0, { allowUnconfirmed: true });
  const branch = await storage.fork({ name: 'draft', keep: true });
  const entries = Object.fromEntries(
    Array.from({ length: 1200 }, (_, i) => [`n${i}`.padStart(6, '0'), i]),
  );
  await branch.kv.putMany(Object.entries(entries));
  for (const [i, walk] of [branch.diff(), storage.diff(branch.forkedAt, branch)].entries()) {
    const found: StorageChange[] = [];
    for await (const change of walk) {
      if (found.length === 300) {
        await boxOf('one')
          .restart()
          .catch(() => {});
        await storage.put('of the object', 1);
        const key = `k later ${i}`;
        await branch.put(key, 1).catch(() => branch.put(key, 1));
      }
      found.push(change);
    }
    const keys = found.map((change) => (change.kind === 'key' ? change.key : change.kind));
    const later = i === 0 ? [] : ['k later 0']; // was written before the second walk began
    expect(keys).toEqual([...Object.keys(entries).sort(), ...later]);
  }
});

const disturbances = {
  merge: (object: StorageHandle, branch: StorageBranch) => object.merge(branch),
  restore: async (object: StorageHandle) => object.restore(await object.getCurrentBookmark()),
  import: async (object: StorageHandle) => object.importDatabase(await object.exportDatabase()),
  abort: (object: StorageHandle) => object.abort(),
  delete: (object: StorageHandle) => objects.deleteObject(boxOf(object.name)),
  'end of the branch': (_: StorageHandle, branch: StorageBranch) => branch.close(),
} as const;

test.each(Object.keys(disturbances) as (keyof typeof disturbances)[])(
  '[MERGE7] a merge is made whole or not at all, whenever it meets: %s',
  async (kind) => {
    for (let turns = 0; turns < 5; turns++) {
      const name = `${kind} ${turns}`;
      const object = await objects.storage(boxOf(name));
      await object.put('a', 'base');
      const branch = await object.fork();
      const values = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`b${i}`, i]));
      await branch.put(values);
      const merging = object.merge(branch).then(
        () => 'made',
        (error) => error.code,
      );
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      // The others may reset the object during this call.
      await disturbances[kind](object, branch).then(undefined, (error: unknown) =>
        expect(error).toMatchObject({ code: 'OBJECT_RESET' }),
      );
      const outcome = await merging;
      expect(['made', 'OBJECT_RESET', 'BRANCH_ENDED', 'CONNECTION_CLOSED']).toContain(outcome);
      const count = (await object.list({ prefix: 'b' })).size;
      expect([0, 20]).toContain(count);
      if (outcome === 'made' && kind !== 'delete' && kind !== 'restore' && kind !== 'import') {
        expect(count).toBe(20);
      }
      if (kind === 'merge') {
        expect(count).toBe(20);
        // The second merge found nothing to do, so there are only two commits.
        expect((await object.history({ limit: 10 })).length).toBe(2);
      }
      await object.close();
    }
  },
);
