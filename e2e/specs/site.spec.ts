// The guide as its readers get it: built, and opened in a browser.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { preview } from 'vite';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { packedFile } from '../package/installed.ts';

/** Words of a reader, and the heading that the search shows first. */
const FOUND = [
  ['undo', 'Undo for apps'],
  ['backup', 'Backup, export and import'],
  ['sync', 'If you need sync'],
  ['bulk insert', 'Many rows at once: bulk insert'],
  ['import CSV', 'Import CSV'],
  ['GDPR', "Deleting a person's data"],
  ['performance', 'Performance'],
  ['upgrade', 'Upgrade an app'],
  ['full text search', 'Full-text search'],
  ['large file', 'Large files'],
  ['IndexedDB', 'Coming from IndexedDB'],
  ['offline', 'Offline'],
] as const;

/** Opens the search by its key, again until the page listens, and searches for the words. */
async function search(page: Page, words: string): Promise<void> {
  const box = page.getByRole('searchbox');
  await expect(async () => {
    await page.keyboard.press('Control+k');
    await expect(box).toBeVisible({ timeout: 500 });
  }).toPass();
  await box.fill(words);
}

test('[DOC6] the guide is built, opens at its start, leads to a page, finds a word and shows the reference', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context }) => {
  // Packing replaces `dist`: it goes first.
  await packedFile();
  execFileSync(
    process.execPath,
    ['--import', 'tsx', join(REPOSITORY, 'e2e/package/site/build-site.ts')],
    {
      cwd: REPOSITORY,
      stdio: 'pipe',
    },
  );
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

    await search(page, 'troubleshooting');
    await page
      .getByRole('option', { name: /troubleshooting/i })
      .first()
      .click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Troubleshooting');

    for (const [words, heading] of FOUND) {
      await search(page, words);
      await expect(page.getByRole('option').first(), words).toContainText(heading);
      await page.keyboard.press('Escape');
    }

    await page.goto(`${address}api/`);
    const reference = page.getByRole('main');
    await expect(reference.getByRole('heading', { level: 1 })).toContainText('ctx-storage');
    await expect(reference.getByRole('heading', { name: /^withSignal/ })).toBeVisible();
    await expect(reference).toContainText('function withSignal<Target extends object>(');
    expect(errors).toEqual([]);
  } finally {
    await server.close();
  }
});
