// Tasks that wait at the input gate, each for its critical section, in order of arrival.

import { type CriticalSection, innermostOpen } from './critical-section.ts';

interface Waiting {
  readonly section: CriticalSection | null;
  readonly task: () => void;
}

export class WaitingTasks {
  #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(section: CriticalSection | null, task: () => void): void {
    this.#waiting.push({ section, task });
  }

  /** Removes and returns the first task of the section; undefined when none waits for it. */
  take(section: CriticalSection | null): (() => void) | undefined {
    const index = this.#waiting.findIndex((waiting) => innermostOpen(waiting.section) === section);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0]!.task;
  }

  clear(): void {
    this.#waiting = [];
  }
}
