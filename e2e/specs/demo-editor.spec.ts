// The playground's editor on the built site: mistakes of types, suggestions, and the checker that finds them.

import AxeBuilder from '@axe-core/playwright';
import type { Locator, Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

const types = (page: Page) => page.getByRole('region', { name: 'Types' });
const said = (page: Page) => types(page).getByRole('status');
const mistakes = (page: Page) => page.getByRole('list', { name: 'Mistakes in types' });
const underlined = (page: Page) => page.locator('.cm-lintRange-error');
const checkers = (page: Page) => page.workers().filter((one) => one.url().includes('checker'));

const CLEAN = 'TypeScript finds no mistakes.';

/** Begins a line after the line with this text. */
async function writeAfter(page: Page, line: string, text: string): Promise<void> {
  await page.locator('.cm-line', { hasText: line }).click();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type(text);
}

/** Findings that axe calls serious or critical. */
/** The list closes if TypeScript answers late; a person asks for it again. */
function suggest(page: Page, suggested: Locator): Promise<void> {
  return expect(async () => {
    if (!(await suggested.isVisible())) await page.keyboard.press('Control+Space');
    await expect(suggested).toBeVisible({ timeout: 5000 });
  }).toPass();
}

async function seriousFindings(builder: AxeBuilder): Promise<string[]> {
  const { violations } = await builder.analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}

test('[DEMO24] [DEMO26] a wrong method is underlined, told and listed; a suggestion with its documentation repairs it', {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/index.html`);
  await expect(said(page)).toHaveText(CLEAN);

  await writeAfter(page, 'clear(): void {', "this.ctx.storage.putt('a', 1);");
  await expect(underlined(page)).toHaveText('putt');
  await expect(said(page)).toHaveText('TypeScript finds a mistake.');
  const message = "Property 'putt' does not exist on type 'DurableObjectStorage'.";
  await expect(mistakes(page).getByRole('listitem')).toContainText(message);
  await underlined(page).hover();
  await expect(page.locator('.cm-tooltip-lint')).toContainText(message);

  // The list leads to the place; what is typed there is suggested.
  await mistakes(page).getByRole('button', { name: 'main.ts:24' }).click();
  await expect(page.locator('.cm-content')).toBeFocused();
  await page.keyboard.press('Shift+End');
  await page.keyboard.type('pu');
  const put = page.getByRole('listbox').getByRole('option', { name: 'put' });
  await suggest(page, put);
  await expect(put).toHaveAttribute('aria-selected', 'true');
  const about = page.locator('.cm-completionInfo');
  await expect(about).toContainText('put<T>(key: string, value: T');
  await expect(about).toContainText('key may have 2,048 bytes');
  await put.click();
  await page.keyboard.type("('a', 1);");
  await expect(said(page)).toHaveText(CLEAN);
  await expect(underlined(page)).toHaveCount(0);
  await expect(page.locator('.cm-line', { hasText: "this.ctx.storage.put('a', 1);" })).toHaveCount(
    1,
  );

  // The name under the pointer is explained.
  await page
    .locator('.cm-line', { hasText: "kv.put('sold'" })
    .getByText('put', { exact: true })
    .hover();
  await expect(page.locator('.cm-tooltip-hover')).toContainText('SyncKvStorage.put');
});

test('[DEMO24] a mistake in another file is listed, leads there, and is underlined there', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/index.html`);
  await page.getByLabel('Example').selectOption({ label: 'Rate limiter' });
  await expect(said(page)).toHaveText(CLEAN);
  await page.getByRole('button', { name: 'limits.ts', exact: true }).click();
  await writeAfter(page, 'REFILL_MS', 'export const REFILL_MS = "soon";');
  await expect(mistakes(page)).toContainText("Cannot redeclare block-scoped variable 'REFILL_MS'");
  await expect(underlined(page)).toHaveText(['REFILL_MS', 'REFILL_MS']);
  await page.getByRole('button', { name: 'main.ts', exact: true }).click();
  await expect(underlined(page)).toHaveCount(0);
  await mistakes(page).getByRole('button', { name: 'limits.ts:6' }).click();
  await expect(page.locator('.cm-content')).toHaveAccessibleName('Code of limits.ts');
  await expect(underlined(page)).toHaveCount(2);
});

