// Runs a pure core: hands events to its transitions, and performs their effects.
//
// Invariant: all effects of an event are performed, in order, before the next event is handled. An event that happens
// meanwhile waits.

import { assert } from '../contract/invariant.ts';

/** The next state, and the effects to perform, as data. */
export interface MachineStep<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export class Machine<State, Event, Effect> {
  readonly #step: (state: State, event: Event) => MachineStep<State, Effect>;
  readonly #perform: (effect: Effect) => void;
  readonly #waiting: Event[] = [];
  #isPerforming = false;
  #state: State;

  constructor(
    state: State,
    step: (state: State, event: Event) => MachineStep<State, Effect>,
    perform: (effect: Effect) => void,
  ) {
    this.#state = state;
    this.#step = step;
    this.#perform = perform;
  }

  get state(): State {
    return this.#state;
  }

  /** True while effects are performed. An event that is handled now waits until all of these effects are performed. */
  get isPerforming(): boolean {
    return this.#isPerforming;
  }

  /** Handles an event before the events that wait. An effect calls this if the next events depend on its result. */
  handleNext(event: Event): void {
    assert(this.#isPerforming, 'an event came after its effect');
    this.#waiting.unshift(event);
  }

  /**
   * Handles an event, after the events before it.
   *
   * @throws the error of an effect; the effects after it are not performed
   */
  handle(event: Event): void {
    this.#waiting.push(event);
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { state, effects } = this.#step(this.#state, next);
        this.#state = state;
        for (const effect of effects) this.#perform(effect);
      }
    } finally {
      this.#isPerforming = false;
    }
  }
}
