// The demo as a visitor uses it, on the real storage.

import type { Page } from '@playwright/test';
import { test as base, expect } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

const CHARACTERS = '40,470';
/** How many example notes there are. */
const EXAMPLES = 4;

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

test('the first screen introduces the page, and leads to the playground', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ demo }) => {
  await expect(
    demo.getByRole('heading', { name: /^Write a Durable Object\. Run it in the browser/ }),
  ).toBeInViewport();
  await demo.getByRole('link', { name: 'change one in the playground' }).click();
  await expect(demo.getByRole('heading', { name: 'Call it' })).toBeVisible();
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

test('the last typed text is saved, and is not called saved before', { tag: LONG }, async ({
  demo,
}) => {
  await writeNote(demo, 'Draft', 'one');
  const text = demo.getByLabel('Text', { exact: true });
  // The note may be saved again before the test reads it, so record every change.
  await saveState(demo).evaluate((shown) => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    const options = { childList: true, characterData: true, subtree: true };
    new MutationObserver(() => seen.push(shown.textContent)).observe(shown, options);
  });
  await text.pressSequentially(' two');
  await expect.poll(() => demo.evaluate<string>('seen.join()')).toMatch(/^(?!Saved)./);
  await expect(saveState(demo)).toHaveText('Saved');
  await demo.reload();
  await expect(text).toHaveValue('one two');
});

