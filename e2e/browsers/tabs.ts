// Tabs of a browser, as far as tests need them that also run where Playwright has no driver.

import type { Page } from '@playwright/test';
import type { Profile } from './profile.ts';

export interface Tab {
  /** Runs the function on the page. It is sent as text: it sees its argument and the page, nothing else. */
  evaluate<Result, Argument>(
    run: (argument: Argument) => Result | Promise<Result>,
    argument: Argument,
  ): Promise<Result>;
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** A browser with a profile of its own, which outlives it until it is removed. */
export interface TabBrowser {
  openTab(address: string): Promise<Tab>;
  /** Ends the browser in the ordinary way, and starts it again on its profile. */
  restart(): Promise<void>;
  /** Ends the browser and removes the profile. */
  remove(): Promise<void>;
}

/** A browser that Playwright drives. It starts with its first tab. */
export class PlaywrightTabs implements TabBrowser {
  readonly #profile: Profile;
  #isRunning = false;

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  async openTab(address: string): Promise<Tab> {
    if (!this.#isRunning) await this.#profile.launch();
    this.#isRunning = true;
    const page = await this.#profile.newPage();
    page.on('pageerror', (error) => console.error(`page: ${error.message}`));
    await page.goto(address);
    return tabOf(page);
  }

  async restart(): Promise<void> {
    await this.#profile.quit();
    this.#isRunning = false;
  }

  async remove(): Promise<void> {
    await this.#profile.remove();
  }
}

function tabOf(page: Page): Tab {
  const crashed = new Promise<never>((_, reject) => {
    page.once('crash', () => reject(new Error('the page crashed')));
  });
  crashed.catch(() => {});
  return {
    evaluate: (run, argument) =>
      Promise.race([page.evaluate(run as never, argument), crashed]) as never,
    reload: async () => void (await page.reload()),
    close: () => page.close(),
  };
}
