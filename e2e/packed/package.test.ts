// The packed package without a page: its programs in Node, its size, and the imports of its entries.

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync } from 'node:zlib';
import { build as bundle } from 'esbuild';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installPacked } from '../package/installed.ts';
import { INTO_PARTS, linkPeers, packageOf, sizeOf } from './bundled.ts';
import { CLASSES, TOTAL } from './package-classes.ts';

const NODE_SCRIPT = `
  import { createObjects, DurableObject } from 'ctx-storage/node';
  class Counter extends DurableObject {
    async add() {
      const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
      await this.ctx.storage.put('count', count);
      return count;
    }
  }
  const objects = await createObjects({ Counter }, { directory: 'objects' });
  const counter = objects.env.Counter.getByName('a');
  console.log((await Promise.all([counter.add(), counter.add(), counter.add()])).join(' '));
  await objects.close();
`;

let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-package-'));
  await installPacked(directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('[PKG8] outside of a page the error says where to call it, and nothing is loaded', () => {
  writeFileSync(
    join(directory, 'server.mjs'),
    `import { connect, openStorage } from 'ctx-storage';
    for (const call of [() => openStorage('a'), () => connect(() => new Worker('x'))]) {
      console.log(await call().catch(({ code, message }) => code + ' ' + message));
    }`,
  );
  const said = execFileSync(process.execPath, ['server.mjs'], { cwd: directory, encoding: 'utf8' });
  const [storage, connection] = said.trim().split('\n');
  expect(storage).toMatch(/^OPFS_UNAVAILABLE openStorage: .* Call openStorage\(\) in a browser/);
  expect(connection).toMatch(/^OPFS_UNAVAILABLE connect: .* Call connect\(\) in a browser/);
});

test('[HTML8] a program in Node has HTMLRewriter, also when a bundler leaves out modules without effects', async () => {
  writeFileSync(
    join(directory, 'rewriter.mjs'),
    `import { createObjects } from 'ctx-storage/node';
    import { DurableObject } from 'ctx-storage/worker';
    class Asked extends DurableObject { kind() { return typeof HTMLRewriter; } }
    const objects = await createObjects({ Asked });
    console.log(await objects.env.Asked.getByName('a').kind());
    await objects.close();`,
  );
  linkPeers(directory);
  const output = { entryFileNames: 'rewriter.mjs' };
  await build({
    configFile: false,
    root: directory,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: { ssr: 'rewriter.mjs', outDir: 'rewriter', rollupOptions: { output } },
  });
  const wasm = 'node_modules/ctx-storage/dist/sqlite3.wasm';
  copyFileSync(join(directory, wasm), join(directory, 'rewriter/sqlite3.wasm'));
  for (const file of ['rewriter.mjs', 'rewriter/rewriter.mjs']) {
    const said = execFileSync(process.execPath, [file], { cwd: directory, encoding: 'utf8' });
    expect(said).toBe('function\n');
  }
});

test('[HTML8] a program in a runtime without files has HTMLRewriter after a bundler', async () => {
  writeFileSync(
    join(directory, 'apart.mjs'),
    `import { createObjects } from 'ctx-storage/in-process';
    import { DurableObject } from 'ctx-storage/worker';
    class Asked extends DurableObject { kind() { return typeof HTMLRewriter; } }
    export async function ask(wasm) {
      const objects = await createObjects({ Asked }, { wasm });
      const kind = await objects.env.Asked.getByName('a').kind();
      await objects.close();
      return kind;
    }`,
  );
  await build({
    configFile: false,
    root: directory,
    logLevel: 'error',
    build: {
      target: 'esnext',
      outDir: 'apart',
      lib: { entry: 'apart.mjs', formats: ['es'], fileName: 'apart' },
      rollupOptions: { output: { entryFileNames: 'apart.mjs' } },
    },
  });
  const script = `import { readFileSync } from 'node:fs';
    import { ask } from './apart/apart.mjs';
    console.log(await ask(readFileSync('node_modules/ctx-storage/dist/sqlite3.wasm')));`;
  const run = ['--input-type=module', '--eval', script];
  const said = execFileSync(process.execPath, run, { cwd: directory, encoding: 'utf8' });
  expect(said).toBe('function\n');
});

test('[NODE10] classes run in Node, and the program starts', () => {
  linkPeers(directory);
  writeFileSync(join(directory, 'classes.mjs'), NODE_SCRIPT);
  const run = (...parameters: string[]) =>
    execFileSync(process.execPath, parameters, { cwd: directory, encoding: 'utf8' });
  expect(run('classes.mjs')).toBe('1 2 3\n');
  expect(run('classes.mjs')).toBe('4 5 6\n');

  writeFileSync(join(directory, 'counter.mjs'), CLASSES);
  writeFileSync(
    join(directory, 'total.mjs'),
    `import { createObjects } from 'ctx-storage/node';
    import * as classes from './counter.mjs';
    const objects = await createObjects(classes);
    ${TOTAL}
    console.log(String(total));`,
  );
  expect(run('total.mjs')).toBe('3\n');

  const program = 'node_modules/ctx-storage/dist/cli.js';
  expect(run(program, 'help')).toContain('ctx-storage <subcommand>');
});

test('[PKG7] a page, a file of classes and the worker are as small as is promised', async () => {
  const page = await sizeOf(directory, "export * from 'ctx-storage'");
  expect(page.bytes).toBeLessThan(6_000);
  expect(page.later).toBeLessThan(62_500);
  const connecting = await sizeOf(directory, "export { connect } from 'ctx-storage'");
  expect(connecting.bytes).toBeLessThan(2_000);
  expect(connecting.text).not.toContain('new Worker(');
  expect(
    (await sizeOf(directory, "export { isStorageError } from 'ctx-storage'")).bytes,
  ).toBeLessThan(1_000);
  const classes = await sizeOf(
    directory,
    "export { DurableObject, env } from 'ctx-storage/worker'",
  );
  expect(classes.bytes + classes.later).toBeLessThan(3_000);
  const dist = join(directory, 'node_modules/ctx-storage/dist');
  const worker = brotliCompressSync(readFileSync(join(dist, 'worker.js')));
  expect(worker.length).toBeLessThan(130_000);
  const late = brotliCompressSync(readFileSync(join(dist, 'late.js')));
  // 3,200 of these bytes describe the faults of a file and write the program that mends them.
  expect(late.length).toBeLessThan(21_500);
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
});

/** The messages to the page from a worker of this script, after one start message. */
function heardFrom(script: string): unknown[] {
  const heard: unknown[] = [];
  const listeners: ((event: object) => void)[] = [];
  const scope = {
    DedicatedWorkerGlobalScope: class {},
    addEventListener: (_type: string, listener: (event: object) => void) =>
      listeners.push(listener),
    postMessage: (message: unknown) => heard.push(message),
  };
  runInNewContext(script, { ...scope, self: scope });
  for (const listen of listeners) listen({ data: { type: 'start' } });
  return heard.map((message) => ({ ...(message as object) }));
}

test.for([
  [
    'uses a base class',
    "import { DurableObject } from 'ctx-storage/worker'; self.A = class extends DurableObject {};",
  ],
  [
    'uses nothing',
    "import { DurableObject } from 'ctx-storage/worker'; class Unused extends DurableObject {}",
  ],
  [
    'exports its classes',
    "import { DurableObject, env } from 'ctx-storage/worker'; export class Room extends DurableObject {}",
  ],
])(
  '[START3] a built worker script that never calls serve and %s says that it has run',
  async ([, code]) => {
    const script = join(directory, 'mute.js');
    writeFileSync(script, code!);
    const stdin = { contents: code!, resolveDir: directory };
    const bundled = await bundle({ ...INTO_PARTS, splitting: false, format: 'iife', stdin });
    const built = await build({
      configFile: false,
      root: directory,
      logLevel: 'error',
      build: {
        write: false,
        target: 'esnext',
        rollupOptions: {
          input: script,
          output: { format: 'iife' },
          preserveEntrySignatures: false,
        },
      },
    });
    const { output } = (Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput;
    for (const text of [bundled.outputFiles[0]!.text, output[0].code]) {
      expect(heardFrom(text)).toEqual([{ type: 'loaded' }]);
      expect(text.length).toBeLessThan(20_000);
    }
  },
);

test('[PKG10] an app that only connects emits no worker of the package', async () => {
  const emitted = async (code: string) => {
    const stdin = { contents: code, resolveDir: directory };
    const { outputFiles, metafile } = await bundle({
      ...INTO_PARTS,
      stdin,
      outdir: directory,
      metafile: true,
    });
    const named = /new URL\("\.\/worker\.js"/;
    const all = Object.keys(metafile.inputs).filter((file) => file.includes('ctx-storage/dist'));
    return {
      used: outputFiles.some(({ text }) => named.test(text)),
      seen: all.some((file) => named.test(readFileSync(file, 'utf8'))),
    };
  };
  expect(await emitted("export { openStorage } from 'ctx-storage'")).toEqual({
    used: true,
    seen: true,
  });
  expect(await emitted("export { connect } from 'ctx-storage'")).toMatchObject({ used: false });
  expect(await emitted("export * from 'ctx-storage/connect'")).toEqual({
    used: false,
    seen: false,
  });
});

test('[PKG6] an entry for a library imports that and nothing else', async () => {
  for (const library of ['drizzle-orm', 'kysely', 'react', 'solid-js', 'svelte', 'vue']) {
    const name = library.replace(/-(orm|js)$/, '');
    const entry = join(directory, `node_modules/ctx-storage/dist/${name}.js`);
    const { metafile } = await bundle({
      entryPoints: [entry],
      bundle: true,
      format: 'esm',
      packages: 'external',
      write: false,
      metafile: true,
    });
    const [{ imports, inputs }] = Object.values(metafile.outputs) as [(typeof metafile.outputs)[0]];
    expect(new Set(imports.map(({ path }) => packageOf(path)))).toEqual(new Set([library]));
    expect(Object.keys(inputs)).toHaveLength(1);
    const text = readFileSync(entry, 'utf8');
    expect(text.length, library).toBeLessThan(library === 'react' ? 12_288 : 10_240);
    expect(text).not.toContain('new Worker');
  }
});
