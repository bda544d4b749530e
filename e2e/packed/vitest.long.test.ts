// `ctx-storage/vitest` of the packed package: doubles, options, files, several projects, secrets.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CONFIG, VitestProject } from './vitest-project.ts';

let project: VitestProject;

beforeEach(async () => {
  project = await VitestProject.make();
});
afterEach(() => project.remove());

test('[VT4] a member that does not exist names itself when it is used; doubles take its place', () => {
  project.write(
    'test/ai.test.ts',
    `import { env, fetchMock } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('uses AI', async () => expect(await env.AI.run('model')).toBe('doubled'));
    it('has CACHE', async () => expect(await env.CACHE.get('a')).toBe(null));
    it('has no fetchMock', () => expect(() => fetchMock.activate()).toThrow('vi.spyOn(globalThis, "fetch")'));`,
  );
  const { failed, passed } = project.run();
  expect(passed).toEqual(['has CACHE', 'has no fetchMock']);
  expect(failed.join()).toMatch(/env\.AI\.run: bindings of "ai" do not exist here.*doubles/s);
  project.write('test/doubles.ts', "export default { AI: { run: async () => 'doubled' } };");
  project.configure("{ doubles: 'test/doubles.ts' }");
  expect(project.run().passed).toHaveLength(3);
});

