import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { Namespaces } from '../../../worker/objects/calls/namespaces.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { RpcTarget } from '../../shared/contract/rpc-target.ts';
import type { ObjectsService } from '../../shared/wire/protocol.ts';

class Counter extends RpcTarget {
  #count = 0;
  next(): number {
    return ++this.#count;
  }
}

class List extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item(name)');
  }
  add(name: string): string {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return name;
  }
  items(): unknown[] {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item').raw()].flat();
  }
  get size(): number {
    return this.items().length;
  }
  abort(reason: string): void {
    this.ctx.abort(reason);
  }
  wait(): Promise<never> {
    return new Promise(() => {});
  }
  counter(): Counter {
    return new Counter();
  }
  nothing(): void {}
  fetch(): Response {
    return new Response(String(this.size));
  }
}

let host: TestHost;
let tabs: FakeTabs;
/** Delays the answers of failed calls in the worker. */
let lostAnswers: Promise<void>;
/** The number of calls that have reached the worker. */
let arrived: number;

beforeEach(async () => {
  lostAnswers = Promise.resolve();
  arrived = 0;
  let namespaces: Namespaces | undefined;
  host = await createTestHost({}, { List }, (instance) => namespaces!.bindings(instance));
  namespaces = new Namespaces(host.host, {});
  const { calls } = namespaces;
  const service: ObjectsService = {
    connect(peer) {
      const connection = calls.connect(peer);
      return {
        ...connection,
        async call(address, request) {
          arrived += 1;
          const outcome = await connection.call(address, request);
          if ('error' in outcome) await lostAnswers;
          return outcome;
        },
      };
    },
  };
  tabs = new FakeTabs(runCandidate, () => service, new PageSessions(host.host, () => () => {}));
});
afterEach(async () => {
  tabs.close();
  await host.close();
});

async function listOf(tab = tabs.tab(), name = 'a') {
  return (await tab.connect<{ List: List }>()).env.List.getByName(name);
}

function failure(call: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(call).then(
    (value) => expect.fail(`it succeeded: ${value}`),
    (error) => error,
  );
}

const ON_PURPOSE = { code: 'OBJECT_RESET', message: 'on purpose', retryable: false };

test.each<[kind: string, size: (list: Awaited<ReturnType<typeof listOf>>) => Promise<number>]>([
  ['method', async (list) => (await list.items()).length],
  ['property', async (list) => list.size],
  ['fetch', async (list) => Number(await (await list.fetch('http://list/')).text())],
])(
  '[STUB46] a stub that a page keeps reaches the next instance by %s first, reset after reset',
  async (_, size) => {
    const list = await listOf();
    for (const [round, reason] of ['first', 'second', 'third'].entries()) {
      await list.add(reason);
      expect(await failure(list.abort(reason))).toMatchObject({ ...ON_PURPOSE, message: reason });
      expect(await size(list)).toBe(round + 1);
    }
  },
);

test('[STUB46] the tab that has not met a reset loses no call', async () => {
  const mine = await listOf();
  const theirs = await listOf();
  await theirs.add('theirs');
  await mine.add('mine');
  expect(await failure(mine.abort('on purpose'))).toMatchObject(ON_PURPOSE);
  expect(await theirs.add('after')).toBe('after');
  expect(await failure(theirs.abort('on purpose'))).toMatchObject(ON_PURPOSE);
  expect(await mine.items()).toEqual(['theirs', 'mine', 'after']);
});

test('[STUB46] calls behind a reset reject with its reason; calls after it arrive in order', async () => {
  const list = await listOf();
  await list.add('before');
  const lost = [list.wait(), list.abort('on purpose'), list.add('behind'), list.size];
  for (const error of await Promise.all(lost.map(failure))) expect(error).toMatchObject(ON_PURPOSE);
  await Promise.all(['one', 'two', 'three'].map((name) => list.add(name)));
  expect(await list.items()).toEqual(['before', 'one', 'two', 'three']);
});

test('[STUB46] a call that is on its way when the page hears of a reset rejects, too: no call takes effect after a lost one', async () => {
  const list = await listOf();
  const other = await listOf(undefined, 'other');
  await Promise.all([list.add('before'), other.add('before')]);
  let answer = () => {};
  lostAnswers = new Promise((resolve) => {
    answer = resolve;
  });
  const lost = failure(list.abort('on purpose'));
  await vi.waitUntil(() => host.host.resets.count === 1);
  const sent = arrived;
  const behind = failure(list.add('behind'));
  await vi.waitUntil(() => arrived > sent);
  // Another object, and the object's other callers, are not concerned.
  expect(await other.add('other')).toBe('other');
  expect(await (await listOf()).add('another tab')).toBe('another tab');
  answer();
  expect([await lost, await behind]).toMatchObject([ON_PURPOSE, ON_PURPOSE]);
  expect(await list.add('after')).toBe('after');
  expect(await list.items()).toEqual(['before', 'another tab', 'after']);
});

test('[STUB46] members of a lost result, and what the instance returned before, stay broken', async () => {
  const list = await listOf();
  const counter = await list.counter();
  const copy = counter.dup();
  expect(await counter.next()).toBe(1);
  const lost = list.wait() as unknown as { next(): Promise<number> };
  const pipelined = failure(lost.next());
  await failure(list.abort('on purpose'));
  expect(await pipelined).toMatchObject(ON_PURPOSE);
  for (const stub of [counter, copy]) {
    expect(await failure(stub.next())).toMatchObject({ message: 'on purpose' });
  }
  expect(await (await list.counter()).next()).toBe(1);
});

test('[STUB46] a flush that fails breaks no stub of a page', async () => {
  const list = await listOf();
  await list.add('before');
  host.failNextFlush();
  expect(await failure(list.add('lost'))).toMatchObject({ code: 'IO' });
  expect(await list.items()).toEqual(['before']);
  expect(await list.add('after')).toBe('after');
});

test('[STUB36] onRpcBroken of a kept stub concerns the instance that has answered: it tells of a reset that came before, then of the next one', async () => {
  const list = await listOf();
  const other = await listOf();
  await list.nothing(); // as a subscription
  await failure(other.abort('first'));
  const told = () => new Promise((resolve) => list.onRpcBroken(resolve));
  expect(await told()).toMatchObject({ message: 'first' });
  const second = told();
  await list.nothing();
  await failure(other.abort('second'));
  expect(await second).toMatchObject({ message: 'second' });
  expect(await list.items()).toEqual([]);
});
