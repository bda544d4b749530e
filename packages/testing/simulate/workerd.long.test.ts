// Tests the scripts of a simulation in real workerd: a right one passes, and one with a wrong expectation of the
// platform fails there.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { exactlyOnce } from './invariants.ts';
import { type SimulateOptions, SimulationFailed, simulate } from './simulate.ts';

/** The same class as in the module below. */
class Notes extends DurableObject {
  readonly recent: string[] = [];
  async add(text: string): Promise<number> {
    this.recent.push(text);
    await this.ctx.storage.put(text, true);
    return (await this.list()).length;
  }
  async list(): Promise<string[]> {
    return [...(await this.ctx.storage.list()).keys()];
  }
  async remembered(): Promise<number> {
    return this.recent.length;
  }
  async refuse(): Promise<void> {
    throw new RangeError('refused by the class');
  }
  async wide(): Promise<unknown> {
    return this.ctx.storage.sql.exec(WIDE).one();
  }
}

/** workerd limits the width of printf(), while the official WebAssembly build of SQLite does not. */
const WIDE = "SELECT length(printf('%.200000d', 1)) AS digits";

const MODULE = `
  import { DurableObject } from 'ctx-storage/worker';
  export class Notes extends DurableObject {
    readonly recent: string[] = [];
    async add(text: string) {
      this.recent.push(text);
      await this.ctx.storage.put(text, true);
      return (await this.list()).length;
    }
    async list() {
      return [...(await this.ctx.storage.list()).keys()];
    }
    async remembered() {
      return this.recent.length;
    }
    async refuse() {
      throw new RangeError('refused by the class');
    }
    async wide() {
      return this.ctx.storage.sql.exec(${JSON.stringify(WIDE)}).one();
    }
    async fetch(request: Request) {
      return new Response(\`\${request.method} \${await request.text()} of \${this.ctx.id.name}\`);
    }
  }`;

let folder: string;
let workerd: NonNullable<SimulateOptions<{ Notes: typeof Notes }>['workerd']>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-workerd-'));
  const file = join(folder, 'notes.ts');
  writeFileSync(file, MODULE);
  workerd = { module: pathToFileURL(file), compatibilityDate: '2026-07-01' };
});
afterAll(() => rmSync(folder, { recursive: true }));

const calls: SimulateOptions<{ Notes: typeof Notes }>['calls'] = ({ env, pick, unique }) => [
  async () => expect(await env.Notes.getByName(pick(['a', 'b'])).add(unique())).toBeGreaterThan(0),
  async () => {
    const failed = env.Notes.getByName('a').refuse();
    await expect(failed).rejects.toMatchObject({
      name: 'RangeError',
      message: 'refused by the class',
    });
  },
];

const once = exactlyOnce<{ Notes: typeof Notes }>(async ({ each }) =>
  (await Promise.all(each('Notes').map((notes) => notes.list()))).flat(),
);

test('[SIMU21] a right script passes in workerd, through restarts and lost replies', async () => {
  const { coverage } = await simulate(
    { Notes },
    { runs: 3, steps: 40, retries: 0, calls, invariant: once, workerd },
  );
  expect([...coverage.faults.keys()].sort()).toEqual(['eviction', 'replyLost']);
  expect(coverage.calls).toBeGreaterThan(20);
});

test('[SIMU21] memory that a test expects to outlive an eviction is lost in workerd, too', async () => {
  const options: SimulateOptions<{ Notes: typeof Notes }> = {
    runs: 20,
    retries: 0,
    faults: { eviction: 20 },
    calls: ({ env, unique }) => [() => env.Notes.getByName('a').add(unique())],
    invariant: async ({ env }) => {
      const notes = env.Notes.getByName('a');
      expect(await notes.remembered()).toBe((await notes.list()).length);
    },
  };
  const failure = await simulate({ Notes }, { ...options, workerd }).catch((error) => error);
  expect(failure).toBeInstanceOf(SimulationFailed);
  expect(failure.message).toMatch(/fails in workerd at the end: .*to be/s);
  expect(failure.script.join('\n')).toContain('eviction');
});

test('[SIMU21] a script that holds here, and is wrong about the platform, fails in workerd', async () => {
  const options: SimulateOptions<{ Notes: typeof Notes }> = {
    runs: 2,
    faults: false,
    calls: ({ env }) => [() => env.Notes.getByName('a').wide()],
    invariant: ({ calls: made }) => {
      for (const { outcome } of made) {
        if (outcome.kind === 'answered') expect(outcome.value).toEqual({ digits: 200_000 });
        if (outcome.kind === 'failed') throw outcome.error;
      }
    },
  };
  await simulate({ Notes }, options);
  const failure = await simulate({ Notes }, { ...options, workerd }).catch((error) => error);
  expect(failure).toBeInstanceOf(SimulationFailed);
  expect(failure.message).toContain('fails in workerd at the end');
});

test('[SIMU21] requests reach the object, whose setup was in workerd', async () => {
  await simulate(
    { Notes },
    {
      runs: 1,
      setup: async ({ env }) => void (await env.Notes.getByName('a').add('first')),
      calls: ({ env }) => [
        async () => {
          const stub = env.Notes.getByName('a') as unknown as {
            fetch(url: string, init: RequestInit): Promise<Response>;
          };
          const response = await stub.fetch('https://notes/', { method: 'POST', body: 'x' });
          expect(await response.text()).toBe('POST x of a');
        },
      ],
      invariant: async ({ env }) =>
        expect(await env.Notes.getByName('a').list()).toEqual(['first']),
      workerd,
    },
  );
});

test('[SIMU21] a module that cannot be bundled fails by its name', async () => {
  const missing = { module: join(folder, 'nothing.ts') };
  await expect(simulate({ Notes }, { calls, workerd: missing })).rejects.toThrow(/nothing\.ts/);
});
