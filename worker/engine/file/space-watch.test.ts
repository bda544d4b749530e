import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Space, SpaceWatch } from './space-watch.ts';

const MIB = 1024 * 1024;
const LOW = 32 * MIB;

/** A disk of which `quota` bytes are granted, and its notices. */
class Disk {
  readonly told: Space[] = [];
  questions = 0;
  usage = 0;
  readonly quota: number;
  readonly watch: SpaceWatch;

  constructor(quota: number) {
    this.quota = quota;
    const estimate = async () => {
      this.questions += 1;
      return { usage: this.usage, quota: this.quota };
    };
    this.watch = new SpaceWatch(estimate, LOW, (space) => this.told.push(space));
  }

  get free(): number {
    return this.quota - this.usage;
  }

  async write(byteCount: number): Promise<void> {
    this.watch.wrote(byteCount);
    this.usage += byteCount;
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}

test('[CARE3] it is told once, before the space that is left is far below the bound, whatever is written', async () => {
  const write = fc.oneof(fc.integer({ min: 1, max: 4096 }), fc.integer({ min: 1, max: 4 * MIB }));
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: LOW + MIB, max: 4 * LOW }),
      fc.array(write, { minLength: 1, maxLength: 12 }),
      async (quota, sizes) => {
        const disk = new Disk(quota);
        for (let n = 0; disk.told.length === 0 && n < 3000; n++) {
          await disk.write(sizes[n % sizes.length]! + 40_000);
          // A question may be late by one step of 256 KiB, and by the writes around it.
          if (disk.free < LOW - 10 * MIB) break;
        }
        expect(disk.told).toHaveLength(1);
        expect(disk.told[0]!.quota - disk.told[0]!.usage).toBeLessThan(LOW);
        for (let n = 0; n < 5; n++) await disk.write(MIB);
        expect(disk.told).toHaveLength(1);
      },
    ),
    { numRuns: 30 },
  );
});

test('[CARE3] with much space it asks seldom, and tells once there is little', async () => {
  const disk = new Disk(10_000 * MIB);
  for (let n = 0; n < 100; n++) await disk.write(MIB);
  expect(disk.questions).toBe(1);
  disk.usage = disk.quota - LOW / 2;
  for (let n = 0; n < 2500; n++) disk.watch.wrote(MIB);
  await disk.write(0);
  expect(disk.told).toHaveLength(1);
});

test('[CARE3] it tells again once twice the bound was free in between, and not for less', async () => {
  for (const [freeBytes, times] of [
    [2 * LOW - 1, 1],
    [2 * LOW, 2],
  ] as const) {
    const disk = new Disk(10_000 * MIB);
    for (const left of [LOW - 1, freeBytes, LOW - 1]) {
      disk.usage = disk.quota - left;
      disk.watch.wrote(disk.quota); // whatever it has waited for
      await disk.write(0);
    }
    expect(disk.told).toHaveLength(times);
  }
});

test('[CARE3] a browser that does not tell is asked once, and nothing is told', async () => {
  let questions = 0;
  const watch = new SpaceWatch(
    () => {
      questions += 1;
      return Promise.reject(new TypeError('not here'));
    },
    LOW,
    () => expect.fail('told'),
  );
  for (let n = 0; n < 10; n++) {
    watch.wrote(100 * MIB);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(questions).toBe(1);
});
