// `ctx-storage/inspector` on a page: its views, its edits, and changes of another tab meanwhile.

import { readFile } from 'node:fs/promises';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { Workerd } from '../workerd/import-export/workerd.ts';

async function openInspector(page: Page, server: Served, name: string): Promise<Page> {
  await page.goto(`${server.origin}/e2e/specs/pages/inspector.html`);
  await whenLoaded(page);
  await page.evaluate((object) => window.inspector.inspectStorage(object), name);
  return page;
}

/** Axe's findings that are serious or worse. */
async function faultsOf(page: Page, rules: string[] | null = null): Promise<string[]> {
  const builder = new AxeBuilder({ page });
  const { violations } = await (rules === null ? builder : builder.withRules(rules)).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

const panel = (page: Page, name: string) => page.getByRole('tab', { name }).click();

test(
  '[INSP1] [INSP2] [INSP3] an inspector shows and changes keys and rows, and shows writes of another tab',
  { tag: [LONG, ONCE] },
  async ({ context, server }, info) => {
    const page = await openInspector(await context.newPage(), server, 'inspected');
    await expect(page.getByText('No keys.')).toBeVisible();

    // Another tab writes.
    const other = await context.newPage();
    await other.goto(`${server.origin}/e2e/specs/pages/blank.html`);
    await whenLoaded(other);
    await other.evaluate(async () => {
      const storage = await window.api.openStorage('inspected');
      const loop: { self?: unknown } = {};
      loop.self = loop;
      await storage.put({
        loop,
        'user/ada': { name: 'Ada', tags: new Set(['a']), born: new Date(0), big: 12n },
        'user/bob': new Map([['name', 'Bob']]),
        count: 1,
      });
      await storage.sql.exec(
        'CREATE TABLE big(id INTEGER PRIMARY KEY, title); CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body); CREATE TABLE pair(a, b, PRIMARY KEY (a, b)) WITHOUT ROWID',
      ).ready;
      const numbers = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)';
      await storage.sql.exec(`${numbers} INSERT INTO big SELECT x, 'row ' || x FROM n`, 1_000_000)
        .ready;
      await storage.sql.exec(
        `${numbers} INSERT INTO note SELECT x, 'note ' || x, NULL FROM n`,
        1000,
      ).ready;
      await storage.sql.exec("INSERT INTO pair VALUES ('x', 1), ('y', 2)").ready;
      await storage.sql.exec(
        "CREATE TABLE nameless(_rowid_, rowid, oid); INSERT INTO nameless VALUES ('a', 'b', 'c')",
      ).ready;
    });
    const keys = page.getByRole('list', { name: 'Keys' });
    await expect(keys.getByRole('button')).toHaveCount(4);
    const entry = page.getByRole('region', { name: 'Entry' });
    // A value that contains itself is opened step by step.
    await keys.getByRole('button', { name: 'loop' }).click();
    await expect(entry.locator('summary')).toHaveText([
      'loop Object',
      'self Object',
      'self Object',
    ]);
    await entry.locator('summary').last().click();
    await expect(entry.locator('summary')).toHaveCount(4);
    await page.getByRole('searchbox', { name: 'Prefix' }).fill('user/');
    await expect(keys.getByRole('button')).toHaveCount(2);
    await keys.getByRole('button', { name: 'user/ada' }).click();
    await expect(entry.getByText('1970-01-01T00:00:00.000Z')).toBeVisible();
    await entry.getByRole('button', { name: 'Edit name' }).click();
    await entry.getByRole('textbox').fill('"Lovelace"');
    await entry.getByRole('textbox').press('Enter');
    await expect(entry.getByText('"Lovelace"')).toBeVisible();
    const stored = () =>
      other.evaluate(async () => {
        const storage = await window.api.openStorage('inspected');
        const ada = await storage.get<{ name: string; tags: Set<string>; big: bigint }>('user/ada');
        return [ada?.name, ada?.tags.has('a'), ada?.big === 12n];
      });
    expect(await stored()).toEqual(['Lovelace', true, true]);
    await other.evaluate(async () => {
      const storage = await window.api.openStorage('inspected');
      await storage.put('user/bob', 'changed');
    });
    await expect(page.locator('li.changed')).toHaveText(/user\/bob/);
    expect(await faultsOf(page)).toEqual([]);
    await page.screenshot({ path: info.outputPath('keys.png') });

    await panel(page, 'Tables');
    const grid = page.getByRole('grid');
    await expect(page.getByRole('status')).toHaveText('1,000,000 rows');
    await expect(grid.getByRole('row').nth(1)).toContainText('row 1');
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await expect(grid.getByText('row 1000000')).toBeVisible();
    const tables = page.getByRole('navigation', { name: 'Tables' });
    await tables.getByRole('button', { name: 'note table' }).click();
    await expect(page.getByRole('status')).toHaveText('1,000 rows');
    await grid.getByRole('button', { name: 'title' }).first().click();
    await page.getByRole('searchbox', { name: 'Filter' }).fill('note 99');
    await expect(page.getByRole('status')).toHaveText('11 rows');
    await grid.getByRole('button', { name: 'Edit title of row 1:' }).click();
    await grid.getByRole('textbox', { name: 'title of row 1' }).fill('note 99 edited');
    await page.keyboard.press('Enter');
    await expect(grid.getByText('note 99 edited')).toBeVisible();
    await page.screenshot({ path: info.outputPath('tables.png') });
    const edits = grid.getByRole('button', { name: /^Edit / });
    await tables.getByRole('button', { name: /pair/ }).click();
    await expect(grid.getByRole('row')).toHaveCount(3);
    await expect(edits).toHaveCount(4);
    // The table's columns are called rowid, oid and _rowid_, so no name is left for the rowid, and no row can be edited.
    await tables.getByRole('button', { name: /nameless/ }).click();
    await expect(grid.getByRole('gridcell')).toHaveText(['a', 'b', 'c']);
    await expect(edits).toHaveCount(0);
    expect(await faultsOf(page)).toEqual([]);
  },
);

