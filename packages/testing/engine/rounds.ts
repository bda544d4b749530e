// Runs a simulation in this process, seed by seed, and shrinks failures.

import { turnOfEventLoop } from '../simulate/world/settle.ts';
import { shrink } from '../simulate/world/shrink.ts';
import { AlarmSimulation, type AlarmStep, alarmStepsOf } from './alarm-simulation.ts';
import { type BranchStep, branchStepsOf } from './branch-plan.ts';
import { BranchSimulation } from './branch-simulation.ts';
import { ClassSimulation, type ClassStep, classStepsOf } from './class-simulation.ts';
import { HostSimulation, type HostStep, hostStepsOf } from './host-simulation.ts';
import { ObjectSimulation } from './object-simulation.ts';
import { type Plan, planOf, type Step } from './plan.ts';
import { loadWatchedSqlite, type WatchedSqlite } from './watched-sqlite.ts';

/**
 * The simulated layer: single objects through many openings, on a disk of files or on rows; hosts with several objects;
 * the alarms of a host's objects; an object and its branches; or a class in the world of `simulate`.
 */
export type Layer = 'objects' | 'rows' | 'hosts' | 'alarms' | 'branches' | 'classes';

export const LAYERS: readonly Layer[] = [
  'objects',
  'rows',
  'hosts',
  'alarms',
  'branches',
  'classes',
];

export type Counts = Readonly<Record<string, number>>;

export interface Failure {
  readonly layer: Layer;
  readonly seed: number;
  /** The message of the failure, in the whole round and in the shortest round that still fails. */
  readonly fact: string;
  readonly shortFact: string;
  readonly steps: readonly string[];
}

export interface Outcome {
  readonly counts: Counts;
  readonly failures: readonly Failure[];
}

type AnyStep = Step | HostStep | AlarmStep | BranchStep | ClassStep;

/** The round of one seed, which can run with all its steps or with some of them. */
interface Round {
  readonly steps: readonly AnyStep[];
  run(steps: readonly AnyStep[]): Promise<Counts>;
}

export class Rounds {
  readonly #layer: Layer;
  readonly #sqlite: WatchedSqlite;
  /** Unhandled rejections, which count as failures. */
  readonly #unhandled: unknown[] = [];

  /** Prepares the layer. A process runs only one layer, because a SQLite module has only one VFS. */
  static async of(layer: Layer): Promise<Rounds> {
    return new Rounds(layer, loadWatchedSqlite());
  }

  private constructor(layer: Layer, sqlite: WatchedSqlite) {
    this.#layer = layer;
    this.#sqlite = sqlite;
  }

  /** From now on, an unhandled rejection fails the round. */
  watchRejections(): void {
    process.on('unhandledRejection', (reason) => this.#unhandled.push(reason));
  }

  /** Runs the seeds, and shrinks failures unless told otherwise. */
  async run(seeds: Iterable<number>, { shrinks = true } = {}): Promise<Outcome> {
    const counts: Record<string, number> = {};
    const failures: Failure[] = [];
    for (const seed of seeds) {
      const round = this.#round(seed);
      try {
        const made = await this.#runAll(round, round.steps);
        for (const [name, count] of Object.entries(made))
          counts[name] = (counts[name] ?? 0) + count;
      } catch (error) {
        failures.push(await this.#describe(seed, round, messageOf(error), shrinks));
      }
    }
    return { counts, failures };
  }

  async #describe(seed: number, round: Round, fact: string, shrinks: boolean): Promise<Failure> {
    let shortFact = fact;
    const fails = async (steps: readonly AnyStep[]) => {
      try {
        await this.#runAll(round, steps);
        return false;
      } catch (error) {
        shortFact = messageOf(error);
        return true;
      }
    };
    const steps = shrinks ? await shrink(round.steps, fails) : round.steps;
    const texts = steps.map(({ kind, seed: own }) => `${kind} ${own}`);
    return { layer: this.#layer, seed, fact, shortFact, steps: texts };
  }

  async #runAll(round: Round, steps: readonly AnyStep[]): Promise<Counts> {
    const counts = await round.run(steps);
    await turnOfEventLoop();
    const [unhandled] = this.#unhandled.splice(0);
    if (unhandled !== undefined) throw new Error(`unhandled rejection: ${messageOf(unhandled)}`);
    return counts;
  }

  #round(seed: number): Round {
    const sqlite = this.#sqlite;
    if (this.#layer === 'hosts') {
      return {
        steps: hostStepsOf(seed),
        run: (steps) => new HostSimulation(sqlite, seed, steps as HostStep[]).run(),
      };
    }
    if (this.#layer === 'alarms') {
      return {
        steps: alarmStepsOf(seed),
        run: (steps) => new AlarmSimulation(sqlite, seed, steps as AlarmStep[]).run(),
      };
    }
    if (this.#layer === 'branches') {
      return {
        steps: branchStepsOf(seed),
        run: (steps) => new BranchSimulation(sqlite, seed, steps as BranchStep[]).run(),
      };
    }
    if (this.#layer === 'classes') {
      return {
        steps: classStepsOf(seed),
        run: (steps) => new ClassSimulation(sqlite, seed, steps as ClassStep[]).run(),
      };
    }
    const plan = planOf(seed);
    return {
      steps: plan.steps,
      run: async (steps) => {
        const medium = this.#layer === 'rows' ? 'rows' : 'bytes';
        const some: Plan = { ...plan, medium, steps: steps as Step[] };
        return { ...(await new ObjectSimulation(sqlite, some).run()) };
      },
    };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
