// `HTMLRewriter` in the code of objects and entry points: it is a global, and its handlers run as events of its caller.

import { afterEach, describe, expect, test } from 'vitest';
import { createObjects, DurableObject } from '../entries/node.ts';
import type { HTMLRewriter } from './html-rewriter.ts';

const START_MS = Date.UTC(2030, 0, 1);
const scope = globalThis as { HTMLRewriter?: typeof HTMLRewriter };

/**
 * Writes `Date.now()` in its handlers. Code that does not run as an event of the object would read the system's time.
 */
class Page extends DurableObject {
  fetch(): Response {
    const { kv } = this.ctx.storage;
    return new scope.HTMLRewriter!()
      .on('a', {
        async element(element) {
          element.setAttribute('before', `${Date.now()}`);
          await new Promise((resolve) => setTimeout(resolve));
          kv.put('seen', Date.now());
          element.append(`${Date.now()}`);
        },
      })
      .transform(new Response('<a></a>'));
  }

  seen() {
    return this.ctx.storage.kv.get('seen');
  }

  inSection() {
    return this.ctx.blockConcurrencyWhile(async () => {
      const { storage } = this.ctx;
      const rewriter = new scope.HTMLRewriter!().on('a', {
        element: async (element) => void element.append(`${await storage.get('none')}`),
      });
      return rewriter.transform(new Response('<a></a>')).text();
    });
  }

  store() {
    this.ctx.storage.kv.put('rewriter', new scope.HTMLRewriter!());
  }
}

const hosts = new Set<{ close(): Promise<void> }>();
async function start() {
  const host = await createObjects({ Page });
  hosts.add(host);
  await host.clock.set(START_MS);
  return { ...host, page: host.env.Page.getByName('a') };
}
afterEach(async () => {
  for (const host of hosts) await host.close();
  hosts.clear();
});

describe('handlers', () => {
  test('[HTML6] run as code of the object, also when others read the body', async () => {
    const { page, clock } = await start();
    const reading = page.fetch('http://a/').then((response) => response.text());
    await clock.advance(1);
    expect(await reading).toBe(`<a before="${START_MS}">${START_MS + 1}</a>`);
    expect(await page.seen()).toBe(START_MS + 1);
  });

  test('[HTML6] run for an entry point until its body has ended', async () => {
    const fetch = () =>
      new scope.HTMLRewriter!()
        .on('a', {
          async element(element) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            element.append('late');
          },
        })
        .transform(new Response('<a></a><a></a>'));
    const host = await createObjects({}, { exports: { default: { fetch } } });
    hosts.add(host);
    const response = await host.worker.fetch('http://a/');
    expect(await response.text()).toBe('<a>late</a><a>late</a>');
  });

  test('[HTML6] that throw fail the reading of the body', async () => {
    const fetch = () =>
      new scope.HTMLRewriter!()
        .on('a', {
          element() {
            throw new RangeError('thrown by the handler');
          },
        })
        .transform(new Response(`${'<b>'.repeat(1000)}<a>`));
    const host = await createObjects({}, { exports: { default: { fetch } } });
    hosts.add(host);
    const reader = (await host.worker.fetch('http://a/')).body!.getReader();
    const reading = async () => {
      while (!(await reader.read()).done);
    };
    await expect(reading()).rejects.toThrow('thrown by the handler');
  });

  test('[HTML6] run in the critical section that called transform', async () => {
    const { page } = await start();
    expect(await page.inSection()).toBe('<a>undefined</a>');
  });
});

describe('the class', () => {
  test('[HTML8] is a global while a host runs in Node, and cannot be stored', async () => {
    expect(scope.HTMLRewriter).toBeUndefined();
    const { page, close } = await start();
    await expect(page.store()).rejects.toMatchObject({ name: 'DataCloneError' });
    await close();
    expect(scope.HTMLRewriter).toBeUndefined();
  });
});
