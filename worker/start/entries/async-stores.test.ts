// Tests which stores of AsyncLocalStorage the code of objects and entry points sees in Node.

import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HTMLRewriter } from '../../../packages/html-rewriter/html-rewriter.ts';
import type { DurableObjectNamespace } from '../../../src/shared/contract/object.ts';
import { createObjects, DurableObject, RpcTarget, WorkerEntrypoint } from './node-objects.ts';

const stores = new AsyncLocalStorage<string>();
const store = () => stores.getStore() ?? 'none';

class Target extends RpcTarget {
  show() {
    return store();
  }
}

class Shown extends DurableObject {
  readonly #constructed = store();
  #alarm: string | undefined;

  constructed() {
    return this.#constructed;
  }

  show() {
    return store();
  }

  fetch() {
    return new Response(store());
  }

  target() {
    return new Target();
  }

  call(back: () => string) {
    return back();
  }

  async own(other: string) {
    const { Shown } = this.env as { Shown: DurableObjectNamespace<Shown> };
    return stores.run('own', async () => {
      await this.ctx.storage.put('key', 1);
      const theirs = await Shown.getByName(other).show();
      await new Promise((resolve) => setTimeout(resolve, 1));
      return [theirs, await this.ctx.blockConcurrencyWhile(async () => store()), store()];
    });
  }

  wakeLater() {
    return stores.run('setter', () => this.ctx.storage.setAlarm(Date.now() + 1_000));
  }

  woken() {
    return this.#alarm;
  }

  async alarm() {
    this.#alarm = store();
  }

  rewritten() {
    const rewriter = new HTMLRewriter().on('p', {
      element: (element) => void element.setInnerContent(store()),
    });
    const response = stores.run('transform', () => rewriter.transform(new Response('<p></p>')));
    return stores.run('reader', () => response.text());
  }
}

class Entry extends WorkerEntrypoint {
  show() {
    return store();
  }
}

async function start() {
  const objects = await createObjects({ Shown }, { exports: { Entry } });
  onTestFinished(() => objects.close());
  return objects;
}

const asCaller = <T>(call: () => Promise<T>) => stores.run('caller', call);

describe('stores of AsyncLocalStorage', () => {
  test('[LIB9] an object has no store of its caller, who keeps it', async () => {
    const { env, entrypoint } = await start();
    const shown = env.Shown.getByName('a');
    const seen = await asCaller(async () => [
      await shown.constructed(),
      await shown.show(),
      await (await shown.fetch('http://x/')).text(),
      await (await shown.target()).show(),
      await entrypoint<Entry>('Entry').show(),
    ]);
    expect(seen).toEqual(Array(5).fill('none'));
    expect(await asCaller(async () => [await shown.show(), store()])).toEqual(['none', 'caller']);
  });

  test('[LIB6] [LIB9] code of an object keeps its own store, and gives it to no other', async () => {
    const { env } = await start();
    const own = await env.Shown.getByName('a').own('b');
    expect(own).toEqual(['none', 'own', 'own']);
  });

  test('[LIB9] an alarm has no store of the code that set it', async () => {
    const { env, clock } = await start();
    const shown = env.Shown.getByName('a');
    await asCaller(() => shown.wakeLater());
    await asCaller(() => clock.advance(1_000));
    expect(await shown.woken()).toBe('none');
  });

  test('[LIB9] a handler of a rewriter has the store of transform, whoever reads', async () => {
    const { env } = await start();
    const text = await asCaller(() => env.Shown.getByName('a').rewritten());
    expect(text).toBe('<p>transform</p>');
  });
});
