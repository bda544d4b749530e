// Large values between page and worker, where the browser can move their memory instead of copying it, and
// between tabs, where it cannot.

import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REST } from '../browsers/tags.ts';

test('[RPC7] large values arrive whole, in the leading tab and in a following one, and leave the app its own', {
  tag: REST,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  const follower = await openBlank(await context.newPage(), server);
  for (const [tab, first] of [
    [leader, 1],
    [follower, 101],
  ] as const) {
    const seen = await tab.evaluate(async (first) => {
      const { env } = await window.api.connectRooms();
      const { openStorage } = window.api;
      const storage = await openStorage(`large ${first}`);
      const room = env.Room.getByName('large');
      let seed = first;
      const fresh = (length: number) => {
        seed += 1;
        return Uint8Array.from({ length }, (_, i) => (i * seed) % 251);
      };
      const wrong: string[] = [];
      const given: [Uint8Array, copy: Uint8Array][] = [];
      const areEqual = (a: Uint8Array, b: Uint8Array) =>
        a.length === b.length && a.every((byte, i) => byte === b[i]);
      const give = (length: number) => {
        const bytes = fresh(length);
        given.push([bytes, bytes.slice()]);
        return bytes;
      };
      const check = (what: string, found: unknown, expected: Uint8Array) => {
        const bytes = found instanceof ArrayBuffer ? new Uint8Array(found) : found;
        if (!(bytes instanceof Uint8Array) || !areEqual(bytes, expected)) wrong.push(what);
      };
      await storage.sql.exec('CREATE TABLE t(b BLOB)').ready;
      for (const length of [100, 2047, 2048, 5000, 120_000]) {
        const value = give(length);
        await storage.put('value', value);
        // Put the same memory twice in one message, and a view of it.
        const puts = [storage.put('again', value), storage.put('view', value.subarray(10, 90))];
        await Promise.all([...puts, storage.put({ one: value, two: { deep: [value, value] } })]);
        check('get', await storage.get('value'), value);
        check('get, again', await storage.get('value'), value);
        check('view', await storage.get('view'), value.subarray(10, 90));
        const all = await storage.list<unknown>();
        check('list', all.get('again'), value);
        const { deep } = all.get('two') as { deep: Uint8Array[] };
        check('list, deep', deep[1], value);
        if (deep[0] !== deep[1]) wrong.push('identity');
        check('get of many', (await storage.get(['one', 'value'])).get('one'), value);
        const inTransaction = give(length);
        await storage.transaction(async (txn) => {
          void txn.put('in transaction', inTransaction);
          check('txn.get', await txn.get('in transaction'), inTransaction);
        });
        check('after', await storage.kv.get('in transaction'), inTransaction);
        await storage.sql.exec('INSERT INTO t VALUES (?)', value).ready;
        const [last] = await storage.sql
          .exec('SELECT b FROM t ORDER BY rowid DESC')
          .raw()
          .toArray();
        check('blob', last![0], value);
        check('echo', await room.echo(value), value);
        check('echo, deep', ((await room.echo({ value })) as { value: Uint8Array }).value, value);
        const texts = 'é日'.repeat(Math.min(length, 30_000));
        await storage.put('text', texts);
        if ((await storage.get('text')) !== texts) wrong.push('text');
      }
      const file = await storage.exportDatabase();
      const copy = await openStorage(`copy ${first}`);
      given.push([file, file.slice()]);
      await copy.importDatabase(file);
      check(
        'import',
        await copy.get('value'),
        (await storage.get<Uint8Array>('value')) as Uint8Array,
      );
      check('export', await copy.exportDatabase(), file);
      for (const [bytes, saved] of given) if (!areEqual(bytes, saved)) wrong.push('given');
      return { wrong, given: given.length };
    }, first);
    expect(seen).toEqual({ wrong: [], given: 11 });
  }
});
