// Tabs of several deployments, as their pages see them.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { DEFAULT_DIRECTORY } from '../../shared/contract/directory.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { namesOf, PROTOCOL_VERSION } from '../../shared/wire/control.ts';
import { CONNECT_WAIT_MS, OTHERS_WAIT_MS } from './leader-search.ts';

let tabs: FakeTabs;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
});

afterEach(() => tabs.close());

const names = namesOf(DEFAULT_DIRECTORY);

test('[BUILD4] a page calls no code of an older deployment: its calls wait for its own worker', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  await mine.put('a', 1);
  const opened = vi.spyOn(old.leadingHost, 'open');
  const young = tabs.tab({ build: 2 });
  const theirs = await young.open();
  expect(await theirs.get('a')).toBe(1);
  expect(theirs.state).toBe('leading');
  expect(opened).not.toHaveBeenCalled();
  expect(old.host!.operations).toEqual(['put']);
  expect(young.leadingHost.operations).toEqual(['get']);
});

test('[BUILD4] nor while its worker still loads, and the older one goes on meanwhile', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  const opened = vi.spyOn(old.leadingHost, 'open');
  let loaded = () => {};
  const loading = new Promise<void>((resolve) => {
    loaded = resolve;
  });
  const prepare = vi.fn(() => loading);
  const opening = tabs.tab({ build: 2, prepare }).open();
  await vi.waitUntil(() => prepare.mock.calls.length > 0);
  await turns(20);
  await mine.put('a', 1);
  expect([mine.state, mine.isOutdated]).toEqual(['leading', false]);
  loaded();
  expect(await (await opening).get('a')).toBe(1);
  expect(opened).not.toHaveBeenCalled();
});

test('[BUILD4] a page whose own worker cannot be started follows whoever leads', async () => {
  const old = tabs.tab({ build: 1 });
  await (await old.open()).put('a', 1);
  for (const script of ['no script', 'never serves'] as const) {
    const young = tabs.tab({ build: 2 });
    young.script = script;
    const opening = young.open();
    for (let i = 0; i < 16; i++) {
      young.advance(250);
      await turns(2);
    }
    expect(await (await opening).get('a')).toBe(1);
  }
  expect(old.leadingHost.operations).toEqual(['put', 'get', 'get']);
});

test('[BUILD11] where locks are not listed, a newer deployment calls the leader, and leads once that is closed', async () => {
  tabs.browser.listsLocks = false;
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  await mine.put('a', 1);
  const young = tabs.tab({ build: 2 });
  const theirs = await young.open();
  expect(await theirs.get('a')).toBe(1);
  expect([mine.state, theirs.state]).toEqual(['leading', 'following']);
  await turns(20);
  expect(await mine.get('a')).toBe(1);
  expect(old.leadingHost.operations).toEqual(['put', 'get', 'get']);
  old.close();
  expect(await theirs.get('a')).toBe(1);
  expect(theirs.state).toBe('leading');
  expect(young.leadingHost.operations).toEqual(['get']);
});

test('[BUILD5] sent calls are answered, and later calls wait for the next leader, in order', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  const release = old.leadingHost.holdAnswers();
  const oldHost = old.leadingHost;
  const sent = mine.put('a', 1);
  await turns();
  const young = tabs.tab({ build: 2 });
  const opening = young.open();
  await vi.waitUntil(() => mine.state === 'connecting');
  expect(oldHost.isResting).toBe(true);
  const later = [mine.put('b', 1), mine.get('b'), mine.put('b', 2), mine.get('b')];
  await turns(10);
  expect(oldHost.ended).toBe(null);
  release();
  await sent;
  expect(await Promise.all(later)).toEqual([undefined, 1, undefined, 2]);
  expect(oldHost.operations).toEqual(['put']);
  expect(young.leadingHost.operations).toEqual(['put', 'get', 'put', 'get']);
  expect(oldHost.ended).toBe('a newer deployment (build 2) has taken over');
  expect([mine.state, (await opening).state]).toEqual(['following', 'leading']);
});

