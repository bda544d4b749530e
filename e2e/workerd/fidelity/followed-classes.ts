// The published classes that are followed: how each is loaded in Node, which calls are made of it, and what its object has
// in the end.
//
// They are the classes of `npm run fidelity`, as they are. Loading needs a running host: PartyServer reads its globals.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { partyOf } from './followed-party.ts';

/** The options with which wrangler bundles such classes. CommonJS modules require Node's modules. */
export const BUNDLING = {
  target: 'es2022',
  conditions: ['workerd', 'worker', 'browser'],
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire('/');",
  },
};

/** The module that the Vite plugin has for `cloudflare:email`. */
const EMAIL = new URL('../../../worker/realm/modules/cloudflare-email.ts', import.meta.url);

export type ObjectClass = new (ctx: never, env: never) => object;
export type Call = (method: string, ...args: unknown[]) => Promise<unknown>;

/** A call that the server has answered with a value. */
export interface Succeeded {
  /** Counted from 0; no two calls have the same. */
  readonly number: number;
  readonly value: unknown;
}

export interface FollowedClass {
  readonly name: string;
  readonly className: string;
  load(): Promise<ObjectClass>;
  readonly methods: readonly string[];
  /** Made of each device before the others. */
  readonly first?: readonly [method: string, ...args: unknown[]];
  /** Each call but the first one fails. */
  readonly isOnce?: true;
  /** True if the calls of the class wait too long to be forecast. */
  readonly isSlow?: true;
  /** The call of this number. */
  call(number: number): [method: string, ...args: unknown[]];
  /** Expects that each of these calls was applied once, and no other. Waits for what alarms do. */
  expectOnce(call: Call, succeeded: readonly Succeeded[]): Promise<void>;
}

const kept = (): Promise<Record<string, ObjectClass>> =>
  import('../libraries/classes/kept.ts' as string);
const id = (number: number) => `call ${number}`;
const idsOf = (succeeded: readonly Succeeded[]) => succeeded.map(({ number }) => id(number)).sort();
const loaded = async (module: Promise<Record<string, ObjectClass>>, name: string) =>
  (await module)[name]!;

export const FOLLOWED_CLASSES: readonly FollowedClass[] = [
  {
    name: 'a store of TinyBase with its persister of keys',
    className: 'KeptNotes',
    load: () => loaded(kept(), 'KeptNotes'),
    methods: ['add', 'keys'],
    call: (number) => ['add', id(number)],
    expectOnce: async (call, succeeded) =>
      expect(((await call('keys')) as string[]).sort()).toEqual(idsOf(succeeded)),
  },
  {
    name: 'a class with stores of TinyBase and all its persisters',
    className: 'Bases',
    load: () => loaded(import('../libraries/classes/tinybase.ts' as string), 'Bases'),
    methods: ['run'],
    call: () => ['run'],
    // Each run replaces everything, and reads it: a second one cannot be told.
    async expectOnce(call, succeeded) {
      const content = await call('run');
      for (const { value } of succeeded) expect(value).toEqual(content);
    },
  },
  {
    name: "an Actor of Cloudflare's Actors with several alarms",
    className: 'KeptJobs',
    load: () => loaded(kept(), 'KeptJobs'),
    methods: ['add', 'keys'],
    call: (number) => ['add', id(number)],
    expectOnce: async (call, succeeded) => {
      // Each job ends in an alarm of the server.
      await expect.poll(() => call('keys')).toHaveLength(succeeded.length);
      expect(((await call('keys')) as string[]).sort()).toEqual(idsOf(succeeded));
    },
  },
  {
    name: "an Actor of Cloudflare's Actors with persisted properties and migrations",
    className: 'Actors',
    load: () => loaded(import('../libraries/classes/actors.ts' as string), 'Actors'),
    methods: ['run'],
    isSlow: true, // it waits for its alarms, which do not run in a copy
    call: () => ['run'],
    // Each run adds 2 to a persisted property.
    expectOnce: async (call, { length }) =>
      expect(await call('run')).toMatchObject({ count: 2 * (length + 1) }),
  },
  {
    name: 'a server of PartyServer',
    className: 'NotesParty',
    load: async () => {
      const { Server } = await import('partyserver' as string);
      return partyOf(Server as never);
    },
    methods: ['setName', 'say', 'texts'],
    first: ['setName', 'a'],
    call: (number) => ['say', id(number)],
    expectOnce: async (call, succeeded) =>
      expect(((await call('texts')) as string[]).sort()).toEqual(idsOf(succeeded)),
  },
  {
    name: 'an Agent of the Agents SDK',
    className: 'Desk',
    load: () => loaded(bundled('../libraries/classes/agent.ts'), 'Desk'),
    methods: ['add'],
    call: (number) => ['add', 2 ** number],
    expectOnce: async (call, succeeded) =>
      expect(await call('add', 0)).toBe(
        succeeded.reduce((sum, { number }) => sum + 2 ** number, 0),
      ),
  },
  {
    name: "a class with Drizzle's driver and migrator",
    className: 'Library',
    load: () => loaded(import('../libraries/classes/drizzle.ts' as string), 'Library'),
    methods: ['run'],
    call: () => ['run'],
    async expectOnce(call, succeeded) {
      // Each run has made one author, whose id is AUTOINCREMENT.
      const idOf = (value: unknown) => (value as { author: { id: number } }).author.id;
      const ids = succeeded.map(({ value }) => idOf(value)).sort((one, other) => one - other);
      expect(ids).toEqual(ids.map((_, i) => i + 1));
      expect(idOf(await call('run'))).toBe(ids.length + 1);
    },
  },
  {
    name: "a class with Kysely and kysely-do's dialect",
    className: 'Kysely',
    load: () => loaded(import('../libraries/classes/kysely.ts' as string), 'Kysely'),
    methods: ['run'],
    isOnce: true,
    call: () => ['run'],
    expectOnce: expectFirstOnly,
  },
  {
    name: 'a class with workers-qb',
    className: 'Qb',
    load: () => loaded(import('../libraries/classes/qb.ts' as string), 'Qb'),
    methods: ['run'],
    isOnce: true,
    call: () => ['run'],
    expectOnce: expectFirstOnly,
  },
];

/** A second run inserts a name that is there already. */
async function expectFirstOnly(call: Call, succeeded: readonly Succeeded[]): Promise<void> {
  expect(succeeded).toHaveLength(1);
  await expect(call('run')).rejects.toThrow(/UNIQUE/);
}

/** Loads the class, in a host that is closed again. */
export async function loadClass({ load }: FollowedClass): Promise<ObjectClass> {
  const host = await createObjects({});
  try {
    return await load();
  } finally {
    await host.close();
  }
}

/** A module with its libraries in one file: those that import `cloudflare:workers` cannot be loaded from node_modules. */
async function bundled(path: string): Promise<Record<string, ObjectClass>> {
  const folder = mkdtempSync(join(tmpdir(), 'followed-class-'));
  try {
    const outfile = join(folder, 'bundle.js');
    await build({
      entryPoints: [fileURLToPath(new URL(path, import.meta.url))],
      ...BUNDLING,
      ...{ bundle: true, format: 'esm', outfile, logLevel: 'error' },
      external: ['cloudflare:workers', 'node:*', 'path'],
      alias: { 'cloudflare:email': fileURLToPath(EMAIL) },
    });
    return (await import(/* @vite-ignore */ outfile)) as Record<string, ObjectClass>;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
