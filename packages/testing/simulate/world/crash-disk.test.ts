// Tests that the simulated disk behaves as badly as the contract of files allows.

import { describe, expect, test } from 'vitest';
import { CrashDisk } from './crash-disk.ts';
import { Random } from './random.ts';

const SAMPLES = 200;

function bytes(...values: number[]): Uint8Array {
  return new Uint8Array(values);
}

/** Returns the content of a file as text; null if the file does not exist. */
async function contentOf(disk: CrashDisk, name: string): Promise<string | null> {
  if (!(await disk.names()).includes(name)) return null;
  const file = await disk.open(name);
  const target = new Uint8Array(file.sizeBytes());
  file.read(target, 0);
  file.close();
  return target.join();
}

/** Returns the contents of a file that power failures may leave. */
async function afterLosses(disk: CrashDisk, name: string): Promise<Set<string | null>> {
  const found = new Set<string | null>();
  for (let i = 0; i < SAMPLES; i++) found.add(await contentOf(disk.afterLoss(), name));
  return found;
}

describe('a simulated disk', () => {
  test('[SIM3] flushed bytes survive, and each byte written since is old or new', async () => {
    const disk = new CrashDisk(new Random(1));
    const file = await disk.open('a');
    file.write(bytes(1, 1), 0);
    await file.flush();
    file.write(bytes(2, 2), 0);
    expect(await afterLosses(disk, 'a')).toEqual(new Set(['1,1', '2,1', '1,2', '2,2']));
  });

  test('[SIM3] a truncation may be lost, and later writes arrive before earlier ones', async () => {
    const disk = new CrashDisk(new Random(1));
    const file = await disk.open('a');
    file.write(bytes(1, 2), 0);
    await file.flush();
    file.truncate(1);
    expect(await afterLosses(disk, 'a')).toEqual(new Set(['1', '1,2']));
    file.write(bytes(9), 4);
    expect([...(await afterLosses(disk, 'a'))]).toContain('1,2,0,0,9');
  });

  test('[SIM3] a file that was never flushed may be missing, a removed one back', async () => {
    const disk = new CrashDisk(new Random(1));
    const file = await disk.open('a');
    file.write(bytes(1), 0);
    expect(await afterLosses(disk, 'a')).toEqual(new Set([null, '', '1']));
    await file.flush();
    expect(await afterLosses(disk, 'a')).toEqual(new Set(['1']));
    file.close();
    await disk.remove('a');
    expect(await afterLosses(disk, 'a')).toEqual(new Set([null, '1']));
  });

  test('[SIM3] a failed write may have written any number of its first bytes', async () => {
    const found = new Set<string | null>();
    for (let seed = 0; seed < SAMPLES; seed++) {
      const disk = new CrashDisk(new Random(seed));
      const file = await disk.open('a');
      disk.failAfter(0, 'IO');
      expect(() => file.write(bytes(7, 8), 0)).toThrow(expect.objectContaining({ code: 'IO' }));
      file.close();
      found.add(await contentOf(disk, 'a'));
    }
    expect(found).toEqual(new Set(['', '7', '7,8']));
  });

  test('[SIM3] a late flush covers the writes before it, and nothing once power is off', async () => {
    const disk = new CrashDisk(new Random(1), { flush: 'late' });
    const file = await disk.open('a');
    file.write(bytes(1), 0);
    const flushed = file.flush();
    file.write(bytes(2), 1);
    await flushed;
    expect(await afterLosses(disk, 'a')).toEqual(new Set(['1', '1,2']));
    const late = file.flush();
    disk.powerOff();
    await expect(late).rejects.toThrow('The power is off.');
  });

  test('[SIM3] power that is off stays off when another power failure is requested', async () => {
    const disk = new CrashDisk(new Random(1));
    disk.powerOff();
    disk.powerOffAfter(10);
    await expect(disk.open('a')).rejects.toThrow('The power is off.');
  });

  test('[SIM3] a file has one holder, and its use after close is a violation', async () => {
    const disk = new CrashDisk(new Random(1));
    const file = await disk.open('a');
    await expect(disk.open('a')).rejects.toEqual(
      expect.objectContaining({ code: 'STORAGE_LOCKED' }),
    );
    file.close();
    expect(() => file.flush()).toThrow(expect.objectContaining({ code: 'IO' }));
    expect(disk.violations).toEqual(['flush of "a" after it was closed']);
  });

  test('[SIM3] a flush that fails may drop the writes it covers, which are read, and which later flushes do not store', async () => {
    const found = new Set<string | null>();
    for (let seed = 0; seed < SAMPLES; seed++) {
      const disk = new CrashDisk(new Random(seed));
      const file = await disk.open('a');
      file.write(bytes(1, 1, 1), 0);
      await file.flush();
      file.write(bytes(2, 2), 0);
      disk.failAfter(0, 'IO');
      expect(() => file.flush()).toThrow(expect.objectContaining({ code: 'IO' }));
      file.write(bytes(3), 1);
      await file.flush();
      const seen = new Uint8Array(3);
      file.read(seen, 0);
      expect([...seen]).toEqual([2, 3, 1]);
      found.add(await contentOf(disk.afterLoss(), 'a'));
    }
    expect(found).toEqual(new Set(['2,3,1', '1,3,1']));
  });

  test('[SIM3] an emptied file keeps its space until it is closed, and a full disk meanwhile is a violation', async () => {
    const disk = new CrashDisk(new Random(1));
    const [emptied, growing] = [await disk.open('a'), await disk.open('b')];
    emptied.write(new Uint8Array(100), 0);
    disk.capacityBytes = 100;
    emptied.truncate(0);
    expect(disk.usedBytes()).toBe(100);
    emptied.write(new Uint8Array(100), 0); // the write uses the space of its own file
    expect(() => growing.write(bytes(1), 0)).toThrow(
      expect.objectContaining({ code: 'DISK_FULL' }),
    );
    expect(disk.violations).toEqual([]);
    emptied.truncate(0);
    expect(() => growing.write(bytes(1), 0)).toThrow();
    expect(disk.violations).toEqual(['the disk is full, and emptied files keep 100 bytes of it']);
    emptied.close();
    growing.write(new Uint8Array(100), 0);
    expect(disk.usedBytes()).toBe(100);
  });
});
