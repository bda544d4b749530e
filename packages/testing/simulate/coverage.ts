// Counts the faults and orders that the runs have tested, so that passing runs that tested nothing are noticed.

import { FAULTS, type FaultName } from './plan.ts';
import type { RunOutcome } from './run.ts';

/** The least that all runs together must have tested. */
export interface Minimum {
  /** The fraction, from 0 to 1, of the waits of the classes' methods during which a host must have ended. */
  readonly crashedAt?: number;
  /** The number of different interleavings: a method that ran during a wait of another one in the same object. */
  readonly interleavings?: number;
  /** How often each fault must have happened. */
  readonly faults?: Partial<Readonly<Record<FaultName, number>>>;
}

/** The counts of all runs together. */
export interface SimulationCoverage {
  readonly runs: number;
  readonly steps: number;
  readonly calls: number;
  /** The number of repeated calls. */
  readonly retried: number;
  /** The number of calls whose callers were not answered. */
  readonly unknown: number;
  /** How often each fault has happened. */
  readonly faults: ReadonlyMap<FaultName, number>;
  /** The places where methods have waited, such as `Account.transfer 2`. */
  readonly waits: ReadonlySet<string>;
  /** The waits during which a host has ended. */
  readonly crashedAt: ReadonlySet<string>;
  /** The interleavings: a method that ran, and the wait of another one in the same object. */
  readonly interleavings: ReadonlySet<string>;
  /** Returns the counts as a table for readers. */
  table(): string;
}

export class Coverage implements SimulationCoverage {
  runs = 0;
  steps = 0;
  calls = 0;
  retried = 0;
  unknown = 0;
  readonly faults = new Map<FaultName, number>();
  readonly waits = new Set<string>();
  readonly crashedAt = new Set<string>();
  readonly interleavings = new Set<string>();

  add({ script, calls, retried, faults, activity }: RunOutcome): void {
    this.runs += 1;
    this.steps += script.length;
    this.calls += calls.made.length;
    this.retried += retried;
    this.unknown += calls.made.filter(({ outcome }) => outcome.kind === 'unknown').length;
    for (const [name, count] of faults.counts) {
      this.faults.set(name, (this.faults.get(name) ?? 0) + count);
    }
    for (const wait of activity.waits) this.waits.add(wait);
    for (const wait of faults.crashedAt) this.crashedAt.add(wait);
    for (const pair of activity.interleavings) this.interleavings.add(pair);
  }

  table(): string {
    const happened = (Object.keys(FAULTS) as FaultName[]).map(
      (name) => `${name} ${this.faults.get(name) ?? 0}`,
    );
    const missed = [...this.waits].filter((wait) => !this.crashedAt.has(wait)).sort();
    return [
      `runs           ${this.runs}, with ${this.steps} steps and ${this.calls} calls`,
      `not answered   ${this.unknown} calls; ${this.retried} retries`,
      `faults         ${happened.join(', ')}`,
      `crashed at     ${this.crashedAt.size} of ${this.waits.size} waits${
        missed.length === 0 ? '' : `; never at ${shortenList(missed)}`
      }`,
      `interleavings  ${this.interleavings.size}`,
    ].join('\n');
  }

  /** Returns how the runs fall short of the minimum; nothing if they reach it. */
  shortOf(minimum: Minimum): string[] {
    const short: string[] = [];
    const share = this.waits.size === 0 ? 1 : this.crashedAt.size / this.waits.size;
    if (share < (minimum.crashedAt ?? 0)) {
      short.push(`a host ended at ${share.toFixed(2)} of all waits, not ${minimum.crashedAt}`);
    }
    if (this.interleavings.size < (minimum.interleavings ?? 0)) {
      short.push(`${this.interleavings.size} interleavings, not ${minimum.interleavings}`);
    }
    for (const [name, least] of Object.entries(minimum.faults ?? {})) {
      const count = this.faults.get(name as FaultName) ?? 0;
      if (count < least) short.push(`${name} happened ${count} times, not ${least}`);
    }
    return short;
  }
}

const SHOWN_MAX = 5;

function shortenList(names: readonly string[]): string {
  const rest = names.length - SHOWN_MAX;
  return `${names.slice(0, SHOWN_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