test('search finds beginnings of words without accents, phrases, emoji and scripts without spaces', {
  tag: [LONG, ONCE, RELEASE],
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

test('search takes any text as text', { tag: [LONG, ONCE, RELEASE] }, async ({ demo }) => {
  await addExamples(demo);
  const search = demo.getByLabel('Search notes');
  for (const text of ["O'Brien", '((', 'NEAR(', 'title:', 'a AND', '^*', '-', '\\', '%_']) {
    await search.fill(`nothing ${text}`);
    await expect(demo.getByText('Nothing found')).toBeVisible();
    await search.fill('');
    await expect(demo.locator('.line')).toHaveCount(EXAMPLES);
  }
  await search.fill('"');
  await expect(demo.getByText(`${EXAMPLES} notes`)).toBeVisible();
  await search.fill('& söhne');
  await expect(demo.locator('.line')).toHaveCount(1);
});

test('slash, arrows, Enter and Escape lead through search, list and text', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ demo }) => {
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

test('a deleted note is gone, and comes back by undo', { tag: [LONG, ONCE, RELEASE] }, async ({
  demo,
}) => {
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

test("a second tab sees the first tab's writes, and a conflict is shown", { tag: LONG }, async ({
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

  // Both tabs write before either has heard of the other.
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

test(
  '[UNDO1] [UNDO5] typing is undone and redone by keys and buttons, while another tab writes',
  { tag: [LONG, ONCE, RELEASE] },
  async ({ demo, openDemo }, testInfo) => {
    await writeNote(demo, 'Mine', 'one');
    const text = demo.getByLabel('Text', { exact: true });
    await demo.getByRole('button', { name: 'Undo', exact: true }).waitFor();
    // Longer than a pause in typing: the next save is a step of its own.
    await expect.poll(() => secondsSinceSaved(demo)).toBeGreaterThan(2);
    await text.pressSequentially(' two');
    await expect(saveState(demo)).toHaveText('Saved');
    const other = await openDemo();
    await writeNote(other, 'Theirs', 'by another tab');
    await demo.bringToFront();
    await expect(demo.locator('.line')).toHaveCount(2);

    await text.press('Control+z');
    await expect(text).toHaveValue('one');
    await demo.screenshot({ path: testInfo.outputPath('undone.png') });
    await demo.getByRole('button', { name: 'Redo' }).click();
    await expect(text).toHaveValue('one two');
    await demo.getByRole('button', { name: 'Undo', exact: true }).click();
    await expect(text).toHaveValue('one');
    await expect(demo.locator('.line')).toHaveCount(2);
    await other.bringToFront();
    await expect(other.getByLabel('Text', { exact: true })).toHaveValue('by another tab');
  },
);

test('[DEMO40] the focus stays in the notes while they are added, moved, deleted and undone', {
  tag: [ONCE, REST],
}, async ({ demo, openDemo }) => {
  await demo.getByRole('button', { name: 'Add example notes' }).press('Enter');
  await expect(demo.locator('.line')).toHaveCount(EXAMPLES);
  await expect(demo.locator('.line').first()).toBeFocused();

  // Notes of another tab move those of this one, and the line in focus as well.
  const line = demo.locator('.line').nth(2);
  await line.focus();
  const id = (await line.getAttribute('data-note'))!;
  const other = await openDemo();
  const change = async (at: number, text: string) => {
    await other.bringToFront();
    await other.locator('.line').nth(at).click();
    await other.getByLabel('Title').pressSequentially(text);
    await expect(saveState(other)).toHaveText('Saved');
    await demo.bringToFront();
    await expect(demo.locator('.line-title', { hasText: text }).first()).toBeVisible();
  };
  for (const text of ['once', 'twice']) {
    await change(3, text);
    await expect(demo.locator('.line:focus')).toHaveAttribute('data-note', id);
  }

  await demo.locator('.line').nth(1).click();
  await demo.locator('.editor').getByRole('button', { name: 'Delete' }).press('Enter');
  await expect(demo.locator('.line')).toHaveCount(EXAMPLES - 1);
  await expect(demo.locator('.line').nth(1)).toBeFocused();

  // Longer than a pause in typing: the letter is a step of its own.
  await expect.poll(() => secondsSinceSaved(demo)).toBeGreaterThan(2);
  await demo.locator('.line').nth(1).press('Enter');
  const text = demo.getByLabel('Text', { exact: true });
  await expect(text).toBeFocused();
  await demo.keyboard.type('x');
  await expect(saveState(demo)).toHaveText('Saved');
  const undo = demo.locator('.editor').getByRole('button', { name: 'Undo', exact: true });
  await undo.focus();
  await demo.keyboard.press('Enter');
  await expect(text).not.toHaveValue(/x$/);
  await expect(undo).toBeFocused();
  await demo.keyboard.press('Enter');
  await expect(demo.locator('.line')).toHaveCount(EXAMPLES);
  // Nothing is left to undo: the button cannot keep the focus, its neighbour gets it.
  await expect(undo).toBeDisabled();
  await expect(text).toBeFocused();
});

test('[DEMO40] a new note that is begun while another is being saved gets the letters', {
  tag: [ONCE, REST, RELEASE],
}, async ({ demo }) => {
  await writeNote(demo, 'First', 'one');
  await demo.getByLabel('Text', { exact: true }).pressSequentially(' two');
  await demo.getByRole('button', { name: 'New note' }).press('Enter');
  await expect(demo.getByLabel('Title')).toBeFocused();
  await demo.keyboard.type('Second');
  await expect(demo.locator('.line-title')).toHaveText(['Second', 'First']);
  await expect(demo.locator('.line-excerpt').last()).toHaveText('one two');
  await expect(demo.getByLabel('Title')).toBeFocused();
});

test('the data set is loaded with progress, searched, loaded again and removed', {
  tag: [LONG, ONCE, RELEASE],
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

test('[DUR2] an import cut off by a reload keeps whole batches and is continued', {
  tag: [LONG, RELEASE],
}, async ({ demo }) => {
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
  // Whole batches: each has 2,000 rows.
  await expect(count).toHaveText(/^\d*[02468],000 of 40,470 rows$/);
  // A stored row is changed, which an import from the start would write again.
  await demo.getByRole('link', { name: 'Storage' }).click();
  await runSql(
    demo,
    "UPDATE characters SET name = 'KEPT' WHERE codepoint = (SELECT min(codepoint) FROM characters)",
  );
  await expect(storagePanel(demo).getByRole('status')).toContainText(/\b1 written\b/);
  await demo.getByRole('link', { name: 'Data set' }).click();
  await demo.getByRole('button', { name: 'Load the rest' }).click();
  await expect(count).toHaveText(`${CHARACTERS} rows`);
  await demo.getByLabel('Search characters').fill('u+0020');
  await expect(demo.locator('.character-name')).toHaveText('KEPT');
});

test('[DEMO15] the storage is inspected: SQL shows rows, types, counts and errors', {
  tag: [LONG, ONCE],
}, async ({ demo }) => {
  const panel = storagePanel(demo);
  await runSql(demo, `SELECT NULL AS a, 1.5 AS b, 'é' AS b, x'00ff' AS c, '' AS d`);
  await expect(panel.getByRole('columnheader')).toHaveText(['#', 'a', 'b', 'b', 'c', 'd']);
  await expect(panel.getByRole('gridcell')).toHaveText(['NULL', '1.5', 'é', 'BLOB 2 B', '']);
  await expect(panel.getByRole('status')).toContainText('1 row, 0 read, 0 written');

  await runSql(
    demo,
    'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) ' +
      'SELECT i, i * i FROM n',
  );
  await expect(panel.getByText('10,000 rows and more')).toBeVisible();
  const grid = panel.getByRole('grid', { name: 'Result' });
  await grid.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
  });
  await expect(grid.getByRole('row').last()).toContainText('100000000');

  await runSql(demo, 'SELECT * FROM nowhere');
  await expect(panel.getByRole('alert')).toContainText('SQL: no such table: nowhere');
  await runSql(demo, 'BEGIN');
  await expect(panel.getByRole('alert')).toContainText('SQL_FORBIDDEN');
});

test('[DEMO15] a statement and its result stay while another panel is shown', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ demo }) => {
  await runSql(demo, 'SELECT 6 * 7 AS answer');
  const panel = storagePanel(demo);
  await expect(panel.getByRole('gridcell')).toHaveText(['42']);
  await demo.getByRole('link', { name: 'Data set' }).click();
  await expect(demo.getByRole('tab', { name: 'SQL' })).toBeHidden();
  await demo.getByRole('link', { name: 'Storage' }).click();
  await expect(panel.getByRole('gridcell')).toHaveText(['42']);
  await expect(panel.getByRole('textbox', { name: 'SQL' })).toHaveValue('SELECT 6 * 7 AS answer');
});

test('[DEMO15] letters typed into the inspector are no shortcuts of the page', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ demo }) => {
  await demo.getByRole('tab', { name: 'SQL' }).click();
  const field = demo.getByRole('textbox', { name: 'SQL' });
  await field.pressSequentially('n/1');
  await expect(field).toHaveValue('n/1');
  await expect(demo.getByLabel('Title')).toBeHidden();
});

test('[DEMO15] a note written by SQL appears in the list', { tag: [LONG, ONCE, RELEASE] }, async ({
  demo,
}) => {
  await runSql(demo, `INSERT INTO notes VALUES (1, 'By SQL', 'inserted', 1)`);
  await expect(storagePanel(demo).getByRole('status')).toContainText(/[1-9]\d* written/);
  await expect(demo.locator('.line-title')).toHaveText('By SQL');
  await demo.getByLabel('Search notes').fill('insert');
  await expect(demo.locator('.line-excerpt mark')).toHaveText('inserted');
});

test('dropping the tables of the notes loses no text on screen, and is repaired', {
  tag: [LONG, ONCE, RELEASE],
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

test('[DEMO15] keys of every type are shown, added, edited, replaced, deleted and filtered', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ demo }) => {
  await demo.getByRole('button', { name: 'Add sample values' }).click();
  const panel = storagePanel(demo);
  const keys = panel.getByRole('list', { name: 'Keys' });
  await expect(keys.getByTitle('bigint')).toHaveText('18446744073709551616n');
  for (const type of ['Uint8Array(24)', 'Map(2)', 'Object']) {
    await expect(keys.getByTitle(type, { exact: true })).toBeVisible();
  }

  await panel.getByText('New key').click();
  const store = async (literal: string) => {
    await panel.getByLabel('Key', { exact: true }).fill('list');
    await panel.getByLabel('Value (JSON').fill(literal);
    await panel.getByRole('button', { name: 'Store' }).click();
  };
  await store('[1, {"a"');
  await expect(panel.getByRole('alert')).toContainText('JSON');
  await expect(keys.getByRole('button')).toHaveCount(4);
  await store('[1, {"a": null}]');
  const line = keys.getByRole('button', { name: 'list' });
  await expect(line).toContainText('[1, {a: null}]');
  const entry = panel.getByRole('region', { name: 'Entry' });
  await entry.getByRole('button', { name: 'Edit 0' }).click();
  await entry.getByRole('textbox').fill('2');
  await entry.getByRole('textbox').press('Enter');
  await expect(line).toContainText('[2, {a: null}]');
  await store('"text"');
  await expect(line).toContainText('"text"');

  await panel.getByRole('searchbox', { name: 'Prefix' }).fill('li');
  await expect(keys.getByRole('button')).toHaveCount(1);
  await entry.getByRole('button', { name: 'Delete "list"' }).click();
  await expect(panel.getByText('No keys.')).toBeVisible();
});

test('[DEMO15] the storage goes back to before a statement, and the notes with it', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ demo }) => {
  await addExamples(demo);
  await runSql(demo, 'DELETE FROM notes');
  await expect(demo.getByText('No notes yet')).toBeVisible();
  await demo.getByRole('button', { name: 'Go back to before this statement' }).click();
  await expect(demo.locator('.line')).toHaveCount(EXAMPLES);
});

test('[DEMO15] the inspector is loaded when it comes into view, not before', { tag: REST }, async ({
  context,
  demoSite,
}) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${demoSite.origin}/notes.html`);
  await expect(page.getByText('No notes yet')).toBeVisible();
  const scripts = () =>
    page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  const before = await scripts();
  await page.getByRole('link', { name: 'Storage' }).click();
  await expect(page.getByRole('tab', { name: 'Keys' })).toBeVisible();
  const later = (await scripts()).filter((name) => !before.includes(name));
  expect(later.filter((name) => name.endsWith('.js'))).not.toEqual([]);
});

test('[TAB6] a note being saved when the worker is lost is saved by the next worker', {
  tag: [LONG, RELEASE],
}, async ({ openDemo }) => {
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
  await demo.getByLabel('Text', { exact: true }).blur(); // which saves at once
  await expect(saveState(demo)).toHaveText('Saving…');
  await demo.evaluate(() => window.terminateWorkers());
  await expect(demo.getByText('The storage worker stopped and was started again.')).toBeVisible();
  await expect(storagePanel(demo).getByRole('alert')).toContainText('CONNECTION_CLOSED');
  await expect(saveState(demo)).toHaveText('Saved');
  await demo.reload();
  await expect(demo.getByLabel('Text', { exact: true })).toHaveValue('after');
});

test('[ERR4] a browser without Web Locks is told so, with the code', async ({ openDemo }) => {
  const demo = await openDemo(() => {
    Reflect.deleteProperty(Navigator.prototype, 'locks');
  });
  await expect(demo.getByRole('heading', { name: 'The notes cannot be opened' })).toBeVisible();
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

function storagePanel(page: Page) {
  return page.getByRole('region', { name: 'Storage' });
}

async function writeNote(page: Page, title: string, text: string): Promise<void> {
  await page.getByRole('button', { name: 'New note' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('Text', { exact: true }).fill(text);
  await expect(saveState(page)).toHaveText('Saved');
}

/** Since the newest note of the list was stored, by the clock of the page. */
function secondsSinceSaved(page: Page): Promise<number> {
  return page.evaluate(() => {
    const started = Reflect.get(window, 'savedMs') ?? Date.now();
    Reflect.set(window, 'savedMs', started);
    return (Date.now() - started) / 1000;
  });
}

async function addExamples(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add example notes' }).click();
  await expect(page.locator('.line')).toHaveCount(EXAMPLES);
}

async function runSql(page: Page, text: string): Promise<void> {
  await page.getByRole('tab', { name: 'SQL' }).click();
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
