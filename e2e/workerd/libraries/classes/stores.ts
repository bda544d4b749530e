// AsyncLocalStorage and diagnostics channels as a program sees them, in one event and in many at once.

import { DurableObject } from 'cloudflare:workers';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';

const stores = new AsyncLocalStorage<string>();
const others = new AsyncLocalStorage<number>();
const store = () => stores.getStore() ?? 'none';

/** Counts where code sees another store than its own. */
class Watch {
  wrong = 0;
  seen = 0;

  see(own: string): void {
    this.seen += 1;
    if (store() !== own) this.wrong += 1;
  }
}

export class Stores extends DurableObject<{ Stores: DurableObjectNamespace<Stores> }> {
  async run(): Promise<unknown> {
    return {
      ...(await this.#follows()),
      ...(await this.#concurrent()),
      ...this.#calls(),
      ...(await this.#channels()),
      alone: await this.#alone(),
    };
  }

  /** An event that another one calls. */
  async event(own: string, callback?: () => string): Promise<unknown[]> {
    const before = store();
    const watch = new Watch();
    await stores.run(own, () => this.#chain(watch, own));
    return [before, { ...watch }, store(), await callback?.()];
  }

  /** Two chains that await nothing, in turn; the values that each sees. */
  async between(): Promise<string[][]> {
    const chain = async (seen: string[]) => {
      for (let round = 0; round < 3; round++) {
        await undefined;
        seen.push(store());
      }
      return seen;
    };
    return Promise.all(['a', 'b'].map((own) => stores.run(own, () => chain([]))));
  }

  /** The values that the store follows across, from its `run`. */
  async #follows(): Promise<object> {
    const { storage } = this.ctx;
    const other = this.env.Stores.getByName('other');
    const within = <T>(task: () => T): T => stores.run('own', task);
    return {
      section: await within(() => this.ctx.blockConcurrencyWhile(async () => store())),
      transaction: await within(() => storage.transaction(async () => store())),
      transactionSync: within(() => storage.transactionSync(() => store())),
      timer: await within(() => new Promise((resolve) => setTimeout(() => resolve(store()), 1))),
      interval: await within(
        () =>
          new Promise((resolve) => {
            const id = setInterval(() => {
              clearInterval(id);
              resolve(store());
            }, 1);
          }),
      ),
      microtask: await within(
        () => new Promise((resolve) => queueMicrotask(() => resolve(store()))),
      ),
      reaction: await within(() => Promise.resolve().then(store)),
      rejected: await within(() => Promise.reject(new Error('x')).catch(store)),
      thenable: await within(async () => {
        // biome-ignore lint/suspicious/noThenProperty: the test awaits a thenable
        await { then: (resolve: (value: unknown) => void) => resolve(1) };
        return store();
      }),
      called: await within(() => other.event('called', store)),
      after: store(),
    };
  }

  async #concurrent(): Promise<object> {
    const own = this.env.Stores.getByName('one');
    const watch = new Watch();
    const names = Array.from({ length: 8 }, (_, index) => `chain ${index}`);
    const [chains, events] = await Promise.all([
      Promise.all(names.map((name) => stores.run(name, () => this.#chain(watch, name)))),
      Promise.all(names.map((name) => own.event(name))),
    ]);
    return { chains, watch: { ...watch }, events };
  }

  /** Awaits everything that object code awaits, and looks after each. */
  async #chain(watch: Watch, own: string): Promise<string> {
    const { storage } = this.ctx;
    for (let round = 0; round < 3; round++) {
      await storage.put(own, round);
      watch.see(own);
      await storage.get(own);
      watch.see(own);
      await new Promise((resolve) => setTimeout(resolve, round));
      watch.see(own);
      await crypto.subtle.digest('SHA-256', new Uint8Array(round));
      watch.see(own);
      await new Response('text').text();
      watch.see(own);
      await Promise.all([Promise.resolve(), storage.get(own), this.#inner(watch, own)]);
      watch.see(own);
      await stores.run(`${own} inner`, () => this.#inner(watch, `${own} inner`));
      watch.see(own);
      for await (const value of this.#values(watch, own)) watch.see(`${own}${value}`.slice(0, -1));
      await Promise.reject(new Error('x')).catch(() => watch.see(own));
      watch.see(own);
    }
    return store();
  }

  async #inner(watch: Watch, own: string): Promise<void> {
    await Promise.resolve();
    watch.see(own);
    await this.ctx.storage.get('none');
    watch.see(own);
  }

  async *#values(watch: Watch, own: string): AsyncGenerator<number> {
    yield 1;
    watch.see(own);
    await this.ctx.storage.get('none');
    yield 2;
  }

  /** Runs one chain of calls without other calls; it repeatedly awaits nothing. */
  async #alone(): Promise<string[]> {
    const seen: string[] = [];
    await stores.run('alone', async () => {
      for (let round = 0; round < 3; round++) {
        await undefined;
        seen.push(store());
      }
    });
    return [...seen, store()];
  }

  #calls(): object {
    const thrown = (task: () => unknown) => {
      try {
        return task();
      } catch (error) {
        return `threw ${(error as Error).name}`;
      }
    };
    return {
      nested: stores.run('outer', () => [stores.run('inner', store), store(), others.getStore()]),
      both: stores.run('a', () => others.run(1, () => [store(), others.getStore()])),
      without: others.getStore() ?? 'none',
      arguments: stores.run('own', (...given: number[]) => given, 1, 2),
      exit: stores.run('own', () => stores.exit((value: number) => [store(), value], 1)),
      throws: [thrown(() => stores.run('own', () => JSON.parse('{'))), store()],
      bind: stores.run('own', () => AsyncLocalStorage.bind((value: number) => [store(), value]))(3),
      snapshot: stores.run('own', () => AsyncLocalStorage.snapshot())(
        (value: number) => [store(), value],
        4,
      ),
      resource: stores
        .run('own', () => new AsyncResource('Test'))
        .runInAsyncScope((value: number) => [store(), value], null, 5),
      resourceBind: stores.run('own', () => new AsyncResource('Test')).bind(() => store())(),
      enterWith: thrown(() => stores.enterWith('entered')),
      disable: thrown(() => stores.disable()),
    };
  }

  async #channels(): Promise<object> {
    const messages = channel('messages');
    const heard: unknown[] = [];
    const listener = (message: unknown, name: string | symbol) => heard.push([message, name]);
    messages.subscribe(listener);
    messages.publish({ one: 1 });
    messages.unsubscribe(listener);
    messages.publish({ two: 2 });
    messages.bindStore(stores as never, (message) => `for ${String(message)}`);
    const bound = messages.runStores('me' as never, (value: number) => [store(), value], null, 6);
    const traced = tracingChannel('calls');
    const events: unknown[] = [];
    const record = (event: string) => (message: object) =>
      void events.push([event, Object.keys(message).sort()]);
    traced.subscribe({
      start: record('start'),
      end: record('end'),
      asyncStart: record('asyncStart'),
      asyncEnd: record('asyncEnd'),
      error: record('error'),
    } as never);
    const results = [
      traced.traceSync((value: number) => value + 1, { kind: 'sync' } as never, null, 1),
      await traced.tracePromise(async (value: number) => value + 1, {} as never, null, 2),
      await traced
        .tracePromise(() => Promise.reject(new Error('no')), {} as never, null)
        .catch(String),
      await new Promise((resolve) => {
        const call = (done: (error: null, value: number) => void) =>
          void setTimeout(done, 1, null, 4);
        const callback = (_: unknown, value: unknown) => resolve(value);
        traced.traceCallback(call as never, 0, {} as never, null, callback as never);
      }),
    ];
    return { same: channel('messages') === messages, heard, bound, results, events };
  }
}
