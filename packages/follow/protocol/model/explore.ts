// Visits every state that a scenario can reach, breadth first, each once. Then checks that every run comes to rest: steps
// without faults form no circle, and end only where everything is settled.
//
// A state is the numbers of a world's parts (parts.ts), which name it exactly.
//
// Invariant: of a broken promise, the first trace that is found has the fewest steps.

import type { Defects } from './defects.ts';
import { Broken } from './device.ts';
import { Parts, type WorldNumbers } from './parts.ts';
import { checkPromises, isSettled, type Kept } from './promises.ts';
import { NO_FAULTS, type Scenario, scenario as scenarioOf } from './scenario.ts';
import { Numbers, States } from './states.ts';
import { isHit, type ModelStep, stepsOf } from './steps.ts';
import { Turns } from './turns.ts';
import { type ClientIndex, newWorld, type World } from './world.ts';

export interface Walk {
  readonly states: number;
  readonly steps: number;
  /** Most steps from the beginning to a state, by the shortest way. */
  readonly depth: number;
  readonly failure: Failure | null;
}

export interface WalkOptions {
  /** Every step is taken, also where one alone leads to the same states. */
  readonly takesAll?: boolean;
  /** Called when all states are visited that need so many steps. */
  readonly onDepth?: (depth: number, states: number) => void;
}

export interface Failure {
  readonly promise: string;
  readonly trace: readonly string[];
}

/** The walk ends at the first broken promise. */
export function explore(
  scenario: Scenario,
  defects: Defects = {},
  options: WalkOptions = {},
): Walk {
  return new Explorer(scenario, defects, options).walk();
}

class Explorer {
  readonly #scenario: Scenario;
  readonly #defects: Defects;
  readonly #options: WalkOptions;
  readonly #parts = new Parts();
  readonly #turns: Turns;
  readonly #checked: Kept = new Map();
  readonly #states = new States(5);
  readonly #parents = new Numbers();
  readonly #settled = new Set<number>();
  /** Steps that are no faults: to which states, and for each state where its steps begin. */
  readonly #to = new Numbers();
  readonly #first = new Numbers();
  #steps = 0;
  #depth = 0;

  constructor(scenario: Scenario, defects: Defects, options: WalkOptions) {
    this.#scenario = scenario;
    this.#defects = defects;
    this.#options = options;
    this.#turns = new Turns(scenario, defects, this.#parts);
  }

  walk(): Walk {
    this.#visit(this.#start(), -1);
    let levelEnd = 1;
    for (let number = 0; number < this.#states.count; number++) {
      if (number === levelEnd) {
        this.#options.onDepth?.(this.#depth, number);
        this.#depth += 1;
        levelEnd = this.#states.count;
      }
      const failure = this.#expand(number);
      if (failure !== null) return this.#result(failure);
    }
    const restless = this.#restless();
    if (restless === null) return this.#result(null);
    const promise = 'from here, a run never comes to a rest in which everything is settled';
    return this.#result({ promise, trace: this.#traceTo(restless) });
  }

  #expand(number: number): Failure | null {
    this.#first.push(this.#to.length);
    const steps = this.#stepsFrom(number);
    const eager = this.#options.takesAll ? undefined : steps.find(({ kind }) => kind === 'eager');
    for (const step of eager === undefined ? steps : [eager]) {
      this.#steps += 1;
      try {
        const to = this.#visit(this.#normal(step.next()), number);
        if (step.kind !== 'fault') this.#to.push(to);
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        return { promise: error.message, trace: [...this.#traceTo(number), step.name()] };
      }
    }
    return null;
  }

  #stepsFrom(number: number): ModelStep[] {
    const world = this.#parts.worldOf(this.#states.at(number) as unknown as WorldNumbers);
    return stepsOf(world, this.#scenario, this.#turns, this.#defects);
  }

  #start(): World {
    const { isConnected, faults } = this.#scenario;
    if (!isConnected) return this.#normal(newWorld(faults, {}));
    const idle = scenarioOf('', {});
    const turns = new Turns(idle, {}, this.#parts);
    let world = newWorld(NO_FAULTS, {});
    while (!isSettled(world, idle)) {
      world = this.#normal(stepsOf(world, idle, turns)[0]!.next());
    }
    return { ...world, faults, ghost: { past: [], commits: [world.cloud.storage] } };
  }

  /** The number of the state. */
  #visit(world: World, parent: number): number {
    const count = this.#states.count;
    const numbers = this.#parts.numbersOf(world);
    const number = this.#states.add(numbers);
    if (number < count) return number;
    checkPromises(this.#parts.worldOf(numbers), this.#scenario, this.#checked);
    this.#parents.push(parent);
    if (isSettled(world, this.#scenario)) this.#settled.add(number);
    return number;
  }

  /** Without differences that nothing can notice any more. */
  #normal(world: World): World {
    const { faults, ghost, devices } = world;
    const wires = world.wires.every(isThere) ? world.wires : world.wires.filter(isThere);
    const device = (client: ClientIndex) =>
      faults.crashes > 0 && isHit(this.#scenario, client)
        ? devices[client]
        : this.#turns.withoutCrashes(devices[client]);
    const isPlain = faults.restores > 0 || ghost.commits.length === 0;
    const kept = isPlain ? ghost : { ...ghost, commits: [] };
    return { ...world, devices: [device(0), device(1)], wires, ghost: kept };
  }

  /**
   * The state in which a run without further faults never comes to rest: it has no next step, though not everything is
   * settled; or it is on a circle of steps.
   */
  #restless(): number | null {
    const { count } = this.#states;
    const [to, first] = [this.#to, this.#first];
    first.push(to.length);
    const ways = new Int32Array(count);
    const starts = new Int32Array(count + 1);
    const resting = new Numbers();
    for (let number = 0; number < count; number++) {
      ways[number] = first.at(number + 1) - first.at(number);
      if (ways[number] !== 0) continue;
      if (!this.#settled.has(number)) return number;
      resting.push(number);
    }
    for (let i = 0; i < to.length; i++) starts[to.at(i) + 1]! += 1;
    for (let i = 0; i < count; i++) starts[i + 1]! += starts[i]!;
    const sources = new Int32Array(to.length);
    const filled = starts.slice();
    for (let number = 0; number < count; number++) {
      const end = first.at(number + 1);
      for (let i = first.at(number); i < end; i++) sources[filled[to.at(i)]!++] = number;
    }
    // A state rests if all its ways lead to states that rest.
    for (let number = resting.pop(); number !== undefined; number = resting.pop()) {
      for (let i = starts[number]!; i < starts[number + 1]!; i++) {
        const source = sources[i]!;
        ways[source]! -= 1;
        if (ways[source] === 0) resting.push(source);
      }
    }
    // Of a state that can reach a circle, some way leads on to another.
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
      const step = this.#stepsFrom(this.#parents.at(to)).find((step) => this.#leadsTo(step, to));
      trace.unshift(step!.name());
    }
    return trace;
  }

  #leadsTo(step: ModelStep, number: number): boolean {
    try {
      return this.#states.numberOf(this.#parts.numbersOf(this.#normal(step.next()))) === number;
    } catch (error) {
      if (error instanceof Broken) return false;
      throw error;
    }
  }

  #result(failure: Failure | null): Walk {
    return { states: this.#states.count, steps: this.#steps, depth: this.#depth, failure };
  }
}

/** It has an end that is open. */
function isThere({ isOpenAtDevice, isOpenAtServer }: World['wires'][number]): boolean {
  return isOpenAtDevice || isOpenAtServer;
}
