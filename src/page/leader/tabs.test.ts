import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type FakeTab, FakeTabs, FakeWorker } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { DEFAULT_DIRECTORY } from '../../shared/contract/directory.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import { namesOf, PROTOCOL_VERSION } from '../../shared/wire/control.ts';
import { OTHERS_WAIT_MS } from './leader-search.ts';

let tabs: FakeTabs;
let first: FakeTab;
let second: FakeTab;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
  first = tabs.tab();
  second = tabs.tab();
});

afterEach(() => tabs.close());

/** Both tabs open the object, the first one's worker leads. */
async function openBoth() {
  const mine = await first.open();
  const theirs = await second.open();
  return { mine, theirs };
}

describe('two tabs', () => {
  test('[TAB1] one worker leads, and both see the same object', async () => {
    const { mine, theirs } = await openBoth();
    await mine.put('from', 'first');
    expect(await theirs.get('from')).toBe('first');
    await theirs.put('from', 'second');
    expect(await mine.get('from')).toBe('second');
    expect(second.host).toBe(null);
  });

  test('[TAB1] handles of a page share one worker', async () => {
    await Promise.all([first.open('a'), first.open('b'), first.open('a')]);
    expect(first.workers.length).toBe(1);
    expect(first.leadingHost.sessions.size).toBe(3);
  });

  test('[TAB1] tabs that start together agree on one leader', async () => {
    const all = [first, second, tabs.tab()];
    await Promise.all(all.map((tab) => tab.open()));
    expect(all.filter(({ host }) => host !== null)).toHaveLength(1);
  });

  test('[TAB2] when the leading tab is closed the other’s worker leads, and its handle stays valid', async () => {
    const { mine, theirs } = await openBoth();
    await mine.put('kept', 1);
    first.close();
    expect(await theirs.get('kept')).toBe(1);
    await theirs.put('more', 2);
    expect(second.leadingHost.operations).toEqual(['get', 'put']);
  });

  test('[TAB2] a third tab follows the new leader', async () => {
    const { mine } = await openBoth();
    const third = await tabs.tab().open();
    await mine.put('kept', 1);
    first.close();
    expect(await third.get('kept')).toBe(1);
    expect(third.state).toBe('following');
    expect(second.leadingHost.operations).toEqual(['get']);
  });

  test('[TAB2] reads under way are made again, in order', async () => {
    const { mine, theirs } = await openBoth();
    await mine.put({ a: 1, b: 2 });
    first.leadingHost.holdAnswers();
    const reads = Promise.all([theirs.get('a'), theirs.list(), theirs.sql.databaseSize]);
    await turns();
    first.close();
    const [a, list, size] = await reads;
    expect([a, [...list.keys()], size]).toEqual([1, ['a', 'b'], 4096]);
    expect(second.leadingHost.operations).toEqual(['get', 'list', 'databaseSize']);
  });

  test.for<[string, (storage: RemoteStorage) => Promise<unknown>]>([
    ['put', (storage) => storage.put('a', 1)],
    ['delete', (storage) => storage.delete('a')],
    ['sync', (storage) => storage.sync()],
    ['exec', (storage) => storage.sql.exec('rows 1').toArray()],
    ['onNextSessionRestoreBookmark', (storage) => storage.onNextSessionRestoreBookmark('b')],
  ])('[TAB3] %s under way rejects, because it may have taken effect', async ([, call]) => {
    const { theirs } = await openBoth();
    first.leadingHost.holdAnswers();
    const outcome = call(theirs).then(
      () => expect.fail('it succeeded'),
      (error) => error,
    );
    await turns();
    first.close();
    expect(await outcome).toMatchObject({ code: 'CONNECTION_CLOSED', retryable: true });
    await theirs.getAlarm();
    expect(second.leadingHost.operations).toEqual(['getAlarm']);
  });

  test('[TAB3] calls made while nobody leads wait for the next leader', async () => {
    await first.open();
    const between = tabs.browser.agent();
    const { leaderLock } = namesOf(DEFAULT_DIRECTORY);
    void between.locks.request(leaderLock, {}, () => new Promise(() => {}));
    const theirs = await second.open();
    first.close();
    await turns();
    const written = theirs.put('a', 1);
    await turns();
    expect(second.host).toBe(null);
    between.end();
    await written;
    expect(await theirs.get('a')).toBe(1);
  });

  test('[MEDIUM10] a worker that loses its files tells why, and the next one of the same page goes on', async () => {
    const mine = await first.open();
    await mine.put('kept', 1);
    first.leadingHost.holdAnswers();
    const outcome = mine.put('a', 1).then(
      () => expect.fail('it succeeded'),
      (error) => error,
    );
    await turns();
    first.leadingHost.lose(storageError('IO', 'The files are lost.'));
    expect(await outcome).toMatchObject({ code: 'IO' });
    const next = mine.get('kept');
    await turns();
    first.advance(500); // the worker ends when everybody has heard why
    expect(await next).toBe(1);
    expect(first.workers).toHaveLength(2);
  });

  test('[TAB3] the rest of a cursor’s rows is gone with its worker', async () => {
    const { theirs } = await openBoth();
    const cursor = theirs.sql.exec('rows 101');
    await cursor.next();
    const others = theirs.sql.exec('rows 101');
    await others.next();
    first.close();
    await theirs.getAlarm();
    // The new worker counts its cursors from one as well.
    await theirs.sql.exec('rows 500').next();
    await expect(cursor.toArray()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await others.close();
    expect(second.leadingHost.operations).toEqual(['getAlarm', 'exec']);
  });

  test('[TAB4] an open transaction rejects, and nothing of it becomes a write of its own', async () => {
    const { theirs } = await openBoth();
    const outcomes: unknown[] = [];
    const transaction = theirs.transaction(async (txn) => {
      await txn.put('a', 1);
      first.close();
      await second.open('other'); // the other worker leads by now
      outcomes.push(...(await Promise.allSettled([txn.put('b', 1), theirs.put('c', 1)])));
    });
    const closed = { code: 'CONNECTION_CLOSED', retryable: true };
    await expect(transaction).rejects.toMatchObject(closed);
    expect(outcomes).toMatchObject([{ reason: closed }, { reason: closed }]);
    expect(second.leadingHost.operations).toEqual([]);
    await theirs.put('d', 1);
    expect(await theirs.get('d')).toBe(1);
  });

  test('[BORDER5] foreign posts on the control channel harm nobody', async () => {
    const { theirs } = await openBoth();
    const uncaught = vi.fn();
    process.on('uncaughtExceptionMonitor', uncaught);
    onTestFinished(() => void process.off('uncaughtExceptionMonitor', uncaught));
    const anybody = tabs.browser.agent();
    const { controlChannel } = namesOf(DEFAULT_DIRECTORY);
    const control = anybody.openChannel(controlChannel);
    const worker = { toString: 1 };
    for (const message of [
      null,
      7,
      {},
      { type: 'connect', worker, client: null, connection: {} },
    ]) {
      control.postMessage(message);
    }
    control.onmessage = ({ data }) => {
      if (data.type !== 'leads') return;
      // To the leader itself, by its name.
      const connect = { type: 'connect', worker: data.worker };
      control.postMessage({ ...connect, client: { toString: 1 }, connection: { toString: 1 } });
      control.postMessage(connect);
    };
    control.postMessage({ type: 'who' });
    await turns(10);
    await theirs.put('a', 1);
    expect(await theirs.get('a')).toBe(1);
    expect(await (await tabs.tab().open()).get('a')).toBe(1);
    expect(uncaught).not.toHaveBeenCalled();
  });

  test('[TAB5] a leader that a page gives up for another closes its sessions', async () => {
    await openBoth();
    const { controlChannel } = namesOf(DEFAULT_DIRECTORY);
    const control = tabs.browser.agent().openChannel(controlChannel);
    // As of a worker that announced itself and died: late, and of nobody.
    control.postMessage({ type: 'leads', worker: 'dead', version: PROTOCOL_VERSION });
    await vi.waitUntil(() => first.leadingHost.sessions.size === 0);
  });

  test('[TAB1] a search that its listener closes as it begins stays closed', async () => {
    await openBoth();
    const finder = second.finder();
    const reason = new Error('closed by the listener');
    const stop = finder.standing.onStanding(() => {
      stop();
      finder.close(reason);
    });
    const { controlChannel } = namesOf(DEFAULT_DIRECTORY);
    const control = tabs.browser.agent().openChannel(controlChannel);
    control.postMessage({ type: 'leads', worker: 'dead', version: PROTOCOL_VERSION });
    await vi.waitUntil(() => finder.standing.standing.state === 'lost');
    await turns();
    expect(finder.isClosed).toBe(true);
    await expect(finder.connection()).rejects.toBe(reason);
  });

  test('[TAB5] a tab that goes has its sessions closed by the leader', async () => {
    await openBoth();
    expect(first.leadingHost.sessions.size).toBe(2);
    second.close();
    await vi.waitUntil(() => first.leadingHost.sessions.size === 1);
  });
});

describe('the page’s own worker', () => {
  test('[TAB6] is started again when it was terminated; handles stay valid', async () => {
    const storage = await first.open();
    await storage.put('kept', 1);
    first.terminateWorker();
    expect(await storage.get('kept')).toBe(1);
    expect(first.workers.length).toBe(2);
  });

  test('[TAB6] terminated while a write is under way, rejects it', async () => {
    const storage = await first.open();
    first.leadingHost.holdAnswers();
    const outcome = storage.put('a', 1).then(
      () => expect.fail('it succeeded'),
      (error) => error,
    );
    await turns();
    first.terminateWorker();
    expect(await outcome).toMatchObject({ code: 'CONNECTION_CLOSED', retryable: true });
  });

  test('[TAB6] a given worker is not started again', async () => {
    const worker = new FakeWorker(tabs, 'serves', () => null);
    const storage = await first.open('object', { worker });
    await storage.put('a', 1);
    worker.terminate();
    const outcome = storage.get('a').then(
      () => expect.fail('it succeeded'),
      (error) => error,
    );
    await turns();
    first.advance(OTHERS_WAIT_MS);
    expect(await outcome).toMatchObject({ code: 'WORKER_FAILED' });
    expect(first.workers.length).toBe(0);
  });

  test('[TAB6] a second handle cannot bring another worker', async () => {
    await first.open();
    const worker = new FakeWorker(tabs, 'serves', () => null);
    await expect(first.open('object', { worker })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('what fails', () => {
  async function failure(tab: FakeTab, waitMs: number) {
    let isSettled = false;
    const outcome = tab
      .open()
      .then(
        () => expect.fail('it succeeded'),
        (error) => error,
      )
      .finally(() => {
        isSettled = true;
      });
    await turns();
    tab.advance(waitMs - 1);
    await turns();
    expect(isSettled).toBe(false);
    tab.advance(1);
    return outcome;
  }

  test('[TAB7] a worker that cannot be loaded is WORKER_FAILED', async () => {
    first.script = 'no script';
    expect(await failure(first, OTHERS_WAIT_MS)).toMatchObject({ code: 'WORKER_FAILED' });
  });

  test("[TAB7] a worker's error of opening the storage reaches the page", async () => {
    first.hostError = storageError('OPFS_UNAVAILABLE', 'no handles here', {
      cause: new DOMException('denied', 'SecurityError'),
    });
    const error = await failure(first, OTHERS_WAIT_MS);
    expect(error).toMatchObject({ code: 'OPFS_UNAVAILABLE', cause: { name: 'SecurityError' } });
  });

  test('[TAB7] the next try starts over', async () => {
    first.hostError = storageError('STORAGE_LOCKED', 'held');
    await failure(first, OTHERS_WAIT_MS);
    first.hostError = null;
    const storage = await first.open();
    await storage.put('a', 1);
    expect(first.workers.length).toBe(1);
    first.close();

    second.script = 'no script';
    await failure(second, OTHERS_WAIT_MS);
    second.script = 'serves';
    expect(await (await second.open()).get('a')).toBe(1);
  });

  test('[TAB7] a tab whose worker fails uses another tab’s', async () => {
    const mine = await first.open();
    await mine.put('a', 1);
    second.script = 'no script';
    expect(await (await second.open()).get('a')).toBe(1);
  });

  test('[TAB8] a worker that never speaks is given up after 30 s', async () => {
    first.script = 'says nothing';
    expect(await failure(first, 30_000)).toMatchObject({ code: 'WORKER_FAILED' });
  });

  test('[TAB8] a leader that never answers is given up after 30 s', async () => {
    const agent = tabs.browser.agent();
    const { leaderLock } = namesOf(DEFAULT_DIRECTORY);
    void agent.locks.request(leaderLock, {}, () => new Promise(() => {}));
    expect(await failure(first, 30_000)).toMatchObject({
      code: 'WORKER_BUSY',
      retryable: true,
    });
  });

  test('[TAB9] a leader that speaks no version of this page is VERSION_MISMATCH, at once and at every call', async () => {
    const agent = tabs.browser.agent();
    const { leaderLock, controlChannel } = namesOf(DEFAULT_DIRECTORY);
    void agent.locks.request(leaderLock, {}, () => new Promise(() => {}));
    const control = agent.openChannel(controlChannel);
    const version = PROTOCOL_VERSION + 3;
    const oldest = PROTOCOL_VERSION + 1;
    const leads = { type: 'leads', worker: 'other', version, oldest };
    control.onmessage = () => control.postMessage(leads);
    for (let tries = 0; tries < 2; tries++) {
      const error = await first.open().catch((error) => error);
      expect(error).toMatchObject({ code: 'VERSION_MISMATCH' });
      expect(error.retryable).toBe(undefined);
      expect(error.message).toContain(`versions ${oldest} to ${version}`);
      expect(error.message).toContain(`version ${PROTOCOL_VERSION}.`);
      expect(error.message).toContain('Reload this page');
    }
  });

  test('[TAB9] so is one of a version before ranges were told', async () => {
    const agent = tabs.browser.agent();
    const { leaderLock, controlChannel } = namesOf(DEFAULT_DIRECTORY);
    void agent.locks.request(leaderLock, {}, () => new Promise(() => {}));
    const control = agent.openChannel(controlChannel);
    control.onmessage = () => control.postMessage({ type: 'leads', worker: 'other', version: 5 });
    await expect(first.open()).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      message: expect.stringContaining('Reload or close the other tabs'),
    });
  });
});
