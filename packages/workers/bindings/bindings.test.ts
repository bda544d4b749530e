// The bindings KV and D1 and plain objects as members of `env`, on hosts in Node.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BINDING } from '../../../src/shared/contract/env-binding.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { d1, kv } from './index.ts';

/** Values of the app's code, which these tests use without types. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

class Wall extends DurableObject {
  names() {
    return [Object.keys(this.env as object), Object.keys(this.ctx.exports)];
  }
  async run(): Promise<unknown> {
    const { AI, CACHE } = this.env as Untyped;
    await CACHE.put('answer', AI.answer('?'));
    return CACHE.get('answer');
  }
}

/** Starts a host whose default entry point runs `ask` and answers with its result. */
async function hostOf(ask: (env: Untyped) => unknown, options: object) {
  const fetch = async (_request: Request, env: Untyped) => Response.json((await ask(env)) ?? null);
  const { worker, ...host } = await createObjects(
    { Wall },
    { exports: { default: { fetch } }, ...options },
  );
  return { ...host, ask: async () => (await worker.fetch('http://here/')).json() };
}

test('[BIND1] classes, bindings and given objects are members of env, of objects and of entry points', async () => {
  const AI = { answer: (question: string) => `${question} 42` };
  const bindings = { WALL: 'Wall', CACHE: kv(), AI };
  const { env, ask, close } = await hostOf(
    async ({ CACHE, AI, WALL }) => [
      await CACHE.get('answer'),
      AI.answer('!'),
      await WALL.getByName('b').run(),
    ],
    { bindings },
  );
  expect(await (env.Wall.getByName('a') as Untyped).run()).toBe('? 42');
  expect(await ask()).toEqual(['? 42', '! 42', '? 42']);
  await close();
});

test('[BIND2] the class of a binding is not a member of env or ctx.exports', async () => {
  const { env, close } = await createObjects({ Wall }, { bindings: { CACHE: kv() } });
  expect(await env.Wall.getByName('a').names()).toEqual([['Wall', 'CACHE'], ['Wall']]);
  expect(Object.keys(env)).toEqual(['Wall', 'CACHE']);
  await close();
});

test.for([null, undefined, 5, true])(
  '[BIND3] %s as a binding fails the start, by its name',
  async (AI) => {
    await expect(createObjects({}, { bindings: { AI } as never })).rejects.toMatchObject({
      code: 'CLASS_INVALID',
      message: expect.stringContaining('binding AI is '),
    });
  },
);

test('[BIND3] a class with the name of a binding’s class fails the start', async () => {
  await expect(createObjects({ KvObject: Wall }, { bindings: { A: kv() } })).rejects.toMatchObject({
    code: 'CLASS_INVALID',
    message: expect.stringContaining('KvObject is the class of binding A'),
  });
});

test('[BIND4] the data of a binding belongs to its name, or to its id', async () => {
  const bindings = { A: kv(), B: kv(), C: kv({ id: 'A' }) };
  const { ask, close } = await hostOf(
    async ({ A, B, C }) => {
      await A.put('key', 'of A');
      return [await B.get('key'), await C.get('key')];
    },
    { bindings },
  );
  expect(await ask()).toEqual([null, 'of A']);
  await close();
});

test('[BIND5] objects of a binding’s class have an env of their own, of which the app’s env has nothing', async () => {
  class Keeper extends DurableObject {
    async ownEnv() {
      return this.env;
    }
  }
  const keeper = {
    [BINDING]: () => ({
      className: 'Keeper',
      class: Keeper,
      client: (objects: Untyped) => ({ ownEnv: () => objects.getByName('a').ownEnv() }),
      inside: () => ({ secret: 1 }),
    }),
  };
  const { ask, close } = await hostOf(
    async (env) => [Object.keys(env), Object.keys(env.KEEPER), await env.KEEPER.ownEnv()],
    { bindings: { KEEPER: keeper, PLAIN: { of: 'the app' } } },
  );
  expect(await ask()).toEqual([['Wall', 'KEEPER', 'PLAIN'], ['ownEnv'], { KEEPER: { secret: 1 } }]);
  await close();
});

