// All settings of wrangler's schema, as each program of this package takes them: `dev`, and the plugins for Vite and Vitest.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ctxStorage } from '../../vite/plugin.ts';
import { parseWranglerConfig } from '../../vite/wrangler-config.ts';
import { cloudflareTest } from './plugin.ts';
import KEYS from './wrangler-keys.json' with { type: 'json' };

type Fields = Record<string, unknown>;

/** What a program makes of a file, and what it tells of it. */
interface Taken {
  readonly read: unknown;
  readonly told: readonly string[];
}

type Program = (file: Fields, environment: string | undefined) => Taken | Promise<Taken>;

let root: string;
let path: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ctx-storage-keys-'));
  path = join(root, 'wrangler.json');
  writeFileSync(join(root, 'main.js'), '');
});
afterAll(() => rmSync(root, { recursive: true }));

const dev: Program = (file, environment) => {
  const config = parseWranglerConfig(JSON.stringify(file), path, 'all', environment);
  const { warnings, missing, ...read } = config;
  return { read, told: [...warnings, ...missing.map(({ section }) => section)] };
};

/** Calls hooks of a plugin as its host does. */
const hooksOf = (plugin: object) => plugin as Record<'config' | 'configResolved', Function>;

const vite: Program = (file, environment) => {
  writeFileSync(path, JSON.stringify(file));
  const chosen =
    environment === undefined ? file : (file.env as Record<string, Fields>)[environment]!;
  const vars = Object.keys(chosen.vars ?? {});
  const plugins = ctxStorage({ vars, ...(environment !== undefined && { environment }) });
  const starter = hooksOf(plugins.find(({ name }) => name === 'ctx-storage:start')!);
  const options = starter.config.call({ meta: {} }, { root }, { command: 'build' }) as Fields;
  const told: string[] = [];
  const logger = { warn: (text: string) => told.push(text) };
  starter.configResolved({ root, cacheDir: root, logger });
  const files = ['objects.worker.js', 'objects.env.js'].map((name) =>
    readFileSync(join(root, 'ctx-storage', name), 'utf8'),
  );
  return { read: [files, options.optimizeDeps], told };
};

const vitest: Program = async (file, environment) => {
  writeFileSync(path, JSON.stringify(file));
  const told: string[] = [];
  const warn = vi.spyOn(console, 'warn').mockImplementation((text: string) => told.push(text));
  const [runner] = cloudflareTest({
    wrangler: { configPath: path, ...(environment !== undefined && { environment }) },
  });
  const user: { root: string; test?: { setupFiles: string[] } } = { root };
  try {
    const { test: options } = await hooksOf(runner!).config(user);
    const [setup] = user.test!.setupFiles;
    return { read: [readFileSync(setup!, 'utf8'), options.provide], told };
  } finally {
    warn.mockRestore();
  }
};

const PROGRAMS: Readonly<Record<string, Program>> = { dev, vite, vitest };

const kinds = new Map(Object.entries(KEYS.keys));

/** Settings whose value is not an object with further settings. */
const LEAVES = [...kinds.keys()].filter(
  (key) =>
    ![...kinds.keys()].some(
      (other) => other !== key && /^[.[]/.test(other.slice(key.length)) && other.startsWith(key),
    ),
);

/** They mean nothing in a local run: an address for editors, and a name for a deployment to compare. */
const LABELS = ['$schema', 'migrations[].tag'];

/** Neighbours without which a setting has no meaning. */
const NEIGHBOURS: Readonly<Record<string, Fields>> = {
  build: { command: 'make' },
  'migrations[]': { new_classes: ['x'] },
  'exports.*': { type: 'durable-object', storage: 'sqlite' },
};

const EXAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  string: ['x', 'y'],
  number: [5, 7],
  boolean: [true, false],
  array: [['x'], ['y']],
  object: [{ K: 'x' }, { K: 'y' }],
  null: [null],
};

