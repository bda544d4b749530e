// The documents' figures are the measured ones.

import { expect, test } from 'vitest';
import { readSource } from '../../suite/source-files.ts';
import { countedToday, documentsWithFigures, readFigures, readResults } from './documents.ts';
import { falseFigures, inKilobytes, isTrueToday, withFigures } from './figures.ts';

test('[DOC10] every figure of a document is the measured one', () => {
  const figures = readFigures();
  const wrong = documentsWithFigures().flatMap((file) =>
    falseFigures(file, readSource(file), figures),
  );
  expect(wrong).toEqual([]);
});

test('[DOC10] counts are those of today, and times have a day, a machine and a command', () => {
  const { counts, times, peers } = readResults();
  expect(counts).toMatchObject(countedToday());
  for (const { measuredOn, machine } of [peers, ...Object.values(times)]) {
    expect(measuredOn).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(machine).toMatch(/cores/);
  }
  for (const { command } of Object.values(times)) expect(command).toMatch(/^(npm|npx) /);
});

const FIGURES = new Map([['worker', '122 kB']]);
const marked = (name: string, value: string) =>
  `It has <!-- figure: ${name} -->${value}<!-- /figure -->.`;

test.each([
  [marked('worker', '122 kB'), []],
  [marked('worker', '119 kB'), ['a.md: worker is 119 kB, but 122 kB']],
  [marked('wroker', '122 kB'), ['a.md: wroker is 122 kB, but nobody measures it']],
  ['It has <!-- figure: worker -->122 kB.', ['a.md: a figure has no end']],
])('[DOC10] %j has the faults %j', (text, faults) => {
  expect(falseFigures('a.md', text, FIGURES)).toEqual(faults);
});

test('[DOC10] a document is written with the figures, and only with measured ones', () => {
  expect(withFigures('a.md', marked('worker', '119 kB'), FIGURES)).toBe(marked('worker', '122 kB'));
  expect(() => withFigures('a.md', marked('wroker', ''), FIGURES)).toThrow('nobody measures');
});

test('[DOC10] a size is told in kilobytes, and differs from that of today by a hundredth at most', () => {
  expect([18_179, 121_586, 531_164].map(inKilobytes)).toEqual(['18.2 kB', '122 kB', '0.5 MB']);
  expect(isTrueToday(121_586, 122_700)).toBe(true);
  expect(isTrueToday(119_000, 121_586)).toBe(false);
});
