// `npm test`, `npm run test:rest`, `test:all` and `test:release`: steps in order, with one count at the end.
//
// The rest is all that `npm test` leaves out but the tests before a release, and repeats none of it. `--all` runs both;
// `--rest --with FOLDER` adds the results of `npm test` in the folder: its counts, and the package it packed.
//
// Invariant: a failing step does not stop the next. It ends with code 0 only when every step ran something and nothing
// failed. The last line is the count, alone; the lines before it list the tests that were left out, with the reason.
// `npm test` does the same with and without CI set. In the others, CI set means that a browser that is missing is
// installed, or has failed; elsewhere it is left out.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { getChromium, getFirefox } from '../browsers/browser.ts';
import { getWebKit } from '../browsers/webkit.ts';
import {
  type BrowserTitle,
  type PlannedStep,
  REPOSITORY,
  type Stage,
  stagesOfRelease,
  stagesOfRest,
  stagesOfTest,
  titlesOf,
} from './parts.ts';
import { requireWasm } from './required-wasm.ts';
import { earlierResults, runStep, type StepResult, summary } from './steps.ts';

const RESULTS = 'results.json';

requireWasm();

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    rest: { type: 'boolean', default: false },
    release: { type: 'boolean', default: false },
    with: { type: 'string' },
  },
});
const part = values.release ? 'release' : values.rest ? 'rest' : 'npm-test';
const folder =
  values.with === undefined ? join(REPOSITORY, 'test-results', part) : resolve(values.with);
const results: StepResult[] = [];
const leftOut: string[] = [];
const browsers = new Map<BrowserTitle, string | null>();

if (values.with === undefined) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
if (values.with !== undefined) results.push(...earlierResults(join(folder, RESULTS)));

if (process.env.CI && (values.rest || values.all || values.release)) {
  process.env.FIREFOX = '1';
  process.env.WEBKITGTK = '1';
}
if (values.release) await runAll(stagesOfRelease(folder));
if (part === 'npm-test') await runAll(stagesOfTest(folder));
if (values.rest || values.all) {
  await runAll(stagesOfRest(folder));
  leftOut.push('tests before a release; `npm run test:release` runs them');
} else if (part === 'npm-test') {
  writeFileSync(join(folder, RESULTS), JSON.stringify(results));
  leftOut.push(`${titlesOf(stagesOfRest(folder)).join(', ')}; \`npm run test:rest\` runs them`);
}
if (values.rest && values.with === undefined) {
  const ran = new Set(results.map(({ title }) => title));
  const others = titlesOf(stagesOfTest(folder)).filter((title) => !ran.has(title));
  leftOut.push(`${others.join(', ')}; \`npm test\` runs them`);
}

console.log(`\n${summary(results, leftOut)}`);
if (results.some(({ failed }) => failed > 0)) process.exitCode = 1;

async function runAll(stages: readonly Stage[]): Promise<void> {
  for (const lanes of stages) {
    await Promise.all(
      lanes.map(async (steps, lane) => {
        for (const step of steps) await (lane === 0 ? run(step) : runBesideOthers(step));
      }),
    );
  }
}

/** Runs a step, printing its output as it comes. */
async function run(step: PlannedStep): Promise<void> {
  if (!canRun(step)) return;
  console.log(`\n── ${step.title} ──`);
  tell(await runStep(step, REPOSITORY, (lines) => process.stdout.write(lines)));
}

/** Runs a step, printing its output when it has ended. */
async function runBesideOthers(step: PlannedStep): Promise<void> {
  if (!canRun(step)) return;
  let output = '';
  const result = await runStep(step, REPOSITORY, (lines) => {
    output += lines;
  });
  process.stdout.write(`\n── ${step.title} ──\n${output}`);
  tell(result);
}

function tell(result: StepResult): void {
  const { title, passed, failed } = result;
  console.log(`\n── ${title}: ${passed} passed, ${failed} failed ──`);
  results.push(result);
}

/** Whether the step's browser is there; if not, the step is left out. */
function canRun({ title, needs }: PlannedStep): boolean {
  if (needs === undefined) return true;
  if (!browsers.has(needs)) browsers.set(needs, missing(needs));
  const reason = browsers.get(needs)!;
  if (reason !== null) leftOut.push(`${title}: ${reason}`);
  return reason === null;
}

/** Looks for the browser, or gets it. Returns why it is missing, or null. */
function missing(title: BrowserTitle): string | null {
  console.log(`\n── ${title} ──`);
  const startMs = performance.now();
  // Counted as a step of its own, because without it others would silently not be run.
  const count = (counts: Pick<StepResult, 'passed' | 'failed' | 'fault'>) => {
    results.push({ title, ...counts, seconds: (performance.now() - startMs) / 1000 });
  };
  try {
    const found = describe(title);
    if (found !== null) {
      console.log(found);
      count({ passed: 1, failed: 0 });
      return null;
    }
    const reason = `${title} is not installed; ${title.toUpperCase()}=1 gets it`;
    console.log(reason);
    return reason;
  } catch (error) {
    const { message } = error as Error;
    console.log(message);
    count({ passed: 0, failed: 1, fault: message });
    return message;
  }
}

function describe(title: BrowserTitle): string | null {
  if (title === 'WebKitGTK') return getWebKit();
  const found = title === 'Chromium' ? getChromium() : getFirefox();
  return found && `${found.version}, ${found.executablePath}`;
}
