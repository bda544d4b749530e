import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';
import {
  OF_FIREFOX,
  REPOSITORY,
  stagesOfRelease,
  stagesOfRest,
  stagesOfTest,
  titlesOf,
} from './parts.ts';
import {
  earlierResults,
  lastLineTally,
  oneCheck,
  playwrightTally,
  settle,
  summary,
  vitestTally,
} from './steps.ts';

const directory = mkdtempSync(join(tmpdir(), 'steps-test-'));

function report(content: unknown): string {
  const path = join(directory, `${Math.random()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe('steps of npm test', () => {
  test('a step that ran nothing has failed', () => {
    expect(settle(0, () => ({ passed: 0, failed: 0 }))).toMatchObject({ passed: 0, failed: 1 });
  });

  test('a step whose command failed has failed, whatever its report says', () => {
    const errors = `${'noise\n'.repeat(40)}\nUnhandled Error\nError: lost\n\n`;
    const tally = settle(1, () => ({ passed: 5, failed: 0 }), errors);
    expect(tally).toMatchObject({ passed: 5, failed: 1 });
    // The report names no test: the end of the error output is all that tells why.
    const lines = summary([{ title: 'unit', seconds: 1, ...tally }]).split('\n');
    expect(lines[1]).toBe('failed, unit: its command ended with 1');
    expect(lines.filter((line) => line.startsWith('  '))).toHaveLength(12);
    expect(lines).toContain('  Error: lost');
  });

  test('a step without a report has failed, whatever its exit code says', () => {
    const missing = join(directory, 'missing.json');
    expect(settle(0, () => vitestTally(missing))).toMatchObject({ passed: 0, failed: 1 });
  });

  test('a command that is one check passes or fails as a whole', () => {
    expect(settle(0, () => oneCheck('', 0))).toEqual({ passed: 1, failed: 0 });
    expect(settle(2, () => oneCheck('', 2))).toEqual({ passed: 0, failed: 1 });
  });

  test('a test file that could not be loaded counts as a failure', () => {
    const path = report({
      testResults: [
        { name: 'broken.test.ts', status: 'failed', message: 'no such file', assertionResults: [] },
        {
          name: 'whole.test.ts',
          status: 'passed',
          assertionResults: [{ fullName: 'adds', status: 'passed', failureMessages: [] }],
        },
      ],
    });
    expect(vitestTally(path)).toEqual({
      passed: 1,
      failed: 1,
      failures: ['broken.test.ts\n  no such file'],
      slowest: [{ title: 'adds', seconds: 0 }],
    });
  });

  test('a test that failed is named in the summary, with the start of its error', () => {
    const unit = vitestTally(
      report({
        testResults: [
          {
            status: 'failed',
            assertionResults: [
              { fullName: 'counts', status: 'passed', failureMessages: [] },
              { fullName: 'adds', status: 'failed', failureMessages: ['\u001b[31mis 3\u001b[39m'] },
            ],
          },
        ],
      }),
    );
    const results = [{}, { error: { message: `timed out${'\nat a line'.repeat(40)}` } }];
    const specs = [{ title: 'opens', tests: [{ status: 'unexpected', results }] }];
    const stats = { expected: 0, unexpected: 1, flaky: 0, skipped: 0 };
    const browser = playwrightTally(report({ stats, errors: [], specs }));
    const lines = summary([
      { title: 'unit', seconds: 1, ...unit },
      { title: 'browser', seconds: 1, ...browser },
    ]).split('\n');
    const first = lines.indexOf('failed, unit: adds');
    expect(lines.slice(first, first + 4)).toEqual([
      'failed, unit: adds',
      '  is 3',
      'failed, browser: opens',
      '  timed out',
    ]);
    expect(lines.length).toBeLessThan(25);
    expect(lines.at(-1)).toBe('1 passed, 2 failed');
  });

  test('skipped tests, and errors outside of tests, count as failures', () => {
    const stats = { expected: 4, unexpected: 1, flaky: 0, skipped: 2 };
    expect(playwrightTally(report({ stats, errors: [{}] }))).toMatchObject({
      passed: 4,
      failed: 4,
    });
  });

  test('a test that would pass at a second run has failed', () => {
    const specs = [
      { title: 'unsure', tests: [{ status: 'flaky' }] },
      { title: 'sure', tests: [{ status: 'expected' }] },
    ];
    const stats = { expected: 1, unexpected: 0, flaky: 1, skipped: 0 };
    const tally = settle(0, () =>
      playwrightTally(report({ stats, errors: [], suites: [{ suites: [{ specs }] }] })),
    );
    expect(tally).toMatchObject({
      passed: 1,
      failed: 1,
      failures: [expect.stringMatching(/^unsure/)],
    });
  });

  test('the ten slowest tests of all steps are listed, with the time of all their runs', () => {
    const assertionResults = Array.from({ length: 12 }, (_, i) => ({
      fullName: `unit ${i}`,
      status: 'passed',
      duration: 1000 * i,
      failureMessages: [],
    }));
    const unit = vitestTally(report({ testResults: [{ assertionResults }] }));
    const tests = [{ status: 'flaky', results: [{ duration: 4000 }, { duration: 4500 }] }];
    const stats = { expected: 0, unexpected: 0, flaky: 1, skipped: 0 };
    const browser = playwrightTally(
      report({ stats, errors: [], specs: [{ title: 'opens', tests }] }),
    );
    const lines = summary([
      { title: 'unit tests', seconds: 30, ...unit },
      { title: 'browser', seconds: 9, ...browser },
    ]).split('\n');
    expect(lines.filter((line) => line.startsWith('slowest'))).toEqual([
      'slowest   11.0 s  unit tests: unit 11',
      'slowest   10.0 s  unit tests: unit 10',
      'slowest    9.0 s  unit tests: unit 9',
      'slowest    8.5 s  browser: opens',
      ...[8, 7, 6, 5, 4, 3].map((n) => `slowest    ${n}.0 s  unit tests: unit ${n}`),
    ]);
    expect(lines.findIndex((line) => line.startsWith('browser '))).toBe(11);
  });

  test('a last line counts only when the count stands alone on it', () => {
    expect(lastLineTally('noise\n7 passed, 2 failed\n')).toEqual({ passed: 7, failed: 2 });
    expect(() => lastLineTally('total: 7 passed, 2 failed')).toThrow('last line');
  });

  test('the summary ends with the total, alone on its line', () => {
    const results = [
      { title: 'one', passed: 2, failed: 0, seconds: 1 },
      { title: 'two', passed: 3, failed: 1, seconds: 2, fault: 'why' },
    ];
    expect(summary(results).split('\n').at(-1)).toBe('5 passed, 1 failed');
  });

  test('tests left out are listed before the total, with the reason', () => {
    const results = [{ title: 'one', passed: 2, failed: 0, seconds: 1 }];
    const lines = summary(results, ['Firefox: FIREFOX=1 gets it']).split('\n');
    expect(lines.slice(-2)).toEqual(['left out: Firefox: FIREFOX=1 gets it', '2 passed, 0 failed']);
  });

  test('the rest adds the counts that npm test left, and a run that left none has failed', () => {
    const earlier = [{ title: 'one', passed: 2, failed: 1, seconds: 1 }];
    expect(earlierResults(report(earlier))).toEqual(earlier);
    const [lost] = earlierResults(join(directory, 'missing.json'));
    expect(lost).toMatchObject({ title: 'npm test', passed: 0, failed: 1 });
  });

  test('no step is in two of npm test, the rest and the release; the package is packed once', () => {
    const folder = mkdtempSync(join(directory, 'parts-'));
    const parts = () => [stagesOfTest, stagesOfRest, stagesOfRelease].map((of) => of(folder));
    const repeated = () => {
      const titles = parts().flatMap(titlesOf);
      return titles.filter((title, i) => titles.indexOf(title) < i);
    };
    expect(repeated()).toEqual(['package', 'package']);
    writeFileSync(join(folder, 'package.tgz'), '');
    expect(repeated()).toEqual([]);
  });

  test('a long unit test belongs to one step, and is not counted in the other', () => {
    const test = (fullName: string, tags: string[], status: string) => ({
      fullName,
      tags,
      status,
      failureMessages: [],
    });
    const short = [test('passes', [], 'passed'), test('is left out by hand', [], 'skipped')];
    const path = report({
      testResults: [{ assertionResults: [...short, test('takes long', ['long'], 'skipped')] }],
    });
    expect(vitestTally(path, (tags) => !tags.includes('long'))).toMatchObject({
      passed: 1,
      failed: 1,
      failures: [expect.stringContaining('is left out by hand')],
    });
    const steps = (of: typeof stagesOfRest, title: string) =>
      of(directory)
        .flat(2)
        .find((step) => step.title === title)!.parameters;
    expect(steps(stagesOfTest, 'unit tests')).toContain('--tags-filter=!long');
    const further = steps(stagesOfRest, 'further unit tests');
    expect(further).toContain('--tags-filter=long');
    expect(further).toContain('worker/engine/sql/query-limits.test.ts');
    // A release runs the tests of long files that the other steps leave out.
    expect(steps(stagesOfRest, 'long unit tests')).toContain('--tags-filter=!release');
    const released = steps(stagesOfRelease, 'unit tests before a release');
    expect(released).toContain('--tags-filter=release');
    expect(released).toContain('packages/testing/engine/put-back.long.test.ts');
    expect(released).not.toContain('packages/testing/engine/simulation.long.test.ts');
  });

  test('a test in a browser belongs to one of npm test, the rest and the release, but for Firefox', () => {
    const chosen = (tags: readonly string[], parameters: readonly string[]) => {
      const filter = (name: string) =>
        parameters.find((parameter) => parameter.startsWith(`--${name}=`))?.split('=')[1];
      const matches = (pattern: string | undefined, unset: boolean) =>
        pattern === undefined ? unset : tags.some((tag) => new RegExp(pattern).test(tag));
      return matches(filter('grep'), true) && !matches(filter('grep-invert'), false);
    };
    const steps = [stagesOfTest, stagesOfRest, stagesOfRelease]
      .flatMap((of) => of(directory).flat(2))
      .filter(({ parameters }) => parameters.includes('--config=e2e'));
    const stepsOf = (browser: string, tags: readonly string[]) =>
      steps
        .filter(({ needs, parameters }) => needs === browser && chosen(tags, parameters))
        .map(({ title }) => title);
    const choices = [[], [REST], [LONG], [REST, RELEASE], [LONG, RELEASE], [LONG, ONCE]];
    for (const tags of choices) {
      expect([tags, stepsOf('Chromium', tags).length]).toEqual([tags, 1]);
      expect([tags, stepsOf('WebKitGTK', tags).length]).toEqual([tags, 1]);
    }
    expect(stepsOf('Firefox', [])).toEqual([
      'end-to-end tests in Firefox',
      'all short end-to-end tests in Firefox',
    ]);
    for (const tags of [[REST], [REST, RELEASE]]) {
      expect(stepsOf('Firefox', tags)).toEqual(['all short end-to-end tests in Firefox']);
    }
    for (const tags of [[LONG], [LONG, RELEASE]]) {
      expect(stepsOf('Firefox', tags)).toEqual(['long end-to-end tests in Firefox']);
    }
  });

  test('each spec that is named for Firefox is there', () => {
    const missing = OF_FIREFOX.filter(
      (name) => !existsSync(join(REPOSITORY, `e2e/specs/${name}.spec.ts`)),
    );
    expect(missing).toEqual([]);
  });
});
