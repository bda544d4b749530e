// A link of the playground with data: made in one profile's page, opened in another as a stranger's, and attacked.

import { deflateRawSync } from 'node:zlib';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const slider = (page: Page) => page.getByRole('slider', { name: 'Moment' });
const ticks = (page: Page) => page.getByRole('region', { name: 'Time' }).locator('.ticks li');
const rows = (page: Page, name: string) =>
  page.getByRole('region', { name, exact: true }).locator('tbody tr');
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Share' });
const withData = (page: Page) => dialog(page).getByLabel('The code, with its data and history');

/** The link goes to the address bar, as it does where a page may not write to the clipboard. */
const NO_CLIPBOARD = () => {
  Object.defineProperty(navigator, 'clipboard', {
    value: { writeText: () => Promise.reject(new Error('refused')) },
  });
};

declare global {
  interface Window {
    savedBlob: Blob;
  }
}

/** Playwright hears of no download of Firefox: the content is read where the page gives it. */
const KEEP_SAVED = () => {
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob: Blob) => {
    if (blob.type === 'text/plain') window.savedBlob = blob;
    return make.call(URL, blob);
  };
};

/** A tick for each of the first calls. */
const CALLS = ['start', 'receive()', 'receive()', 'sell()'];

async function openStock(page: Page, origin: string): Promise<void> {
  await page.addInitScript(NO_CLIPBOARD);
  await page.goto(`${origin}/index.html`);
  await expect(rows(page, 'Table item')).toHaveText(['tea9', 'cups4']);
  await expect(ticks(page)).toHaveText(CALLS);
}

/** Bookmarks are in no text of the page; the slider's times and labels are. */
const momentsOf = (page: Page) =>
  slider(page).evaluate(async (input: HTMLInputElement) => {
    const texts: string[] = [];
    // The last is at the end again.
    for (let place = 0; place <= Number(input.max); place += 1) {
      input.valueAsNumber = place;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise(requestAnimationFrame);
      texts.push(input.getAttribute('aria-valuetext') ?? '');
    }
    return texts;
  });

