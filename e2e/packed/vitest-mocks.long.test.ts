// `ctx-storage/vitest` of the packed package: tests change `env`, spy on bindings, and mock modules.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { CONFIG, VitestProject } from './vitest-project.ts';

let project: VitestProject;

beforeEach(async () => {
  project = await VitestProject.make();
  project.write('src/greet.ts', "export const greet = (name: string) => 'hello ' + name;");
  project.write(
    'src/index.ts',
    `import { DurableObject } from 'cloudflare:workers';
    import { greet } from './greet';
    export class Room extends DurableObject {
      greet(name: string) { return greet(name); }
      cached() { return this.env.CACHE.get('a'); }
      named() { return this.env.NAME ?? null; }
    }
    export default {
      async fetch(request, env) {
        const room = env.ROOM.getByName('a');
        switch (new URL(request.url).pathname) {
          case '/name': return Response.json([env.NAME ?? null, await room.named()]);
          case '/cached': return Response.json([await env.CACHE.get('a'), await room.cached()]);
          case '/rows': return Response.json((await env.DB.prepare('SELECT * FROM item').all()).results);
          default: return new Response(greet('entry') + ', ' + (await room.greet('object')));
        }
      },
    };`,
  );
});
afterEach(() => project.remove());

const HEAD = `import { env, exports } from 'cloudflare:workers';
  import { SELF } from 'cloudflare:test';
  import { afterEach, expect, it, vi } from 'vitest';
  const ask = async (path = '/') => (await SELF.fetch('http://x' + path)).text();\n`;

test('[VT11] values, fakes and spies of a test reach events and objects, and end with it', () => {
  project.write(
    'test/env.test.ts',
    `${HEAD}
    afterEach(() => vi.restoreAllMocks());
    it('sets', async () => { env.NAME = 'set'; expect(await ask('/name')).toBe('["set","set"]'); });
    it('deletes', async () => { delete env.NAME; expect(await ask('/name')).toBe('[null,null]'); });
    it('spies', async () => {
      const get = vi.spyOn(env.CACHE, 'get').mockResolvedValue('spied');
      expect(await ask('/cached')).toBe('["spied","spied"]');
      expect(get).toHaveBeenCalledTimes(2);
    });
    it('restores', async () => expect(await ask('/cached')).toBe('[null,null]'));
    it('fakes', async () => {
      const { CACHE } = env;
      env.CACHE = { get: async () => 'fake' };
      expect(await ask('/cached')).toBe('["fake","fake"]');
      env.CACHE = CACHE;
      expect(await ask('/cached')).toBe('[null,null]');
    });
    it('spies on a namespace', async () => {
      const getByName = vi.spyOn(env.ROOM, 'getByName');
      await ask();
      expect(getByName).toHaveBeenCalledWith('a');
    });
    it('spies on a database that fails', async () => {
      vi.spyOn(env.DB, 'prepare').mockImplementation(() => { throw new Error('down'); });
      await expect(exports.default.fetch('http://x/rows')).rejects.toThrow('down');
    });`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed).toHaveLength(7);
});

test.for([
  ['a factory', "vi.mock('../src/greet', () => ({ greet: (name) => 'mock ' + name }));", 'mock'],
  [
    'the original in part',
    "vi.mock('../src/greet', async (original) => ({ ...(await original()), greet: (name) => 'mock ' + name }));",
    'mock',
  ],
  [
    'hoisted values',
    "const mocked = vi.hoisted(() => ({ greet: (name) => 'mock ' + name })); vi.mock('../src/greet', () => mocked);",
    'mock',
  ],
  ['no factory', "vi.mock('../src/greet');", 'undefined'],
] as const)(
  '[VT12] a module of the Worker that vi.mock replaces by %s is replaced for events and objects',
  ([, mock, word]) => {
    const answer = word === 'mock' ? 'mock entry, mock object' : 'undefined, undefined';
    project.write(
      'test/mock.test.ts',
      `${HEAD}${mock}\nit('mocks', async () => expect(await ask()).toBe('${answer}'));`,
    );
    project.write(
      'test/real.test.ts',
      `${HEAD}it('is real', async () => expect(await ask()).toBe('hello entry, hello object'));`,
    );
    const { passed, failed, output } = project.run();
    expect(failed, output).toEqual([]);
    expect(passed.sort()).toEqual(['is real', 'mocks']);
  },
);

