// Gives access to the objects of a browser context, through the helper pages of its origins.
//
// Invariant: a context has only one of these, so that two fixtures never open two helpers.

import { storageError } from '@ctx-storage/core/errors';
import type { BrowserContext } from '@playwright/test';
import { HelperTab } from './helper-tab.ts';
import type { HarnessOptions } from './options.ts';
import {
  type DirectoryFacts,
  HELPER_PATH,
  type HelperRequest,
  type ObjectName,
} from './page/helper-protocol.ts';
import { FRONT_PARAMETER, WORKERS_LIST, watchWorkers } from './worker-scripts.ts';

const MARKED = new RegExp(`[?&]${FRONT_PARAMETER}(?:&|$)`);

type WithoutFacts<Request> = Request extends unknown ? Omit<Request, 'facts' | 'waitMs'> : never;

/** A request as callers write it; the facts that the context knows are added. */
export type ContextRequest = WithoutFacts<HelperRequest>;

export class OriginObjects {
  readonly context: BrowserContext;
  readonly options: HarnessOptions;
  readonly fronts: WorkerPreludes;
  readonly #baseUrl: string | undefined;
  readonly #tabs = new Map<string, HelperTab>();
  readonly #touched = new Map<string, ObjectName>();

  constructor(context: BrowserContext, options: HarnessOptions, baseUrl: string | undefined) {
    this.context = context;
    this.options = options;
    this.fronts = new WorkerPreludes(context);
    this.#baseUrl = baseUrl;
  }

  /** Sends a request to the helper page. @throws the page's error, or an error if the origin is not known */
  async ask(
    asked: ContextRequest,
    { waitMs = this.options.waitMs, touches = true } = {},
  ): Promise<unknown> {
    const facts = this.#factsOf(asked);
    if ('object' in asked && touches) this.touch(asked.object);
    const request = { ...asked, facts, waitMs } as HelperRequest;
    return await this.#tab(this.origin(asked.op)).ask(request);
  }

  /** Remembers an object that the test has named. */
  touch(object: ObjectName): void {
    this.#touched.set(JSON.stringify(object), object);
  }

  /** The objects that the test has named. */
  get touched(): readonly ObjectName[] {
    return [...this.#touched.values()];
  }

  /** Whether a helper page was opened. */
  get isUsed(): boolean {
    return this.#tabs.size > 0;
  }

  /** Returns the origin of the app; `what` is the beginning of a possible error. */
  origin(what: string): string {
    if (this.options.origin !== null) return this.options.origin;
    if (this.#baseUrl !== undefined) return new URL(this.#baseUrl).origin;
    for (const page of this.context.pages()) {
      const { origin, pathname, protocol } = new URL(page.url());
      const isApp = /^https?:$/.test(protocol) && !pathname.startsWith(HELPER_PATH);
      if (isApp) return origin;
    }
    throw storageError(
      'INVALID_ARGUMENT',
      `${what}: the origin of the app is not known: no page is loaded yet, and the configuration has no baseURL. ` +
        "Set use: { baseURL: 'http://localhost:5173' }, or load a page first (await page.goto(…)).",
    );
  }

  /** Returns an address of the app for a path as `page.goto` takes it; `what` is the beginning of a possible error. */
  address(what: string, path: string): string {
    const origin = this.origin(what);
    const isBase = this.#baseUrl !== undefined && new URL(this.#baseUrl).origin === origin;
    return new URL(path, isBase ? this.#baseUrl : origin).href;
  }

  #tab(origin: string): HelperTab {
    const known = this.#tabs.get(origin);
    if (known !== undefined) return known;
    const tab = new HelperTab(this.context, origin);
    this.#tabs.set(origin, tab);
    return tab;
  }

  #factsOf(asked: ContextRequest): DirectoryFacts {
    const isStorage =
      asked.op === 'storageIds' || ('object' in asked && asked.object.className === null);
    return isStorage ? this.options.storages : this.options.objects;
  }
}

/**
 * Prepends scripts to the workers of a context's pages, without a change of the app's files. There is one for all
 * scripts, because of two routes for an address only one would answer.
 */
class WorkerPreludes {
  readonly #context: BrowserContext;
  readonly #scripts: (() => string)[] = [];
  #armed: Promise<void> | null = null;

  constructor(context: BrowserContext) {
    this.#context = context;
  }

  /** Prepends the script to workers of pages that load from now on; `script` is called when a worker starts. */
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
      // The request is repeated, because the server may close an idle connection just when it is used.
      const response = await route.fetch({ url: address, maxRetries: 2 });
      if (!response.ok()) return await route.fulfill({ response });
      const front = this.#scripts.map((script) => script());
      await route.fulfill({ response, body: [...front, await response.text()].join('\n') });
    });
  }
}
