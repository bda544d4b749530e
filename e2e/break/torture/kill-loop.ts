// Kills a browser in the middle of writes, again and again, and audits the storage each time.
//
// Invariant: every write that was acknowledged, and so is known outside the browser, is found when the
// storage is opened again, and nothing is torn. Does not cover a power cut: a killed process has
// already passed its writes to the operating system.

import type { BrowserContext, Page } from '@playwright/test';
import { openBlank } from '../../browsers/blank-page.ts';
import { killBrowser, killRenderers } from '../../browsers/processes.ts';
import type { Profile } from '../../browsers/profile.ts';
import type { Served } from '../../browsers/server.ts';

/** Longer than a step takes on a busy machine, and shorter than a test may. */
const STEP_MS = 100_000;

export type Victim = 'renderer' | 'browser';

/** The findings of a round when it opened the storage after the kill before it. */
export interface Round {
  /** The last write acknowledged so far. */
  readonly acknowledged: number;
  /** The last write found. */
  readonly found: number;
  /** The faults, in words; empty when there are none. */
  readonly faults: readonly string[];
}

export class KillLoop {
  readonly #profile: Profile;
  readonly #server: Served;
  #context: BrowserContext | null = null;
  #acknowledged = 0;
  #onAcknowledged = (): void => {};

  constructor(profile: Profile, server: Served) {
    this.#profile = profile;
    this.#server = server;
  }

  /** Opens the storage, looks at it, lets `writes` writes be acknowledged and kills the victim. */
  async round(victim: Victim, writes: number): Promise<Round> {
    const page = await this.#open();
    const round = await this.#verify(page);
    const enough = new Promise<void>((resolve) => {
      this.#onAcknowledged = () => {
        if (this.#acknowledged >= round.found + writes) resolve();
      };
    });
    await page.evaluate(() => window.api.startWriting());
    await within(`${writes} writes`, enough);
    await this.#kill(victim, page);
    return round;
  }

  /** Opens the storage once more and looks at it. */
  async finish(): Promise<Round> {
    return await this.#verify(await this.#open());
  }

  async #open(): Promise<Page> {
    if (this.#context === null) {
      this.#context = await this.#profile.launch();
      await this.#context.exposeFunction('acknowledge', (n: number) => {
        this.#acknowledged = Math.max(this.#acknowledged, n);
        this.#onAcknowledged();
      });
    }
    return await openBlank(await this.#newPage(this.#context), this.#server);
  }

  /** Chromium may give a new page the process that has just been killed. */
  async #newPage(context: BrowserContext): Promise<Page> {
    try {
      return await context.newPage();
    } catch (error) {
      if (!String(error).includes('Target crashed')) throw error;
      return context.newPage();
    }
  }

  async #verify(page: Page): Promise<Round> {
    const verified = page.evaluate(() => window.api.verifyWrites());
    const { last, faults } = await within('what is stored', verified);
    const acknowledged = this.#acknowledged;
    const lost =
      acknowledged > last ? [`write ${acknowledged} was acknowledged, ${last} is last`] : [];
    return { acknowledged, found: last, faults: [...lost, ...faults] };
  }

  async #kill(victim: Victim, page: Page): Promise<void> {
    const { directory } = this.#profile;
    if (victim === 'renderer') {
      const crashed = page.waitForEvent('crash');
      killRenderers(directory);
      await within('the end of the renderer', crashed);
      await page.close();
    } else {
      const closed = this.#context!.waitForEvent('close');
      killBrowser(directory);
      await within('the end of the browser', closed);
      this.#context = null;
    }
  }
}

/** Rejects with the name of the event that did not come in time. */
async function within<T>(what: string, wanted: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fact = `${what}: not within ${STEP_MS / 1000} s`;
    timer = setTimeout(() => reject(new Error(fact)), STEP_MS);
  });
  try {
    return await Promise.race([wanted, late]);
  } finally {
    clearTimeout(timer);
  }
}
