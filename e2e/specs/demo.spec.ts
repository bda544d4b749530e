// The demo as a visitor uses it, on the real storage.

import type { Page } from '@playwright/test';
import { test as base, expect } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

const CHARACTERS = '40,470';

interface Fixtures {
  /** The demo, opened for the first time. */
  readonly demo: Page;
  /** Opens the demo in one more tab; the script runs in it before the demo does. */
  readonly openDemo: (script?: () => void) => Promise<Page>;
}

const test = base.extend<Fixtures>({
  openDemo: async ({ context, demoSite }, use) => {
    await use(async (script = () => {}) => {
      const page = await context.newPage();
      await page.addInitScript(script);
      await page.goto(`${demoSite.origin}/notes.html`);
      return page;
    });
  },
  demo: async ({ openDemo }, use) => {
    const page = await openDemo();
    await expect(page.getByText('No notes yet')).toBeVisible();
    await use(page);
  },
});

test('[DUR1] a note written with the keyboard alone is saved and outlives a reload', async ({
  demo,
}) => {
  await demo.keyboard.press('n');
  await expect(demo.getByLabel('Title')).toBeFocused();
  await demo.keyboard.type('Grüße');
  await demo.keyboard.press('Tab');
  await demo.keyboard.type('first line');
  await expect(saveState(demo)).toHaveText('Saved');
  await demo.reload();
  await expect(demo.getByLabel('Title')).toHaveValue('Grüße');
  await expect(demo.getByLabel('Text', { exact: true })).toHaveValue('first line');
});

test('what was typed last is saved, and is not called saved before', async ({ demo }) => {
  await writeNote(demo, 'Draft', 'one');
  const text = demo.getByLabel('Text', { exact: true });
  await text.pressSequentially(' two');
  await expect(saveState(demo)).not.toHaveText('Saved');
  await expect(saveState(demo)).toHaveText('Saved');
  await demo.reload();
  await expect(text).toHaveValue('one two');
});

test('search finds beginnings of words without accents, phrases, emoji and scripts without spaces', {
  tag: LONG,
}, async ({ demo }) => {
  await addExamples(demo);
  const finds = async (text: string, titles: string[]) => {
    await demo.getByLabel('Search notes').fill(text);
    await expect(demo.locator('.line-title')).toHaveText(titles);
  };
  await finds('mull', ['Einkaufszettel für Müller & Söhne']);
  await expect(demo.locator('.line-title mark')).toHaveText('Müller');
  await finds('brot kas', ['Einkaufszettel für Müller & Söhne']);
  await finds('"keep words together"', ['Things to search for']);
  await finds('🎉', ['Things to search for']);
  await finds('本語', ['Things to search for']);
  await finds('file browser', ['What happens when you type']);
});

test('search takes any text as text', { tag: LONG }, async ({ demo }) => {
  await addExamples(demo);
  const search = demo.getByLabel('Search notes');
  for (const text of ["O'Brien", '((', 'NEAR(', 'title:', 'a AND', '^*', '-', '\\', '%_']) {
    await search.fill(`nothing ${text}`);
    await expect(demo.getByText('Nothing found')).toBeVisible();
    await search.fill('');
    await expect(demo.locator('.line')).toHaveCount(3);
  }
  await search.fill('"');
  await expect(demo.getByText('3 notes')).toBeVisible();
  await search.fill('& söhne');
  await expect(demo.locator('.line')).toHaveCount(1);
});

test('slash, arrows, Enter and Escape lead through search, list and text', { tag: LONG }, async ({
  demo,
}) => {
  await addExamples(demo);
  await demo.keyboard.press('/');
  await expect(demo.getByLabel('Search notes')).toBeFocused();
  await demo.keyboard.press('ArrowDown');
  await demo.keyboard.press('ArrowDown');
  await expect(demo.locator('.line').nth(1)).toBeFocused();
  const title = (await demo.locator('.line-title').nth(1).textContent())!;
  await expect(demo.getByLabel('Title')).toHaveValue(title);
  await demo.keyboard.press('Enter');
  await expect(demo.getByLabel('Text', { exact: true })).toBeFocused();
  await demo.keyboard.press('Escape');
  await expect(demo.locator('.line').nth(1)).toBeFocused();
});

