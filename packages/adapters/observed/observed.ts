// The interface through which the entries of React, Vue, Svelte and Solid observe a state that components show.
//
// Invariant: `snapshot` returns the same object until something changes.

export interface Observed<State> {
  /** The state on a server, and before the first change. */
  readonly initial: State;
  /** Calls the listener after each change, until the returned function is called. */
  subscribe(changed: () => void): () => void;
  snapshot(): State;
}

/** Returns an object with the members of the state. Each access to a member reads the present state. */
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
