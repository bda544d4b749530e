// An example of docs/examples as its reader has it: copied to a folder of its own, with the packed package installed.
//
// Its other dependencies are linked from this repository, so it is not checked here whether npm would install it;
// e2e/package/examples.test.ts checks that the versions are the same.

import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from '../browsers/server.ts';
import { EMULATOR, manifestOf as publishedManifestOf } from './entry-modules.ts';
import { installEmulator, installPacked, linkPackages } from './installed.ts';

export const EXAMPLES = join(REPOSITORY, 'docs/examples');

/** The parts of a package.json that are read here. */
export interface ExampleManifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

export function exampleNames(): string[] {
  const entries = readdirSync(EXAMPLES, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

export function manifestOf(name: string): ExampleManifest {
  return manifestIn(join(EXAMPLES, name));
}

export function manifestIn(folder: string): ExampleManifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** Copies the example, and returns its folder. */
export async function copyExample(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `ctx-storage-${name}-`));
  cpSync(join(EXAMPLES, name), folder, { recursive: true });
  await installPacked(folder);
  const { dependencies, devDependencies } = manifestOf(name);
  if (publishedManifestOf(EMULATOR).name in dependencies) await installEmulator(folder);
  linkPackages(folder, Object.keys({ ...dependencies, ...devDependencies }));
  return folder;
}

export function removeExample(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Runs one of the example's scripts to its end, and returns its output. @throws Error with the output when it fails
 */
export function runScript(folder: string, script: string): string {
  const run = spawnSync('npm', ['run', '--silent', script], {
    cwd: folder,
    env: shellEnvironment(),
    encoding: 'utf8',
  });
  if (run.status === 0) return run.stdout;
  throw new Error(`${folder}: npm run ${script}:\n${run.stdout}${run.stderr}`);
}

/** Returns the environment of a shell: a test's process may have the NODE_ENV of a development server. */
function shellEnvironment(): NodeJS.ProcessEnv {
  const { PATH, NODE_ENV: _ours, ...rest } = process.env;
  return { ...rest, PATH: `${join(REPOSITORY, 'node_modules/.bin')}:${PATH}` };
}

/** Starts a script that serves, and returns the address that it prints. Ends it after the task. */
export async function whileServing(
  folder: string,
  file: string,
  task: (address: string) => Promise<void>,
): Promise<void> {
  const server = await startServer(folder, [file], process.env);
  try {
    await task(server.address);
  } finally {
    await server.stop();
  }
}

export interface ExampleServer {
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Starts the server of `npm run dev:follow`, which keeps its data in the folder. `address`: that of an earlier one.
 */
export function startFollowed(folder: string, address?: string): Promise<ExampleServer> {
  const [, ...parameters] = manifestIn(folder).scripts['dev:follow']!.split(' ');
  const port = address === undefined ? '0' : new URL(address).port;
  const program = 'node_modules/ctx-storage/dist/cli.js';
  return startServer(folder, [program, ...parameters, '--port', port], shellEnvironment());
}

async function startServer(
  folder: string,
  parameters: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<ExampleServer> {
  const env = { ...environment, NO_COLOR: '1' }; // the test runner asks for colours
  const child = spawn(process.execPath, parameters, { cwd: folder, env });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const stop = () => {
    child.kill();
    return ended;
  };
  try {
    return { address: await addressPrintedBy(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function addressPrintedBy(child: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = '';
    for (const output of [child.stdout!, child.stderr!]) {
      output.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        const [address] = /http:\/\/(?:localhost|127\.0\.0\.1):\d+(?=\/|\n)/.exec(printed) ?? [];
        if (address !== undefined) resolve(`${address}/`);
      });
    }
    child.on('close', () => reject(new Error(`It ended before it served:\n${printed}`)));
  });
}
