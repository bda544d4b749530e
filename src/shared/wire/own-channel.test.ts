import { afterEach, beforeEach, expect, test } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import { type ChannelHost, OwnChannel } from './channel-endpoint.ts';

let ports: MessageChannel;
/** The Worker object of a page, and the worker's global scope. */
let page: ChannelHost;
let scope: ChannelHost;

beforeEach(() => {
  ports = new MessageChannel();
  page = ports.port1 as unknown as ChannelHost;
  scope = ports.port2 as unknown as ChannelHost;
  ports.port1.start();
  ports.port2.start();
});
afterEach(() => ports.port1.close());

function heardBy(host: Pick<ChannelHost, 'addEventListener'>): unknown[] {
  const heard: unknown[] = [];
  host.addEventListener('message', (event) => void heard.push((event as MessageEvent).data));
  return heard;
}

test('[CONN12] both sides hear each other, and no other connection of the same worker', async () => {
  const [first, second] = ['a', 'b'].map((name) => new OwnChannel(page, name));
  const [firstHeard, secondHeard] = ['a', 'b'].map((name) =>
    heardBy(new OwnChannel(scope, name) as unknown as ChannelHost),
  );
  first!.postMessage([1, 'open', ['x']]);
  second!.postMessage({ type: 'ping' });
  await turns();
  expect(firstHeard).toEqual([[1, 'open', ['x']]]);
  expect(secondHeard).toEqual([{ type: 'ping' }]);
});

test("[CONN12] the app's messages are left alone, and its later listeners do not hear the connection's", async () => {
  const own = heardBy(new OwnChannel(scope, 'a') as unknown as ChannelHost);
  const app = heardBy(scope);
  const messages = [['a'], ['b', 1], ['a', 1, 2], { 0: 'a', 1: 'x', length: 2 }, 'a', null];
  for (const message of messages) page.postMessage(message);
  new OwnChannel(page, 'a').postMessage('mine');
  await turns();
  expect(own).toEqual(['mine']);
  expect(app).toEqual(messages);
});

test('[CONN12] a closed channel receives no messages, and others go on', async () => {
  const closed = new OwnChannel(scope, 'a');
  const heard = heardBy(closed as unknown as ChannelHost);
  const other = heardBy(new OwnChannel(scope, 'b') as unknown as ChannelHost);
  closed.close();
  for (const name of ['a', 'b']) new OwnChannel(page, name).postMessage(name);
  await turns();
  expect([heard, other]).toEqual([[], ['b']]);
});

test('[CONN12] a message of the worker that cannot be read is told', () => {
  const target = new EventTarget();
  const channel = new OwnChannel(Object.assign(target, { postMessage: () => {} }), 'a');
  let errorCount = 0;
  channel.addEventListener('messageerror', () => {
    errorCount += 1;
  });
  target.dispatchEvent(new Event('messageerror'));
  channel.close();
  target.dispatchEvent(new Event('messageerror'));
  expect(errorCount).toBe(1);
});