test('a deleted note is gone, and comes back by undo', { tag: LONG }, async ({ demo }) => {
  await writeNote(demo, 'Keep me', 'or not');
  const remove = demo.locator('.editor').getByRole('button', { name: 'Delete' });
  await remove.click();
  await expect(demo.getByText('No notes yet')).toBeVisible();
  await demo.getByRole('button', { name: 'Undo' }).click();
  await expect(demo.getByLabel('Text', { exact: true })).toHaveValue('or not');
  await remove.click();
  await demo.reload();
  await expect(demo.getByText('No notes yet')).toBeVisible();
});

test('a second tab sees what the first wrote, and a conflict is told', async ({
  demo,
  openDemo,
}) => {
  await writeNote(demo, 'Shared', 'from one');
  const other = await openDemo();
  await other.locator('.line').click();
  const otherText = other.getByLabel('Text', { exact: true });
  await expect(otherText).toHaveValue('from one');

  await otherText.fill('from two');
  await expect(saveState(other)).toHaveText('Saved');
  const text = demo.getByLabel('Text', { exact: true });
  await demo.bringToFront();
  await expect(text).toHaveValue('from two');

  // Both write before either has heard of the other.
  await Promise.all([typeInto(demo, 'mine'), typeInto(other, 'theirs')]);
  const conflicts = (page: Page) => page.getByText('This note was changed in another tab.').count();
  await expect.poll(async () => (await conflicts(demo)) + (await conflicts(other))).toBe(1);
  const [loser, winner] = (await conflicts(demo)) === 1 ? [demo, other] : [other, demo];
  await loser.bringToFront();
  await expect(saveState(loser)).toHaveText('Not saved');
  const kept = await loser.getByLabel('Text', { exact: true }).inputValue();
  await loser.getByRole('button', { name: 'Keep mine' }).click();
  await expect(saveState(loser)).toHaveText('Saved');
  await winner.bringToFront();
  await expect(winner.getByLabel('Text', { exact: true })).toHaveValue(kept);
});

test('the data set is loaded with progress, searched, loaded again and removed', {
  tag: LONG,
}, async ({ demo }) => {
  await demo.getByRole('link', { name: 'Data set' }).click();
  await recordProgress(demo);
  await demo.getByRole('button', { name: `Load ${CHARACTERS} rows` }).click();
  await expect(demo.getByText('rows/s')).toBeVisible({ timeout: 60_000 });
  await expect(demo.getByText(`${CHARACTERS} rows`, { exact: true })).toBeVisible();
  const seen = await demo.evaluate(() => window.progressSeen);
  expect(seen.length).toBeGreaterThan(2);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));

  const search = demo.getByLabel('Search characters');
  await search.fill('cat face tears');
  await expect(demo.locator('.character-name')).toHaveText('CAT FACE WITH TEARS OF JOY');
  await search.fill('u+1f600');
  await expect(demo.locator('.character-name')).toHaveText('GRINNING FACE');
  await search.fill('€');
  await expect(demo.locator('.character-name')).toHaveText('EURO SIGN');

  await demo.getByRole('button', { name: 'Load again' }).click();
  await expect(demo.getByText('rows/s')).toBeVisible({ timeout: 60_000 });
  await expect(demo.getByText(`${CHARACTERS} rows`, { exact: true })).toBeVisible();
  await demo.getByRole('button', { name: 'Remove' }).click();
  await expect(demo.getByRole('button', { name: `Load ${CHARACTERS} rows` })).toBeVisible();
});

