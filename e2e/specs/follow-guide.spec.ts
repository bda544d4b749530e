// The guide to following, as a newcomer follows it: its files in an empty folder, the packed package, its commands.

import { type ChildProcess, execFileSync, execSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { installPacked, linkPackages, whileServed } from '../package/installed.ts';

const GUIDE = readFileSync(join(REPOSITORY, 'docs/follow.md'), 'utf8');

/** A block that begins with the name of its file. */
const FILE = /^```\w+\n(?:\/\/|<!--) (?<name>[\w.]+)(?: -->)?\n(?<code>[\s\S]*?)^```$/gm;

/** The command that makes the secret. */
const SECRET = /^node -e .*$/m;

/** The port of `ctx-storage dev`, which the guide names. */
const PORT_OF_GUIDE = '8787';

let folder: string;
test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-follow-guide-'));
});
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('[DOC9] the files of the follow guide are an app of two devices, also after a reload and without the server', {
  tag: [LONG, ONCE],
}, async ({ context }) => {
  await installPacked(folder);
  linkPackages(folder, ['esbuild', 'ws', 'vite']);
  execSync(SECRET.exec(GUIDE)![0], { cwd: folder });
  let server = await serverOf(0);
  const files = [...GUIDE.matchAll(FILE)].map(({ groups }) => groups!.name);
  expect(files).toEqual([
    'todo.ts',
    'server.ts',
    'session.ts',
    'wrangler.jsonc',
    'worker.ts',
    'index.html',
    'page.ts',
  ]);
  execFileSync(process.execPath, ['node_modules/vite/bin/vite.js', 'build'], {
    cwd: folder,
    stdio: 'pipe',
  });
  const built = join(folder, 'dist');
  try {
    await whileServed(built, async (address) => {
      const page = await open(context, address);
      await expect(page.locator('p')).toHaveText('current, 0 waiting, 0 refused');
      await add(page, 'milk');
      await expect(page.locator('li')).toHaveText(['milk']);
      await page.reload();
      await expect(page.locator('p')).toHaveText('current, 0 waiting, 0 refused');
      await expect(page.locator('li')).toHaveText(['milk']);
      await add(page, 'milk');
      await expect(page.locator('p')).toContainText('UNIQUE');

      await end(server.process);
      await add(page, 'bread');
      await expect(page.locator('li')).toHaveText(['milk', 'bread']);
      await page.reload();
      await expect(page.locator('li')).toHaveText(['milk', 'bread']);
      server = await serverOf(server.port);
      // Another origin has storage of its own, like another device.
      await whileServed(built, async (other) => {
        await expect((await open(context, other)).locator('li')).toHaveText(['milk', 'bread']);
      });
    });
  } finally {
    await end(server.process);
  }
});

/** Starts `npx ctx-storage dev`; 0: on a free port, which the files then name in place of the guide's. */
async function serverOf(port: number): Promise<{ process: ChildProcess; port: number }> {
  if (port === 0) writeFiles(PORT_OF_GUIDE);
  const program = 'node_modules/ctx-storage/dist/cli.js';
  const child = spawn(process.execPath, [program, 'dev', '--port', String(port)], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const found = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const [, number] = /Listening at http:\/\/127\.0\.0\.1:(\d+)/.exec(said) ?? [];
      if (number !== undefined) resolve(number);
    });
    child.once('exit', () => reject(new Error(`The server has ended: ${said}`)));
  });
  if (port === 0) writeFiles(found);
  return { process: child, port: Number(found) };
}

function writeFiles(port: string): void {
  for (const { groups } of GUIDE.matchAll(FILE)) {
    const code = groups!.code!.replaceAll(PORT_OF_GUIDE, port);
    writeFileSync(join(folder, groups!.name!), code);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function open(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

async function add(page: Page, title: string): Promise<void> {
  await page.locator('input').fill(title);
  await page.getByRole('button', { name: 'Add' }).click();
}
