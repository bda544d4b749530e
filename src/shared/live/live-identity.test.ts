import { expect, test } from 'vitest';
import { LiveClient } from '../../page/storage/live-client.ts';
import type { Session } from '../../page/storage/session.ts';
import { liveCalls } from './live-identity.ts';
import { type LiveReading, liveKeys, liveQuery } from './live-result.ts';

const never = () => () => {};
const session = { finder: {}, target: 'a' } as unknown as Session;
const handle = new LiveClient(session, never);
const other = new LiveClient(session, never);

const READS: readonly (() => LiveReading)[] = [
  () => liveQuery(['SELECT 1']),
  () => liveQuery(['SELECT 2']),
  () => liveQuery(['SELECT 2', 1]),
  () => liveQuery(['SELECT 2', '1']),
  () => liveQuery(['SELECT 2', null]),
  () => liveQuery(['SELECT 2', new Uint8Array([1])]),
  () => liveQuery(['SELECT 2', 1, 2]),
  () => liveKeys([{ key: 'a' }]),
  () => liveKeys([{ keys: ['a'] }]),
  () => liveKeys([{ keys: ['a', 'b'] }]),
  () => liveKeys([{ prefix: 'a' }]),
  () => liveKeys([{ prefix: 'a', limit: 1 }]),
  () => liveKeys([{ prefix: 'a', limit: 1, reverse: true }]),
  () => liveKeys([{}]),
];

const keyOf = (read: LiveReading, client = handle) => client.read(read).identity.key;

test('[LIVE15] live values of one handle have the same identity exactly when they read the same', () => {
  expect(READS.map((read) => keyOf(read()))).toEqual(READS.map((read) => keyOf(read())));
  expect(new Set(READS.map((read) => keyOf(read()))).size).toBe(READS.length);
  expect(keyOf(liveKeys([{ keys: ['b', 'a', 'a'] }]))).toBe(
    keyOf(liveKeys([{ keys: ['a', 'b'] }])),
  );
});

test('[LIVE1] the bindings of a live query are copied at the call, shared memory too, without what is around them', () => {
  const memories = [new ArrayBuffer(1000), new SharedArrayBuffer(1000)];
  for (const memory of memories) {
    const view = new Uint8Array(memory, 1, 2);
    view.set([1, 2]);
    const { read } = liveQuery(['SELECT ?', view]);
    view.fill(9);
    const [bound] = (read as { bindings: readonly unknown[] }).bindings as [Uint8Array];
    expect([...bound]).toEqual([1, 2]);
    expect(bound.buffer.byteLength).toBe(2);
  }
});

test('[LIVE15] live values of two handles differ, and the owner gives nothing away', () => {
  const { signal } = new AbortController();
  const ownerOf = (client: LiveClient, by?: AbortSignal) =>
    client.read(liveQuery(['SELECT 1']), by).identity.owner;
  for (const by of [undefined, signal]) {
    const owner = ownerOf(handle, by);
    expect(ownerOf(handle, by)).toBe(owner);
    expect(ownerOf(other, by)).not.toBe(owner);
    // The owner gives no access to the handle: it is a plain object without members.
    expect(Reflect.getPrototypeOf(owner)).toBe(Object.prototype);
    expect(Reflect.ownKeys(owner)).toEqual([]);
  }
});

test('[LIVE15] live methods differ by connection, object, method and arguments', () => {
  const calls = () =>
    liveCalls({
      peer: () => new Promise(() => {}),
      end: undefined,
      whenEnded: never,
      after: never,
    });
  const address = (id: string) => ({ className: 'Room', id }) as never;
  const call = calls();
  const identities = [
    call(address('1'))(['messages'], [10]),
    call(address('1'))(['messages'], [11]),
    call(address('1'))(['people'], [10]),
    call(address('2'))(['messages'], [10]),
  ].map(({ identity }) => identity);
  expect(new Set(identities.map(({ key }) => key)).size).toBe(4);
  expect(new Set(identities.map(({ owner }) => owner)).size).toBe(1);
  const [first] = identities;
  const again = call(address('1'))(['messages'], [10]).identity;
  expect([again.owner, again.key]).toEqual([first!.owner, first!.key]);
  expect(calls()(address('1'))(['messages'], [10]).identity.owner).not.toBe(first!.owner);
});
