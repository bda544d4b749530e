// A transaction that a page holds open: a critical section of the object, from the answer to `begin`
// until the page commits or rolls back.
//
//   waiting  for the events before it; nothing is open yet
//   open     the closure of ObjectStorage.transaction waits for the page
//   ended    by the page
//   lost     without the page's doing: it was refused, open for too long, or the object was reset
//
// Invariant: an open transaction has a time limit, because all others wait for it, and nothing of it
// outlives the instance: neither the limit nor the open state. Asserted where it opens.
//
// Does not know which calls join it (page-session.ts).

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { CRITICAL_SECTION_MS_MAX } from '../../../src/shared/contract/limits.ts';
import type { Frame } from '../../engine/storage/transactions.ts';
import { withinLimit } from '../instance/instance-context.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { CriticalSection } from '../io/input-gate.ts';

/**
 * Maximum time for which a transaction stays open. It is less than the limit of critical sections, which resets the
 * object.
 */
const OPEN_MS_MAX = CRITICAL_SECTION_MS_MAX - 1000;

type State =
  | { readonly kind: 'waiting' }
  | OpenState
  | { readonly kind: 'ended' }
  | { readonly kind: 'lost'; readonly error: unknown };

interface OpenState {
  readonly kind: 'open';
  readonly frame: Frame;
  readonly section: CriticalSection | null;
  /** Ends the closure, and with it the critical section; commits the frame unless it was rolled back. */
  readonly leave: () => void;
}

/** Runs the task after the delay; the result cancels it. */
export type After = (delayMs: number, task: () => void) => () => void;

export class PageTransaction {
  readonly id: number;
  readonly instance: ObjectInstance;
  readonly #after: After;
  #state: State = { kind: 'waiting' };
  /** Settles when the storage has ended the transaction. */
  #ended: Promise<void> = Promise.resolve();
  /** Resolves when the transaction no longer waits: it is open, or was refused. */
  readonly admitted: Promise<void>;
  #admit = () => {};

  constructor(id: number, instance: ObjectInstance, after: After) {
    this.id = id;
    this.instance = instance;
    this.#after = after;
    this.admitted = new Promise((resolve) => {
      const forget = instance.context.onEnd((reason) => this.refuse(reason));
      this.#admit = () => {
        resolve();
        forget();
      };
    });
  }

  get isWaiting(): boolean {
    return this.#state.kind === 'waiting';
  }

  get isOpen(): boolean {
    return this.#state.kind === 'open';
  }

  /** The critical section that calls must belong to in order to join; null unless it is open. */
  get section(): CriticalSection | null {
    return this.#state.kind === 'open' ? this.#state.section : null;
  }

  /**
   * Opens the transaction when its turn has come, and resolves then. `admit` is called first, and refuses the
   * transaction by throwing.
   */
  open(admit: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#ended = this.instance.storage.transaction((frame) => {
        admit();
        const held = this.#hold(frame);
        this.#admit();
        resolve();
        return held;
      });
      // This does nothing once the transaction is open; `commit` returns the error then.
      this.#ended.catch(reject);
    });
  }

  /** Ends a transaction that does not open: its calls reject with this reason. */
  refuse(error: unknown): void {
    if (!this.isWaiting) return;
    this.#state = { kind: 'lost', error };
    this.#admit();
  }

  /** Resolves when the transaction is committed. @throws as mustBeOpen */
  commit(): Promise<void> {
    this.#end(this.mustBeOpen());
    return this.#ended;
  }

  /** Undoes the transaction; resolves when others may run. @throws as mustBeOpen */
  rollback(): Promise<void> {
    const open = this.mustBeOpen();
    this.instance.storage.rollback(open.frame);
    this.#end(open);
    return this.#ended;
  }

  /** Returns the state of the open transaction. @throws why it was lost, or TRANSACTION_ENDED */
  mustBeOpen(): OpenState {
    if (this.#state.kind === 'open') return this.#state;
    throw this.#state.kind === 'lost' ? this.#state.error : endedTransaction();
  }

  // Holds the transaction open until the page ends it or the time is up. If the instance ends, the promise never
  // settles.
  #hold(frame: Frame): Promise<void> {
    assert(this.isWaiting, 'a transaction opened that did not wait');
    const { instance } = this;
    const retain = (onEnd: () => void) =>
      instance.context.retain(() => {
        onEnd();
        this.#loseToReset();
      });
    return withinLimit(
      { afterRealTime: this.#after, retain },
      OPEN_MS_MAX,
      () => this.#timeOut(),
      () =>
        new Promise((leave) => {
          this.#state = { kind: 'open', frame, section: instance.currentSection, leave };
        }),
    );
  }

  #end({ leave }: OpenState): void {
    this.#state = { kind: 'ended' };
    leave();
  }

  #timeOut(): void {
    if (!this.isOpen) return;
    try {
      void this.rollback();
    } catch {
      return; // The reset of the object has already rolled the transaction back.
    }
    const error = storageError(
      'TRANSACTION_TIMEOUT',
      'The transaction was open for 30 s and was rolled back; do slow work outside of it.',
    );
    this.#state = { kind: 'lost', error };
  }

  #loseToReset(): void {
    if (!this.isOpen) return;
    const error = storageError(
      'OBJECT_RESET',
      'The object was reset, which ended the transaction; start a new one.',
    );
    this.#state = { kind: 'lost', error };
  }
}

export function endedTransaction(): StorageError {
  return storageError(
    'TRANSACTION_ENDED',
    'The transaction was committed or rolled back; start a new one.',
  );
}
