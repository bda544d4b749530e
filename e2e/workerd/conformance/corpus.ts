// A conformance folder on disk: its scenario files, its tools and its expectations.
//
// Any folder of the form described in corpus/README.md, anywhere; or one scenario file alone, which
// then has no expectations. Tools that a folder does not bring are those of our own corpus.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Our own scenarios. */
export const OWN_CORPUS = join(import.meta.dirname, 'corpus');

const KNOWN_DIFFERENCES = join(import.meta.dirname, 'known-differences.json');
const TOOL_FILES = ['canonical.mjs', 'helpers.mjs'] as const;
const EXPECTED_FILES = ['expected.json', 'expected-alarms.json'];
const ALTERNATIVE_FILES = ['expected-alt.json'];

/** Results as recorded, by the name of the scenario. */
export type Results = Readonly<Record<string, unknown>>;

export interface Corpus {
  /** The files' common root; a scenario's relative imports are found from there. */
  readonly directory: string;
  /** Paths of the scenario files, relative to `directory`, sorted. */
  readonly files: readonly string[];
  /** Absolute paths of canonical.mjs and helpers.mjs. */
  readonly tools: Readonly<Record<(typeof TOOL_FILES)[number], string>>;
  readonly expected: Results;
  /** Accepted as well. */
  readonly alternatives: Results;
}

/** Reads a folder, or a single scenario file. @throws Error when there is no scenario file. */
export function readCorpus(path: string): Corpus {
  const root = resolve(path);
  if (!existsSync(root)) throw new Error(`conformance: ${root} does not exist.`);
  const isFolder = statSync(root).isDirectory();
  const directory = isFolder ? root : dirname(root);
  const files = isFolder ? scenarioFiles(root) : [basename(root)];
  if (files.length === 0) {
    throw new Error(
      `conformance: ${root} has no scenario files; expected scenarios/*.mjs, each with a default ` +
        'export { "area/name": scenario }.',
    );
  }
  const folder = isFolder ? directory : null;
  return {
    directory,
    files,
    tools: {
      'canonical.mjs': toolPath(directory, 'canonical.mjs'),
      'helpers.mjs': toolPath(directory, 'helpers.mjs'),
    },
    expected: readResults(folder, EXPECTED_FILES),
    alternatives: readResults(folder, ALTERNATIVE_FILES),
  };
}

/** Scenarios of our own corpus whose expectation our storage does not meet, with the reasons. */
export function knownDifferences({ directory }: Corpus): Readonly<Record<string, string>> {
  return directory === OWN_CORPUS ? JSON.parse(readFileSync(KNOWN_DIFFERENCES, 'utf8')) : {};
}

function scenarioFiles(root: string): string[] {
  const folder = existsSync(join(root, 'scenarios')) ? 'scenarios' : '.';
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.mjs') && !TOOL_FILES.some((tool) => tool === name))
    .sort()
    .map((name) => (folder === '.' ? name : `${folder}/${name}`));
}

function toolPath(directory: string, name: string): string {
  const own = join(directory, name);
  return existsSync(own) ? own : join(OWN_CORPUS, name);
}

function readResults(folder: string | null, names: readonly string[]): Results {
  const results: Record<string, unknown> = {};
  if (folder === null) return results;
  for (const name of names) {
    const path = join(folder, name);
    if (existsSync(path)) Object.assign(results, JSON.parse(readFileSync(path, 'utf8')));
  }
  return results;
}
