// The tabs of the app in a test's context: which one leads, and how a test closes it.

import { storageError } from '@ctx-storage/core/errors';
import type { BrowserContext, Page } from '@playwright/test';
import type { OriginObjects } from './origin-objects.ts';
import { HELPER_PATH, type LeaderNames } from './page/helper-protocol.ts';
import { runAsStep } from './steps.ts';
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

  /** Makes pages that open from now on report their workers. */
  async watch(): Promise<void> {
    await this.#context.addInitScript(watchWorkers, { list: WORKERS_LIST, parameter: null });
  }

  /** Opens another tab of the app, at a path as `page.goto` takes it. @default that of `baseURL` */
  open(path = ''): Promise<Page> {
    return runAsStep(`tabs: open ${path || 'the app'}`, async () => {
      const address = this.#objects.address('tabs.open', path);
      const page = await this.#context.newPage();
      await page.goto(address);
      return page;
    });
  }

  /** Returns the tabs of the context, without the helper of this package. */
  all(): Page[] {
    return this.#context.pages().filter((page) => !isHelper(page));
  }

  /** Returns the tab whose worker leads: the leader of the app's classes, or else that of `openStorage`. */
  leader(): Promise<Page> {
    return runAsStep('tabs: leader', async () => (await this.find('tabs.leader')).page);
  }

  /** Closes the tab that leads, without asking its page, and resolves once it is closed. */
  killLeader(): Promise<void> {
    return runAsStep('tabs: kill the leader', async () => {
      const { page } = await this.find('tabs.killLeader');
      await page.close({ runBeforeUnload: false });
    });
  }

  /** Returns the page whose worker leads. @throws WORKER_FAILED */
  async find(what: string): Promise<Leader> {
    const [first] = await this.findAll(what);
    return first!;
  }

  /**
   * Returns at least one leading tab: that of the app's classes, that of `openStorage`, or both. @throws WORKER_FAILED
   */
  async findAll(what: string): Promise<Leader[]> {
    const { storages } = this.#objects.options;
    const names = (await this.#objects.ask({ op: 'leaders', storages })) as LeaderNames;
    const pages = new Map<string | null, Page>();
    for (const page of names.length === 0 ? [] : this.all()) {
      const own = await page.evaluate(
        (list) =>
          ((globalThis as unknown as Record<string, KnownWorker[]>)[list] ?? []).map(
            ({ name }) => name,
          ),
        WORKERS_LIST,
      );
      for (const name of own) pages.set(name, page);
    }
    const leaders = names.flatMap((worker) => {
      const page = pages.get(worker);
      return page === undefined ? [] : [{ page, worker }];
    });
    if (leaders.length > 0) return leaders;
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