const SPECIAL: Readonly<Record<string, readonly unknown[]>> = {
  compatibility_date: ['2026-07-01', '2026-07-02'],
};

function valuesOf(key: string): readonly unknown[] {
  const alternatives = kinds.get(key)!.replaceAll('!', '').split('|');
  const examples = alternatives.flatMap(
    (kind) => EXAMPLES[kind] ?? [/^\d+$/.test(kind) ? Number(kind) : kind],
  );
  return SPECIAL[key] ?? examples;
}

/** The required settings of a place, and its neighbours. */
function around(place: string): Fields {
  const prefix = place === '' ? '' : `${place}.`;
  const required = [...kinds].filter(
    ([key, kind]) =>
      key.startsWith(prefix) && kind.includes('!') && /^[^.]+$/.test(key.slice(prefix.length)),
  );
  const fields = required.map(([key, kind]) => [
    key.slice(prefix.length),
    kind === 'object!' ? around(key) : valuesOf(key)[0],
  ]);
  return { ...Object.fromEntries(fields), ...NEIGHBOURS[place] };
}

/** An object with the setting, at any depth; undefined: without it. */
function withSetting(key: string, value: unknown, place = ''): Fields {
  const rest = place === '' ? key : key.slice(place.length + 1);
  const [first, ...more] = rest.split('.') as [string, ...string[]];
  const name = first.replace('[]', '');
  const fields = around(place);
  const below = place === '' ? first : `${place}.${first}`;
  const inner = more.length === 0 ? value : withSetting(key, value, below);
  const member = first.endsWith('[]') ? [inner] : inner;
  return { ...fields, [name === '*' ? 'K' : name]: member };
}

/** The names of the setting and of the sections around it, as a program may tell them. */
function namesOf(key: string): string[] {
  const parts = key.replaceAll('[]', '').replaceAll('*', 'K').split('.');
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}

async function isReadOrNamed(
  program: Program,
  key: string,
  environment: string | undefined,
): Promise<boolean> {
  const taken: Taken[] = [];
  for (const value of [undefined, ...valuesOf(key)]) {
    const fields = { main: 'main.js', ...withSetting(key, value) };
    const file = environment === undefined ? fields : { main: 'main.js', env: { e: fields } };
    try {
      taken.push(await program(JSON.parse(JSON.stringify(file)), environment));
    } catch (error) {
      taken.push({ read: undefined, told: [(error as Error).message] });
    }
  }
  const told = taken.slice(1).flatMap((each) => each.told);
  const words = told
    .join(' ')
    .replaceAll(/\.\d+/g, '')
    .split(/[\s,:;()"]+/);
  if (namesOf(key).some((name) => words.includes(name))) return true;
  // An error may have the place of the setting as a line, and its last name.
  const isRefused = taken.slice(1).every(({ read }) => read === undefined);
  if (isRefused && words.includes(key.replace(/^.*\./, ''))) return true;
  const read = taken
    .filter(({ read }) => read !== undefined)
    .map(({ read }) => JSON.stringify(read));
  return new Set(read).size > 1;
}

test.for(
  Object.keys(PROGRAMS).flatMap(
    (name) =>
      [
        [name, undefined],
        [name, 'e'],
      ] as const,
  ),
)(
  '[VITE27] each setting of wrangler’s schema is read by %s or named, at the top of the file and in an environment: %s',
  { tags: 'long' },
  async ([name, environment]) => {
    const keys = LEAVES.filter(
      (key) =>
        environment === undefined || KEYS.ofEnvironments.includes(/^\w+/.exec(key)?.[0] ?? ''),
    );
    expect(keys.length).toBeGreaterThan(200);
    const silent: string[] = [];
    for (const key of keys) {
      if (!(await isReadOrNamed(PROGRAMS[name]!, key, environment))) silent.push(key);
    }
    expect(silent).toEqual(LABELS.filter((key) => keys.includes(key)));
  },
);
