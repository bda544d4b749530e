// The same program on objects in Node and on workerd; pages are in e2e/specs/migrate.spec.ts.

import { build } from 'esbuild';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../worker/entries/node-objects.ts';
import { type Migration, migrate } from './migrate.ts';

type Steps = readonly Migration<DurableObjectLike>[];
type DurableObjectLike = Database['storage'];

/** Programs by name, so that both engines run the same. */
const PROGRAMS = `
  export const NOTES = { name: 'notes', up: 'CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT); INSERT INTO note(body) VALUES (1), (2)' };
  export const TAGS = {
    name: 'tags',
    up: async (storage) => {
      storage.sql.exec("ALTER TABLE note ADD COLUMN tag TEXT DEFAULT 'new'");
      await storage.put('tagged', true);
    },
  };
  export const BROKEN = {
    name: 'broken',
    up: async (storage) => {
      storage.sql.exec('CREATE TABLE half(x)');
      await storage.put('half', 1);
      throw new Error('out of ideas');
    },
  };
  const RENAMED = { ...NOTES, name: 'other' };
  const attempt = async (work) => {
    try {
      return await work();
    } catch (error) {
      return [error.name, error.code ?? null, error.message];
    }
  };
  const state = async (storage) => ({
    tables: storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\\\_cf%' ESCAPE '\\\\' ORDER BY name").toArray().map(({ name }) => name),
    keys: [...(await storage.list()).keys()],
    made: storage.sql.exec('SELECT position, name FROM ctx_migration ORDER BY position').toArray(),
  });
  export async function run(storage, migrate) {
    const results = [];
    results.push(await migrate(storage, [NOTES]));
    results.push(await migrate(storage, [NOTES]));
    results.push(await migrate(storage, [NOTES, TAGS]));
    results.push(storage.sql.exec('SELECT * FROM note').toArray());
    results.push(await attempt(() => migrate(storage, [NOTES, TAGS, BROKEN])));
    results.push(await state(storage));
    results.push(await attempt(() => migrate(storage, [NOTES])));
    results.push(await attempt(() => migrate(storage, [RENAMED, TAGS])));
    results.push(await attempt(() => migrate(storage, [NOTES, TAGS, { ...NOTES }])));
    results.push(await attempt(() => migrate(storage, [{ name: 'x' }])));
    results.push(await attempt(() => migrate(storage, [{ up: 'SELECT 1' }])));
    results.push(await attempt(() => migrate(storage, {})));
    results.push(await state(storage));
    return JSON.parse(JSON.stringify(results));
  }
`;

class Database extends DurableObject {
  get storage() {
    return this.ctx.storage;
  }

  async run() {
    const url = `data:text/javascript,${encodeURIComponent(PROGRAMS)}`;
    const { run } = (await import(/* @vite-ignore */ url)) as {
      run(storage: unknown, run: unknown): Promise<unknown>;
    };
    return run(this.ctx.storage, migrate);
  }

  migrateBy(name: string, count: number) {
    const steps = Array.from({ length: count }, (_, index) => ({
      name: `${index}`,
      up: `CREATE TABLE t${index}(x); INSERT INTO t${index} VALUES ('${name}')`,
    }));
    return migrate(this.ctx.storage, steps);
  }

  async commits() {
    const before = await this.ctx.storage.getCurrentBookmark();
    await migrate(this.ctx.storage, [{ name: '0', up: 'SELECT 1' }] as Steps);
    return [before, await this.ctx.storage.getCurrentBookmark()];
  }
}

const NOTES_STATE = {
  tables: ['ctx_migration', 'note'],
  keys: ['tagged'],
  made: [
    { position: 0, name: 'notes' },
    { position: 1, name: 'tags' },
  ],
};

describe('migrate', () => {
  let objects: Awaited<ReturnType<typeof createObjects<{ Database: typeof Database }>>>;
  beforeAll(async () => {
    objects = await createObjects({ Database });
  });
  afterAll(() => objects.close());

  test('[APP1] each migration is made once, in order, whole or not at all; others are an error', async () => {
    const results = (await objects.env.Database.getByName('a').run()) as unknown[];
    expect(results).toEqual([
      ['notes'],
      [],
      ['tags'],
      [
        { id: 1, body: '1', tag: 'new' },
        { id: 2, body: '2', tag: 'new' },
      ],
      ['Error', null, 'out of ideas'],
      NOTES_STATE,
      ['Error', 'MIGRATION_CONFLICT', expect.stringContaining('"tags", which this program does')],
      ['Error', 'MIGRATION_CONFLICT', expect.stringContaining('migration 1 is "other" in the')],
      [
        'TypeError',
        'INVALID_ARGUMENT',
        expect.stringContaining('two migrations are called "notes"'),
      ],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('"x" has no `up`')],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('migration 1 has no name')],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('takes an array')],
      NOTES_STATE,
    ]);
  });

  test('[APP1] workerd answers the same', async () => {
    const source = `
      import { DurableObject } from 'cloudflare:workers';
      import { migrate } from './migrate.ts';
      ${PROGRAMS}
      export class Database extends DurableObject {
        run() { return run(this.ctx.storage, migrate); }
      }
      export default {
        fetch: async (_, env) => Response.json(await env.DATABASE.getByName('a').run()),
      };`;
    const { outputFiles } = await build({
      stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'ts' },
      bundle: true,
      format: 'esm',
      target: 'es2022',
      external: ['cloudflare:workers'],
      write: false,
    });
    const workerd = new Miniflare({
      compatibilityDate: '2026-07-30',
      log: new Log(LogLevel.NONE),
      modules: true,
      script: outputFiles[0]!.text,
      durableObjects: { DATABASE: { className: 'Database', useSQLite: true } },
    });
    try {
      const native = await (await workerd.dispatchFetch('http://migrate/')).json();
      expect(await objects.env.Database.getByName('beside').run()).toEqual(native);
    } finally {
      await workerd.dispose();
    }
  });

  test('[APP1] callers at the same time make each migration once between them', async () => {
    const stub = objects.env.Database.getByName('b');
    const made = await Promise.all(['x', 'y', 'z'].map((name) => stub.migrateBy(name, 5)));
    expect(made.flat().sort()).toEqual(['0', '1', '2', '3', '4']);
  });

  test('[APP1] an object that needs no migration is not written to', async () => {
    const stub = objects.env.Database.getByName('c');
    await stub.migrateBy('x', 1);
    const [before, after] = await stub.commits();
    expect(after).toBe(before);
  });
});
