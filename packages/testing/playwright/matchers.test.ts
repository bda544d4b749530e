// Tests the assertions about stored data and the checks of seeds, with a fake storage.

import { describe, expect, test } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { type ExpectedChange, expect as playwrightExpect } from './matchers.ts';
import type { ContextRequest, OriginObjects } from './origin-objects.ts';
import { seedsOf, storeSeeds, tableIn } from './seed.ts';
import { TestStorage } from './test-storage.ts';

const timeout = 60;

/** Makes the storage of an object whose helper page gives the answers of `answer`. */
function storageOn(answer: (asked: ContextRequest) => unknown): TestStorage {
  const objects = {
    ask: async (asked: ContextRequest) => answer(asked),
  } as unknown as OriginObjects;
  return new TestStorage(objects, { className: 'Counter', name: 'visits' });
}

async function messageOf(assertion: Promise<unknown>): Promise<string> {
  const error = await assertion.then(
    () => new Error('it held'),
    (failure: Error) => failure,
  );
  return error.message.replace(/\u001b\[[0-9;]*m/g, '');
}

describe('matchers', () => {
  test('[HARN4] a value that differs is shown beside the expected one', async () => {
    const storage = storageOn(() => [1, 2]);
    await playwrightExpect(storage).toHaveStored('list', [1, 2], { timeout });
    const failed = playwrightExpect(storage).toHaveStored('list', [1, 3], { timeout });
    const message = await messageOf(failed);
    expect(message).toContain("expect(Counter 'visits').toHaveStored(key 'list')");
    expect(message).toContain('- Expected');
    expect(message).toContain('+ Received');
    expect(message).toMatch(/-\s+3,\n\+\s+2,/);
  });

  test('[HARN4] a misspelled name is answered with the names there are', async () => {
    const storage = storageOn((asked) => {
      if (asked.op === 'list')
        return [{ name: 'visits' }, { name: 'visitors' }, { id: 'ab'.repeat(32) }];
      if (asked.op === 'sql') return [];
      if (asked.op !== 'storage') throw new Error(asked.op);
      return { list: new Map(), getAlarm: null, get: undefined }[asked.method];
    });
    const there =
      "Counter 'visits' stores nothing; there are: Counter 'visitors', Counter abababab….";
    const expected = playwrightExpect(storage);
    for (const failed of [
      () => expected.toHaveStored('count', 1, { timeout }),
      () => expected.toHaveRows('SELECT 1 WHERE 0', [{ a: 1 }], { timeout }),
      () => expected.toHaveAlarm(undefined, { timeout }),
    ]) {
      expect(await messageOf(failed())).toContain(there);
    }
  });

  test('[HARN4] other objects are not listed if the object stores something, or cannot be read', async () => {
    const stored: Readonly<Record<string, unknown>> = { list: new Map([['a', 1]]), getAlarm: null };
    const full = storageOn((asked) => (asked.op === 'storage' ? stored[asked.method] : []));
    const unread = storageOn((asked) => {
      if (asked.op === 'storage' && asked.method === 'get') return undefined;
      throw storageError('IO', 'It cannot be read.');
    });
    for (const storage of [full, unread]) {
      const message = await messageOf(
        playwrightExpect(storage).toHaveStored('count', 1, { timeout }),
      );
      expect(message).toContain('Received: undefined');
      expect(message).not.toContain('stores nothing');
    }
  });

  test('[HARN4] assertions are tried again until they hold, or their time is over', async () => {
    let count = 0;
    const storage = storageOn(() => {
      count += 1;
      if (count === 1) throw storageError('SQL', 'no such table');
      return count;
    });
    await playwrightExpect(storage).toHaveStored('count', 4);
    expect(count).toBe(4);
    await playwrightExpect(storage).not.toHaveStored('count', 4);
    let tries = 0;
    const never = storageOn(() => {
      tries += 1;
      return 0;
    });
    const failed = playwrightExpect(never).toHaveStored('count', 4, { timeout: 200 });
    expect(await messageOf(failed)).toContain('Received: 0');
    expect(tries).toBeGreaterThan(1);
  });

  test('[HARN4] unreadable data is reported, negated or not', async () => {
    const storage = storageOn(() => {
      throw storageError('SQL', 'no such table: nothing');
    });
    for (const asserted of [playwrightExpect(storage), playwrightExpect(storage).not]) {
      const failed = asserted.toHaveRows('SELECT * FROM nothing', [], { timeout });
      expect(await messageOf(failed)).toContain('no such table: nothing');
    }
  });

  test('[HARN4] alarms are shown as times', async () => {
    const storage = storageOn(() => Date.UTC(2030, 0, 1));
    await playwrightExpect(storage).toHaveAlarm(new Date('2030-01-01'), { timeout });
    const message = await messageOf(playwrightExpect(storage).toHaveAlarm(null, { timeout }));
    expect(message).toContain('Expected: "none"');
    expect(message).toContain('Received: "2030-01-01T00:00:00.000Z"');
  });

  test('[HARN4] a value that a test has forgotten does not hold for every stored one', async () => {
    const storage = storageOn(() => 5);
    const forgotten = undefined;
    for (const asserted of [playwrightExpect(storage), playwrightExpect(storage).not]) {
      expect(await messageOf(asserted.toHaveStored('count', forgotten))).toContain(
        'undefined is never stored',
      );
    }
    await playwrightExpect(storage).toHaveStored('count', undefined, { timeout });
  });

  test('[HARN4] errors are equal by name and message, parts of a Map by their matchers', async () => {
    const failure = storageOn(() => new RangeError('too many'));
    await playwrightExpect(failure).toHaveStored('failure', new RangeError('too many'));
    await playwrightExpect(failure).not.toHaveStored('failure', new Error('too many'));
    await playwrightExpect(failure).not.toHaveStored('failure', new RangeError('too few'));
    const users = storageOn(() => new Map([['ann', { at: new Date(0), id: 7 }]]));
    const some = playwrightExpect.objectContaining({ at: playwrightExpect.any(Date) });
    await playwrightExpect(users).toHaveStored('users', new Map([['ann', some]]));
    await playwrightExpect(users).not.toHaveStored('users', new Map([['bob', some]]));
  });

  test.for([
    ['a key', () => playwrightExpect(storageOn(() => 1)).toHaveStored(undefined as never), /a key/],
    [
      'rows',
      () => playwrightExpect(storageOn(() => [])).toHaveRows('SELECT 1', {} as never),
      /an array of rows/,
    ],
    [
      'a time',
      () => playwrightExpect(storageOn(() => null)).toHaveAlarm(new Date('someday')),
      /not Invalid Date/,
    ],
    [
      'a time in milliseconds',
      () => playwrightExpect(storageOn(() => null)).toHaveAlarm('2030-01-01' as never),
      /milliseconds.*not "2030-01-01"/,
    ],
  ] as const)(
    '[HARN4] where a matcher takes %s, other values are refused',
    async ([, assertion, words]) => {
      expect(await messageOf(assertion())).toMatch(words);
    },
  );

  test('[HARN4] anything but the storage of an object is refused', async () => {
    const failed = playwrightExpect({}).toHaveStored('count', 1, { timeout });
    expect(await messageOf(failed)).toContain("expect(objects.storage('Room', 'lobby'))");
  });
});

describe('toHaveChanged', () => {
  const made: readonly ExpectedChange[] = [
    { kind: 'key', key: 'count', before: 1, after: 2 },
    {
      kind: 'row',
      table: 'message',
      key: { id: 1 },
      before: null,
      after: { id: 1, text: 'hello' },
    },
  ];
  /** Makes a storage that has changed once the action has run and the diff has been read `late` times. */
  function changing(late = 0) {
    const seen = { asked: [] as string[], hasRun: false };
    let diffs = 0;
    const storage = storageOn((asked) => {
      seen.asked.push(asked.op === 'storage' ? asked.method : asked.op);
      if (asked.op === 'storage') return 'then';
      if (asked.op !== 'diff') return null;
      expect(asked.from).toBe('then');
      diffs += 1;
      return seen.hasRun && diffs > late ? made : [];
    });
    const by = () => {
      expect(seen.asked).toEqual(['getCurrentBookmark']);
      seen.hasRun = true;
    };
    return { storage, seen, by };
  }

  test('[HARN9] the changes of an action are compared in the fields that are named, and waited for', async () => {
    const { storage, by } = changing(2);
    await playwrightExpect(storage).toHaveChanged(
      [
        { key: 'count', after: 2 },
        {
          table: 'message',
          before: null,
          after: { id: playwrightExpect.any(Number), text: 'hello' },
        },
      ],
      { by },
    );
    await playwrightExpect(storage).toHaveChanged(made, { since: 'then' });
    await playwrightExpect(storage).not.toHaveChanged([], { since: 'then', timeout });
  });

  test.for([
    [
      'another value',
      [{ key: 'count', after: 3 }, { table: 'message' }],
      /after": 3[\s\S]*after": 2/,
    ],
    ['a change too many', [{ key: 'count', after: 2 }], /"table": "message"/],
    ['a missing change', [...made, { kind: 'alarm' }], /"kind": "alarm"/],
    ['nothing expected', [], /Received[\s\S]*"count"/],
    ['another order', [...made].reverse(), /Received/],
  ] as const)('[HARN9] the message shows %s', async ([, changes, message]) => {
    const { storage, by } = changing();
    const failed = playwrightExpect(storage).toHaveChanged(changes, { by, timeout });
    expect(await messageOf(failed)).toMatch(message);
  });

  test('[HARN9] fields that were not named are not shown as differences', async () => {
    const { storage, by } = changing();
    const changes = [{ key: 'count', after: 3 }, { table: 'message' }];
    const text = await messageOf(playwrightExpect(storage).toHaveChanged(changes, { by, timeout }));
    expect(text).not.toContain('hello');
    expect(text).not.toContain('before');
  });

  test.for([
    ['no array', { key: 'count' }, { since: 'then' }, /takes an array of changes/],
    ['a field that no change has', [{ ket: 1 }], { since: 'then' }, /none has a field "ket"/],
    ['neither by nor since', [], {}, /takes \{ by \} or \{ since \}/],
    ['both', [], { by: () => {}, since: 'then' }, /takes \{ by \} or \{ since \}/],
  ] as const)(
    '[HARN4] %s is refused before the action runs',
    async ([, changes, options, message]) => {
      const { storage, seen } = changing();
      const failed = playwrightExpect(storage).toHaveChanged(changes as never, options);
      expect(await messageOf(failed)).toMatch(message);
      expect(seen.asked).toEqual([]);
    },
  );

  test('[HARN9] an error of the action is its own', async () => {
    const { storage } = changing();
    const by = () => Promise.reject(new Error('no such button'));
    expect(await messageOf(playwrightExpect(storage).toHaveChanged([], { by }))).toBe(
      'no such button',
    );
  });
});

describe('seeds', () => {
  test.for([
    ['a function', { entries: { act: () => 1 } }, /"act" of Counter 'visits' cannot be stored/],
    ['undefined', { entries: { nothing: undefined } }, /is undefined/],
    ['keys beside entries', { count: 5 }, /no part "count".*entries: { count: … }/],
    ['entries in an array', { entries: [1] }, /the entries of Counter 'visits' are an object/],
    [
      'a key over the limit',
      { entries: { ['k'.repeat(2049)]: 1 } },
      /2049 bytes of UTF-8, at most 2048/,
    ],
    ['a value over the limit', { entries: { big: 'x'.repeat(131_073) } }, /"big".*at most 131072/],
    ['long SQL', { sql: 'x'.repeat(100_001) }, /sql of Counter 'visits' is 100001 bytes.*{ file }/],
    ['a number for a file', { file: 5 }, /the file of Counter 'visits' is a path or bytes, not 5/],
    ['a missing file', { file: 'no.sqlite' }, /"no\.sqlite".*ENOENT.*the folder .* runs in/],
    ['an alarm without a time', { alarm: Number.NaN }, /the alarm of Counter 'visits'/],
  ] as const)('[HARN4] %s is refused before anything is stored', async ([, content, message]) => {
    const asked: ContextRequest[] = [];
    const objects = {
      ask: async (one: ContextRequest) => void asked.push(one),
    } as unknown as OriginObjects;
    const seeds = seedsOf({ Counter: { first: { entries: { a: 1 } }, visits: content as object } });
    await expect(storeSeeds(objects, seeds)).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });

  test.for([
    ['null', null, /a table of contents/],
    ['a list', [1], /a table of contents/],
    ['a class without contents', { Counter: 5 }, /"Counter" holds contents by name/],
  ] as const)('[HARN4] %s is refused as a table of seeds', ([, table, message]) => {
    expect(() => seedsOf(table as never)).toThrow(message);
  });

  test('[HARN4] a missing JSON file is named, and so is the form for openStorage', async () => {
    await expect(tableIn('notes')).rejects.toThrow(/"notes".*ENOENT.*seed\('notes', { … }\)/);
  });
});
