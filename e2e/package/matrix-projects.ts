// The projects of the install matrix: empty ones, each with one tool and the settings that the documents name.

/** A tool, and the parts of it that are tested. */
export interface MatrixProject {
  readonly name: string;
  /** The packages that npm installs next to this package; the version of the first is reported. */
  readonly packages: readonly string[];
  /** npm installs only these, in a folder `manager`: the first steps of `build` install the rest by it. */
  readonly isManager?: boolean;
  /** The project is left out on an older Node. */
  readonly nodeMajor?: number;
  /** Besides the files of all projects. */
  readonly files: Readonly<Record<string, string>>;
  /** Run one after the other; each must succeed. The program is run by Node. */
  readonly build: readonly (readonly string[])[];
  /** The pages that a browser opens: a folder, or a server of the tool's own. */
  readonly served: readonly Served[];
}

export interface Served {
  readonly what: string;
  /** A folder of the project, served as static files. */
  readonly folder?: string;
  /** The tool's own server, which prints its address. */
  readonly command?: readonly string[];
  /** The folder of scripts is another origin than the pages. */
  readonly isApart?: boolean;
  /** @default both pages */
  readonly pages?: readonly string[];
}

/** Each page writes how it ended into its title. */
const title = (body: string) => `
  (async () => { ${body} })().then(
    (value) => { document.title = value === 1 ? 'works' : 'got ' + value; },
    (error) => { document.title = String(error); },
  );`;

const OPEN = `
  const storage = await openStorage('app');
  const from = await storage.getCurrentBookmark();
  await storage.put('a', (await storage.get('a') ?? 0) + 1);
  return (await storage.diff(from).count()).keys[await storage.get('a') === 1 ? 'added' : 'changed'];`;

const CALL = `
  const { env, storage: storageOf } = await connect(start);
  const counter = env.Counter.getByName(crypto.randomUUID());
  const storage = await storageOf(counter);
  const from = await storage.getCurrentBookmark();
  await counter.add();
  return (await storage.diff(from).count()).keys.added;`;

const CLASS = `
  class Counter extends DurableObject {
    add() {
      this.ctx.storage.kv.put('count', (this.ctx.storage.kv.get('count') ?? 0) + 1);
      return this.ctx.storage.kv.get('count');
    }
  }
  serve({ Counter });`;

export const PAGES: readonly string[] = ['storage.html', 'classes.html'];

/** `entry` is the module that a page imports from the package. */
const classesOf = (entry: string) => `import { connect } from '${entry}';
  const start = () => new Worker(new URL('./objects.worker.js', import.meta.url), { type: 'module' });
  ${title(CALL)}`;

/** Files of every project. */
export const FILES: Readonly<Record<string, string>> = {
  'package.json':
    '{ "name": "app", "private": true, "type": "module", ' +
    '"@parcel/resolver-default": { "packageExports": true } }',
  'storage.html': '<script type="module" src="./storage.js"></script>',
  'storage.js': `import { openStorage } from 'ctx-storage'; ${title(OPEN)}`,
  'classes.html': '<script type="module" src="./classes.js"></script>',
  'classes.js': classesOf('ctx-storage'),
  'objects.worker.js': `import { DurableObject, serve } from 'ctx-storage/worker'; ${CLASS}`,
  // In Node: the code of a server that renders.
  'server.js': `import { openStorage } from 'ctx-storage';
    const error = await openStorage('app').then(() => 'opened', String);
    if (!/Call openStorage\\(\\) in a browser/.test(error)) throw new Error(error);`,
  // An app that only calls connect() must not emit openStorage's worker beside its own. Only
  // workers open files.
  'one-worker.js': `import { readdirSync, readFileSync } from 'node:fs';
    const files = readdirSync('connecting', { recursive: true }).filter((file) => file.endsWith('.js'));
    const workers = files.filter((file) => readFileSync('connecting/' + file, 'utf8').includes('createSyncAccessHandle'));
    if (workers.length !== 1) throw new Error('Workers: ' + workers.join(', '));`,
  // A bundler that follows no workers: the class worker is an entry, and three files lie beside its output.
  'copy.js': `import { copyFileSync } from 'node:fs';
    for (const file of ['worker.js', 'late.js', 'sqlite3.wasm']) {
      copyFileSync('node_modules/ctx-storage/dist/' + file, 'out/' + file);
    }`,
  'pages.js': `import { copyFileSync } from 'node:fs';
    for (const file of ['storage.html', 'classes.html']) copyFileSync(file, 'out/' + file);`,
};

