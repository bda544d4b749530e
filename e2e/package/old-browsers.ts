// npm run old-browsers -- [--firefox <executable>]
//
// Runs the packed package in the oldest Chromium that the documents state, and in a browser too old for it: both
// from npm. With --firefox also in that Firefox. The last line is the count; ends with 1 if anything fails.
//
// A browser of that age is driven by no protocol of today: it opens a page, and the page requests an address that
// contains the result. Each starts twice on one profile, so that the second finds the data of the first.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliDecompressSync } from 'node:zlib';
import { installPacked, serveFolder } from './installed.ts';

/** A package that contains a Chromium for Linux. Its versions are Chromium's. */
const CHROMIUM = '@sparticuz/chromium';
const OLDEST = '116.0.0';
const TOO_OLD = '112.0.2';

/** A page that never ends; never a measure of speed. */
const PAGE_MS_MAX = 120_000;

const { values } = parseArgs({ options: { firefox: { type: 'string' } } });

const PAGE = `<!doctype html><meta charset="utf-8"><title>Old browsers</title><script type="module">
const end = (result) => fetch('/ended/' + encodeURIComponent(JSON.stringify(result)));
try {
  const { connect, openStorage } = await import('/node_modules/ctx-storage/dist/index.js');
  const storage = await openStorage('notes');
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS note(body TEXT)').ready;
  const rows = async () => (await storage.sql.exec('SELECT body FROM note').toArray()).length;
  const found = await rows();
  await storage.sql.exec('INSERT INTO note VALUES (?)', 'kept').ready;
  const before = await storage.getCurrentBookmark();
  await storage.sql.exec('INSERT INTO note VALUES (?)', 'undone').ready;
  const live = await new Promise((heard) => {
    storage.sql.live('SELECT body FROM note').subscribe((rows) => rows && heard(rows));
  });
  await storage.restore(before);
  const { env } = await connect(() => new Worker('/counter.js', { type: 'module' }), { directory: 'counter' });
  const count = await env.Counter.getByName('a').add(1);
  end({ agent: navigator.userAgent, medium: storage.medium, found, live: live.length, rows: await rows(), count });
} catch (error) {
  end({ agent: navigator.userAgent, code: error.code, message: error.message });
}
</script>`;

const COUNTER = `import { DurableObject, serve } from '/node_modules/ctx-storage/dist/objects.js';
class Counter extends DurableObject {
  async add(by) {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + by;
    await this.ctx.storage.put('count', count);
    return count;
  }
}
serve({ Counter });`;

interface Ending {
  readonly agent: string;
  readonly code?: string;
  readonly message?: string;
  readonly [fact: string]: unknown;
}

const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-old-'));
const site = join(folder, 'site');
let hear: (ending: Ending) => void = () => {};
let passed = 0;
let failed = 0;

mkdirSync(site);
installPacked(site);
writeFileSync(join(site, 'index.html'), PAGE);
writeFileSync(join(site, 'counter.js'), COUNTER);
const server = await serveFolder(site, (path) => {
  if (!path.startsWith('/ended/')) return true;
  hear(JSON.parse(decodeURIComponent(path.slice('/ended/'.length))));
  return false;
});
const address = `http://localhost:${(server.address() as AddressInfo).port}/`;
try {
  await works(chromiumOf(OLDEST));
  await refuses(chromiumOf(TOO_OLD));
  if (values.firefox !== undefined) await works(firefoxAt(values.firefox));
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

/** The command that opens the page with a profile. */
type Opening = (profile: string) => readonly string[];

function chromiumOf(version: string): Opening {
  const parent = join(folder, version);
  mkdirSync(parent);
  const quiet = { cwd: parent, encoding: 'utf8' } as const;
  const packed = execFileSync('npm', ['pack', '--silent', `${CHROMIUM}@${version}`], quiet).trim();
  execFileSync('tar', ['-xzf', packed], quiet);
  const executable = join(parent, 'chromium');
  const bytes = brotliDecompressSync(readFileSync(join(parent, 'package/bin/chromium.br')));
  writeFileSync(executable, bytes, { mode: 0o755 });
  // The debugging port keeps it running. It comes without the helper that sandboxes need.
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0'];
  return (profile) => [executable, ...flags, `--user-data-dir=${profile}`, address];
}

function firefoxAt(executable: string): Opening {
  return (profile) => [executable, '--headless', '--no-remote', '--profile', profile, address];
}

async function works(opening: Opening): Promise<void> {
  const profile = mkdtempSync(join(folder, 'profile-'));
  for (const found of [0, 1]) {
    const { agent, ...facts } = await endingOf(opening(profile));
    const wanted = { medium: 'opfs', found, live: found + 2, rows: found + 1, count: found + 1 };
    const isRight = JSON.stringify(facts) === JSON.stringify(wanted);
    report(isRight, `${agent}: ${found === 0 ? 'works' : 'finds its data again'}`, facts);
  }
}

async function refuses(opening: Opening): Promise<void> {
  const { agent, ...facts } = await endingOf(opening(mkdtempSync(join(folder, 'profile-'))));
  const isRight = facts.code === 'BROWSER_TOO_OLD' && /AbortSignal\.any/.test(facts.message ?? '');
  report(isRight, `${agent}: is refused as too old`, facts);
}

async function endingOf([command, ...parameters]: readonly string[]): Promise<Ending> {
  const browser = spawn(command!, parameters, { stdio: 'ignore', detached: true });
  const heard = new Promise<Ending>((resolve) => {
    hear = resolve;
  });
  const last = AbortSignal.timeout(PAGE_MS_MAX);
  const late = once(last, 'abort').then(() => ({ agent: command!, message: 'it did not end' }));
  const ended = once(browser, 'exit').then(() => ({ agent: command!, message: 'it went away' }));
  try {
    return await Promise.race([heard, late, ended]);
  } finally {
    endAll(browser);
    await ended;
  }
}

/** With the processes that it started. */
function endAll({ pid, exitCode, signalCode }: ChildProcess): void {
  if (exitCode === null && signalCode === null) process.kill(-pid!, 'SIGKILL');
}

function report(isRight: boolean, title: string, facts: object): void {
  if (isRight) passed += 1;
  else failed += 1;
  console.log(isRight ? title : `FAILED ${title}: ${JSON.stringify(facts)}`);
}