test(
  '[INSP4] [INSP5] an inspector completes SQL, stops a statement, and goes back to before one, and along the timeline',
  { tag: [LONG, ONCE, RELEASE] },
  async ({ context, server }, info) => {
    const page = await openInspector(await context.newPage(), server, 'history');
    await page.evaluate(async () => {
      const storage = await window.api.openStorage('history');
      await storage.put('user/ada', { name: 'Ada', born: new Date(0) });
      await storage.put('user/ada', { name: 'Lovelace', born: new Date(0) });
      await storage.sql.exec(
        "CREATE TABLE pair(a, b, PRIMARY KEY (a, b)) WITHOUT ROWID; INSERT INTO pair VALUES ('x', 1)",
      ).ready;
    });
    await panel(page, 'SQL');
    const sql = page.getByRole('textbox', { name: 'SQL' });
    const suggestion = page.getByRole('option', { name: 'pair table' });
    await sql.pressSequentially('SELECT count(*) AS n FROM p');
    await expect(suggestion).toBeVisible();
    expect(await faultsOf(page)).toEqual([]);
    // In Firefox, the check takes the focus, which closes the list.
    await sql.pressSequentially('a');
    await expect(suggestion).toBeVisible();
    await sql.press('Tab');
    await expect(sql).toHaveValue('SELECT count(*) AS n FROM pair');
    await sql.press('Control+Enter');
    await expect(page.getByRole('status')).toContainText('1 row, 1 read, 0 written');
    await page.getByRole('button', { name: 'Explain' }).click();
    await expect(page.getByRole('grid')).toContainText('SCAN pair');
    await sql.fill(
      'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n',
    );
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await expect(page.getByRole('alert')).toHaveText('Stopped.');
    await sql.fill('DROP TABLE pair');
    await page.getByRole('button', { name: 'Run' }).click();
    await expect(
      page.getByRole('button', { name: 'Go back to before this statement' }),
    ).toBeVisible();
    expect(await faultsOf(page)).toEqual([]);
    await page.screenshot({ path: info.outputPath('sql.png') });
    await page.getByRole('button', { name: 'Go back to before this statement' }).click();
    await expect(page.getByRole('status')).toContainText('as it was before');

    await panel(page, 'Timeline');
    const slider = page.getByRole('slider', { name: 'Moment' });
    await slider.press('Home');
    const differences = page.getByRole('region', { name: 'What differs' });
    await expect(differences).toContainText('pair added');
    await expect(differences).toContainText('{name: "Ada", born: 1970-01-01T00:00:00.000Z}');
    expect(await faultsOf(page)).toEqual([]);
    await page.screenshot({ path: info.outputPath('timeline.png') });
    await page.getByRole('button', { name: 'Go back to here' }).click();
    await page.getByRole('button', { name: 'Undo going back' }).click();
    await panel(page, 'Tables');
    await expect(page.getByRole('navigation').getByRole('button', { name: /pair/ })).toBeVisible();
  },
);

