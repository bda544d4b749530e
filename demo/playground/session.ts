// What runs, and what was seen of it: calls with their answers, the console, the objects.

import { computed, signal } from '@preact/signals';
import type { ConsoleEntry } from '../../src/connect-source.ts';
import { type Answer, type Failure, failureOf, type ObjectLine, type Target } from './calls.ts';
import type { Mistake } from './compile-worker.ts';
import { compile } from './compiler.ts';
import { outlineOf } from './outline.ts';
import { project } from './project.ts';
import type { Runner } from './runner.ts';

export type RunState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly runner: Runner }
  /** An earlier version may still run. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly runner: Runner | null };

export type LogEntry =
  | { readonly kind: 'console'; readonly id: number; readonly entry: ConsoleEntry }
  | { readonly kind: 'socket'; readonly id: number; readonly line: string }
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly title: string;
      /** Null: it is under way. */
      readonly answer: Answer | null;
      readonly durationMs: number;
    };

const LOG_MAX = 200;
/** How far a clock that follows the system may seem to be off. */
const DRIFT_MS = 1000;

export const runState = signal<RunState>({ kind: 'idle' });
export const mistakes = signal<readonly Mistake[]>([]);
export const log = signal<readonly LogEntry[]>([]);
export const objects = signal<readonly ObjectLine[]>([]);
/** Where the clock of the objects stands; null: it follows the system. */
export const heldMs = signal<number | null>(null);
/** The object that is called, and whose storage is shown. */
export const target = signal<Target>({ className: '', name: 'first' });

export const runner = computed(() => ('runner' in runState.value ? runState.value.runner : null));
/** The code on screen is not the code that runs. */
export const isStale = computed(
  () => runner.value !== null && ranFiles.value !== project.value.files,
);

/** The classes in the code on screen that can be called. */
export const outline = computed(() => {
  const served = runner.value?.classes ?? [];
  const found = Object.entries(project.value.files).flatMap(([path, text]) =>
    outlineOf(path, text),
  );
  return found.filter(({ name }) => served.includes(name));
});

const ranFiles = signal<unknown>(null);
let ranId = '';
let lastId = 0;
/** Counts what was asked to run or to end; only the latest counts. */
let lastTurn = 0;

/** Runs the code on screen: for the first time, or in place of what runs. A link's code runs in a sandbox. */
export async function run(): Promise<void> {
  const { id, kind, files } = project.value;
  const before = ranId === id ? runner.value : null;
  if (before === null) end();
  lastTurn += 1;
  const turn = lastTurn;
  runState.value = { kind: 'starting' };
  try {
    const compiled = await compile(files);
    if (turn !== lastTurn) return;
    mistakes.value = compiled.mistakes;
    if (compiled.mistakes.length > 0) {
      const { path, line, message } = compiled.mistakes[0]!;
      throw new SyntaxError(`${path}:${line}: ${message}`);
    }
    const next = await started(before, id, kind, compiled.files);
    if (turn !== lastTurn) {
      next.close();
      return;
    }
    ranId = id;
    ranFiles.value = files;
    runState.value = { kind: 'running', runner: next };
    if (!next.classes.includes(target.value.className)) {
      target.value = { className: next.classes[0]!, name: target.value.name };
    }
    await refresh();
  } catch (error) {
    if (turn !== lastTurn) return;
    const failure = failureOf(error);
    const place = placeIn(failure.message) ?? placeIn(failure.stack);
    if (place !== null && mistakes.value.length === 0) {
      mistakes.value = [{ ...place, column: 0, message: failure.message }];
    }
    runState.value = { kind: 'failed', failure, runner: before };
  }
}

async function started(
  before: Runner | null,
  id: string,
  kind: 'own' | 'shared',
  files: Record<string, string>,
): Promise<Runner> {
  if (before !== null && kind === 'own') {
    await before.replace(files);
    return before;
  }
  before?.close();
  const { runOwn, runSandboxed } = await import('./runner.ts');
  return kind === 'own' ? runOwn(id, files, hear) : runSandboxed(files, hear);
}

/** Ends what runs, whatever it does. The objects of the visitor's own code keep what they stored. */
export function stop(): void {
  const { value } = runner;
  value?.stop();
  log.value = log.value.map((entry) =>
    entry.kind === 'call' && entry.answer === null ? { ...entry, answer: STOPPED } : entry,
  );
  if (project.value.kind === 'shared' || runState.value.kind === 'starting') end();
}

const STOPPED: Answer = {
  kind: 'failed',
  failure: { code: 'stopped', message: 'The code was stopped.', stack: '' },
};

/** Nothing runs any more. */
export function end(): void {
  lastTurn += 1;
  runner.value?.close();
  ranId = '';
  runState.value = { kind: 'idle' };
  mistakes.value = [];
  objects.value = [];
  heldMs.value = null;
  log.value = [];
}

/** Makes a call, and shows it with its answer. */
export async function make(
  title: string,
  call: (runner: Runner) => Promise<Answer>,
): Promise<void> {
  const { value } = runner;
  if (value === null) return;
  lastId += 1;
  const id = lastId;
  const startedMs = performance.now();
  add({ kind: 'call', id, title, answer: null, durationMs: 0 });
  const answer = await call(value).catch(
    (error): Answer => ({ kind: 'failed', failure: failureOf(error) }),
  );
  const durationMs = performance.now() - startedMs;
  log.value = log.value.map((entry) =>
    entry.id === id && entry.kind === 'call' && entry.answer === null
      ? { ...entry, answer, durationMs }
      : entry,
  );
  await refresh();
}

export function hearSocket(line: string): void {
  lastId += 1;
  add({ kind: 'socket', id: lastId, line });
}

/** Reads which objects there are. */
export async function refresh(): Promise<void> {
  const { value } = runner;
  if (value === null) return;
  try {
    const [found, nowMs] = await Promise.all([
      value.calls.objects(value.classes),
      value.calls.now(),
    ]);
    if (runner.value !== value) return;
    objects.value = found;
    // A clock says only what time it is: it stands if it says the same as before, or another time than the page's.
    const stands = nowMs === heldMs.value || Math.abs(nowMs - Date.now()) > DRIFT_MS;
    heldMs.value = stands ? nowMs : null;
  } catch (error) {
    // Its worker was stopped meanwhile; the next call says more.
    console.warn('The objects could not be listed.', error);
  }
}

/** The first place in one of the files that a text names. */
export function placeIn(text: string): { path: string; line: number } | null {
  for (const [, path, line] of text.matchAll(/([\w./-]+\.[jt]s):(\d+)/g)) {
    if (Object.hasOwn(project.value.files, path!)) return { path: path!, line: Number(line) };
  }
  return null;
}

function hear(entry: ConsoleEntry): void {
  lastId += 1;
  const { level, text, timeMs } = entry;
  // What a sandbox sends may be of any shape.
  add({
    kind: 'console',
    id: lastId,
    entry: { level, text: String(text).slice(0, 4000), timeMs: Number(timeMs) },
  });
}

function add(entry: LogEntry): void {
  log.value = [entry, ...log.value].slice(0, LOG_MAX);
}
