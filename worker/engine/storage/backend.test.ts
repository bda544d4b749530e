import { afterEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';

let host: TestHost;
afterEach(() => host.close());

describe('backends and dates', () => {
  test('[BE1] on the key-value backend the members of the SQL backend say which backend has them', async () => {
    host = await createTestHost({ backend: 'kv' });
    await host.run(async ({ storage }) => {
      const expected = expect.objectContaining({
        code: 'WRONG_BACKEND',
        message: expect.stringContaining('only on the SQL backend'),
      });
      // As on workerd, reading these is harmless: base classes of libraries do it for every class.
      const { sql, kv } = storage;
      expect(sql).toBe(storage.sql);
      expect(() => sql.exec('SELECT 1')).toThrow(expected);
      expect(() => sql.databaseSize).toThrow(expected);
      expect(() => sql.live('SELECT 1')).toThrow(expected);
      expect(() => kv.get('a')).toThrow(expected);
      expect(() => kv.put('a', 1)).toThrow(expected);
      expect(() => kv.delete('a')).toThrow(expected);
      expect(() => kv.list()).toThrow(expected);
      expect(() => storage.transactionSync(() => 1)).toThrow(expected);
      for (const asked of [
        storage.getCurrentBookmark(),
        storage.getBookmarkForTime(host.now()),
        storage.onNextSessionRestoreBookmark('0'),
      ]) {
        await expect(asked).rejects.toEqual(expected);
      }
      await storage.put('a', 1);
      await storage.transaction((txn) => txn.put('b', 2));
      expect([...(await storage.list()).keys()]).toEqual(['a', 'b']);
    });
  });

  test('[BE2] deleteAll of the key-value backend removes all keys and keeps the alarm', async () => {
    host = await createTestHost({ backend: 'kv' });
    await host.run(async ({ storage }) => {
      await storage.put({ a: 1, b: 2 });
      await storage.setAlarm(host.now() + 1000);
      await storage.deleteAll();
      expect((await storage.list()).size).toBe(0);
      expect(await storage.getAlarm()).toBe(host.now() + 1000);
    });
  });

  test('[BE3] from compatibility date 2026-02-24 on deleteAll deletes the alarm as well', async () => {
    for (const [compatibilityDate, kept] of [
      ['2026-02-23', true],
      ['2026-02-24', false],
    ] as const) {
      for (const backend of ['sql', 'kv'] as const) {
        host = await createTestHost({ backend, compatibilityDate });
        const alarm = await host.run(async ({ storage }) => {
          await storage.setAlarm(host.now() + 1000);
          await storage.deleteAll();
          return storage.getAlarm();
        });
        expect(alarm !== null).toBe(kept);
        await host.close();
      }
    }
  });
});
