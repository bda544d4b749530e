// The playground's time: a bar of commits, earlier states beside now, ways back; and the storage that follows every commit.

import { deflateRawSync } from 'node:zlib';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';

const log = (page: Page) => page.getByRole('list', { name: 'Entries, the newest first' });
const slider = (page: Page) => page.getByRole('slider', { name: 'Moment' });
const rows = (page: Page, name: string) =>
  page.getByRole('region', { name, exact: true }).locator('tbody tr');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** With the first example, after its first calls. */
async function openStock(page: Page, { origin }: Served): Promise<Page> {
  await page.goto(`${origin}/index.html`);
  await expect(log(page)).toContainText('Stock.sell("tea", 3)');
  await expect(rows(page, 'Table item')).toHaveText(['tea9', 'cups4']);
  return page;
}

test('[DEMO20] the bar has a tick for each call; an earlier state is shown beside now, with its differences; going back and undoing work, and are taken back', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await openStock(await context.newPage(), demoSite);
  const bar = page.getByRole('region', { name: 'Time' });
  await expect(bar.locator('.ticks li')).toHaveText(['start', 'receive()', 'receive()', 'sell()']);
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'now, after sell()');
  await expect(button(page, 'Go back to here')).toBeDisabled();
  await button(page, 'clear').click();
  await page.getByLabel('name of receive').fill('milk');
  await button(page, 'receive').click();
  await expect(rows(page, 'Table item')).toHaveText(['milk10']);
  await expect(bar.locator('.ticks li')).toHaveCount(6);

  // The keyboard shows each state beside the current one.
  await slider(page).press('ArrowLeft');
  await slider(page).press('ArrowLeft');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', /^sell\(\), 4 of 6, at \d/);
  await expect(rows(page, 'Table item then')).toHaveText(['−removed: tea9', '−removed: cups4']);
  await expect(rows(page, 'Table item')).toHaveText(['+added: milk10']);
  await expect(page.getByRole('list', { name: 'Keys then' })).toHaveText(/^sold\s*3$/);
  await slider(page).press('Home');
  await expect(page.getByRole('list', { name: 'Keys then' })).toHaveCount(0);
  await expect(page.getByRole('list', { name: 'Keys', exact: true })).toContainText('added: ');
  for (const _ of ['tea', 'cups']) await slider(page).press('ArrowRight');
  await expect(rows(page, 'Table item then')).toHaveText(['−removed: tea12', '−removed: cups4']);

  // A call moves it to the end.
  await button(page, 'sell').first().click();
  await expect(log(page)).toContainText('Of tea, only 0 are left.');
  await expect(page.getByRole('region', { name: 'Then', exact: true })).toHaveCount(0);
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'now, after receive()');

  // Back, and back again.
  await slider(page).press('Home');
  for (const _ of ['tea', 'cups']) await slider(page).press('ArrowRight');
  await button(page, 'Go back to here').click();
  await expect(bar.getByRole('status')).toContainText('The object went back.');
  await expect(rows(page, 'Table item')).toHaveText(['tea12', 'cups4']);
  await button(page, 'Take it back').click();
  await expect(rows(page, 'Table item')).toHaveText(['milk10']);

  // Undo one commit alone: the later call stays.
  const ticks = bar.locator('.ticks li');
  await expect(ticks.last()).toHaveText('went back');
  await expect(ticks).toHaveCount(8);
  for (const _ of [1, 2, 3]) await slider(page).press('ArrowLeft');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', /^clear\(\), 5 of 8/);
  await button(page, 'Undo that').click();
  await expect(bar.getByRole('status')).toContainText('clear() is taken back; later calls stay.');
  await expect(rows(page, 'Table item')).toHaveText(['milk10', 'tea9', 'cups4']);
  await button(page, 'Take it back').click();
  await expect(rows(page, 'Table item')).toHaveText(['milk10']);

  // A sale cannot be taken back: a later call has removed its row.
  await expect(ticks).toHaveCount(10);
  await slider(page).press('Home');
  for (const _ of ['tea', 'cups', 'sold']) await slider(page).press('ArrowRight');
  await button(page, 'Undo that').click();
  await expect(bar.getByRole('alert')).toHaveText(
    'CONFLICT Cannot undo sell(): "tea" was changed later. Nothing was changed.',
  );
  await expect(rows(page, 'Table item')).toHaveText(['+added: milk10']);
});

test('[DEMO20] the storage is in view, follows calls of any tab, and marks changes, without motion if that is preferred', {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await openStock(page, demoSite);
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await expect
      .poll(async () => {
        const table = await page.getByRole('region', { name: 'Table item' }).boundingBox();
        const bar = await page.getByRole('region', { name: 'Time' }).boundingBox();
        return bar!.y - (table!.y + table!.height) >= 0 && bar!.y + bar!.height <= height;
      })
      .toBe(true);
  }
  await page.evaluate(() => {
    const marked: string[] = [];
    Object.assign(window, { marked });
    const note = () => {
      for (const line of document.querySelectorAll('.state [data-flash]')) {
        const motion = getComputedStyle(line).transitionDuration;
        marked.push(`${line.textContent} ${motion}`);
      }
    };
    const watched = { subtree: true, childList: true, attributeFilter: ['data-flash'] };
    new MutationObserver(note).observe(document.body, watched);
  });
  const other = await context.newPage();
  await other.goto(`${demoSite.origin}/index.html`);
  await other.getByLabel('count of sell').fill('4');
  await button(other, 'sell').click();
  await expect(rows(page, 'Table item')).toHaveText(['tea5', 'cups4']);
  await expect.poll(() => page.evaluate('marked')).toContain('tea5 0s');
  expect(await page.evaluate('marked.join()')).not.toContain('cups');
});

test('[DEMO34] in the sandbox, the bar and the state beside now are as in this origin', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const files = {
    'main.ts': `import { DurableObject } from 'cloudflare:workers';
export class Keeper extends DurableObject {
  keep(value: number) { this.ctx.storage.kv.put('a', value); }
}`,
  };
  const packed = deflateRawSync(JSON.stringify({ name: 'A gift', files })).toString('base64url');
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/index.html#code=${packed}`);
  await button(page, 'Run in a sandbox').click();
  for (const value of ['1', '2']) {
    await page.getByLabel('value of keep').fill(value);
    await button(page, 'keep').click();
  }
  await expect(page.getByRole('list', { name: 'Keys', exact: true })).toHaveText(/^a\s*2$/);
  await slider(page).press('ArrowLeft');
  await expect(page.getByRole('list', { name: 'Keys then' })).toHaveText(/changed: a\s*1$/);
  await button(page, 'Go back to here').click();
  await expect(page.getByRole('list', { name: 'Keys', exact: true })).toHaveText(/^a\s*1$/);
  await button(page, 'Stop').click();
  await expect(slider(page)).toHaveCount(0);
});