test('[BUILD5] an answer that comes later than the news of the next leader is an answer', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  const release = old.leadingHost.holdAnswers();
  const sent = mine.put('a', 1);
  await turns();
  const opening = tabs.tab({ build: 2 }).open();
  await vi.waitUntil(() => mine.state === 'connecting');
  // Messages of a connection are slow from now on; the news of leaders is not.
  const { postMessage, close } = MessagePort.prototype;
  vi.spyOn(MessagePort.prototype, 'postMessage').mockImplementation(function (
    this: MessagePort,
    ...message: unknown[]
  ) {
    const isNews = (message[0] as { readonly type?: string }).type === 'leads';
    const post = () => postMessage.apply(this, message as never);
    if (isNews) return post();
    setTimeout(post, 100);
    return true;
  } as never);
  vi.spyOn(MessagePort.prototype, 'close').mockImplementation(function (this: MessagePort) {
    setTimeout(() => close.call(this), 100);
  });
  release();
  await sent;
  vi.restoreAllMocks();
  await opening;
  expect(await mine.get('a')).toBe(1);
});

test('[BUILD5] an open transaction ends where it began; calls outside of it wait', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  const other = await old.open();
  const oldHost = old.leadingHost;
  let waiting: Promise<unknown> = Promise.resolve();
  await mine.transaction(async (txn) => {
    await txn.put('a', 1);
    void tabs.tab({ build: 2 }).open();
    await vi.waitUntil(() => mine.state === 'connecting');
    waiting = other.get('a');
    await turns(10);
    await txn.put('b', 2);
    await mine.put('c', 3); // joins the transaction
  });
  expect(await waiting).toBe(1);
  expect(await mine.get('c')).toBe(3);
  expect(oldHost.operations).toEqual(['begin', 'put', 'put', 'put', 'commit']);
});

test('[BUILD5] an event that runs by itself, such as an alarm, is waited for', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  const oldHost = old.leadingHost;
  oldHost.isBusy = true;
  const opening = tabs.tab({ build: 2 }).open();
  await vi.waitUntil(() => oldHost.isResting);
  await turns(20);
  expect(oldHost.ended).toBe(null);
  oldHost.isBusy = false;
  expect((await opening).state).toBe('leading');
  expect(await mine.get('a')).toBe(undefined);
});

test('[BUILD7] pages of the older deployment hear of it once, also those that connect later', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  const events: string[] = [];
  mine.addEventListener('outdated', () => events.push(`outdated: ${mine.isOutdated}`));
  const states: string[] = [];
  mine.addEventListener('statechange', () => states.push(mine.state));
  expect(mine.isOutdated).toBe(false);
  const young = tabs.tab({ build: 2 });
  const theirs = await young.open();
  await vi.waitUntil(() => mine.state === 'following');
  expect(mine.isOutdated).toBe(true);
  expect((await old.open()).isOutdated).toBe(true);
  expect((await old.connect()).isOutdated).toBe(true);
  const late = tabs.tab({ build: 1 });
  const opened = await late.open();
  await vi.waitUntil(() => opened.isOutdated);
  expect(theirs.isOutdated).toBe(false);
  young.close();
  await mine.get('a').catch(() => mine.get('a'));
  expect([mine.state, mine.isOutdated]).toEqual(['leading', true]);
  const newest = tabs.tab({ build: 3 });
  await newest.open();
  await vi.waitUntil(() => mine.state === 'following');
  expect(events).toEqual(['outdated: true']);
  expect(states[0]).toBe('connecting');
});

test('[BUILD8] a page whose protocol does not fit is lost, with the reason, and goes on when a fitting worker leads', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  await mine.put('a', 1);
  // A newer deployment as this code would meet it: it asks the leader to step down, and leads.
  const future = tabs.browser.agent();
  const control = future.openChannel(names.controlChannel);
  const deployment = { build: 9, code: 'x', startedMs: 9 };
  const versions = { version: 99, oldest: 99 };
  const announce = () =>
    control.postMessage({ type: 'leads', worker: 'future', deployment, ...versions });
  control.onmessage = ({ data }) => {
    if (data.type === 'who' && leads) announce();
    if (data.type === 'leads')
      control.postMessage({ type: 'takeover', worker: data.worker, by: 'future' });
  };
  let leads = false;
  void future.locks.request(names.leaderLock, {}, () => {
    leads = true;
    announce();
    return new Promise(() => {});
  });
  const candidate = JSON.stringify({ worker: 'future', deployment });
  void future.locks.request(names.candidateLock + candidate, {}, () => new Promise(() => {}));
  control.postMessage({ type: 'who' });

  await vi.waitUntil(() => mine.state === 'lost');
  expect(mine.stateReason).toMatchObject({
    code: 'VERSION_MISMATCH',
    message: expect.stringMatching(
      new RegExp(`build 9.*version 99 .*version ${PROTOCOL_VERSION}\\. Reload this page`),
    ),
  });
  expect(mine.isOutdated).toBe(true);
  await expect(mine.get('a')).rejects.toMatchObject({ code: 'VERSION_MISMATCH' });
  await expect(tabs.tab({ build: 1 }).open()).rejects.toMatchObject({ code: 'VERSION_MISMATCH' });
  future.end();
  await vi.waitUntil(() => mine.state !== 'lost');
  expect(await mine.get('a')).toBe(1);
});

