// Calls that wait in the worker for their object when their page gives up.

import { afterEach, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { put, TestSessions } from '../../../packages/testing/worker/test-sessions.ts';
import { toWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { Namespaces } from '../calls/namespaces.ts';

let host: TestHost;
afterEach(() => host.close());

const CLOSED = { error: { properties: { code: 'CONNECTION_CLOSED' } } };

test('[TAB16] calls of a handle that wait for their object do not begin once the page has given up, and do once it has closed', async () => {
  host = await createTestHost();
  const sessions = new TestSessions(host.host);
  const open = () => sessions.opened();
  const [holder, closed, givenUp, other] = [await open(), await open(), await open(), await open()];
  await sessions.execute(holder, [{ op: 'begin', number: 1 }]);
  const waiting = {
    closed: sessions.execute(closed, [put('of the closed')]),
    givenUp: sessions.execute(givenUp, [put('of the given up'), { op: 'sync' }]),
  };
  await sessions.close(closed);
  await sessions.close(givenUp, true);
  await sessions.execute(holder, [{ op: 'commit', txn: 1 }]);
  expect(await waiting.closed).toEqual([{ ok: null }]);
  expect(await waiting.givenUp).toMatchObject([CLOSED, CLOSED]);
  const keys = ['of the closed', 'of the given up'];
  expect(await sessions.execute(other, [{ op: 'get', keys }])).toEqual([
    { ok: [serialize(1), null] },
  ]);
});

class Counter extends DurableObject {
  count = 0;

  hold(): Promise<void> {
    return this.ctx.blockConcurrencyWhile(
      () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    );
  }
  add(): number {
    this.count += 1;
    return this.count;
  }
}

let release = () => {};

test('[TAB16] nor do calls of methods; a running call goes on', async () => {
  const classes = { Counter };
  let namespaces: Namespaces | undefined;
  host = await createTestHost({}, classes, (instance) => namespaces!.bindings(instance));
  namespaces = new Namespaces(host.host, {});
  const nobody = { ask: async () => ({ ok: null }), release: async () => {} };
  const [page, other] = [namespaces.calls.connect(nobody), namespaces.calls.connect(nobody)];
  const address = toWireAddress(host.address('one', 'Counter'));
  const call = (method: string) =>
    ({ op: 'call', path: [method], payload: serialize([]) }) as const;
  const holding = page.call(address, call('hold'));
  await host.turns(5);
  const waiting = page.call(address, call('add'));
  await host.turns(5);
  page.end(new Error('given up'), true);
  release();
  expect(await waiting).toMatchObject(CLOSED);
  await holding;
  expect(await other.call(address, call('add'))).toMatchObject({ ok: serialize(1) });
});
