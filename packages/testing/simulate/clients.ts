// The clients of a run. Each makes the calls of one step, and repeats calls that may then succeed, as a program's own
// client would.

import { storageError } from '@ctx-storage/core/errors';
import { type ClientCalls, textOfCall, textOfOutcome } from './client-calls.ts';
import type { Step } from './plan.ts';
import { type Attempt, scope } from './scope.ts';
import type { ScriptLine } from './script.ts';
import { Random } from './world/random.ts';
import type { World } from './world.ts';

/** A function that makes a call, alone or with the weight by which it is drawn. */
export type CallEntry = (() => unknown) | { readonly weight: number; readonly call: () => unknown };

const RETRY_DELAY_MS = 100;

export class Clients {
  /** The number of repeated calls. */
  retried = 0;
  readonly #world: World;
  readonly #calls: ClientCalls;
  readonly #retries: number;
  readonly #failed: (error: unknown) => void;
  readonly #pending = new Map<number, ScriptLine>();

  /** `failed` gets the errors of the calls' own code, such as those of assertions. */
  constructor(world: World, calls: ClientCalls, retries: number, failed: (error: unknown) => void) {
    this.#world = world;
    this.#calls = calls;
    this.#retries = retries;
    this.#failed = failed;
  }

  /** The number of calls that wait for an answer. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Describes the calls that wait for an answer. */
  get pending(): string {
    return [...this.#pending.values()].map(({ text }) => text).join(', ');
  }

  start(index: number, step: Step, line: ScriptLine, entries: readonly (() => unknown)[]): void {
    const call = this.#world.random.pick(entries);
    this.#pending.set(index, line);
    const end = () => void this.#pending.delete(index);
    this.#client(index, step, line, call).then(end, (error) => {
      end();
      this.#failed(error);
    });
  }

  async #client(index: number, step: Step, line: ScriptLine, call: () => unknown): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const of: Attempt = { step: index, attempt, keys: [] };
      const first = this.#calls.made.length;
      const show = () => this.#show(line, first, of);
      // The repeated attempt draws the same numbers, so that it makes the same call.
      const store = { world: this.#world, random: new Random(step.seed), attempt: of };
      try {
        await scope.run(store, async () => {
          const result = call();
          show();
          return result;
        });
        return;
      } catch (error) {
        if (!this.#calls.isErrorOfCall(error)) throw error;
        const isRetryable = (error as { retryable?: boolean }).retryable === true;
        if (!isRetryable || attempt >= this.#retries) return;
      } finally {
        show();
      }
      this.retried += 1;
      await this.#world.wait(RETRY_DELAY_MS * 2 ** attempt);
    }
  }

  #show(line: ScriptLine, first: number, { step, attempt }: Attempt): void {
    const made = this.#calls.made
      .slice(first)
      .filter((call) => call.step === step && call.attempt === attempt);
    if (made.length === 0) return;
    const outcomes = made.map(({ outcome }) => textOfOutcome(outcome));
    if (attempt > 0) line.notes[attempt - 1] = `again ${outcomes.join(', ')}`;
    else line.text = made.map((call, i) => `${textOfCall(call)} ${outcomes[i]}`).join(', ');
  }
}

/** Returns each call as many times as its weight says. @throws INVALID_ARGUMENT */
export function weightedCalls(entries: readonly CallEntry[]): (() => unknown)[] {
  if (!Array.isArray(entries)) throw notCalls(entries);
  const calls = (entries as readonly CallEntry[]).flatMap((entry) => {
    if (typeof entry === 'function') return [entry];
    if (typeof entry?.call !== 'function') throw notCalls(entry);
    const { weight, call } = entry;
    if (Number.isSafeInteger(weight) && weight >= 0) return Array<() => unknown>(weight).fill(call);
    throw storageError(
      'INVALID_ARGUMENT',
      `simulate: the weight of a call is a whole number from 0 on, not ${String(weight)}.`,
    );
  });
  if (calls.length > 0) return calls;
  throw storageError('INVALID_ARGUMENT', 'simulate: calls returns nothing that may happen.');
}

function notCalls(given: unknown): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `simulate: calls returns a list of functions, or of { weight, call }, not ${String(given)}.`,
  );
}
