// The demo against hostile names and under its content security policy.

import type { Page } from '@playwright/test';
import { buildDemo } from '../../browsers/demo-site.ts';
import { expect, test } from '../../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../../browsers/tags.ts';
import { type PageWatch, serveBuilt, watchPage } from './demo-pages.ts';

const VIEWS = ['storage', 'characters'];

const RTL = '\u202e';
const NAMES = [
  '<img src="/pwned" onerror="window.pwned = 1">',
  '"><script>window.pwned = 2</script>',
  '\'><svg onload=window.pwned=3><iframe src="javascript:parent.pwned=4">',
  'javascript:window.pwned=5',
  '</textarea><base href="https://pwned.example/"><style>@import "/pwned.css"</style>',
  `${RTL}gpj.exe`,
];
const ENDLESS = `long${'W'.repeat(10_000)}`;

/** Uses every panel once. */
async function useEveryPanel(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add example notes' }).click();
  await expect(page.locator('.line').first()).toBeVisible();
  for (const view of VIEWS) {
    await page.locator(`.tab[data-view="${view}"]`).click();
    await expect(page.locator('.tab[data-view][aria-current="page"]')).toHaveAttribute(
      'data-view',
      view,
    );
  }
  await page.locator('.tab[data-view="storage"]').click();
  await page.getByRole('button', { name: 'Add sample values' }).click();
  await expect(page.getByRole('list', { name: 'Keys' }).getByRole('button')).toHaveCount(4);
  for (const tab of ['Tables', 'Timeline', 'Alarms', 'Files', 'SQL']) {
    await page.getByRole('tab', { name: tab }).click();
  }
  await page
    .getByRole('textbox', { name: 'SQL' })
    .fill("SELECT 'Grüße 🎉', 1 UNION VALUES ('', 2)");
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('gridcell', { name: 'Grüße 🎉' })).toBeVisible();
  // Read the violations now, because they are lost with the page.
  expect(await page.evaluate(() => window.violations ?? [])).toEqual([]);
  await page.goto(new URL('api.html', page.url()).href);
  await page.getByRole('button', { name: 'Records' }).click();
  await expect(page.getByRole('region', { name: 'Answer on 2024-11-30' })).toBeVisible();
}

/** Every name is there as text, none as elements, and none turns the text around it. */
async function expectShown(page: Page, watch: PageWatch, shown: readonly string[]): Promise<void> {
  for (const name of shown) {
    await expect(page.locator('#app')).toContainText(name.slice(0, 60));
  }
  const made = await page.evaluate((rtl) => {
    const app = document.getElementById('app')!;
    const within = (root: ParentNode): Element[] =>
      [...root.querySelectorAll('*')].flatMap((element) => [
        element,
        ...(element.shadowRoot === null ? [] : within(element.shadowRoot)),
      ]);
    const elements = within(app);
    const foreign = elements.filter((element) =>
      element.matches(
        'img, script, svg, iframe, base, style, link, object, embed, [onerror], [onload], a[href^="javascript"]',
      ),
    );
    const turning = elements.filter((element) => {
      const isHolder = [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.textContent!.includes(rtl),
      );
      const { display, unicodeBidi } = getComputedStyle(element);
      return isHolder && display === 'inline' && !/isolate|plaintext/.test(unicodeBidi);
    });
    return [...foreign, ...turning].map((element) => element.outerHTML.slice(0, 200));
  }, RTL);
  expect(made).toEqual([]);
  const width = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(width[0]).toBeLessThanOrEqual(width[1]!);
  expect(await watch.incidents()).toEqual([]);
}

/** The actions of markup that got into the page; the policy must stop them. */
async function tryInline(page: Page): Promise<string[]> {
  await page.evaluate(async () => {
    const script = document.createElement('script');
    script.textContent = 'window.pwned = "an inline script"';
    document.body.append(script);
    const holder = document.createElement('div');
    holder.innerHTML =
      '<img src="data:," onerror="window.pwned = \'a handler\'"><b style="color: red">x</b>' +
      '<a id="link" href="javascript:window.pwned = \'a link\'">x</a>';
    document.body.append(holder);
    document.getElementById('link')!.click();
    // Later, because code that a debugger evaluates may evaluate text itself.
    setTimeout('window.pwned = "evaluated"' as unknown as () => void);
    await fetch('https://pwned.example/').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
  });
  return page.evaluate(() => window.violations!.map((violation) => violation.split(' ')[0]!));
}

const STOPPED = [
  'script-src-elem',
  'script-src-attr',
  'style-src-attr',
  'script-src',
  'connect-src',
];

test('[DEMO1] in development every panel works under the policy, and inline code does not run', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, server }) => {
  const page = await context.newPage();
  const watch = await watchPage(page, server.origin);
  await page.goto(`${server.origin}/demo/notes.html`);
  await useEveryPanel(page);
  expect(await watch.incidents()).toEqual([]);
  expect(await tryInline(page)).toEqual(expect.arrayContaining(STOPPED));
  expect(await page.evaluate(() => window.pwned)).toBe(undefined);
});

test('[DEMO1] in a build every panel works under the policy, with the policy on its workers too', {
  tag: LONG,
}, async ({ context }) => {
  const built = await serveBuilt(await buildDemo());
  try {
    const page = await context.newPage();
    const watch = await watchPage(page, built.origin);
    await page.goto(`${built.origin}/`);
    await useEveryPanel(page);
    expect(await watch.incidents()).toEqual([]);
    expect(await tryInline(page)).toEqual(expect.arrayContaining(STOPPED));
    expect(await page.evaluate(() => window.pwned)).toBe(undefined);
  } finally {
    await built.close();
  }
});

