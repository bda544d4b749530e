// What every directory of files must do, as a list of cases that any test runner can run: Vitest
// over memory and Node, a browser over OPFS. Nothing here is of Node or of a test runner.

import type { FileDirectory } from './file.ts';

export interface FileCase {
  readonly name: string;
  /** Throws when the rule does not hold. The directory is empty and its own. */
  run(directory: FileDirectory): Promise<void>;
}

function equal(actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

function bytes(...values: number[]): Uint8Array {
  return new Uint8Array(values);
}

export const FILE_CASES: readonly FileCase[] = [
  {
    name: '[LOG15] a new file is empty, and reading it gives nothing',
    async run(directory) {
      const file = await directory.open('a');
      equal(file.sizeBytes(), 0);
      equal(file.read(new Uint8Array(4), 0), 0);
      file.close();
    },
  },
  {
    name: '[LOG15] reading is short only at the end of the file',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(1, 2, 3), 0);
      const target = bytes(9, 9, 9, 9);
      equal(file.read(target, 1), 2);
      equal([...target], [2, 3, 9, 9]);
      equal(file.read(target, 7), 0);
      file.close();
    },
  },
  {
    name: '[LOG15] writing behind the end fills the gap with zeros',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(7), 3);
      const target = bytes(9, 9, 9, 9);
      equal(file.read(target, 0), 4);
      equal([...target], [0, 0, 0, 7]);
      file.close();
    },
  },
  {
    name: '[LOG15] truncating cuts, and growing again shows zeros',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(1, 2, 3, 4), 0);
      file.truncate(2);
      file.truncate(4);
      const target = bytes(9, 9, 9, 9);
      equal(file.read(target, 0), 4);
      equal([...target], [1, 2, 0, 0]);
      file.close();
    },
  },
  {
    name: '[LOG15] a file keeps its bytes after flush, close and open',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(5, 6), 0);
      await file.flush();
      file.close();
      file.close();
      const again = await directory.open('a');
      const target = bytes(0, 0);
      again.read(target, 0);
      equal([...target], [5, 6]);
      again.close();
    },
  },
  {
    name: '[LOG15] names lists the files that exist; removing a missing one is no error',
    async run(directory) {
      for (const name of ['a', 'b']) (await directory.open(name)).close();
      equal((await directory.names()).sort(), ['a', 'b']);
      await directory.remove('a');
      await directory.remove('a');
      equal(await directory.names(), ['b']);
      equal((await directory.open('a')).sizeBytes(), 0);
    },
  },
];
