// Workers that cannot serve: their files were cleared, or they answer nothing.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import { OWN_VERSIONS } from '../../shared/wire/control.ts';
import type { WorkerLike } from './environment.ts';
import { SILENT_WAIT_MS } from './leader-search.ts';

const CLEARED = { code: 'SITE_DATA_CLEARED' };
const BUSY = { code: 'WORKER_BUSY', retryable: true };

let tabs: FakeTabs;
let first: FakeTab;
let second: FakeTab;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
  first = tabs.tab();
  second = tabs.tab();
});

afterEach(() => tabs.close());

function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  );
}

test('[TAB10] when site data was cleared, calls of every tab reject with the reason, pending and later ones', async () => {
  const mine = await first.open();
  const theirs = await second.open();
  first.leadingHost.holdAnswers();
  const pending = [failure(mine.put('a', 1)), failure(theirs.get('a'))];
  await turns();
  first.leadingHost.lose(storageError('SITE_DATA_CLEARED', 'cleared'));
  const opening = failure(first.open('another'));
  expect(await opening).toMatchObject(CLEARED);
  for (const outcome of pending) expect(await outcome).toMatchObject(CLEARED);
  for (const tab of [first, second]) {
    expect(await failure(tab.open('other'))).toMatchObject(CLEARED);
  }
  expect(await failure(mine.get('a'))).toMatchObject(CLEARED);
});

test('[TAB10] and their workers end, so that a page of later finds none of them', async () => {
  await first.open();
  await second.open();
  first.leadingHost.lose(storageError('SITE_DATA_CLEARED', 'cleared'));
  const reloaded = tabs.tab();
  const storage = await vi.waitFor(() => reloaded.open());
  await storage.put('a', 1);
  expect(reloaded.host).not.toBe(null);
  expect(second.host).toBe(null);
});

/** A worker that leads, connects and then answers nothing. */
class SilentWorker implements WorkerLike {
  readonly #events = new EventTarget();
  readonly #channel = new MessageChannel();
  /** The messages on its connection. */
  readonly heard: unknown[] = [];
  #leads = false;

  postMessage(): void {
    if (this.#leads) return;
    this.#leads = true;
    const { port1, port2 } = this.#channel;
    port1.onmessage = ({ data }) => this.heard.push(data.type);
    const leads = new MessageEvent('message', {
      data: { type: 'leads', port: port2, ...OWN_VERSIONS },
    });
    queueMicrotask(() => this.#events.dispatchEvent(leads));
  }

  addEventListener(type: string, listener: (event: Event) => void): void {
    this.#events.addEventListener(type, listener);
  }

  removeEventListener(): void {}

  /** One message. */
  speak(): void {
    this.#channel.port1.postMessage({ type: 'pong' });
  }

  close(): void {
    this.#channel.port1.close();
  }
}

async function seconds(tab: FakeTab, count: number): Promise<void> {
  for (let passed = 0; passed < count; passed += 5) {
    tab.advance(5000);
    await turns();
  }
}

/** As long as it takes until a page gives up. */
async function stayUnanswered(tab: FakeTab): Promise<void> {
  await seconds(tab, 45);
  await turns();
  tab.advance(SILENT_WAIT_MS);
}

test('[TAB11] a worker that answers nothing is WORKER_BUSY, to waiting calls and soon to later ones', async () => {
  const worker = new SilentWorker();
  const opening = failure(first.open('object', { worker }));
  await turns();
  await stayUnanswered(first);
  expect(await opening).toMatchObject(BUSY);
  expect(worker.heard.slice(-2)).toEqual(['ping', 'closed']);
  worker.close();
});

test('[TAB11] a worker that is slow and gives a sign of life is waited for', async () => {
  const worker = new SilentWorker();
  let outcome = 'pending';
  const opening = first.open('object', { worker }).catch((error) => {
    outcome = error.code;
  });
  await turns();
  for (let i = 0; i < 3; i++) {
    await seconds(first, 40);
    worker.speak();
    await turns();
  }
  expect(outcome).toBe('pending');
  await seconds(first, 5); // until the last sign is noticed
  await stayUnanswered(first);
  await opening;
  expect(outcome).toBe('WORKER_BUSY');
  worker.close();
});

test('[TAB11] a page that was suspended accuses nobody', async () => {
  const worker = new SilentWorker();
  let outcome = 'pending';
  const opening = first.open('object', { worker }).catch((error) => {
    outcome = error.code;
  });
  await turns();
  first.advance(24 * 3600 * 1000);
  await turns();
  expect(outcome).toBe('pending');
  await stayUnanswered(first);
  await opening;
  expect(outcome).toBe('WORKER_BUSY');
  worker.close();
});

test('[TAB11] without calls that wait, nothing is asked', async () => {
  const storage: RemoteStorage = await first.open();
  await storage.put('a', 1);
  await turns();
  const asked = vi.spyOn(first.workers[0]!, 'postMessage');
  await seconds(first, 55);
  expect(asked).not.toHaveBeenCalled();
  expect(await storage.get('a')).toBe(1);
});
