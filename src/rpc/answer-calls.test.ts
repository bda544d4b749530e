import { wrap } from 'comlink';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Answerer, answerCalls } from './answer-calls.ts';
import { ChannelEndpoint } from './channel-endpoint.ts';

const REFUSED = { error: { properties: { code: 'INVALID_ARGUMENT' } } };

let ports: MessageChannel;
let remote: Record<string, (...parameters: unknown[]) => Promise<unknown>>;

beforeEach(() => {
  ports = new MessageChannel();
  remote = wrap(new ChannelEndpoint(ports.port2)) as never;
});
afterEach(() => ports.port1.close());

function answer(functions: Record<string, Answerer>): void {
  answerCalls(functions, new ChannelEndpoint(ports.port1));
}

test('[BORDER2] a result that cannot be cloned is an outcome, not an error without a code', async () => {
  answer({ open: () => ({ ok: () => {} }), close: () => ({ ok: 1 }) });
  expect(await remote.open!()).toMatchObject({ error: { name: 'DataCloneError' } });
  expect(await remote.close!()).toEqual({ ok: 1 });
});

test('[BORDER2] what a function throws, at once or later, is an outcome', async () => {
  const error = Object.assign(new RangeError('mine'), { code: 'KEY_TOO_LARGE' });
  answer({
    open: () => {
      throw error;
    },
    close: () => Promise.reject(error),
  });
  for (const call of [remote.open!, remote.close!]) {
    expect(await call()).toMatchObject({ error: { properties: { code: 'KEY_TOO_LARGE' } } });
  }
});

test('[BORDER1] a function gets plain values only, and no more than any function here takes', async () => {
  const heard: unknown[][] = [];
  answer({ open: (...parameters) => heard.push(parameters) });
  const argumentLists = [
    Array(5).fill({ type: 'RAW', value: 1 }),
    [{ type: 'HANDLER', name: 'proxy', value: {} }],
    [{ type: 'HANDLER', name: 'throw', value: { isError: false, value: 1 } }],
    [null],
    'text',
    undefined,
  ];
  const replies: unknown[] = [];
  ports.port2.addEventListener('message', ({ data }) => replies.push(data.value));
  for (const [i, argumentList] of argumentLists.entries()) {
    ports.port2.postMessage({ id: `${i}`, type: 'APPLY', path: ['open'], argumentList });
  }
  expect(await remote.open!(1, 'two')).toBe(1);
  expect(replies.slice(0, -1)).toMatchObject(argumentLists.map(() => REFUSED));
  expect(heard).toEqual([[1, 'two']]);
});
