// Differences between moments, and the revert of a commit, from a page that another tab's worker serves.

import type { StorageChange } from '../../src/index.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';

test('[DIFF4] [REVERT1] [REVERT2] a page compares two moments and takes one commit back, through another tab', async ({
  context,
  server,
}) => {
  const leader = await openBlank(await context.newPage(), server);
  const before = await leader.evaluate(async () => {
    const storage = await window.api.openStorage('versions');
    await storage.sql.exec('CREATE TABLE note(id INTEGER PRIMARY KEY, text)').ready;
    await storage.sql.exec("INSERT INTO note VALUES (1, 'a'), (2, 'b')").ready;
    return storage.getCurrentBookmark();
  });
  const follower = await openBlank(await context.newPage(), server);
  const seen = await follower.evaluate(async (from) => {
    const storage = await window.api.openStorage('versions');
    await storage.sql.exec("UPDATE note SET text = 'B' WHERE id = 2").ready;
    const target = await storage.getCurrentBookmark();
    await storage.put('theme', { dark: true });
    const changes: StorageChange[] = [];
    for await (const change of storage.diff(from)) changes.push(change);
    const undone = await storage.revert(target);
    const rows = await storage.sql.exec('SELECT text FROM note').raw().toArray();
    await storage.sql.exec("UPDATE note SET text = 'later' WHERE id = 2").ready;
    const conflict = await storage.revert(undone!).catch((error) => error);
    return {
      changes,
      rows,
      theme: await storage.get('theme'),
      code: conflict.code,
      now: conflict.conflicts?.[0]?.now,
    };
  }, before);
  expect(seen).toEqual({
    changes: [
      { kind: 'key', key: 'theme', before: undefined, after: { dark: true } },
      {
        kind: 'row',
        table: 'note',
        key: { id: 2 },
        before: { id: 2, text: 'b' },
        after: { id: 2, text: 'B' },
      },
    ],
    rows: [['a'], ['b']],
    theme: { dark: true },
    code: 'CONFLICT',
    now: { id: 2, text: 'later' },
  });
});
