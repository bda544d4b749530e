import { expect, test } from 'vitest';
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
