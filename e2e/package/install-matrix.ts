// npm run install-matrix -- [--vite 7 --vite 8] [--short]
//
// Installs the packed package into empty projects, with npm and from its registry, and opens each in a
// browser: Vite's development server and its build, without the plugin and with no setting of the package's.
// The last line is the count; ends with 1 if a project fails. `--short` tries the oldest Vite only.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { packTo } from './pack.ts';

/** Until a page works or has failed; Vite bundles what it discovers, and reloads. */
const PAGE_MS_MAX = 60_000;

/** Vite's program, from a project's folder. */
const VITE = 'node_modules/vite/bin/vite.js';

/** Each page writes how it ended into its title. */
const title = (body: string) => `
  (async () => { ${body} })().then(
    (value) => { document.title = value === 1 ? 'works' : 'got ' + value; },
    (error) => { document.title = String(error); },
  );`;

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "app", "private": true, "type": "module" }',
  'vite.config.js': `export default {
    build: { target: 'esnext', rollupOptions: { input: ['storage.html', 'classes.html'] } },
  };`,
  'storage.html': '<script type="module" src="./storage.js"></script>',
  'storage.js': `import { openStorage } from 'ctx-storage';
    ${title(`
      const storage = await openStorage('app');
      await storage.put('a', 1);
      return storage.get('a');`)}`,
  'classes.html': '<script type="module" src="./classes.js"></script>',
  'classes.js': `import { connect } from 'ctx-storage';
    const start = () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    ${title(`
      const { env } = await connect(start);
      return env.Counter.getByName(crypto.randomUUID()).add();`)}`,
  'worker.js': `import { DurableObject, serve } from 'ctx-storage/worker';
    class Counter extends DurableObject {
      add() {
        this.ctx.storage.kv.put('count', (this.ctx.storage.kv.get('count') ?? 0) + 1);
        return this.ctx.storage.kv.get('count');
      }
    }
    serve({ Counter });`,
};
const PAGES = ['storage.html', 'classes.html'];

const { values } = parseArgs({
  options: {
    vite: { type: 'string', multiple: true, default: ['7', '8'] },
    short: { type: 'boolean', default: false },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-install-'));
const profile = new Profile(requireBrowser('chromium'));
let passed = 0;
let failed = 0;
try {
  const file = join(folder, 'ctx-storage.tgz');
  packTo(file);
  await profile.launch();
  for (const range of values.short ? values.vite.slice(0, 1) : values.vite) {
    await tryVite(range, install(`vite-${range}`, [`vite@${range}`, file]));
  }
} finally {
  await profile.remove();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) process.exitCode = 1;

/** A project of the files above, with these packages. */
function install(name: string, packages: readonly string[]): string {
  const project = join(folder, name);
  mkdirSync(project);
  for (const [path, text] of Object.entries(FILES)) writeFileSync(join(project, path), text);
  execFileSync('npm', ['install', ...packages], { cwd: project, stdio: 'pipe' });
  return project;
}

async function tryVite(range: string, project: string): Promise<void> {
  const manifest = readFileSync(join(project, 'node_modules/vite/package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  if (!version.startsWith(range)) throw new Error(`npm installed Vite ${version}, not ${range}.`);
  await tryPages(`Vite ${version}, development`, project, []);
  execFileSync(process.execPath, [VITE, 'build'], { cwd: project, stdio: 'pipe' });
  await tryPages(`Vite ${version}, build`, project, ['preview']);
}

async function tryPages(what: string, project: string, command: readonly string[]): Promise<void> {
  const server = spawn(process.execPath, [VITE, ...command], {
    cwd: project,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const origin = await originOf(server.stdout);
    for (const path of PAGES) {
      const page = await profile.newPage();
      await page.goto(`${origin}/${path}`);
      report(`${what}, ${path}`, await titleOf(page));
      await page.close();
    }
  } finally {
    server.kill();
  }
}

/** The address that Vite prints. Its output is read to the end, because a full pipe would stop it. */
function originOf(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface(output);
    lines.on('line', (line) => {
      const [origin] = /http:\/\/localhost:\d+/.exec(line) ?? [];
      if (origin !== undefined) resolve(origin);
    });
    lines.on('close', () => reject(new Error('Vite ended without an address.')));
  });
}

/** What the page ended with. */
async function titleOf(page: Page): Promise<string> {
  const ended = page.waitForFunction(() => document.title, undefined, { timeout: PAGE_MS_MAX });
  return ended.then(
    (handle) => handle.jsonValue(),
    () => `nothing within ${PAGE_MS_MAX / 1000} s`,
  );
}

function report(what: string, ending: string): void {
  if (ending === 'works') passed += 1;
  else failed += 1;
  console.log(`${what}: ${ending}`);
}
