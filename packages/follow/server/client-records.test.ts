// Tests the stored records of clients: no row of their tables ends an instance, or makes a call run twice.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  DurableObjectStorage,
  SqlStorageValue,
} from '../../../src/shared/contract/storage.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import type { FollowedOutcome } from '../protocol/messages.ts';
import { ClientRecords } from './client-records.ts';

const DAMAGED = { identity: null, record: null };
const NEW = {
  ...{ started: 0, mark: null, last: 0, acked: 0 },
  ...{ attempts: 0, outcomeBytes: [] },
};

let records: ClientRecords;

class Recording extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    records = new ClientRecords(
      this.ctx.storage as unknown as DurableObjectStorage,
      () => (stored) => `mark of ${stored}`,
    );
  }
}

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost({}, { Recording });
});
afterEach(() => host.close());

const onServer = <T>(run: (storage: DurableObjectStorage) => T | Promise<T>) =>
  host.run(({ storage }) => run(storage as unknown as DurableObjectStorage));
const exec = (query: string, ...bindings: SqlStorageValue[]) =>
  onServer(({ sql }) => [...sql.exec(query, ...bindings).raw()]);
const value = (content: unknown): FollowedOutcome => ({ kind: 'value', value: content });
/** Adds a client whose calls up to `last` were answered, each with its number. */
const answered = (name: string, last: number, acked = 0) =>
  onServer(() => {
    records.add(name, 'ann');
    for (let n = acked + 1; n <= last; n++) {
      records.store(name, { ...NEW, started: n, last: n, acked }, value(n));
    }
  });
const outcomesAfter = (client: string, told: number) =>
  records.outcomes({ client, told, last: records.get(client)?.record?.last ?? 0 }).outcomes;
const sizesOf = (client: string) => records.get(client)?.record?.outcomeBytes ?? [];

describe('[FOLS5] outcomes that are read from storage', () => {
  test('are those of the calls after a number, with their sizes', async () => {
    await answered('a', 4);
    await answered('b', 1);
    await onServer(() => {
      records.store('a', { ...NEW, started: 4, last: 4, acked: 1 }, null);
      expect(outcomesAfter('a', 0)).toEqual([2, 3, 4].map((n) => [n, value(n)]));
      expect(outcomesAfter('a', 3)).toEqual([[4, value(4)]]);
      expect(outcomesAfter('a', 4)).toEqual([]);
      const bytes = serialize(value(2)).length;
      expect(sizesOf('a')).toEqual([bytes, bytes, bytes]);
      expect(outcomesAfter('nobody', 0)).toEqual([]);
      expect(sizesOf('nobody')).toEqual([]);
    });
  });

  test.each<[string, string, SqlStorageValue]>([
    ['is missing', 'DELETE FROM _follow_outcome WHERE n = 2 AND ?1 IS NULL', null],
    ['is empty', 'UPDATE _follow_outcome SET outcome = ? WHERE n = 2', new ArrayBuffer(0)],
    ['is no value', 'UPDATE _follow_outcome SET outcome = ? WHERE n = 2', bytes(255, 15, 99)],
    ['is a text', 'UPDATE _follow_outcome SET outcome = ? WHERE n = 2', 'text'],
    ['is another value', 'UPDATE _follow_outcome SET outcome = ? WHERE n = 2', stored([1])],
    ['is null', 'UPDATE _follow_outcome SET outcome = ? WHERE n = 2', stored(null)],
    [
      'is of another kind',
      'UPDATE _follow_outcome SET outcome = ? WHERE n = 2',
      stored({ kind: 'failed', code: 'X' }),
    ],
    [
      'is too large',
      'UPDATE _follow_outcome SET outcome = ? WHERE n = 2',
      stored(value('x'.repeat(1_100_000))),
    ],
    [
      'has a fraction as its number',
      'UPDATE _follow_outcome SET n = 2.5 WHERE n = 2 AND ?1 IS NULL',
      null,
    ],
  ])('leave out one that %s', async (_, damage, given) => {
    await answered('a', 3);
    await exec(damage, given);
    await onServer(() => {
      const others = [1, 3].map((n) => [n, value(n)]);
      expect(outcomesAfter('a', 0)).toEqual(others);
      expect(records.get('a')).toEqual({
        identity: 'ann',
        record: { ...NEW, started: 3, last: 3, outcomeBytes: expect.any(Array) },
      });
      expect(sizesOf('a')).toHaveLength(3);
    });
  });

  test('of calls that were not answered are ignored, and replaced by the answer', async () => {
    await answered('a', 1);
    for (const n of [-1, 0, 2, 'text', 1e300]) {
      await exec('INSERT INTO _follow_outcome VALUES (?, ?, ?)', 'a', n, stored(value('wrong')));
    }
    await onServer(() => {
      expect(outcomesAfter('a', 0)).toEqual([[1, value(1)]]);
      const outcomes = [[2, value('right')]] as const;
      records.store('a', { ...NEW, started: 2, last: 2, acked: 1 }, value('right'));
      expect(outcomesAfter('a', 0)).toEqual(outcomes);
    });
  });
});

