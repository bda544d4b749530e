// Runs the scenarios of a corpus in one implementation, and reports how they compare.
//
// One scenario at a time, each on an object of its own. A scenario that does not end within its
// bound is recorded as hung and the rest go on. The last line of the report is always the count.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Corpus, OWN_CORPUS, type Results, readCorpus } from './corpus.ts';
import type { ListedScenario, Result } from './scenario.ts';
import { areaTable, differences, judge, knownDifferences, type Verdict } from './verdict.ts';

/** A scenario file as the implementation loaded it. */
export interface ListedFile {
  readonly file: string;
  readonly scenarios: readonly ListedScenario[];
  /** Why the file could not be loaded. */
  readonly error?: string;
}

/** An implementation of `ctx.storage` in which scenarios can be run. */
export interface Implementation {
  /** The name of the suite, for the report. */
  readonly title: string;
  /** Scenarios whose expectation it is known not to meet, each with the reason. */
  readonly known: Readonly<Record<string, string>>;
  list(): Promise<ListedFile[]>;
  /** The result; rejects when the implementation itself failed. */
  run(file: string, scenario: ListedScenario): Promise<Result>;
  /** Makes it usable again after a scenario that never ended, or that broke it. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface SuiteOptions {
  readonly corpusPath: string;
  readonly filter: string;
  /** Where to write all results as JSON. */
  readonly out: string | undefined;
  readonly verbose: boolean;
  /** Further options of the command line. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

/** Reads the command line: `<folder> [--out file] [--filter text] [--verbose]` and extra flags. */
export function readCommandLine(
  extra: Readonly<Record<string, { type: 'string' | 'boolean' }>>,
): SuiteOptions {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string' },
      filter: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
      ...extra,
    },
  });
  if (positionals.length > 1) throw new Error('conformance: give one folder, or none.');
  const { out, filter, verbose, ...flags } = values as Record<string, string | boolean | undefined>;
  return {
    corpusPath: positionals[0] ?? OWN_CORPUS,
    filter: String(filter),
    out: out as string | undefined,
    verbose: verbose === true,
    flags,
  };
}

/** Runs every selected scenario. @throws Error when the filter selects none. */
export async function runSuite(implementation: Implementation, filter: string): Promise<Results> {
  const results: Record<string, Result> = {};
  for (const { file, scenarios, error } of await implementation.list()) {
    if (error !== undefined) results[file] = { notRun: `${file} could not be loaded: ${error}` };
    for (const scenario of scenarios) {
      if (!scenario.name.includes(filter)) continue;
      results[scenario.name] = Object.hasOwn(results, scenario.name)
        ? { notRun: 'two scenarios have this name' }
        : await runBounded(implementation, file, scenario);
    }
  }
  if (Object.keys(results).length === 0) {
    throw new Error(`conformance: no scenario has ${JSON.stringify(filter)} in its name.`);
  }
  return results;
}

/** Prints differences, counts by area and the total; writes the results. True when all passed. */
function report(
  { title, known }: Implementation,
  results: Results,
  { expected, alternatives }: Corpus,
  { filter, out, verbose }: SuiteOptions,
): boolean {
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(results, null, 1)}\n`);
  const verdicts = judge(results, { expected, alternatives, known }, (name) =>
    name.includes(filter),
  );
  const passed = count(verdicts, 'passed');
  const failed = count(verdicts, 'failed');
  for (const shown of [knownDifferences(verdicts), differences(verdicts, verbose)]) {
    if (shown !== '') console.log(`${shown}\n`);
  }
  console.log(`${title}\n${areaTable(verdicts)}\n`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

/** The whole command for one implementation. Sets the exit code: 0 only when all passed. */
export async function runCommand(
  options: SuiteOptions,
  start: (corpus: Corpus) => Promise<Implementation>,
): Promise<void> {
  try {
    const corpus = readCorpus(options.corpusPath);
    const implementation = await start(corpus);
    try {
      const results = await runSuite(implementation, options.filter);
      if (!report(implementation, results, corpus, options)) process.exitCode = 1;
    } finally {
      await implementation.close();
    }
  } catch (error) {
    console.error(error);
    console.log('0 passed, 1 failed');
    process.exitCode = 1;
  }
}

async function runBounded(
  implementation: Implementation,
  file: string,
  scenario: ListedScenario,
): Promise<Result> {
  if (scenario.kind === null) {
    return { notRun: 'a form this runner does not know: not a function, an array or an alarm' };
  }
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bound = new Promise<'hung'>((resolve) => {
    timer = setTimeout(resolve, scenario.boundMs, 'hung');
  });
  const run = implementation.run(file, scenario).then(
    (result) => ({ result }),
    (error: unknown) => ({ broken: String(error) }),
  );
  const outcome = await Promise.race([run, bound]);
  clearTimeout(timer);
  if (outcome !== 'hung' && 'result' in outcome) return outcome.result;
  await implementation.restart();
  return outcome === 'hung' ? { hung: scenario.boundMs } : { notRun: outcome.broken };
}

function count(verdicts: readonly Verdict[], kind: Verdict['kind']): number {
  return verdicts.filter((verdict) => verdict.kind === kind).length;
}
