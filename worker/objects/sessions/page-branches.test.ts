// The branches of one session: which of them it ends, the facts that it tells, and the states that it opens.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { SlowMedium } from '../../../packages/testing/worker/slow-medium.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { branchAddress } from '../../../src/shared/contract/object-id.ts';
import type { StateName } from '../../../src/shared/contract/state-name.ts';
import type { CallOf } from '../../../src/shared/wire/operations.ts';
import type { BranchFacts } from '../../../src/shared/wire/results.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import { PageBranches } from './page-branches.ts';

let medium: SlowMedium;
let host: TestHost;
let session: PageBranches;

beforeEach(async () => {
  medium = new SlowMedium();
  host = await createTestHost({}, {}, undefined, { medium, catalog: new MemoryCatalog() });
  session = new PageBranches(host.host.branches);
  await write('origin');
});
afterEach(async () => {
  medium.release();
  await host.close();
});

/** Within an event of the object, or of a branch. */
const within = <T>(event: (instance: ObjectInstance) => T | Promise<T>, branch?: string) =>
  host.host.deliver(
    branch === undefined ? host.address() : branchAddress(host.address(), branch),
    event,
  );

const write = (value: string, branch?: string) =>
  within(({ storage }) => {
    storage.exec('CREATE TABLE IF NOT EXISTS t (x)', []);
    storage.exec('DELETE FROM t', []);
    storage.exec('INSERT INTO t VALUES (?)', [value]);
  }, branch);

const read = (branch: string) =>
  within(({ storage }) => [...storage.exec('SELECT x FROM t', []).raw()], branch);

const bookmarkOf = (branch?: string) => within(({ storage }) => storage.currentBookmark(), branch);

const request = (name: string | null, more: Partial<CallOf<'fork'>> = {}): CallOf<'fork'> => ({
  ...{ op: 'fork', bookmark: null, timeMs: null, name, isKept: name !== null, sends: false },
  ...more,
});

const fork = (name: string | null, more?: Partial<CallOf<'fork'>>): Promise<BranchFacts> =>
  within((instance) => session.fork(instance, request(name, more)));

const isEnded = (branch: string) =>
  expect(read(branch)).rejects.toMatchObject({ code: 'BRANCH_ENDED' });

test('[BRANCH15] the end of a session ends a branch that nobody opened, not an open or a kept branch', async () => {
  const { branches } = host.host;
  const [lone, used, kept] = [await fork(null), await fork(null), await fork('kept')];
  const end = branches.hold(branchAddress(host.address(), used.id));
  session.close();
  await isEnded(lone.id);
  for (const { id } of [used, kept]) expect(await read(id)).toEqual([['origin']]);
  end();
  await isEnded(used.id);
});

test.for([null, 'kept'])(
  '[BRANCH15] a branch that is made while its session ends is ended, unless it is kept; its name: %s',
  async (name) => {
    medium.holds = (_, file) => file.startsWith('log-');
    const made = within(async (instance) => {
      instance.storage.exec('INSERT INTO t VALUES (?)', ['later']);
      return session.fork(instance, request(name));
    });
    while (medium.heldCount === 0) await host.turns(1);
    session.close();
    medium.release();
    const { id } = await made;
    if (name === null) await isEnded(id);
    else expect(await read(id)).toEqual([['origin'], ['later']]);
  },
);

test('[BRANCH3] [BRANCH5] a session tells of each branch its name, its beginning, when it was made and whether it is kept', async () => {
  const first = await bookmarkOf();
  await host.advance(5000);
  await write('second');
  const second = await bookmarkOf();
  await host.advance(5000);
  const nowMs = host.now();
  const facts = { createdMs: nowMs, id: expect.stringMatching(/^[0-9a-f]{32}$/) };
  const lone = await fork(null, { bookmark: first });
  const ofTime = await fork(null, { timeMs: nowMs - 7000 });
  const kept = await fork('draft');
  expect([lone, ofTime]).toEqual(
    [lone, ofTime].map(() => ({ ...facts, name: null, bookmark: first, isKept: false })),
  );
  expect(kept).toEqual({ ...facts, name: 'draft', bookmark: second, isKept: true });
  expect(new Set([lone, ofTime, kept].map(({ id }) => id)).size).toBe(3);
  expect(await within((instance) => session.list(instance))).toEqual([kept]);
});

test('[BRANCH5] a session deletes the branch of a name, once', async () => {
  const [one, other] = [await fork('one'), await fork('other')];
  const remove = (name: string) => within((instance) => session.delete(instance, name));
  expect(await remove('one')).toBe(true);
  expect(await remove('one')).toBe(false);
  await isEnded(one.id);
  expect(await within((instance) => session.list(instance))).toEqual([other]);
});

test('[DIFF7] [DIFF9] a state of the object or of a branch, also that of now, has a name that opens it again after other commits', async () => {
  const first = await bookmarkOf();
  await host.advance(5000);
  await write('second');
  const branch = (await fork(null)).id;
  await write('of the branch', branch);
  const nowMs = host.now();
  const [ofObject, ofBranch] = [await bookmarkOf(), await bookmarkOf(branch)];
  const open = (at: StateName) =>
    within(async (instance) => {
      const { opened, name } = await session.openState(instance, at);
      const size = opened.state.pageCount * 4096;
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 4096) opened.state.read(bytes.subarray(at, at + 4096), at);
      opened.close();
      return { name, text: Buffer.from(bytes).toString('latin1') };
    });
  const states: readonly (readonly [StateName, StateName, string])[] = [
    [null, ofObject, 'second'],
    [nowMs - 2000, first, 'origin'],
    [first, first, 'origin'],
    [{ branch, bookmark: null }, { branch, bookmark: ofBranch }, 'of the branch'],
  ];
  const found = [];
  for (const [at, name, text] of states) {
    const state = await open(at);
    expect(state.name).toEqual(name);
    expect(state.text).toContain(text);
    found.push(state);
  }
  for (const place of [undefined, branch]) await write('later', place);
  for (const state of found) expect(await open(state.name)).toEqual(state);
  const missing = open({ branch: 'f'.repeat(32), bookmark: null });
  await expect(missing).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
});
