// A browser with a profile of its own on disk, which outlives the browser and is then removed.
//
// Durability can only be tested with a persistent profile: in a private context OPFS lives in
// memory, behaves differently and is a hundred times slower.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, firefox, type Page } from '@playwright/test';
import type { FoundBrowser } from './browser.ts';

/** Keeps Chromium quiet and off the network. */
const CHROMIUM_FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export class Profile {
  readonly browser: FoundBrowser;
  readonly directory: string;
  readonly #headless: boolean;
  #context: BrowserContext | null = null;

  constructor(browser: FoundBrowser, { headless = true }: { headless?: boolean } = {}) {
    this.browser = browser;
    this.#headless = headless;
    this.directory = mkdtempSync(join(tmpdir(), `ctx-storage-${browser.name}-`));
  }

  /**
   * Starts the browser on this profile; again after `quit`, or after the browser was killed. `flags`
   * are further ones of Chromium; `without` are flags of Playwright that it does not get.
   */
  async launch(
    flags: readonly string[] = [],
    without: readonly string[] = [],
  ): Promise<BrowserContext> {
    const { name, executablePath } = this.browser;
    const options = { executablePath, headless: this.#headless };
    this.#context =
      name === 'chromium'
        ? await chromium.launchPersistentContext(this.directory, {
            ...options,
            args: [...CHROMIUM_FLAGS, ...flags],
            ignoreDefaultArgs: [...without],
            // Chromium refuses to run sandboxed as root, which containers usually are.
            chromiumSandbox: process.getuid?.() !== 0,
          })
        : // The channel speaks WebDriver BiDi, so that an unmodified Firefox will do.
          await firefox.launchPersistentContext(this.directory, {
            ...options,
            channel: 'moz-firefox',
          });
    return this.#context;
  }

  /** The browser, which was started. */
  get context(): BrowserContext {
    if (this.#context === null) throw new Error('The browser of this profile was not started.');
    return this.#context;
  }

  /** A new page of the browser, which was started. */
  async newPage(): Promise<Page> {
    return await this.context.newPage();
  }

  /** Ends the browser in the ordinary way; the profile stays. */
  async quit(): Promise<void> {
    await this.#context?.close();
    this.#context = null;
  }

  /** Ends the browser and removes the profile. */
  async remove(): Promise<void> {
    await this.quit();
    // A browser's last processes may still write for a moment.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
