// A state that components show, as the entry of each framework connects it: React, Vue, Svelte and Solid.
//
// Invariant: `snapshot` returns the same object until something changes.

export interface Observed<State> {
  /** On a server, and before anything is known. */
  readonly initial: State;
  /** Calls the listener after each later change, until the result is called. */
  subscribe(changed: () => void): () => void;
  snapshot(): State;
}

/** An object with the members of the state, each read when it is used. */
export function viewOf<State extends object>(initial: State, state: () => State): State {
  const view = {};
  for (const name of Object.keys(initial)) {
    Object.defineProperty(view, name, {
      get: () => state()[name as keyof State],
      enumerable: true,
    });
  }
  return view as State;
}
