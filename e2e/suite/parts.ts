// The steps of `npm test`, those left for the rest, and those before a release: each a list of stages, of steps side by
// side.
//
// Invariant: together they are all tests of the repository, and none is in two parts, but for Firefox: before a release it
// runs all that it can. Does not know how steps run, nor which browsers are installed.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BUILDS } from '../browsers/built-once.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';
import { listFiles, readSource } from './source-files.ts';
import {
  type IsChosen,
  lastLineTally,
  oneCheck,
  playwrightTally,
  type Step,
  vitestTally,
} from './steps.ts';

export const REPOSITORY = join(import.meta.dirname, '../..');

export type BrowserTitle = 'Chromium' | 'Firefox' | 'WebKitGTK';

/** A step, and the browser without which it cannot run. */
export interface PlannedStep extends Step {
  readonly needs?: BrowserTitle;
}

/** Specs of what Firefox does by itself: its files, databases, locks, workers, timers, errors and policies. */
export const OF_FIREFOX = [
  'branches',
  'bulk',
  'cancel',
  'deployments',
  'entries',
  'errors',
  'fallback',
  'fallback-faults',
  'key-value',
  'large-values',
  'leftovers',
  'lifetime',
  'live',
  'object-alarms',
  'objects',
  'policies',
  'recovery',
  'site-data',
  'socket',
  'sql',
  'starts',
  'status',
  'tabs',
];

/**
 * Lanes that run at once; the steps of a lane run in order. The output of the first lane is shown as it
 * comes.
 */
export type Stage = readonly (readonly PlannedStep[])[];

/** Call the compiler by its path: two compilers are installed, and npm gives both the name `tsc`. */
const types = {
  command: process.execPath,
  parameters: [join(REPOSITORY, 'node_modules/typescript/bin/tsc'), '-b'],
};

/**
 * The steps that a person runs before each commit. Reports, and the package that is packed for all browsers, go to
 * the folder.
 */
export function stagesOfTest(folder: string): readonly Stage[] {
  return [
    [
      [{ title: 'types', ...types, tally: oneCheck }, unit('unit tests', folder, UNIT, 'short')],
      [
        { title: 'lint', ...tool('biome', 'ci'), tally: oneCheck },
        pack(folder),
        builds(folder),
        unit('tests of the package', folder, ['packed']),
      ],
    ],
    [[endToEnd('end-to-end tests', 'Chromium', folder, `--grep-invert=${LONG}|${REST}`)]],
  ];
}

/** All else but the tests before a release. The package is packed unless the folder has it. */
export function stagesOfRest(folder: string): readonly Stage[] {
  const simulator = (title: string, ...parameters: string[]): Step => ({
    title,
    ...tool('tsx', 'packages/testing/engine/main.ts', ...parameters),
    tally: lastLineTally,
  });
  const fuzz: Step = {
    title: 'fuzz against workerd',
    ...tool('tsx', 'e2e/workerd/fuzz/main.ts', '--seed', '1', '--count', '200'),
    tally: lastLineTally,
  };
  const hostile: Step = {
    title: 'hostile input',
    ...tool('tsx', 'e2e/break/hostile/main.ts', '--seed', '1', '--count', '5'),
    tally: lastLineTally,
  };
  return [
    ...packing(folder),
    // Vitest leaves a core idle while its last file runs; the steps of the second lane keep one core busy at most.
    [
      [
        unit('further unit tests', folder, UNIT, 'long'),
        unit('long unit tests', folder, ['long'], 'unreleased'),
      ],
      [
        conformance('Chromium'),
        endToEnd('end-to-end tests', 'WebKitGTK', folder, `--grep-invert=${RELEASE}`),
        fuzz,
        hostile,
        simulator('simulation', '--seed', '1', '--rounds', '40', '--jobs', '1'),
      ],
    ],
    // Each keeps two cores busy, so side by side they would only slow each other.
    [
      [
        endToEnd(
          'other end-to-end tests',
          'Chromium',
          folder,
          `--grep=${LONG}|${REST}`,
          `--grep-invert=${RELEASE}`,
        ),
      ],
    ],
    [
      [
        endToEnd(
          'end-to-end tests',
          'Firefox',
          folder,
          `--grep-invert=${LONG}|${REST}`,
          ...filesOf(OF_FIREFOX),
        ),
      ],
    ],
  ];
}

/**
 * Tests that repeat others of the rest, with another example or in another browser, or whose subject seldom
 * changes.
 */
export function stagesOfRelease(folder: string): readonly Stage[] {
  return [
    ...packing(folder),
    [[otherRuntimes(folder)]],
    [
      [
        unit('unit tests before a release', folder, ['long'], 'released'),
        unit('comparison with the newest workerd', folder, ['newest workerd']),
      ],
      [conformance('Firefox'), conformance('WebKitGTK')],
    ],
    [[endToEnd('further end-to-end tests', 'Chromium', folder, `--grep=${RELEASE}`)]],
    [[endToEnd('further end-to-end tests', 'WebKitGTK', folder, `--grep=${RELEASE}`)]],
    [[endToEnd('all short end-to-end tests', 'Firefox', folder, `--grep-invert=${LONG}`)]],
    [[endToEnd('long end-to-end tests', 'Firefox', folder, `--grep=${LONG}`)]],
  ];
}