describe('[FOLS5] a damaged record', () => {
  const NUMBERS = 'UPDATE _follow_client SET started = ?, last = ?, acked = ?, attempts = ?';
  test.each<[string, SqlStorageValue[]]>([
    ['is acknowledged beyond the last', [1, 1, 2, 0]],
    ['is answered beyond the begun', [0, 1, 0, 0]],
    ['has two calls begun', [3, 1, 1, 0]],
    ['has negative numbers', [-1, -1, -1, 0]],
    ['has negative attempts', [1, 1, 1, -1]],
    ['has a fraction', [1.5, 1, 1, 0]],
    ['has a huge number', [9e18, 9e18, 9e18, 0]],
    ['has a text', ['one', 1, 1, 0]],
    ['has bytes', [1, 1, bytes(1), 0]],
    ['has millions of unacknowledged calls', [9e6, 9e6, 0, 0]],
  ])('that %s belongs to nobody, and no call of it is known', async (_, numbers) => {
    await answered('a', 1);
    await exec(NUMBERS, ...numbers);
    await onServer(() => {
      expect(records.get('a')).toEqual(DAMAGED);
      expect(records.recordsWithUnansweredCall().size).toBe(0);
      expect(outcomesAfter('a', 0)).toEqual([]);
      expect(sizesOf('a')).toEqual([]);
    });
  });

  test('stays so after deleteAll, and the others are kept', async () => {
    await answered('a', 2);
    await answered('b', 2);
    await exec(`${NUMBERS} WHERE name = 'a'`, 1.5, 1, 1, 0);
    for (const unit of ['a080', 'a081']) {
      await exec(
        `INSERT INTO _follow_client VALUES (CAST(x'ed${unit}' AS TEXT), 'eve', 1, 0, 0, 0, NULL)`,
      );
    }
    await onServer(async (storage) => {
      await storage.deleteAll();
      expect(records.get('a')).toEqual(DAMAGED);
      expect(records.get('b')?.identity).toBe('mark of ann');
      expect(outcomesAfter('b', 0)).toEqual([]);
    });
    expect(await exec('SELECT name FROM _follow_client')).toEqual([['a'], ['b']]);
  });

  test('whose identity is not a text belongs to nobody', async () => {
    await answered('a', 1);
    await exec('UPDATE _follow_client SET identity = ?', bytes(97));
    expect(await onServer(() => records.get('a'))).toEqual(DAMAGED);
  });
});

test('[FOLS4] names that are not those of clients belong to nobody, and calls of such rows are skipped', async () => {
  await answered('a', 1);
  await exec("UPDATE _follow_client SET started = 2 WHERE name = 'a'");
  const row = 'INSERT INTO _follow_client VALUES (?, ?, 1, 0, 0, 0, NULL)';
  for (const name of ['', 'a b', 'x'.repeat(65), '\ud800', '\ufffd', bytes(97)]) {
    await exec(row, name, 'eve');
    if (typeof name !== 'string') continue;
    expect(await onServer(() => records.get(name))).toEqual(DAMAGED);
  }
  const unanswered = await onServer(() => records.recordsWithUnansweredCall());
  expect([...unanswered.keys()]).toEqual(['a']);
});

function bytes(...content: number[]): ArrayBuffer {
  return new Uint8Array(content).buffer;
}

function stored(content: unknown): ArrayBuffer {
  return serialize(content).slice().buffer;
}