const SERVER = ['server.js'];
const ONE_WORKER = ['one-worker.js'];

function vite(range: string): MatrixProject {
  const program = 'node_modules/vite/bin/vite.js';
  return {
    name: `Vite ${range}`,
    packages: [`vite@${range}`],
    files: {
      // Vite 7 emits a worker that nothing uses.
      'classes.js': classesOf(range === '7' ? 'ctx-storage/connect' : 'ctx-storage'),
      'vite.config.js': `export default ({ mode }) => ({
        build: {
          target: 'esnext',
          rollupOptions: { input: mode === 'connecting' ? ['classes.html'] : ['storage.html', 'classes.html'] },
        },
      });`,
    },
    build: [
      [program, 'build'],
      [program, 'build', '--mode', 'connecting', '--outDir', 'connecting'],
      ONE_WORKER,
      SERVER,
    ],
    served: [
      { what: 'development', command: [program] },
      { what: 'build', folder: 'dist' },
    ],
  };
}

/** Libraries that wrap classes, handlers and bindings, or have a build for workerd, with their defaults. */
const LIBRARIES: MatrixProject = {
  name: 'Sentry and capnweb with the Vite plugin',
  packages: ['vite@8', '@sentry/cloudflare', 'capnweb', 'unenv@2.0.0-rc.24'],
  files: {
    'wrangler.json': JSON.stringify({
      name: 'app',
      main: 'main.js',
      compatibility_date: '2026-07-01',
      compatibility_flags: ['nodejs_compat'],
      durable_objects: { bindings: [{ name: 'COUNTER', class_name: 'Counter' }] },
      migrations: [{ tag: 'v1', new_sqlite_classes: ['Counter'] }],
      kv_namespaces: [{ binding: 'KV', id: 'kv' }],
    }),
    'main.js': `import * as Sentry from '@sentry/cloudflare';
      import { newWebSocketRpcSession, newWorkersRpcResponse, RpcTarget } from 'capnweb';
      import { DurableObject } from 'cloudflare:workers';
      const options = () => ({ dsn: 'http://key@localhost:9/1', tracesSampleRate: 1 });
      class Api extends RpcTarget {
        constructor(env) { super(); this.env = env; }
        counter() { return this.env.COUNTER.getByName('other'); }
      }
      class Plain extends DurableObject {
        async add() {
          const count = ((await this.env.KV.get('count', 'json')) ?? 0) + 1;
          await this.env.KV.put('count', JSON.stringify(count));
          return count;
        }
        fetch(request) { return newWorkersRpcResponse(request, new Api(this.env)); }
      }
      export const Counter = Sentry.instrumentDurableObjectWithSentry(options, Plain);
      export default Sentry.withSentry(options, {
        async fetch(request, env) {
          const headers = { upgrade: 'websocket' };
          const { webSocket } = await env.COUNTER.getByName('one').fetch('http://x/', { headers });
          webSocket.accept();
          return Response.json(await newWebSocketRpcSession(webSocket).counter().add());
        },
      });`,
    'vite.config.js': `import { ctxStorage } from 'ctx-storage/vite';
      import { defaultClientConditions } from 'vite';
      export default {
        plugins: [ctxStorage()],
        resolve: { conditions: ['workerd', 'worker', 'ctx-storage', ...defaultClientConditions] },
        build: { rollupOptions: { input: 'classes.html' } },
      };`,
    'classes.js': `import { connect } from 'ctx-storage';
      import start from 'virtual:ctx-storage/start';
      ${title("return (await (await connect(start)).worker.fetch('http://x/')).json();")}`,
  },
  build: [['node_modules/vite/bin/vite.js', 'build']],
  served: [{ what: 'build', folder: 'dist', pages: ['classes.html'] }],
};

const ADAPTER = `import adapter from '@sveltejs/adapter-static';`;
const SVELTE_KIT = `import { sveltekit } from '@sveltejs/kit/vite';`;