test('[BUILD8] so is a page that speaks another version than its own worker', async () => {
  const tab = tabs.tab();
  const worker = {
    postMessage: () => {
      const { port1: port } = new MessageChannel();
      queueMicrotask(() => hear({ type: 'leads', port, version: 99, oldest: 98 }));
    },
    addEventListener: (type: string, listener: (event: Event) => void) => {
      if (type === 'message') hear = (data) => listener(new MessageEvent('message', { data }));
    },
    removeEventListener: () => {},
  };
  let hear = (_: object) => {};
  await expect(tab.open('object', { worker })).rejects.toMatchObject({
    code: 'VERSION_MISMATCH',
    message: expect.stringContaining('versions 98 to 99'),
  });
});

test('[BUILD6] when the newer worker cannot open the files, its page uses the older one', async () => {
  const old = tabs.tab({ build: 1 });
  const mine = await old.open();
  await mine.put('a', 1);
  const young = tabs.tab({ build: 2 });
  young.hostError = storageError('OPFS_UNAVAILABLE', 'no handles');
  const theirs = await young.open();
  expect(await theirs.get('a')).toBe(1);
  expect(theirs.state).toBe('following');
  expect(await mine.get('a')).toBe(1);
  expect([mine.isOutdated, theirs.isOutdated]).toEqual([false, false]);
  young.advance(Math.max(OTHERS_WAIT_MS, CONNECT_WAIT_MS));
});

/**
 * The fields of these messages that other versions of this package know, for all time: fields may come,
 * none may go.
 */
test('[BUILD9] the first contact is in words that every version understands', async () => {
  const heard: Record<string, unknown>[] = [];
  const control = tabs.browser.agent().openChannel('ctx-storage/ctx-storage/control');
  control.onmessage = ({ data }) => heard.push(data);
  const old = tabs.tab({ build: 'red', code: 'digest' });
  await old.open();
  control.postMessage({ type: 'who' });
  await vi.waitUntil(() => heard.filter(({ type }) => type === 'leads').length > 1);
  const leads = heard.findLast(({ type }) => type === 'leads')!;
  expect(leads).toMatchObject({
    type: 'leads',
    worker: expect.any(String),
    version: PROTOCOL_VERSION,
    oldest: expect.any(Number),
    deployment: { build: 'red', code: 'digest', startedMs: 0 },
  });
  const { locks } = tabs.browser.agent();
  const held = (await locks.query()).held.map(({ name }) => name);
  const { worker } = leads;
  const candidate = { worker, deployment: { build: 'red', code: 'digest', startedMs: 0 } };
  expect(held).toContain('ctx-storage/ctx-storage/leader');
  expect(held).toContain(`ctx-storage/ctx-storage/worker/${worker}`);
  expect(held).toContain(`ctx-storage/ctx-storage/candidate/${JSON.stringify(candidate)}`);

  // A candidate of a later version, with more to say.
  const later = tabs.browser.agent();
  const deployment = { build: null, code: 'other', startedMs: 7, channel: 'beta' };
  const name = JSON.stringify({ worker: 'later', deployment, more: [] });
  void later.locks.request(`ctx-storage/ctx-storage/candidate/${name}`, {}, () => forever);
  let leadsNow = false;
  void later.locks.request('ctx-storage/ctx-storage/leader', {}, () => {
    leadsNow = true;
    return forever;
  });
  control.postMessage({ type: 'takeover', worker, by: 'later', reason: 'newer' });
  await vi.waitUntil(() => leadsNow);
});

const forever = new Promise<void>(() => {});
