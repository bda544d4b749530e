// The demo on the development server of a fresh clone, whose cache of pre-bundled dependencies is empty.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { createServer } from 'vite';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY, withoutNodeEnv } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';

/** Serves the demo as `npm start` does, with a cache of its own, which is empty. */
async function startCold() {
  const cacheDir = mkdtempSync(join(tmpdir(), 'ctx-storage-cold-'));
  const server = await withoutNodeEnv(() =>
    createServer({
      configFile: join(REPOSITORY, 'vite.config.ts'),
      root: join(REPOSITORY, 'demo'),
      cacheDir,
      logLevel: 'error',
      // Files that other tests write must not reload its pages.
      server: { host: 'localhost', port: 0, watch: null },
    }),
  );
  await server.listen();
  const address = server.httpServer!.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    origin: `http://localhost:${address.port}`,
    async close() {
      await server.close();
      rmSync(cacheDir, { recursive: true, force: true });
    },
  };
}

/** The errors, failed loads and loads of a page, from now on. */
function watch(page: Page) {
  const seen = { errors: [] as string[], loads: 0 };
  page.on('console', (message) => {
    if (message.type() === 'error') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('response', (response) => {
    if (response.status() >= 400) seen.errors.push(`${response.status()} ${response.url()}`);
  });
  page.on('load', () => seen.loads++);
  return seen;
}

const clean = { errors: [], loads: 1 };

/**
 * The server pre-bundles the libraries and transforms each module when it is asked for it the first time. What is shown
 * late waits for these builds, so no expectation has less time than all of them together take on a slow machine.
 */
const COLD_MS = 180_000;
const expectBuilt = expect.configure({ timeout: COLD_MS });

test('[DEMO16] the first start of a fresh clone opens every page without an error or a reload', {
  tag: [LONG, ONCE],
}, async ({ context }) => {
  const server = await startCold();
  try {
    const page = await context.newPage();
    const seen = watch(page);
    await page.goto(`${server.origin}/index.html`);
    // Loaded late, each: the editor, the worker of the code, the checker of its types, the inspector of its object.
    await expectBuilt(page.locator('.cm-content')).toBeVisible();
    const log = page.getByRole('list', { name: 'Entries, the newest first' });
    const shown = async () => [await log.innerText(), ...seen.errors].join('\n');
    await expectBuilt.poll(shown).toContain('Stock.sell("tea", 3)');
    await expectBuilt(page.getByRole('list', { name: 'Keys' })).toContainText('sold');
    await expectBuilt(page.getByText('TypeScript finds no mistakes.')).toBeVisible();
    await page.getByText('Inspector: change values').click();
    await expectBuilt(page.getByRole('tab', { name: 'Tables' })).toBeVisible();
    expect((await log.allInnerTexts()).join('\n')).not.toContain('[vite]');
    expect(seen).toEqual(clean);
    await page.close();

    for (const [name, text] of Object.entries({
      notes: 'No notes yet',
      api: 'on any date',
      bench: 'How fast is storage in this browser?',
    })) {
      const other = await context.newPage();
      const seenThere = watch(other);
      await other.goto(`${server.origin}/${name}.html`);
      await expectBuilt(other.locator('body')).toContainText(text);
      if (name === 'api') {
        // The worker of this tab is loaded for the first answer.
        await other.getByRole('button', { name: 'Records' }).click();
        await expectBuilt(other.locator('body')).toContainText('192.0.2.1');
      }
      await other.waitForLoadState('networkidle');
      expect({ name, ...seenThere }).toEqual({ name, ...clean });
      await other.close();
    }
  } finally {
    await server.close();
  }
});
