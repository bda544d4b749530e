// The resources of the pages of an origin: Web Locks, open file handles, workers, memory.
//
// Seen from a page of the same origin that holds no resources itself. A file is open when an access
// handle on it is refused, so the count is right only while nobody opens files.

import type { Page } from '@playwright/test';
import { expect } from '@playwright/test';
import type { Served } from './server.ts';

/** The resources of all pages of the origin together. */
export interface Holdings {
  readonly locks: readonly string[];
  readonly openFiles: readonly string[];
  readonly workers: number;
}

const NOTHING: Holdings = { locks: [], openFiles: [], workers: 0 };

/** The memory that a page may use at the end of a test in addition to that at its start. */
const HEAP_GROWTH_BYTES_MAX = 64 * 1024 * 1024;

/** A killed worker that is busy lets go of its files within this time, on a busy machine as well. */
const LET_GO_MS = 120_000;

/** Firefox 153 has, now and then, left one question about a file unanswered; then all are asked again. */
const LIST_MS = 20_000;

/** Runs in a worker, which alone may ask for access handles. */
const LIST_OPEN_FILES = `
  const open = [];
  const entries = []; // Chromium never answers for one that is collected meanwhile
  async function walk(directory, path) {
    for await (const [name, entry] of directory.entries()) {
      entries.push(entry);
      postMessage({ at: path + name });
      if (entry.kind === 'directory') await walk(entry, path + name + '/');
      else await entry.createSyncAccessHandle().then(
        (handle) => handle.close(),
        (error) => {
          if (error.name === 'NoModificationAllowedError') open.push(path + name);
          else if (error.name !== 'NotFoundError') throw error;
        },
      );
    }
  }
  navigator.storage.getDirectory()
    .then((root) => walk(root, ''))
    .then(() => postMessage({ open }), (error) => postMessage({ error: String(error) }));
`;

export class Observer {
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  /** Brings the page to the origin of the server. */
  static async open(page: Page, server: Served): Promise<Observer> {
    await page.goto(`${server.origin}/e2e/specs/pages/observer.html`);
    return new Observer(page);
  }

  async holdings(): Promise<Holdings> {
    const pages = this.#page
      .context()
      .pages()
      .filter((page) => page !== this.#page);
    const workers = pages.reduce((count, page) => count + page.workers().length, 0);
    const seen = await this.#page.evaluate(
      async ([script, listMs]) => {
        const { held = [], pending = [] } = await navigator.locks.query();
        const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
        const worker = new Worker(address);
        const { open, error } = await new Promise<{ open: string[]; error?: string }>((resolve) => {
          let last = 'the first';
          const late = () => resolve({ open: [`not known: no answer at ${last}`] });
          const timer = setTimeout(late, listMs);
          worker.onmessage = ({ data }) => {
            last = data.at ?? last;
            if (data.at !== undefined) return;
            clearTimeout(timer);
            resolve(data);
          };
        });
        worker.terminate();
        URL.revokeObjectURL(address);
        if (error !== undefined) throw new Error(error);
        return { locks: [...held, ...pending].map(({ name }) => name ?? ''), openFiles: open };
      },
      [LIST_OPEN_FILES, LIST_MS] as const,
    );
    return { workers, ...seen };
  }

  /** Waits until the pages hold no resources. @throws Error that lists the resources held after the wait */
  async expectNothing(): Promise<void> {
    await expect
      .poll(() => this.holdings(), { timeout: LET_GO_MS, message: 'what closed pages still hold' })
      .toEqual(NOTHING);
  }
}

/** Bytes of the page's JavaScript heap after a collection. Chromium only. */
export async function heapBytes(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  await cdp.detach();
  return usedSize;
}

/** @throws with the numbers when the page's heap grew by more than a test may need */
export function expectBounded(before: number, after: number): void {
  expect(after - before, `heap of the page: ${before} bytes, now ${after}`).toBeLessThan(
    HEAP_GROWTH_BYTES_MAX,
  );
}
