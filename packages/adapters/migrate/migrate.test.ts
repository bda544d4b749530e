// Runs the same migrations on objects in Node and on workerd. e2e/specs/migrate.spec.ts tests them in pages.

import { build } from 'esbuild';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { type Migration, migrate } from './migrate.ts';

type Steps = readonly Migration<DurableObjectLike>[];
type DurableObjectLike = Database['storage'];

/** The source of the programs that both engines run. */
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
  const HALF = { name: 'half', up: 'CREATE TABLE half(x); INSERT INTO nowhere VALUES (1)' };
  const table = (name, more) => ({ name, up: \`CREATE TABLE \${name}(x)\`, ...more });
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
    results.push(await attempt(() => migrate(storage, [NOTES, TAGS, HALF])));
    results.push(await attempt(() => migrate(storage, [NOTES])));
    results.push(await attempt(() => migrate(storage, [])));
    results.push(await attempt(() => migrate(storage, [RENAMED, TAGS])));
    results.push(await attempt(() => migrate(storage, [NOTES, table('ours')])));
    results.push(await attempt(() => migrate(storage, [TAGS, NOTES])));
    results.push(await attempt(() => migrate(storage, [NOTES, { ...TAGS, breaking: '' }])));
    results.push(await attempt(() => migrate(storage, [NOTES, TAGS, { ...NOTES }])));
    results.push(await attempt(() => migrate(storage, [{ name: 'x' }])));
    results.push(await attempt(() => migrate(storage, [{ up: 'SELECT 1' }])));
    results.push(await attempt(() => migrate(storage, [{ name: '\\ud800', up: 'SELECT 1' }])));
    results.push(await attempt(() => migrate(storage, {})));
    results.push(await state(storage));
    return JSON.parse(JSON.stringify(results));
  }
  /** Runs the migrations of several builds of one app, in the order in which an object meets them. */
  export async function deploy(storage, migrate) {
    const [one, two, three] = [table('one'), table('two'), table('three', { breaking: 3 })];
    const four = table('four', { breaking: true });
    const results = [];
    for (const build of [
      [one], [one, two], [one], [one, two, three], [one, two], [one], [one, two, three, table('later')],
      [one, two, three], [one, two], [one, two, three, table('later'), four], [one, two, three],
    ]) results.push(await attempt(() => migrate(storage, build)));
    results.push(storage.sql.exec('SELECT name, needs FROM ctx_migration ORDER BY position').raw().toArray());
    return JSON.parse(JSON.stringify(results));
  }
  /** Runs migrations on an object whose table lacks the column \`needs\`, which early checkouts did not have. */
  export async function early(storage, migrate) {
    storage.sql.exec("CREATE TABLE ctx_migration(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE); INSERT INTO ctx_migration VALUES (0, 'one')");
    return [
      await migrate(storage, [table('one'), table('two')]),
      await migrate(storage, [table('one'), table('two'), table('three', { breaking: 3 })]),
      await migrate(storage, [table('one'), table('two'), table('three', { breaking: 3 }), table('four')]),
      storage.sql.exec('SELECT name, needs FROM ctx_migration ORDER BY position').raw().toArray().map((row) => [...row]),
    ];
  }
`;

type Program = 'run' | 'deploy' | 'early';

class Database extends DurableObject {
  get storage() {
    return this.ctx.storage;
  }

  async run(program: Program) {
    const url = `data:text/javascript,${encodeURIComponent(PROGRAMS)}`;
    const programs = (await import(/* @vite-ignore */ url)) as Record<
      Program,
      (storage: unknown, run: unknown) => Promise<unknown[]>
    >;
    return programs[program](this.ctx.storage, migrate);
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

  test('[APP1] each migration is applied once, in order, whole or not at all; wrong lists are an error', async () => {
    const results = (await objects.env.Database.getByName('a').run('run')) as unknown[];
    expect(results).toEqual([
      ['notes'],
      [],
      ['tags'],
      [
        { id: 1, body: '1', tag: 'new' },
        { id: 2, body: '2', tag: 'new' },
      ],
      ['Error', 'MIGRATION_FAILED', 'migrate: "broken" failed and left no change: out of ideas'],
      NOTES_STATE,
      [
        'Error',
        'MIGRATION_FAILED',
        expect.stringMatching(/"half" failed .*: no such table: nowhere/),
      ],
      [],
      [],
      [
        'Error',
        'MIGRATION_CONFLICT',
        expect.stringMatching(/1 is "other" in the .*has no "notes": it was renamed/),
      ],
      [
        'Error',
        'MIGRATION_CONFLICT',
        expect.stringMatching(/2 is "ours" in the .*has no "tags".*another build has made it/),
      ],
      [
        'Error',
        'MIGRATION_CONFLICT',
        expect.stringMatching(/1 is "tags" in the .*has "notes" as migration 2/),
      ],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('"tags" has a `breaking` that is')],
      [
        'TypeError',
        'INVALID_ARGUMENT',
        expect.stringContaining('two migrations are called "notes"'),
      ],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('"x" has no `up`')],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('migration 1 has no name')],
      [
        'TypeError',
        'INVALID_ARGUMENT',
        expect.stringContaining('migration 1 has a lone surrogate'),
      ],
      ['TypeError', 'INVALID_ARGUMENT', expect.stringContaining('takes an array')],
      NOTES_STATE,
    ]);
  });

  test('[APP1] a build that is rolled back continues, unless a newer migration is marked as breaking', async () => {
    const results = await objects.env.Database.getByName('deployed').run('deploy');
    const needs = (text: string) => ['Error', 'MIGRATION_CONFLICT', expect.stringContaining(text)];
    const three = needs('had "three", which is marked as breaking and which this build does not');
    expect(results).toEqual([
      ['one'],
      ['two'],
      [],
      ['three'],
      three,
      needs('needs build 3 or a newer one; nothing was changed'),
      ['later'],
      [],
      three,
      ['four'],
      needs(
        'had "four", which is marked as breaking and which this build does not have. The object needs a build that has it',
      ),
      [
        ['one', null],
        ['two', null],
        ['three', '3'],
        ['later', null],
        ['four', ''],
      ],
    ]);
  });

  test('[APP1] a table without the column for breaking migrations gets it with the first of them', async () => {
    expect(await objects.env.Database.getByName('early').run('early')).toEqual([
      ['two'],
      ['three'],
      ['four'],
      [
        ['one', null],
        ['two', null],
        ['three', '3'],
        ['four', null],
      ],
    ]);
  });

  test('[APP1] workerd gives the same results', async () => {
    const source = `
      import { DurableObject } from 'cloudflare:workers';
      import { migrate } from './migrate.ts';
      ${PROGRAMS}
      export class Database extends DurableObject {
        run() { return run(this.ctx.storage, migrate); }
        deploy() { return deploy(this.ctx.storage, migrate); }
        early() { return early(this.ctx.storage, migrate); }
      }
      export default {
        async fetch({ url }, env) {
          const program = new URL(url).pathname.slice(1);
          return Response.json(await env.DATABASE.getByName(program)[program]());
        },
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
      for (const program of ['run', 'deploy', 'early'] as const) {
        const native = await (await workerd.dispatchFetch(`http://migrate/${program}`)).json();
        const here = await objects.env.Database.getByName(`${program} beside`).run(program);
        expect(here).toEqual(native);
      }
    } finally {
      await workerd.dispose();
    }
  });

  test('[APP1] of callers at the same time, one applies each migration', async () => {
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
