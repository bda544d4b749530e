// For tests of the plugin: a small project in a folder of its own, which Vite serves or builds.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { build, createServer, type InlineConfig, type ViteDevServer } from 'vite';
import { type CtxStorageOptions, ctxStorage } from '../plugin.ts';

export const WORKER_ENTRY = resolve(
  import.meta.dirname,
  '../../../worker/start/entries/objects.ts',
);

/** Resolves `ctx-storage/worker/…` to the sources, as the installed package resolves it to its files. */
export const MODULE_ALIASES = [
  {
    find: 'ctx-storage/worker/html-rewriter',
    replacement: resolve(import.meta.dirname, '../../html-rewriter/html-rewriter.ts'),
  },
  {
    find: /^ctx-storage\/worker\/(.+)$/,
    replacement: resolve(import.meta.dirname, '../../../worker/realm/modules/$1.ts'),
  },
];

export class TestProject {
  readonly root = mkdtempSync(join(tmpdir(), 'ctx-storage-vite-'));

  /** Makes a project with a page that starts the worker, a class, and a wrangler file that binds the class. */
  constructor() {
    this.write('index.html', '<script type="module" src="./page.js"></script>');
    this.write('page.js', "import start from 'virtual:ctx-storage/start';\nconsole.log(start);\n");
    this.write('src/schema.sql', 'CREATE TABLE notes (text);');
    this.write(
      'src/index.ts',
      `import { DurableObject } from 'cloudflare:workers';
       import schema from './schema.sql';
       export class Notes extends DurableObject { schema(): string { return schema; } }`,
    );
    this.write(
      'wrangler.jsonc',
      `{ "name": "demo", "main": "src/index.ts",
         "durable_objects": { "bindings": [{ "name": "NOTES", "class_name": "Notes" }] } }`,
    );
  }

  /** Returns the path of a file in the file system. */
  path(name: string): string {
    return join(this.root, name);
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  write(name: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), content);
  }

  /** Replaces a text that the file contains. */
  edit(name: string, from: string, to: string): void {
    const text = this.read(name);
    if (!text.includes(from)) throw new Error(`${name} does not contain ${from}`);
    this.write(
      name,
      text.replace(from, () => to),
    );
  }

  remove(name = '.'): void {
    rmSync(this.path(name), { recursive: true, force: true });
  }

  /** Installs a stand-in for this package, with these exports of `ctx-storage/worker`. */
  installPackage(
    worker = 'export class DurableObject {}\nexport function serve() {}\nexport function provideEnv() {}\n',
  ): void {
    this.install('ctx-storage', { 'worker.js': worker }, { './worker': './worker.js' });
  }

  /** Installs a package of modules, or of CommonJS if its files are `.cjs`. */
  install(
    name: string,
    files: Readonly<Record<string, string | Uint8Array>>,
    exports: string | Readonly<Record<string, string>> = `./${Object.keys(files)[0]!}`,
  ): void {
    const folder = `node_modules/${name}`;
    this.write(`${folder}/package.json`, JSON.stringify({ name, type: 'module', exports }));
    for (const [file, content] of Object.entries(files)) this.write(`${folder}/${file}`, content);
  }

  config(options: CtxStorageOptions = {}): InlineConfig {
    return {
      configFile: false,
      root: this.root,
      logLevel: 'silent',
      cacheDir: this.path('.cache'),
      plugins: [ctxStorage({ workerEntry: WORKER_ENTRY, ...options })],
      build: { outDir: 'built', target: 'esnext', minify: false },
      optimizeDeps: { noDiscovery: true, include: [] },
      server: { middlewareMode: true, watch: null, hmr: false, fs: { strict: false } },
    };
  }

  /** Starts a development server, and closes it after the task. */
  async withServer<T>(
    config: InlineConfig,
    task: (server: ViteDevServer) => T | Promise<T>,
  ): Promise<T> {
    const server = await createServer(config);
    try {
      return await task(server);
    } finally {
      await server.close();
    }
  }

  /**
   * Starts a server like `withServer`, and passes the task the file of an installed library that the server has
   * pre-bundled.
   */
  withPrebundled<T>(
    config: InlineConfig,
    name: string,
    task: (server: ViteDevServer, file: string) => T | Promise<T>,
  ): Promise<T> {
    const optimizeDeps = { noDiscovery: true, include: [name] };
    return this.withServer({ ...config, optimizeDeps }, async (server) => {
      const optimizer = server.environments.client.depsOptimizer!;
      await optimizer.init();
      return await task(server, optimizer.metadata.optimized[name]!.file);
    });
  }

  /** Builds `src/index.ts` as a library. Returns its exports. */
  async buildMain(config: InlineConfig = this.config()): Promise<Record<string, never>> {
    const lib = { entry: 'src/index.ts', formats: ['es' as const], fileName: 'main' };
    await build({ ...config, build: { lib, outDir: 'built', target: 'esnext' } });
    return await import(this.path('built/main.mjs'));
  }

  /** Returns the files that a build has written to its folder of assets, without files that are not text. */
  assets(): { readonly name: string; readonly text: string }[] {
    return readdirSync(this.path('built/assets')).map((name) => ({
      name,
      text: this.read(`built/assets/${name}`),
    }));
  }

  /** Returns the worker that a build has written. */
  builtWorker(): { readonly name: string; readonly text: string } {
    return this.assets().find(({ name }) => /^objects\.worker-.*\.js$/.test(name))!;
  }
}

/** Returns the code of a module as the server gives it to a page. */
export async function transformed(server: ViteDevServer, url: string): Promise<string> {
  return (await server.transformRequest(url))?.code ?? '';
}
