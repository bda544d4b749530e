// npm run mutants -- [--slice NAME ...] [--files GLOB ...] [--jobs N] [--test-ms N] [--out FILE]
//
// Mutation testing by StrykerJS: each line of a slice is changed in turn, and some test must fail. Prints the
// score and every survivor. `--files` narrows a slice to some of its files, or to lines of one:
// `worker/objects/io/turns.ts:20-40`. `--test-ms` leaves out tests that take longer, so that a long slice ends
// sooner; a mutant that only they notice counts as a survivor, so the score is a lower bound. Without --slice
// all slices run, one after the other. Ends with code 1 when a slice scores below the goal.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type EqualMutant, type MutationReport, type Score, score } from './score.ts';
import { SLICES, type Slice } from './slices.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const GOAL_PERCENT = 90;

const { values } = parseArgs({
  options: {
    slice: { type: 'string', multiple: true, default: Object.keys(SLICES) },
    files: { type: 'string', multiple: true },
    jobs: { type: 'string', default: '2' },
    'test-ms': { type: 'string', default: '' },
    out: { type: 'string' },
  },
});
const equals: EqualMutant[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'equal-mutants.json'), 'utf8'),
);

const rows: string[] = [];
const found: Record<string, Score> = {};
for (const name of values.slice) {
  const slice = SLICES[name];
  if (slice === undefined) {
    throw new Error(`mutants: no slice "${name}"; there are ${Object.keys(SLICES).join(', ')}.`);
  }
  const result = score(runSlice(slice), equals);
  found[name] = result;
  for (const { file, lineNumber, original, replacement, status } of result.survivors) {
    console.log(`${file}:${lineNumber} ${status}: ${oneLine(original)} -> ${oneLine(replacement)}`);
  }
  rows.push(row(name, slice, result));
}
console.log(`\n${rows.join('\n')}`);
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(found, null, 1)}\n`);

function runSlice(slice: Slice): MutationReport {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-mutants-'));
  try {
    const configFile = join(folder, 'stryker.json');
    const reportFile = join(folder, 'report.json');
    writeFileSync(configFile, JSON.stringify(config(slice, folder, reportFile)));
    const stryker = join(REPOSITORY, 'node_modules/.bin/stryker');
    const { status } = spawnSync(stryker, ['run', configFile], {
      cwd: REPOSITORY,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        // The runner of the tests is TypeScript, too.
        NODE_OPTIONS: `--import ${import.meta.resolve('tsx')}`,
        MUTANT_CACHES: (slice.caches ?? []).join('\n'),
        MUTANT_TEST_MS: values['test-ms'],
        MUTANT_TESTS: slice.tests.flatMap(testFiles).join('\n'),
      },
    });
    if (status !== 0) throw new Error(`mutants: Stryker ended with ${status}.`);
    return JSON.parse(readFileSync(reportFile, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The test files of a folder, but for the long ones; a file itself. */
function testFiles(path: string): readonly string[] {
  if (path.endsWith('.ts')) return [path];
  return readdirSync(join(REPOSITORY, path))
    .filter((name) => name.endsWith('.test.ts') && !name.endsWith('.long.test.ts'))
    .map((name) => `${path}/${name}`);
}

function config(slice: Slice, folder: string, reportFile: string) {
  return {
    testRunner: 'in-process',
    plugins: [join(import.meta.dirname, 'in-process-runner.ts')],
    mutate: [...(values.files ?? slice.mutate), '!**/*.test.ts', '!**/*.suite.ts'],
    coverageAnalysis: 'perTest',
    // A mutant of a module's constants would need a fresh process for each.
    ignoreStatic: true,
    concurrency: Number(values.jobs),
    timeoutMS: 10_000,
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: reportFile },
    tempDirName: join(folder, 'sandbox'),
    ignorePatterns: ['dist', 'test-results', 'demo/data'],
    // TypeScript 7 has no compiler interface that Stryker could rewrite the configuration with.
    tsconfigFile: 'none.json',
    allowEmpty: true,
  };
}

function row(name: string, slice: Slice, { noticed, equal, survivors }: Score): string {
  const percent = (100 * noticed) / Math.max(1, noticed + survivors.length);
  if (percent < GOAL_PERCENT) process.exitCode = 1;
  return (
    `${name} (${slice.folder}): ${percent.toFixed(1)} %, ${noticed} noticed, ` +
    `${survivors.length} not, ${equal} equal`
  );
}

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, ' ');
  return flat.length > 90 ? `${flat.slice(0, 87)}...` : flat;
}
