// `ctx-storage/vitest` of the packed package: a project's tests of its Worker, run by Vitest.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { installPacked, linkPackages } from '../package/installed.ts';
import { SOURCE, TESTS } from './vitest/project.ts';

const CONFIG = {
  name: 'shop',
  main: 'src/index.ts',
  compatibility_date: '2026-07-01',
  durable_objects: { bindings: [{ name: 'ROOM', class_name: 'Room' }] },
  kv_namespaces: [{ binding: 'CACHE', id: 'abc' }],
  d1_databases: [{ binding: 'DB', database_name: 'shop', database_id: 'xyz' }],
  ai: { binding: 'AI' },
};

let folder: string;

test.beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-vitest-'));
  await installPacked(folder);
  linkPackages(folder, ['vitest', 'vite']);
  write('package.json', '{ "name": "shop", "type": "module" }');
  write('wrangler.jsonc', JSON.stringify(CONFIG));
  write('src/index.ts', SOURCE);
  configure('');
});
test.afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** `options`: those of the plugin, as text. */
function configure(options: string): void {
  write(
    'vitest.config.ts',
    `import { cloudflareTest } from 'ctx-storage/vitest';
    export default { plugins: [cloudflareTest(${options})] };`,
  );
}

function run(): { passed: string[]; failed: string[]; output: string } {
  const program = join(folder, 'node_modules/vitest/vitest.mjs');
  const { CI: _, VITEST: _vitest, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, [program, 'run', '--reporter=json'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  const output = stdout + stderr;
  const report = /^\{.*\}$/m.exec(stdout)?.[0];
  if (report === undefined) return { passed: [], failed: [], output };
  const { testResults } = JSON.parse(report) as {
    testResults: {
      message: string;
      assertionResults: { title: string; status: string; failureMessages: string[] }[];
    }[];
  };
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  return {
    passed: results.filter(({ status }) => status === 'passed').map(({ title }) => title),
    failed: results.flatMap(({ failureMessages }) => failureMessages),
    output: [...testResults.map(({ message }) => message), stderr].join('\n'),
  };
}

test('[VT1] [VT2] [VT3] a suite that imports cloudflare:test passes; each file has storage of its own', {
  tag: ONCE,
}, () => {
  for (const [path, text] of Object.entries(TESTS)) write(path, text);
  const { passed, failed, output } = run();
  expect(failed, output).toEqual([]);
  expect(passed.length, output).toBe(Object.values(TESTS).join('\n').match(/^it\(/gm)?.length);
});

test('[VT4] a member that does not exist names itself when it is used; doubles take its place', {
  tag: [ONCE, LONG],
}, () => {
  write(
    'test/ai.test.ts',
    `import { env, fetchMock } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('uses AI', async () => expect(await env.AI.run('model')).toBe('doubled'));
    it('has CACHE', async () => expect(await env.CACHE.get('a')).toBe(null));
    it('has no fetchMock', () => expect(() => fetchMock.activate()).toThrow('vi.spyOn(globalThis, "fetch")'));`,
  );
  const { failed, passed } = run();
  expect(passed).toEqual(['has CACHE', 'has no fetchMock']);
  expect(failed.join()).toMatch(/env\.AI\.run: bindings of "ai" do not exist here.*doubles/s);
  write('test/doubles.ts', "export default { AI: { run: async () => 'doubled' } };");
  configure("{ doubles: 'test/doubles.ts' }");
  expect(run().passed).toHaveLength(3);
});

test('[VT6] options of miniflare add members, a Worker and the flag for events of services; others are refused', {
  tag: [ONCE, LONG],
}, () => {
  write(
    'other.js',
    "export default { fetch: (request, env) => new Response('other ' + env.NAME) };",
  );
  configure(`{
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
  write(
    'test/a.test.ts',
    `import { env } from 'cloudflare:test';
    import { exports } from 'cloudflare:workers';
    import { expect, it, vi } from 'vitest';
    it('values', () => expect(env.LIST).toEqual([1, 2]));
    it('more', async () => expect(await env.MORE.get('x')).toBe(null));
    it('other', async () => expect(await (await env.OTHER.fetch('http://x/')).text()).toBe('other one'));
    it('events', async () => expect((await exports.default.scheduled({ cron: 'c' })).outcome).toBe('ok'));
    it('queue', async () => expect((await exports.default.queue('jobs', [])).outcome).toBe('ok'));
    it('spies', async () => {
      vi.spyOn(env.AI, 'run').mockResolvedValue('spied');
      expect(await env.AI.run('model')).toBe('spied');
    });`,
  );
  const { passed, failed, output } = run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toHaveLength(6);
  configure('{ miniflare: { hyperdrives: {} } }');
  expect(run().output).toContain('miniflare.hyperdrives does not exist here');
  configure('{ miniflare: { serviceBindings: { A: () => new Response() } } }');
  expect(run().output).toContain('miniflare.serviceBindings.A is not the name of a worker');
});

test('[VT7] files are modules by their names, and the setup files of the project have env', {
  tag: ONCE,
}, () => {
  write('src/query.sql', 'SELECT 1');
  // The smallest module: its eight bytes of magic number and version.
  write('src/empty.wasm', '\0asm\x01\0\0\0');
  write(
    'test/setup.ts',
    "import { env } from 'cloudflare:test'; await env.CACHE.put('from', 'setup');",
  );
  write(
    'vitest.config.ts',
    `import { cloudflareTest } from 'ctx-storage/vitest';
    export default { plugins: [cloudflareTest()], test: { setupFiles: ['./test/setup.ts'] } };`,
  );
  write(
    'test/a.test.ts',
    `import { env } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    import query from '../src/query.sql';
    import empty from '../src/empty.wasm?module';
    it('text', () => expect(query).toBe('SELECT 1'));
    it('wasm', () => expect(empty).toBeInstanceOf(WebAssembly.Module));
    it('setup', async () => expect(await env.CACHE.get('from')).toBe('setup'));`,
  );
  const { passed, failed, output } = run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toEqual(['text', 'wasm', 'setup']);
});

test('[VT8] projects with wrangler files of one name, and with one file and other options, run their own Workers', {
  tag: ONCE,
}, () => {
  const projects = [
    { name: 'a', config: 'a' },
    { name: 'b', config: 'b' },
    { name: 'c', config: 'b', miniflare: { bindings: { NAME: 'c' } } },
  ];
  for (const { name, config } of projects) {
    const options = { name, main: '../main.js', vars: { NAME: config } };
    write(`${name}/wrangler.jsonc`, JSON.stringify(options));
    write(
      `${name}/a.test.js`,
      `import { SELF } from 'cloudflare:test';
      import { expect, it } from 'vitest';
      it('${name}', async () => expect(await (await SELF.fetch('http://x/')).text()).toBe('${name}'));`,
    );
  }
  write('main.js', 'export default { fetch: (request, env) => new Response(env.NAME) };');
  write(
    'vitest.config.ts',
    `import { cloudflareTest } from 'ctx-storage/vitest';
    const projects = ${JSON.stringify(projects)}.map(({ name, config, ...options }) => ({
      plugins: [cloudflareTest({ wrangler: { configPath: config + '/wrangler.jsonc' }, ...options })],
      test: { name, include: [name + '/*.test.js'] },
    }));
    export default { test: { projects } };`,
  );
  const { passed, failed, output } = run();
  expect(failed, output).toEqual([]);
  expect(passed.sort(), output).toEqual(['a', 'b', 'c']);
});

test('[VT9] env has a class by its bindings, and a variable with the name of the class; the host lists both names', {
  tag: ONCE,
}, () => {
  write('wrangler.jsonc', JSON.stringify({ ...CONFIG, ai: undefined, vars: { Room: 'a text' } }));
  write(
    'test/a.test.ts',
    `import { env, objects } from 'cloudflare:test';
    import { expect, it } from 'vitest';
    it('names', () => expect(Object.keys(env).sort()).toEqual(['CACHE', 'DB', 'ROOM', 'Room']));
    it('variable', () => expect(env.Room).toBe('a text'));
    it('lists', async () => expect([await objects.list('Room'), await objects.list('ROOM')]).toEqual([[], []]));`,
  );
  const { passed, failed, output } = run();
  expect(failed, output).toEqual([]);
  expect(passed, output).toHaveLength(3);
});

test('[VT10] secrets come from .dev.vars, or that of the environment, after variables and before given values', {
  tag: ONCE,
}, () => {
  write(
    'wrangler.jsonc',
    JSON.stringify({ main: 'main.js', vars: { A: 'a', B: 'b' }, env: { own: {} } }),
  );
  write('main.js', 'export default {};');
  write('.dev.vars', 'B="secret b"\nC="secret c"\n');
  write('.dev.vars.own', 'C="own c"\n');
  const expects = (content: object) =>
    write(
      'test/a.test.ts',
      `import { env } from 'cloudflare:test';
      import { expect, it } from 'vitest';
      it('env', () => expect(env).toEqual(${JSON.stringify(content)}));`,
    );
  expects({ A: 'a', B: 'secret b', C: 'given' });
  configure("{ miniflare: { bindings: { C: 'given' } } }");
  expect(run().passed).toEqual(['env']);
  expects({ C: 'own c' });
  configure("{ wrangler: { environment: 'own' } }");
  expect(run().passed).toEqual(['env']);
  const generated = join(folder, 'node_modules/.ctx-storage');
  const texts = readdirSync(generated).map((name) => readFileSync(join(generated, name), 'utf8'));
  expect(texts).toHaveLength(2);
  expect(texts.join()).not.toContain('secret b');
});

test('[VT5] a wrong file, a class that is not exported, and a suite without the plugin are told', {
  tag: ONCE,
}, () => {
  write(
    'test/a.test.ts',
    "import 'cloudflare:test';\nimport { it } from 'vitest';\nit('runs', () => {});",
  );
  configure("{ wrangler: { configPath: 'nothing.jsonc' } }");
  expect(run().output).toContain('"nothing.jsonc", which does not exist');
  configure('');
  write('src/index.ts', 'export default {};');
  expect(run().output).toContain(
    'names class Room, and the main module exports nothing of that name',
  );
  write(
    'vitest.config.ts',
    "export default { resolve: { alias: { 'cloudflare:test': 'ctx-storage/cloudflare-test' } } };",
  );
  write(
    'test/a.test.ts',
    "import { SELF } from 'cloudflare:test';\nimport { it } from 'vitest';\nit('runs', async () => { await SELF.fetch('http://x/'); });",
  );
  expect(run().failed.join()).toContain('does not run: it starts before the test file is imported');
});