test('[VT12] with mocks, a setup file still uses bindings, and a test imports the Worker that events run', () => {
  project.write(
    'test/setup.ts',
    `import { env } from 'cloudflare:workers';
    await env.DB.exec('CREATE TABLE item (name TEXT)');
    await env.DB.exec("INSERT INTO item VALUES ('set up')");`,
  );
  project.write(
    'vitest.config.ts',
    `import { cloudflareTest } from 'ctx-storage/vitest';
    export default { plugins: [cloudflareTest()], test: { setupFiles: ['test/setup.ts'] } };`,
  );
  project.write(
    'test/mock.test.ts',
    `${HEAD}
    import { runInDurableObject } from 'cloudflare:test';
    import { greet } from '../src/greet';
    import { Room } from '../src/index';
    vi.mock('../src/greet', { spy: true });
    it('spies', async () => {
      expect(await ask()).toBe('hello entry, hello object');
      expect(greet).toHaveBeenCalledTimes(2);
    });
    it('is one module', () => runInDurableObject(env.ROOM.getByName('a'), (room) => expect(room).toBeInstanceOf(Room)));
    it('keeps rows', async () => expect(await ask('/rows')).toBe('[{"name":"set up"}]'));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed).toHaveLength(3);
});

test('[VT13] a mock that comes too late, and a call before the Worker is imported, are errors that say so', () => {
  project.write(
    'test/helper.ts',
    "import { vi } from 'vitest'; vi.mock('../src/greet', () => ({ greet: () => 'late' })); await import('../src/greet');",
  );
  project.write('test/late.test.ts', `${HEAD}import './helper';\nit('is late', () => {});`);
  project.write(
    'test/early.test.ts',
    `${HEAD}vi.mock('../src/greet', () => ({ greet: () => 'mock' }));
    const error = await env.ROOM.getByName('a').greet('early').catch((error) => error);
    it('is early', () => expect(error.message).toContain('an object of class Room while its file is imported'));`,
  );
  const { passed, failed, output } = project.run();
  expect(passed).toEqual(['is early']);
  expect(`${failed.join()}${output}`).toMatch(/vi\.mock\(\) of \S*greet\.ts comes too late/);
});

test('[VT14] a function gives the options; inject(), and an option that does not exist, fail the start by name', () => {
  project.write(
    'test/options.test.ts',
    `${HEAD}it('has options', async () => expect(await ask('/name')).toBe('["given","given"]'));`,
  );
  project.configure("async () => ({ miniflare: { bindings: { NAME: 'given' } } })");
  expect(project.run().passed).toEqual(['has options']);
  project.configure("({ inject }) => ({ miniflare: { bindings: { NAME: inject('name') } } })");
  expect(project.run().output).toContain('cloudflareTest: inject("name") does not exist here');
  project.configure("{ minflare: { bindings: { NAME: 'given' } } }");
  expect(project.run().output).toContain('cloudflareTest: minflare does not exist here');
});

test('[VT15] process.env has the variables and secrets of the Worker, as text', () => {
  project.write('.dev.vars', 'TOKEN=secret\n');
  const vars = { LIST: [1, 2] };
  const compatibility_flags = ['nodejs_compat'];
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, vars, compatibility_flags }));
  project.write(
    'test/process.test.ts',
    `${HEAD}it('has values', () => expect([process.env.LIST, process.env.TOKEN]).toEqual(['[1,2]', 'secret']));`,
  );
  const { passed, output } = project.run();
  expect(passed, output).toEqual(['has values']);
});
