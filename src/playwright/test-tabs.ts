// The tabs of the app in a test's context: which one leads, and what happens when it goes.

import type { BrowserContext, Page } from '@playwright/test';
import { storageError } from '../contract/errors.ts';
import type { OriginObjects } from './origin-objects.ts';
import { HELPER_PATH } from './page/helper-protocol.ts';
import { inStep } from './steps.ts';
import { type KnownWorker, WORKERS_LIST, watchWorkers } from './worker-scripts.ts';

/** The page whose worker leads, and that worker's name. */
export interface Leader {
  readonly page: Page;
  readonly worker: string;
}

export class TestTabs {
  readonly #objects: OriginObjects;
  readonly #context: BrowserContext;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#context = objects.context;
  }

  /** Has pages that open from now on tell of their workers. */
  async watch(): Promise<void> {
    await this.#context.addInitScript(watchWorkers, { list: WORKERS_LIST, parameter: null });
  }

  /** Opens another tab of the app. */
  open(path = '/'): Promise<Page> {
    return inStep(`tabs: open ${path}`, async () => {
      const page = await this.#context.newPage();
      await page.goto(new URL(path, this.#objects.origin('tabs.open')).href);
      return page;
    });
  }

  /** The tabs of the context; the helper of this package is none of them. */
  all(): Page[] {
    return this.#context.pages().filter((page) => !isHelper(page));
  }

  /** The tab whose worker leads. */
  leader(): Promise<Page> {
    return inStep('tabs: leader', async () => (await this.find('tabs.leader')).page);
  }

  /** Closes the tab that leads, without asking its page; resolves once it is closed. */
  killLeader(): Promise<void> {
    return inStep('tabs: kill the leader', async () => {
      const { page } = await this.find('tabs.killLeader');
      await page.close({ runBeforeUnload: false });
    });
  }

  /** @throws WORKER_FAILED */
  async find(what: string): Promise<Leader> {
    const worker = (await this.#objects.ask({ op: 'leader' })) as string | null;
    for (const page of worker === null ? [] : this.all()) {
      const names = await page.evaluate(
        (list) =>
          ((globalThis as unknown as Record<string, KnownWorker[]>)[list] ?? []).map(
            ({ name }) => name,
          ),
        WORKERS_LIST,
      );
      if (names.includes(worker)) return { page, worker: worker! };
    }
    throw storageError(
      'WORKER_FAILED',
      `${what}: no tab of this context is known to lead. Tabs are watched from the moment on that the test begins: ` +
        'name `tabs` or `faults` in its parameters, and load the page in the test.',
    );
  }
}

function isHelper(page: Page): boolean {
  return URL.canParse(page.url()) && new URL(page.url()).pathname.startsWith(HELPER_PATH);
}