test('[DUR2] an import cut off by a reload keeps whole batches and is continued', async ({
  demo,
}) => {
  await demo.getByRole('link', { name: 'Data set' }).click();
  const reloaded = demo.waitForEvent('load');
  await demo.evaluate(() => {
    new MutationObserver((_, observer) => {
      if ((document.querySelector('progress')?.value ?? 0) === 0) return;
      observer.disconnect();
      location.reload();
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await demo.getByRole('button', { name: `Load ${CHARACTERS} rows` }).click();
  await reloaded;
  const count = demo.locator('.panel .result-facts strong');
  await expect(count).toHaveText(/^\d+,000 of 40,470 rows$/);
  await demo.getByRole('button', { name: 'Load the rest' }).click();
  await expect(count).toHaveText(`${CHARACTERS} rows`, { timeout: 60_000 });
});

test('SQL shows rows by pages, types, counts and errors', { tag: LONG }, async ({ demo }) => {
  await runSql(demo, `SELECT NULL AS a, 1.5 AS b, 'é' AS b, x'00ff' AS c, '' AS d`);
  await expect(demo.locator('.grid th')).toHaveText(['Row', 'a', 'b', 'b', 'c', 'd']);
  await expect(demo.locator('.grid td')).toHaveText([
    '1',
    'NULL',
    '1.5',
    'é',
    'BLOB 2 B 00 ff',
    "''",
  ]);

  await demo.getByRole('button', { name: '100,000 rows' }).click();
  await expect(demo.getByText('200 rows so far')).toBeVisible();
  await demo.getByRole('button', { name: 'More rows' }).click();
  await expect(demo.getByText('400 rows so far')).toBeVisible();
  await expect(demo.locator('.grid tbody tr').last()).toContainText('160000');

  await runSql(demo, 'SELECT * FROM nowhere');
  await expect(problem(demo)).toContainText('SQL no such table: nowhere');
  await runSql(demo, 'BEGIN');
  await expect(problem(demo)).toContainText('SQL_FORBIDDEN');
});

test('a note written by SQL appears in the list', { tag: LONG }, async ({ demo }) => {
  await runSql(demo, `INSERT INTO notes VALUES (1, 'By SQL', 'inserted', 1)`);
  await expect(demo.getByText('Done')).toBeVisible();
  await expect(demo.locator('.line-title')).toHaveText('By SQL');
  await demo.getByLabel('Search notes').fill('insert');
  await expect(demo.locator('.line-excerpt mark')).toHaveText('inserted');
});

test('dropping the tables of the notes loses no text on screen, and is repaired', {
  tag: LONG,
}, async ({ demo }) => {
  await writeNote(demo, 'Open', 'on screen');
  await runSql(demo, 'DROP TABLE notes');
  await expect(demo.locator('.note-list')).toContainText('no such table: notes');
  await demo.getByLabel('Text', { exact: true }).fill('still here');
  await expect(saveState(demo)).toHaveText('Not saved');
  await demo.locator('.note-list').getByRole('button', { name: 'Create the tables' }).click();
  await demo.getByRole('button', { name: 'Save it as a new note' }).click();
  await expect(saveState(demo)).toHaveText('Saved');
  await expect(demo.locator('.line-excerpt')).toHaveText('still here');
});

test('keys are shown as JavaScript, added, edited, deleted and filtered', { tag: LONG }, async ({
  demo,
}) => {
  await demo.getByRole('link', { name: 'Keys' }).click();
  await demo.getByRole('button', { name: 'Add sample values' }).click();
  await expect(demo.locator('.entry-type')).toHaveText([
    'bigint',
    'Uint8Array(24)',
    'Map(2)',
    'Object',
  ]);
  await expect(demo.locator('.entry-preview').first()).toHaveText('18446744073709551616n');

  await demo.getByRole('button', { name: 'Add key' }).click();
  const value = demo.getByLabel('Value, as JSON');
  await demo.getByLabel('Key', { exact: true }).fill('list');
  await value.fill('[1, {"a"');
  await demo.getByRole('button', { name: 'Save' }).click();
  await expect(problem(demo)).toContainText('SyntaxError');
  await value.fill('[1, {"a": null}]');
  await value.press('Control+Enter');

  const entry = demo.locator('.entry', { hasText: 'list' });
  await expect(entry.locator('.entry-preview')).toHaveText('[1, { a: null }]');
  await entry.locator('summary').click();
  await entry.getByRole('button', { name: 'Edit' }).click();
  await value.fill('"text"');
  await demo.getByRole('button', { name: 'Save' }).click();
  await expect(entry.locator('.entry-type')).toHaveText('string');

  await demo.getByLabel('Keys that begin with').fill('li');
  await expect(demo.locator('.entry')).toHaveCount(1);
  await entry.locator('summary').click();
  await entry.getByRole('button', { name: 'Delete' }).click();
  await expect(demo.getByText('No such key')).toBeVisible();
  await demo.getByRole('button', { name: 'Undo' }).click();
  await expect(entry.locator('.entry-type')).toHaveText('string');
});

test('[TAB6] a note being saved when the worker is lost is saved by the next worker', async ({
  openDemo,
}) => {
  const demo = await openDemo(() => {
    const started: Worker[] = [];
    window.Worker = class extends Worker {
      constructor(...parameters: ConstructorParameters<typeof Worker>) {
        super(...parameters);
        started.push(this);
      }
    };
    window.terminateWorkers = () => {
      for (const worker of started) worker.terminate();
    };
  });
  await writeNote(demo, 'Lost', 'before');
  // A query that does not end keeps the write waiting in the worker.
  await runSql(
    demo,
    'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ' + 'SELECT count(*) FROM n',
  );
  await demo.getByLabel('Text', { exact: true }).fill('after');
  await expect(saveState(demo)).toHaveText('Saving…');
  await demo.evaluate(() => window.terminateWorkers());
  await expect(demo.getByText('The storage worker stopped and was started again.')).toBeVisible({
    timeout: 20_000,
  });
  await expect(problem(demo)).toContainText('CONNECTION_CLOSED');
  await expect(saveState(demo)).toHaveText('Saved');
  await demo.reload();
  await expect(demo.getByLabel('Text', { exact: true })).toHaveValue('after');
});

test('[ERR4] a browser without Web Locks is told so, with the code', async ({ openDemo }) => {
  const demo = await openDemo(() => {
    Reflect.deleteProperty(Navigator.prototype, 'locks');
  });
  await expect(demo.getByRole('heading')).toHaveText('The notes cannot be opened');
  await expect(demo.getByText('OPFS_UNAVAILABLE')).toBeVisible();
});

declare global {
  interface Window {
    progressSeen: number[];
    terminateWorkers: () => void;
  }
}

function saveState(page: Page) {
  return page.locator('.save-state');
}

function problem(page: Page) {
  return page.locator('.panel .problem');
}

async function writeNote(page: Page, title: string, text: string): Promise<void> {
  await page.getByRole('button', { name: 'New note' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('Text', { exact: true }).fill(text);
  await expect(saveState(page)).toHaveText('Saved');
}

async function addExamples(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add example notes' }).click();
  await expect(page.locator('.line')).toHaveCount(3);
}

async function runSql(page: Page, text: string): Promise<void> {
  const field = page.getByRole('textbox', { name: 'SQL' });
  await field.fill(text);
  await field.press('Control+Enter');
}

/** Types without bringing the tab to the front, which would make it read again. */
async function typeInto(page: Page, text: string): Promise<void> {
  await page.evaluate((value) => {
    const field = document.getElementById('note-body') as HTMLTextAreaElement;
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }, text);
}

/** Collects every value the progress bar shows. */
async function recordProgress(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.progressSeen = [];
    new MutationObserver(() => {
      const value = document.querySelector('progress')?.value;
      if (value !== undefined && value !== window.progressSeen.at(-1)) {
        window.progressSeen.push(value);
      }
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
}
