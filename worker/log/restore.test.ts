import { expect, test } from 'vitest';
import { all, noise, openLog, put, WatchedDirectory } from '../testing/test-log.ts';

const SMALL = { segmentBytes: 1 << 16, checkpointLogBytes: 1 << 15 };

test('[LOG11] a bookmark taken after a restore was asked for is good, also where a segment begins', async () => {
  const directory = new WatchedDirectory();
  const opened = await openLog(directory, undefined, SMALL);
  const first = opened.store.currentBookmark();
  for (let i = 0; !directory.written.has('log-00000002'); i++) {
    put(opened.db, i, noise(i, 30_000));
    await opened.store.flush();
    await opened.store.maintain();
  }
  opened.store.scheduleRestore(first);
  await opened.store.flush();
  const marked = opened.store.currentBookmark();
  const rows = all(opened.db);
  put(opened.db, 1, 'later');
  await opened.store.flush();
  opened.store.scheduleRestore(marked);
  await opened.store.flush();
  await opened.close();
  const again = await openLog(directory, undefined, SMALL);
  expect(all(again.db)).toEqual(rows);
  await again.close();
});
