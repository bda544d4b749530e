// The instances that a page watches (`onRpcBroken`). They stay in memory until the page goes, like those
// that hold an open socket: what the page passed to them would be lost with them.

import type { PartyIo } from '../../src/stubs/party.ts';

export class WatchedInstances {
  readonly #releases = new Set<() => void>();

  /** Resolves to the reason when the instance ends; never after `end()`. */
  watch(context: Pick<PartyIo, 'retain'>): Promise<{ readonly reason: unknown }> {
    return new Promise((resolve) => {
      let release = () => {};
      const told = (reason: unknown) => {
        this.#releases.delete(release);
        resolve({ reason });
      };
      release = context.retain(told);
      this.#releases.add(release);
    });
  }

  /** The page is gone. */
  end(): void {
    for (const release of this.#releases) release();
    this.#releases.clear();
  }
}