test('[VT6] options of miniflare add members, a Worker and the flag for events of services; others are refused', () => {
  project.write(
    'src/index.ts',
    `import { DurableObject } from 'cloudflare:workers';
    export class Room extends DurableObject {}
    export default {
      scheduled() {},
      async queue({ messages }, env) {
        for (const message of messages) {
          if (message.body === 'bad') message.retry();
          else await env.CACHE.put('job', message.body);
        }
      },
    };`,
  );
  project.write(
    'other.js',
    "export default { fetch: (request, env) => new Response('other ' + env.NAME) };",
  );
  project.configure(`{
    wrangler: { configPath: 'wrangler.jsonc' },
    miniflare: {
      bindings: { LIST: [1, 2] },
      compatibilityFlags: ['service_binding_extra_handlers'],
      kvNamespaces: ['MORE'],
      queueConsumers: { jobs: { maxBatchTimeout: 0.01 } },
      queueProducers: { JOBS: 'jobs' },
      serviceBindings: { OTHER: 'other' },
      workers: [{ name: 'other', modules: true, scriptPath: 'other.js', bindings: { NAME: 'one' } }],
    },
  }`);
  project.write(
    'test/a.test.ts',
    `import { env } from 'cloudflare:test';
    import { exports } from 'cloudflare:workers';
    import { expect, it, vi } from 'vitest';
    it('values', () => expect(env.LIST).toEqual([1, 2]));
    it('more', async () => expect(await env.MORE.get('x')).toBe(null));
    it('other', async () => expect(await (await env.OTHER.fetch('http://x/')).text()).toBe('other one'));
    it('events', async () => expect((await exports.default.scheduled({ cron: 'c' })).outcome).toBe('ok'));
    it('jobs', async () => {
      await env.JOBS.send('x');
      await vi.waitUntil(async () => (await env.CACHE.get('job')) === 'x', 30_000);
    }, 60_000);
    it('queue', async () => {
      const message = { id: 'one', timestamp: new Date(), attempts: 1, body: 'bad' };
      const { outcome, retryMessages } = await exports.default.queue('jobs', [message]);
      expect(outcome).toBe('ok');
      expect(retryMessages.map(({ msgId }) => msgId)).toEqual(['one']);
    });
    it('spies', async () => {
      vi.spyOn(env.AI, 'run').mockResolvedValue('spied');
      expect(await env.AI.run('model')).toBe('spied');
    });`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toHaveLength(7);
  project.configure('{ miniflare: { hyperdrives: {} } }');
  expect(project.run().output).toContain('miniflare.hyperdrives does not exist here');
  project.configure('{ miniflare: { serviceBindings: { A: () => new Response() } } }');
  expect(project.run().output).toContain('miniflare.serviceBindings.A is not the name of a worker');
});

test('[VT7] files are modules by their names, and the setup files of the project have env', () => {
  project.write('src/query.sql', 'SELECT 1');
  // The smallest module: its eight bytes of magic number and version.
  project.write('src/empty.wasm', '\0asm\x01\0\0\0');
  project.write(
    'test/setup.ts',
    "import { env } from 'cloudflare:test'; await env.CACHE.put('from', 'setup');",
  );
  project.write(
    'vitest.config.ts',
    `import { cloudflareTest } from 'ctx-storage/vitest';
    export default { plugins: [cloudflareTest()], test: { setupFiles: ['./test/setup.ts'] } };`,
  );
  project.write(
    'test/a.test.ts',
    `import { env } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    import query from '../src/query.sql';
    import empty from '../src/empty.wasm?module';
    it('text', () => expect(query).toBe('SELECT 1'));
    it('wasm', () => expect(empty).toBeInstanceOf(WebAssembly.Module));
    it('setup', async () => expect(await env.CACHE.get('from')).toBe('setup'));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toEqual(['text', 'wasm', 'setup']);
});

test('[VT8] projects with wrangler files of one name, and with one file and other options, run their own Workers', () => {
  const projects = [
    { name: 'a', config: 'a' },
    { name: 'b', config: 'b' },
    { name: 'c', config: 'b', miniflare: { bindings: { NAME: 'c' } } },
  ];
  for (const { name, config } of projects) {
    const options = { name, main: '../main.js', vars: { NAME: config } };
    project.write(`${name}/wrangler.jsonc`, JSON.stringify(options));
    project.write(
      `${name}/a.test.js`,
      `import { SELF } from 'cloudflare:test';
      import { expect, it } from 'vitest';
      it('${name}', async () => expect(await (await SELF.fetch('http://x/')).text()).toBe('${name}'));`,
    );
  }
  project.write('main.js', 'export default { fetch: (request, env) => new Response(env.NAME) };');
  project.write(
    'vitest.config.ts',
    `import { cloudflareTest } from 'ctx-storage/vitest';
    const projects = ${JSON.stringify(projects)}.map(({ name, config, ...options }) => ({
      plugins: [cloudflareTest({ wrangler: { configPath: config + '/wrangler.jsonc' }, ...options })],
      test: { name, include: [name + '/*.test.js'] },
    }));
    export default { test: { projects } };`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed.sort(), output).toEqual(['a', 'b', 'c']);
});

test('[VT9] env has a class by its bindings, and a variable with the name of the class; the host lists both names', () => {
  project.write(
    'wrangler.jsonc',
    JSON.stringify({ ...CONFIG, ai: undefined, vars: { Room: 'a text' } }),
  );
  project.write(
    'test/a.test.ts',
    `import { env, objects } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('names', () => expect(Object.keys(env).sort()).toEqual(['CACHE', 'DB', 'ROOM', 'Room']));
    it('variable', () => expect(env.Room).toBe('a text'));
    it('lists', async () => expect([await objects.list('Room'), await objects.list('ROOM')]).toEqual([[], []]));`,
  );
  const { passed, failed, output } = project.run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toHaveLength(3);
});

test('[VT10] secrets come from .dev.vars, or that of the environment, after variables and before given values', () => {
  project.write(
    'wrangler.jsonc',
    JSON.stringify({ main: 'main.js', vars: { A: 'a', B: 'b' }, env: { own: {} } }),
  );
  project.write('main.js', 'export default {};');
  project.write('.dev.vars', 'B="secret b"\nC="secret c"\n');
  project.write('.dev.vars.own', 'C="own c"\n');
  const expects = (content: object) =>
    project.write(
      'test/a.test.ts',
      `import { env } from 'cloudflare:test';
      import { expect, it } from 'vitest';
      it('env', () => expect(env).toEqual(${JSON.stringify(content)}));`,
    );
  expects({ A: 'a', B: 'secret b', C: 'given' });
  project.configure("{ miniflare: { bindings: { C: 'given' } } }");
  expect(project.run().passed).toEqual(['env']);
  expects({ C: 'own c' });
  project.configure("{ wrangler: { environment: 'own' } }");
  expect(project.run().passed).toEqual(['env']);
  const generated = join(project.folder, 'node_modules/.ctx-storage');
  const texts = readdirSync(generated).map((name) => readFileSync(join(generated, name), 'utf8'));
  expect(texts).toHaveLength(2);
  expect(texts.join()).not.toContain('secret b');
});
