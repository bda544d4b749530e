// `ctx-storage init` as its users have it: the program of the packed package makes a project, npm installs it, and its
// build opens in a browser.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { runScript } from '../package/copied-example.ts';
import { npmInstall, packedFile, whileServed } from '../package/installed.ts';

/** Uses each example in its page, and leaves it where a reload shows the same. */
const USES: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  async todo(page) {
    await page.getByLabel('New item').fill('milk');
    await page.getByRole('button', { name: 'Add' }).click();
    await expect(page.locator('li')).toHaveText([/milk/]);
  },
  async chat(page) {
    await page.getByLabel('Your name').fill('Ada');
    await page.getByRole('button', { name: 'Enter' }).click();
    await expect(page.getByRole('status')).toHaveText('Connected');
  },
  async test(page) {
    await page.getByRole('button', { name: 'Visit' }).click();
    await expect(page.locator('#visits')).toHaveText('1');
  },
};

// npm installs the examples' packages.
test.describe.configure({ timeout: 600_000 });

let parent: string;
test.beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'ctx-storage-init-'));
  const tool = join(parent, 'tool');
  mkdirSync(tool);
  npmInstall(tool, await packedFile());
});
test.afterAll(() => rmSync(parent, { recursive: true, force: true }));

for (const [name, use] of Object.entries(USES)) {
  test(`[PKG18] ${name} is made by the packed package, installed, checked and built, and opens`, {
    tag: [LONG, ONCE, RELEASE],
  }, async ({ context }) => {
    const program = join(parent, 'tool/node_modules/.bin/ctx-storage');
    execFileSync(program, ['init', name], { cwd: parent, stdio: 'pipe' });
    const folder = join(parent, name);
    npmInstall(folder);
    for (const script of ['check', 'build']) runScript(folder, script);
    await whileServed(join(folder, 'dist'), async (address) => {
      const page = await context.newPage();
      await page.goto(address);
      await use(page);
    });
  });
}
