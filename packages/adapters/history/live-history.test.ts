// Live histories of handles in this process. e2e/specs/history.spec.ts tests them in pages.

import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { StorageCommit } from '../../../src/shared/contract/storage.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { liveHistory } from './live-history.ts';

class Box extends DurableObject {
  async put(value: number) {
    await this.ctx.storage.put('value', value);
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
beforeAll(async () => {
  objects = await createObjects({ Box });
});
afterAll(() => objects.close());

const handleOf = (name: string) => objects.storage(objects.env.Box.getByName(name));

/** Returns who made each commit: the method, the label or the kind. The newest comes first. */
const kindsOf = (commits: readonly StorageCommit[] | undefined) =>
  commits?.map(({ by }) => by?.method ?? by?.label ?? by?.kind);

test('[HIST12] a live history has the newest commits, again after each commit, and as `history` lists them', async () => {
  const storage = await handleOf('followed');
  const other = await handleOf('followed');
  await storage.put('key', 1);
  const live = liveHistory(storage, { limit: 2 });
  const seen: (StorageCommit[] | undefined)[] = [];
  const stop = live.subscribe((commits) => seen.push(commits));
  const shown = (kinds: (string | undefined)[]) =>
    expect.poll(() => kindsOf(live.getSnapshot())).toEqual(kinds);
  await shown(['storage']);
  await objects.env.Box.getByName('followed').put(2);
  await shown(['put', 'storage']);
  await other.labelled('by another', (view) => view.put('key', 3));
  await shown(['by another', 'put']);
  expect(live.getSnapshot()).toEqual(await storage.history({ limit: 2 }));
  await storage.restore((await storage.history())[2]!.bookmark);
  await shown(['restore', 'by another']);
  expect(kindsOf(seen.at(-1))).toEqual(['restore', 'by another']);
  stop();
});

test('[HIST12] a commit that is not in the list does not change the state, and calls no listener', async () => {
  const storage = await handleOf('same');
  await storage.put('key', 1);
  const [{ time }] = (await storage.history()) as [StorageCommit];
  const history = vi.spyOn(storage, 'history');
  const live = liveHistory(storage, { to: new Date(time.getTime() - 1) });
  const listener = vi.fn();
  const stop = live.subscribe(listener);
  await expect.poll(() => live.getState().status).toBe('ready');
  const [state, readings] = [live.getState(), history.mock.calls.length];
  await storage.put('key', 2);
  await expect.poll(() => history.mock.calls.length).toBeGreaterThan(readings);
  await Promise.all(history.mock.results.map(({ value }) => value));
  expect(live.getState()).toBe(state);
  expect(listener).toHaveBeenCalledTimes(2); // once when it subscribes, and once for the first result
  stop();
});

test('[HIST12] one reading runs at a time; commits during it are followed by one that shows the last', async () => {
  const storage = await handleOf('busy');
  const read = storage.history.bind(storage);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let running = 0;
  let most = 0;
  vi.spyOn(storage, 'history').mockImplementation(async (options) => {
    running += 1;
    most = Math.max(most, running);
    const commits = await read(options);
    await held;
    running -= 1;
    return commits;
  });
  const live = liveHistory(storage, { limit: 1 });
  onTestFinished(live.subscribe(() => {}));
  const value = storage.live<number>({ key: 'key' });
  onTestFinished(value.subscribe(() => {}));
  onTestFinished(release);
  await expect.poll(() => running).toBe(1);
  for (let i = 0; i < 5; i++) {
    await storage.put('key', i);
    await expect.poll(() => value.getSnapshot()).toBe(i); // so the notice of the commit has arrived
  }
  expect(live.getSnapshot()).toBeUndefined();
  release();
  const [last] = await read({ limit: 1 });
  await expect.poll(() => live.getSnapshot()?.[0]?.bookmark).toBe(last!.bookmark);
  expect(most).toBe(1);
});

test('[HIST12] live histories of the same options on one handle are the same read', async () => {
  const storage = await handleOf('identity');
  const keyOf = (...options: Parameters<typeof liveHistory>) => {
    const { owner, key } = liveHistory(...options).identity;
    return [owner === storage.sql.live('SELECT 1').identity.owner, key];
  };
  const now = new Date();
  expect(keyOf(storage, { from: now })).toEqual(keyOf(storage, { from: now.getTime() }));
  expect(keyOf(storage, { from: now })).not.toEqual(keyOf(storage));
  expect(keyOf(storage)[0]).toBe(true);
  expect(keyOf(await handleOf('identity'))[0]).toBe(false);
  for (const wrong of [{}, null, objects.env.Box.getByName('stub')]) {
    expect(() => liveHistory(wrong as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  }
});

test('[HIST12] errors of `history` are reported; it ends with its handle, and continues after a reset', async () => {
  const storage = await handleOf('errors');
  const wrong = liveHistory(storage, { limit: 0 });
  const onError = vi.fn();
  const stopWrong = wrong.subscribe(() => {}, { onError });
  await expect.poll(() => wrong.getState().status).toBe('failed');
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  stopWrong();

  const live = liveHistory(storage);
  live.subscribe(() => {}); // without `onError`, closing the handle must not cause an unhandled rejection
  await expect.poll(() => live.getState().status).toBe('ready');
  await storage.abort();
  await expect
    .poll(() =>
      storage.put('key', 1).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await expect.poll(() => live.getSnapshot()?.length).toBe(1);
  await storage.close();
  await expect
    .poll(() => live.getState())
    .toMatchObject({
      status: 'failed',
      error: { code: 'CONNECTION_CLOSED' },
    });
});
