// Ready invariants for `simulate`: effects happen once, sums stay the same, calls are linearizable, and alarms run.

import { type CallOutcome, type ClientCall, textOfCall } from './client-calls.ts';
import type { InvariantTools } from './tools.ts';

/**
 * Checks that each effect happens once. `log` reads the keys of all stored effects, and the calls mark theirs with
 * `unique()`. The key of an answered call must be stored once, of a call without an answer at most once, of a failed
 * call never.
 */
export function exactlyOnce<Table extends object>(
  log: (tools: InvariantTools<Table>) => Promise<Iterable<string>> | Iterable<string>,
): (tools: InvariantTools<Table>) => Promise<void> {
  return async (tools) => {
    const counts = new Map<string, number>();
    for (const key of await log(tools)) counts.set(key, (counts.get(key) ?? 0) + 1);
    const known = callsByKey(tools.calls);
    for (const [key, attempts] of known) {
      const count = counts.get(key) ?? 0;
      const text = textOfCall(attempts[0]!);
      const outcomes = attempts.map(({ outcome }) => outcome.kind);
      if (count > 1) {
        const cause =
          attempts.length > 1
            ? `; it was called ${attempts.length} times: ${outcomes.join(', ')}`
            : '';
        throw new Error(`Double effect: ${text} is stored ${count} times${cause}.`);
      }
      if (count === 0 && outcomes.includes('answered')) {
        throw new Error(`Lost effect: ${text} was answered, and is not stored.`);
      }
      if (count === 1 && outcomes.every((outcome) => outcome === 'failed')) {
        throw new Error(`Effect of a failed call: ${text} failed, and is stored.`);
      }
    }
    for (const key of counts.keys()) {
      if (!known.has(key)) throw new Error(`Unknown effect: no call has the key ${key}.`);
    }
  };
}

/** Checks that the sum stays as it was before the first step, or is `expected`. */
export function conserved<Table extends object>(
  sum: (tools: InvariantTools<Table>) => Promise<number> | number,
  expected?: number,
): (tools: InvariantTools<Table>) => Promise<void> {
  const first = new WeakMap<object, number>();
  return async (tools) => {
    const now = await sum(tools);
    if (!first.has(tools.run)) first.set(tools.run, expected ?? now);
    const before = first.get(tools.run)!;
    if (now !== before) throw new Error(`The sum is ${now}, not ${before}.`);
  };
}

/** Checks that alarms run: none waits for long after its time, and none was given up. */
export function noAlarmLost<Table extends object>(
  lateMsMax = 180_000,
): (tools: InvariantTools<Table>) => Promise<void> {
  return async ({ alarms, givenUpAlarms }) => {
    for (const object of givenUpAlarms) {
      throw new Error(`The alarm of ${object} was given up: its handler failed in every retry.`);
    }
    for (const { object, lateMs } of await alarms()) {
      if (lateMs > lateMsMax) throw new Error(`The alarm of ${object} is ${lateMs} ms late.`);
    }
  };
}

/** A sequential model of one object. */
export interface Model<State> {
  /** The state of an object that was never called. */
  readonly initial: State;
  /** Returns the next state, which is a new value, and the answer; undefined if the call is not part of the model. */
  apply(
    state: State,
    call: ClientCall,
  ): { readonly state: State; readonly answer: unknown } | undefined;
  /** Whether the model applies to the object. @default it applies to all */
  concerns?(object: string): boolean;
}

/** The largest number of states that the search examines for one object. */
const SEARCH_MAX = 200_000;

/**
 * Checks that the answers to the calls of each object are those of its model, if the model is called one after the
 * other in some order in which each call lies between its beginning and its end. A call without an answer may have
 * happened at any time after its beginning, or never.
 */
export function linearizable<State>(
  model: Model<State>,
): (tools: Pick<InvariantTools<object>, 'calls'>) => void {
  return ({ calls }) => {
    const objects = new Set(calls.map(({ object }) => object));
    for (const object of objects) {
      if (model.concerns?.(object) === false) continue;
      const own = calls.filter((call) => call.object === object && call.outcome.kind !== 'failed');
      checkOrder(object, model, own);
    }
  };
}

/** Searches depth first for such an order. A state that was already examined after the same calls is skipped. */
function checkOrder<State>(object: string, model: Model<State>, all: readonly ClientCall[]): void {
  const calls = all.filter((call) => model.apply(model.initial, call) !== undefined);
  const seen = new Set<string>();
  let looked = 0;
  let longest: ClientCall | undefined;
  let longestDone = -1;
  const search = (state: State, done: ReadonlySet<ClientCall>): boolean => {
    const open = calls.filter((call) => !done.has(call));
    const answered = open.filter(({ outcome }) => outcome.kind === 'answered');
    if (answered.length === 0) return true;
    const key = `${[...done].map(({ begin }) => begin).sort((a, b) => a - b)} ${JSON.stringify(state)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    looked += 1;
    if (looked > SEARCH_MAX) {
      throw new Error(
        `linearizable: ${object} has ${calls.length} calls, too many to check; make fewer steps, or a lower concurrency.`,
      );
    }
    // A call can only be next if no other call has ended before it began.
    const firstEnd = Math.min(...answered.map(({ end }) => end!));
    for (const call of open) {
      if (call.begin > firstEnd) continue;
      const next = model.apply(state, call)!;
      if (!fits(call.outcome, next.answer)) {
        if (done.size > longestDone) {
          longestDone = done.size;
          longest = call;
        }
        continue;
      }
      if (search(next.state, new Set([...done, call]))) return true;
    }
    return false;
  };
  if (search(model.initial, new Set())) return;
  const fact = longest === undefined ? '' : `: ${textOfCall(longest)} ${describe(longest.outcome)}`;
  throw new Error(`No order of the calls of ${object} explains its answers${fact}.`);
}

function fits(outcome: CallOutcome, answer: unknown): boolean {
  return outcome.kind !== 'answered' || JSON.stringify(outcome.value) === JSON.stringify(answer);
}

function describe(outcome: CallOutcome): string {
  return outcome.kind === 'answered' ? `was answered with ${JSON.stringify(outcome.value)}` : '';
}

function callsByKey(calls: readonly ClientCall[]): Map<string, ClientCall[]> {
  const known = new Map<string, ClientCall[]>();
  for (const call of calls) {
    for (const key of call.keys) known.set(key, [...(known.get(key) ?? []), call]);
  }
  return known;
}
