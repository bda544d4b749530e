// Our storage in a real browser as an implementation to run scenarios in.
//
// The page starts a worker, the worker runs the scenarios beside the storage. When a scenario never
// ends, the worker is replaced, and with it the page if even that does not answer.

import type { Page } from '@playwright/test';
import { type BrowserName, requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { folderMount, startServer } from '../browsers/server.ts';
import { type Corpus, knownDifferences } from './corpus.ts';
import type { ListedScenario, Result } from './scenario.ts';
import type { Implementation, ListedFile } from './suite.ts';
import type { Reply, Request } from './worker/messages.ts';

const PAGE_PATH = '/e2e/conformance/page/index.html';

/** Starts a browser with the corpus served to it. */
export async function startBrowser(
  corpus: Corpus,
  { browser, headed }: { browser: BrowserName; headed: boolean },
): Promise<Implementation> {
  const found = requireBrowser(browser);
  const tools = new Map(Object.entries(corpus.tools));
  const server = await startServer({
    mounts: {
      '/corpus': folderMount(corpus.directory),
      '/corpus-tools': (path) => tools.get(path.slice(1)) ?? null,
    },
    cache: browser,
  });
  const profile = new Profile(found, { headless: !headed });
  const close = async () => {
    await profile.remove();
    await server.close();
  };
  let page: Page;
  try {
    await profile.launch();
    page = await openPage();
  } catch (error) {
    await close();
    throw error;
  }
  let objectNumber = 0;

  async function openPage(): Promise<Page> {
    const opened = await profile.newPage();
    opened.on('pageerror', (error) => console.error(`page: ${error.message}`));
    await opened.goto(server.origin + PAGE_PATH);
    return opened;
  }

  async function call(request: Request): Promise<Reply> {
    const crashed = new Promise<never>((_, reject) => {
      page.once('crash', () => reject(new Error('the page crashed')));
    });
    return await Promise.race([page.evaluate((r) => window.conformance.call(r), request), crashed]);
  }

  async function list(file: string): Promise<ListedFile> {
    const { error, value } = await call({ op: 'list', file });
    if (error !== undefined) return { file, scenarios: [], error };
    return { file, scenarios: value as ListedScenario[] };
  }

  return {
    title: `${found.version}, ${found.executablePath}`,
    known: knownDifferences(corpus),
    async list() {
      const files: ListedFile[] = [];
      for (const file of corpus.files) files.push(await list(file));
      return files;
    },
    async run(file, { name }): Promise<Result> {
      const object = `${name} ${objectNumber++}`;
      const { error, value, notice } = await call({ op: 'run', file, name, object });
      if (notice !== undefined) console.error(`${name}: ${notice}`);
      if (error !== undefined) throw new Error(error);
      return value;
    },
    async restart() {
      // First away with the old worker, which may hold the files.
      await page.close();
      page = await openPage();
    },
    close,
  };
}
