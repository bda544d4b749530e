// The generated modules: the classes that they serve, and the members of `env` and the options that they pass on.

import { build, createLogger, createServer } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ctxStorage } from './plugin.ts';
import { TestProject, transformed } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

test('[VITE12] env is filled before the modules of main are evaluated, in development and built', {
  tags: 'long',
}, async () => {
  project.write(
    'src/index.ts',
    `import { DurableObject, env } from 'cloudflare:workers';
     const KEPT = env.KEEP_MS;
     export class Notes extends DurableObject { kept() { return KEPT; } }`,
  );
  project.edit('wrangler.jsonc', '{', '{ "vars": { "KEEP_MS": 5 },');
  const server = await createServer(project.config({ vars: ['KEEP_MS'] }));
  const { code } = (await server.transformRequest('/.cache/ctx-storage/objects.worker.js'))!;
  await server.close();
  const imported = [...code.matchAll(/^import .* from "(.*)"/gm)].map(([, path]) => path);
  expect(imported[0]).toMatch(/objects\.env\.js/);
  expect(imported.at(-1)).toMatch(/src\/index\.ts/);
  await build(project.config({ vars: ['KEEP_MS'] }));
  const { text } = project.builtWorker();
  const provided = text.search(/^\s*provideEnv\(options\.env/m);
  expect(provided).toBeGreaterThan(0);
  expect(text.indexOf('KEPT = env.KEEP_MS')).toBeGreaterThan(provided);
});

test("[VITE5] a class that main does not export fails the worker's start, by name", async () => {
  project.installPackage();
  const start = async () => {
    const server = await createServer(project.config({ workerEntry: 'ctx-storage/worker' }));
    const worker = server.ssrLoadModule('/.cache/ctx-storage/objects.worker.js');
    await worker.finally(() => server.close());
  };
  await start();
  const other = '{ "name": "OTHER", "class_name": "Other" }';
  project.edit('wrangler.jsonc', '"bindings": [', `"bindings": [${other}, `);
  await expect(start()).rejects.toThrow(
    'Other is a class of wrangler.jsonc, and src/index.ts exports nothing of that name; export the class.',
  );
});

test('[HIST8] [HIST10] the bounds of the history reach the worker; wrong ones fail the start', async () => {
  for (const [history, text] of [
    [{ days: 7, bytes: 1e6 }, '"days": 7,\n    "bytes": 1000000'],
    [{ bytes: 0 }, '"bytes": 0'],
    [{ bytes: Number.POSITIVE_INFINITY }, '"bytes": 1.7976931348623157e+308'],
  ] as const) {
    await (await createServer(project.config({ history }))).close();
    expect(project.read('.cache/ctx-storage/objects.env.js')).toContain(text);
  }
  const history = { days: 31 };
  expect(() => ctxStorage({ history })).toThrow('ctxStorage: history.days is a number from 0');
});

test.for([
  "x'; globalThis.pwned = 1; '",
  'x"; globalThis.pwned = 1; "',
  'x`; globalThis.pwned = 1; `',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must stay text in the module
  '${globalThis.pwned = 1}',
  'x\nglobalThis.pwned = 1;\u2028',
])('[VITE11] a name of the configuration is text in generated code: %j', async (name) => {
  const variable = `${name}/* of the variable */`;
  project.write(`src/${name}.ts`, 'export class Known {}');
  project.write(
    'wrangler.jsonc',
    JSON.stringify({
      name,
      main: `src/${name}.ts`,
      compatibility_flags: [name],
      vars: { [variable]: name },
      durable_objects: { bindings: [{ name, class_name: name }] },
    }),
  );
  const server = await createServer(project.config({ vars: [variable] }));
  const worker = project.read('.cache/ctx-storage/objects.worker.js');
  const provides = project.read('.cache/ctx-storage/objects.env.js').split('\n').slice(1);
  const parsed = await transformed(server, '/.cache/ctx-storage/objects.worker.js');
  await server.close();
  expect(parsed).toContain('serve');
  // The code of the module is run here, with its imports passed in.
  const [, body] = worker.split(/^(?=function exported)/m);
  const run = (main: object) => {
    const served: unknown[] = [];
    const serve = (...given: unknown[]) => served.push(...given);
    const fill = `${provides.join('\n').replace('export const', 'const')}\n`;
    new Function('provideEnv', 'serve', 'main', fill + body!)(() => {}, serve, main);
    return served;
  };
  class Exported {}
  expect(run({ [name]: Exported })).toEqual([
    { [name]: { class: Exported, storage: 'sql' } },
    {
      bindings: { [name]: name },
      scriptName: name,
      compatibilityFlags: [name],
      env: { [variable]: name },
      exports: { [name]: Exported },
    },
  ]);
  expect(() => run({})).toThrow(
    `${name} is a class of wrangler.jsonc, and src/${name}.ts exports nothing of that name`,
  );
  expect(globalThis).not.toHaveProperty('pwned');
});

test("[FACET12] main's exports besides its classes are in ctx.exports, for facets", async () => {
  project.installPackage(
    `export class DurableObject {}
     export const provideEnv = () => {};
     export function serve(classes, options) { served.push(Object.keys(classes), options.exports); }
     export const served = [];`,
  );
  project.write(
    'src/index.ts',
    `import { DurableObject } from 'cloudflare:workers';
     export class Notes extends DurableObject {}
     export class Facet extends DurableObject {}`,
  );
  const server = await createServer(project.config({ workerEntry: 'ctx-storage/worker' }));
  await server.ssrLoadModule('/.cache/ctx-storage/objects.worker.js');
  const { served } = await server.ssrLoadModule('/node_modules/ctx-storage/worker.js');
  const main = await server.ssrLoadModule('/src/index.ts');
  await server.close();
  const [classes, exports] = served as [string[], typeof main];
  expect(classes).toEqual(['Notes']);
  expect([exports.Notes, exports.Facet]).toEqual([main.Notes, main.Facet]);
  expect(exports.Facet).toBeTypeOf('function');
});

test('[VITE9] [VITE23] products become members of env; those that do not exist are named in a warning', async () => {
  const warnings: string[] = [];
  const customLogger = createLogger('silent');
  customLogger.warn = (message) => warnings.push(message);
  const kv =
    '"kv_namespaces": [{ "binding": "CACHE", "id": "1" }], "ai": { "binding": "AI" }, ' +
    '"triggers": { "crons": ["* * * * *"] }, "durable_objects"';
  project.edit('wrangler.jsonc', '"durable_objects"', kv);
  const server = await createServer({ ...project.config(), customLogger });
  expect(warnings).toEqual([
    `${project.path('wrangler.jsonc')}: AI (ai): these bindings do not exist here, so the env of objects in a page does not have them.`,
  ]);
  await server.close();
  const env = project.read('.cache/ctx-storage/objects.env.js');
  expect(env).toContain('import { cronTriggers, kv } from "ctx-storage/bindings";');
  expect(env).toContain('"CACHE": kv({"id":"1"}),');
  expect(env).toContain('crons: cronTriggers(["* * * * *"]),');
});
