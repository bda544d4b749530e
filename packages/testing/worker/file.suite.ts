// The required behaviour of every directory of files, as a list of cases: Vitest runs them on memory,
// Node and the simulator's disk, browsers run them on OPFS.
//
// Knows nothing of Node and of test runners.

import type { FileDirectory } from '../../../worker/engine/file/file.ts';

export interface FileCase {
  readonly name: string;
  /** Throws when the rule does not hold. The directory is empty and used by this case only. */
  run(directory: FileDirectory): Promise<void>;
}

function equal(actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

function bytes(...values: number[]): Uint8Array {
  return new Uint8Array(values);
}

/** The code of the error that the act throws, now or later. */
async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return 'no error';
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
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
    name: '[LOG15] all flushes of a directory end in their call, or all of them later',
    async run(directory) {
      const files = [await directory.open('a'), await directory.open('b')];
      const flushes: unknown[] = [];
      for (let i = 0; i < 4; i++) {
        const file = files[i % 2]!;
        if (i >= 2) file.write(bytes(i), 0);
        const flushed = file.flush();
        flushes.push(flushed instanceof Promise);
        await flushed;
      }
      equal(new Set(flushes).size, 1);
      for (const file of files) file.close();
    },
  },
  {
    name: '[LOG15] names lists the files that exist; a removed one is empty when it is opened; removing a missing one is no error',
    async run(directory) {
      for (const name of ['a', 'b']) {
        const file = await directory.open(name);
        file.write(bytes(1, 2), 0);
        file.close();
      }
      equal((await directory.names()).sort(), ['a', 'b']);
      await directory.remove('a');
      await directory.remove('a');
      equal(await directory.names(), ['b']);
      equal((await directory.open('a')).sizeBytes(), 0);
    },
  },
  {
    name: '[FILE1] every use of a closed file is an IO error, and closing it again succeeds',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(1), 0);
      file.close();
      // Opened again, so that an action on the closed file cannot hit the right file by chance.
      const again = await directory.open('a');
      const uses: Readonly<Record<string, () => unknown>> = {
        read: () => file.read(bytes(0), 0),
        write: () => file.write(bytes(2), 0),
        'write of nothing': () => file.write(bytes(), 0),
        truncate: () => file.truncate(0),
        size: () => file.sizeBytes(),
        flush: () => file.flush(),
      };
      for (const [use, act] of Object.entries(uses)) equal([use, await codeOf(act)], [use, 'IO']);
      file.close();
      const target = bytes(0, 0);
      equal([again.read(target, 0), ...target], [1, 1, 0]);
      again.close();
    },
  },
  {
    name: '[FILE2] a file has one holder; it is free as soon as it is closed',
    async run(directory) {
      const file = await directory.open('a');
      equal(await codeOf(() => directory.open('a')), 'STORAGE_LOCKED');
      equal(file.sizeBytes(), 0);
      file.close();
      (await directory.open('a')).close();
    },
  },
  {
    name: '[FILE1] a file that is open is not removed: IO; closed, it is',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(1), 0);
      equal(await codeOf(() => directory.remove('a')), 'IO');
      equal(file.sizeBytes(), 1);
      file.close();
      await directory.remove('a');
      equal(await directory.names(), []);
    },
  },
  {
    name: '[FILE4] a file is among the names from its opening on, written or not',
    async run(directory) {
      equal(await directory.names(), []);
      const file = await directory.open('a');
      equal(await directory.names(), ['a']);
      file.close();
      equal(await directory.names(), ['a']);
    },
  },
  {
    name: '[FILE5] writing nothing changes nothing, behind the end as well',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(1, 2), 0);
      file.write(bytes(), 0);
      file.write(bytes(), 100);
      equal(file.sizeBytes(), 2);
      equal(file.read(bytes(), 0), 0);
      file.close();
    },
  },
  {
    name: '[FILE5] offsets reach beyond 32 megabytes, and beyond the written bytes',
    async run(directory) {
      const file = await directory.open('a');
      const offset = 33_554_432 + 5;
      file.write(bytes(7, 8), offset);
      equal(file.sizeBytes(), offset + 2);
      const target = bytes(9, 9, 9);
      equal([file.read(target, offset - 1), ...target], [3, 0, 7, 8]);
      equal(file.read(target, offset + 2), 0);
      file.close();
    },
  },
  {
    name: '[FILE7] a view is read and written as the part of its buffer that it is',
    async run(directory) {
      const file = await directory.open('a');
      file.write(bytes(1, 2, 3, 4).subarray(1, 3), 0);
      const target = bytes(9, 9, 9, 9);
      equal(file.read(target.subarray(1, 3), 0), 2);
      equal([...target], [9, 2, 3, 9]);
      file.close();
    },
  },
];
