import { wrap } from 'comlink';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ChannelEndpoint } from './channel-endpoint.ts';
import { type Answerer, answerCalls, CallingEndpoint } from './remote-functions.ts';

const REFUSED = { error: { properties: { code: 'INVALID_ARGUMENT' } } };

let ports: MessageChannel;
let remote: Record<string, (...parameters: unknown[]) => Promise<unknown>>;

beforeEach(() => {
  ports = new MessageChannel();
  remote = wrap(new CallingEndpoint(new ChannelEndpoint(ports.port2))) as never;
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

test('[BORDER2] an error of a function, at once or later, is an outcome', async () => {
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
  const wrong = [Array(5).fill(1), { length: 1, 0: 1 }, null, 'text', undefined];
  const answers: unknown[][] = [];
  ports.port2.addEventListener('message', ({ data }) => answers.push(data));
  for (const [i, parameters] of wrong.entries()) {
    ports.port2.postMessage([100 + i, 'open', parameters]);
  }
  expect(await remote.open!(1, 'two')).toBe(1);
  expect(answers.slice(0, -1)).toMatchObject(wrong.map((_, i) => [100 + i, REFUSED]));
  expect(heard).toEqual([[1, 'two']]);
});

test('[BORDER1] a request that comlink itself would answer is refused', async () => {
  answer({ open: () => 1 });
  const answers: unknown[] = [];
  ports.port2.addEventListener('message', ({ data }) => answers.push(data));
  const argumentList = [{ type: 'RAW', value: 1 }];
  for (const type of ['APPLY', 'GET', 'SET', 'CONSTRUCT', 'ENDPOINT', 'RELEASE']) {
    ports.port2.postMessage({ id: 'x', type, path: ['open'], argumentList });
  }
  ports.port2.postMessage([1, 'open']);
  ports.port2.postMessage(['1', 'open', []]);
  ports.port2.postMessage([1, 'open', [], []]);
  await remote.open!();
  expect(answers).toEqual([[1, 1]]);
});

test('[BORDER2] an answer that nobody waits for, or a second one, changes nothing', async () => {
  const endpoint = new ChannelEndpoint(ports.port1);
  endpoint.addEventListener('message', (event) => {
    const { data } = event as MessageEvent<[number, string, unknown[]]>;
    for (const answer of [
      [7, 'never asked'],
      [data[0], 'first'],
      [data[0], 'second'],
    ]) {
      endpoint.postMessage(answer);
    }
  });
  expect(await remote.open!()).toBe('first');
  expect(await remote.open!()).toBe('first');
});
