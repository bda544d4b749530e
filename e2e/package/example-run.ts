// The example of a Playwright suite as a user of the package has it: in a folder of its own, with the packed packages
// installed, and its tests run by its own Playwright. e2e/package/example-rig adds tests, and how they run here.

import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { basename, join } from 'node:path';
import { type BrowserName, requireBrowser } from '../browsers/browser.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { EXAMPLES } from './copied-example.ts';
import { npmInstall, packedEmulator, packedFile } from './installed.ts';

/** The files that are copied over the example. */
const RIG = join(REPOSITORY, 'e2e/package/example-rig');

/** How one test ended. */
export interface RanTest {
  /** The file's name, without its ending. */
  readonly file: string;
  readonly project: string;
  readonly title: string;
  readonly status: string;
  readonly failures: readonly Failure[];
  readonly attachments: readonly { readonly name: string; readonly body: Buffer }[];
  readonly steps: readonly string[];
}

export interface Failure {
  /** The message without colours and excerpts of the test. */
  readonly message: string;
  /** Where it is shown, `file:line`. */
  readonly line: string;
}

interface JsonResult {
  readonly status: string;
  readonly errors: readonly { readonly message: string; readonly location?: JsonPlace }[];
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
  readonly specs: readonly JsonSpec[];
}

interface JsonSpec {
  readonly file: string;
  readonly title: string;
  readonly tests: readonly {
    readonly projectName: string;
    readonly results: readonly JsonResult[];
  }[];
}

/** Makes the project in an empty folder, and installs its dependencies by npm. */
export async function makeExample(folder: string): Promise<void> {
  for (const from of [join(EXAMPLES, 'playwright'), RIG]) cpSync(from, folder, { recursive: true });
  npmInstall(folder, await packedFile(), await packedEmulator());
}

/** A part of the project's tests: on one of its servers, or the tests that are meant to fail. */
type Part = 'build' | 'dev' | 'red';

/**
 * Runs a part of the project's tests in one browser.
 *
 * @throws Error with all that was printed, if they report nothing
 */
export async function runExample(
  folder: string,
  browser: BrowserName,
  part: Part,
): Promise<RanTest[]> {
  const project = `--project=${browser}${part === 'dev' ? '-dev' : ''}`;
  const output = await run(folder, ['test', '--config=rig.config.ts', project, '--reporter=json'], {
    PORT: String(await freePorts()),
    ...(part === 'red' && { RED: '1' }),
    [`${browser.toUpperCase()}_PATH`]: requireBrowser(browser).executablePath,
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
  return [...specs.flatMap(ran), ...suites.flatMap(testsIn)];
}

function ran({ file, title, tests }: JsonSpec): RanTest[] {
  return tests.flatMap(({ projectName, results }) =>
    results.slice(-1).map(({ status, errors, attachments, steps = [] }) => ({
      file: basename(file).replace(/\..*$/, ''),
      project: projectName,
      title,
      status,
      failures: errors.map(({ message, location }) => ({
        message: plain(message),
        line: location === undefined ? '' : `${basename(location.file)}:${location.line}`,
      })),
      attachments: attachments.map(({ name, body = '' }) => ({
        name,
        body: Buffer.from(body, 'base64'),
      })),
      steps: steps.map((step) => step.title),
    })),
  );
}

function plain(text: string): string {
  const [message = ''] = text
    .replace(/\u001b\[[0-9;]*m/g, '')
    .replace(/localhost:\d+/g, 'localhost:PORT')
    .split(/\n+ *>? *\d+ \||\n +at /);
  return message;
}

function run(
  folder: string,
  parameters: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  // The outer Playwright's settings are not meant for this one.
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

/** Returns a free port; the next port is free, too. */
async function freePorts(): Promise<number> {
  for (;;) {
    const first = (await listening(0))!;
    const { port } = first.address() as AddressInfo;
    const second = await listening(port + 1);
    first.close();
    second?.close();
    if (second !== null) return port;
  }
}

/** A server at the port, or null if another has it. */
function listening(port: number): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.on('error', () => resolve(null));
    server.listen(port, 'localhost', () => resolve(server));
  });
}
