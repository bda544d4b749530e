// One conformance scenario: its three forms, and how each becomes a result that is plain JSON.
//
// Runs next to the storage under test: in a browser's worker, and inside workerd. A result is the
// observation of a program: a value, the name of an error, or that the object was reset.
//
// Knows nothing of files, expectations or browsers. Compiles without DOM and without Node.

/** The `ctx` of a scenario; it checks the members it needs by using them. */
export type Context = unknown;

/** The helpers handed to a scenario as `h`; opaque here. */
export type Helpers = unknown;

type Phase = (ctx: Context, h: Helpers) => unknown;

interface AlarmScenario {
  readonly start: (ctx: Context, h: Helpers, log: unknown[]) => unknown;
  readonly alarm: (ctx: Context, h: Helpers, log: unknown[], info: unknown) => unknown;
  readonly finish?: (ctx: Context, h: Helpers, log: unknown[]) => unknown;
  /** Longest wait for `until` entries of the log after `start`. */
  readonly waitMs: number;
  readonly until: number;
  /** Time given after that, for entries that must not come. */
  readonly settleMs: number;
}

/** A scenario in a form this runner knows. */
export type Form =
  | { readonly kind: 'single'; readonly run: Phase }
  | { readonly kind: 'phases'; readonly phases: readonly Phase[] }
  | { readonly kind: 'alarm'; readonly scenario: AlarmScenario };

/** The outcome of a scenario, compared as JSON text, so the order of members matters. */
export type Result = unknown;

/** The objects under test, as scenarios need them. */
export interface Objects {
  /** Delivers one event to the object; rejects when the object was reset meanwhile. */
  deliver(name: string, event: (ctx: Context) => Promise<Result>): Promise<Result>;
  /** The code that runs when the object's alarm fires. */
  setAlarmHandler(name: string, handler: (ctx: Context, info: unknown) => unknown): void;
}

/** The corpus's own tools, loaded from its folder. */
export interface Tools {
  /** Any value as JSON with type tags. */
  canonicalize(value: unknown): unknown;
  makeHelpers(): Helpers;
}

/** A scenario as the runner lists it, before it is run. */
export interface ListedScenario {
  readonly name: string;
  /** The form of the scenario; null if this runner does not know it. */
  readonly kind: Form['kind'] | null;
  /** How long it may take before it counts as hanging. */
  readonly boundMs: number;
}

// A critical section may hold an object for 30 s, and the scenario sees how that ends.
const BOUND_MS = 35_000;
const POLL_MS = 5;

/** The form of a scenario, or null when it has none that is known. */
export function formOf(scenario: unknown): Form | null {
  if (typeof scenario === 'function') return { kind: 'single', run: scenario as Phase };
  if (Array.isArray(scenario)) {
    const known = scenario.length > 0 && scenario.every((phase) => typeof phase === 'function');
    return known ? { kind: 'phases', phases: scenario } : null;
  }
  return isAlarmScenario(scenario) ? { kind: 'alarm', scenario } : null;
}

/** The entry of a scenario in the list. */
export function listed(name: string, scenario: unknown): ListedScenario {
  const form = formOf(scenario);
  if (form === null) return { name, kind: null, boundMs: 0 };
  const extraMs = form.kind === 'alarm' ? form.scenario.waitMs + form.scenario.settleMs : 0;
  return { name, kind: form.kind, boundMs: BOUND_MS + extraMs };
}

/** Runs a scenario on the object of this name, which must be fresh. */
export async function runScenario(
  form: Form,
  objectName: string,
  objects: Objects,
  tools: Tools,
): Promise<Result> {
  switch (form.kind) {
    case 'single':
      return await observe(form.run, objectName, objects, tools);
    case 'phases': {
      const results: Result[] = [];
      for (const phase of form.phases) {
        results.push(await observe(phase, objectName, objects, tools));
      }
      return results;
    }
    case 'alarm':
      return await runAlarmScenario(form.scenario, objectName, objects, tools);
  }
}

async function runAlarmScenario(
  scenario: AlarmScenario,
  objectName: string,
  objects: Objects,
  tools: Tools,
): Promise<Result> {
  const log: unknown[] = [];
  objects.setAlarmHandler(objectName, (ctx, info) =>
    scenario.alarm(ctx, tools.makeHelpers(), log, info),
  );
  const start = await observe((ctx, h) => scenario.start(ctx, h, log), objectName, objects, tools);
  const deadline = Date.now() + scenario.waitMs;
  while (log.length < scenario.until && Date.now() < deadline) await delay(POLL_MS);
  await delay(scenario.settleMs);
  const finish = scenario.finish
    ? await observe((ctx, h) => scenario.finish!(ctx, h, log), objectName, objects, tools)
    : null;
  return { log: tools.canonicalize(log), start, finish };
}

// An error of the scenario itself is caught inside the event, so a rejection of the event means that
// the object was reset.
async function observe(
  phase: Phase,
  objectName: string,
  objects: Objects,
  tools: Tools,
): Promise<Result> {
  try {
    return await objects.deliver(objectName, async (ctx) => {
      try {
        return { value: tools.canonicalize(await phase(ctx, tools.makeHelpers())) };
      } catch (error) {
        return { threw: nameOf(error) };
      }
    });
  } catch (error) {
    const { durableObjectReset } = error as { durableObjectReset?: unknown };
    return { reset: nameOf(error), durableObjectReset: durableObjectReset === true };
  }
}

function nameOf(error: unknown): string {
  const named = error !== null && typeof error === 'object' && 'name' in error;
  return named ? String(error.name) : `thrown:${typeof error}`;
}

function isAlarmScenario(scenario: unknown): scenario is AlarmScenario {
  if (typeof scenario !== 'object' || scenario === null) return false;
  const { start, alarm, finish, waitMs, until, settleMs } = scenario as Record<string, unknown>;
  return (
    typeof start === 'function' &&
    typeof alarm === 'function' &&
    (finish === undefined || typeof finish === 'function') &&
    typeof waitMs === 'number' &&
    typeof until === 'number' &&
    typeof settleMs === 'number'
  );
}

// The scope's own, before a host gives it to object code.
const { setTimeout } = globalThis;

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
