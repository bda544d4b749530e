// Damages stored bytes: flips, overwrites, moves, truncates or loses them.

import type { CrashDisk } from '../simulate/world/crash-disk.ts';
import type { Random } from '../simulate/world/random.ts';

const BLOCK_BYTES = 4096;

/** Damages a file of the disk. Returns a description of the damage, or null if there was nothing to damage. */
export function damageDisk(disk: CrashDisk, random: Random): string | null {
  const files = [...disk.contents()];
  if (files.length === 0) return null;
  const [name, file] = random.pick(files);
  const size = file.sizeBytes;
  const at = random.below(size);
  switch (random.below(8)) {
    case 0:
      disk.lose(name);
      return `the loss of ${name}`;
    case 1:
      file.cut(at);
      return `${name} was cut from ${size} to ${at} bytes`;
    case 2: {
      const end = Math.min(size, at + 1 + random.below(2 * BLOCK_BYTES));
      file.damage((bytes) => void bytes.fill(random.pick([0, 255]), at, end));
      return `bytes ${at} to ${end} of ${name} were overwritten`;
    }
    case 3: {
      const from = random.below(Math.ceil(size / BLOCK_BYTES)) * BLOCK_BYTES;
      const to = random.below(Math.ceil(size / BLOCK_BYTES)) * BLOCK_BYTES;
      file.damage((bytes) => {
        const moved = bytes.slice(from, Math.min(from + BLOCK_BYTES, size));
        bytes.set(moved.subarray(0, size - to), to);
      });
      return `block ${from} of ${name} was written to ${to}`;
    }
    default: {
      const bit = random.below(8);
      file.damage((bytes) => void (bytes[at]! ^= 1 << bit));
      return `bit ${bit} of byte ${at} of ${name} was flipped`;
    }
  }
}
