// Visits every state that a scenario can reach, breadth first, each once. Then checks that every run comes to rest: steps
// without faults form no circle, and end only where everything is settled.
//
// A state is known by its canonical form: every part of a world is one of few, and is numbered by its JSON; the numbers
// of the parts name the world exactly. The order of the server's clients is no part of the name: of two, the next in turn
// after one is always the other.
//
// Invariant: of a broken promise, the first trace that is found has the fewest steps.

import type { Storage } from './cloud.ts';
import type { Defects } from './defects.ts';
import { Broken, type Device } from './device.ts';
import { checkPromises, isSettled } from './promises.ts';
import { NO_FAULTS, type Scenario } from './scenario.ts';
import { stepsOf } from './steps.ts';
import { newWorld, type Wire, type World } from './world.ts';

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
}

export interface Failure {
  readonly promise: string;
  readonly trace: readonly string[];
}

/** The walk ends at the first broken promise. */
export function explore(
  scenario: Scenario,
  defects: Defects = {},
  { takesAll = false }: WalkOptions = {},
): Walk {
  return new Explorer(scenario, defects, takesAll).walk();
}

class Explorer {
  readonly #scenario: Scenario;
  readonly #defects: Defects;
  readonly #takesAll: boolean;
  readonly #names = new Names();
  /** Canonical name to number. Numbers are in order of discovery. */
  readonly #numbers = new Map<string, number>();
  readonly #parents = new Numbers();
  /** Which step of the parent it was. */
  readonly #choices = new Numbers();
  readonly #settled: number[] = [];
  /** Steps that are no faults. */
  readonly #from = new Numbers();
  readonly #to = new Numbers();
  #steps = 0;
  #depth = 0;

  constructor(scenario: Scenario, defects: Defects, takesAll: boolean) {
    this.#scenario = scenario;
    this.#defects = defects;
    this.#takesAll = takesAll;
  }

  walk(): Walk {
    let level: [number, World][] = [];
    this.#visit(this.#first(), -1, -1, level);
    while (level.length > 0) {
      const next: [number, World][] = [];
      for (const [number, world] of level) {
        const failure = this.#expand(number, world, next);
        if (failure !== null) return this.#result(failure);
      }
      if (next.length > 0) this.#depth += 1;
      level = next;
    }
    const restless = this.#restless();
    if (restless === null) return this.#result(null);
    const promise = 'from here, a run never comes to a rest in which everything is settled';
    return this.#result({ promise, trace: this.#traceTo(restless) });
  }