/** Prerendered pages; the calls are made in the browser. */
function svelteKit(
  range: string,
  packages: readonly string[],
  config: Readonly<Record<string, string>>,
  nodeMajor: number,
): MatrixProject {
  const program = 'node_modules/vite/bin/vite.js';
  const page = (head: string, body: string) => `<script>
      import { onMount } from 'svelte';
      ${head}
      onMount(() => { ${title(body)} });
    </script>`;
  return {
    name: `SvelteKit ${range}`,
    packages: [`@sveltejs/kit@${range}`, 'svelte@5', ...packages],
    nodeMajor,
    files: {
      ...config,
      // The development server of this tool serves no other folder.
      'src/objects.worker.js': FILES['objects.worker.js']!,
      'src/app.html': '<head>%sveltekit.head%</head><body><div>%sveltekit.body%</div></body>',
      'src/routes/+layout.js': 'export const prerender = true;',
      'src/routes/+page.svelte': '<a href="/storage">Storage</a> <a href="/classes">Classes</a>',
      'src/routes/storage/+page.svelte': page("import { openStorage } from 'ctx-storage';", OPEN),
      'src/routes/classes/+page.svelte': page(
        `import { connect } from 'ctx-storage';
        const start = () =>
          new Worker(new URL('../../objects.worker.js', import.meta.url), { type: 'module' });`,
        CALL,
      ),
    },
    build: [[program, 'build'], SERVER],
    served: [
      { what: 'build', folder: 'build' },
      { what: 'development', command: [program], pages: ['storage', 'classes'] },
    ],
  };
}

/** A package manager that is not npm: `install` is followed by packages, `run` by a program that was installed. */
function manager(
  name: string,
  packages: readonly string[],
  install: readonly string[],
  run: readonly string[],
): MatrixProject {
  return {
    name,
    packages,
    isManager: true,
    files: {
      'yarn.lock': '',
      'vite.config.js': `export default {
        build: { target: 'esnext', rollupOptions: { input: ['storage.html', 'classes.html'] } },
      };`,
    },
    build: [
      [...install, 'vite@8', 'ctx-storage@file:./ctx-storage.tgz'],
      [...run, 'vite', 'build'],
      [...run, 'ctx-storage', '--version'],
    ],
    served: [
      { what: 'development', command: [...run, 'vite'] },
      { what: 'build', folder: 'dist' },
    ],
  };
}

const PNPM = 'manager/node_modules/pnpm/bin/pnpm.mjs';
const YARN = 'manager/node_modules/@yarnpkg/cli-dist/bin/yarn.js';

const map = (path: string) =>
  `<script type="importmap">{ "imports": { "ctx-storage": "${path}/index.js" } }</script>`;

