// Visits every world that a scenario can reach, breadth first, each once. Then checks that every run comes to rest: steps
// without faults form no circle, and end only where everything is settled.
//
// Invariant: of a broken promise, the first trace that is found has the fewest steps.

import { isDefect } from '../../../src/shared/contract/invariant.ts';
import { Numbers, States } from '../../follow/protocol/model/states.ts';
import type { Defects } from './defects.ts';
import { normal } from './normal.ts';
import { brokenPromise } from './promises.ts';
import { firstWorld, type Scenario } from './scenario.ts';
import { type ModelStep, stepsOf } from './steps.ts';
import { Broken, type ModelTab, type Rest, type Shared, type World } from './world.ts';

export interface Walk {
  readonly states: number;
  readonly steps: number;
  /** Most steps from the beginning to a state, by the shortest way. */
  readonly depth: number;
  readonly failure: Failure | null;
}

export interface Failure {
  readonly promise: string;
  readonly trace: readonly string[];
}

/** The walk ends at the first broken promise. */
export function explore(scenario: Scenario, defects: Defects = {}): Walk {
  return new Explorer(scenario, defects).walk();
}

class Explorer {
  readonly #scenario: Scenario;
  readonly #defects: Defects;
  readonly #parts = new Map<string, number>();
  readonly #instances: object[] = [];
  readonly #known = new WeakMap<object, number>();
  readonly #states = new States(5);
  readonly #parents = new Numbers();
  /** Steps that are no faults: to which states, and for each state where its steps begin. */
  readonly #to = new Numbers();
  readonly #first = new Numbers();
  #steps = 0;
  #depth = 0;

  constructor(scenario: Scenario, defects: Defects) {
    this.#scenario = scenario;
    this.#defects = defects;
  }

  walk(): Walk {
    try {
      this.#visit(firstWorld(this.#scenario, this.#defects), -1);
    } catch (error) {
      return this.#result({ promise: brokenBy(error), trace: [] });
    }
    let levelEnd = 1;
    for (let number = 0; number < this.#states.count; number++) {
      if (number === levelEnd) {
        this.#depth += 1;
        levelEnd = this.#states.count;
      }
      const failure = this.#expand(number);
      if (failure !== null) return this.#result(failure);
    }
    const circling = this.#circling();
    if (circling === null) return this.#result(null);
    const promise = 'from here, a run never comes to a rest';
    return this.#result({ promise, trace: this.#traceTo(circling) });
  }

  #expand(number: number): Failure | null {
    this.#first.push(this.#to.length);
    const world = this.#worldOf(number);
    const steps = stepsOf(world, this.#defects);
    let isAtRest = true;
    for (const step of steps) {
      this.#steps += 1;
      if (step.kind !== 'fault') isAtRest = false;
      try {
        const to = this.#visit(step.next(), number);
        if (step.kind !== 'fault') this.#to.push(to);
      } catch (error) {
        return { promise: brokenBy(error), trace: [...this.#traceTo(number), step.name] };
      }
    }
    const promise = isAtRest ? brokenPromise(world) : null;
    return promise === null ? null : { promise, trace: this.#traceTo(number) };
  }

  /** The number of the state. */
  #visit(given: World, parent: number): number {
    const world = normal(given, (tab) => this.#known.has(tab));
    const { count } = this.#states;
    const [a, b, c] = world.tabs;
    const numbers = [a, b, c, world.shared, world.rest].map((part) => this.#part(part));
    const number = this.#states.add(numbers);
    if (number === count) this.#parents.push(parent);
    return number;
  }

  #part(part: object): number {
    const known = this.#known.get(part);
    if (known !== undefined) return known;
    const text = JSON.stringify(part);
    let number = this.#parts.get(text);
    if (number === undefined) {
      number = this.#instances.length;
      this.#parts.set(text, number);
      this.#instances.push(part);
    }
    this.#known.set(part, number);
    return number;
  }

  #worldOf(number: number): World {
    const parts = this.#states.at(number).map((part) => this.#instances[part]!);
    const [a, b, c] = parts as ModelTab[];
    return { tabs: [a!, b!, c!], shared: parts[3] as Shared, rest: parts[4] as Rest };
  }

  /** A state on a circle of steps that are no faults. */
  #circling(): number | null {
    const { count } = this.#states;
    const [to, first] = [this.#to, this.#first];
    first.push(to.length);
    const ways = new Int32Array(count);
    const starts = new Int32Array(count + 1);
    const resting = new Numbers();
    for (let number = 0; number < count; number++) {
      ways[number] = first.at(number + 1) - first.at(number);
      if (ways[number] === 0) resting.push(number);
    }
    for (let i = 0; i < to.length; i++) starts[to.at(i) + 1]! += 1;
    for (let i = 0; i < count; i++) starts[i + 1]! += starts[i]!;
    const sources = new Int32Array(to.length);
    const filled = starts.slice();
    for (let number = 0; number < count; number++) {
      for (let i = first.at(number); i < first.at(number + 1); i++) {
        sources[filled[to.at(i)]!++] = number;
      }
    }
    // A state rests if all its ways lead to states that rest.
    for (let number = resting.pop(); number !== undefined; number = resting.pop()) {
      for (let i = starts[number]!; i < starts[number + 1]!; i++) {
        const source = sources[i]!;
        ways[source]! -= 1;
        if (ways[source] === 0) resting.push(source);
      }
    }
    // A state that can reach a circle has a way to another such state.
    let at = ways.findIndex((left) => left > 0);
    if (at === -1) return null;
    const seen = new Set<number>();
    while (!seen.has(at)) {
      seen.add(at);
      let i = first.at(at);
      while (ways[to.at(i)] === 0) i += 1;
      at = to.at(i);
    }
    return at;
  }

  /** The steps that lead to a state, found again from the first. */
  #traceTo(number: number): string[] {
    const trace: string[] = [];
    for (let to = number; to > 0; to = this.#parents.at(to)) {
      const from = this.#parents.at(to);
      const steps = stepsOf(this.#worldOf(from), this.#defects);
      trace.unshift(steps.find((step) => this.#leadsTo(step, to))!.name);
    }
    return trace;
  }

  #leadsTo(step: ModelStep, number: number): boolean {
    try {
      return this.#visit(step.next(), -1) === number;
    } catch (error) {
      brokenBy(error);
      return false;
    }
  }

  #result(failure: Failure | null): Walk {
    return { states: this.#states.count, steps: this.#steps, depth: this.#depth, failure };
  }
}

/** The promise of the model, or the assertion of a core, that a step has broken. @throws any other error */
function brokenBy(error: unknown): string {
  if (error instanceof Broken || isDefect(error)) return (error as Error).message;
  throw error;
}
