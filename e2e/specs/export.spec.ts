// A database leaves an object as a file and comes into another, as a page does it.

import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

test('[MOVE3] an exported file is imported into another object and undone by bookmark', async ({
  storagePage,
}) => {
  const exported = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('export-source');
    await storage.sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)').ready;
    await storage.put('key', { when: new Date(5), tags: new Set(['a']) });
    await storage.setAlarm(4_000_000_000_000);
    return btoa(String.fromCharCode(...(await storage.exportDatabase())));
  });
  const file = Buffer.from(exported, 'base64');
  expect(file.subarray(0, 15).toString()).toBe('SQLite format 3');
  expect(file.length % 4096).toBe(0);

  const states = await storagePage.evaluate(async (text) => {
    const storage = await window.api.openStorage('export-target');
    await storage.put('old', 1);
    const shown = (_: string, value: unknown) => (value instanceof Set ? ['Set', ...value] : value);
    const state = async () => [
      [...(await storage.list())].map(([key, value]) => [key, JSON.stringify(value, shown)]),
      await storage.getAlarm(),
      await storage.sql
        .exec('SELECT * FROM t')
        .toArray()
        .catch((error) => error.code),
    ];
    const bytes = Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
    const undo = await storage.importDatabase(new Blob([bytes]));
    const imported = await state();
    await storage.onNextSessionRestoreBookmark(undo);
    await storage.abort('undo');
    return { imported, undone: await state() };
  }, exported);
  expect(states).toEqual({
    imported: [
      [['key', '{"when":"1970-01-01T00:00:00.005Z","tags":["Set","a"]}']],
      4_000_000_000_000,
      [{ x: 1 }, { x: 2 }],
    ],
    undone: [[['old', '1']], null, 'SQL'],
  });
});

test(
  '[MOVE15] a chosen file that another program has changed or deleted since is INPUT_CHANGED',
  {
    tag: LONG,
  },
  async ({ context, server }, testInfo) => {
    const page = await openBlank(await context.newPage(), server);
    await page.evaluate(() => {
      const input = document.createElement('input');
      input.type = 'file';
      document.body.append(input);
    });
    const exported = await page.evaluate(async () => {
      const storage = await window.api.openStorage('chosen');
      await storage.put('a', 1);
      return [...(await storage.exportDatabase())];
    });
    const file = testInfo.outputPath('copy.sqlite');
    const outcomeAfter = async (change: () => void) => {
      writeFileSync(file, Uint8Array.from(exported));
      await page.setInputFiles('input', file);
      change();
      return page.evaluate(async () => {
        const storage = await window.api.openStorage('chosen');
        const [chosen] = document.querySelector('input')!.files!;
        const outcome = await storage.importDatabase(chosen!).then(
          () => 'imported',
          (error) => error.code,
        );
        return [outcome, await storage.get('a')];
      });
    };
    expect(await outcomeAfter(() => {})).toEqual(['imported', 1]);
    expect(await outcomeAfter(() => appendFileSync(file, 'more'))).toEqual(['INPUT_CHANGED', 1]);
    expect(await outcomeAfter(() => rmSync(file))).toEqual(['INPUT_CHANGED', 1]);
  },
);

test('[MOVE6] a refused import leaves the data, and says why', { tag: REST }, async ({
  storagePage,
}) => {
  const refused = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('export-refused');
    const old = 'x'.repeat(50_000);
    await storage.put('old', old);
    const file = await storage.exportDatabase();
    const outcome = (...args: [BufferSource | Blob, BufferSource?]) =>
      storage.importDatabase(...(args as [Blob])).then(
        () => 'imported',
        (error) => `${error.name} ${error.code}: ${error.message}`,
      );
    return [
      await outcome(new TextEncoder().encode('not a database'.repeat(999))),
      await outcome(file.slice(0, 8192)),
      await outcome(file, new Uint8Array(5000)),
      await outcome(file.slice().fill(7, 4096, 12_288)),
      (await storage.get('old')) === old,
    ];
  });
  expect(refused).toEqual([
    expect.stringMatching(/^Error IMPORT_INVALID: .*not a SQLite database/),
    expect.stringMatching(/^Error IMPORT_INVALID: .*cut off: it has 8192 bytes/),
    expect.stringMatching(/^Error IMPORT_INVALID: .*\(5000 bytes\) is not a WAL/),
    expect.stringMatching(/^Error IMPORT_INVALID: .*(damaged|cannot read)/),
    true,
  ]);
});

test('[LIM6] limits.importMs of openStorage bounds the checks of an import', async ({
  storagePage,
}) => {
  const told = await storagePage.evaluate(async () => {
    const options = { limits: { importMs: 0.001 } };
    const storage = await window.api.openStorage('bounded-import', options);
    await storage.put('key', 1);
    const file = await storage.exportDatabase();
    return storage.importDatabase(file).catch((error: Error) => error.message);
  });
  expect(told).toMatch(
    /took more than 0\.001 ms.*raise limits\.importMs \(an option of openStorage/,
  );
});

test('[MOVE3] 100,000 keys move between objects, also from a tab that does not lead', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ storagePage, sharedProfile, server }) => {
  // Opened first, so that the page's worker leads.
  await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('export-many');
    for (let i = 0; i < 100_000; i += 128) {
      const entries: Record<string, number> = {};
      for (let j = i; j < Math.min(i + 128, 100_000); j++) entries[`key ${j}`] = j;
      void storage.put(entries);
    }
    await storage.sync();
  });
  const follower = await openBlank(await sharedProfile.newPage(), server);
  const moved = await follower.evaluate(async () => {
    const source = await window.api.openStorage('export-many');
    const target = await window.api.openStorage('export-many-copy');
    const started = performance.now();
    const file = await source.exportDatabase();
    const exported = performance.now();
    await target.importDatabase(file);
    const imported = performance.now();
    const entries = await target.list<number>();
    const isRight = [...entries].every(([key, value]) => key === `key ${value}`);
    return {
      size: entries.size,
      isRight,
      bytes: file.length,
      exportMs: exported - started,
      importMs: imported - exported,
    };
  });
  expect(moved).toMatchObject({ size: 100_000, isRight: true });
  await follower.close();
});
