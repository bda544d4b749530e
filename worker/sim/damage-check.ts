// An object whose stored bytes change: what is read then is the state of a commit, or CORRUPT.

import { isStorageError } from '../../src/contract/errors.ts';
import { type Contents, difference } from './contents.ts';
import type { CrashDisk } from './crash-disk.ts';
import { damageDisk } from './damage.ts';
import { SimulationFailure } from './history.ts';
import { SimulatedObject, type World } from './simulated-object.ts';

const DAMAGES = 4;

/**
 * Damages the disk in some ways, each apart; how many were tried.
 *
 * `isToRestore`: a restore may be pending, and the history it needs gone, or what was damaged.
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
      if (code === 'CORRUPT' || (isToRestore && code.startsWith('BOOKMARK_'))) continue;
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
    if (!isOne) throw new SimulationFailure(`after ${damage} the object has wrong data`);
  } finally {
    await object.reset();
  }
}
