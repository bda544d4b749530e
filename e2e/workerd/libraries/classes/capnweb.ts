// Cap'n Web, RPC over a WebSocket pair inside an object: calls, pipelining, callbacks, targets, errors.

import { DurableObject } from 'cloudflare:workers';
import { newWebSocketRpcSession, RpcTarget } from 'capnweb';

class Counter extends RpcTarget {
  #value = 0;

  increment(by: number): number {
    this.#value += by;
    return this.#value;
  }
}

class Api extends RpcTarget {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    super();
    this.#storage = storage;
  }

  echo(value: unknown): unknown {
    return value;
  }

  counter(): Counter {
    return new Counter();
  }

  async each(items: readonly number[], callback: (item: number) => number): Promise<number[]> {
    return Promise.all(items.map((item) => callback(item)));
  }

  async keep(key: string, value: unknown): Promise<unknown> {
    await this.#storage.put(key, value);
    return this.#storage.get(key);
  }

  fail(): number {
    throw new RangeError('out of range');
  }
}

export class Capn extends DurableObject {
  async run(): Promise<unknown> {
    const { 0: here, 1: there } = new WebSocketPair();
    here.accept();
    there.accept();
    newWebSocketRpcSession(there as never, new Api(this.ctx.storage));
    using api = newWebSocketRpcSession<Api>(here as never);
    const values = [1, 'text', null, [new Date(0)], 2n ** 70n];
    using counter = api.counter();
    return {
      echo: String(await api.echo(values)),
      bytes: [...((await api.echo(new Uint8Array([1, 2]))) as Uint8Array)],
      date: ((await api.echo(new Date(5))) as Date).toISOString(),
      pipelined: await api.counter().increment(3),
      counted: [await counter.increment(1), await counter.increment(2)],
      each: await api.each([1, 2, 3], (item) => item * 2),
      kept: await api.keep('key', { nested: ['value'] }),
      failure: await api.fail().then(() => 'none', String),
    };
  }
}