test('[DEMO2] [INSP2] hostile names stay text in every panel', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, server }) => {
  test.slow();
  const page = await context.newPage();
  const watch = await watchPage(page, server.origin);
  await page.goto(`${server.origin}/demo/notes.html`);
  await expect(page.getByText('No notes yet')).toBeVisible();
  const names = [...NAMES, ENDLESS];
  await page.evaluate(async (hostile) => {
    // The storage that the demo has open, by the module it runs.
    const path = '/src/index.ts';
    const { openStorage } = (await import(path)) as typeof import('../../../src/index.ts');
    const storage = await openStorage('notes');
    for (const [index, name] of hostile.entries()) {
      const key = name.slice(0, 2000);
      await storage.put(
        key,
        index % 2 === 0 ? name : { [name]: new Map([[name, new Error(name)]]) },
      );
      const time = Date.now() + index;
      await storage.sql.exec(
        'INSERT INTO notes (title, body, updated_ms) VALUES (?, ?, ?)',
        name,
        name,
        time,
      ).ready;
      const quoted = `"${name.replaceAll('"', '""')}"`;
      await storage.sql.exec(`CREATE TABLE ${quoted} (${quoted} TEXT)`).ready;
      await storage.sql.exec(`INSERT INTO ${quoted} VALUES (?)`, name).ready;
    }
  }, names);
  await page.reload();

  const expectText = (shown: readonly string[]) => expectShown(page, watch, shown);
  await expectText(names);
  await page.getByLabel('Search notes').fill('long');
  await page.getByLabel('Search notes').fill('pwned');
  await expectText(NAMES.slice(0, 4));
  await page.locator('.line').first().click();
  await expectText([]);

  await page.locator('.tab[data-view="storage"]').click();
  await page.getByRole('tab', { name: 'SQL' }).click();
  const run = async (sql: string) => {
    await page.getByRole('textbox', { name: 'SQL' }).fill(sql);
    await page.getByRole('textbox', { name: 'SQL' }).press('Control+Enter');
  };
  for (const name of names) {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    await run(`SELECT * FROM ${quoted}`);
    await expect(page.getByRole('columnheader').last()).toContainText(name.slice(0, 60));
    await expectText([name]);
    await run(`SELECT * FROM ${quoted.slice(0, -1)} nowhere"`);
    await expect(page.getByRole('alert')).toContainText(name.slice(0, 60));
    await expectText([name]);
  }

  await page.getByRole('tab', { name: 'Tables' }).click();
  const tables = page.getByRole('navigation', { name: 'Tables' });
  for (const name of names) {
    await tables
      .getByRole('button')
      .filter({ hasText: name.slice(0, 60) })
      .click();
    await expect(page.getByRole('gridcell').first()).toContainText(name.slice(0, 60));
    await expectText(names);
  }

  await page.getByRole('tab', { name: 'Keys' }).click();
  const entries = page.getByRole('list', { name: 'Keys' }).getByRole('button');
  await expect(entries).toHaveCount(names.length);
  for (const entry of await entries.all()) {
    await entry.click();
    await expect(page.getByRole('button', { name: 'Delete' }).last()).toBeVisible();
    await expectText(names);
  }
  await page.getByRole('searchbox', { name: 'Prefix' }).fill(`${NAMES[0]} none`);
  await expect(page.getByText('No keys.')).toBeVisible();
  await expectText([]);

  await page.goto(`${server.origin}/demo/api.html`);
  await page.getByRole('button', { name: 'Records' }).click();
  await page.getByLabel('Method').selectOption('POST');
  for (const name of NAMES) {
    const record = { type: 'TXT', name: 'x', content: name, comment: name, ttl: 1 };
    await page.getByLabel('Body').fill(JSON.stringify(record));
    await page.getByRole('button', { name: 'Send' }).click();
    await expect(page.locator('.answer').first()).toContainText(JSON.stringify(name).slice(1, 40));
    await expectText([]);
  }

  for (const name of NAMES) {
    const hash = `view=${encodeURIComponent(name)}&note=${encodeURIComponent(name)}`;
    await page.goto(`${server.origin}/demo/notes.html#${hash}`);
    await page.reload();
    await expect(page.locator('.tab[data-view][aria-current="page"]')).toHaveAttribute(
      'data-view',
      'notes',
    );
    expect(await watch.incidents()).toEqual([]);
  }
});

test('[DEMO2] hostile names of objects and texts of calls stay text in the playground', {
  tag: [LONG, ONCE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  const watch = await watchPage(page, demoSite.origin);
  await page.goto(`${demoSite.origin}/`);
  await page.getByLabel('Example').selectOption({ label: 'Chat with sockets' });
  const messages = page.getByRole('region', { name: 'Table message' });
  for (const name of [...NAMES, ENDLESS.slice(0, 1000)]) {
    await page.getByLabel('Name of the object').fill(name);
    await page.getByLabel('author of post').fill(name);
    await page.getByLabel('text of post').fill(name);
    await page.getByRole('button', { name: 'post', exact: true }).click();
    await expect(messages).toContainText(name.slice(0, 60));
    await expectShown(page, watch, [name]);
  }
});
