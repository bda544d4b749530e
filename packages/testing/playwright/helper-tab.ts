// The helper page of one origin in one browser context. It is opened when it is first needed, served from this
// package's own files, and asked by the test's process.
//
// Invariant: calls made at once share one page, because a second one would mistake the first for a tab of the app.
//
// The app's server gets no request for this page; requests are answered here, before any route of the test.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { storageError } from '@ctx-storage/core/errors';
import { fromWire } from '@ctx-storage/core/wire';
import type { BrowserContext, Page, Route } from '@playwright/test';
import {
  fromText,
  HELPER_FILES,
  HELPER_FUNCTION,
  HELPER_PATH,
  type HelperAnswer,
  type HelperRequest,
  toText,
} from './page/helper-protocol.ts';

/** How much longer than the time of a request its answer may take. */
const ANSWER_MS_MAX = 60_000;

/** Files of the package, by the names under which the page loads them. */
const PACKAGE_FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  [HELPER_FILES.script]: ['playwright-helper.js', 'text/javascript'],
  [HELPER_FILES.worker]: ['playwright-worker.js', 'text/javascript'],
  [HELPER_FILES.wasm]: ['sqlite3.wasm', 'application/wasm'],
  [HELPER_FILES.late]: ['late.js', 'text/javascript'],
};

const DOCUMENT = `<!doctype html><title>ctx-storage: the helper page of a test</title>
<script type="module" src="${HELPER_FILES.script}"></script>`;

export class HelperTab {
  readonly #context: BrowserContext;
  readonly #origin: string;
  #page: Promise<Page> | null = null;

  constructor(context: BrowserContext, origin: string) {
    this.#context = context;
    this.#origin = origin;
  }

  /** Sends a request to the page, and returns its answer. @throws the page's error */
  async ask(request: HelperRequest): Promise<unknown> {
    const page = await this.#open();
    const asked = page.evaluate(
      ([name, text]) =>
        (globalThis as unknown as Record<string, (text: string) => Promise<string>>)[name!]!(text!),
      [HELPER_FUNCTION, toText(request)],
    );
    const answer = fromText(await this.#bounded(asked, request.waitMs)) as HelperAnswer;
    if ('error' in answer) throw fromWire(answer.error);
    return answer.ok;
  }

  /** Returns whether the page is the helper's own. */
  async isPage(page: Page): Promise<boolean> {
    return (await this.#page?.catch(() => null)) === page;
  }

  async #open(): Promise<Page> {
    const known = this.#page;
    if (known !== null) {
      const page = await known;
      if (!page.isClosed()) return page;
      if (this.#page !== known) return await this.#open(); // Another call has opened the next page.
    }
    const opening = this.#openNew();
    this.#page = opening;
    opening.catch(() => {
      if (this.#page === opening) this.#page = null;
    });
    return await opening;
  }

  async #openNew(): Promise<Page> {
    const page = await this.#context.newPage();
    const address = `${this.#origin}${HELPER_PATH}`;
    await page.route(`${address}**`, serve);
    await page.goto(address + HELPER_FILES.page);
    if (!(await page.evaluate(() => isSecureContext))) {
      await page.close();
      throw storageError(
        'INSECURE_CONTEXT',
        `objects: ${this.#origin} is not a secure context, in which nothing can be stored. Serve the app by ` +
          'https, or from localhost.',
      );
    }
    const isReady = await page
      .waitForFunction((name) => name in globalThis, HELPER_FUNCTION, { timeout: 30_000 })
      .then(
        () => true,
        () => false,
      );
    if (isReady) return page;
    await page.close();
    throw storageError(
      'WORKER_FAILED',
      `objects: the helper page at ${address} did not start. A ` +
        "service worker that answers every request may have answered it: set serviceWorkers: 'block'.",
    );
  }

  async #bounded<T>(asked: Promise<T>, waitMs: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const seconds = (waitMs + ANSWER_MS_MAX) / 1000;
      const message =
        `objects: the worker that leads did not answer for ${seconds} s: a query or a method that never ends ` +
        'keeps it busy.';
      timer = setTimeout(
        () => reject(storageError('WORKER_BUSY', message)),
        waitMs + ANSWER_MS_MAX,
      );
    });
    try {
      return await Promise.race([asked, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function serve(route: Route): Promise<void> {
  const path = new URL(route.request().url()).pathname.slice(HELPER_PATH.length);
  if (path === HELPER_FILES.page) {
    await route.fulfill({ contentType: 'text/html', body: DOCUMENT });
    return;
  }
  const file = PACKAGE_FILES[path];
  if (file === undefined) {
    await route.fulfill({ status: 404, body: 'no file of the helper' });
    return;
  }
  const [name, contentType] = file;
  const body = await readFile(fileURLToPath(new URL(`./${name}`, import.meta.url)));
  await route.fulfill({ contentType, body });
}
