// The dependencies and the types of the packed package.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build as bundle } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../browsers/server.ts';
import { installPacked } from '../package/installed.ts';
import { linkPeers, packageOf } from './bundled.ts';

let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-package-'));
  await installPacked(directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("[PKG2] the package depends on its files' imports, and on nothing else", async () => {
  const installed = join(directory, 'node_modules/ctx-storage');
  const dist = join(installed, 'dist');
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const { metafile } = await bundle({
    entryPoints: files.filter((file) => file.endsWith('.js')).map((file) => join(dist, file)),
    outdir: join(directory, 'unused'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.map(({ path }) => path),
  );
  const typed = files
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => readFileSync(join(dist, file), 'utf8'))
    .flatMap((text) => [...text.matchAll(/(?:from|import\() ?['"]([^.'"][^'"]*)['"]/g)])
    .map(([, path]) => path!);
  const names = [...imported, ...typed].filter((path) => !path.startsWith('node:')).map(packageOf);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(manifest).not.toHaveProperty('scripts');
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  // Types of the plugin name an entry of the package itself.
  const others = new Set(names.filter((name) => name !== manifest.name));
  // The plugin gives its modules to the bundler by their paths.
  others.add('unenv');
  expect([...others].sort()).toEqual(declared.sort());
});

const TYPED_CLASSES: Readonly<Record<string, string>> = {
  // Types of this package alone, in a project of a page.
  'own.ts': `
    import { type AlarmInvocationInfo, DurableObject, type DurableObjectState, type SqlStorageCursor } from 'ctx-storage/worker';
    interface Env { readonly LIMIT: number }
    export class Note extends DurableObject<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
      rows(): SqlStorageCursor { return this.ctx.storage.sql.exec('SELECT 1'); }
      limit = () => this.env.LIMIT;
      alarm(info: AlarmInvocationInfo) { return info.retryCount; }
    }
  `,
  // The stock template of Vite with the plugin's types: the import of workerd, rows as interfaces, a socket's events.
  'template.ts': `
    import { DurableObject, type DurableObjectState, type ObjectWebSocket } from 'cloudflare:workers';
    import { openStorage } from 'ctx-storage';
    import start from 'virtual:ctx-storage/start';
    interface Env { readonly LIMIT: number }
    interface Row { readonly id: number; readonly body: string }
    export class Note extends DurableObject<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
      rows(): Row[] { return this.ctx.storage.sql.exec<Row>('SELECT 1').toArray(); }
      followed() { return this.ctx.storage.sql.live<Row>('SELECT 1').subscribe((rows) => rows?.[0]?.body.length); }
    }
    export async function onPage(): Promise<string | undefined> {
      const { sql } = await openStorage('a');
      sql.live<Row>('SELECT 1').subscribe((rows) => rows?.[0]?.body.length);
      return (await sql.exec<Row>('SELECT 1').toArray())[0]?.body;
    }
    export function listen(socket: ObjectWebSocket): Worker {
      socket.addEventListener('message', ({ data }) => typeof data === 'string' && data.length);
      socket.addEventListener('close', ({ code, reason }) => code + reason.length);
      socket.onmessage = ({ data }) => socket.send(data instanceof Blob ? '' : data);
      // @ts-expect-error the data of a message is not a number
      socket.addEventListener('message', ({ data }) => data * 2);
      // @ts-expect-error a row is an object
      socket.addEventListener('close', () => void openStorage('a').then(({ sql }) => sql.exec<string>('')));
      return start();
    }
  `,
  // The same class in a project of Cloudflare's, where the runtime's types are global.
  'workerd.ts': `
    import { DurableObject } from 'ctx-storage/worker';
    import { DurableObject as Platform } from 'cloudflare:workers';
    interface Env { readonly LIMIT: number }
    export class Note extends DurableObject<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
      alarm(info: AlarmInvocationInfo) { return info.retryCount + this.env.LIMIT; }
      library(use: (storage: DurableObjectStorage) => void) { use(this.ctx.storage); }
    }
    export class Moved extends Platform<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
    }
  `,
};

test('[PKG5] a class with a typed constructor compiles with the types of this package and of workerd', () => {
  linkPeers(directory);
  const project = join(directory, 'types');
  mkdirSync(project, { recursive: true });
  const libs: Readonly<Record<string, object>> = {
    'own.ts': { lib: ['ESNext', 'DOM', 'DOM.Iterable'], types: [] },
    'template.ts': {
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      types: ['ctx-storage/vite/client'],
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
    },
    'workerd.ts': {
      lib: ['ESNext'],
      types: [
        join(REPOSITORY, 'node_modules/@cloudflare/workers-types'),
        'ctx-storage/vite/client',
      ],
    },
  };
  for (const [file, text] of Object.entries(TYPED_CLASSES)) {
    writeFileSync(join(project, file), text);
    const compilerOptions = {
      ...libs[file],
      target: 'ES2023',
      module: 'preserve',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      // Names of workerd's types and of the DOM exclude each other; the template has this setting.
      skipLibCheck: file !== 'own.ts',
    };
    const config = join(project, `${file}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }));
    const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', config], { encoding: 'utf8' });
    expect(stdout, file).toBe('');
  }
});
