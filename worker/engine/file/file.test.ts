import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CrashRows } from '../../../packages/testing/engine/crash-rows.ts';
import { CrashDisk } from '../../../packages/testing/simulate/world/crash-disk.ts';
import { Random } from '../../../packages/testing/simulate/world/random.ts';
import { FILE_CASES } from '../../../packages/testing/worker/file.suite.ts';
import type { FileDirectory } from './file.ts';
import { MemoryDirectory } from './memory-file.ts';
import { NodeDirectory } from './node-file.ts';
import { HandleCloser, OpfsDirectory } from './opfs-file.ts';
import { RowFiles } from './row-files.ts';

const root = mkdtempSync(join(tmpdir(), 'files-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
const DIRECTORIES: Record<string, () => FileDirectory> = {
  memory: () => new MemoryDirectory(),
  node: () => new NodeDirectory(join(root, String(++made))),
  'the simulated disk': () => new CrashDisk(new Random(1)),
  'rows that are stored later': () =>
    new RowFiles(new CrashRows(new Random(1))).directory('object'),
};

describe.each(Object.keys(DIRECTORIES))('%s', (kind) => {
  test.each(FILE_CASES.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    await run(DIRECTORIES[kind]!());
  });
});

test('[LOG13] a full directory in memory refuses growth and allows everything else', async () => {
  const directory = new MemoryDirectory(8);
  const file = await directory.open('a');
  file.write(new Uint8Array(8).fill(1), 0);
  expect(() => file.write(new Uint8Array(2).fill(2), 7)).toThrow(
    expect.objectContaining({ code: 'DISK_FULL' }),
  );
  expect(() => file.truncate(9)).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
  expect(file.sizeBytes()).toBe(8);
  file.truncate(8);
  file.write(new Uint8Array(2).fill(3), 5);
  const content = new Uint8Array(8);
  file.read(content, 0);
  expect([...content]).toEqual([1, 1, 1, 1, 1, 3, 3, 1]);
});

const closer = new HandleCloser(async () => {});

/** A fake of the browser's directory: `handle` answers for every file. */
function played(handle: () => object): FileSystemDirectoryHandle {
  return {
    getFileHandle: async (name: string) => ({ name, createSyncAccessHandle: async () => handle() }),
  } as unknown as FileSystemDirectoryHandle;
}

function refusal(name: string): Error {
  return Object.assign(new Error('refused'), { name });
}

/** Time that passes only in `sleep`. */
function clock() {
  let nowMs = 0;
  return {
    now: () => nowMs,
    sleep: async (delayMs: number) => {
      nowMs += delayMs;
    },
  };
}

const FULL_DISKS: readonly (readonly [string, () => number])[] = [
  [
    'QuotaExceededError',
    () => {
      throw refusal('QuotaExceededError');
    },
  ],
  ['a short write', () => 3],
  ['a huge number from write()', () => 18_446_744_073_709_552_000],
];

test.each(FULL_DISKS)('[LOG13] %s is a full disk', async (_, write) => {
  const directory = new OpfsDirectory(
    played(() => ({ write })),
    clock(),
    closer,
  );
  const file = await directory.open('a');
  expect(() => file.write(new Uint8Array(10), 0)).toThrow(
    expect.objectContaining({ code: 'DISK_FULL' }),
  );
});

test('[LOG15] any other failure of a handle is an IO error', async () => {
  const fail = () => {
    throw refusal('InvalidStateError');
  };
  const handle = { write: fail, read: fail, flush: fail, truncate: fail, getSize: fail };
  let failures = 0;
  const told = new HandleCloser(
    async () => {},
    () => void (failures += 1),
  );
  const file = await new OpfsDirectory(
    played(() => handle),
    clock(),
    told,
  ).open('a');
  const isIo = expect.objectContaining({ code: 'IO' });
  expect(() => file.write(new Uint8Array(1), 0)).toThrow(isIo);
  expect(() => file.read(new Uint8Array(1), 0)).toThrow(isIo);
  expect(() => file.flush()).toThrow(isIo);
  expect(() => file.truncate(0)).toThrow(isIo);
  expect(() => file.sizeBytes()).toThrow(isIo);
  expect(failures).toBe(5);
});

test('[LOG15] a read of more bytes than fit is an IO error', async () => {
  const handle = { read: () => 18_446_744_073_709_552_000 };
  const file = await new OpfsDirectory(
    played(() => handle),
    clock(),
    closer,
  ).open('a');
  expect(() => file.read(new Uint8Array(10), 0)).toThrow(expect.objectContaining({ code: 'IO' }));
});

test('[LOG15] opening does not wait after any other refusal', async () => {
  const time = clock();
  const handle = () => {
    throw refusal('SecurityError');
  };
  const opening = new OpfsDirectory(played(handle), time, closer).open('a');
  await expect(opening).rejects.toMatchObject({ code: 'IO' });
  expect(time.now()).toBe(0);
});

test('[LOG15] opening waits for a terminated worker, and gets its files', async () => {
  const time = clock();
  const handle = () => {
    if (time.now() < 2600) throw refusal('NoModificationAllowedError');
    return { getSize: () => 7 };
  };
  const file = await new OpfsDirectory(played(handle), time, closer).open('a');
  expect(file.sizeBytes()).toBe(7);
});

test('[LOG15] opening fails with STORAGE_LOCKED if another worker keeps the files', async () => {
  const handle = () => {
    throw refusal('NoModificationAllowedError');
  };
  const opening = new OpfsDirectory(played(handle), clock(), closer).open('a');
  await expect(opening).rejects.toMatchObject({ code: 'STORAGE_LOCKED', retryable: true });
});

test('[FILE8] a handle whose file was deleted is never closed, and nothing waits for it', async () => {
  let closes = 0;
  const handle = { close: () => void (closes += 1) };
  const gone = new HandleCloser(() => Promise.reject(new Error('gone')));
  gone.close(handle);
  await gone.settled();
  expect(closes).toBe(0);
  closer.close(handle);
  await closer.settled();
  expect(closes).toBe(1);
});
