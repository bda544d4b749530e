// Our storage in a real browser as an implementation to run scenarios in.
//
// The page starts a worker, the worker runs the scenarios beside the storage. When a scenario never
// ends, the worker is replaced, and with it the page if even that does not answer.

import type { StorageMedium } from '../../../src/shared/contract/medium.ts';
import { type BrowserName, requireBrowser } from '../../browsers/browser.ts';
import { Profile } from '../../browsers/profile.ts';
import { folderMount, startServer } from '../../browsers/server.ts';
import { PlaywrightTabs, type Tab, type TabBrowser } from '../../browsers/tabs.ts';
import { requireWebKit, WebKitBrowser } from '../../browsers/webkit.ts';
import { type Corpus, knownDifferences } from './corpus.ts';
import type { ListedScenario, Result } from './scenario.ts';
import type { Implementation, ListedFile } from './suite.ts';
import type { Reply, Request } from './worker/messages.ts';

const PAGE_PATH = '/e2e/workerd/conformance/page/index.html';

interface BrowserOptions {
  readonly browser: BrowserName | 'webkitgtk';
  /** The medium; null for the best one of this browser. */
  readonly medium: StorageMedium | null;
  readonly headed: boolean;
}

interface Started {
  readonly title: string;
  readonly tabs: TabBrowser;
}

function browserOf({ browser, headed }: BrowserOptions): Started {
  if (browser === 'webkitgtk') return { title: requireWebKit(), tabs: new WebKitBrowser() };
  const found = requireBrowser(browser);
  const profile = new Profile(found, { headless: !headed });
  return {
    title: `${found.version}, ${found.executablePath}`,
    tabs: new PlaywrightTabs(profile),
  };
}

const LOAD_MS = 60_000;
const POLL_MS = 50;

/** Starts a browser with the corpus served to it. */
export async function startBrowser(
  corpus: Corpus,
  options: BrowserOptions,
): Promise<Implementation> {
  const { medium } = options;
  const { title, tabs } = browserOf(options);
  const tools = new Map(Object.entries(corpus.tools));
  const server = await startServer({
    mounts: {
      '/corpus': folderMount(corpus.directory),
      '/corpus-tools': (path) => tools.get(path.slice(1)) ?? null,
    },
    cache: options.browser,
    libraries: false,
  });
  const close = async () => {
    await tabs.remove();
    await server.close();
  };
  let tab: Tab;
  try {
    tab = await openTab();
  } catch (error) {
    await close();
    throw error;
  }
  let objectNumber = 0;

  async function openTab(): Promise<Tab> {
    const tab = await tabs.openTab(server.origin + PAGE_PATH);
    // WebKitGTK may report a page as loaded before its modules have run.
    const endMs = performance.now() + LOAD_MS;
    while (!(await tab.evaluate(() => 'conformance' in window, null))) {
      if (performance.now() > endMs) {
        throw new Error(`The page of the suite did not run its module within ${LOAD_MS / 1000} s.`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return tab;
  }

  async function call(request: Request): Promise<Reply> {
    return await tab.evaluate((r) => window.conformance.call(r), request);
  }

  async function list(file: string): Promise<ListedFile> {
    const { error, value } = await call({ op: 'list', file });
    if (error !== undefined) return { file, scenarios: [], error };
    return { file, scenarios: value as ListedScenario[] };
  }

  return {
    title: medium === null ? title : `${title}, on ${medium}`,
    known: knownDifferences(corpus),
    async list() {
      const files: ListedFile[] = [];
      for (const file of corpus.files) files.push(await list(file));
      return files;
    },
    async run(file, { name }): Promise<Result> {
      const object = `${name} ${objectNumber++}`;
      const { error, value, notice } = await call({ op: 'run', file, name, object, medium });
      if (notice !== undefined) console.error(`${name}: ${notice}`);
      if (error !== undefined) throw new Error(error);
      return value;
    },
    async restart() {
      // First away with the old worker, which may hold the files.
      await tab.close();
      tab = await openTab();
    },
    close,
  };
}
