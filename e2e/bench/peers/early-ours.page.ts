// A page that shows 200 rows: of an early handle, or of one that waits for its worker (`?awaited`).

import { openStorage } from '../../../src/index.ts';
import { measureShown } from './shown-rows.ts';

const isEarly = location.search !== '?awaited';
const storage = await openStorage(isEarly ? 'early' : 'awaited', {
  early: isEarly,
  prepare: async ({ sql }) => {
    await sql.exec('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, a TEXT)').ready;
    await sql.exec(
      "INSERT OR IGNORE INTO t SELECT value, 'text of row ' || value FROM json_each(?)",
      JSON.stringify(Array.from({ length: 200 }, (_, i) => i + 1)),
    ).ready;
  },
});
const live = storage.sql.live<{ id: number; a: string }>('SELECT id, a FROM t');
live.subscribe((rows) => {
  if (rows !== undefined) measureShown(rows, live.getState().status);
});