// Once, because the driver of Firefox does not tell of downloads.
test(
  '[INSP7] files are opened and saved; a mistake is told with its line, and the object goes back',
  { tag: [LONG, ONCE] },
  async ({ context, server }, info) => {
    const page = await openInspector(await context.newPage(), server, 'files');
    await panel(page, 'Files');
    const give = (name: string, text: string) =>
      page
        .getByLabel('Open a file, or drop it here')
        .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await give('people.csv', 'id,name\n1,Ada\n2\n');
    await press('Import');
    await expect(page.getByRole('alert')).toContainText(
      'people.csv, line 3: this row has 1 fields',
    );
    const rows = Array.from({ length: 5000 }, (_, i) => `${i},"Person ""${i}"""`);
    await give('people.csv', `id,name\n${rows.join('\n')}\n`);
    await press('Import');
    await expect(page.getByRole('status')).toContainText('5,000 rows of people.csv');
    expect(await faultsOf(page)).toEqual([]);
    await page.screenshot({ path: info.outputPath('files.png') });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      press('All as one .sqlite file'),
    ]);
    expect(download.suggestedFilename()).toBe('files.sqlite');
    const saved = info.outputPath('files.sqlite');
    await download.saveAs(saved);

    await give('damaged.sqlite', 'hello');
    await press('Replace');
    await expect(page.getByRole('alert')).toContainText('IMPORT_INVALID');
    // The program that mends a file keeps its lines.
    const file = await readFile(saved);
    file[18] = 3;
    await page.getByLabel('Open a file, or drop it here').setInputFiles({
      name: 'newer.sqlite',
      mimeType: 'application/octet-stream',
      buffer: file,
    });
    await press('Replace');
    await expect(page.getByRole('alert')).toContainText('versions are 3 and 1');
    expect(await page.getByRole('alert').innerText()).toContain('\nsqlite3 file.sqlite .dump');
    await give('few.json', '[{"a": 1}]');
    await press('Import');
    await expect(page.getByRole('status')).toContainText('1 row of few.json');
    await press('Go back to before the import');
    await expect(page.getByRole('status')).toContainText('as it was before');
    const tables = page.getByRole('combobox', { name: 'Table' });
    await expect(tables.getByRole('option')).toHaveText(['people']);

    const other = await openInspector(await context.newPage(), server, 'copy');
    await panel(other, 'Files');
    await other.getByLabel('Open a file, or drop it here').setInputFiles(saved);
    await other.getByRole('button', { name: 'Replace' }).click();
    await expect(other.getByRole('status')).toContainText('now holds files.sqlite');
    await panel(other, 'Tables');
    await expect(other.getByRole('status').last()).toHaveText('5,000 rows');
  },
);

