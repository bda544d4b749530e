// npm run install-matrix -- [--only vite] [--folder <kept>] [--build-only] [--types]
//
// Installs the packed package into empty projects, with npm and from its registry, builds each with one tool,
// and opens it in Chromium. Then type-checks every entry with TypeScript 5.4 to 7, and asks publint and attw.
// The last line is the count; ends with 1 if anything fails.
//
//   --only        projects whose name has this in it, in any case; `types` for the checks of types
//   --folder where the projects are made and kept: an existing project is not installed again
//   --build-only  stops before a browser is opened

import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { serveFolder } from './installed.ts';
import { FILES, type MatrixProject, PAGES, PROJECTS, type Served } from './matrix-projects.ts';
import { packTo } from './pack.ts';
import { checkTypes } from './type-matrix.ts';

/**
 * Until a page works or has failed; a development server bundles dependencies that it discovers, and
 * reloads.
 */
const PAGE_MS_MAX = 60_000;

const NODE_MAJOR = Number.parseInt(process.versions.node, 10);

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    folder: { type: 'string' },
    'build-only': { type: 'boolean', default: false },
  },
});
const isWanted = (name: string) =>
  values.only.some((part) => name.toLowerCase().includes(part.toLowerCase()));

const folder = resolve(values.folder ?? mkdtempSync(join(tmpdir(), 'ctx-storage-install-')));
let passed = 0;
let failed = 0;
try {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'ctx-storage.tgz');
  if (!existsSync(file)) packTo(file);
  const built: [MatrixProject, string][] = [];
  for (const [index, project] of PROJECTS.entries()) {
    if (!isWanted(project.name)) continue;
    if (NODE_MAJOR < (project.nodeMajor ?? 0)) {
      console.log(`${project.name}: left out, because it needs Node ${project.nodeMajor}`);
      continue;
    }
    const root = join(folder, `project-${index}`);
    if (existsSync(join(root, 'built'))) built.push([project, root]);
    else if (attempt(`${project.name}, installation and build`, () => make(project, root, file))) {
      writeFileSync(join(root, 'built'), '');
      built.push([project, root]);
    }
  }
  if (isWanted('types')) checkTypes(join(folder, 'types'), file, report);
  if (!values['build-only']) await openAll(built);
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) process.exitCode = 1;

/** Installs the project, and runs its build. */
function make(project: MatrixProject, root: string, file: string): void {
  const { files, packages, isManager, build } = project;
  for (const [path, text] of Object.entries({ ...FILES, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const install = (folder: string, names: readonly string[]) =>
    run(folder, 'npm', ['install', '--no-audit', '--no-fund', ...names]);
  if (isManager) {
    copyFileSync(file, join(root, 'ctx-storage.tgz'));
    mkdirSync(join(root, 'manager'), { recursive: true });
    writeFileSync(join(root, 'manager/package.json'), '{}');
    install(join(root, 'manager'), packages);
  } else install(root, [...packages, file]);
  for (const command of build) run(root, process.execPath, command);
}

/** The project, with the installed version of its tool. */
function titleWith({ name, packages: [first], isManager }: MatrixProject, root: string): string {
  if (first === undefined) return name;
  const tool = join('node_modules', first.replace(/(?<=.)@[^/]*$/, ''), 'package.json');
  const path = join(root, isManager ? 'manager' : '', tool);
  return `${name} (${JSON.parse(readFileSync(path, 'utf8')).version})`;
}

function run(cwd: string, program: string, parameters: readonly string[]): void {
  execFileSync(program, parameters, { cwd, stdio: 'pipe', env: { ...process.env, CI: '1' } });
}

function attempt(what: string, action: () => void): boolean {
  try {
    action();
    report(what, 'works');
    return true;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: Buffer; stderr?: Buffer };
    report(what, `${String(error)}\n${stdout}\n${stderr}`.slice(0, 3000));
    return false;
  }
}

async function openAll(built: readonly (readonly [MatrixProject, string])[]): Promise<void> {
  const profile = new Profile(requireBrowser('chromium'));
  try {
    await profile.launch();
    for (const [project, root] of built) {
      const title = titleWith(project, root);
      for (const served of project.served) {
        const { origin, end } = await serve(root, served);
        try {
          for (const path of served.pages ?? PAGES) {
            const page = await profile.newPage();
            await page.goto(`${origin}/${path}`);
            report(`${title}, ${served.what}, ${path}`, await titleOf(page));
            await page.close();
          }
        } finally {
          end();
        }
      }
    }
  } finally {
    await profile.remove();
  }
}

async function serve(
  root: string,
  { folder: path, command, isApart }: Served,
): Promise<{ readonly origin: string; end(): void }> {
  if (command !== undefined) return startServer(root, command);
  const servers = [await serveFolder(join(root, path!))];
  const originOf = (index: number) =>
    `http://localhost:${(servers[index]!.address() as AddressInfo).port}`;
  if (isApart) {
    servers.push(await serveFolder(join(root, path!)));
    for (const file of [...PAGES, 'objects.worker.js']) {
      const text = readFileSync(join(root, file), 'utf8');
      writeFileSync(
        join(root, file),
        text.replaceAll(/OTHER|http:\/\/localhost:\d+/g, originOf(1)),
      );
    }
  }
  return {
    origin: originOf(0),
    end() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

async function startServer(root: string, command: readonly string[]) {
  const server = spawn(process.execPath, command, {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => void server.kill();
  try {
    return { origin: await originIn(server.stdout), end };
  } catch (error) {
    end();
    throw error;
  }
}

/** The address that a server prints. Its output is read to the end, because a full pipe would stop it. */
function originIn(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface(output);
    lines.on('line', (line) => {
      const [origin] = /http:\/\/localhost:\d+/.exec(line) ?? [];
      if (origin !== undefined) resolve(origin);
    });
    lines.on('close', () => reject(new Error('The server ended without an address.')));
  });
}

/** The final title of the page. */
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
