// The guide as its readers get it: built, and opened in a browser.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { preview } from 'vite';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { ONCE } from '../browsers/tags.ts';

const BUILD_MS_MAX = 180_000;

test('[DOC6] the guide is built, opens at its start, leads to a page, finds a word and shows the reference', {
  tag: ONCE,
}, async ({ context }) => {
  test.setTimeout(BUILD_MS_MAX);
  execFileSync(process.execPath, ['--import', 'tsx', join(REPOSITORY, 'e2e/site/build-site.ts')], {
    cwd: REPOSITORY,
    stdio: 'pipe',
  });
  const server = await preview({
    configFile: false,
    root: join(REPOSITORY, 'dist'),
    logLevel: 'error',
    build: { outDir: 'site' },
    preview: { host: 'localhost', port: 0 },
  });
  try {
    const [address] = server.resolvedUrls!.local;
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(address!);
    await expect(page.getByRole('heading', { level: 1 })).toContainText('ctx-storage');
    await page.getByRole('link', { name: 'Quick start' }).first().click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Quick start');

    await page.keyboard.press('Control+k');
    await page.getByRole('searchbox').fill('troubleshooting');
    await page
      .getByRole('option', { name: /troubleshooting/i })
      .first()
      .click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Troubleshooting');

    await page.goto(`${address}api/`);
    await expect(page.getByRole('main').getByRole('link').first()).toBeVisible();
    expect(errors).toEqual([]);
  } finally {
    await server.close();
  }
});
