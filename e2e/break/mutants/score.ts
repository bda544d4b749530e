// The findings of a mutation run: counts per folder, and the mutants that no test noticed.
//
// A mutant that cannot be noticed (it behaves as the original does) is listed in
// `equal-mutants.json` with the reason; it counts neither way. Knows nothing of how a run is made.

/** The part of Stryker's JSON report that is read. */
export interface MutationReport {
  readonly files: Readonly<Record<string, ReportedFile>>;
}

interface ReportedFile {
  readonly source: string;
  readonly mutants: readonly ReportedMutant[];
}

interface ReportedMutant {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/** A mutant no test can notice. `line` is the original line, so that it is found when lines move. */
export interface EqualMutant {
  readonly file: string;
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly reason: string;
}

export interface Survivor {
  readonly file: string;
  readonly lineNumber: number;
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly status: string;
}

export interface Score {
  readonly noticed: number;
  readonly equal: number;
  readonly survivors: readonly Survivor[];
}

const NOTICED = new Set(['Killed', 'Timeout', 'RuntimeError', 'CompileError']);
const MISSED = new Set(['Survived', 'NoCoverage']);

/** Counts a report. @throws Error for a status it does not know. */
export function score(report: MutationReport, equals: readonly EqualMutant[]): Score {
  let noticed = 0;
  let equal = 0;
  const survivors: Survivor[] = [];
  for (const [file, { source, mutants }] of Object.entries(report.files)) {
    const lines = source.split('\n');
    for (const mutant of mutants) {
      if (mutant.status === 'Ignored') continue;
      if (NOTICED.has(mutant.status)) noticed += 1;
      else if (!MISSED.has(mutant.status)) throw new Error(`${file}: status ${mutant.status}`);
      else {
        const survivor = describe(file, lines, mutant);
        if (equals.some((known) => isSame(known, survivor))) equal += 1;
        else survivors.push(survivor);
      }
    }
  }
  return { noticed, equal, survivors };
}

function describe(file: string, lines: readonly string[], mutant: ReportedMutant): Survivor {
  const { start, end } = mutant.location;
  const spanned = lines.slice(start.line - 1, end.line);
  const last = spanned.length - 1;
  spanned[last] = spanned[last]!.slice(0, end.column - 1);
  spanned[0] = spanned[0]!.slice(start.column - 1);
  return {
    file,
    lineNumber: start.line,
    line: lines[start.line - 1]!.trim(),
    original: spanned.join('\n'),
    replacement: mutant.replacement ?? '',
    status: mutant.status,
  };
}

function isSame(known: EqualMutant, found: Survivor): boolean {
  return (
    known.file === found.file &&
    known.line === found.line &&
    known.original === found.original &&
    known.replacement === found.replacement
  );
}
