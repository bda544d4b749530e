// A page that shows 200 rows of IndexedDB.

import { openDB } from 'idb';
import { measureShown, type ShownRow } from './shown-rows.ts';

const database = await openDB('shown', 1, {
  upgrade(made) {
    const store = made.createObjectStore('t', { keyPath: 'id' });
    for (let id = 1; id <= 200; id++) void store.put({ id, a: `text of row ${id}` });
  },
});
measureShown((await database.getAll('t')) as ShownRow[], 'ready');
