// The earlier moments, or the comparisons of two moments, that one session of a page has open.
//
// Invariant: a closed session holds no state. A state that its object has closed is dropped when the next one is
// opened. Using such a state fails with MOMENT_CLOSED, which tells the page to open it again. No assertion keeps this:
// a page may use a state at any moment, which is no defect.
//
// Does not know: how a moment or a comparison is opened (worker/engine/storage/past.ts).

import { storageError } from '../../../src/shared/contract/errors.ts';

interface Closable {
  readonly isClosed: boolean;
  close(): void;
}

export class PageStates<State extends Closable> {
  readonly #nextId: () => number;
  readonly #closedFact: string;
  readonly #open = new Map<number, State>();
  #isClosed = false;

  /** `closedFact` is the message for a state that was closed. */
  constructor(nextId: () => number, closedFact: string) {
    this.#nextId = nextId;
    this.#closedFact = closedFact;
  }

  /** Adds a state, and returns its id in the session. */
  add(state: State): number {
    for (const [id, { isClosed }] of this.#open) if (isClosed) this.#open.delete(id);
    const id = this.#nextId();
    if (this.#isClosed) state.close();
    else this.#open.set(id, state);
    return id;
  }

  /** Returns the open state of this id. @throws MOMENT_CLOSED */
  get(id: number): State {
    const state = this.#open.get(id);
    if (state !== undefined && !state.isClosed) return state;
    this.#open.delete(id);
    throw storageError('MOMENT_CLOSED', this.#closedFact);
  }

  end(id: number): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  /** Closes all states, and holds no more. */
  close(): void {
    this.#isClosed = true;
    for (const id of this.#open.keys()) this.end(id);
  }
}
