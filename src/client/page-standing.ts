// How a page is connected, and what its worker tells unasked: the same for all handles of a directory.
//
// Does not know how a leader is found.

import type { StorageMedium } from '../contract/medium.ts';
import type { Notice } from '../rpc/notices.ts';
import type { Persistence } from './persistence.ts';
import type { Standing, StandingSource } from './status.ts';

export class PageStanding implements StandingSource {
  readonly persistence: Persistence;
  readonly #watchers = new Set<() => void>();
  readonly #listeners = new Set<(notice: Notice) => void>();
  #standing: Standing = { state: 'connecting', reason: null, medium: null };
  #isOutdated = false;

  constructor(persistence: Persistence) {
    this.persistence = persistence;
  }

  get standing(): Standing {
    return this.#standing;
  }

  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  onStanding(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  onNotice(told: (notice: Notice) => void): () => void {
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  }

  /** The medium is remembered while there is no connection. */
  change(
    state: Standing['state'],
    reason: Error | null,
    medium: StorageMedium | null = this.#standing.medium,
  ): void {
    const { standing } = this;
    const isSame = standing.state === state && standing.reason === reason;
    if (isSame && standing.medium === medium) return;
    this.#standing = { state, reason, medium };
    for (const changed of this.#watchers) changed();
  }

  /** A newer deployment leads. */
  outdate(): void {
    if (this.#isOutdated) return;
    this.#isOutdated = true;
    for (const changed of this.#watchers) changed();
  }

  tell(notice: Notice): void {
    for (const told of this.#listeners) told(notice);
  }
}
