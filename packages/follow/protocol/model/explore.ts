// Visits every state that a scenario can reach, each once, in breadth-first order. Then checks that every run comes to
// rest: steps without faults form no cycle, and end only in states where everything is settled.
//
// A state is stored as the numbers of the world's parts (parts.ts), which identify it exactly.
//
// Invariant: the trace of a broken promise has as few steps as possible.

import type { FollowerCloseReason } from '../connection.ts';
import type { Defects } from './defects.ts';
import { Broken } from './device.ts';
import { newHostileEnds } from './hostile.ts';
import { Parts, type WorldNumbers } from './parts.ts';
import { type CheckedPairs, checkPromises, isSettled } from './promises.ts';
import { NO_FAULTS, type Scenario, scenario as scenarioOf } from './scenario.ts';
import { checkServer } from './server-promises.ts';
import { Numbers, States } from './states.ts';
import { canFaultsHit, type ModelStep, stepsOf } from './steps.ts';
import { Turns } from './turns.ts';
import { type ClientIndex, newWorld, type World } from './world.ts';

export interface Walk {
  readonly states: number;
  readonly steps: number;
  /** The number of steps from the beginning to the farthest state, by the shortest path. */
  readonly depth: number;
  /** The reasons for which the server has closed connections. */
  readonly closeReasons: ReadonlySet<FollowerCloseReason>;
  readonly failure: Failure | null;
}

export interface WalkOptions {
  /** Takes every step, even where one eager step alone would lead to the same states. */
  readonly takesEveryStep?: boolean;
  /** Called when all states within this many steps are visited. */
  readonly onDepth?: (depth: number, states: number) => void;
}

export interface Failure {
  readonly promise: string;
  readonly trace: readonly string[];
}

/** Walks a scenario until every state is visited or a promise is broken. */
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
  readonly #checked: CheckedPairs = new Map();
  readonly #states = new States(5);
  readonly #parents = new Numbers();
  readonly #settled = new Set<number>();
  /** The target states of all steps that are not faults, grouped by the state in which they start. */
  readonly #targets = new Numbers();
  /** For each state, the index of its first step in `#targets`. */
  readonly #firstTarget = new Numbers();
  #steps = 0;
  #depth = 0;

  constructor(scenario: Scenario, defects: Defects, options: WalkOptions) {
    this.#scenario = scenario;
    this.#defects = defects;
    this.#options = options;
    this.#turns = new Turns(defects, this.#parts);
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
    const restless = this.#restlessState();
    if (restless === null) return this.#result(null);
    const promise = 'from here, a run never comes to a rest in which everything is settled';
    return this.#result({ promise, trace: this.#traceTo(restless) });
  }

  #expand(number: number): Failure | null {
    this.#firstTarget.push(this.#targets.length);
    const steps = this.#stepsFrom(number);
    const eager = this.#options.takesEveryStep
      ? undefined
      : steps.find(({ kind }) => kind === 'eager');
    for (const step of eager === undefined ? steps : [eager]) {
      this.#steps += 1;
      try {
        const to = this.#visit(this.#normalized(step.next()), number);
        if (step.kind !== 'fault') this.#targets.push(to);
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
    const hostile = newHostileEnds(this.#scenario.hostile);
    if (!isConnected) return this.#normalized({ ...newWorld(faults, {}), hostile });
    const idle = scenarioOf('', {});
    const turns = new Turns({}, this.#parts);
    let world = newWorld(NO_FAULTS, {});
    while (!isSettled(world, idle)) {
      world = this.#normalized(stepsOf(world, idle, turns)[0]!.next());
    }
    const ghost = { notesBeforeRestore: [], commits: [world.cloud.storage], copied: null };
    return { ...world, faults, ghost, hostile };
  }

  /** Checks a state if it is new, and returns its number. */
  #visit(world: World, parent: number): number {
    const count = this.#states.count;
    const numbers = this.#parts.numbersOf(world);
    const number = this.#states.add(numbers);
    if (number < count) return number;
    const visited = this.#parts.worldOf(numbers);
    checkPromises(visited, this.#scenario, this.#checked);
    if (this.#scenario.hostile !== null) checkServer(visited, this.#scenario);
    this.#parents.push(parent);
    if (isSettled(world, this.#scenario)) this.#settled.add(number);
    return number;
  }

  /** Removes differences between worlds that no later step can notice, so that fewer states are visited. */
  #normalized(world: World): World {
    const { faults, ghost, devices } = world;
    const wires = world.wires.every(isAnyEndOpen) ? world.wires : world.wires.filter(isAnyEndOpen);
    const device = (client: ClientIndex) =>
      faults.crashes > 0 && canFaultsHit(this.#scenario, client)
        ? devices[client]
        : this.#turns.withoutCrashes(devices[client]);
    const isGhostNeeded = faults.restores > 0 || ghost.commits.length === 0;
    const kept = isGhostNeeded ? ghost : { ...ghost, commits: [] };
    return { ...world, devices: [device(0), device(1)], wires, ghost: kept };
  }

  /**
   * Finds a state from which a run without further faults never comes to rest: the state has no next step, though not
   * everything is settled; or it is on a cycle of steps. Returns null if there is no such state.
   */
  #restlessState(): number | null {
    const { count } = this.#states;
    const [to, first] = [this.#targets, this.#firstTarget];
    first.push(to.length);
    const openSteps = new Int32Array(count);
    const starts = new Int32Array(count + 1);
    const resting = new Numbers();
    for (let number = 0; number < count; number++) {
      openSteps[number] = first.at(number + 1) - first.at(number);
      if (openSteps[number] !== 0) continue;
      if (!this.#settled.has(number)) return number;
      resting.push(number);
    }
    for (let i = 0; i < to.length; i++) starts[to.at(i) + 1]! += 1;
    for (let i = 0; i < count; i++) starts[i + 1]! += starts[i]!;
    const sources = new Int32Array(to.length);
    const nextSlots = starts.slice();
    for (let number = 0; number < count; number++) {
      const end = first.at(number + 1);
      for (let i = first.at(number); i < end; i++) sources[nextSlots[to.at(i)]!++] = number;
    }
    // A state comes to rest if all of its steps lead to states that come to rest.
    for (let number = resting.pop(); number !== undefined; number = resting.pop()) {
      for (let i = starts[number]!; i < starts[number + 1]!; i++) {
        const source = sources[i]!;
        openSteps[source]! -= 1;
        if (openSteps[source] === 0) resting.push(source);
      }
    }
    // From a state that does not come to rest, some step leads to another such state. Following these finds a cycle.
    let at = openSteps.findIndex((left) => left > 0);
    if (at === -1) return null;
    const seen = new Set<number>();
    while (!seen.has(at)) {
      seen.add(at);
      let i = first.at(at);
      while (openSteps[to.at(i)] === 0) i += 1;
      at = to.at(i);
    }
    return at;
  }

  /** Returns the steps that lead to a state, by taking them again: only states are stored, not steps. */
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
      return this.#states.numberOf(this.#parts.numbersOf(this.#normalized(step.next()))) === number;
    } catch (error) {
      if (error instanceof Broken) return false;
      throw error;
    }
  }

  #result(failure: Failure | null): Walk {
    const { closeReasons } = this.#turns;
    const counts = { states: this.#states.count, steps: this.#steps, depth: this.#depth };
    return { ...counts, closeReasons, failure };
  }
}

/** True if an end of the wire is open. */
function isAnyEndOpen({ isOpenAtDevice, isOpenAtServer }: World['wires'][number]): boolean {
  return isOpenAtDevice || isOpenAtServer;
}