// Once, because the driver of Firefox does not tell of downloads.
test(
  '[INSP7] files of workerd with their -wal are dropped in, an import is stopped and undone, a table is saved as CSV and JSON',
  { tag: [LONG, ONCE, RELEASE] },
  async ({ context, server }, info) => {
    const workerd = await Workerd.start(info.outputPath('workerd'));
    await workerd.call('lobby', 'put', 'from', 'workerd');
    const given = {
      'lobby.sqlite': [...workerd.databaseFile('lobby')],
      'lobby.sqlite-wal': [...(workerd.walFile('lobby') ?? [])],
    };
    await workerd.close();
    expect(given['lobby.sqlite-wal'].length).toBeGreaterThan(0);
    const page = await openInspector(await context.newPage(), server, 'dropped');
    await page.evaluate(async () => {
      const storage = await window.api.openStorage('dropped');
      await storage.put('before', 'it');
    });
    await panel(page, 'Files');
    const files = page.getByRole('region', { name: 'Files' });
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await files.evaluate((element, given) => {
      const dataTransfer = new DataTransfer();
      for (const [name, bytes] of Object.entries(given)) {
        dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
      }
      const how = { dataTransfer, bubbles: true, cancelable: true };
      for (const type of ['dragover', 'drop']) element.dispatchEvent(new DragEvent(type, how));
    }, given);
    await expect(files).toContainText('replaced by lobby.sqlite and lobby.sqlite-wal');
    await press('Replace');
    await expect(page.getByRole('status')).toContainText('now holds lobby.sqlite');
    const stored = () =>
      page.evaluate(async () => {
        const storage = await window.api.openStorage('dropped');
        const tables = await storage.sql.exec(
          "SELECT name FROM sqlite_master WHERE name = 'guest'",
        );
        return [[...(await storage.list())], await tables.toArray()];
      });
    const moved = [[['from', 'workerd']], []];
    expect(await stored()).toEqual(moved);

    const give = async (rows: readonly string[]) => {
      const buffer = Buffer.from(`id,name,paid\n${rows.join('\n')}\n`);
      const file = { name: 'guest.csv', mimeType: 'text/csv', buffer };
      await page.getByLabel('Open a file, or drop it here').setInputFiles(file);
      await press('Import');
    };
    await give(Array.from({ length: 200_000 }, (_, i) => `${i},Guest ${i},1`));
    await expect(page.getByRole('status')).toContainText('Writing row');
    await press('Stop');
    await expect(page.getByRole('alert')).toContainText('of 200,000 were written to guest');
    await press('Go back to before the import');
    await expect(page.getByRole('status')).toContainText('as it was before');
    expect(await stored()).toEqual(moved);

    await give(['1,"Ada, ""the first""",9.5', '2,,7.25']);
    await expect(page.getByRole('status')).toContainText('2 rows of guest.csv');
    const save = async (format: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), press(format)]);
      return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')];
    };
    expect(await save('As CSV')).toEqual([
      'guest.csv',
      'id,name,paid\r\n1,"Ada, ""the first""",9.5\r\n2,,7.25\r\n',
    ]);
    const [name, text] = await save('As JSON');
    expect([name, JSON.parse(text!)]).toEqual([
      'guest.json',
      [
        { id: 1, name: 'Ada, "the first"', paid: 9.5 },
        { id: 2, name: null, paid: 7.25 },
      ],
    ]);
  },
);