export function titlesOf(stages: readonly Stage[]): readonly string[] {
  return stages.flat(2).map(({ title }) => title);
}

/** Returns the stages that pack the package; none if the folder has the package. */
function packing(folder: string): readonly Stage[] {
  return existsSync(packedIn(folder)) ? [] : [[[pack(folder)]]];
}

function packedIn(folder: string): string {
  return join(folder, 'package.tgz');
}

function pack(folder: string): Step {
  return {
    title: 'package',
    ...tool('tsx', 'e2e/package/pack.ts', packedIn(folder)),
    tally: oneCheck,
  };
}

/** The shared files of tests in browsers are built while others run. */
function builds(folder: string): Step {
  return {
    title: 'pages of tests',
    ...tool('tsx', 'e2e/browsers/build-all.ts'),
    env: { [BUILDS]: buildsIn(folder) },
    tally: oneCheck,
  };
}

function buildsIn(folder: string): string {
  return join(folder, 'builds');
}

/** The projects of unit tests that `npm test` runs the short tests of. */
const UNIT = ['unit', 'isolated'];

interface Choice {
  /**
   * The tag of slow tests: `long` for tests of about a second or more, `release` for tests of long files that run only
   * before a release.
   */
  readonly tag: 'long' | 'release';
  /** Whether the tests that have the tag are run, or those without it. */
  readonly isTagged: boolean;
}

const CHOICES = {
  short: { tag: 'long', isTagged: false },
  long: { tag: 'long', isTagged: true },
  unreleased: { tag: 'release', isTagged: false },
  released: { tag: 'release', isTagged: true },
} as const satisfies Record<string, Choice>;

function isChosenBy({ tag, isTagged }: Choice): IsChosen {
  return (tags) => tags.includes(tag) === isTagged;
}

/** The tests of Vitest's projects: of a choice, or all. */
function unit(
  title: string,
  folder: string,
  projects: readonly string[],
  choice?: keyof typeof CHOICES,
): Step {
  const report = join(folder, `${title}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  const chosen = projects.map((project) => `--project=${project}`);
  const made = choice && CHOICES[choice];
  if (made) chosen.push(`--tags-filter=${made.isTagged ? '' : '!'}${made.tag}`);
  if (made?.isTagged) chosen.push(...filesWithTag(made.tag));
  return {
    title,
    ...tool('vitest', 'run', ...reporters, ...chosen),
    env: { PACKED_FILE: packedIn(folder) },
    tally: () => vitestTally(report, made && isChosenBy(made)),
  };
}

/**
 * The files with tests of the tag. Vitest would load all files to find them, which takes longer than the tests. A file of
 * long tests needs no tag `long`, and only these files have the tag `release`.
 */
function filesWithTag(tag: Choice['tag']): readonly string[] {
  const names = tag === 'long' ? /(?<!\.long)\.test\.ts$/ : /\.long\.test\.ts$/;
  return listFiles(['src', 'worker', 'packages', 'e2e'], names).filter((file) =>
    readSource(file).includes(`tags: '${tag}'`),
  );
}

function endToEnd(
  title: string,
  needs: BrowserTitle,
  folder: string,
  ...parameters: readonly string[]
): PlannedStep {
  const report = join(folder, `${title} in ${needs}.json`);
  const project = ['--config=e2e', `--project=${needs.toLowerCase()}`];
  return {
    title: `${title} in ${needs}`,
    needs,
    ...tool('playwright', 'test', ...project, '--reporter=list,json', ...parameters),
    env: {
      PLAYWRIGHT_JSON_OUTPUT_NAME: report,
      PACKED_FILE: packedIn(folder),
      [BUILDS]: buildsIn(folder),
    },
    tally: () => playwrightTally(report),
  };
}

/** Returns the names as regular expressions, which Playwright searches for in the paths of files. */
function filesOf(specs: readonly string[]): readonly string[] {
  return specs.map((name) => `/${name}\\.spec\\.ts$`);
}

function conformance(needs: BrowserTitle): PlannedStep {
  return {
    title: `conformance in ${needs}`,
    needs,
    ...tool('tsx', 'e2e/workerd/conformance/run.ts', '--browser', needs.toLowerCase()),
    tally: lastLineTally,
  };
}

/** Installs Deno and Bun from npm. */
function otherRuntimes(folder: string): Step {
  return {
    title: 'Deno and Bun',
    ...tool('tsx', 'e2e/package/other-runtimes.ts'),
    env: { PACKED_FILE: packedIn(folder) },
    tally: lastLineTally,
  };
}

/** A program of the installed packages. */
function tool(name: string, ...parameters: string[]): Pick<Step, 'command' | 'parameters'> {
  return { command: join(REPOSITORY, 'node_modules', '.bin', name), parameters };
}
