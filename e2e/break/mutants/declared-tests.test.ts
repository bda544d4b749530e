import { expect, test } from 'vitest';
import { DeclaredTests } from './declared-tests.ts';

type Declare = (title: string, ...rest: unknown[]) => void;
type Table = (rows: readonly unknown[]) => Declare;
interface Functions {
  readonly test: Declare & { readonly each: Table; readonly for: Table };
  readonly describe: Declare & { readonly each: Table };
  readonly beforeEach: (hook: () => void) => void;
  readonly onTestFinished: (end: () => void) => void;
}

async function collect(declare: (functions: Functions) => void): Promise<DeclaredTests> {
  const declared = new DeclaredTests();
  const functions = declared.functions as unknown as Functions;
  await declared.collect('a.test.ts', async () => declare(functions));
  return declared;
}

test('tests are found by file, groups and title; equal titles are counted', async () => {
  const { tests } = await collect(({ test, describe }) => {
    test('alone', () => {});
    describe('outer', () => {
      describe('inner', () => test('deep', { timeout: 1 }, () => {}));
      test('again', () => {});
      test('again', () => {});
    });
    test('last', () => {}, 40_000);
  });
  expect([...tests.keys()]).toEqual([
    'a.test.ts#alone',
    'a.test.ts#outer inner deep',
    'a.test.ts#outer again',
    'a.test.ts#outer again (2)',
    'a.test.ts#last',
  ]);
});

test('`each` spreads a row that is an array, `for` passes it whole', async () => {
  const seen: unknown[][] = [];
  const note = (...row: unknown[]) => void seen.push(row);
  const { tests } = await collect(({ test, describe }) => {
    test.each([1, [2, 3]])('%s', note);
    test.for([[4, 5]])('%s', note);
    describe.each(['six'])('%s', (kind: string) => test('inside', () => note(kind)));
  });
  for (const { body } of tests.values()) await body();
  expect(seen).toEqual([[1], [2, 3], [[4, 5]], ['six']]);
});

test('hooks belong to the group that declares them', async () => {
  const { tests } = await collect(({ test, describe, beforeEach }) => {
    beforeEach(() => {});
    describe('group', () => {
      beforeEach(() => {});
      test('inside', () => {});
    });
    test('outside', () => {});
  });
  const counts = [...tests.values()].map(({ group }) =>
    group.path.map(({ beforeEach }) => beforeEach.length),
  );
  expect(counts).toEqual([[1, 1], [1]]);
});

test('the hooks that a test adds for its end run at each end of it, also if it fails, the last first', async () => {
  const done: string[] = [];
  const { tests } = await collect(({ test, onTestFinished }) => {
    test('fails', async () => {
      onTestFinished(() => void done.push('first'));
      onTestFinished(() => void done.push('last'));
      throw new Error('failed');
    });
  });
  const [{ body }] = [...tests.values()] as unknown as [{ body: () => Promise<void> }];
  await expect(body()).rejects.toThrow('failed');
  await expect(body()).rejects.toThrow('failed');
  expect(done).toEqual(['last', 'first', 'last', 'first']);
});

test('a test that depends on a condition is declared when the condition holds', async () => {
  const { tests } = await collect(({ test }) => {
    const { skipIf, runIf } = test as unknown as Record<string, (condition: boolean) => Declare>;
    skipIf!(true)('skipped', () => {});
    runIf!(false)('not run', () => {});
    skipIf!(false)('kept', () => {});
    runIf!(true)('run', () => {});
  });
  expect([...tests.keys()]).toEqual(['a.test.ts#kept', 'a.test.ts#run']);
});
