// One object that takes too much, beside others on the same host.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createObjects, DurableObject, type Objects } from '../../start/entries/node-objects.ts';

const MIB = 1024 * 1024;
const ENDLESS = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)';
const SORT = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 1000)
  SELECT randomblob(1000000) AS b FROM c, t ORDER BY b`;

class Worker extends DurableObject {
  #runs = 0;

  /** The end of each statement, in one implicit transaction with a key. */
  async take(key: string, statements: readonly string[]): Promise<(string | undefined)[]> {
    this.#runs += 1;
    const { storage } = this.ctx;
    storage.kv.put(key, this.#runs);
    return statements.map((sql) => codeOf(() => storage.sql.exec(sql).toArray()));
  }

  async search(sql: string): Promise<string | undefined> {
    return codeOf(() => this.ctx.storage.sql.exec(sql).toArray());
  }

  async inTransactions(sql: string): Promise<unknown[]> {
    const { storage } = this.ctx;
    const codes: unknown[] = [];
    await storage.transaction(async () => {
      storage.kv.put('outer', 1);
      codes.push(codeOf(() => storage.sql.exec(sql)));
      storage.transactionSync(() => {
        storage.kv.put('inner', 1);
        codes.push(codeOf(() => storage.sql.exec(sql)));
      });
    });
    return codes;
  }

  async state(): Promise<{
    readonly keys: string[];
    readonly rows: number;
    readonly runs: number;
  }> {
    const { storage } = this.ctx;
    storage.sql.exec('CREATE TABLE IF NOT EXISTS t(a)');
    const [rows] = storage.sql.exec('SELECT count(*) FROM t').raw().one();
    return { keys: [...(await storage.list()).keys()], rows: rows as number, runs: this.#runs };
  }
}

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

let objects: Objects<{ Worker: typeof Worker }>;
const named = (name: string) => objects.env.Worker.getByName(name);

beforeEach(async () => {
  objects = await createObjects({ Worker }, { limits: { queryMs: 100, heapBytes: 64 * MIB } });
});
afterEach(() => objects.close());

describe('an object that takes too much', () => {
  test('[LIM1] an endless query ends, its object and its turn go on', async () => {
    await named('other').state();
    const codes = await named('a').take('key', [
      'CREATE TABLE t(a)',
      `${ENDLESS} SELECT max(i) FROM c`,
      'INSERT INTO t VALUES (1)',
    ]);
    expect(codes).toEqual([undefined, 'SQL_TIMEOUT', undefined]);
    expect(await named('a').state()).toEqual({ keys: ['key'], rows: 1, runs: 1 });
    expect(await named('other').state()).toEqual({ keys: [], rows: 0, runs: 0 });
  });

  test('[LIM2] an endless write is undone alone, in every kind of transaction', async () => {
    await named('a').state();
    const write = `INSERT INTO t ${ENDLESS} SELECT i FROM c`;
    expect(await named('a').take('key', ['INSERT INTO t VALUES (1)', write])).toEqual([
      undefined,
      'SQL_TIMEOUT',
    ]);
    expect(await named('a').inTransactions(write)).toEqual(['SQL_TIMEOUT', 'SQL_TIMEOUT']);
    expect(await named('a').state()).toEqual({
      keys: ['inner', 'key', 'outer'],
      rows: 1,
      runs: 1,
    });
  });

  test('[LIM3] a sort that finds no memory leaves the others as they are', {
    tags: 'long',
  }, async () => {
    // On a busy machine the sorts take longer than the deadline of the other tests, and than an idle object stays in memory.
    await objects.close();
    objects = await createObjects({ Worker }, { limits: { heapBytes: 64 * MIB }, idleMs: 600_000 });
    await named('other').take('kept', ['CREATE TABLE t(a)', 'INSERT INTO t VALUES (1)']);
    await named('a').take('kept', ['CREATE TABLE t(a)', 'INSERT INTO t VALUES (1)']);
    expect(await named('a').search(SORT)).toBe('SQL_MEMORY');
    expect(await named('a').state()).toEqual({ keys: ['kept'], rows: 1, runs: 1 });
    // SQLite rolls back the open transaction, so the object restarts, as after a full disk.
    await expect(named('a').take('lost', [SORT])).rejects.toMatchObject({ code: 'SQL_MEMORY' });
    expect(await named('a').state()).toEqual({ keys: ['kept'], rows: 1, runs: 0 });
    expect(await named('other').state()).toEqual({ keys: ['kept'], rows: 1, runs: 1 });
  });

  test('[LIM5] a bound that is not one is refused at once', async () => {
    const wrong = createObjects({ Worker }, { limits: { queryMs: -1 } });
    await expect(wrong).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('limits.queryMs'),
    });
  });
});
