import { expect, test } from 'vitest';
import { bytesOf, overwrite, WatchedDirectory } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum, wordsOf } from './checksum.ts';
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

test.each(COPIES)(
  '[LOG30] a change first overwrites the copy that was not read: that at byte %i, which is damaged or older',
  async (at) => {
    const other = COPIES.find((copy) => copy !== at)!;
    for (const arrived of [0, 1]) {
      const directory = new Interrupted();
      const kept = await KeptBranches.open(directory, []);
      for (const id of ['a', 'b']) await kept.add(branch(id));
      await damage(directory.inner, at + 30);
      const again = await KeptBranches.open(directory, await directory.names());
      directory.writes = arrived;
      await expect(again.remove('a')).rejects.toThrow('power');
      const expected = arrived === 0 ? ['a', 'b'] : ['b'];
      expect(ids(await reopen(directory.inner))).toEqual(expected);
      // From here on the other copy is the older one: first whole, then damaged.
      if (arrived === 0) continue;
      await damage(directory.inner, other + 30);
      expect(ids(await reopen(directory.inner))).toEqual(expected);
    }
  },
);

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

test('[BRANCH14] a branch that is written is noted as stored, once, and no other one', async () => {
  const watched = new WatchedDirectory();
  const kept = await KeptBranches.open(watched, []);
  for (const id of ['a', 'b']) await kept.add(branch(id));
  await kept.markStored('b');
  watched.written.clear();
  await kept.markStored('b');
  await kept.markStored('of another list');
  expect([...watched.written]).toEqual([]);
  const again = await reopen(watched.inner);
  expect(again.list.map(({ id, isStored }) => [id, isStored])).toEqual([
    ['a', false],
    ['b', true],
  ]);
});

test('[BRANCH5] a branch is left, and removed, by its id; the others keep their facts', async () => {
  const directory = new MemoryDirectory();
  const kept = await reopen(directory);
  const facts = ['a', 'b', 'c'].map((id, i) => ({ ...branch(id), createdMs: i, sends: i === 1 }));
  for (const one of facts) await kept.add(one);
  await kept.leave('b');
  await kept.remove('a');
  const left = [{ ...facts[1]!, isLeaving: true }, facts[2]!];
  for (const found of [kept, await reopen(directory)]) {
    expect(found.list).toEqual(left);
    expect([found.find('b'), found.find('a')]).toEqual([left[0], undefined]);
  }
});

test('[BRANCH6] the moments of the branches are needed, also while a branch is leaving, and so are the moments that are held', async () => {
  const kept = await reopen(new MemoryDirectory());
  const bookmarkOf = (sequence: number) => `00000001-0000000${sequence}-00000000-0`;
  const timeline = 2 ** 32;
  for (const [i, sequence] of [3, 5, 3].entries())
    await kept.add({ ...branch(`b${i}`), bookmark: bookmarkOf(sequence) });
  const held = [kept.hold(bookmarkOf(7)), kept.hold(bookmarkOf(5))];
  const needed = () => kept.needed.map((sequence) => sequence - timeline).toSorted();
  await kept.leave('b1');
  expect(needed()).toEqual([3, 5, 7]);
  await kept.remove('b1');
  expect(needed()).toEqual([3, 5, 7]);
  for (const { release } of held) release();
  expect(needed()).toEqual([3]);
});

test('[LOG30] closing a list waits for its change; then it changes nothing, and a change is OBJECT_RESET', async () => {
  const directory = new MemoryDirectory();
  const kept = await reopen(directory);
  let isAdded = false;
  const added = kept.add(branch('a')).then(() => {
    isAdded = true;
  });
  const closed = kept.close();
  expect(kept.isClosed).toBe(true);
  await closed;
  expect(isAdded).toBe(true);
  await expect(kept.add(branch('b'))).rejects.toMatchObject({
    code: 'OBJECT_RESET',
    message: expect.stringContaining('try again'),
  });
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

/** The whole of a copy, read as the document says. */
function copyAt(bytes: Uint8Array, at: number) {
  const view = new DataView(bytes.buffer, at);
  const length = view.getUint32(16, true);
  const end = Math.ceil((24 + length) / 4) * 4;
  const words = wordsOf(bytes.subarray(at, at + end));
  return {
    isIntact: view.getFloat64(0, true) === new Checksum(0x4252414e).ofRecord(words, 2, end / 4),
    generation: view.getFloat64(8, true),
    list: JSON.parse(new TextDecoder().decode(bytes.subarray(at + 24, at + 24 + length))),
    rest: bytes.subarray(at + 24 + length, at + end).every((byte) => byte === 0),
  };
}

test('[LOG17] [LOG30] both copies of the list are as the document says, whatever the length of the names', async () => {
  const directory = new MemoryDirectory();
  for (const [i, name] of ['a', 'üb', 'ÜÜÜ', '日本', 'plain'].entries()) {
    const kept = await reopen(directory);
    await kept.add({ ...branch(`b${i}`), name });
    const bytes = await bytesOf(directory, NAME);
    for (const at of COPIES) {
      expect(copyAt(bytes, at)).toEqual({
        isIntact: true,
        generation: i + 1,
        list: kept.list,
        rest: true,
      });
    }
    expect((await reopen(directory)).list).toEqual(kept.list);
  }
});

test('[LOG30] a file that ends within its first copy has no list; a longer file without an intact copy is CORRUPT', async () => {
  for (const size of [0, 1, 23, 24, 100, COPIES[1]!]) {
    const directory = new MemoryDirectory();
    await overwrite(directory, NAME, new Uint8Array(size).fill(1));
    expect(ids(await reopen(directory))).toEqual([]);
    await (await reopen(directory)).add(branch('a'));
    expect(ids(await reopen(directory))).toEqual(['a']);
  }
  const directory = new MemoryDirectory();
  await overwrite(directory, NAME, new Uint8Array(COPIES[1]! + 1).fill(1));
  await expect(reopen(directory)).rejects.toMatchObject({
    code: 'CORRUPT',
    message: expect.stringContaining('both copies of the list of branches are damaged'),
  });
  expect(await bytesOf(directory, NAME)).toHaveLength(COPIES[1]! + 1); // it is not open any more
});

test('[BRANCH14] the branches of a list of an earlier version are not noted as stored', async () => {
  const directory = new MemoryDirectory();
  const { isStored: _, ...earlier } = branch('a');
  await (await reopen(directory)).add(earlier as KeptBranch);
  expect((await reopen(directory)).list).toEqual([branch('a')]);
});

test('[LOG30] a change that the disk refuses changes nothing, and the next one is made', async () => {
  const watched = new WatchedDirectory();
  const kept = await KeptBranches.open(watched, []);
  await kept.add(branch('a'));
  watched.full.add(NAME);
  await expect(kept.add(branch('b'))).rejects.toMatchObject({ code: 'DISK_FULL' });
  expect(ids(kept)).toEqual(['a']);
  watched.full.clear();
  await kept.add(branch('c'));
  for (const found of [kept, await reopen(watched.inner)]) expect(ids(found)).toEqual(['a', 'c']);
});
