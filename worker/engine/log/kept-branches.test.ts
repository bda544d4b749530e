import { expect, test } from 'vitest';
import { WatchedDirectory } from '../../testing/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { type KeptBranch, KeptBranches } from './kept-branches.ts';

const NAME = 'branches';
const COPIES = [0, 1 << 17];

function branch(id: string): KeptBranch {
  const bookmark = '00000000-00000000-00000000-0';
  const facts = { id, name: id, bookmark, createdMs: 1, sends: false };
  return { ...facts, isLeaving: false, isStored: false };
}

async function reopen(directory: MemoryDirectory): Promise<KeptBranches> {
  return KeptBranches.open(directory, await directory.names());
}

const ids = ({ list }: KeptBranches) => list.map(({ id }) => id);

async function damage(directory: MemoryDirectory, at: number): Promise<void> {
  const file = await directory.open(NAME);
  const byte = new Uint8Array(1);
  file.read(byte, at);
  byte[0]! ^= 1;
  file.write(byte, at);
  file.close();
}

/** What one write and its flush leave of a file when power fails. */
class Interrupted {
  readonly inner = new MemoryDirectory();
  /** How many bytes of how many writes arrive. */
  writes = Number.POSITIVE_INFINITY;
  torn = 0;

  names = () => this.inner.names();
  remove = (name: string) => this.inner.remove(name);

  async open(name: string) {
    const file = await this.inner.open(name);
    return {
      read: file.read.bind(file),
      truncate: file.truncate.bind(file),
      sizeBytes: file.sizeBytes.bind(file),
      close: file.close.bind(file),
      flush: () => {
        if (this.writes < 0) throw new Error('power');
      },
      write: (bytes: Uint8Array, offset: number) => {
        this.writes -= 1;
        file.write(this.writes < 0 ? bytes.subarray(0, this.torn) : bytes, offset);
      },
    };
  }
}

test.each(COPIES)(
  '[LOG30] damage of one copy of the list, at byte %i, loses no branch',
  async (at) => {
    for (let count = 1; count <= 3; count++) {
      const directory = new MemoryDirectory();
      const kept = await reopen(directory);
      const made = Array.from({ length: count }, (_, i) => `b${i}`);
      for (const id of made) await kept.add(branch(id));
      await damage(directory, at + 30);
      const again = await reopen(directory);
      expect(ids(again)).toEqual(made);
      await again.remove('b0');
      await damage(directory, COPIES.find((copy) => copy !== at)! + 30);
      expect(ids(await reopen(directory))).toEqual(made.slice(1));
    }
  },
);

test('[LOG30] damage of both copies is CORRUPT, after the first branch and after others', async () => {
  for (let count = 1; count <= 3; count++) {
    const directory = new MemoryDirectory();
    const kept = await reopen(directory);
    for (let i = 0; i < count; i++) await kept.add(branch(`b${i}`));
    for (const at of COPIES) await damage(directory, at + 30);
    await expect(reopen(directory)).rejects.toMatchObject({ code: 'CORRUPT' });
  }
});

test('[LOG30] whichever write of a change is torn, the list is the one before or after it', async () => {
  for (let changes = 0; changes <= 3; changes++) {
    for (const arrived of [0, 1]) {
      for (const torn of [0, 1, 20, 30, 100]) {
        const directory = new Interrupted();
        const kept = await KeptBranches.open(directory, []);
        const before = Array.from({ length: changes }, (_, i) => `b${i}`);
        for (const id of before) await kept.add(branch(id));
        directory.writes = arrived;
        directory.torn = torn;
        await expect(kept.add(branch('torn'))).rejects.toThrow('power');
        const again = await reopen(directory.inner);
        const now = arrived === 0 ? before : [...before, 'torn'];
        expect(ids(again)).toEqual(now);
        // The next change, torn as well, keeps what was found.
        directory.writes = 0;
        const next = await KeptBranches.open(directory, await directory.names());
        await expect(next.add(branch('next'))).rejects.toThrow('power');
        expect(ids(await reopen(directory.inner))).toEqual(now);
      }
    }
  }
});

test('[BRANCH5] an object keeps 64 branches; one more is INVALID_ARGUMENT until another is deleted', async () => {
  const directory = new MemoryDirectory();
  const kept = await reopen(directory);
  const made = Array.from({ length: 64 }, (_, i) => `b${i}`);
  for (const id of made) await kept.add(branch(id));
  await expect(kept.add(branch('more'))).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('64 branches'),
  });
  expect(ids(await reopen(directory))).toEqual(made);
  await kept.remove('b0');
  await kept.add(branch('more'));
  expect(ids(await reopen(directory))).toEqual([...made.slice(1), 'more']);
});

test('[BRANCH5] a name belongs to one branch until its deletion begins', async () => {
  const kept = await reopen(new MemoryDirectory());
  const named = (id: string) => ({ ...branch(id), name: 'draft' });
  await kept.add(named('first'));
  await expect(kept.add(named('second'))).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('"draft"'),
  });
  await kept.leave('first');
  await kept.add(named('third'));
  expect(ids(kept)).toEqual(['first', 'third']);
});

test('[BRANCH14] a branch that is written is noted as stored, and no other one', async () => {
  const directory = new MemoryDirectory();
  const kept = await reopen(directory);
  for (const id of ['a', 'b']) await kept.add(branch(id));
  await kept.markStored('b');
  await kept.markStored('of another list');
  const again = await reopen(directory);
  expect(again.list.map(({ id, isStored }) => [id, isStored])).toEqual([
    ['a', false],
    ['b', true],
  ]);
});

test('[LOG30] a closed list changes nothing, and a change is OBJECT_RESET', async () => {
  const directory = new MemoryDirectory();
  const kept = await reopen(directory);
  const added = kept.add(branch('a'));
  const closed = kept.close();
  await expect(kept.add(branch('b'))).rejects.toMatchObject({ code: 'OBJECT_RESET' });
  await closed;
  expect(ids(await reopen(directory))).toEqual(['a']);
  await added;
});

test('[LOG30] both copies of a list are stored once more after a flush that failed; without branches, no file is made', async () => {
  const watched = new WatchedDirectory();
  const open = async () => KeptBranches.open(watched, await watched.names());
  await (await open()).rewrite();
  expect(await watched.names()).toEqual([]);
  await (await open()).add(branch('a'));
  const file = await watched.inner.open(NAME);
  const words = file.sizeBytes();
  file.close();
  // What was flushed before counts for nothing.
  watched.flushed.clear();
  await (await open()).rewrite();
  expect(watched.flushed.get(NAME)?.length).toBe(words);
  for (const at of COPIES) {
    const copy = new MemoryDirectory();
    const stored = await copy.open(NAME);
    stored.write(watched.flushed.get(NAME)!, 0);
    stored.close();
    await damage(copy, at + 30);
    expect(ids(await reopen(copy))).toEqual(['a']);
  }
});
