// A worker that leads and answers nothing any more: the page it belongs to ends it, and another one leads.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { codeOf, type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { DEFAULT_DIRECTORY } from '../../shared/contract/directory.ts';
import {
  holdForLife,
  namesOf,
  OWN_VERSIONS,
  type StartMessage,
  type WorkerMessage,
} from '../../shared/wire/control.ts';
import type { WorkerLike } from './environment.ts';
import { SILENT_WAIT_MS } from './leader-search.ts';
import { SILENT_ASK_MS } from './own-worker.ts';

/** Questions of its own page that a worker leaves unanswered before it is ended. */
const SILENT_ASKS = 3;

let tabs: FakeTabs;
beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
});
afterEach(() => tabs.close());

async function pass(tab: FakeTab, stepMs: number, count: number) {
  for (let i = 0; i < count; i++) {
    tab.advance(stepMs);
    await turns();
  }
}

/** As long as it takes until a page gives up: 45 s, in steps in which it notices that. */
async function staySilent(tab: FakeTab): Promise<void> {
  await pass(tab, 5000, 9);
  await pass(tab, SILENT_WAIT_MS, 1);
}

const control = () => tabs.browser.agent().openChannel(namesOf(DEFAULT_DIRECTORY).controlChannel);

test('[TAB12] a worker that answers nothing is ended by its own page, at the word of another', async () => {
  const tab = tabs.tab();
  const stuck = new StuckWorker();
  void codeOf(tab.open('object', { spawn: () => stuck }));
  await turns();
  control().postMessage({ type: 'silent', worker: stuck.id });
  await turns();
  await pass(tab, SILENT_ASK_MS, SILENT_ASKS - 1);
  expect(stuck.isAlive).toBe(true);
  await pass(tab, SILENT_ASK_MS, 1);
  expect(stuck.isAlive).toBe(false);
});

test('[TAB12] a page whose own worker answers nothing starts another', async () => {
  const tab = tabs.tab();
  const stuck = new StuckWorker();
  let starts = 0;
  const spawn = () => (starts++ === 0 ? stuck : tab.startWorker());
  const opening = codeOf(tab.open('object', { spawn }));
  await turns();
  const told: unknown[] = [];
  control().onmessage = ({ data }: MessageEvent) => void told.push(data);
  await staySilent(tab);
  expect(await opening).toBe('WORKER_BUSY');
  expect(told).toContainEqual({ type: 'silent', worker: stuck.id });
  await pass(tab, SILENT_ASK_MS, SILENT_ASKS + 1);
  expect(stuck.isAlive).toBe(false);
  await turns(20);
  const storage = await tab.open('object', { spawn });
  await storage.put('a', 1);
  expect(starts).toBe(2);
});

test('[TAB12] a call that waits while its worker is ended reaches the next one', async () => {
  const tab = tabs.tab();
  const stuck = new StuckWorker();
  let starts = 0;
  const spawn = () => (starts++ === 0 ? stuck : tab.startWorker());
  const opening = codeOf(tab.open('object', { spawn }));
  await turns();
  await staySilent(tab);
  expect(await opening).toBe('WORKER_BUSY');
  // A page that waits for a silent worker waits for a second. The worker ends in the middle of it.
  await pass(tab, SILENT_ASK_MS, SILENT_ASKS - 2);
  await pass(tab, SILENT_ASK_MS / 2, 1);
  const waiting = tab.open('object', { spawn }).then((storage) => storage.put('a', 1));
  const code = codeOf(waiting);
  expect(stuck.isAlive).toBe(true);
  await pass(tab, SILENT_ASK_MS / 2, 1);
  expect(stuck.isAlive).toBe(false);
  await turns(20);
  await pass(tab, SILENT_WAIT_MS, 1);
  expect(await code).toBe('done');
  expect(starts).toBe(2);
});

/** Another tab says of every worker that it is silent. */
async function accuseAll(): Promise<void> {
  const channel = control();
  for (const worker of ['id-1', 'id-2', 'id-3', 'id-4', 'id-5', 'id-6', undefined, {}]) {
    channel.postMessage({ type: 'silent', worker });
  }
  await turns();
}

test('[TAB12] a worker whose script still loads is not ended, whatever others say', async () => {
  const tab = tabs.tab();
  tab.script = 'says nothing';
  const opening = tab.open();
  await turns();
  await accuseAll();
  await pass(tab, SILENT_ASK_MS, SILENT_ASKS + 1);
  expect(tab.workers.map(({ isAlive }) => isAlive)).toEqual([true]);
  tab.workers[0]!.serve();
  await (await opening).put('a', 1);
});

test('[TAB12] a worker that answers its own page goes on, whatever others say', async () => {
  const first = tabs.tab();
  const mine = await first.open();
  await accuseAll();
  await pass(first, SILENT_ASK_MS, SILENT_ASKS + 1);
  expect(first.workers.map(({ isAlive }) => isAlive)).toEqual([true]);
  expect(await codeOf(mine.put('a', 1))).toBe('done');
});

test('[TAB12] a worker that the caller started is left alone', async () => {
  const tab = tabs.tab();
  const worker = new StuckWorker();
  const opening = codeOf(tab.open('object', { worker }));
  await turns();
  await staySilent(tab);
  expect(await opening).toBe('WORKER_BUSY');
  await pass(tab, SILENT_ASK_MS, SILENT_ASKS + 1);
  expect(worker.isAlive).toBe(true);
  worker.terminate();
});

/** A worker that leads, connects its page, and then runs JavaScript without end. */
class StuckWorker implements WorkerLike {
  readonly #agent = tabs.browser.agent();
  readonly #events = new EventTarget();
  readonly #channel = new MessageChannel();
  id = '';

  postMessage(message: unknown): void {
    if (this.id !== '') return;
    this.id = (message as StartMessage).worker;
    const { workerLock, leaderLock } = namesOf(DEFAULT_DIRECTORY);
    const held = [workerLock(this.id), leaderLock];
    void Promise.all(held.map((name) => holdForLife(this.#agent.locks, name))).then(() => {
      this.#say({ type: 'standing' });
      this.#say({ type: 'leads', port: this.#channel.port2, medium: 'opfs', ...OWN_VERSIONS });
    });
  }

  addEventListener(type: string, listener: (event: Event) => void): void {
    this.#events.addEventListener(type, listener);
  }

  removeEventListener(): void {}

  get isAlive(): boolean {
    return !this.#agent.hasEnded;
  }

  terminate(): void {
    this.#agent.end();
    this.#channel.port1.close();
  }

  #say(data: WorkerMessage): void {
    this.#events.dispatchEvent(new MessageEvent('message', { data }));
  }
}
