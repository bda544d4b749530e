// Tests reads that are lost with one worker after the other: each leading tab gets the request, does not answer, and is
// closed.

import { afterEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import { toWire } from '../../shared/wire/errors-on-wire.ts';
import type { ObjectsConnection, ObjectsService } from '../../shared/wire/protocol.ts';

let tabs: FakeTabs;
afterEach(() => tabs.close());

const NEVER = new Promise<never>(() => {});

/**
 * Makes workers that answer while `isSilent` is false, and answer only openings while `isOpen` is true. `asked` counts the
 * requests that got no answer.
 */
function create() {
  const host = new FakeHost(new Map());
  const state = { isSilent: false, asked: 0, isOpen: false };
  const answer = <T>(work: () => Promise<T>): Promise<T> => {
    if (!state.isSilent) return work();
    state.asked += 1;
    return NEVER;
  };
  const objects = (): ObjectsService => ({
    connect: () =>
      ({
        classes: () => answer(async () => ({ ok: { classes: [], bindings: [] } })),
        end: () => {},
      }) as Partial<ObjectsConnection> as ObjectsConnection,
  });
  const states = { from: { bookmark: 'a' }, to: { bookmark: 'b' } } as never;
  tabs = new FakeTabs(runCandidate, objects, {
    open: (target) => (state.isOpen ? host.open(target) : answer(() => host.open(target))),
    execute: (session, calls) =>
      answer(async () => {
        const [call] = calls;
        if (call?.op === 'openDiff') return [{ ok: { diff: 1, ...(states as object) } }];
        if (call?.op === 'nextChanges') return [{ ok: { changes: [], isLast: true } }];
        return host.execute(session, calls);
      }),
    close: (session) => host.close(session),
  });
  return { state, host };
}

/** Opens tabs, each of which leads once those before it are closed, and one more tab behind them. */
async function openLine(count: number) {
  const leaders: FakeTab[] = [];
  for (let i = 0; i < count; i++) {
    const tab = tabs.tab();
    await tab.open();
    leaders.push(tab);
  }
  return { leaders, last: tabs.tab() };
}

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    (value) => ({ value }),
    (error) => ({ code: error.code }),
  );

const WORK: [string, (handle: RemoteStorage, tab: FakeTab) => Promise<unknown>][] = [
  ['a read', (handle) => handle.get('a')],
  ['the opening of an object', (_, tab) => tab.open('another').then(() => 'opened')],
  ['a connection', async (_, tab) => Object.keys((await tab.connect()).env)],
  ['a read of an earlier moment', async (handle) => (await handle.at('bookmark')).get('a')],
  ['a walk over a difference', (handle) => handle.diff('a', 'b')[Symbol.asyncIterator]().next()],
  ['a transaction that has not begun', (handle) => handle.transaction((txn) => txn.get('a'))],
];

test.for(WORK)(
  '[TAB17] %s is made again until a worker answers, however many end before',
  { tags: 'long' },
  async ([, work]) => {
    const { state } = create();
    const { leaders, last } = await openLine(11);
    const handle = await last.open();
    await handle.put('a', 1);
    state.isSilent = true;
    const outcome = outcomeOf(work(handle, last));
    for (const [i, leader] of leaders.entries()) {
      await vi.waitUntil(() => state.asked > i);
      if (leader === leaders.at(-1)) state.isSilent = false;
      leader.close();
    }
    expect(await outcome).toMatchObject({ value: expect.anything() });
  },
);

test.for(WORK)(
  '[TAB17] %s is given up when one worker after the other ends for long',
  async ([, work]) => {
    const { state } = create();
    const { leaders, last } = await openLine(9);
    const handle = await last.open();
    await handle.put('a', 1);
    state.isSilent = true;
    let isSettled = false;
    const outcome = outcomeOf(work(handle, last)).finally(() => {
      isSettled = true;
    });
    for (const leader of leaders) {
      const { asked } = state;
      await vi.waitUntil(() => state.asked > 0 || isSettled);
      leader.close();
      await vi.waitUntil(() => state.asked > asked || isSettled);
      last.advance(30_000);
      if (isSettled) break;
    }
    expect(await outcome).toEqual({ code: 'CONNECTION_CLOSED' });
  },
);

test('[TAB17] a read is made again for 30 s from its first loss on, however long it had waited', async () => {
  const { state } = create();
  const { leaders, last } = await openLine(4);
  const handle = await last.open();
  state.isOpen = true;
  state.isSilent = true;
  let isSettled = false;
  const outcome = outcomeOf(handle.get('a')).finally(() => {
    isSettled = true;
  });
  await vi.waitUntil(() => state.asked === 1);
  const endings = [
    [leaders[0]!, 60_000, 2],
    [leaders[1]!, 29_999, 3],
  ] as const;
  for (const [leader, afterMs, asked] of endings) {
    last.advance(afterMs);
    leader.close();
    await vi.waitUntil(() => state.asked === asked);
    expect(isSettled).toBe(false);
  }
  last.advance(1);
  leaders[2]!.close();
  expect(await outcome).toEqual({ code: 'CONNECTION_CLOSED' });
  expect(state.asked).toBe(3);
});

test('[TAB17] a write is not made again', async () => {
  const { state } = create();
  const { leaders, last } = await openLine(2);
  const handle = await last.open();
  state.isSilent = true;
  const outcome = outcomeOf(handle.put('a', 1));
  await vi.waitUntil(() => state.asked === 1);
  leaders[0]!.close();
  expect(await outcome).toEqual({ code: 'CONNECTION_CLOSED' });
  expect(state.asked).toBe(1);
});

test('[TAB17] an earlier moment whose opening the object ends by itself is given up after three times', async () => {
  const { host } = create();
  const { last } = await openLine(1);
  const handle = await last.open();
  const reset = Object.assign(storageError('OBJECT_RESET', 'abort'), {});
  Object.defineProperty(reset, 'retryable', { value: false });
  const execute = vi
    .spyOn(host, 'execute')
    .mockImplementation(async () => [{ error: toWire(reset) }]);
  expect(await outcomeOf(handle.at('bookmark'))).toEqual({ code: 'OBJECT_RESET' });
  expect(execute).toHaveBeenCalledTimes(3);
});