test('[BKV2] a key expires by the clock of the objects, and a later write deletes it', async () => {
  const numbered = Array.from({ length: 300_000 }, (_, i) => String(i).padStart(10)).join('');
  const asked: ((env: Untyped) => unknown)[] = [
    ({ A }) => A.put('short', numbered, { expirationTtl: 60 }),
    ({ A }) => A.get('short'),
    async ({ A }) => [await A.get('short'), (await A.list()).keys, [...(await A.get(['short']))]],
    ({ A }) => A.put('other', 'v'),
  ];
  const host = await hostOf((env) => asked.shift()!(env), {
    bindings: { A: kv(), DATA: 'KvObject' },
  });
  const handle = await host.storage((host.env as Untyped).DATA.getByName('A'));
  const rowsOf = async (table: string) =>
    (await handle.sql.exec(`SELECT * FROM ${table}`).toArray()).length;
  await host.clock.set(Date.UTC(2026, 0, 1));
  await host.ask();
  await host.clock.advance(59_000);
  expect(await host.ask()).toBe(numbered);
  await host.clock.advance(1_000);
  expect(await host.ask()).toEqual([null, [], [['short', null]]]);
  expect([await rowsOf('entry'), await rowsOf('part')]).toEqual([1, 2]);
  await host.ask();
  expect([await rowsOf('entry'), await rowsOf('part')]).toEqual([1, 0]);
  expect(await handle.sql.exec('SELECT key FROM entry').toArray()).toEqual([{ key: 'other' }]);
  await host.close();
});

test('[BKV3] keys outlive the host', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kv-'));
  const bindings = { A: kv() };
  const first = await hostOf(({ A }) => A.put('key', 'kept', { metadata: [1] }), {
    bindings,
    directory,
  });
  await first.ask();
  await first.close();
  const second = await hostOf(({ A }) => A.getWithMetadata('key'), { bindings, directory });
  expect(await second.ask()).toEqual({ value: 'kept', metadata: [1], cacheStatus: null });
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[BDB2] [BDB3] rows outlive the host, and migrations run once, in order of number', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'd1-'));
  const migrations = {
    './m/10_row.sql': 'INSERT INTO t VALUES (1)',
    './m/2_table.sql': '-- first\nCREATE TABLE t(a);\n-- end\n',
    './m/11_nothing.sql': '-- nothing yet',
  };
  const ask = async () => {
    const host = await hostOf(
      ({ DB }) =>
        DB.prepare(
          'SELECT a, (SELECT group_concat(name ORDER BY id) FROM d1_migrations) FROM t',
        ).raw(),
      { bindings: { DB: d1({ migrations }) }, directory },
    );
    const answer = await host.ask();
    await host.close();
    return answer;
  };
  expect(await ask()).toEqual([[1, '2_table.sql,10_row.sql,11_nothing.sql']]);
  expect(await ask()).toEqual([[1, '2_table.sql,10_row.sql,11_nothing.sql']]);
  rmSync(directory, { recursive: true });
});

test('[BDB3] a migration that fails is undone and named, and those before it are applied', async () => {
  const migrations = {
    '1_table.sql': 'CREATE TABLE t(a)',
    '2_wrong.sql': 'INSERT INTO t VALUES (1); INSERT INTO nowhere VALUES (1)',
  };
  const directory = mkdtempSync(join(tmpdir(), 'd1-'));
  const read = ({ DB }: Untyped) => DB.prepare('SELECT count(*) AS n FROM t').first('n');
  const host = await hostOf(read, { bindings: { DB: d1({ migrations }) }, directory });
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(host.ask()).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringMatching(
        /2_wrong\.sql failed .*no such table: nowhere.*Correct the file/,
      ),
    });
  }
  await host.close();
  const bindings = { DB: d1({ migrations: { '1_table.sql': 'CREATE TABLE t(a)' } }) };
  const mended = await hostOf(read, { bindings, directory });
  expect(await mended.ask()).toBe(0);
  await mended.close();
  rmSync(directory, { recursive: true });
});

