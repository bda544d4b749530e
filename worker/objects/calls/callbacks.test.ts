import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { WebSocketPair } from '../../../src/shared/calls/sockets/web-socket.ts';
import type { Namespace } from '../../../src/shared/contract/object.ts';
import { RpcTarget } from '../../../src/shared/contract/rpc-target.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { Namespaces } from './namespaces.ts';

type Callback = (value: number) => number | Promise<number>;

interface Env {
  Asker: Namespace<Asker>;
  Peer: Namespace<Peer>;
}

class Target extends RpcTarget {
  #count = 0;
  add(by: number): number {
    this.#count += by;
    return this.#count;
  }
  get count(): number {
    return this.#count;
  }
}

class Peer extends DurableObject<Env> {
  async callTwice(callback: Callback): Promise<number> {
    return callback(await callback(1));
  }
  async addAndCount(target: Target): Promise<number> {
    await target.add(1);
    await target.add(1);
    return target.count;
  }
  gone = 0;
  subscribe(): RpcTarget {
    const peer = this;
    return new (class Subscription extends RpcTarget {
      [Symbol.dispose](): void {
        peer.gone += 1;
      }
    })();
  }
  goneCount(): number {
    return this.gone;
  }
  text(stream: ReadableStream): Promise<string> {
    return new Response(stream).text();
  }
  /** The event of the asker waits at its gate when the callback comes. */
  async callBehindEvent(callback: Callback): Promise<number> {
    void this.env.Asker.getByName('a').note('event');
    return callback(1);
  }
}

type Section = 'blockConcurrencyWhile' | 'transaction';

class Asker extends DurableObject<Env> {
  #order: string[] = [];

  note(what: string): void {
    this.#order.push(what);
  }
  notes(): string[] {
    return this.#order;
  }
  held: unknown;
  async hold(): Promise<void> {
    this.held = await this.env.Peer.getByName('p').subscribe();
  }
  abort(): void {
    this.ctx.abort('on purpose');
  }
  async inSection(section: Section, what: keyof Peer): Promise<unknown> {
    const ask = () => this.#ask(what);
    return section === 'transaction'
      ? this.ctx.storage.transaction(ask)
      : this.ctx.blockConcurrencyWhile(ask);
  }
  /** A socket inside of the object: one end talks to the other while the section waits. */
  async talk(): Promise<unknown> {
    return this.ctx.blockConcurrencyWhile(async () => {
      const { 0: near, 1: far } = new WebSocketPair();
      const heard = new Promise((resolve) => {
        near.addEventListener('message', (event) => resolve((event as MessageEvent).data));
      });
      near.accept();
      far.accept();
      far.send('in the section');
      return heard;
    });
  }

  #ask(what: keyof Peer): Promise<unknown> {
    const peer = this.env.Peer.getByName('p');
    switch (what) {
      case 'callTwice':
        return peer.callTwice((value) => value * 3);
      case 'addAndCount':
        return peer.addAndCount(new Target());
      case 'text':
        return peer.text(new Response('streamed').body!);
      default:
        return peer.callBehindEvent((value) => this.#order.push('callback') + value);
    }
  }
}

let host: TestHost;
let env: Env;

beforeEach(async () => {
  let namespaces: Namespaces | undefined;
  host = await createTestHost({}, { Asker, Peer }, (context) => {
    return namespaces!.bindings(context);
  });
  namespaces = new Namespaces(host.host, {});
  env = namespaces.outsideEnv as Env;
});

afterEach(() => host.close());

describe.for<Section>(['blockConcurrencyWhile', 'transaction'])('in %s', (section) => {
  const ask = (what: keyof Peer) => env.Asker.getByName('a').inSection(section, what);

  test('[GATE20] a function passed in a call answers that call, more than once', async () => {
    expect(await ask('callTwice')).toBe(9);
  });

  test('[GATE20] so do the methods and getters of a target', async () => {
    expect(await ask('addAndCount')).toBe(2);
  });

  test('[GATE20] so does a stream', async () => {
    expect(await ask('text')).toBe('streamed');
  });

  test('[GATE20] an event that waits for the section stays behind', async () => {
    expect(await ask('callBehindEvent')).toBe(2);
    expect(await env.Asker.getByName('a').notes()).toEqual(['callback', 'event']);
  });
});

test('[GATE20] messages of a socket that was accepted in a section are heard in it', async () => {
  expect(await env.Asker.getByName('a').talk()).toBe('in the section');
});

test("[STUB26] an object's references are released when it is reset", async () => {
  const asker = env.Asker.getByName('a');
  await asker.hold();
  expect(await env.Peer.getByName('p').goneCount()).toBe(0);
  await Promise.resolve(asker.abort()).catch(() => {});
  expect(await env.Peer.getByName('p').goneCount()).toBe(1);
});

test('[STUB26] so it is when it is evicted', async () => {
  await env.Asker.getByName('a').hold();
  await host.host.evict(host.address('a', 'Asker'));
  expect(await env.Peer.getByName('p').goneCount()).toBe(1);
});
