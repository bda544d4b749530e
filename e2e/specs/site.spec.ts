// The guide as its readers get it: built, and opened in a browser.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
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
] as const;

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

    await page.keyboard.press('Control+k');
    await page.getByRole('searchbox').fill('troubleshooting');
    await page
      .getByRole('option', { name: /troubleshooting/i })
      .first()
      .click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Troubleshooting');

    for (const [words, heading] of FOUND) {
      await page.keyboard.press('Control+k');
      await page.getByRole('searchbox').fill(words);
      await expect(page.getByRole('option').first(), words).toContainText(heading);
      await page.keyboard.press('Escape');
    }

    await page.goto(`${address}api/`);
    await expect(page.getByRole('main').getByRole('link').first()).toBeVisible();
    expect(errors).toEqual([]);
  } finally {
    await server.close();
  }
});