test('[BDB3] a migration of drizzle-kit has the name of its folder, and the table of migrations may have another name', async () => {
  const migrations = {
    '../drizzle/10_b/migration.sql': 'INSERT INTO t VALUES (1)',
    '../drizzle/9_a/migration.sql': 'CREATE TABLE t(a)',
    'nested/1_c.sql': 'INSERT INTO t VALUES (2)',
  };
  const host = await hostOf(
    ({ DB }) => DB.prepare('SELECT name FROM "my ""table" ORDER BY id').raw(),
    { bindings: { DB: d1({ migrations, migrationsTable: 'my "table' }) } },
  );
  const names = ['9_a/migration.sql', '10_b/migration.sql', 'nested/1_c.sql'];
  expect(await host.ask()).toEqual(names.map((name) => [name]));
  await host.close();
});

test('[BDB5] a migration of 5 MB, with a trigger and in a transaction, takes effect: only a statement is limited', async () => {
  const rows = Array.from(
    { length: 80_000 },
    (_, row) => `INSERT INTO t VALUES ('row ${row}; of the seed, as text ');`,
  );
  const file = [
    'PRAGMA defer_foreign_keys = true;',
    'BEGIN TRANSACTION;',
    'CREATE TABLE t(a); -- the rows',
    'CREATE TRIGGER twice AFTER INSERT ON t WHEN new.a = 0 BEGIN INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); END;',
    ...rows,
    'INSERT INTO t VALUES (0);',
    'COMMIT;',
  ].join('\n');
  expect(file.length).toBeGreaterThan(4_500_000);
  const count = ({ DB }: Untyped) => DB.prepare('SELECT count(*) AS n FROM t').first('n');
  const host = await hostOf(count, { bindings: { DB: d1({ migrations: { '1.sql': file } }) } });
  expect(await host.ask()).toBe(80_003);
  await host.close();
});

test('[BDB5] a migration with two transactions, or with a statement that is too long, is MIGRATION_FAILED', async () => {
  const failing = async (file: string) => {
    const migrations = { '1.sql': file };
    const host = await hostOf(({ DB }) => DB.exec('SELECT 1'), {
      bindings: { DB: d1({ migrations }) },
    });
    const error = await host.ask().catch((reason) => reason);
    await host.close();
    return [error.code, error.message];
  };
  const one = 'BEGIN TRANSACTION;\nSELECT 1;\nCOMMIT;\n';
  expect(await failing(one + one)).toEqual([
    'MIGRATION_FAILED',
    expect.stringContaining('several transactions'),
  ]);
  expect(await failing(`SELECT 1; SELECT '${'x'.repeat(100_000)}'; SELECT 2`)).toEqual([
    'MIGRATION_FAILED',
    expect.stringContaining('100000'),
  ]);
});

test('[BDB4] a handle of the object restores a session’s bookmark', async () => {
  const asked: ((env: Untyped) => unknown)[] = [
    async ({ DB }) => {
      const session = DB.withSession('first-primary');
      await session.batch([session.prepare('CREATE TABLE t(a)')]);
      return session.getBookmark();
    },
    ({ DB }) => DB.exec('INSERT INTO t VALUES (1)'),
    ({ DB }) => DB.prepare('SELECT a FROM t').raw(),
    ({ DB }) => DB.prepare('SELECT a FROM t').raw(),
  ];
  const host = await hostOf((env) => asked.shift()!(env), {
    bindings: { DB: d1(), DATA: 'D1Object' },
  });
  const bookmark = (await host.ask()) as string;
  await host.ask();
  expect(await host.ask()).toEqual([[1]]);
  await (await host.storage((host.env as Untyped).DATA.getByName('DB'))).restore(bookmark);
  expect(await host.ask()).toEqual([]);
  await host.close();
});
