// How long the checks of a hostile file may hold the others.

import { describe, expect, test } from 'vitest';
import { makeFile } from '../../../packages/testing/worker/foreign-files.ts';
import { createTestHost } from '../../../packages/testing/worker/test-host.ts';
import { completeLimits } from '../sql/query-limits.ts';

const SOUND = 'CREATE TABLE t(x); INSERT INTO t VALUES (1);';
const COLUMNS = Array.from({ length: 90 }, (_, i) => `c${i}`).join(', ');

describe('a file that takes long to check', () => {
  test('[LIM4] a schema with long runs of white space is read in time that is linear', async () => {
    const spaces = ' '.repeat(390_000);
    const file = await makeFile(
      `CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value${spaces}BLOB) WITHOUT ROWID`,
    );
    const host = await createTestHost();
    await host.host.importDatabase(host.address(), file);
    expect(await host.run(({ storage }) => storage.get('key'))).toBeUndefined();
    await host.close();
  });

  test('[LIM4] a table is checked once, however many triggers it has', {
    tags: 'long',
  }, async () => {
    const triggers = Array.from(
      { length: 2000 },
      (_, i) => `CREATE TRIGGER tr${i} AFTER INSERT ON t BEGIN SELECT ${i}; END;`,
    );
    // Once a trigger, it would take minutes.
    const limits = completeLimits({ importMs: Number.POSITIVE_INFINITY });
    const patient = await createTestHost({}, {}, undefined, undefined, limits);
    const file = await makeFile(`CREATE TABLE t(x); ${triggers.join('')}`);
    await patient.host.importDatabase(patient.address(), file);
    const count = await patient.run(({ storage }) =>
      storage.sql.exec("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").raw().one(),
    );
    expect(count).toEqual([2000]);
    await patient.close();
  });

  test.each([
    [
      'many short ones',
      /its schema|the view "v\d+"/,
      Array.from({ length: 300 }, (_, i) => `CREATE VIEW v${i} AS SELECT ${i};`).join(''),
    ],
    [
      'one long one',
      /come to its pages/,
      `CREATE TABLE t(x); CREATE INDEX i ON t(x + 1); INSERT INTO t
         WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300000) SELECT n FROM c`,
    ],
    [
      'many tables',
      /its schema|the table "t\d+"/,
      Array.from({ length: 300 }, (_, i) => `CREATE TABLE t${i}(x);`).join(''),
    ],
    // SQLite does not look at the deadline while it compiles.
    [
      'one view of many columns',
      /the (view "v"|table "t")|its pages/,
      `CREATE TABLE t(${COLUMNS}); CREATE VIEW v AS SELECT ${COLUMNS} FROM t WHERE (${COLUMNS}) = (${COLUMNS})`,
    ],
  ])(
    '[LIM4] checks that take too long are refused, and say where they were: %s',
    async (_, part, sql) => {
      let nowMs = 0;
      const limits = completeLimits({ importMs: 200 }, () => ++nowMs);
      const slow = await createTestHost({}, {}, undefined, undefined, limits);
      const address = slow.address();
      await slow.run(({ storage }) => storage.put('old', 1));
      await expect(slow.host.importDatabase(address, await makeFile(sql))).rejects.toMatchObject({
        code: 'IMPORT_INVALID',
        message: expect.stringMatching(/more than 200 ms.*limits\.importMs/),
      });
      await expect(slow.host.importDatabase(address, await makeFile(sql))).rejects.toThrow(part);
      expect(await slow.run(({ storage }) => storage.get('old'))).toBe(1);
      await slow.host.importDatabase(address, await makeFile(SOUND));
      await slow.close();
    },
  );

  test('[LIM4] the faults that were found until then are named too', async () => {
    let nowMs = 0;
    const limits = completeLimits({ importMs: 1000 }, () => ++nowMs);
    const slow = await createTestHost({}, {}, undefined, undefined, limits);
    const views = Array.from({ length: 300 }, (_, i) => `CREATE VIEW v${i} AS SELECT ${i};`);
    const file = await makeFile(`CREATE TABLE _cf_mine(x); ${views.join('')}`);
    await expect(slow.host.importDatabase(slow.address(), file)).rejects.toMatchObject({
      code: 'IMPORT_INVALID',
      message: expect.stringMatching(
        /2 faults.*"_cf_mine".*took more than 1000 ms, and had come to the view "v\d+"[^\n]*$/,
      ),
    });
    await slow.close();
  });
});
