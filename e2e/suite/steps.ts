// The steps of `npm test`: a command each, and how its own report becomes counts.
//
// Keeps true: a step that ran nothing has failed, and so has one whose command failed while its
// report shows no failure. A test that was skipped counts as failed: nothing looks green unrun. No test
// is run twice: a test that would pass the second time has failed.
// The summary names every test that failed, because of a long output often only the end is kept.

import { type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** The number of lines of an error that the summary shows. */
const ERROR_LINES_MAX = 12;
const ERROR_LINE_LENGTH_MAX = 200;

/** The number of slowest tests that a step and the summary show. */
const SLOWEST_MAX = 10;

export interface TimedTest {
  readonly title: string;
  readonly seconds: number;
}

/** How many checks of a step passed and failed. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** The titles of tests that failed, each with the start of its error. Absent where the report tells none. */
  readonly failures?: readonly string[];
  /** The slowest tests, the slowest first. Absent where the report tells no times. */
  readonly slowest?: readonly TimedTest[];
}

export interface Step {
  readonly title: string;
  readonly command: string;
  readonly parameters: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The counts in the command's report; throws when there is no report. */
  readonly tally: (output: string, exitCode: number) => Tally;
}

export interface StepResult extends Tally {
  readonly title: string;
  readonly seconds: number;
  /** The fault of the step itself, in words. */
  readonly fault?: string;
}

/** Takes whole lines. */
export type PrintLines = (lines: string) => void;

/** Runs a step, printing its output as it comes. Never rejects. */
export async function runStep(
  step: Step,
  directory: string,
  print: PrintLines,
): Promise<StepResult> {
  const startMs = performance.now();
  const { exitCode, output, errors } = await stream(step, { cwd: directory }, print);
  const seconds = (performance.now() - startMs) / 1000;
  const tally = () => step.tally(output, exitCode);
  return { title: step.title, seconds, ...settle(exitCode, tally, errors) };
}

/** The tally of a step by its exit code, its report, and the end of its error output. */
export function settle(
  exitCode: number,
  tally: () => Tally,
  errors = '',
): Tally & { fault?: string } {
  let counted: Tally;
  try {
    counted = tally();
  } catch (error) {
    return { passed: 0, failed: 1, fault: `no report: ${(error as Error).message}` };
  }
  const { passed, failed } = counted;
  if (passed + failed === 0) return { ...counted, failed: 1, fault: 'it ran nothing' };
  if (exitCode !== 0 && failed === 0) {
    const fault = `its command ended with ${exitCode}`;
    const last = errors.split('\n').filter((line) => line.trim() !== '');
    const reason = last.slice(-ERROR_LINES_MAX).join('\n');
    return { ...counted, failed: 1, fault, failures: [failure(fault, reason)] };
  }
  return counted;
}

/** A command that is one check: it passes when it ends with 0. */
export function oneCheck(_output: string, exitCode: number): Tally {
  return exitCode === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly tags?: readonly string[];
      /** The duration in milliseconds; absent if the test did not run. */
      readonly duration?: number | null;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Decides from its tags whether a step runs a test. */
export type IsChosen = (tags: readonly string[]) => boolean;

/**
 * Counts of Vitest's JSON report; a file that could not be loaded is one failure. Tests that were not chosen belong to
 * another step, and are not counted.
 */
export function vitestTally(path: string, isChosen: IsChosen = () => true): Tally {
  const report = readJson<VitestReport>(path);
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  const tests = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ tags = [] }) => isChosen(tags));
  const failed = tests.filter(({ status }) => status !== 'passed');
  return {
    passed: tests.length - failed.length,
    failed: failed.length + broken.length,
    failures: [
      ...broken.map(({ name, message = '' }) => failure(name, message)),
      ...failed.map((test) => failure(test.fullName, test.failureMessages[0] ?? test.status)),
    ],
    slowest: slowestOf(
      tests.map(({ fullName, duration }) => timed(fullName, duration ? [duration] : [])),
    ),
  };
}

interface PlaywrightSuite {
  readonly suites?: readonly PlaywrightSuite[];
  readonly specs?: readonly {
    readonly title: string;
    readonly tests: readonly {
      readonly status: string;
      readonly results?: readonly {
        readonly error?: PlaywrightError;
        readonly duration?: number;
      }[];
    }[];
  }[];
}

interface PlaywrightError {
  readonly message?: string;
}

interface PlaywrightReport extends PlaywrightSuite {
  readonly stats: Readonly<Record<'expected' | 'unexpected' | 'flaky' | 'skipped', number>>;
  readonly errors: readonly PlaywrightError[];
}

