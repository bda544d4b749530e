// The earlier moments that one session of a page has open.
//
// Invariant: a closed session holds none. A moment that its object has closed meanwhile is MOMENT_CLOSED,
// which tells the page to open it again.

import { storageError } from '../../src/contract/errors.ts';
import type { CallOf, OpenedMoment } from '../../src/contract/operations.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Moment } from '../storage/moment.ts';

export class PageMoments {
  readonly #nextId: () => number;
  readonly #open = new Map<number, Moment>();
  #isClosed = false;

  constructor(nextId: () => number) {
    this.#nextId = nextId;
  }

  /** @throws INVALID_ARGUMENT, BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL */
  async open(instance: ObjectInstance, call: CallOf<'openMoment'>): Promise<OpenedMoment> {
    const at = call.bookmark ?? call.timeMs;
    if (at === null) throw storageError('INVALID_ARGUMENT', 'at: takes a bookmark or a time.');
    const moment = await instance.storage.past.open(at);
    this.#forgetClosed();
    const id = this.#nextId();
    if (this.#isClosed) moment.close();
    else this.#open.set(id, moment);
    return { moment: id, bookmark: moment.bookmark };
  }

  /** @throws MOMENT_CLOSED */
  get(id: number): Moment {
    const moment = this.#open.get(id);
    if (moment !== undefined && !moment.isClosed) return moment;
    this.#open.delete(id);
    throw storageError(
      'MOMENT_CLOSED',
      'The earlier moment was closed: its handle was, its object was reset, or it made room for others.',
    );
  }

  end(id: number): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  /** Closes all of them, for good. */
  close(): void {
    this.#isClosed = true;
    for (const id of this.#open.keys()) this.end(id);
  }

  #forgetClosed(): void {
    for (const [id, moment] of this.#open) if (moment.isClosed) this.#open.delete(id);
  }
}
