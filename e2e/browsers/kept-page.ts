// A page of the shared browser that one test after the other uses, each at an origin of its own.
//
// To open a page and close it costs Firefox half a second of processor time, which is more than most tests need; to
// bring an open one elsewhere costs a quarter of that. Firefox may keep a document that it can go back to, with its
// workers: so the package has to let go of everything in `pagehide`, and a test ends workers of its own.
// Does not know scripts or functions that a test adds for all documents of a page: such a test opens its own.

import type { Page } from '@playwright/test';
import type { Profile } from './profile.ts';

export class KeptPage {
  readonly #profile: Profile;
  #page: Page | null = null;

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** The page; a new one after a test has closed it. */
  async open(): Promise<Page> {
    if (this.#page === null || this.#page.isClosed()) this.#page = await this.#profile.newPage();
    return this.#page;
  }

  async close(): Promise<void> {
    await this.#page?.close();
  }
}
