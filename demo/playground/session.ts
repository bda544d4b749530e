// Keeps the state of the running code and its log: calls with their answers, the console, the objects.

import { computed, signal } from '@preact/signals';
import type { ConsoleEntry } from '../../packages/entries/connect-source.ts';
import { formatOnLine } from '../ui/js-literal.ts';
import {
  type Answer,
  type Failure,
  failureOf,
  LETTERS,
  type ObjectLine,
  shortened,
  type Target,
} from './calls.ts';
import type { Mistake } from './compile-worker.ts';
import { compile } from './compiler.ts';
import { outlineOf } from './outline.ts';
import { directoryOf, type Files, isSandboxed, type Project, project } from './project.ts';
import type { Runner } from './runner.ts';
import { unpackText } from './share-link.ts';

export type RunState =
  | { readonly kind: 'idle' }
  /** The code starts. `before` is an earlier version that runs meanwhile, or null. */
  | { readonly kind: 'starting'; readonly before: Runner | null }
  | { readonly kind: 'running'; readonly runner: Runner }
  /** The code could not start. `runner` is an earlier version that still runs, or null. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly runner: Runner | null };

export type LogEntry =
  | { readonly kind: 'console'; readonly id: number; readonly entry: ConsoleEntry }
  | { readonly kind: 'socket'; readonly id: number; readonly line: string }
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly title: string;
      /** The answer of the call; null while it is under way. */
      readonly answer: Answer | null;
      readonly durationMs: number;
    };

const LOG_MAX = 200;
/** How many letters of a call's arguments are shown above its answer. */
const SHOWN_MAX = 200;
/** How often new lines of the console and the socket are shown, because each change of the list is drawn. */
const SHOW_MS = 50;
/** The largest difference between the page's clock and a clock that follows the system. */
const DRIFT_MS = 1000;

export const runState = signal<RunState>({ kind: 'idle' });
/** The mistakes because of which the latest run failed, and the files that they are in. */
export const mistakes = signal<{ readonly files: Files | null; readonly list: readonly Mistake[] }>(
  {
    files: null,
    list: [],
  },
);
export const log = signal<readonly LogEntry[]>([]);
export const objects = signal<readonly ObjectLine[]>([]);
/** The time at which the clock of the objects stands still; null means that it follows the system. */
export const heldMs = signal<number | null>(null);
/** The object that the visitor calls and whose storage is shown. */
export const target = signal<Target>({ className: '', name: 'first' });

/** The bookmark of the commit whose state is shown beside the state now; null means that only the latter is shown. */
export const moment = signal<string | null>(null);
/** Whether the called object has stored something. */
export const exists = computed(() =>
  objects.value.some(
    ({ className, name }) => className === target.value.className && name === target.value.name,
  ),
);

export const runner = computed(() => ('runner' in runState.value ? runState.value.runner : null));
/** Whether the code on screen differs from the code that runs. */
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
/** The controller of the latest run, which is aborted when the run is to end or another one begins. */
let turn = new AbortController();
/** The lines that are not shown yet, the newest first. */
let unshown: readonly LogEntry[] = [];
let showTimer: ReturnType<typeof setTimeout> | undefined;

/**
 * Runs the code on screen, in place of the running code if there is any. A stranger's code runs in a sandbox.
 */
