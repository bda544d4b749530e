// Tests the stored records of clients: no row of their tables ends an instance, or makes a call run twice.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  DurableObjectStorage,
  SqlStorageValue,
} from '../../../src/shared/contract/storage.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { FOLLOW_PROTOCOLS, type FollowedOutcome } from '../protocol/messages.ts';
import { ClientRecords } from './client-records.ts';

const DAMAGED = { identity: null, record: null };
const NEW = {
  ...{ started: 0, mark: null, last: 0, acked: 0 },
  ...{ attempts: 0, outcomeBytes: [] },
};

/** What a client says that has never had an answer. */
const NEWCOMER = { position: null, copy: null, ack: 0 };

let records: ClientRecords;
let nowMs = 0;

class Recording extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    records = new ClientRecords(
      this.ctx.storage as unknown as DurableObjectStorage,
      () => nowMs,
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
/** Lets a new client of ann in, who may have this many. */
const admit = (client: string, clientsMax = 1000, inUse: string[] = [], more: object = {}) => {
  const hello = {
    kind: 'hello',
    protocol: FOLLOW_PROTOCOLS,
    client,
    ...NEWCOMER,
    ...more,
  } as const;
  return records.admit(hello, 'ann', clientsMax, inUse);
};
/** Adds a client whose calls up to `last` were answered, each with its number. */
const answered = (name: string, last: number, acked = 0) =>
  onServer(() => {
    admit(name);
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
        `INSERT INTO _follow_client VALUES (CAST(x'ed${unit}' AS TEXT), 'eve', 1, 0, 0, 0, NULL, NULL)`,
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
  const row = 'INSERT INTO _follow_client VALUES (?, ?, 1, 0, 0, 0, NULL, NULL)';
  for (const name of ['', 'a b', 'x'.repeat(65), '\ud800', '\ufffd', bytes(97)]) {
    await exec(row, name, 'eve');
    if (typeof name !== 'string') continue;
    expect(await onServer(() => records.get(name))).toEqual(DAMAGED);
  }
  const unanswered = await onServer(() => records.recordsWithUnansweredCall());
  expect([...unanswered.keys()]).toEqual(['a']);
});

describe('[FOLS25] the clients of one identity', () => {
  const names = async () => (await exec('SELECT name FROM _follow_client ORDER BY name')).flat();
  const DAY_MS = 86_400_000;
  beforeEach(() => {
    nowMs = 0;
  });
  /** Adds clients with a call each, one a second. */
  const addEach = (clients: string[], acked: 0 | 1) =>
    onServer(() => {
      for (const client of clients) {
        nowMs += 1000;
        expect(admit(client, 3)).toBeNull();
        records.store(client, { ...NEW, started: 1, last: 1, acked }, acked ? null : value(client));
      }
    });

  test('are as many as may be stored: the one that was added first leaves, with its outcomes', async () => {
    await addEach(['d', 'c', 'b', 'a'], 0);
    expect(await names()).toEqual(['a', 'b', 'c']);
    expect(await exec('SELECT client FROM _follow_outcome ORDER BY 1')).toEqual([
      ['a'],
      ['b'],
      ['c'],
    ]);
    await onServer(() => {
      const hello = { kind: 'hello', protocol: FOLLOW_PROTOCOLS, client: 'of-ben', ...NEWCOMER };
      expect(records.admit(hello as never, 'ben', 3, [])).toBeNull();
    });
    expect(await names()).toEqual(['a', 'b', 'c', 'of-ben']);
  });

  test('leave in the order of their last connection, known to a day, and those first whose calls are acknowledged', async () => {
    await addEach(['c', 'b'], 1);
    await addEach(['a'], 0);
    await onServer(() => {
      nowMs += DAY_MS;
      records.see('c');
    });
    await addEach(['d'], 0);
    expect(await names()).toEqual(['a', 'c', 'd']);
    await addEach(['e'], 0);
    expect(await names()).toEqual(['a', 'd', 'e']);
    await addEach(['f'], 0);
    expect(await names()).toEqual(['d', 'e', 'f']);
  });

  test('stay while they are in use; if all are, one more is refused', async () => {
    await addEach(['a', 'b', 'c'], 0);
    await onServer(() => {
      expect(admit('d', 3, ['a', 'b', 'c'])).toBe('TOO_MANY_FOLLOWERS');
      expect(admit('d', 3, ['a', 'c'])).toBeNull();
    });
    expect(await names()).toEqual(['a', 'c', 'd']);
  });

  test('that come back go on if their calls were acknowledged, and otherwise are told so, also after deleteAll', async () => {
    await addEach(['a', 'b', 'c', 'd'], 1);
    await onServer(() => expect(admit('a', 3, [], { ack: 1 })).toBeNull());
    await addEach(['e', 'f', 'g', 'h'], 0);
    await onServer(async (storage) => {
      const position = { id: 1, life: 1 };
      const copy = { from: position, at: position, parts: 1, next: null };
      const known = [{ ack: 1 }, { position }, { copy }];
      for (const more of known) expect(admit('e', 3, [], more)).toBe('CLIENT_REMOVED');
      await storage.deleteAll();
      const hello = { kind: 'hello', protocol: FOLLOW_PROTOCOLS, client: 'e', ...NEWCOMER, ack: 1 };
      expect(records.admit(hello as never, 'mark of ann', 3, [])).toBe('CLIENT_REMOVED');
      expect(records.admit(hello as never, 'mark of ben', 3, [])).toBeNull();
      expect(admit('i', 3)).toBeNull();
    });
  });

  test('have 32 with stored outcomes besides those in use: the other calls are answered as lost', async () => {
    await onServer(() => {
      for (let i = 100; i < 150; i++) {
        nowMs += 1000;
        expect(admit(`c${i}`, 1000, ['c100'])).toBeNull();
        records.store(`c${i}`, { ...NEW, started: 1, last: 1 }, value(i));
      }
      const stored = [];
      for (let i = 100; i < 150; i++) if (outcomesAfter(`c${i}`, 0).length > 0) stored.push(i);
      expect(stored).toEqual([100, ...Array.from({ length: 32 }, (_, i) => 118 + i)]);
    });
    expect(await names()).toHaveLength(50);
  });
});

function bytes(...content: number[]): ArrayBuffer {
  return new Uint8Array(content).buffer;
}

function stored(content: unknown): ArrayBuffer {
  return serialize(content).slice().buffer;
}
