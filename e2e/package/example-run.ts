// The example project as a user of the package has it: in a folder of its own, with the packed package installed,
// and its tests run by its own Playwright.

import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { requireBrowser } from '../browsers/browser.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { installPacked, linkPackages } from './installed.ts';

/** How one test ended. */
export interface RanTest {
  readonly title: string;
  readonly status: string;
  /** Without colours. */
  readonly message: string;
  /** Where the failure is shown, `file:line`. */
  readonly line: string;
  readonly attachments: readonly { readonly name: string; readonly body: Buffer }[];
  readonly steps: readonly string[];
}

export interface RunOptions {
  readonly project: string;
  readonly files: readonly string[];
  readonly mode: 'dev' | 'preview';
  /** Whether the tests that are meant to fail run. */
  readonly red?: boolean;
}

interface JsonResult {
  readonly status: string;
  readonly error?: { readonly message?: string; readonly location?: JsonPlace };
  readonly attachments: readonly {
    readonly name: string;
    readonly body?: string;
  }[];
  readonly steps?: readonly { readonly title: string }[];
}

interface JsonPlace {
  readonly file: string;
  readonly line: number;
}

interface JsonSuite {
  readonly suites?: readonly JsonSuite[];
  readonly specs: readonly {
    readonly title: string;
    readonly tests: readonly { readonly results: readonly JsonResult[] }[];
  }[];
}

/** What the example imports, besides the package. */
const PACKAGES = ['@playwright/test', 'vite'];

/** Makes the project in an empty folder. */
export function makeExample(folder: string): void {
  cpSync(join(REPOSITORY, 'e2e/example'), folder, { recursive: true });
  installPacked(folder);
  linkPackages(folder, PACKAGES);
}

/** Runs tests of the project. @throws Error with all that was printed, if it reports nothing */
export async function runExample(folder: string, options: RunOptions): Promise<RanTest[]> {
  const { project, files, mode, red = false } = options;
  const output = await run(folder, ['test', `--project=${project}`, '--reporter=json', ...files], {
    PORT: String(await freePort()),
    MODE: mode,
    ...(red && { RED: '1' }),
    CHROMIUM_PATH: project === 'chromium' ? requireBrowser('chromium').executablePath : '',
    FIREFOX_PATH: project === 'firefox' ? requireBrowser('firefox').executablePath : '',
  });
  const start = output.indexOf('{\n');
  if (start === -1) throw new Error(`The example's tests reported nothing:\n${output}`);
  const report = JSON.parse(output.slice(start)) as {
    suites: JsonSuite[];
    errors: { message?: string }[];
  };
  const tests = report.suites.flatMap(testsIn);
  if (tests.length > 0) return tests;
  throw new Error(`The example ran no test: ${report.errors.map(({ message }) => message)}`);
}

function testsIn({ suites = [], specs }: JsonSuite): RanTest[] {
  const own = specs.flatMap(({ title, tests }) =>
    tests.flatMap(({ results }) => results.slice(-1).map((result) => ran(title, result))),
  );
  return [...own, ...suites.flatMap(testsIn)];
}

function ran(title: string, { status, error, attachments, steps = [] }: JsonResult): RanTest {
  const { file = '', line = 0 } = error?.location ?? {};
  return {
    title,
    status,
    message: plain(error?.message ?? ''),
    line: `${file.split('/').at(-1)}:${line}`,
    attachments: attachments.map(({ name, body = '' }) => ({
      name,
      body: Buffer.from(body, 'base64'),
    })),
    steps: steps.map((step) => step.title),
  };
}

function plain(text: string): string {
  return text.replace(/\u001b\[[0-9;]*m/g, '').replace(/localhost:\d+/g, 'localhost:PORT');
}

function run(
  folder: string,
  parameters: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  // What the outer Playwright has set is not meant for this one.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:TEST_|PW|PLAYWRIGHT_|NODE_OPTIONS$|FORCE_COLOR$)/.test(name),
  );
  const child = spawn(
    process.execPath,
    [join(folder, 'node_modules/@playwright/test/cli.js'), ...parameters],
    { cwd: folder, env: { ...Object.fromEntries(inherited), ...env } },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  let problems = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    problems += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(output === '' ? problems : output));
  });
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, 'localhost', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