export const PROJECTS: readonly MatrixProject[] = [
  LIBRARIES,
  vite('7'),
  vite('8'),
  {
    name: 'webpack 5',
    packages: ['webpack@5', 'webpack-cli@6'],
    files: {
      'webpack.config.js': `const of = (entry, folder) => ({
          mode: 'production', entry, output: { path: import.meta.dirname + '/' + folder, publicPath: '/' },
        });
        const [storage, classes] = ['./storage.js', './classes.js'];
        export default [of({ storage, classes }, 'out'), of({ classes }, 'connecting')];`,
    },
    build: [['node_modules/webpack/bin/webpack.js'], ONE_WORKER, ['pages.js']],
    served: [{ what: 'build', folder: 'out' }],
  },
  {
    name: 'Rollup 4',
    packages: ['rollup@4', '@rollup/plugin-node-resolve@16'],
    files: {
      'rollup.config.js': `import resolve from '@rollup/plugin-node-resolve';
        const of = (input, dir) => ({ input, output: { dir }, plugins: [resolve({ browser: true })] });
        const connecting = ['classes.js', 'objects.worker.js'];
        export default [of(['storage.js', ...connecting], 'out'), of(connecting, 'connecting')];`,
    },
    build: [['node_modules/rollup/dist/bin/rollup', '-c'], ONE_WORKER, ['copy.js'], ['pages.js']],
    served: [{ what: 'build', folder: 'out' }],
  },
  {
    name: 'esbuild',
    packages: ['esbuild'],
    files: {
      'build.js': `import { build } from 'esbuild';
        const options = { bundle: true, splitting: true, format: 'esm' };
        const connecting = ['classes.js', 'objects.worker.js'];
        await build({ ...options, entryPoints: ['storage.js', ...connecting], outdir: 'out' });
        await build({ ...options, entryPoints: connecting, outdir: 'connecting' });`,
    },
    build: [['build.js'], ONE_WORKER, ['copy.js'], ['pages.js']],
    served: [{ what: 'build', folder: 'out' }],
  },
  {
    name: 'Parcel 2',
    packages: ['parcel@2'],
    files: {},
    build: [
      ['node_modules/parcel/lib/bin.js', 'build', ...PAGES, '--dist-dir', 'out', '--no-cache'],
    ],
    served: [{ what: 'build', folder: 'out' }],
  },
  {
    name: 'Next.js 16',
    packages: ['next@16', 'react@19', 'react-dom@19'],
    files: {
      'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;',
      'app/storage/page.js': `'use client';
        import { useEffect } from 'react';
        import { openStorage } from 'ctx-storage';
        export default function Page() {
          useEffect(() => { ${title(OPEN)} }, []);
          return null;
        }`,
      'app/classes/page.js': `'use client';
        import { useEffect } from 'react';
        import { connect } from 'ctx-storage';
        const start = () =>
          new Worker(new URL('../../objects.worker.js', import.meta.url), { type: 'module' });
        export default function Page() {
          useEffect(() => { ${title(CALL)} }, []);
          return null;
        }`,
    },
    build: [['node_modules/next/dist/bin/next', 'build'], SERVER],
    served: [
      {
        what: 'build',
        command: ['node_modules/next/dist/bin/next', 'start', '-p', '0'],
        pages: ['storage', 'classes'],
      },
      {
        what: 'development',
        command: ['node_modules/next/dist/bin/next', 'dev', '-p', '0'],
        pages: ['storage', 'classes'],
      },
    ],
  },
  svelteKit(
    '2',
    ['@sveltejs/adapter-static@3', '@sveltejs/vite-plugin-svelte@6', 'vite@7'],
    {
      'svelte.config.js': `${ADAPTER} export default { kit: { adapter: adapter() } };`,
      'vite.config.js': `${SVELTE_KIT} export default { plugins: [sveltekit()] };`,
    },
    20,
  ),
  svelteKit(
    '3',
    ['@sveltejs/adapter-static@4', '@sveltejs/vite-plugin-svelte@7', 'vite@8', 'typescript@6'],
    {
      'vite.config.js': `${ADAPTER} ${SVELTE_KIT}
        export default { plugins: [sveltekit({ adapter: adapter() })] };`,
    },
    22,
  ),
  manager('pnpm', ['pnpm@12'], [PNPM, 'add'], [PNPM, 'exec']),
  manager('Yarn 4, Plug and Play', ['@yarnpkg/cli-dist@4'], [YARN, 'add'], [YARN]),
  {
    name: 'No bundler',
    packages: [],
    files: {
      'storage.html': `${map('/node_modules/ctx-storage/dist')}<script type="module" src="./storage.js"></script>`,
      'classes.html': `${map('/node_modules/ctx-storage/dist')}<script type="module" src="./classes.js"></script>`,
      'objects.worker.js': `import { DurableObject, serve } from '/node_modules/ctx-storage/dist/objects.js'; ${CLASS}`,
    },
    build: [SERVER],
    served: [{ what: 'import map', folder: '.' }],
  },
  {
    name: 'No bundler',
    packages: [],
    files: {
      'storage.html': `${map('OTHER/node_modules/ctx-storage/dist')}<script type="module" src="./storage.js"></script>`,
      'classes.html': `${map('OTHER/node_modules/ctx-storage/dist')}<script type="module" src="./classes.js"></script>`,
      'objects.worker.js': `import { DurableObject, serve } from 'OTHER/node_modules/ctx-storage/dist/objects.js'; ${CLASS}`,
    },
    build: [],
    served: [{ what: 'import map to another origin', folder: '.', isApart: true }],
  },
];