/** Counts of Playwright's JSON report; an error outside of any test is one failure. */
export function playwrightTally(path: string): Tally {
  const report = readJson<PlaywrightReport>(path);
  const { expected, unexpected, flaky, skipped } = report.stats;
  const failed = unexpected + flaky + skipped + report.errors.length;
  const tests = testsOf(report);
  return {
    passed: expected,
    failed,
    failures: [
      ...report.errors.map(({ message = '' }) => failure('outside of tests', message)),
      ...tests
        .filter(({ status }) => status !== 'expected')
        .map(({ title, status, error }) => failure(title, error ?? status)),
    ],
    slowest: slowestOf(tests.map(({ title, durationsMs }) => timed(title, durationsMs))),
  };
}

interface PlaywrightTest {
  readonly title: string;
  readonly status: string;
  /** The error of the last run that failed. */
  readonly error: string | undefined;
  /** Milliseconds of each run of the test. */
  readonly durationsMs: readonly number[];
}

function testsOf({ suites = [], specs = [] }: PlaywrightSuite): readonly PlaywrightTest[] {
  const own = specs.flatMap(({ title, tests }) =>
    tests.map(({ status, results = [] }) => {
      const error = results.findLast(({ error }) => error !== undefined)?.error?.message;
      const durationsMs = results.map(({ duration = 0 }) => duration);
      return { title, status, error, durationsMs };
    }),
  );
  return [...own, ...suites.flatMap(testsOf)];
}

function timed(title: string, durationsMs: readonly number[]): TimedTest {
  return { title, seconds: durationsMs.reduce((sum, ms) => sum + ms, 0) / 1000 };
}

function slowestOf(tests: readonly TimedTest[]): readonly TimedTest[] {
  return [...tests].sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_MAX);
}

/** A line that names a test, and the start of its error below it. */
function failure(title: string, error: string): string {
  const lines = stripVTControlCharacters(error).split('\n').slice(0, ERROR_LINES_MAX);
  return [title, ...lines.map((line) => `  ${line.slice(0, ERROR_LINE_LENGTH_MAX)}`)].join('\n');
}

/** The counts of a last line `N passed, N failed`. */
export function lastLineTally(output: string): Tally {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  const counts = /^(\d+) passed, (\d+) failed$/.exec(line);
  if (counts === null) throw new Error(`the last line is ${JSON.stringify(line)}`);
  return { passed: Number(counts[1]), failed: Number(counts[2]) };
}

/** The results that an earlier run wrote of its steps. A run that did not get as far has failed. */
export function earlierResults(path: string): readonly StepResult[] {
  try {
    return readJson<readonly StepResult[]>(path);
  } catch (error) {
    const fault = `it left no results: ${(error as Error).message}`;
    return [{ title: 'npm test', passed: 0, failed: 1, seconds: 0, fault }];
  }
}

/**
 * The summary: the slowest tests, a line per step with its time, the tests that failed, the tests left out, then the total
 * alone on the last line.
 */
export function summary(results: readonly StepResult[], leftOut: readonly string[] = []): string {
  const width = Math.max(...results.map(({ title }) => title.length));
  const rows = results.map(({ title, passed, failed, seconds, fault }) => {
    const counts = `${String(passed).padStart(6)} passed  ${String(failed).padStart(5)} failed`;
    const note = fault === undefined ? '' : `  (${fault})`;
    return `${title.padEnd(width)}  ${counts}  ${seconds.toFixed(1).padStart(6)} s${note}`;
  });
  const failed = results.flatMap(({ title, failures = [] }) =>
    failures.map((test) => `failed, ${title}: ${test}`),
  );
  const missing = leftOut.map((what) => `left out: ${what}`);
  const timedTests = results.flatMap(({ title: step, slowest = [] }) =>
    slowest.map(({ title, seconds }) => ({ title: `${step}: ${title}`, seconds })),
  );
  const slowest = slowestOf(timedTests).map(
    ({ title, seconds }) => `slowest ${seconds.toFixed(1).padStart(6)} s  ${title}`,
  );
  return [...slowest, ...rows, ...failed, '', ...missing, totalLine(results)].join('\n');
}

/** `N passed, N failed` over all steps. */
export function totalLine(results: readonly Tally[]): string {
  const total = (kind: 'passed' | 'failed') => results.reduce((sum, tally) => sum + tally[kind], 0);
  return `${total('passed')} passed, ${total('failed')} failed`;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

function stream(
  { command, parameters, env }: Step,
  options: SpawnOptions,
  print: PrintLines,
): Promise<{ exitCode: number; output: string; errors: string }> {
  const child = spawn(command, parameters, {
    ...options,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  let printed = 0;
  const printUpTo = (end: number) => {
    if (end > printed) print(output.slice(printed, end));
    printed = Math.max(printed, end);
  };
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    printUpTo(output.lastIndexOf('\n') + 1);
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-ERROR_LINES_MAX * ERROR_LINE_LENGTH_MAX);
    process.stderr.write(text);
  });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ exitCode: 1, output, errors: error.message }));
    child.on('close', (exitCode) => {
      printUpTo(output.length);
      resolve({ exitCode: exitCode ?? 1, output, errors });
    });
  });
}