test(
  '[INSP1] [INSP6] [BRANCH11] an inspector of classes lists their objects, with their branches, and opens one, and moves their clock to an alarm; it fits a phone, light and dark',
  { tag: [LONG, ONCE, RELEASE] },
  async ({ context, server }, info) => {
    const page = await context.newPage();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${server.origin}/e2e/specs/pages/inspector.html`);
    await whenLoaded(page);
    await page.evaluate(async () => {
      const { env, storage } = await window.api.connectRooms();
      const room = await storage(env.Room.getByName('lobby'));
      await env.Room.getByName('lobby').remind(86_400_000);
      for (let i = 0; i < 40; i++) {
        await room.put(`message/${i}`, {
          from: 'Ada',
          text: 'x'.repeat(i * 20),
          sent: new Date(i * 1000),
        });
      }
      await room.sql.exec(
        'CREATE TABLE seat(id INTEGER PRIMARY KEY, guest, since, note, price REAL)',
      ).ready;
      await room.sql.exec(
        "INSERT INTO seat VALUES (1, 'Ada', '1815-12-10', NULL, 9.5), (2, 'Bob', '', 'x', 7)",
      ).ready;
      await room.fork({ name: 'draft', keep: true });
      await window.inspector.inspectObjects();
    });
    await page.getByRole('combobox', { name: 'Class' }).selectOption('Room');
    await page.getByRole('button', { name: 'lobby' }).click();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const name of ['Objects', 'Keys', 'Tables', 'SQL', 'Timeline', 'Alarms', 'Files']) {
        await panel(page, name);
        if (name === 'Objects') {
          await expect(page.getByRole('cell', { name: 'draft', exact: true })).toBeVisible();
        }
        if (name === 'Keys')
          await page.getByRole('button', { name: 'message/1', exact: false }).first().click();
        if (name === 'SQL') {
          await page.getByRole('textbox', { name: 'SQL' }).fill('SELECT * FROM seat');
          await page.getByRole('button', { name: 'Run' }).click();
          await expect(page.getByRole('status')).toContainText('2 rows');
        }
        if (name === 'Alarms') {
          const status = page.getByRole('status');
          await page.getByRole('button', { name: 'Advance 1 h' }).click();
          await expect(status).toContainText('The clock of all objects stands at');
          await expect(page.getByRole('cell', { name: 'Room lobby' })).toBeVisible();
          if (colorScheme === 'dark') {
            await page.getByRole('button', { name: 'To the next alarm' }).click();
            await expect(status).toContainText('The alarm of Room “lobby” ran.');
            await expect(page.getByText('No alarm is set.')).toBeVisible();
          }
        }
        if (name === 'Timeline') {
          await page.getByRole('slider', { name: 'Moment' }).press('Home');
          await expect(page.getByRole('region', { name: 'What differs' })).toContainText(
            'seat added',
          );
        }
        await page.screenshot({ path: info.outputPath(`phone-${colorScheme}-${name}.png`) });
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
        // The findings are the same in light and dark, except for colours.
        const rules = colorScheme === 'light' ? null : ['color-contrast'];
        expect(await faultsOf(page, rules)).toEqual([]);
      }
    }
    await page.getByRole('tab', { name: 'Files' }).press('ArrowRight');
    await expect(page.getByRole('tab', { name: 'Objects' })).toBeFocused();
  },
);

/** Screenshots on a desk and on a phone, light and dark; each is without findings and without sideways scrolling. */
async function looksWell(page: Page, path: (name: string) => string, name: string): Promise<void> {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
    [390, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: path(`${name}-${width}-${colorScheme}.png`) });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await faultsOf(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

test(
  '[INSP5] [INSP12] two moments are compared, a commit is reverted with its conflicts decided, and branches are made, opened, merged, promoted and deleted',
  { tag: [LONG, ONCE, RELEASE] },
  async ({ context, server }, info) => {
    const page = await openInspector(await context.newPage(), server, 'branched');
    const path = (name: string) => info.outputPath(name);
    const marks = await page.evaluate(async () => {
      const storage = await window.api.openStorage('branched');
      await storage.sql.exec(
        "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, price REAL); INSERT INTO note VALUES (1, 'Plan A', 'first', 1.5), (2, 'Shopping', 'Milk and bread', 7), (3, 'Letter', NULL, 0)",
      ).ready;
      await storage.put({ theme: 'light', user: { name: 'Ada', roles: ['reader'] } });
      const start = await storage.getCurrentBookmark();
      await storage.transaction(async () => {
        await storage.put('theme', 'dark');
        await storage.put('user', { name: 'Ada', roles: ['reader', 'editor'] });
        await storage.sql.exec("UPDATE note SET title = 'Plan B', price = 2 WHERE id = 1").ready;
        await storage.sql.exec('DELETE FROM note WHERE id = 3').ready;
        await storage.sql.exec(
          "INSERT INTO note VALUES (4, 'New', 'A long text ' || hex(zeroblob(200)), 9)",
        ).ready;
      });
      const changed = await storage.getCurrentBookmark();
      await storage.put('theme', 'system');
      await storage.sql.exec("UPDATE note SET title = 'Plan C' WHERE id = 1").ready;
      return { start, changed };
    });
    expect(marks.start).not.toBe(marks.changed);
    const stored = (sql: string) =>
      page.evaluate(async (query) => {
        const storage = await window.api.openStorage('branched');
        const rows = await storage.sql.exec(query).raw().toArray();
        return [await storage.get('theme'), rows.flat()];
      }, sql);
    const title = 'SELECT title FROM note WHERE id = 1';
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const told = (text: string) => page.getByRole('status').filter({ hasText: text });

    await panel(page, 'Timeline');
    // Two moments: before and after the transaction, neither of them now.
    const slider = page.getByRole('slider', { name: 'Moment' });
    await slider.focus();
    for (let step = 0; step < 3; step++) await slider.press('ArrowLeft');
    const until = page.getByRole('slider', { name: 'Compared with' });
    for (let step = 0; step < 2; step++) await until.press('ArrowLeft');
    const differences = page.getByRole('region', { name: 'What differs' });
    await expect(differences).toContainText('1 row added, 1 row changed, 1 row removed');
    await expect(differences.getByRole('deletion')).toHaveText([
      '"light"',
      '{name: "Ada", roles: ["reader"]}',
      'Plan A',
      '1.5',
    ]);
    await expect(differences.getByRole('insertion')).toHaveText([
      '"dark"',
      '{name: "Ada", roles: ["reader", "editor"]}',
      'Plan B',
      '2',
    ]);
    await looksWell(page, path, 'compare');

    // The commit of the transaction is reverted; later commits have changed two of its five changes.
    await slider.press('ArrowRight');
    await press('Revert this commit');
    const conflicts = page.getByRole('region', { name: 'Conflicts' });
    await expect(conflicts).toContainText('Revert: 2 conflicts');
    const theme = conflicts.getByRole('group', { name: 'Key theme' });
    const note = conflicts.getByRole('group', { name: 'Row id 1 of note' });
    await expect(theme).toContainText('"system"');
    await expect(note).toContainText('Plan C');
    const apply = conflicts.getByRole('button', { name: 'Apply' });
    await expect(apply).toBeDisabled();
    await theme.getByRole('radio', { name: /ours/ }).check();
    await looksWell(page, path, 'conflicts');
    await note.getByRole('radio', { name: /theirs/ }).check();
    await apply.click();
    await expect(told('was reverted')).toBeVisible();
    expect(await stored(title)).toEqual(['system', ['Plan A']]);
    await press('Take it back');
    await expect(told('It was taken back')).toBeVisible();
    expect(await stored(title)).toEqual(['system', ['Plan C']]);

    // Make two branches: one of an earlier moment that is kept, and a temporary one of the current state.
    await slider.press('Home');
    await slider.press('ArrowRight');
    await page.getByRole('textbox', { name: 'New branch' }).fill('old plan');
    await page.getByRole('checkbox', { name: 'Keep it' }).check();
    await press('Branch from here');
    await expect(told('Branch “old plan” was made')).toBeVisible();
    await press('Now');
    await page.getByRole('textbox', { name: 'New branch' }).fill('trial');
    await press('Branch from now');
    const list = page.getByRole('list', { name: 'Branches' });
    await expect(list.getByRole('listitem')).toHaveText([/old plan kept/, /trial until/]);
    await looksWell(page, path, 'branches');

    await press('Open trial');
    await expect(page.getByText('On the branch trial: all panels show it.')).toBeVisible();
    await panel(page, 'SQL');
    await page
      .getByRole('textbox', { name: 'SQL' })
      .fill("UPDATE note SET title = 'Plan D' WHERE id = 1");
    await press('Run');
    await expect(page.getByRole('status')).toContainText('written');
    expect(await stored(title)).toEqual(['system', ['Plan C']]);
    await press('Leave the branch');
    await panel(page, 'Timeline');
    await press('Changes of trial');
    await expect(page.getByText('What “trial” has changed since it began')).toBeVisible();
    await expect(differences.getByRole('insertion')).toHaveText(['Plan D']);
    await looksWell(page, path, 'branch-changes');

    // The branch and the object have both changed the title since: a conflict, decided for the branch.
    await page.evaluate(async () => {
      const storage = await window.api.openStorage('branched');
      await storage.sql.exec("UPDATE note SET title = 'Plan E' WHERE id = 1").ready;
    });
    await press('Merge trial');
    await expect(conflicts).toContainText('Merge “trial”: 1 conflict');
    await press('Make all changes');
    await apply.click();
    await expect(told('The changes of branch “trial” were made here.')).toBeVisible();
    expect(await stored(title)).toEqual(['system', ['Plan D']]);
    await press('Take it back');
    await expect(told('It was taken back')).toBeVisible();
    expect(await stored(title)).toEqual(['system', ['Plan E']]);

    // Now is later than the newest commit that the panel has read.
    await page.getByRole('textbox', { name: 'New branch' }).fill('next');
    await page.getByRole('button', { name: 'Branch from now' }).evaluate(async (button) => {
      const storage = await window.api.openStorage('branched');
      await storage.put('theme', 'dusk');
      (button as HTMLButtonElement).click();
    });
    await press('Open next');
    await expect(page.getByText('On the branch next: all panels show it.')).toBeVisible();
    await panel(page, 'SQL');
    await page
      .getByRole('textbox', { name: 'SQL' })
      .fill("UPDATE note SET title = 'Plan F' WHERE id = 1");
    await press('Run');
    await expect(page.getByRole('status')).toContainText('written');
    await press('Leave the branch');
    await panel(page, 'Timeline');
    await press('Promote old plan');
    await expect(page.getByRole('alert')).toContainText('has changed since the branch began');
    await press('Promote next');
    await expect(told('Branch “next” is the object now.')).toBeVisible();
    await expect.poll(() => stored(title)).toEqual(['dusk', ['Plan F']]);
    await press('Undo the promotion');
    await expect.poll(() => stored(title)).toEqual(['dusk', ['Plan E']]);
    for (const name of ['old plan', 'trial', 'next']) {
      await press(`Delete ${name}`);
      await press(`Delete ${name} for good`);
    }
    await expect(list.getByRole('listitem')).toHaveCount(0);
    const names = await page.evaluate(async () =>
      (await (await window.api.openStorage('branched')).branches()).map(({ name }) => name),
    );
    expect(names).toEqual([]);
  },
);

test('[INSP3] a long text makes its own column wide, and no other one', {
  tag: [ONCE, LONG, RELEASE],
}, async ({ context, server }) => {
  const page = await openInspector(await context.newPage(), server, 'wide');
  await page.setViewportSize({ width: 800, height: 600 });
  await page.evaluate(async () => {
    const storage = await window.api.openStorage('wide');
    await storage.sql.exec('CREATE TABLE wide(id INTEGER PRIMARY KEY, short TEXT, long TEXT)')
      .ready;
    await storage.sql.exec("INSERT INTO wide VALUES (1, 'a', ?)", 'word '.repeat(50)).ready;
  });
  await panel(page, 'Tables');
  const cells = page.getByRole('grid').getByRole('row').nth(1).getByRole('gridcell');
  await expect(cells).toHaveCount(3);
  await expect(cells.nth(2)).toContainText('word');
  const widths = () =>
    cells.evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().width));
  await expect.poll(async () => (await widths())[2]! / (await widths())[1]!).toBeGreaterThan(2);
  const heads = await page
    .getByRole('columnheader')
    .evaluateAll((all) => all.slice(1).map((cell) => cell.getBoundingClientRect().width));
  expect(heads).toEqual(await widths());
});
