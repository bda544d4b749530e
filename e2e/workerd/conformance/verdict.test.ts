import { describe, expect, test } from 'vitest';
import { formOf } from './scenario.ts';
import { areaTable, differences, judge } from './verdict.ts';

const all = () => true;

function kinds(results: Record<string, unknown>, expected = {}, alternatives = {}, known = {}) {
  return judge(results, { expected, alternatives, known }, all).map(({ kind }) => kind);
}

describe('verdicts on conformance results', () => {
  test('a result passes when it equals the expectation or the accepted alternative', () => {
    const expected = { 'a/x': { value: 1 } };
    expect(kinds({ 'a/x': { value: 1 } }, expected)).toEqual(['passed']);
    expect(kinds({ 'a/x': { value: 2 } }, expected)).toEqual(['failed']);
    expect(kinds({ 'a/x': { value: 2 } }, expected, { 'a/x': { value: 2 } })).toEqual(['passed']);
  });

  test('the order of an object’s members counts', () => {
    expect(kinds({ 'a/x': { a: 1, b: 2 } }, { 'a/x': { b: 2, a: 1 } })).toEqual(['failed']);
  });

  test('a scenario without an expectation is not scored, unless it could not be run', () => {
    expect(kinds({ 'a/x': { value: 1 } })).toEqual(['unscored']);
    expect(kinds({ 'a/x': { hung: 35_000 } })).toEqual(['failed']);
    expect(kinds({ 'a/x': { notRun: 'why' } })).toEqual(['failed']);
  });

  test('an expectation without a scenario fails when it is selected', () => {
    const expectations = { expected: { 'a/x': 1, 'b/y': 1 }, alternatives: {}, known: {} };
    const verdicts = judge({}, expectations, (name) => name.startsWith('a'));
    expect(verdicts).toMatchObject([{ kind: 'failed', name: 'a/x' }]);
  });

  test('a known difference counts neither way, and fails when it no longer differs', () => {
    const expected = { 'a/x': 1 };
    const known = { 'a/x': 'because' };
    expect(kinds({ 'a/x': 2 }, expected, {}, known)).toEqual(['known']);
    expect(kinds({ 'a/x': 1 }, expected, {}, known)).toEqual(['failed']);
  });

  test('long differences are shown around their first character', () => {
    const verdicts = judge(
      { 'a/x': `${'x'.repeat(1000)}got` },
      { expected: { 'a/x': `${'x'.repeat(1000)}want` }, alternatives: {}, known: {} },
      all,
    );
    const short = differences(verdicts, false);
    expect(short).toContain('want');
    expect(short.length).toBeLessThan(300);
    expect(differences(verdicts, true).length).toBeGreaterThan(2000);
  });

  test('areas are counted apart, with their share', () => {
    const expected = { 'a/x': 1, 'a/y': 1, 'b/z': 1 };
    const table = areaTable(
      judge(
        { 'a/x': 1, 'a/y': 2, 'b/z': 1, 'b/w': 1 },
        { expected, alternatives: {}, known: {} },
        all,
      ),
    );
    expect(table).toMatch(/^a\s+1\/2\s+50\.0 %$/m);
    expect(table).toMatch(/^b\s+1\/1\s+100\.0 % {2}\(1 not scored\)$/m);
  });
});

describe('forms of conformance scenarios', () => {
  test('a function, an array of functions and an alarm scenario are known', () => {
    const run = () => 1;
    const alarm = { start: run, alarm: run, waitMs: 1, until: 1, settleMs: 0 };
    expect([run, [run, run], alarm].map((scenario) => formOf(scenario)?.kind)).toEqual([
      'single',
      'phases',
      'alarm',
    ]);
  });

  test('anything else is not', () => {
    for (const scenario of [7, null, [], [1], { start: () => 1 }]) {
      expect(formOf(scenario)).toBeNull();
    }
  });
});
