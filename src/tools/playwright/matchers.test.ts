import { describe, expect, test } from 'vitest';
import { storageError } from '../contract/errors.ts';
import { expect as playwrightExpect } from './matchers.ts';
import type { Asked, OriginObjects } from './origin-objects.ts';
import { seedsOf, storeSeeds, tableIn } from './seed.ts';
import { TestStorage } from './test-storage.ts';

const timeout = 60;

/** The storage of an object, on what a helper page would answer. */
function storageOn(answer: (asked: Asked) => unknown): TestStorage {
  const objects = { ask: async (asked: Asked) => answer(asked) } as unknown as OriginObjects;
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

  test('[HARN4] they try again until the time is over, and hold as soon as they can', async () => {
    let count = 0;
    const storage = storageOn(() => {
      count += 1;
      if (count === 1) throw storageError('SQL', 'no such table');
      return count;
    });
    await playwrightExpect(storage).toHaveStored('count', 4);
    expect(count).toBe(4);
    await playwrightExpect(storage).not.toHaveStored('count', 4);
  });

  test('[HARN4] what cannot be read is said, negated or not', async () => {
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

  test('[HARN4] errors are equal by name and message, parts of a Map by what matches them', async () => {
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
    const asked: Asked[] = [];
    const objects = { ask: async (one: Asked) => void asked.push(one) } as unknown as OriginObjects;
    const seeds = seedsOf({ Counter: { first: { entries: { a: 1 } }, visits: content as object } });
    await expect(storeSeeds(objects, seeds)).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });

  test.for([
    ['null', null, /a table of contents/],
    ['a list', [1], /a table of contents/],
    ['a class without contents', { Counter: 5 }, /"Counter" holds contents by name/],
  ] as const)('[HARN4] %s is no table', ([, table, message]) => {
    expect(() => seedsOf(table as never)).toThrow(message);
  });

  test('[HARN4] a JSON file that is missing is named, and so is what openStorage needs', async () => {
    await expect(tableIn('notes')).rejects.toThrow(/"notes".*ENOENT.*seed\('notes', { … }\)/);
  });
});