export async function run(): Promise<void> {
  const { id, files } = project.value;
  const before = ranId === id ? runner.value : null;
  if (before === null) end();
  turn.abort();
  turn = new AbortController();
  const { signal } = turn;
  runState.value = { kind: 'starting', before };
  try {
    const compiled = await compile(files, signal);
    if (signal.aborted) return;
    mistakes.value = { files, list: compiled.mistakes };
    if (compiled.mistakes.length > 0) {
      const { path, line, message } = compiled.mistakes[0]!;
      throw new SyntaxError(`${path}:${line}: ${message}`);
    }
    const next = await started(before, project.value, compiled.files, signal);
    if (signal.aborted) {
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
    showFirstObject();
  } catch (error) {
    if (signal.aborted) return;
    const failure = failureOf(error);
    const place = placeIn(failure.message) ?? placeIn(failure.stack);
    if (place !== null && mistakes.value.list.length === 0) {
      mistakes.value = { files, list: [{ ...place, column: 0, message: failure.message }] };
    }
    runState.value = { kind: 'failed', failure, runner: before };
  }
}

async function started(
  before: Runner | null,
  code: Project,
  files: Record<string, string>,
  signal: AbortSignal,
): Promise<Runner> {
  if (before?.replace != null) {
    await before.replace(files);
    return before;
  }
  before?.close();
  const { runOwn, runSandboxed } = await import('./runner.ts');
  if (!isSandboxed(code)) return runOwn(directoryOf(code), files, hear, signal);
  const data = code.data === null ? null : await unpackText(code.data);
  return runSandboxed(files, data, { hearConsole: hear, hearEnd: endBy }, signal);
}

/**
 * Ends the running code before it returns, whatever the code does. Objects of code in this origin keep their data.
 */
export function stop(): void {
  if (isSandboxed(project.value) || runState.value.kind === 'starting') {
    end();
    return;
  }
  runner.value?.stop();
  failCalls('The code was stopped.');
}

/** Shows that a sandbox has ended by itself. */
function endBy({ message }: Error): void {
  const failure: Failure = { code: 'stopped', message, stack: '' };
  turn.abort();
  failCalls(message);
  runState.value = { kind: 'failed', failure, runner: null };
}

function failCalls(message: string): void {
  const answer: Answer = { kind: 'failed', failure: { code: 'stopped', message, stack: '' } };
  log.value = log.value.map((entry) =>
    entry.kind === 'call' && entry.answer === null ? { ...entry, answer } : entry,
  );
}

/** Resets the state to that in which no code runs. */
export function end(): void {
  turn.abort();
  runner.value?.close();
  if (runState.value.kind === 'starting') runState.value.before?.close();
  ranId = '';
  runState.value = { kind: 'idle' };
  mistakes.value = { files: null, list: [] };
  objects.value = [];
  heldMs.value = null;
  clearTimeout(showTimer);
  unshown = [];
  log.value = [];
}

/** Makes a call, and shows it with its answer. */
export async function make(
  title: string,
  call: (runner: Runner) => Promise<Answer>,
): Promise<void> {
  const { value } = runner;
  if (value === null) return;
  moment.value = null;
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

/** Calls a method, and shows the call as the code that makes it. */
export function callMethod(
  object: Target,
  method: string,
  args: readonly unknown[],
): Promise<void> {
  const shown = shortened(args.map(formatOnLine).join(', '), SHOWN_MAX);
  return make(`${object.className}.${method}(${shown})`, ({ calls }) =>
    calls.call(object, method, args),
  );
}

export function hearSocket(line: string): void {
  lastId += 1;
  addSoon({ kind: 'socket', id: lastId, line: shortened(line, LETTERS.line) });
}

/** Selects an object of the shared data if it has none of the selected name. */
function showFirstObject(): void {
  const [first] = objects.value;
  if (first !== undefined && project.value.data !== null && !exists.value) {
    target.value = { className: first.className, name: first.name };
  }
}

/** Reads the list of objects again. */
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
    // A clock reports only its time. It stands still if that is the same as before or differs from the page's time.
    const stands = nowMs === heldMs.value || Math.abs(nowMs - Date.now()) > DRIFT_MS;
    heldMs.value = stands ? nowMs : null;
  } catch (error) {
    // The worker was stopped meanwhile, and the next call will report why.
    console.warn('The objects could not be listed.', error);
  }
}

/** Finds the first place in one of the files that a text, such as a stack, names. It reads only a bounded part. */
export function placeIn(text: string): { path: string; line: number } | null {
  const start = text.slice(0, LETTERS.message);
  for (const [, path, line] of start.matchAll(/([\w./-]{1,100}):(\d{1,9})/g)) {
    if (Object.hasOwn(project.value.files, path!)) return { path: path!, line: Number(line) };
  }
  return null;
}

function hear(entry: ConsoleEntry): void {
  lastId += 1;
  addSoon({ kind: 'console', id: lastId, entry });
}

/** Shows an entry at the next interval, because code may write a thousand lines a second. */
function addSoon(entry: LogEntry): void {
  if (unshown.length === 0) showTimer = setTimeout(showAll, SHOW_MS);
  unshown = [entry, ...unshown].slice(0, LOG_MAX);
}

function add(entry: LogEntry): void {
  clearTimeout(showTimer);
  unshown = [entry, ...unshown];
  showAll();
}

function showAll(): void {
  log.value = [...unshown, ...log.value].slice(0, LOG_MAX);
  unshown = [];
}
