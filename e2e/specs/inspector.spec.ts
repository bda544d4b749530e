// `ctx-storage/inspector` on a page: what it shows, what it changes, what another tab changes meanwhile.

import { readFile } from 'node:fs/promises';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { Workerd } from '../import-export/workerd.ts';

async function openInspector(page: Page, server: Served, name: string): Promise<Page> {
  await page.goto(`${server.origin}/e2e/pages/inspector.html`);
  await whenLoaded(page);
  await page.evaluate((object) => window.inspector.inspectStorage(object), name);
  return page;
}

/** What axe finds that is serious or worse. */
async function faultsOf(page: Page, rules: string[] | null = null): Promise<string[]> {
  const builder = new AxeBuilder({ page });
  const { violations } = await (rules === null ? builder : builder.withRules(rules)).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

const panel = (page: Page, name: string) => page.getByRole('tab', { name }).click();

test(
  '[INSP1] [INSP2] [INSP3] an inspector shows and changes keys and rows, and shows what another tab writes',
  { tag: LONG },
  async ({ context, server }, info) => {
    const page = await openInspector(await context.newPage(), server, 'inspected');
    await expect(page.getByText('No keys.')).toBeVisible();

    // Another tab writes.
    const other = await context.newPage();
    await other.goto(`${server.origin}/e2e/pages/blank.html`);
    await whenLoaded(other);
    await other.evaluate(async () => {
      const storage = await window.api.openStorage('inspected');
      await storage.put({
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
    });
    const keys = page.getByRole('list', { name: 'Keys' });
    await expect(keys.getByRole('button')).toHaveCount(3);
    await page.getByRole('searchbox', { name: 'Prefix' }).fill('user/');
    await expect(keys.getByRole('button')).toHaveCount(2);
    await keys.getByRole('button', { name: 'user/ada' }).click();
    const entry = page.getByRole('region', { name: 'Entry' });
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
    await tables.getByRole('button', { name: /pair/ }).click();
    await expect(grid.getByRole('row')).toHaveCount(3);
    expect(await faultsOf(page)).toEqual([]);
  },
);

test(
  '[INSP4] [INSP5] [INSP9] an inspector completes SQL, stops a statement, and goes back to before one, and along the timeline',
  { tag: LONG },
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
  '[INSP7] [INSP8] files are opened and saved; a mistake is told with its line, and the object goes back',
  { tag: ONCE },
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
  '[INSP7] [INSP8] files of workerd with their -wal are dropped in, an import is stopped and undone, a table is saved as CSV and JSON',
  { tag: ONCE },
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
  '[INSP1] [INSP6] [INSP10] an inspector of classes lists their objects and opens one, and moves their clock to an alarm; it fits a phone, light and dark',
  { tag: ONCE },
  async ({ context, server }, info) => {
    const page = await context.newPage();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${server.origin}/e2e/pages/inspector.html`);
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
      await window.inspector.inspectObjects();
    });
    await page.getByRole('combobox', { name: 'Class' }).selectOption('Room');
    await page.getByRole('button', { name: 'lobby' }).click();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const name of ['Objects', 'Keys', 'Tables', 'SQL', 'Timeline', 'Alarms', 'Files']) {
        await panel(page, name);
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
        // What was found in light is the same in dark, colours aside.
        const rules = colorScheme === 'light' ? null : ['color-contrast'];
        expect(await faultsOf(page, rules)).toEqual([]);
      }
    }
    await page.getByRole('tab', { name: 'Files' }).press('ArrowRight');
    await expect(page.getByRole('tab', { name: 'Objects' })).toBeFocused();
  },
);
