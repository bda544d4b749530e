// Reads data about processes and folders that Node does not offer: the identity of a process (systems reuse process
// ids, and containers have their own), how many files this process may open, and whether other machines can use a
// folder.

import { readFileSync, readlinkSync, statfsSync } from 'node:fs';

/**
 * Returns the time when the process started, in clock ticks since boot; null if there is no such process, or the system
 * is not Linux.
 */
export function startOf(pid: number): string | null {
  return statusOf(pid)?.start ?? null;
}

/**
 * Identifies the start of the kernel that runs this process, and the namespaces in which its id and its start time are
 * unique; null if the system is not Linux.
 */
export function originOf(): { readonly boot: string | null; readonly namespaces: string | null } {
  const told = (ask: () => string) => {
    try {
      return ask();
    } catch {
      return null; // no such file system
    }
  };
  return {
    boot: told(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
    namespaces: told(() =>
      ['pid', 'time'].map((kind) => readlinkSync(`/proc/self/ns/${kind}`)).join(' '),
    ),
  };
}

/** True if the folder's file system can be used by only one kernel at a time: a local disk, or memory. */
export function isOfOneKernel(path: string): boolean {
  return FILE_SYSTEMS_OF_ONE_KERNEL.has(statfsSync(path).type);
}

/** The types of statfs(2) for ext, XFS, Btrfs, F2FS, ZFS, overlayfs and tmpfs. */
const FILE_SYSTEMS_OF_ONE_KERNEL: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x794c7630, 0x01021994,
]);

/** Returns false if the process has ended, or another one has its id. `start` is null if it is not known. */
export function isRunning(pid: number, start: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process runs and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const status = statusOf(pid);
  if (status === undefined) return true;
  // The parent has not reaped the process yet.
  const hasEnded = status.state === 'Z' || status.state === 'X';
  return !hasEnded && (start === null || status.start === start);
}

// proc_pid_stat(5): the name in parentheses may contain anything. The state is the first field after
// it, the start time the 20th.
function statusOf(pid: number): { readonly state: string; readonly start: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state === undefined || start === undefined ? undefined : { state, start };
  } catch {
    return undefined; // no such file system, or no such process
  }
}

/** Returns how many files this process may have open; a low guess if the system is not Linux. */
export function openFilesMax(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    return limit === null ? OPEN_FILES_GUESS : Number(limit[1]);
  } catch {
    return OPEN_FILES_GUESS; // no such file system
  }
}

/**
 * The guess for other systems: macOS allows a process 10,240 files, and Node raises its own limit as far as allowed.
 */
const OPEN_FILES_GUESS = 8_000;
