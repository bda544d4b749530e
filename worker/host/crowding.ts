// Evicts idle instances before their time, the least recently used first, when other objects need the
// files that they have open.
//
// Invariant: only an instance that nothing uses is evicted, in a turn of its own, so that a caller that has
// just found it uses it first. As many are evicted as free the files that are wanted, counting those that
// are being closed.

import { addressKey } from '../../src/contract/object-id.ts';
import type { OpenFiles } from '../file/open-files.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/** The part of an instance that is used. */
export type Evictable = Pick<ObjectInstance, 'address' | 'context'>;

export interface CrowdingEnvironment {
  readonly files: Pick<OpenFiles, 'shortage' | 'onShort'>;
  nextTurn(task: () => void): void;
  /** How many files the instance has open. */
  openOf(instance: Evictable): number;
  /** How many files of instances that are being closed are still open. */
  closing(): number;
}

export class Crowding {
  readonly #environment: CrowdingEnvironment;
  /** In the order of their last use; some are in use again, or have ended. */
  readonly #rested = new Map<string, Evictable>();
  #isScheduled = false;

  constructor(environment: CrowdingEnvironment) {
    this.#environment = environment;
    environment.files.onShort = () => this.#schedule();
  }

  /** Nothing uses the instance now. */
  rested(instance: Evictable): void {
    const key = addressKey(instance.address);
    this.#rested.delete(key);
    this.#rested.set(key, instance);
    if (this.#environment.files.shortage > 0) this.#schedule();
  }

  /** The instance has ended. */
  ended(instance: Evictable): void {
    const key = addressKey(instance.address);
    if (this.#rested.get(key) === instance) this.#rested.delete(key);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#environment.nextTurn(() => {
      this.#isScheduled = false;
      this.#evict();
    });
  }

  #evict(): void {
    const { files, closing } = this.#environment;
    // One that is kept nevertheless rests again, at the end of the order.
    for (const [key, instance] of [...this.#rested]) {
      if (files.shortage <= closing()) return;
      if (this.#rested.get(key) === instance) this.#rested.delete(key);
      if (instance.context.isIdle && this.#environment.openOf(instance) > 0)
        instance.context.evict();
    }
  }
}
