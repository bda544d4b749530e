import { expect, test } from 'vitest';
import {
  ChannelEndpoint,
  FULL_PARTS,
  PACK_MAX,
  type Pace,
  UnsentCall,
  type WireChannel,
} from './channel-endpoint.ts';

/** A channel that records posted messages, and delivers messages of the test. */
class SeenChannel extends EventTarget implements WireChannel {
  readonly sent: unknown[] = [];
  isClosed = false;
  postMessage(message: unknown, transfer: ArrayBuffer[]): void {
    this.sent.push(structuredClone(message, { transfer }));
  }
  close(): void {
    this.isClosed = true;
  }
  arrive(data: unknown): void {
    this.dispatchEvent(new MessageEvent('message', { data }));
  }
}

/** Resolves when the posted messages have been sent. */
const sent = () => new Promise((resolve) => setTimeout(resolve));

function opened(pace?: Pace) {
  const channel = new SeenChannel();
  const endpoint = new ChannelEndpoint(channel, pace);
  const heard: unknown[] = [];
  endpoint.addEventListener('message', (event) => void heard.push((event as MessageEvent).data));
  return { channel, endpoint, heard };
}

test('[RPC6] values posted in one turn travel in one message, in order', async () => {
  const { channel, endpoint } = opened();
  for (const number of [1, 2, 3]) endpoint.postMessage({ number });
  expect(channel.sent).toEqual([]);
  await sent();
  endpoint.postMessage({ number: 4 });
  await sent();
  const messages = [{ number: 1 }, { number: 2 }, { number: 3 }];
  expect(channel.sent).toEqual([{ type: 'pack', messages }, { number: 4 }]);
});

test('[RPC6] a ping among calls of one object, whenever it comes, makes no more messages and none that are fuller', async () => {
  for (const before of [0, 1, 40, 63, 64, 100]) {
    const { channel, endpoint } = opened();
    for (let number = 0; number < 128; number++) {
      if (number === before) endpoint.postMessage({ type: 'ping' });
      endpoint.postMessage(call(number));
    }
    const calls = (channel.sent as { messages: unknown[] }[]).map(({ messages }) =>
      messages.filter((message) => Array.isArray(message)),
    );
    expect(calls.map(({ length }) => length)).toEqual([64, 64]);
  }
});

const object = { className: 'Room', id: '1' };
const other = { className: 'Room', id: '2' };
const call = (number: number, address = object) => [number, 'call', [address, { op: 'fetch' }]];

test('[RPC6] calls of one object that fill a message leave before the turn ends; the rest follows', async () => {
  const { channel, endpoint } = opened();
  const calls = Array.from({ length: 2 * FULL_PARTS + 1 }, (_, number) => call(number));
  for (const message of calls) endpoint.postMessage(message);
  expect(channel.sent).toHaveLength(2);
  await sent();
  expect(channel.sent).toEqual([
    { type: 'pack', messages: calls.slice(0, FULL_PARTS) },
    { type: 'pack', messages: calls.slice(FULL_PARTS, 2 * FULL_PARTS) },
    calls.at(-1),
  ]);
});

test.for<[string, unknown]>([
  ['calls of one message', [1, 'execute', [1, Array(FULL_PARTS).fill({ op: 'sync' })]]],
  ['answers of one message', [1, Array(FULL_PARTS).fill({ ok: null })]],
])('[RPC6] many %s leave at once', ([, message]) => {
  const { channel, endpoint } = opened();
  endpoint.postMessage(message);
  expect(channel.sent).toEqual([message]);
});

test('[RPC6] calls of several objects wait for the end of the turn; more than a message holds travel in several', async () => {
  const { channel, endpoint } = opened();
  const calls = Array.from({ length: PACK_MAX + 1 }, (_, number) =>
    call(number, number % 2 === 0 ? object : other),
  );
  for (const message of calls) endpoint.postMessage(message);
  expect(channel.sent).toEqual([]);
  await sent();
  expect(channel.sent).toEqual([
    { type: 'pack', messages: calls.slice(0, PACK_MAX) },
    calls[PACK_MAX],
  ]);
});

