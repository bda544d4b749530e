// Checks that an object whose stored bytes are damaged has the state of some commit, or reports CORRUPT.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { CrashDisk } from '../simulate/world/crash-disk.ts';
import { type Contents, difference } from './contents.ts';
import { damageDisk } from './damage.ts';
import { SimulationFailure } from './history.ts';
import { SimulatedObject, type World } from './simulated-object.ts';

const DAMAGES = 4;

/**
 * Damages copies of the disk in several ways, one at a time, and returns how many copies.
 *
 * With `isToRestore`, a restore may be pending, and its history may be pruned or damaged.
 *
 * @throws SimulationFailure
 */
export async function checkDamages(
  intact: CrashDisk,
  world: World,
  possible: readonly Contents[],
  isToRestore: boolean,
): Promise<number> {
  for (let i = 0; i < DAMAGES; i++) {
    const disk = intact.afterLoss();
    const damage = damageDisk(disk, world.random);
    if (damage === null) return i;
    try {
      await openDamaged(disk, world, possible, damage);
    } catch (error) {
      const code = isStorageError(error) ? error.code : '';
      // Damage of the format version itself is reported as FORMAT_TOO_NEW.
      if (code === 'CORRUPT' || code === 'FORMAT_TOO_NEW') continue;
      if (isToRestore && code.startsWith('BOOKMARK_')) continue;
      if (error instanceof SimulationFailure) throw error;
      throw new SimulationFailure(`after ${damage}: ${String(error)}`, { cause: error });
    }
  }
  return DAMAGES;
}

async function openDamaged(
  disk: CrashDisk,
  world: World,
  possible: readonly Contents[],
  damage: string,
): Promise<void> {
  const object = await SimulatedObject.open(disk, world);
  try {
    const isOne = possible.some((contents) => difference(object, contents) === null);
    if (!isOne) throw new SimulationFailure(`after ${damage}, the object has wrong data`);
  } finally {
    await object.reset();
  }
}