test('[DEMO30] [DEMO33] a link with data shows the rows and the timeline to whoever opens it, in a sandbox, and goes back in time there', {
  tag: [LONG, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await openStock(page, demoSite.origin);
  const moments = await momentsOf(page);
  expect(moments).toHaveLength(4);
  await button(page, 'Share').click();
  await expect(dialog(page)).toContainText(
    /a link of [\d,]+ characters.*a link of [\d,]+ characters/,
  );
  await withData(page).check();
  await button(page, 'Copy the link').click();
  await expect(dialog(page)).toContainText('The link is in the address bar');
  const link = page.url();
  expect(link.length).toBeLessThan(20_000);

  // The link uses no data of the origin: the first object is changed before the link is opened.
  await button(page, 'Close').click();
  await page.getByLabel('count of sell').fill('5');
  await button(page, 'sell').click();
  await expect(rows(page, 'Table item')).toHaveText(['tea4', 'cups4']);
  const other = await context.newPage();
  await other.goto(`${demoSite.origin}/index.html?stranger${new URL(link).hash}`);
  await expect(other.getByText('Somebody shared this code: “Stock')).toBeVisible();
  await expect(other.getByText('It came with its data and history')).toBeVisible();
  await expect(other.getByText('This code has not run. Read it first.')).toBeVisible();
  await expect(slider(other)).toHaveCount(0);
  await button(other, 'Run in a sandbox').click();
  await expect(rows(other, 'Table item')).toHaveText(['tea9', 'cups4']);
  await expect(ticks(other)).toHaveText(CALLS);
  await expect(other.locator('iframe')).toHaveAttribute('sandbox', 'allow-scripts');
  expect(await momentsOf(other)).toEqual(moments);

  // The commit before the last, beside now; then back there.
  await slider(other).press('Home');
  for (const _ of ['tea', 'cups']) await slider(other).press('ArrowRight');
  await expect(rows(other, 'Table item then')).toHaveText(['~changed: tea12', 'cups4']);
  await button(other, 'Go back to here').click();
  await expect(rows(other, 'Table item')).toHaveText(['tea12', 'cups4']);
  await expect(ticks(other)).toHaveCount(5);
  await button(other, 'Take it back').click();
  await expect(rows(other, 'Table item')).toHaveText(['tea9', 'cups4']);
  await other.getByLabel('count of sell').fill('2');
  await button(other, 'sell').click();
  await expect(rows(other, 'Table item')).toHaveText(['tea7', 'cups4']);

  // Each run begins with the link's data; the visitor's own are as they were.
  await button(other, 'Run it again').click();
  await expect(rows(other, 'Table item')).toHaveText(['tea9', 'cups4']);
  await expect(rows(page, 'Table item')).toHaveText(['tea4', 'cups4']);

  // Kept, it has them at the next visit; shared again, they are those of the link.
  await button(other, 'Keep it, to change it').click();
  await other.reload();
  await button(other, 'Run in a sandbox').click();
  await expect(rows(other, 'Table item')).toHaveText(['tea9', 'cups4']);
});

test('[DEMO30] data beyond a link are saved as a file, which another visitor opens', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.addInitScript(KEEP_SAVED);
  await openStock(page, demoSite.origin);
  // Random letters do not compress.
  for (const name of ['a', 'b']) {
    const letters = Array.from({ length: 40_000 }, () => Math.random().toString(36)[2] ?? '0').join(
      '',
    );
    await page.getByLabel('name of receive').fill(`${name}${letters}`);
    await button(page, 'receive').click();
    await expect(rows(page, 'Table item')).toHaveCount(name === 'a' ? 3 : 4);
  }
  await button(page, 'Share').click();
  await withData(page).check();
  await expect(dialog(page).getByRole('alert')).toContainText('More than 60,000 do not fit');
  await expect(button(page, 'Copy the link')).toBeDisabled();
  await button(page, 'Save a file').click();
  await expect(dialog(page)).toContainText('The file is saved.');
  const text = await page.evaluate(() => window.savedBlob.text());

  const other = await context.newPage();
  await other.goto(`${demoSite.origin}/index.html`);
  await button(other, 'Share').click();
  const input = dialog(other).getByLabel('Open a file that somebody saved here');
  const file = (content: string) => ({
    name: 'shared-code.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from(content),
  });
  await input.setInputFiles(file('hello'));
  await expect(dialog(other)).toContainText('The file has no shared code in it.');
  await input.setInputFiles(file(text.slice(0, -2000)));
  await expect(dialog(other)).toContainText('The link is damaged');
  await input.setInputFiles(file(text));
  await expect(dialog(other)).toHaveCount(0);
  await button(other, 'Run in a sandbox').click();
  await expect(rows(other, 'Table item')).toHaveCount(4);
});

const CODE = {
  'main.ts': `import { DurableObject } from 'cloudflare:workers';
export class Keeper extends DurableObject {
  keep() { this.ctx.storage.kv.put('a', 1); }
}`,
};

test('[DEMO32] a link whose data is damaged, or unpacks to more than is read, says so; damaged files are an error of the object', {
  tag: [LONG, ONCE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  let count = 0;
  const code = deflateRawSync(JSON.stringify({ name: 'A gift', files: CODE })).toString(
    'base64url',
  );
  const open = async (data: string) => {
    count += 1;
    await page.goto(`${demoSite.origin}/index.html?${count}#code=${code}&data=${data}`);
  };
  const problem = page.getByRole('alert').filter({ hasText: 'The link is' });
  await open('x');
  await expect(problem).toContainText('damaged: the data in it cannot be read');
  await open(deflateRawSync(Buffer.alloc(50_000_000)).toString('base64url'));
  await expect(problem).toContainText('refused: its data may have at most 16 MiB of files');

  const header = Buffer.from(
    JSON.stringify({
      clockMs: null,
      objects: [
        {
          key: `Keeper.${'0'.repeat(64)}`,
          name: 'first',
          files: [
            ['main', 9000, 4],
            ['checkpoint', 300, 4],
          ],
        },
      ],
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(header.length);
  await open(
    deflateRawSync(Buffer.concat([length, header, Buffer.from('nonsense')])).toString('base64url'),
  );
  await expect(problem).toHaveCount(0);
  await button(page, 'Run in a sandbox').click();
  // No other object is hurt, and the page goes on.
  await page.getByLabel('Name of the object').fill('second');
  await button(page, 'keep').click();
  await expect(page.getByRole('list', { name: 'Keys' })).toContainText('a');
});
