// Migrations of an object that pages open.

import { whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';

test('[APP1] pages that open an object at the same time migrate it once; a reload has nothing to do', async ({
  storagePage,
}) => {
  const made = await storagePage.evaluate(async () => {
    const { migrate, openStorage } = window.api;
    const handles = await Promise.all([1, 2, 3].map(() => openStorage('migrated')));
    const steps = [
      { name: 'notes', up: 'CREATE TABLE note(body); INSERT INTO note VALUES (1)' },
      {
        name: 'tags',
        up: async (storage: (typeof handles)[number]) => {
          await storage.sql.exec('ALTER TABLE note ADD COLUMN tag').ready;
          await storage.put('tagged', true);
        },
      },
    ];
    return Promise.all(handles.map((storage) => migrate(storage, steps)));
  });
  expect(made.flat().sort()).toEqual(['notes', 'tags']);

  await storagePage.reload();
  await whenLoaded(storagePage);
  const later = await storagePage.evaluate(async () => {
    const { migrate, openStorage } = window.api;
    const storage = await openStorage('migrated');
    const failing = {
      name: 'failing',
      up: async (opened: typeof storage) => {
        await opened.put('half', 1);
        await opened.sql.exec('SELECT nothing').ready;
      },
    };
    const steps = [
      { name: 'notes', up: '' },
      { name: 'tags', up: '' },
    ];
    const settled = await Promise.allSettled([
      migrate(storage, steps),
      migrate(storage, [...steps, failing]),
      migrate(storage, steps.slice(0, 1)),
      migrate(storage, steps.slice(1)),
    ]);
    return {
      outcomes: settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code)),
      rows: await storage.sql.exec('SELECT * FROM note').toArray(),
      keys: [...(await storage.list()).keys()],
    };
  });
  expect(later).toEqual({
    outcomes: [[], 'MIGRATION_FAILED', [], 'MIGRATION_CONFLICT'],
    rows: [{ body: 1, tag: null }],
    keys: ['tagged'],
  });
});
