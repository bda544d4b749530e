// A database on its way out of an object and into one.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { queryFile } from '../../../packages/testing/worker/foreign-files.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import { addressKey } from '../../../src/shared/contract/object-id.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { PageSessions } from '../sessions/page-sessions.ts';

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
});
afterEach(() => host.close());

const exportOf = (name?: string) => host.host.exportDatabase(host.address(name));
const importInto = (file: Uint8Array, name?: string) =>
  host.host.importDatabase(host.address(name), file);

/** Begins an import whose commit is made and waits for the disk, until `releaseFlushes`. */
async function importUntilReplaced(file: Uint8Array): Promise<{ readonly done: Promise<string> }> {
  const before = host.committed();
  host.holdFlushes();
  const done = importInto(file);
  while (host.committed() === before) await host.turns(1);
  return { done };
}

/** A program's view of an object. */
const contents = (name?: string) =>
  host.run(async ({ storage }) => {
    const tables = storage.sql
      .exec("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'")
      .raw()
      .toArray() as string[][];
    const rows = tables
      .filter(([, sql]) => sql?.startsWith('CREATE TABLE'))
      .map(([table]) => storage.sql.exec(`SELECT * FROM "${table}"`).raw().toArray());
    return { tables, rows, entries: await storage.list(), alarm: await storage.getAlarm() };
  }, name);

const fill = ({ storage }: DurableObjectState) => {
  storage.sql.exec('CREATE TABLE t(x, y UNIQUE); INSERT INTO t VALUES (1, 2)');
  storage.kv.put('key', { when: new Date(5) });
  return storage.setAlarm(4_000_000_000_000);
};

describe('with a requested restore', () => {
  test.for([
    ['in the same event', false],
    ['durably', true],
  ] as const)(
    '[MOVE3] a restore requested %s does not take an import back',
    async ([, isDurable]) => {
      await host.run(({ storage }) => storage.put('v', 'old'));
      const old = await host.run(({ storage }) => storage.getCurrentBookmark());
      await host.run(({ storage }) => storage.put('v', 'file'));
      const file = await exportOf();
      await host.run(({ storage }) => storage.put('v', 'now'));
      await host.run(async ({ storage }) => {
        await storage.onNextSessionRestoreBookmark(old);
        if (isDurable) await storage.sync();
      });
      const undo = await importInto(file);
      expect(await host.run(({ storage }) => storage.get('v'))).toBe('file');
      await host.host.evict(host.address());
      expect(await host.run(({ storage }) => storage.get('v'))).toBe('file');
      await host.host.restore(host.address(), undo);
      expect(await host.run(({ storage }) => storage.get('v'))).toBe('now');
    },
  );
});

describe('out of an object', () => {
  test('[MOVE1] an export is a plain SQLite file with the tables of workerd', async () => {
    await host.run(fill);
    const file = await exportOf();
    const query = async (sql: string) => await queryFile(file, sql);
    expect(await query('PRAGMA integrity_check')).toEqual([['ok']]);
    const [pageSize, journal] = [
      [16, 0],
      [1, 1],
    ]; // 4096; a rollback journal
    expect([...file.subarray(16, 20)]).toEqual([...pageSize!, ...journal!]);
    expect(await query('SELECT * FROM t')).toEqual([[1, 2]]);
    expect(
      await query(
        "SELECT name, replace(sql, char(10), ' ') FROM sqlite_schema WHERE name GLOB '_cf_*'",
      ),
    ).toEqual([
      ['_cf_KV', 'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID'],
      ['_cf_METADATA', 'CREATE TABLE _cf_METADATA ( key INTEGER PRIMARY KEY, value BLOB )'],
    ]);
    expect(await query('SELECT key, hex(value) FROM _cf_KV')).toEqual([
      ['key', expect.stringMatching(/^FF0F6F/)],
    ]);
    expect(await query('SELECT key, CAST(value AS TEXT) FROM _cf_METADATA')).toEqual([
      [1, '4000000000000000000'],
    ]);
  });

  test('[MOVE1] an export holds the writes of its turn, and nothing of an open transaction', async () => {
    const files = await host.host.deliver(host.address(), async ({ storage, state }) => {
      state.storage.kv.put('a', 1);
      const before = storage.databaseBytes();
      const inside = await state.storage.transaction(async (txn) => {
        await txn.put('b', 'x'.repeat(100_000));
        return storage.databaseBytes();
      });
      return [before, inside, storage.databaseBytes()];
    });
    const keys = files.map((file) => queryFile(file, 'SELECT group_concat(key) FROM _cf_KV'));
    expect(await Promise.all(keys)).toEqual([[['a']], [['a']], [['a,b']]]);
  });

  test('[MOVE2] an object that was never written exports an empty database, which empties another', async () => {
    const file = await exportOf();
    expect(file).toHaveLength(4096);
    expect(await queryFile(file, 'PRAGMA integrity_check')).toEqual([['ok']]);
    await host.run(fill, 'other');
    await importInto(file, 'other');
    expect(await contents('other')).toEqual({
      tables: [],
      rows: [],
      entries: new Map(),
      alarm: null,
    });
    await host.run(fill, 'other');
  });
});

