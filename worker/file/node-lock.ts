// One process at a time for a folder of Node's file system: a file that names its holder.
//
// Node has no lock of the operating system to offer. A holder that died is recognised by its process
// id; a folder shared by two machines cannot be, and says so in its error.

import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { storageError } from '../../src/contract/errors.ts';

const FILE = 'host.lock';

interface Holder {
  readonly pid: number;
  readonly machine: string;
}

/** Takes the folder. The result lets it go. @throws STORAGE_LOCKED */
export function lockFolder(path: string): () => void {
  const file = join(path, FILE);
  const holder: Holder = { pid: process.pid, machine: hostname() };
  for (;;) {
    try {
      const descriptor = openSync(file, 'wx');
      writeSync(descriptor, JSON.stringify(holder));
      closeSync(descriptor);
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
    const other = read(file);
    if (other !== undefined && isAlive(other)) {
      throw storageError(
        'STORAGE_LOCKED',
        `"${path}" is in use by process ${other.pid} on ${other.machine}; close it there, or remove ` +
          `${FILE} when that machine is gone.`,
      );
    }
    rmSync(file, { force: true });
  }
}

// A file that cannot be read was being written when its holder died.
function read(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

function isAlive({ pid, machine }: Holder): boolean {
  if (machine !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}
