// TinyBase over keys, and over SQL in both of its forms.

import { DurableObject } from 'cloudflare:workers';
import { createMergeableStore } from 'tinybase';
import { createDurableObjectSqlStoragePersister } from 'tinybase/persisters/persister-durable-object-sql-storage';
import { createDurableObjectStoragePersister } from 'tinybase/persisters/persister-durable-object-storage';

export class Bases extends DurableObject {
  async run(): Promise<unknown> {
    const { storage } = this.ctx;
    const sqlStorage = storage.sql as never;
    const persisters = {
      keys: (store: never) => createDurableObjectStoragePersister(store, storage as never, 'keys/'),
      json: (store: never) =>
        createDurableObjectSqlStoragePersister(store, sqlStorage, { mode: 'json' }),
      fragmented: (store: never) =>
        createDurableObjectSqlStoragePersister(store, sqlStorage, {
          mode: 'fragmented',
          storagePrefix: 'parts_',
        }),
    };
    const results: Record<string, unknown> = {};
    for (const [name, create] of Object.entries(persisters)) {
      const written = createMergeableStore('writer');
      const saving = create(written as never);
      await saving.startAutoSave();
      written.setTables({ pets: { fido: { species: 'dog', age: 3 }, cat: { species: 'cat' } } });
      written.setValues({ open: true, title: 'Zoë 🦊' });
      written.delCell('pets', 'fido', 'age');
      await saving.save();
      await saving.destroy();
      const read = createMergeableStore('reader');
      const loading = create(read as never);
      await loading.load();
      await loading.destroy();
      // Copy the content, because neither side clones objects without a prototype.
      results[name] = JSON.parse(JSON.stringify(read.getContent()));
    }
    return results;
  }
}
