// The browser's disk for the site under torture, as small as the site's quota: it fills, and has room again.
//
// Invariant: the quota is set from before the first write on, because Chromium's IndexedDB remembers for a while how much
// room it was told. It ends with the browser, and the next browser begins with room.
//
// Only Chromium lets a test set the quota, by its DevTools protocol. Does not know the stored data.

import type { BrowserContext, CDPSession } from '@playwright/test';

/** More than is written between two faults. */
const ROOM_BYTES = 16 * 1024 * 1024;

export class SmallDisk {
  readonly #origin: string;
  #session: CDPSession | null = null;
  #isFull = false;

  /** `origin`: without a trailing slash. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** True from `fill` until there is room again. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The browser of the site has started. A page that no fault takes holds the quota. */
  async attach(context: BrowserContext): Promise<void> {
    this.#session = await context.newCDPSession(await context.newPage());
    await this.makeRoom();
  }

  /** The browser has ended. */
  detach(): void {
    this.#session = null;
    this.#isFull = false;
  }

  /** Grants the site no more than it uses. */
  async fill(): Promise<void> {
    await this.#grant(0);
    this.#isFull = true;
  }

  async makeRoom(): Promise<void> {
    if (this.#session === null) return; // the next browser begins with room
    await this.#grant(ROOM_BYTES);
    this.#isFull = false;
  }

  async #grant(bytes: number): Promise<void> {
    if (this.#session === null) throw new Error('The browser of this disk does not run.');
    const origin = this.#origin;
    const { usage } = await this.#session.send('Storage.getUsageAndQuota', { origin });
    const quotaSize = usage + bytes;
    await this.#session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize });
  }
}