test('[RPC6] messages that travelled together are delivered one after the other', () => {
  const { channel, heard } = opened();
  channel.arrive({ type: 'pack', messages: [1, 2] });
  channel.arrive(3);
  expect(heard).toEqual([1, 2, 3]);
});

test('[RPC6] a message that arrives while others still wait for their turn is delivered after them', () => {
  const turns: (() => void)[] = [];
  const { channel, heard } = opened({ deliver: (task) => turns.push(task), send: queueMicrotask });
  channel.arrive(0);
  expect(heard).toEqual([0]);
  channel.arrive({ type: 'pack', messages: [1, 2] });
  turns.shift()!();
  channel.arrive(3);
  expect(heard).toEqual([0, 1]);
  for (const turn of turns) turn();
  expect(heard).toEqual([0, 1, 2, 3]);
});

test('[RPC6] one listener that throws keeps no message from the others', async () => {
  const channel = new SeenChannel();
  const endpoint = new ChannelEndpoint(channel);
  const heard: unknown[] = [];
  const reported = new Promise((resolve) => process.once('uncaughtException', resolve));
  endpoint.addEventListener('message', () => {
    if (heard.length === 0) throw new Error('on purpose');
  });
  endpoint.addEventListener('message', (event) => void heard.push((event as MessageEvent).data));
  channel.arrive({ type: 'pack', messages: [1, 2] });
  expect(heard).toEqual([1, 2]);
  expect(await reported).toMatchObject({ message: 'on purpose' });
});

test('[RPC6] a message that is not a pack is delivered as it is', () => {
  const { channel, heard } = opened();
  const wrong = [
    null,
    { type: 'pack' },
    { type: 'pack', messages: 'ab' },
    { type: 'pack', messages: new Array(PACK_MAX + 1).fill(0) },
  ];
  for (const message of wrong) channel.arrive(message);
  expect(heard).toEqual(wrong);
});

test("[RPC6] a message that cannot be cloned fails alone: a call of this side, or the other side's", async () => {
  const { channel, endpoint, heard } = opened();
  endpoint.postMessage([1, 'open', ['first']]);
  endpoint.postMessage([2, 'open', [() => {}]]);
  endpoint.postMessage([3, () => {}]);
  endpoint.postMessage([4, 'open', ['last']]);
  await sent();
  expect(channel.sent).toEqual([
    [1, 'open', ['first']],
    [3, { error: expect.objectContaining({ name: 'DataCloneError' }) }],
    [4, 'open', ['last']],
  ]);
  const cause = expect.objectContaining({ name: 'DataCloneError' });
  expect(heard).toEqual([new UnsentCall(2, cause)]);
});

test('[RPC7] buffers move with their message, also when another of the same turn cannot be cloned', async () => {
  const { channel, endpoint } = opened();
  const [kept, ...moved] = [3000, 4000, 5000].map((length) => new Uint8Array(length).fill(7));
  endpoint.postMessage([1, 'put', [kept]]);
  endpoint.postMessage([2, 'put', [moved[0]]], [moved[0]!.buffer]);
  endpoint.postMessage([3, 'put', [() => {}]]);
  endpoint.postMessage([4, 'put', [moved[1]]], [moved[1]!.buffer]);
  await sent();
  expect(channel.sent).toEqual([
    [1, 'put', [new Uint8Array(3000).fill(7)]],
    [2, 'put', [new Uint8Array(4000).fill(7)]],
    [4, 'put', [new Uint8Array(5000).fill(7)]],
  ]);
  expect([kept, ...moved].map((bytes) => bytes!.byteLength)).toEqual([3000, 0, 0]);
});

test('[RPC6] values posted before the end are sent; nothing is sent or delivered after it', async () => {
  const { channel, endpoint, heard } = opened();
  endpoint.postMessage({ type: 'closed' });
  endpoint.close();
  endpoint.close();
  endpoint.postMessage({ number: 1 });
  channel.arrive({ number: 2 });
  await sent();
  expect(channel.sent).toEqual([{ type: 'closed' }]);
  expect(channel.isClosed).toBe(true);
  expect(heard).toEqual([]);
});
