// Judges results against the expectations of a corpus, and says so in text.
//
// A result passes when its JSON text equals that of the expectation or of the accepted alternative. A
// scenario without an expectation is not scored. A scenario that could not run always fails, and so
// does an expectation without a scenario: nothing is left out silently. A known difference is neither
// passed nor failed, is always shown, and fails once it no longer differs.

import type { Results } from './corpus.ts';

/** Why a scenario has no result to compare. */
export type NotRun = { readonly hung: number } | { readonly notRun: string };

export type Verdict =
  | { readonly kind: 'passed' | 'unscored'; readonly name: string }
  | { readonly kind: 'known'; readonly name: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly name: string; readonly want: string; readonly got: string };

interface Expectations {
  readonly expected: Results;
  readonly alternatives: Results;
  readonly known: Readonly<Record<string, string>>;
}

/** Returns one verdict per scenario that ran, then one per expectation without a scenario. */
export function judge(
  results: Results,
  { expected, alternatives, known }: Expectations,
  isSelected: (name: string) => boolean,
): Verdict[] {
  const verdicts = Object.entries(results).map(([name, result]): Verdict => {
    const got = JSON.stringify(result);
    if (wasNotRun(result)) return { kind: 'failed', name, want: wanted(name, expected), got };
    if (!Object.hasOwn(expected, name)) return { kind: 'unscored', name };
    const want = wanted(name, expected);
    const accepted = [
      want,
      Object.hasOwn(alternatives, name) && JSON.stringify(alternatives[name]),
    ];
    const reason = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!accepted.includes(got)) {
      return reason === undefined
        ? { kind: 'failed', name, want, got }
        : { kind: 'known', name, reason };
    }
    return reason === undefined
      ? { kind: 'passed', name }
      : { kind: 'failed', name, want: 'the known difference', got: 'none: take it off the list' };
  });
  for (const name of Object.keys(expected)) {
    if (Object.hasOwn(results, name) || !isSelected(name)) continue;
    verdicts.push({ kind: 'failed', name, want: wanted(name, expected), got: 'no such scenario' });
  }
  return verdicts;
}

/** True for a result that says the scenario could not be run to its end. */
export function wasNotRun(result: unknown): result is NotRun {
  return typeof result === 'object' && result !== null && ('hung' in result || 'notRun' in result);
}

/** The differences, two lines each; long values are shortened unless `verbose`. */
export function differences(verdicts: readonly Verdict[], verbose: boolean): string {
  const lines: string[] = [];
  for (const verdict of verdicts) {
    if (verdict.kind !== 'failed') continue;
    const [want, got] = verbose
      ? [verdict.want, verdict.got]
      : shortenPair(verdict.want, verdict.got);
    lines.push(`FAIL ${verdict.name}`, `  want ${want}`, `  got  ${got}`);
  }
  return lines.join('\n');
}

/** The known differences that were met, with their reasons. */
export function knownDifferences(verdicts: readonly Verdict[]): string {
  return verdicts
    .flatMap((verdict) =>
      verdict.kind === 'known' ? [`KNOWN ${verdict.name}\n  ${verdict.reason}`] : [],
    )
    .join('\n');
}

/** Counts by area, which is the part of the name before the slash; one line an area. */
export function areaTable(verdicts: readonly Verdict[]): string {
  const areas = new Map<string, Record<Verdict['kind'], number>>();
  for (const { kind, name } of verdicts) {
    const area = name.includes('/') ? name.slice(0, name.indexOf('/')) : name;
    const counts = areas.get(area) ?? { passed: 0, failed: 0, unscored: 0, known: 0 };
    counts[kind] += 1;
    areas.set(area, counts);
  }
  const width = Math.max(0, ...[...areas.keys()].map((area) => area.length));
  return [...areas]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([area, { passed, failed, unscored, known }]) => {
      const scored = passed + failed + known;
      const share = scored === 0 ? '' : `${((100 * passed) / scored).toFixed(1)} %`;
      const rest = unscored === 0 ? '' : `  (${unscored} not scored)`;
      return `${area.padEnd(width)}  ${`${passed}/${scored}`.padStart(9)}  ${share.padStart(8)}${rest}`;
    })
    .join('\n');
}

function wanted(name: string, expected: Results): string {
  return Object.hasOwn(expected, name) ? JSON.stringify(expected[name]) : 'any result';
}

const SHOWN_CHARACTERS = 240;
const CONTEXT_CHARACTERS = 60;

// Keeps the neighbourhood of the first difference, because readers look for it.
function shortenPair(want: string, got: string): [string, string] {
  let same = 0;
  while (same < want.length && want[same] === got[same]) same += 1;
  const from = Math.max(0, same - CONTEXT_CHARACTERS);
  return [shorten(want, from), shorten(got, from)];
}

function shorten(text: string, from: number): string {
  if (text.length <= SHOWN_CHARACTERS) return text;
  const shown = text.slice(from, from + SHOWN_CHARACTERS);
  return `${from > 0 ? '…' : ''}${shown}${from + shown.length < text.length ? '…' : ''}`;
}