test('[DEMO27] the checker is loaded when the code runs and the editor is in view; a stranger’s code is not checked', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${demoSite.origin}/index.html`);
  await expect(page.getByRole('list', { name: 'Entries, the newest first' })).toContainText(
    'Stock.sell("tea", 3)',
  );
  await expect(said(page)).toHaveText('Types are not checked yet.');
  expect(checkers(page)).toEqual([]);
  await page.locator('.cm-content').scrollIntoViewIfNeeded();
  await expect(said(page)).toHaveText(CLEAN);
  expect(checkers(page)).toHaveLength(1);
  await page.close();

  const bytes = new TextEncoder().encode(
    JSON.stringify({ name: 'A gift', files: { 'main.ts': 'export const one: string = 1;' } }),
  );
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const packed = Buffer.from(await new Response(stream).arrayBuffer());
  const victim = await context.newPage();
  await victim.goto(`${demoSite.origin}/index.html#code=${packed.toString('base64url')}`);
  await expect(victim.locator('.cm-content')).toContainText('export const one');
  await expect(types(victim)).toHaveCount(0);
  await victim.getByRole('button', { name: 'Keep it, to change it' }).click();
  await expect(mistakes(victim)).toContainText("Type 'number' is not assignable to type 'string'.");
});

test('[DEMO28] a checker that cannot be loaded is told; the editor works without it, and it is loaded at a click', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.route('**/checker-worker*', (route) => route.abort());
  await page.goto(`${demoSite.origin}/index.html`);
  await expect(said(page)).toContainText('TypeScript could not be loaded.');
  await writeAfter(page, 'clear(): void {', 'console.log("still here");');
  await page.getByRole('button', { name: 'Run the changes' }).click();
  await page.getByRole('button', { name: 'clear', exact: true }).click();
  await expect(page.getByRole('list', { name: 'Entries, the newest first' })).toContainText(
    'still here',
  );
  await expect(said(page)).toContainText('TypeScript could not be loaded.');
  await page.unroute('**/checker-worker*');
  await types(page).getByRole('button', { name: 'Try again' }).click();
  await expect(said(page)).toHaveText(CLEAN);
});

for (const scheme of ['light', 'dark'] as const) {
  test(`[DEMO6] [DEMO24] mistakes and suggestions are accessible in ${scheme} colours, and leave the cursor in view`, {
    tag: [LONG, ONCE, RELEASE],
  }, async ({ context, demoSite }) => {
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${demoSite.origin}/index.html`);
    await expect(said(page)).toHaveText(CLEAN);
    const wrong = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `this.ctx.storage.${name}();`);
    await writeAfter(page, 'clear(): void {', wrong.join('\n'));
    await expect(mistakes(page).getByRole('listitem')).toHaveCount(6);
    await expect(page.locator('.cm-line', { hasText: 'storage.f()' })).toBeInViewport();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await seriousFindings(new AxeBuilder({ page }))).toEqual([]);
      await page.locator('.cm-content').click();
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.type('\nnew Date().');
      await suggest(page, page.getByRole('listbox').filter({ hasText: 'getTime' }));
      // The editor keeps the focus and names the option that arrow keys choose, so that the list needs none.
      const builder = new AxeBuilder({ page }).disableRules('scrollable-region-focusable');
      expect(await seriousFindings(builder)).toEqual([]);
      await page.keyboard.press('Escape');
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBe(0);
    }
  });
}

test('[DEMO39] the editor says that Escape, then Tab leaves it, and so it does, with a selection and after a pause', {
  tag: [ONCE, REST],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/index.html`);
  const editor = page.locator('.cm-content');
  await expect(editor).toHaveAccessibleDescription('Esc, then Tab leaves the editor');
  await expect(page.getByText('Esc, then Tab leaves the editor')).toBeVisible();
  const before = await editor.innerText();
  await editor.click();
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Escape');
  await page.waitForTimeout(2500); // as long as a person may take; the editor's own time for it is 2 s
  await page.keyboard.press('Tab');
  await expect(editor).not.toBeFocused();
  await expect(page.locator('.code-pane .cm-editor :focus')).toHaveCount(0);
  expect(await editor.innerText()).toBe(before);

  // Without Escape, and after another key, Tab indents.
  await editor.click();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Tab');
  await expect(editor).toBeFocused();
  expect(await editor.innerText()).not.toBe(before);
});

test('[DEMO39] the inspector opens in view, on a phone too', {
  tag: [ONCE, REST, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 740 });
    await page.goto(`${demoSite.origin}/index.html`);
    const summary = page.getByText('Inspector: change values');
    await summary.focus();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('tab', { name: 'SQL' })).toBeInViewport();
    await expect(page.locator('.inspector-place')).toBeInViewport({ ratio: 0.8 });
  }
});
