// Databases on their way between here and real workerd, whose local storage is files in a directory.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeFile } from '../../../packages/testing/worker/foreign-files.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { canonicalize } from '../conformance/corpus/canonical.mjs';
import { fill, read } from './contents.mjs';
import { idOf, placeDatabase, placeSchedule, Workerd } from './workerd.ts';

const BULK_COUNT = 100_000;
const ALARM_MS = Date.UTC(2033, 4, 5, 6, 7, 8, 9);
const DUE_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

let directory: string;
let host: TestHost;
let workerd: Workerd;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'move-test-'));
  host = await createTestHost();
  await host.run(({ storage }) => fill(storage, BULK_COUNT, ALARM_MS), 'from here');
  placeDatabase(directory, 'from here', await exportOf('from here'));

  // Two alarms that are due there, and were not here; only one of them stands in the schedule.
  host.setWallClock(DUE_MS - 1000 - host.now());
  for (const name of ['scheduled', 'unscheduled']) {
    await host.run(({ storage }) => storage.setAlarm(DUE_MS), name);
    placeDatabase(directory, name, await exportOf(name));
  }
  placeSchedule(
    directory,
    await makeFile(
      'CREATE TABLE _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER, actor_name TEXT) WITHOUT ROWID;' +
        `INSERT INTO _cf_ALARM VALUES ('${idOf('scheduled')}', ${DUE_MS} * 1000000, 'scheduled')`,
    ),
  );
  workerd = await Workerd.start(directory);
});

afterAll(async () => {
  await workerd?.close();
  await host?.close();
  rmSync(directory, { recursive: true, force: true });
});

const exportOf = (name: string) => host.host.exportDatabase(host.address(name));
const contents = async (name: string) =>
  JSON.parse(
    JSON.stringify(await host.run(({ storage }) => read(storage, canonicalize), name)),
  ) as unknown;

test('[MOVE12] an export is read by workerd under the id of its name, whole, with its alarm', {
  tags: 'long',
}, async () => {
  const there = await workerd.call('from here', 'read');
  expect(there).toEqual(await contents('from here'));
  expect(there.bulk[0]).toBe(BULK_COUNT);
  expect(there.alarm).toBe(ALARM_MS);
  expect(Object.keys(there.values)).toHaveLength(17);
});

test("[MOVE12] workerd's writes into an export come back, from its file and WAL as they are", {
  tags: 'long',
}, async () => {
  await workerd.call('from here', 'put', 'added', 'there');
  const file = workerd.databaseFile('from here');
  const wal = workerd.walFile('from here');
  expect(wal?.length).toBeGreaterThan(0);
  await host.host.importDatabase(host.address('back'), file, wal);
  expect(await host.run(({ storage }) => storage.get('added'), 'back')).toBe('there');
  await host.run(({ storage }) => storage.delete('added'), 'back');
  expect(await contents('back')).toEqual(await contents('from here'));
});

test('[MOVE12] an object of workerd moves here, with its WAL and without', {
  tags: 'long',
}, async () => {
  await workerd.call('from there', 'fill', BULK_COUNT, ALARM_MS);
  const there = await workerd.call('from there', 'read');
  const file = workerd.databaseFile('from there');
  const wal = workerd.walFile('from there');
  expect(wal?.length).toBeGreaterThan(0);
  await host.host.importDatabase(host.address('with wal'), file, wal);
  expect(await contents('with wal')).toEqual(there);

  // An instance that ends closes its database, which puts the WAL into it.
  await expect(workerd.call('from there', 'abort')).rejects.toThrow();
  await expect.poll(() => workerd.walFile('from there')).toBeNull();
  const alone = workerd.databaseFile('from there');
  await host.host.importDatabase(host.address('without wal'), alone);
  expect(await contents('without wal')).toEqual(there);
});

test('[MOVE12] a small object of workerd, which is all in its WAL, moves here', async () => {
  await workerd.call('small', 'put', 'key', [1, 2]);
  const file = workerd.databaseFile('small');
  expect(file).toHaveLength(4096);
  await host.host.importDatabase(host.address('small'), file, workerd.walFile('small'));
  expect(await host.run(({ storage }) => storage.list(), 'small')).toEqual(
    new Map([['key', [1, 2]]]),
  );
});

test('[MOVE12] the alarm of an export is known to workerd, and runs when the schedule has it', async () => {
  await expect.poll(() => workerd.call('scheduled', 'get', 'rang')).toBe(true);
  expect(await workerd.call('unscheduled', 'alarmTime')).toBe(DUE_MS);
  expect(await workerd.call('unscheduled', 'get', 'rang')).toBeNull();
  await workerd.call('unscheduled', 'setAlarm', Date.now());
  await expect.poll(() => workerd.call('unscheduled', 'get', 'rang')).toBe(true);
});