describe('into an object', () => {
  test('[MOVE3] an import replaces everything, in one commit that is on disk', async () => {
    await host.run(fill);
    const file = await exportOf();
    await host.run(async ({ storage }) => {
      storage.sql.exec('CREATE TABLE gone(z); CREATE INDEX also_gone ON gone(z)');
      await storage.put({ key: 'old', gone: 1 });
    }, 'other');
    const before = host.committed();
    await importInto(file, 'other');
    expect(await contents('other')).toEqual(await contents());
    expect(host.committed() - before).toBe(1);
    expect(host.durable()).toBe(host.committed());
  });

  test('[MOVE3] whoever holds the object when it is replaced meets a new instance', async () => {
    await host.run(fill, 'other');
    const file = await exportOf('other');
    await host.run(({ storage }) => storage.put('key', 'old'));
    const imported = await importUntilReplaced(file);
    const late = expect(host.run(({ storage }) => storage.get('key'))).rejects.toMatchObject({
      code: 'OBJECT_RESET',
      retryable: true,
    });
    await host.turns(5);
    host.releaseFlushes();
    await late;
    await imported.done;
    expect(await host.run(({ storage }) => storage.get('key'))).toEqual({ when: new Date(5) });
  });

  test('[MOVE3] a cursor and a list of the old database end with it, and show nothing of the new', async () => {
    const fillWith = (what: string) => (state: DurableObjectState) => {
      state.storage.sql.exec('CREATE TABLE big(x)');
      for (let i = 0; i < 200; i++) {
        state.storage.sql.exec('INSERT INTO big VALUES (?)', what.repeat(1000));
        state.storage.kv.put(`key ${i}`, what.repeat(1000));
      }
    };
    await host.run(fillWith('new'), 'other');
    const file = await exportOf('other');
    await host.run(fillWith('old'));
    await host.host.reset(host.address(), new Error('cold'));
    const { cursor, list } = await host.run(({ storage }) => ({
      cursor: storage.sql.exec('SELECT x FROM big').raw(),
      list: storage.kv.list()[Symbol.iterator](),
    }));
    cursor.next();
    list.next();
    const imported = await importUntilReplaced(file);
    const ended = expect.objectContaining({ code: 'CURSOR_CLOSED' });
    expect(() => cursor.toArray()).toThrow(ended);
    expect(() => list.next()).toThrow(ended);
    host.releaseFlushes();
    await imported.done;
  });

  test('[MOVE4] the bookmark of an import, and any from before it, undo it', async () => {
    await host.run(fill);
    const file = await exportOf();
    const old = await host.run(async ({ storage }) => {
      storage.sql.exec('CREATE TABLE mine(z); INSERT INTO mine VALUES (3)');
      await storage.put('mine', 1);
      return storage.getCurrentBookmark();
    }, 'other');
    const before = await contents('other');
    const restore = async (bookmark: string) => {
      await host.run(({ storage }) => storage.onNextSessionRestoreBookmark(bookmark), 'other');
      await host.host.reset(host.address('other'), new Error('restore'));
      return contents('other');
    };
    const undo = await importInto(file, 'other');
    const after = await host.run(({ storage }) => storage.getCurrentBookmark(), 'other');
    expect(await restore(undo)).toEqual(before);
    expect(await restore(after)).toEqual(await contents());
    expect(await restore(old)).toEqual(before);
  });

  test('[MOVE9] the alarm of the file is the alarm that runs', async () => {
    const runs: number[] = [];
    class Clocked {
      readonly #ctx: { storage: { kv: { get(key: string): unknown } } };
      constructor(ctx: never) {
        this.#ctx = ctx;
      }
      alarm() {
        runs.push(this.#ctx.storage.kv.get('n') as number);
      }
    }
    const clocked = await createTestHost({}, { Clocked });
    const set = (n: number, delayMs: number, name: string) =>
      clocked.run(async ({ storage }) => {
        await storage.put('n', n);
        await storage.setAlarm(clocked.now() + delayMs);
      }, name);
    await set(1, 1000, 'a');
    await set(2, 3000, 'b');
    const file = await clocked.host.exportDatabase(clocked.address('b'));
    await clocked.host.importDatabase(clocked.address('a'), file);
    await clocked.advance(2999);
    expect(runs).toEqual([]);
    await clocked.advance(1);
    expect(runs).toEqual([2, 2]);
    await clocked.close();
  });

  test('[MOVE10] an import waits for a transaction, and is refused inside the page’s own', async () => {
    const file = await exportOf('empty');
    const sessions = new PageSessions(host.host, () => () => {});
    const open = async () => (await sessions.open('object')) as { ok: number };
    const [mine, other] = [await open(), await open()];
    const import_ = async (session: number) =>
      sessions.execute(session, [{ op: 'importDatabase', database: file, wal: null }]);
    const [begun] = await sessions.execute(mine.ok, [{ op: 'begin', number: 1 }]);
    const put = { op: 'put', entries: [['a', new Uint8Array([1])]], unconfirmed: false } as const;
    await sessions.execute(mine.ok, [put]);
    expect(await import_(mine.ok)).toMatchObject([
      { error: { properties: { code: 'TRANSACTION_NESTING' } } },
    ]);
    let isDone = false;
    const imported = import_(other.ok).then((outcomes) => {
      isDone = true;
      return outcomes;
    });
    await host.turns(5);
    expect(isDone).toBe(false);
    const txn = (begun as { ok: number }).ok;
    expect(await sessions.execute(mine.ok, [{ op: 'commit', txn }])).toEqual([{ ok: null }]);
    expect(await imported).toEqual([{ ok: expect.any(String) }]);
    expect(await sessions.execute(mine.ok, [{ op: 'get', keys: ['a'] }])).toEqual([{ ok: [null] }]);
  });

  test('[MOVE10] an import is not refused for a transaction that a reset has ended', async () => {
    const file = await exportOf('empty');
    const sessions = new PageSessions(host.host, () => () => {});
    const { ok: session } = (await sessions.open('object')) as { ok: number };
    await sessions.execute(session, [{ op: 'begin', number: 1 }]);
    (await host.host.instance(host.address())).reset(new Error('mine'));
    expect(
      await sessions.execute(session, [{ op: 'importDatabase', database: file, wal: null }]),
    ).toEqual([{ ok: expect.any(String) }]);
  });

  describe('whose files are damaged', () => {
    let medium: MemoryMedium;
    let own: TestHost;
    beforeEach(async () => {
      medium = new MemoryMedium();
      own = await createTestHost({}, {}, undefined, { medium, catalog: new MemoryCatalog() });
      await own.run(fill);
    });
    afterEach(() => own.close());

    async function damage(): Promise<void> {
      await own.host.evict(own.address());
      const directory = await medium.directory(addressKey(own.address()));
      const opened = await directory.open('checkpoint');
      opened.write(new Uint8Array(opened.sizeBytes()).fill(0xff), 0);
      opened.close();
    }

    test('[MOVE14] its handle opens, its calls are CORRUPT, and an import brings new files', async () => {
      const database = await exportOf('empty');
      await damage();
      const sessions = new PageSessions(own.host, () => () => {});
      const { ok: session } = (await sessions.open('object')) as { ok: number };
      const ask = async (call: Call) => (await sessions.execute(session, [call]))[0];
      const get: Call = { op: 'get', keys: ['key'] };
      const code = (name: string) => ({ error: { properties: { code: name } } });
      expect(await ask(get)).toMatchObject(code('CORRUPT'));
      const wrong = database.subarray(1);
      expect(await ask({ op: 'importDatabase', database: wrong, wal: null })).toMatchObject(
        code('IMPORT_INVALID'),
      );
      expect(await ask(get)).toMatchObject(code('CORRUPT'));
      expect(await ask({ op: 'importDatabase', database, wal: null })).toEqual({
        ok: expect.any(String),
      });
      expect(await ask(get)).toEqual({ ok: [null] });
    });

    test('[MOVE14] a damaged page, which the import has to read, does not refuse it', {
      tags: 'long',
    }, async () => {
      const database = await exportOf('empty');
      const value = (i: number) => new Uint8Array(120_000).fill(i + 1);
      await own.run(({ storage }) => {
        for (let i = 0; i < 60; i++) storage.kv.put(`large ${i}`, value(i));
      });
      await own.host.evict(own.address());
      const directory = await medium.directory(addressKey(own.address()));
      const main = await directory.open('main');
      main.write(Uint8Array.of(255), main.sizeBytes() >> 1);
      main.close();
      expect(await own.run(({ storage }) => storage.kv.get('large 0'))).toEqual(value(0));
      await expect(own.run(({ storage }) => [...storage.kv.list()].length)).rejects.toMatchObject({
        code: 'CORRUPT',
      });
      await own.host.importDatabase(own.address(), database);
      expect(await own.run(({ storage }) => [...storage.kv.list()])).toEqual([]);
    });

    test('[MOVE14] CORRUPT of a constructor, as of a value that it cannot read, is no damage: nothing is removed', async () => {
      let isFailing = false;
      class Room extends DurableObject {
        alarm() {}
        constructor(ctx: never, env: never) {
          super(ctx, env);
          if (isFailing) throw storageError('CORRUPT', 'The value cannot be read.');
        }
      }
      const others = await createTestHost({}, { Room });
      await others.run(fill);
      const undo = await others.host.deliver(others.address(), ({ storage }) =>
        storage.currentBookmark(),
      );
      const database = await exportOf('empty');
      await others.host.evict(others.address());
      isFailing = true;
      await expect(others.host.importDatabase(others.address(), database)).rejects.toMatchObject({
        code: 'CORRUPT',
      });
      isFailing = false;
      await others.host.restore(others.address(), undo);
      const value = await others.run(({ storage }) => storage.kv.get('key'));
      expect(value).toEqual({ when: new Date(5) });
      await others.close();
    });

    test('[MOVE14] after an opening that fails once, an import keeps the files and their history', async () => {
      const database = await exportOf('empty');
      await own.host.evict(own.address());
      const { directory } = medium;
      medium.directory = () => {
        medium.directory = directory;
        throw storageError('CORRUPT', 'The restore that was requested is damaged.');
      };
      const undo = await own.host.importDatabase(own.address(), database);
      const get = () => own.run(({ storage }) => storage.kv.get('key'));
      expect(await get()).toBe(undefined);
      await own.host.restore(own.address(), undo);
      expect(await get()).toEqual({ when: new Date(5) });
    });
  });

  test('[MOVE13] an import that does not reach the disk leaves the old data', async () => {
    await host.run(fill);
    const file = await exportOf('empty');
    const before = await contents();
    host.failNextFlush();
    await expect(importInto(file)).rejects.toMatchObject({ code: 'IO' });
    expect(await contents()).toEqual(before);
  });

  test("[MOVE3] databases larger than a transaction's memory replace each other", {
    tags: 'long',
  }, async () => {
    const load = (name: string, count: number) =>
      host.run(({ storage }) => {
        storage.sql.exec(`CREATE TABLE ${name}(id INTEGER PRIMARY KEY, bytes BLOB)`);
        storage.sql.exec(
          `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
           INSERT INTO ${name} SELECT i, randomblob(9000) FROM n`,
        );
      }, name);
    const digest = (name: string, table: string) =>
      host.run(({ storage }) => {
        const hash = createHash('sha256');
        const rows = storage.sql.exec(`SELECT id, bytes FROM ${table} ORDER BY id`).raw();
        for (const [id, bytes] of rows)
          hash.update(`${id} `).update(new Uint8Array(bytes as never));
        return hash.digest('hex');
      }, name);
    const check = (name: string) =>
      host.run(({ storage }) => storage.sql.exec('PRAGMA quick_check').one(), name);
    await load('small', 600);
    await load('large', 2000);
    const [small, large] = [await digest('small', 'small'), await digest('large', 'large')];
    const [smallFile, largeFile] = [await exportOf('small'), await exportOf('large')];
    expect(smallFile.length).toBeGreaterThan(4 << 20);

    host.failNextFlush();
    await expect(importInto(largeFile, 'small')).rejects.toMatchObject({ code: 'IO' });
    expect(await digest('small', 'small')).toEqual(small);

    const undo = await importInto(largeFile, 'small');
    expect(await digest('small', 'large')).toEqual(large);
    expect(await exportOf('small')).toHaveLength(largeFile.length);
    await importInto(smallFile, 'large');
    expect(await digest('large', 'small')).toEqual(small);
    expect(await exportOf('large')).toHaveLength(smallFile.length);
    await host.run(({ storage }) => storage.onNextSessionRestoreBookmark(undo), 'small');
    await host.host.reset(host.address('small'), new Error('restore'));
    expect(await digest('small', 'small')).toEqual(small);
    for (const name of ['small', 'large']) expect(await check(name)).toEqual({ quick_check: 'ok' });
  });

  test('[MOVE3] every exported database imports unchanged', { tags: 'long' }, async () => {
    const entry = fc.tuple(
      fc.string({ maxLength: 20, unit: 'binary' }),
      fc.uint8Array({ maxLength: 9000 }),
    );
    const row = fc.tuple(
      fc.double({ noNaN: true }),
      fc.string(),
      fc.uint8Array({ maxLength: 5000 }),
    );
    const database = fc.record({
      entries: fc.array(entry, { maxLength: 40 }),
      rows: fc.array(row, { maxLength: 40 }),
      alarm: fc.option(fc.integer({ min: 4_000_000_000_000, max: 9_000_000_000_000 })),
    });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(database, database, async (source, target) => {
        const names = [`source ${++count}`, `target ${count}`] as const;
        for (const [i, { entries, rows, alarm }] of [source, target].entries()) {
          await host.run(async ({ storage }) => {
            storage.sql.exec(`CREATE TABLE t${i}(a, b, c, UNIQUE (b, c, a))`);
            for (const row of rows) {
              storage.sql.exec(`INSERT OR IGNORE INTO t${i} VALUES (?, ?, ?)`, ...row);
            }
            for (const [key, value] of entries) storage.kv.put(key, value);
            if (alarm !== null) await storage.setAlarm(alarm);
          }, names[i]);
        }
        const before = await contents(names[1]);
        const undo = await importInto(await exportOf(names[0]), names[1]);
        expect(await contents(names[1])).toEqual(await contents(names[0]));
        await host.run(({ storage }) => storage.onNextSessionRestoreBookmark(undo), names[1]);
        await host.host.reset(host.address(names[1]), new Error('restore'));
        expect(await contents(names[1])).toEqual(before);
      }),
      { numRuns: 25 },
    );
  });

  test('[MOVE6] a file with changed bytes is taken whole or refused, and never harms', {
    tags: 'long',
  }, async () => {
    await host.run(fill);
    await host.run(({ storage }) => {
      storage.sql.exec(
        'CREATE INDEX i ON t(x); CREATE TRIGGER tr AFTER DELETE ON t BEGIN SELECT 1; END',
      );
      for (let i = 0; i < 200; i++) storage.kv.put(`key ${i}`, 'x'.repeat(i));
    });
    const file = await exportOf();
    await host.run(({ storage }) => storage.put('old', 1), 'other');
    const before = await contents('other');
    const change = fc.record({ at: fc.nat(file.length - 1), to: fc.nat(255) });
    // Half of the changes in the first page, where the schema is.
    const early = fc.record({ at: fc.nat(4095), to: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(change, early), { minLength: 1, maxLength: 4 }),
        async (changes) => {
          const changed = file.slice();
          for (const { at, to } of changes) changed[at] = to;
          try {
            const undo = await importInto(changed, 'other');
            await host.run(
              ({ storage }) => storage.sql.exec('PRAGMA quick_check').toArray(),
              'other',
            );
            await host.run(({ storage }) => storage.onNextSessionRestoreBookmark(undo), 'other');
            await host.host.reset(host.address('other'), new Error('restore'));
          } catch (error) {
            if (!isStorageError(error) || error.code !== 'IMPORT_INVALID') throw error;
          }
          expect(await contents('other')).toEqual(before);
        },
      ),
      { numRuns: 100 },
    );
  });
});