  #expand(number: number, world: World, next: [number, World][]): Failure | null {
    const steps = stepsOf(world, this.#scenario, this.#defects);
    const eager = this.#takesAll ? undefined : steps.find(({ kind }) => kind === 'eager');
    for (const [choice, step] of steps.entries()) {
      if (eager !== undefined && step !== eager) continue;
      this.#steps += 1;
      try {
        const after = normal(step.next());
        const to = this.#visit(after, number, choice, next);
        if (step.kind !== 'fault') {
          this.#from.push(number);
          this.#to.push(to);
        }
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        return { promise: error.message, trace: [...this.#traceTo(number), step.name()] };
      }
    }
    return null;
  }

  #first(): World {
    const { isConnected, faults } = this.#scenario;
    if (!isConnected) return normal(newWorld(faults, {}));
    const idle: Scenario = { isConnected, calls: [], faults: NO_FAULTS, faultsAt: null };
    let world = normal(newWorld(NO_FAULTS, {}));
    while (!isSettled(world, idle)) world = normal(stepsOf(world, idle, {})[0]!.next());
    return { ...world, faults, ghost: { past: [], commits: [world.cloud.storage] } };
  }

  #visit(world: World, parent: number, choice: number, found: [number, World][]): number {
    const [name, shared] = this.#names.of(world);
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    checkPromises(world, this.#scenario);
    this.#numbers.set(name, number);
    this.#parents.push(parent);
    this.#choices.push(choice);
    if (isSettled(world, this.#scenario)) this.#settled.push(number);
    found.push([number, shared]);
    return number;
  }

  /**
   * The state in which a run without further faults never comes to rest: it has no next step, though not everything is
   * settled; or it is on a circle of steps.
   */
  #restless(): number | null {
    const count = this.#numbers.size;
    const starts = new Int32Array(count + 1);
    const ways = new Int32Array(count);
    for (let i = 0; i < this.#to.length; i++) {
      starts[this.#to.at(i) + 1]! += 1;
      ways[this.#from.at(i)]! += 1;
    }
    const settled = new Set(this.#settled);
    const resting: number[] = [];
    for (let number = 0; number < count; number++) {
      if (ways[number] !== 0) continue;
      if (!settled.has(number)) return number;
      resting.push(number);
    }
    for (let i = 0; i < count; i++) starts[i + 1]! += starts[i]!;
    const sources = new Int32Array(this.#to.length);
    const filled = starts.slice();
    for (let i = 0; i < this.#to.length; i++) {
      sources[filled[this.#to.at(i)]!++] = this.#from.at(i);
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
    const next = new Map<number, number>();
    for (let i = 0; i < this.#to.length; i++) {
      if (ways[this.#to.at(i)]! > 0) next.set(this.#from.at(i), this.#to.at(i));
    }
    for (const seen = new Set<number>(); !seen.has(at); at = next.get(at)!) seen.add(at);
    return at;
  }

  /** The steps that lead to a state, made again from the first. */
  #traceTo(number: number): string[] {
    const choices: number[] = [];
    for (let at = number; at > 0; at = this.#parents.at(at)) choices.push(this.#choices.at(at));
    let world = this.#first();
    const trace: string[] = [];
    for (const choice of choices.reverse()) {
      const step = stepsOf(world, this.#scenario, this.#defects)[choice]!;
      trace.push(step.name());
      world = normal(step.next());
    }
    return trace;
  }

  #result(failure: Failure | null): Walk {
    return { states: this.#numbers.size, steps: this.#steps, depth: this.#depth, failure };
  }
}

/** Without differences that nothing can notice any more. */
function normal(world: World): World {
  const { faults, ghost } = world;
  const wires = world.wires.filter(
    ({ isOpenAtDevice, isOpenAtServer }) => isOpenAtDevice || isOpenAtServer,
  );
  const [a, b] = world.devices.map((device) => {
    if (faults.crashes > 0) return device;
    const isStaging = device.core.copy !== null || device.staged === null;
    if (isStaging && device.base.length === 1 && device.queue.length === 1) return device;
    const staged = isStaging ? device.staged : null;
    return { ...device, staged, base: device.base.slice(-1), queue: device.queue.slice(-1) };
  });
  const commits = faults.restores > 0 ? ghost.commits : [];
  return { ...world, devices: [a!, b!], wires, ghost: { ...ghost, commits } };
}

/**
 * Names of worlds, and one instance of each part: worlds that wait to be expanded share their parts. A part is known by
 * its JSON, or by the names of its own parts.
 */
class Names {
  readonly #numbers = new Map<string, number>();
  /** By number. */
  readonly #instances: unknown[] = [];
  readonly #known = new Map<object, string>();

  /** The name of a world, and the same world made of known parts. */
  of(world: World): readonly [name: string, World] {
    const { devices, cloud, wires, late, faults, ghost } = world;
    const { core, storage, slow, life } = cloud;
    const a = this.#device(devices[0]);
    const b = this.#device(devices[1]);
    const server = this.#part(
      core,
      'server',
      () => this.#map(core.clients) + this.#map(core.connections),
    );
    const stored = this.#storage(storage);
    const past = this.#part(ghost, 'ghost', () =>
      [JSON.stringify(ghost.past), ...ghost.commits.map((commit) => this.#storage(commit))].join(),
    );
    const between = this.#number(`wires ${wires.map((wire) => this.#wire(wire)).join('')}`, wires);
    const other = JSON.stringify([[...slow].sort(), life, late]) + this.#part(faults);
    const shared: World = {
      devices: [this.#instance(a), this.#instance(b)],
      cloud: { core: this.#instance(server), storage: this.#instance(stored), slow, life },
      wires: this.#instance(between),
      late,
      faults,
      ghost: this.#instance(past),
    };
    return [a + b + server + stored + past + between + this.#number(other, null), shared];
  }

  #device(device: Device): string {
    return this.#part(device, 'device', ({ core, base, queue, staged, forecast, app }) => {
      const parts = [core.base, core.queue, core.link, ...base, ...queue, forecast, app];
      const names = parts.map((part) => this.#part<object>(part));
      const { client, attempted, isForecasting } = core;
      const copies = JSON.stringify([core.copy, staged]);
      return `${names.join('')}${base.length} ${copies} ${attempted} ${isForecasting} ${client}`;
    });
  }

  #storage(storage: Storage): string {
    return this.#part(
      storage,
      'storage',
      ({ notes, records }) => this.#part(notes) + this.#map(records),
    );
  }

  #wire(wire: Wire): string {
    return this.#part(
      wire,
      'wire',
      ({ id, up, down, isCut, isOpenAtDevice, isOpenAtServer, isRepeated }) => {
        const messages = [...up, ...down].map((message) => this.#part<object>(message)).join('');
        const flags = [id, up.length, isCut, isOpenAtDevice, isOpenAtServer, isRepeated].map(
          Number,
        );
        return `${messages}${flags}`;
      },
    );
  }

  #map(map: ReadonlyMap<string | number, object>): string {
    const entries = [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([key, value]) => `${key}${this.#part(value)}`).join('');
  }

  #part<T extends object>(part: T, kind = '', text: (part: T) => string = JSON.stringify): string {
    return this.#known.get(part) ?? this.#number(kind + text(part), part);
  }

  /** Two characters: the number of the text. */
  #number(text: string, part: object | null): string {
    let number = this.#numbers.get(text);
    const isNew = number === undefined;
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
      this.#instances.push(part);
    }
    const name = String.fromCharCode(number >>> 16, number & 0xffff);
    if (isNew && part !== null) this.#known.set(part, name);
    return name;
  }

  #instance<T>(name: string): T {
    return this.#instances[name.charCodeAt(0) * 0x10000 + name.charCodeAt(1)] as T;
  }
}

/** A list of whole numbers that grows. */
class Numbers {
  #content = new Int32Array(1024);
  length = 0;

  push(number: number): void {
    if (this.length === this.#content.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#content);
      this.#content = larger;
    }
    this.#content[this.length++] = number;
  }

  at(i: number): number {
    return this.#content[i]!;
  }
}
