// `npm test`: everything, in order, with one count at the end.
//
// A failing step does not stop the next. Ends with code 0 only when every step ran something and
// nothing failed; the last line is the count, alone. Tests with the tag LONG run in the first browser only. With CI set, a browser that is missing is installed, or has
// failed; elsewhere it is skipped: the count says so, and the summary says how to get it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type BrowserName,
  type FoundBrowser,
  getChromium,
  getFirefox,
} from '../browsers/browser.ts';
import { LONG } from '../browsers/tags.ts';
import { getWebKit } from '../browsers/webkit.ts';
import {
  lastLineTally,
  oneCheck,
  playwrightTally,
  runStep,
  type Step,
  type StepResult,
  summary,
  type Tally,
  vitestTally,
} from './steps.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

const isContinuous = Boolean(process.env.CI);
if (isContinuous) {
  process.env.FIREFOX = '1';
  process.env.WEBKITGTK = '1';
}

const reports = mkdtempSync(join(tmpdir(), 'ctx-storage-reports-'));
const results: StepResult[] = [];

try {
  await run({ title: 'types', ...tool('tsc', '-b'), tally: oneCheck });
  await run({ title: 'lint', ...tool('biome', 'ci'), tally: oneCheck });

  const unitReport = join(reports, 'unit.json');
  await run({
    title: 'unit tests',
    ...tool('vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile=${unitReport}`),
    tally: () => vitestTally(unitReport),
  });

  const fuzz: Step = {
    title: 'fuzz against workerd',
    ...tool('tsx', 'e2e/fuzz/main.ts', '--seed', '1', '--count', '200'),
    tally: lastLineTally,
  };
  const packed = join(reports, 'package.tgz');
  const pack: Step = {
    title: 'package',
    ...tool('tsx', 'e2e/package/pack.ts', packed),
    tally: oneCheck,
  };
  await runSideBySide([fuzz], [pack]);

  const seen = ({ version, executablePath }: FoundBrowser) => `${version}, ${executablePath}`;
  const browsers = [
    browser('Chromium', getChromium, seen),
    browser('Firefox', getFirefox, seen),
  ].filter((found) => found !== null);
  // One after the other: each keeps two cores busy, so side by side they would only slow each other.
  const [first] = browsers;
  for (const { name } of browsers) {
    await run(endToEnd(name, packed, name === first?.name ? [] : ['--grep-invert', LONG]));
  }
  const webKit = browser('WebKitGTK', getWebKit, (version) => version);
  // These keep one core busy at most.
  await runSideBySide(
    browsers.map(({ name }) => conformance(name)),
    webKit === null ? [] : [endToEnd('webkitgtk', packed), conformance('webkitgtk')],
  );
} finally {
  rmSync(reports, { recursive: true, force: true });
}

console.log(`\n${summary(results)}`);
if (results.some(({ failed }) => failed > 0)) process.exitCode = 1;

function endToEnd(
  name: BrowserName | 'webkitgtk',
  packed: string,
  parameters: readonly string[] = [],
): Step {
  const report = join(reports, `end-to-end-${name}.json`);
  const project = ['-c', 'e2e', `--project=${name}`];
  return {
    title: `end-to-end tests in ${name}`,
    ...tool('playwright', 'test', ...project, '--retries=1', '--reporter=list,json', ...parameters),
    env: { PLAYWRIGHT_JSON_OUTPUT_NAME: report, PACKED_FILE: packed },
    tally: () => playwrightTally(report),
  };
}

function conformance(name: BrowserName | 'webkitgtk'): Step {
  return {
    title: `conformance in ${name}`,
    ...tool('tsx', 'e2e/conformance/run.ts', '--browser', name),
    tally: lastLineTally,
  };
}

/** Runs a step, printing its output as it comes. */
async function run(step: Step): Promise<void> {
  console.log(`\n── ${step.title} ──`);
  tell(await runStep(step, REPOSITORY, (lines) => process.stdout.write(lines)));
}

/** Runs the steps of each lane in order, and the lanes at once; prints the output of a step when it has ended. */
async function runSideBySide(...lanes: readonly (readonly Step[])[]): Promise<void> {
  await Promise.all(
    lanes.map(async (steps) => {
      for (const step of steps) {
        let output = '';
        const result = await runStep(step, REPOSITORY, (lines) => {
          output += lines;
        });
        process.stdout.write(`\n── ${step.title} ──\n${output}`);
        tell(result);
      }
    }),
  );
}

function tell(result: StepResult): void {
  const { title, passed, failed } = result;
  console.log(`\n── ${title}: ${passed} passed, ${failed} failed ──`);
  results.push(result);
}

/** A program of the installed packages. */
function tool(name: string, ...parameters: string[]): Pick<Step, 'command' | 'parameters'> {
  return { command: join(REPOSITORY, 'node_modules', '.bin', name), parameters };
}

// Counted as a step of its own, because without it others would silently not be run.
function browser<Found>(
  title: string,
  get: () => Found | null,
  describe: (found: Found) => string,
): Found | null {
  console.log(`\n── ${title} ──`);
  const startMs = performance.now();
  const count = (counts: Partial<Tally>, fault?: string) => {
    const seconds = (performance.now() - startMs) / 1000;
    const told = fault !== undefined && { fault };
    results.push({ title, passed: 0, failed: 0, ...counts, seconds, ...told });
  };
  try {
    const found = get();
    if (found === null) {
      const variable = title.toUpperCase();
      const reason = `${title} is not installed, so nothing was tested in it; ${variable}=1 gets it`;
      console.log(`skipped: ${reason}`);
      count({ skipped: 1 }, reason);
    } else {
      console.log(describe(found));
      count({ passed: 1 });
    }
    return found;
  } catch (error) {
    const { message } = error as Error;
    console.log(message);
    count({ failed: 1 }, message);
    return null;
  }
}
