import { expect, test } from 'vitest';
import type { Query } from './query.ts';
import { QueryCache } from './query-cache.ts';

/** Queries that note when they are finalized, and how often the cache looks whether they are in use. */
class FakeQueries {
  readonly finalized: string[] = [];
  looks = 0;

  make(text: string, isBusy = false): Query {
    const { finalized } = this;
    const look = () => {
      this.looks += 1;
      return isBusy;
    };
    return {
      text,
      instructionCount: 1,
      cached: false,
      get busy() {
        return look();
      },
      finalize: () => finalized.push(text),
    } as unknown as Query;
  }
}

/** So many fit. */
const FITTING = 1024;
const textOf = (name: number) => `${name}`.padEnd((1024 * 1024) / FITTING, ' ');

test('[SQL27] a full cache finalizes the tenth that was used longest ago, and none that is in use', () => {
  const queries = new FakeQueries();
  const cache = new QueryCache();
  for (let name = 0; name < FITTING; name++) cache.add(queries.make(textOf(name), name === 1));
  expect(queries.finalized).toEqual([]);
  expect(cache.idle(textOf(0))?.text).toBe(textOf(0));
  cache.add(queries.make(textOf(FITTING)));
  // Of 1,025, 921 are left.
  expect(queries.finalized).toEqual(Array.from({ length: 104 }, (_, count) => textOf(count + 2)));
  expect(cache.idle(textOf(2))).toBe(undefined);
  expect(cache.idle(textOf(1))).toBe(undefined); // in use, and kept
  expect(cache.idle(textOf(106))?.text).toBe(textOf(106));
});

test('[SQL27] however many texts a full cache gets, it looks at each query a few times only', () => {
  const queries = new FakeQueries();
  const cache = new QueryCache();
  for (let name = 0; name < FITTING; name++) cache.add(queries.make(textOf(name)));
  queries.looks = 0;
  for (let name = 0; name < FITTING; name++) cache.add(queries.make(textOf(FITTING + name)));
  expect(queries.finalized[0]).toBe(textOf(0));
  expect(queries.looks).toBeLessThanOrEqual(12 * FITTING);
});
