// Scripts that the workers of a test's pages begin with. The app's own files are unchanged.
//
// Invariant: a context has one of these, because two routes of one address would each answer it alone.
//
// Does not know what the scripts do.

import type { BrowserContext } from '@playwright/test';
import { FRONT_PARAMETER, WORKERS_LIST, watchWorkers } from './worker-scripts.ts';

const MARKED = new RegExp(`[?&]${FRONT_PARAMETER}(?:&|$)`);

export class WorkerFronts {
  readonly #context: BrowserContext;
  readonly #scripts: (() => string)[] = [];
  #armed: Promise<void> | null = null;

  constructor(context: BrowserContext) {
    this.#context = context;
  }

  /** Workers of pages that are loaded from now on begin with the script, as it is when they start. */
  async add(script: () => string): Promise<void> {
    this.#scripts.push(script);
    this.#armed ??= this.#arm();
    await this.#armed;
  }

  async #arm(): Promise<void> {
    const watched = { list: WORKERS_LIST, parameter: FRONT_PARAMETER };
    await this.#context.addInitScript(watchWorkers, watched);
    await this.#context.route(MARKED, async (route) => {
      const address = route.request().url().replace(MARKED, '');
      // An idle connection that the server closes just then is no answer of the server.
      const response = await route.fetch({ url: address, maxRetries: 2 });
      if (!response.ok()) return await route.fulfill({ response });
      const front = this.#scripts.map((script) => script());
      await route.fulfill({ response, body: [...front, await response.text()].join('\n') });
    });
  }
}
